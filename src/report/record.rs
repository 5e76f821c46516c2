//! Sentences about the launch record.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::problem::Problem;
use super::rule::Rule;
use crate::base::source::Sourced;

pub(crate) fn no_output_folder(asked: &Sourced<PathBuf>) -> Problem {
    Problem::error(Rule::Record, "the command has no `--output_dir` for the record to go to")
        .at(asked.from.with("auto"))
        .help("--record DIR")
}

pub(crate) fn cannot_be_recorded(asked: &Sourced<PathBuf>, word: &OsStr) -> Problem {
    Problem::error(Rule::Record, "this is not UTF-8 text, so it cannot be recorded")
        .at(word.to_string_lossy())
        .help(format!("use plain text, or leave {} out", asked.from))
}

pub(crate) fn no_record_folder(asked: &Sourced<PathBuf>) -> Problem {
    Problem::error(Rule::Record, "the name of the folder for the launch record is empty")
        .at(asked.from.with("''"))
        .help("--record DIR; is the variable set that should name it?")
}

pub(crate) fn not_of_a_record(file: &Path) -> Problem {
    let folder = file.parent().unwrap_or(file).join("zlaunch");
    Problem::error(Rule::Record, "this file is not part of a launch record, and is not overwritten")
        .at(file.display())
        .help(format!("--record {}", folder.display()))
}

/// `diff` with a command.
pub(crate) fn nothing_to_compare(what: &str) -> Problem {
    Problem::error(
        Rule::NoConfig,
        format!("`{what}` would run without a DeepSpeed config, so there is nothing to compare"),
    )
    .at(what)
    .help("add --deepspeed zero2")
}
