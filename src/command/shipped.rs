//! DeepSpeed configs that come with a trainer: which word of its own argument means which file of its package, by
//! version. Recorded by `tools/record shipped`.

use crate::base::recorded::{Table, Version, at};

const TABLE: Table = Table(include_str!("../recorded/shipped_configs.txt"));

/// What a trainer does with such words.
#[derive(Clone, Copy)]
pub(crate) struct ShippedConfigs {
    /// A file of that name in the current folder comes first.
    pub(crate) yields_to_file: bool,
    /// zlaunch has templates of the same names, which are taken where the package is not found.
    pub(crate) has_stand_ins: bool,
}

/// What a line of the table has for a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShippedConfig {
    /// What the trainer's own argument calls it.
    pub(crate) word: &'static str,
    /// Below the folder of packages.
    pub(crate) file: &'static str,
    /// The hash of a file that says what zlaunch's template of that name says.
    pub(crate) hash: Option<u64>,
}

impl ShippedConfig {
    /// The name of the file without its ending, which is the name of zlaunch's template for it.
    fn name(self) -> &'static str {
        let name = self.file.rsplit('/').next().unwrap_or(self.file);
        name.strip_suffix(".json").unwrap_or(name)
    }
}

/// Those of an installed version, or of the newest one.
fn of(distribution: &str, version: Option<Version>) -> impl Iterator<Item = ShippedConfig> {
    TABLE.below(&[distribution]).filter_map(move |line| {
        let (word, history) = line.split_once(' ')?;
        let found = at(history, version.unwrap_or(Version([u32::MAX; 3]))).filter(|file| *file != "-")?;
        let (file, hash) = found.split_once('#').unwrap_or((found, ""));
        Some(ShippedConfig { word, file, hash: u64::from_str_radix(hash, 16).ok() })
    })
}

/// What this word means in the trainer's own argument.
pub(crate) fn by_word(distribution: &str, version: Option<Version>, word: &str) -> Option<ShippedConfig> {
    of(distribution, version).find(|config| config.word == word)
}

/// The trainer's own config for which zlaunch has a template of this name.
pub(crate) fn by_name(distribution: &str, version: Option<Version>, name: &str) -> Option<ShippedConfig> {
    of(distribution, version).find(|config| config.name() == name)
}

/// Whether some version knows the word.
pub(crate) fn is_word(distribution: &str, word: &str) -> bool {
    TABLE.find(&[distribution, word]).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_files_by_version() {
        let file =
            |version: &str, word| by_word("ms-swift", Some(Version::parse(version)), word).map(|config| config.file);
        for (version, word, expected) in [
            ("4.6.0", "zero2", Some("swift/config/zero2.json")),
            ("99.0", "zero2", Some("swift/config/zero2.json")),
            ("3.8.3", "zero2", Some("swift/llm/ds_config/zero2.json")),
            ("3.0.0", "zero0", None),
            ("3.0.0", "default-zero2", None),
            ("4.6.0", "fsdp2", None),
        ] {
            assert_eq!(file(version, word), expected, "{version} {word}");
        }
        assert_eq!(by_word("ms-swift", None, "zero3").map(|config| config.file), Some("swift/config/zero3.json"));
        let own = by_name("ms-swift", None, "zero3_offload").unwrap();
        assert_eq!((own.word, own.hash), ("zero3_offload", Some(0x5ed0_b2d9_5d24_a317)));
        assert!(is_word("ms-swift", "default-zero3") && !is_word("ms-swift", "zeropp") && !is_word("trl", "zero2"));
    }
}
