//! Sentences about PATH shims.

use std::path::Path;

use super::Problem;

pub(crate) fn no_folder_for_shims(usage: &str) -> Problem {
    Problem::error("usage", "without a home folder a folder must be named".to_string()).at("HOME").help(usage)
}

pub(crate) fn not_a_shim(file: &Path) -> Problem {
    Problem::error("shims", "this file is not a shim of zlaunch and stays".to_string())
        .at(file.display())
        .help("choose another folder: zlaunch shims install DIR")
}
