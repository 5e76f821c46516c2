//! Files that the user named: read whole, with a problem that says where.

use std::{
    ffi::OsStr,
    fmt, fs,
    io::{self, IsTerminal, Read},
    os::{fd::AsFd, unix::fs::OpenOptionsExt},
    path::Path,
};

use nix::fcntl::OFlag;
use serde_json::Value;

use super::{
    fix::{Fix, meant, run, say},
    nearest::nearest,
    problem::{Place, Problem},
    tables::rules::Rule,
};
use crate::{
    base::json::{SyntaxError, parse},
    host::Host,
};

/// Far larger than any config; a checkpoint or a log named by mistake exceeds it.
const LARGEST_FILE: u64 = 4 << 20;

impl SyntaxError {
    pub fn problem(&self, name: &str) -> Problem {
        let here = Place::line(name, (self.line, self.column));
        let problem = match self.first {
            Some(first) => Rule::Json.error(&self.what).at(Place::line(name, first)),
            None => Rule::Json.error(format!("not JSON: {}", self.what)),
        };
        problem.at(here).fix(self.help)
    }

    /// The same for a file that only the trainer reads.
    pub fn problem_in_run_file(&self, kind: &str, name: &str) -> Problem {
        Rule::RunFile
            .error(format!("not {kind}: {}", self.what))
            .at(Place::line(name, (self.line, self.column)))
            .fix("the trainer would refuse it too; check that place")
    }
}

pub fn read(path: &Path, host: &Host) -> Result<Value, Problem> {
    parsed(&read_text(path)?, &path.display().to_string(), host)
}

fn parsed(text: &str, name: &str, host: &Host) -> Result<Value, Problem> {
    host.has_read(text);
    parse(text).map_err(|fault| fault.problem(name))
}

/// Reads the config behind `-` or the name that a shell gives to `<(…)`. `None` if the word is neither: another pipe is not
/// opened, because nobody may ever write to it.
pub fn piped(word: &str, host: &Host) -> Option<Result<Value, Problem>> {
    let path = if word == "-" { "/dev/stdin" } else { word };
    ["/dev/stdin", "/dev/fd/", "/proc/self/fd/"]
        .iter()
        .any(|it| path.starts_with(it))
        .then(|| {
            // A socket, as `ssh` gives to a command, cannot be opened by a name.
            let pipe = match path {
                "/dev/stdin" => io::stdin().as_fd().try_clone_to_owned().map(fs::File::from),
                path => fs::File::open(path),
            };
            let pipe = pipe.map_err(|why| unreadable_file(Path::new(path), &why))?;
            if pipe.is_terminal() {
                let line = run("zlaunch --deepspeed - … < ds_config.json");
                return Err(Rule::Template
                    .error("standard input is a terminal: there is no config to read")
                    .at("-")
                    .fix(line));
            }
            let config = parsed(&read_all(pipe, Path::new(path))?, path, host)?;
            if config.is_object() {
                Ok(config)
            } else {
                Err(not_an_object(path))
            }
        })
}

/// `None` if the file is missing or cannot be read.
pub fn text_if_any(path: &Path) -> Option<String> {
    path.is_file().then(|| read_text(path).ok())?
}

pub fn read_text(path: &Path) -> Result<String, Problem> {
    let (file, _) = open(path)
        .map_err(|why| unreadable_file(path, &why))?
        .ok_or_else(|| not_a_file(path))?;
    read_all(file, path)
}

/// Also of something that does not say how large it is, or grows.
fn read_all(from: impl Read, path: &Path) -> Result<String, Problem> {
    let mut bytes = vec![];
    if from
        .take(LARGEST_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(|why| unreadable_file(path, &why))? as u64
        > LARGEST_FILE
    {
        let what = format!("`{}` is too large for a config", path.display());
        return Err(Rule::File.error(what).at(path).fix(format!(
            "zlaunch reads at most {LARGEST_FILE} bytes; check that this is the right file"
        )));
    }
    String::from_utf8(bytes).map_err(|_| {
        Rule::File
            .error(format!("`{}` is not UTF-8 text", path.display()))
            .at(path)
            .fix("save it as UTF-8, or check that this is the right file")
    })
}

/// Opens a regular file and returns its size. Nothing here blocks: a folder, pipe or device gives `None` and is not opened,
/// and a file such as `/proc/kmsg` fails instead of waiting.
pub fn open(path: &Path) -> io::Result<Option<(fs::File, u64)>> {
    let seen = fs::metadata(path)?;
    if !seen.is_file() {
        return Ok(None);
    }
    let file = fs::File::options()
        .read(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)?;
    Ok(Some((file, seen.len())))
}

pub fn unreadable_file(path: &Path, why: &io::Error) -> Problem {
    let permissions = || say("check its permissions");
    let (what, fix) = match why.kind() {
        io::ErrorKind::NotFound => ("does not exist", path_advice(path)),
        io::ErrorKind::PermissionDenied => ("cannot be read: permission denied", permissions()),
        _ => (&*format!("cannot be read: {why}"), permissions()),
    };
    Rule::File
        .error(format!("`{}` {what}", path.display()))
        .at(path)
        .fix(fix)
}

/// A similar name in the same folder, or the part of the path that exists.
pub fn path_advice(path: &Path) -> Fix {
    let there = path
        .ancestors()
        .skip(1)
        .find(|folder| folder.exists())
        .unwrap_or(Path::new("/"));
    let mut rest = path.strip_prefix(there).unwrap_or(path).iter();
    let wanted = rest.next().and_then(OsStr::to_str).unwrap_or_default();
    let near = nearest_in(there, wanted, |_| true);
    match near.map(|near| rest.fold(there.join(near), |path, part| path.join(part))) {
        // A folder is not meant by a file, nor a path by itself.
        Some(near) if near.exists() && near != path => meant(near.display()),
        _ => say(format!(
            "check the path: there is no `{wanted}` in {}",
            there.display()
        )),
    }
}

pub fn nearest_in(folder: &Path, wanted: &str, is_it: fn(&Path) -> bool) -> Option<String> {
    // A folder may have millions of files.
    let names: Vec<String> = fs::read_dir(folder)
        .ok()?
        .flatten()
        .take(10_000)
        .filter(|entry| is_it(&entry.path()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let near = nearest(wanted, names.iter().map(String::as_str)).map(str::to_string);
    let is_stem = |name: &&String| Path::new(name).file_stem().is_some_and(|it| it == wanted);
    near.or_else(|| names.iter().find(is_stem).cloned())
}

pub fn not_a_file(path: &Path) -> Problem {
    Rule::File
        .error(format!("`{}` is not a regular file", path.display()))
        .at(path)
        .fix("name a file, not a folder, pipe or device")
}

pub fn not_an_object(place: impl fmt::Display) -> Problem {
    Rule::Template
        .error("a DeepSpeed config is a JSON object")
        .at(place.to_string())
        .fix("it starts with `{`")
}
