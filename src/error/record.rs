//! Sentences about launch records.

use std::io;
use std::path::{Path, PathBuf};

use super::Problem;
use crate::said::Said;

pub(crate) fn no_output_folder(asked: &Said<PathBuf>) -> Problem {
    Problem::error("record", "--output_dir is not given, so there is no folder of the trainer's".to_string())
        .at(asked.from.with("auto"))
        .help("--record DIR")
}

pub(crate) fn not_a_record(path: &Path) -> Problem {
    Problem::error("record", "this is no launch record".to_string())
        .at(path.display())
        .help("zlaunch --record DIR -- COMMAND writes one")
}

pub(crate) fn secret_not_recorded(path: &Path, name: Option<&str>) -> Problem {
    Problem::error("record", format!("the value of {} was not recorded", name.unwrap_or("a word")))
        .at(path.display())
        .help("launch with the recorded words and the value itself: they are in `words`")
}

pub(crate) fn cannot_enter(folder: &Path, why: &io::Error) -> Problem {
    Problem::error("record", format!("the folder of the launch cannot be entered: {why}"))
        .at(folder.display())
        .help("run it where that folder is")
}
