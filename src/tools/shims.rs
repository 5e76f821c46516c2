//! PATH shims: small shell scripts with the names of trainers and launchers, so that one PATH line makes an unchanged script
//! use zlaunch. `exec` writes and removes them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use super::output::{err, out};
use crate::base::layout::TextTable;
use crate::base::options::{AnyValue, Given};
use crate::base::shell::quoted;
use crate::base::vars;
use crate::cli::values::{self, Words, one_of};
use crate::cli::{Reader, Requested, Tool};
use crate::command::trainer;
use crate::exec;
use crate::host::{Host, is_shim};
use crate::report::fix::run;
use crate::report::{self, Problem, Rule};

/// The launchers that have a shim.
const LAUNCHERS: &[&str] = &["accelerate", "deepspeed", "torchrun"];

/// The programs that have a shim: the launchers, and every trainer that takes a config.
fn names() -> Vec<&'static str> {
    let trainers = trainer::ALL.iter().filter(|trainer| !trainer.is_passthrough());
    let consoles = trainers.filter_map(|trainer| trainer.launch.consoles.first());
    let mut names: Vec<_> = LAUNCHERS.iter().chain(consoles).copied().collect();
    names.sort_unstable();
    names
}

/// The content of every shim. It tells by its own name which program it stands for.
const SHIM: &str = include_str!("../../shims/shim.sh");

const USAGE: &str = "zlaunch shims install|remove|list [DIR]";

/// Install shims that put zlaunch into existing scripts
#[derive(Args)]
#[command(long_about = "安装 shim，现有脚本无需改动", override_usage = USAGE)]
pub(crate) struct ShimsArgs {
    #[arg(value_parser = AnyValue(ACTIONS))]
    action: Given,
    /// Where the shims are; by default ~/.local/share/zlaunch/shims
    #[arg(value_hint = ValueHint::DirPath, long_help = "shim 所在的目录；默认 ~/.local/share/zlaunch/shims")]
    dir: Option<Given>,
}

const ACTIONS: Words<Action> =
    || vec![("install", Action::Install), ("remove", Action::Remove), ("list", Action::List)];

impl Tool for ShimsArgs {
    fn read(self, mut reader: Reader) -> Requested {
        let action = reader.one(Some(self.action), one_of(ACTIONS));
        let folder = reader.one(self.dir, values::path).map(|folder| folder.value);
        if folder.as_ref().is_some_and(|folder| folder.as_os_str().is_empty()) {
            reader.problems.push(report::missing_argument("DIR", USAGE));
        }
        let host = reader.host;
        let action = reader.finish(action)?.map_or(Action::List, |action| action.value);
        let shims = Shims::new(action, folder.as_deref(), host).map_err(|problem| vec![problem])?;
        Ok(Box::new(move |host: &Host| shims.run(host)))
    }
}

struct Shims {
    action: Action,
    folder: PathBuf,
    /// The folder was not given, so it is zlaunch's own.
    is_default: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Install,
    Remove,
    List,
}

impl Shims {
    /// In this folder, or else in our own.
    fn new(action: Action, folder: Option<&Path>, host: &Host) -> Result<Self, Problem> {
        let is_default = folder.is_none();
        let no_home = || {
            Problem::error(Rule::Usage, "there is no home folder, so name a folder")
                .at("HOME")
                .fix(run("zlaunch shims install|remove|list DIR"))
        };
        let folder = match folder {
            Some(folder) => host.absolute(folder),
            None => host.data_home().ok_or_else(no_home)?.join("zlaunch/shims"),
        };
        if action == Action::Install && folder.as_os_str().as_encoded_bytes().contains(&b':') {
            return Err(not_here("a folder with a `:` in its name cannot be on PATH", &folder));
        }
        Ok(Shims { action, folder, is_default })
    }

    fn run(&self, host: &Host) -> Result<u8, Vec<Problem>> {
        let folder = self.folder.display();
        let present: Vec<PathBuf> = self.files().filter(|file| is_ours(file)).collect();
        match self.action {
            Action::List if present.is_empty() => {
                err(&format!("no shims in {folder}; `zlaunch shims install` puts them there\n"));
            }
            Action::List => return out(&listing(present, host)),
            Action::Install => {
                let is_foreign = |file: &PathBuf| file.symlink_metadata().is_ok() && !is_ours(file);
                let what = "this file is not a shim of zlaunch, and is left alone";
                let refused = |file: PathBuf| not_here(what, &file);
                let foreign: Vec<_> = self.files().filter(is_foreign).map(refused).collect();
                if !foreign.is_empty() {
                    return Err(foreign);
                }
                self.files().try_for_each(|file| exec::write_program(&file, SHIM))?;
                err(&String::from_utf8_lossy(&self.advice(host)));
            }
            Action::Remove => {
                // Our own folders are removed with the last shim.
                exec::remove(&present, self.folder.ancestors().take(if self.is_default { 2 } else { 0 }))?;
                err(&match present.len() {
                    0 => format!("no shims in {folder}\n"),
                    count => format!("{count} shims removed from {folder}\n"),
                });
            }
        }
        Ok(0)
    }

    fn files(&self) -> impl Iterator<Item = PathBuf> {
        names().into_iter().map(|name| self.folder.join(name))
    }

    /// How to use them, after they were installed.
    fn advice(&self, host: &Host) -> Vec<u8> {
        let path = host.var_os(vars::PATH).unwrap_or_default();
        let first =
            std::env::split_paths(path).map(|folder| folder.join(LAUNCHERS[0])).find(|program| program.is_file());
        let real = |program: PathBuf| fs::canonicalize(program).ok();
        let active = first.and_then(real).is_some_and(|first| Some(first) == real(self.folder.join(LAUNCHERS[0])));
        let found = host.find_program(OsStr::new("zlaunch")).is_some() || self.folder.join("zlaunch").is_file();
        let note = if found {
            ""
        } else {
            "; zlaunch itself is not on PATH: until it is, they run the real programs unchanged"
        };
        let mut text = format!("{} shims in {}{note}\n", names().len(), self.folder.display()).into_bytes();
        if active {
            text.extend(b"this folder is on PATH\n");
        } else {
            text.extend([b"export PATH=", quoted(self.folder.as_os_str()).as_slice(), b":\"$PATH\"\n"].concat());
        }
        text
    }
}

/// The installed shims, each with the program it stands for.
fn listing(present: Vec<PathBuf>, host: &Host) -> String {
    let row = |file: PathBuf| {
        let name = file.file_name().unwrap_or_default();
        let program = host.find_program(name);
        let program = program.map_or("nothing on PATH".to_string(), |program| program.display().to_string());
        (name.to_string_lossy().into_owned(), program)
    };
    TextTable::of_pairs(0, present.into_iter().map(row)).to_string()
}

fn not_here(what: &str, place: &Path) -> Problem {
    Problem::error(Rule::Shims, what).at(place).fix(run("zlaunch shims install DIR").remark("choose another folder"))
}

/// A link is not ours, wherever it points.
fn is_ours(file: &Path) -> bool {
    file.symlink_metadata().is_ok_and(|seen| seen.is_file()) && is_shim(file)
}
