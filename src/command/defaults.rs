//! What a trainer takes for an argument that is not given, recorded from many versions by `tools/record defaults`.

use crate::command::python::{Python, Version};

const TABLE: &str = include_str!("../recorded/defaults.txt");

const AS_IN_TRANSFORMERS: &str = "-";

/// A class of arguments, by the distribution that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArgumentClass {
    pub(crate) distribution: &'static str,
    pub(crate) name: &'static str,
}

pub(crate) const TRAINING_ARGUMENTS: ArgumentClass =
    ArgumentClass { distribution: "transformers", name: "TrainingArguments" };

/// A default, as the table has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedDefault {
    /// A number, a bool, `none`, or `?` where the trainer computes it.
    pub(crate) value: &'static str,
    /// `ms-swift 4.6.0`, and how that differs from what is installed.
    pub(crate) of: String,
    /// Recorded from the version that is installed, or from those around it.
    pub(crate) certain: bool,
}

impl ArgumentClass {
    /// A class of that name, if the table has it.
    pub(crate) fn find(distribution: &str, name: &str) -> Option<Self> {
        TABLE.lines().find_map(|line| {
            let mut words = line.split(' ');
            let class = ArgumentClass { distribution: words.next()?, name: words.next()? };
            (class.distribution == distribution && class.name == name).then_some(class)
        })
    }

    /// The default of an argument in the version that is installed. Nothing for versions older than the table.
    pub(crate) fn default(self, argument: &str, python: Option<&Python>) -> Option<RecordedDefault> {
        let installed = python.and_then(|python| python.version(self.distribution));
        let (oldest, newest) = row(&[self.distribution, "*"])?.split_once(' ')?;
        if installed.as_ref().is_some_and(|version| version.is_before(numbers(oldest))) {
            return None;
        }
        let certain = installed.as_ref().is_some_and(|version| version.is_before(after(newest)));
        let counts = installed.clone().unwrap_or_else(|| Version(newest.to_string()));
        let history = row(&[self.distribution, self.name, argument]).unwrap_or_default();
        let pairs = history.split(' ').filter_map(|pair| pair.split_once('='));
        let value = pairs.rev().find(|(since, _)| !counts.is_before(numbers(since))).map(|(_, value)| value);
        if let Some(value) = value.filter(|value| *value != AS_IN_TRANSFORMERS) {
            return Some(RecordedDefault { value, of: self.described(installed, newest, certain), certain });
        }
        let inherited = (self != TRAINING_ARGUMENTS).then(|| TRAINING_ARGUMENTS.default(argument, python)).flatten();
        inherited.map(|found| RecordedDefault { certain: certain && found.certain, ..found })
    }

    fn described(self, installed: Option<Version>, newest: &str, certain: bool) -> String {
        let name = self.distribution;
        match installed {
            Some(version) if certain => format!("{name} {version}"),
            Some(version) => format!("{name} {newest}; {version} is installed"),
            None => format!("{name} {newest}; no version was found here"),
        }
    }
}

/// What stands behind these words in the table.
fn row(words: &[&str]) -> Option<&'static str> {
    let start = words.join(" ");
    TABLE.lines().find_map(|line| line.strip_prefix(start.as_str())?.strip_prefix(' '))
}

fn after(version: &str) -> [u32; 3] {
    let [major, minor, patch] = numbers(version);
    [major, minor, patch + 1]
}

pub(super) fn numbers(version: &str) -> [u32; 3] {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    [(); 3].map(|()| parts.next().unwrap_or(0))
}
