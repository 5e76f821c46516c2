//! Sentences about PATH shims.

use std::path::Path;

use super::Problem;

pub(crate) fn no_folder_for_shims(usage: &str) -> Problem {
    Problem::error("usage", "without a home folder a folder must be named".to_string()).at("HOME").help(usage)
}

pub(crate) fn never_on_path(folder: &Path) -> Problem {
    Problem::error("shims", "a `:` ends a folder in PATH, so nothing in this one is ever found".to_string())
        .at(folder.display())
        .help("choose another folder: zlaunch shims install DIR")
}

pub(crate) fn not_a_shim(file: &Path) -> Problem {
    Problem::error("shims", "this file is not a shim of zlaunch and stays".to_string())
        .at(file.display())
        .help("choose another folder: zlaunch shims install DIR")
}
