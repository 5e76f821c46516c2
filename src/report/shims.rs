//! Sentences about PATH shims.

use std::path::Path;

use super::problem::Problem;
use super::rule::Rule;

pub(crate) fn no_folder_for_shims() -> Problem {
    Problem::error(Rule::Usage, "there is no home folder, so a folder must be named")
        .at("HOME")
        .help("zlaunch shims install|remove|list DIR")
}

pub(crate) fn never_on_path(folder: &Path) -> Problem {
    Problem::error(Rule::Shims, "a folder with a `:` in its name cannot be on PATH")
        .at(folder.display())
        .help("choose another folder: zlaunch shims install DIR")
}

pub(crate) fn not_a_shim(file: &Path) -> Problem {
    Problem::error(Rule::Shims, "this file is not a shim of zlaunch, and is left alone")
        .at(file.display())
        .help("choose another folder: zlaunch shims install DIR")
}
