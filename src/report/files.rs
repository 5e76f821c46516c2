//! Sentences about files that are read.

use std::io;
use std::path::Path;

use super::problem::Problem;
use super::rule::Rule;

pub(crate) fn anybody_could_write(name: &str, path: &Path, open: &Path) -> Problem {
    let what = format!("anybody could have written the template `{name}`: everyone may write to `{}`", open.display());
    Problem::error(Rule::Template, what).at(path.display()).help(format!(
        "`chmod o-w {}`, or name the file: --deepspeed {}",
        open.display(),
        path.display()
    ))
}

pub(crate) fn unreadable_file(path: &Path, why: &io::Error) -> Problem {
    let what = match why.kind() {
        io::ErrorKind::NotFound => "does not exist".to_string(),
        io::ErrorKind::PermissionDenied => "cannot be read: you lack the permission".to_string(),
        // `/proc/kmsg`: more comes when the kernel has more to say.
        io::ErrorKind::WouldBlock => "cannot be read: it has no end".to_string(),
        _ => format!("cannot be read: {why}"),
    };
    Problem::error(Rule::File, format!("`{}` {what}", path.display()))
        .at(path.display())
        .help("check the path and its permissions")
}

pub(crate) fn not_a_file(path: &Path) -> Problem {
    Problem::error(Rule::File, format!("`{}` is not a regular file", path.display()))
        .at(path.display())
        .help("name a file, not a folder, pipe or device")
}

pub(crate) fn not_text_file(name: &str, line: usize, column: usize) -> Problem {
    Problem::error(Rule::File, "this byte is not UTF-8 text")
        .at(format!("{name}:{line}:{column}"))
        .help("is this the right file? save it as UTF-8")
}

pub(crate) fn file_too_large(path: &Path, size: u64, most: u64) -> Problem {
    Problem::error(Rule::File, format!("`{}` has {size} bytes: too large for a config", path.display()))
        .at(path.display())
        .help(format!("zlaunch reads at most {most} bytes; is this the right file?"))
}

pub(crate) fn not_json(name: &str, line: usize, column: usize, what: &str) -> Problem {
    Problem::error(Rule::Json, format!("not JSON: {what}"))
        .at(format!("{name}:{line}:{column}"))
        .help("JSON is expected; comments and trailing commas are allowed")
}

pub(crate) fn input_is_a_terminal() -> Problem {
    Problem::error(Rule::Template, "standard input is a terminal: there is no config to read")
        .at("-")
        .help("zlaunch --deepspeed - … < ds_config.json")
}
