//! Sentences about folders of templates.

use std::path::PathBuf;

use super::problem::Problem;
use super::rule::Rule;
use crate::base::source::Sourced;

pub(crate) fn no_template_folder(given: &Sourced<PathBuf>, nearest: Option<PathBuf>) -> Problem {
    let help = match nearest {
        Some(nearest) => given.from.with(nearest.display()),
        None => "check the path (it is relative to the current folder)".to_string(),
    };
    Problem::error(Rule::Template, format!("there is no folder `{}` with templates", given.value.display()))
        .at(given.from.with(given.value.display()))
        .help(help)
}

pub(crate) fn file_for_template_folder(given: &Sourced<PathBuf>) -> Problem {
    Problem::error(Rule::Template, format!("`{}` is a file, not a folder with templates", given.value.display()))
        .at(given.from.with(given.value.display()))
        .help(format!("--deepspeed {}", given.value.display()))
}
