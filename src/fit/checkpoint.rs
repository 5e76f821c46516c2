//! The exact number of parameters in a folder of safetensors files. Only the headers are read: a few hundred kilobytes of a
//! checkpoint of any size.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::report::{self, Problem};

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) params: u64,
    pub(crate) files: usize,
    /// Several weights share one stored number (4-bit and 8-bit checkpoints): the sum is not the number of parameters.
    pub(crate) packed: bool,
}

/// No header of a real checkpoint comes near this.
const LONGEST_HEADER: u64 = 100 << 20;

/// The safetensors files of a folder, if there are any: one file, or those its index names.
pub(crate) fn read(folder: &Path) -> Result<Option<Checkpoint>, Problem> {
    let (single, index) = (folder.join("model.safetensors"), folder.join("model.safetensors.index.json"));
    let files: BTreeSet<String> = if index.is_file() {
        let text = fs::read(&index).map_err(|why| report::unreadable_file(&index, &why))?;
        let parsed: Result<Index, _> = serde_json::from_slice(&text);
        parsed.map_err(|why| report::bad_checkpoint(&index, &why.to_string()))?.0
    } else if single.is_file() {
        ["model.safetensors".to_string()].into()
    } else {
        return Ok(None);
    };
    let mut checkpoint = Checkpoint { files: files.len(), ..Checkpoint::default() };
    for name in files {
        // A name in an index leads nowhere but into its folder.
        let path = folder.join(Path::new(&name).file_name().unwrap_or_default());
        // An index is often there before its files.
        if !path.exists() {
            return Ok(None);
        }
        let header = read_header(&path).map_err(|why| match why {
            Unreadable::Io(why) => report::unreadable_file(&path, &why),
            Unreadable::Form(why) => report::bad_checkpoint(&path, &why),
        })?;
        checkpoint.params = checkpoint.params.saturating_add(header.params);
        checkpoint.packed |= header.packed;
    }
    Ok(Some(checkpoint))
}

enum Unreadable {
    Io(io::Error),
    Form(String),
}

fn read_header(path: &Path) -> Result<Header, Unreadable> {
    let mut file = File::open(path).map_err(Unreadable::Io)?;
    let size = file.metadata().map_err(Unreadable::Io)?.len();
    let mut length = [0; 8];
    file.read_exact(&mut length).map_err(Unreadable::Io)?;
    let length = u64::from_le_bytes(length);
    if length > LONGEST_HEADER || length > size {
        return Err(Unreadable::Form(format!("its header cannot have {length} bytes")));
    }
    let mut text = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    file.take(length).read_to_end(&mut text).map_err(Unreadable::Io)?;
    serde_json::from_slice(&text).map_err(|why| Unreadable::Form(why.to_string()))
}

/// A text that is not copied: a checkpoint has tens of thousands of names.
struct Text<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.to_string())))
    }
}

/// The names of the files in `weight_map`; the tensors' own names are not kept.
struct Index(BTreeSet<String>);

impl<'de> Deserialize<'de> for Index {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_map(IndexVisitor)
    }
}

struct IndexVisitor;

impl<'de> Visitor<'de> for IndexVisitor {
    type Value = Index;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an index of safetensors files")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Index, A::Error> {
        let mut found = Index(BTreeSet::new());
        while let Some(Text(key)) = entries.next_key()? {
            if key == "weight_map" {
                found.0 = entries.next_value::<Files>()?.0;
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

struct Files(BTreeSet<String>);

impl<'de> Deserialize<'de> for Files {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_map(FilesVisitor)
    }
}

struct FilesVisitor;

impl<'de> Visitor<'de> for FilesVisitor {
    type Value = Files;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensors and their files")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Files, A::Error> {
        let mut files = BTreeSet::new();
        while let Some((_, Text(file))) = entries.next_entry::<IgnoredAny, Text>()? {
            if !files.contains(file.as_ref()) {
                files.insert(file.into_owned());
            }
        }
        Ok(Files(files))
    }
}

/// What the header of one file adds up to.
#[derive(Default)]
struct Header {
    params: u64,
    packed: bool,
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the header of a safetensors file")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Header, A::Error> {
        let mut header = Header::default();
        while let Some(Text(name)) = entries.next_key()? {
            if name == "__metadata__" {
                entries.next_value::<IgnoredAny>()?;
                continue;
            }
            let Tensor { elements, packed } = entries.next_value()?;
            header.packed |= packed;
            // The scales of fp8 weights are no parameters.
            if !name.ends_with("_scale_inv") {
                header.params = header.params.saturating_add(elements);
            }
        }
        Ok(header)
    }
}

struct Tensor {
    elements: u64,
    packed: bool,
}

impl<'de> Deserialize<'de> for Tensor {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_map(TensorVisitor)
    }
}

struct TensorVisitor;

impl<'de> Visitor<'de> for TensorVisitor {
    type Value = Tensor;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the dtype and shape of a tensor")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tensor, A::Error> {
        let mut tensor = Tensor { elements: 1, packed: false };
        while let Some(Text(key)) = entries.next_key()? {
            match key.as_ref() {
                "shape" => {
                    let shape: Vec<u64> = entries.next_value()?;
                    tensor.elements = shape.iter().fold(1, |all, size| all.saturating_mul(*size));
                }
                "dtype" => {
                    let Text(dtype) = entries.next_value()?;
                    tensor.packed = ["U8", "I8", "I32"].contains(&dtype.as_ref());
                }
                _ => drop(entries.next_value::<IgnoredAny>()?),
            }
        }
        Ok(tensor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::fake::{Sandbox, safetensors};

    #[test]
    fn one_file_or_those_of_an_index() {
        let sandbox = Sandbox::bare();
        let weights = |name: &str, header: &str| sandbox.file(name, safetensors(header));
        let folder = &sandbox.cwd();
        assert_eq!(read(folder), Ok(None));
        weights(
            "model.safetensors",
            r#"{"__metadata__": {"format": "pt"}, "a": {"dtype": "BF16", "shape": [16, 8], "data_offsets": [0, 256]},
                "b": {"dtype": "F32", "shape": [], "data_offsets": [256, 260]},
                "a_scale_inv": {"dtype": "F32", "shape": [9], "data_offsets": [260, 296]}}"#,
        );
        assert_eq!(read(folder).unwrap().map(|it| (it.params, it.files, it.packed)), Some((129, 1, false)));
        for (name, rows) in [("x-1.safetensors", 3), ("x-2.safetensors", 4)] {
            weights(name, &format!(r#"{{"w": {{"shape": [{rows}, 5], "dtype": "U8"}}}}"#));
        }
        let index = r#"{"metadata": {"total_size": 1}, "weight_map": {"p": "x-1.safetensors", "q": "x-2.safetensors", "r": "x-1.safetensors"}}"#;
        sandbox.file("model.safetensors.index.json", index);
        assert_eq!(read(folder).unwrap().map(|it| (it.params, it.files, it.packed)), Some((35, 2, true)));
    }

    #[test]
    fn what_is_no_header_is_told() {
        let sandbox = Sandbox::bare();
        for bytes in [&b"\xff\xff\xff\xff\xff\xff\xff\x7f"[..], b"", b"\x02\0\0\0\0\0\0\0[]", b"\x02\0\0\0\0\0\0\0{"] {
            sandbox.file("model.safetensors", bytes);
            assert!(read(&sandbox.cwd()).is_err(), "{bytes:?}");
        }
    }
}
