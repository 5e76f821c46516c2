//! DeepSpeed configs in a trainer's package that its own argument names by a word (`tools/record shipped`).

use crate::base::recorded::{Table, Version, at};

const TABLE: Table = Table(include_str!("../recorded/shipped_configs.txt"));

/// The file, relative to the folder of packages.
pub fn by_word(distribution: &str, version: Option<Version>, word: &str) -> Option<&'static str> {
    let history = TABLE.find(&[distribution, word])?;
    let newest = Version([u32::MAX; 3]);
    let found = at(history, version.unwrap_or(newest)).filter(|file| *file != "-")?;
    found.split('#').next()
}

pub fn is_word(distribution: &str, word: &str) -> bool {
    TABLE.find(&[distribution, word]).is_some()
}
