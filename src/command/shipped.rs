//! DeepSpeed configs that come with a trainer: which word of its own argument means which file of its package, by
//! version. Recorded by `tools/record shipped`.

use crate::command::defaults::numbers;
use crate::command::python::Version;

const TABLE: &str = include_str!("../recorded/shipped_configs.txt");

/// What a trainer does with such words.
#[derive(Clone, Copy)]
pub(crate) struct ShippedConfigs {
    /// A file of that name in the current folder comes first.
    pub(crate) yields_to_file: bool,
    /// zlaunch has templates of the same names, which are taken where the package is not found.
    pub(crate) has_stand_ins: bool,
}

/// A line of the table.
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
fn of<'a>(distribution: &'a str, version: Option<&'a Version>) -> impl Iterator<Item = ShippedConfig> + 'a {
    TABLE.lines().filter_map(move |line| {
        let line = line.strip_prefix(distribution)?.strip_prefix(' ')?;
        let mut words = line.split(' ');
        let (word, file, since, until) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let is_in = match version {
            Some(version) => !version.is_before(numbers(since)) && (until == "-" || version.is_before(numbers(until))),
            None => until == "-",
        };
        let hash = words.next().and_then(|hash| u64::from_str_radix(hash, 16).ok());
        is_in.then_some(ShippedConfig { word, file, hash })
    })
}

/// What this word means in the trainer's own argument.
pub(crate) fn by_word(distribution: &str, version: Option<&Version>, word: &str) -> Option<ShippedConfig> {
    of(distribution, version).find(|config| config.word == word)
}

/// The trainer's own config for which zlaunch has a template of this name.
pub(crate) fn by_name(distribution: &str, version: Option<&Version>, name: &str) -> Option<ShippedConfig> {
    of(distribution, version).find(|config| config.name() == name)
}

/// Whether some version knows the word.
pub(crate) fn is_word(distribution: &str, word: &str) -> bool {
    let words = TABLE.lines().filter_map(|line| line.strip_prefix(distribution)?.strip_prefix(' ')?.split(' ').next());
    words.into_iter().any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_files_by_version() {
        let file = |version: &str, word| {
            by_word("ms-swift", Some(&Version(version.to_string())), word).map(|config| config.file)
        };
        assert_eq!(file("4.6.0", "zero2"), Some("swift/config/zero2.json"));
        assert_eq!(file("99.0", "zero2"), Some("swift/config/zero2.json"));
        assert_eq!(file("3.8.3", "zero2"), Some("swift/llm/ds_config/zero2.json"));
        assert_eq!(file("3.0.0", "zero2"), Some("swift/llm/ds_config/zero2.json"));
        assert_eq!((file("3.0.0", "zero0"), file("3.0.0", "default-zero2")), (None, None));
        assert_eq!(file("2.6.1", "default-zero2"), Some("swift/llm/ds_config/zero2.json"));
        assert_eq!(
            (file("2.6.1", "zero2"), file("2.0.2", "zero3-offload"), file("4.6.0", "fsdp2")),
            (None, None, None)
        );
        assert_eq!(by_word("ms-swift", None, "zero3").map(|config| config.file), Some("swift/config/zero3.json"));
        let own = by_name("ms-swift", Some(&Version("2.6.1".to_string())), "zero3_offload");
        assert_eq!(own.map(|config| (config.word, config.hash)), Some(("zero3-offload", None)));
        assert!(is_word("ms-swift", "default-zero3") && !is_word("ms-swift", "zeropp") && !is_word("trl", "zero2"));
    }
}
