//! What a trainer takes for an argument that is not given, recorded from many versions by `tools/record defaults`.

use crate::base::recorded::{Table, Version, VersionMatch, at, versions};
use crate::command::python::Python;

const TABLE: Table = Table(include_str!("../recorded/defaults.txt"));

const AS_IN_TRANSFORMERS: &str = "-";

/// A class of arguments, by the distribution that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgumentClass {
    pub distribution: &'static str,
    pub name: &'static str,
}

pub const TRAINING_ARGUMENTS: ArgumentClass = ArgumentClass { distribution: "transformers", name: "TrainingArguments" };

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
    pub(crate) fn find(distribution: &'static str, name: &str) -> Option<Self> {
        let mut classes = TABLE.below(&[distribution]).filter_map(|line| line.split(' ').next());
        classes.find(|class| *class == name).map(|name| ArgumentClass { distribution, name })
    }

    /// The default of an argument in the version that is installed, or in the nearest that was recorded.
    pub(crate) fn default(self, argument: &str, python: Option<&Python>) -> Option<RecordedDefault> {
        let name = self.distribution;
        let all = TABLE.find(&[name, "*"])?;
        let (oldest, newest) = (versions(all).next()?, versions(all).next_back()?);
        let installed = python.and_then(|python| python.version_text(name));
        let version = installed.as_deref().map(Version::parse);
        let nearest = version.map(|version| VersionMatch::find(versions(all), version));
        let certain = nearest.is_some_and(VersionMatch::is_certain);
        let history = TABLE.find(&[name, self.name, argument]).unwrap_or_default();
        let value = at(history, version.unwrap_or(newest).max(oldest)).filter(|value| *value != AS_IN_TRANSFORMERS);
        let Some(value) = value else {
            let inherited = (self != TRAINING_ARGUMENTS).then(|| TRAINING_ARGUMENTS.default(argument, python));
            return inherited.flatten().map(|found| RecordedDefault { certain: certain && found.certain, ..found });
        };
        let of = match (&installed, nearest) {
            (Some(text), _) if certain => format!("{name} {text}"),
            (Some(text), Some(nearest)) => format!("{name} {}; {text} is installed", nearest.version()),
            _ => format!("{name} {newest}; no version was found here"),
        };
        Some(RecordedDefault { value, of, certain })
    }
}
