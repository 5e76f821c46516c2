//! Classes of arguments that zlaunch knows by name, and what is recorded of them.

use crate::base::recorded::Table;

#[derive(Clone, Copy, PartialEq)]
pub struct ArgumentClass {
    pub distribution: &'static str,
    pub name: &'static str,
}

pub const TRAINING_ARGUMENTS: ArgumentClass = ArgumentClass {
    distribution: "transformers",
    name: "TrainingArguments",
};

pub const SEQ2SEQ_ARGUMENTS: ArgumentClass = ArgumentClass {
    name: "Seq2SeqTrainingArguments",
    ..TRAINING_ARGUMENTS
};

/// From this transformers on, its parser takes every name with dashes too.
pub const DASHES_SINCE: [u32; 3] = [4, 46, 0];

pub const DEFAULTS: Table = Table(include_str!("../../recorded/defaults.txt"));
pub const OPTIONS: Table = Table(include_str!("../../recorded/arguments.txt"));

/// As a default: the one of `TrainingArguments`.
pub const INHERITED: &str = "-";
/// As a type: this version has no such argument.
pub const GONE: &str = "-";
/// The line that names the classes whose arguments a class has besides its own.
pub const PARTS: &str = "^";
