//! The exact number of parameters in a folder of safetensors files. Only the headers are read: a few hundred kilobytes of a
//! checkpoint of any size.

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::report::{self, Problem, Rule, reading};

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) params: u64,
    pub(crate) files: usize,
    /// The weights are quantised and several share one stored number, so `params` is too small.
    pub(crate) packed: bool,
}

/// Numbers of these types hold several quantised weights.
const PACKED: [&str; 3] = ["U8", "I8", "I32"];

/// No real header comes near this size.
const LONGEST_HEADER: u64 = 100 << 20;

/// Reads `model.safetensors`, or the files that an index names. `None` if they are not there.
pub(crate) fn read(folder: &Path) -> Result<Option<Checkpoint>, Problem> {
    let mut files = BTreeSet::from(["model.safetensors".to_string()]);
    let index = folder.join("model.safetensors.index.json");
    if index.is_file() {
        let read = open(&index).and_then(|(file, _)| parse(file, LONGEST_HEADER));
        let index: CheckpointIndex = read.map_err(|why| unreadable(&index, &why))?;
        files = index.weight_map.into_values().collect();
    }
    let mut checkpoint = Checkpoint {
        files: files.len(),
        ..Checkpoint::default()
    };
    for name in files {
        // An index cannot point outside of its folder.
        let path = folder.join(Path::new(&name).file_name().unwrap_or_default());
        // An index is often downloaded before its files.
        if !path.exists() {
            return Ok(None);
        }
        let header = read_header(&path).map_err(|why| unreadable(&path, &why))?;
        for (name, tensor) in &header.tensors {
            checkpoint.packed |= PACKED.contains(&tensor.dtype.as_str());
            // The scales of fp8 weights are not parameters.
            if !name.ends_with("_scale_inv") {
                let elements = tensor
                    .shape
                    .iter()
                    .fold(1, |product: u64, size| product.saturating_mul(*size));
                checkpoint.params = checkpoint.params.saturating_add(elements);
            }
        }
    }
    Ok(Some(checkpoint))
}

fn unreadable(path: &Path, why: &io::Error) -> Problem {
    if why.kind() != ErrorKind::InvalidData {
        return report::unreadable_file(path, why);
    }
    Problem::error(
        Rule::Checkpoint,
        format!("not a safetensors checkpoint: {why}"),
    )
    .at(path)
    .fix("download it again; a file of a few bytes is a Git LFS pointer")
}

fn invalid(why: impl Into<Box<dyn Error + Send + Sync>>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

fn open(path: &Path) -> io::Result<(File, u64)> {
    reading::open(path)?.ok_or_else(|| invalid("it is not a regular file"))
}

fn parse<T: DeserializeOwned>(file: File, length: u64) -> io::Result<T> {
    let mut text = Vec::new();
    file.take(length).read_to_end(&mut text)?;
    serde_json::from_slice(&text).map_err(invalid)
}

fn read_header(path: &Path) -> io::Result<Header> {
    let (mut file, size) = open(path)?;
    let mut length = [0; 8];
    file.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > LONGEST_HEADER || length > size {
        return Err(invalid(format!("its header cannot have {length} bytes")));
    }
    parse(file, length)
}

#[derive(Deserialize)]
#[serde(expecting = "an index of safetensors files")]
struct CheckpointIndex {
    weight_map: HashMap<String, String>,
}

#[derive(Deserialize)]
#[serde(expecting = "the header of a safetensors file")]
struct Header {
    #[serde(rename = "__metadata__")]
    _metadata: Option<IgnoredAny>,
    #[serde(flatten)]
    tensors: HashMap<String, TensorInfo>,
}

#[derive(Deserialize, Default)]
#[serde(default, expecting = "the dtype and shape of a tensor")]
struct TensorInfo {
    dtype: String,
    shape: Vec<u64>,
}
