//! DeepSpeed configs in a trainer's package that its own argument names by a word (`tools/record shipped`).

use crate::base::recorded::{Table, Version, at};

const TABLE: Table = Table(include_str!("../recorded/shipped_configs.txt"));

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShippedConfig {
    pub word: &'static str,
    /// Relative to the folder of packages.
    pub file: &'static str,
}

fn of(distribution: &str, version: Option<Version>) -> impl Iterator<Item = ShippedConfig> {
    TABLE.below(&[distribution]).filter_map(move |line| {
        let (word, history) = line.split_once(' ')?;
        let found =
            at(history, version.unwrap_or(Version([u32::MAX; 3]))).filter(|file| *file != "-")?;
        let file = found.split('#').next()?;
        Some(ShippedConfig { word, file })
    })
}

pub fn by_word(distribution: &str, version: Option<Version>, word: &str) -> Option<ShippedConfig> {
    of(distribution, version).find(|config| config.word == word)
}

pub fn is_word(distribution: &str, word: &str) -> bool {
    TABLE.find(&[distribution, word]).is_some()
}
