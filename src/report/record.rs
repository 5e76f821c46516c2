//! Sentences about the launch record.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::problem::Problem;
use super::rule::Rule;
use crate::base::source::Sourced;

pub(crate) fn no_output_folder(asked: &Sourced<PathBuf>) -> Problem {
    Problem::error(Rule::Record, "the command has no `--output_dir` for the record to go to")
        .at(asked.from.with("auto"))
        .help("--record DIR")
}

pub(crate) fn no_record(folder: &Path) -> Problem {
    Problem::error(Rule::Record, "there is no launch record in this folder")
        .at(folder.display())
        .help("name the folder that --record wrote to; for --record auto, the trainer's output_dir")
}

pub(crate) fn not_a_record(path: &Path) -> Problem {
    Problem::error(Rule::Record, "this is not a launch record")
        .at(path.display())
        .help("zlaunch --record DIR -- COMMAND writes one")
}

pub(crate) fn secret_not_recorded(path: &Path, name: &str) -> Problem {
    Problem::error(Rule::Record, format!("the value of {name} was not recorded"))
        .at(path.display())
        .help("launch by hand, with that value and the recorded `words` and `variables`")
}

pub(crate) fn cannot_be_recorded(asked: &Sourced<PathBuf>, word: &OsStr) -> Problem {
    Problem::error(Rule::Record, "this is not UTF-8 text, so it cannot be recorded")
        .at(word.to_string_lossy())
        .help(format!("use plain text, or leave {} out", asked.from))
}

pub(crate) fn source_is_gone(file: &Path, config: &Path) -> Problem {
    Problem::error(Rule::Record, format!("`{}`, which the recorded launch was made from, is gone", file.display()))
        .at(file.display())
        .help(format!("the config as it was: --deepspeed {}", config.display()))
}

pub(crate) fn cannot_enter(folder: &Path, why: &io::Error) -> Problem {
    Problem::error(Rule::Record, format!("the folder of the launch cannot be entered: {why}"))
        .at(folder.display())
        .help("replay it on a machine that has that folder")
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

pub(crate) fn record_of_another_version(path: &Path, found: &Value, known: u64) -> Problem {
    Problem::error(Rule::Record, format!("this record has version {found}, but this zlaunch reads version {known}"))
        .at(path.display())
        .help("replay it with the zlaunch that wrote it: its version is in `zlaunch`")
}

pub(crate) fn record_without_config(folder: &Path) -> Problem {
    Problem::error(Rule::Record, "this launch was recorded without a DeepSpeed config")
        .at(folder.display())
        .help("name a record with a config, a template or a file")
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
