//! PATH shims: small shell scripts with the names of trainers and launchers, so that one PATH line makes an unchanged script
//! use zlaunch. This module knows which files there are; `exec` writes and removes them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::base::layout::TextTable;
use crate::base::shell::quoted;
use crate::base::vars;
use crate::command::trainer;
use crate::host::{Host, is_shim};
use crate::report::{self, Problem};

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
pub(crate) const SHIM: &str = include_str!("../../shims/shim.sh");

pub struct Shims {
    pub(crate) action: Action,
    folder: PathBuf,
    /// The folder was not given, so it is zlaunch's own.
    is_default: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Install,
    Remove,
    List,
}

impl Shims {
    /// In this folder, or else in our own.
    pub(crate) fn new(action: Action, folder: Option<&Path>, host: &Host) -> Result<Self, Problem> {
        let is_default = folder.is_none();
        let folder = match folder {
            Some(folder) => host.absolute(folder),
            None => host.data_home().ok_or_else(|| report::no_folder_for_shims())?.join("zlaunch/shims"),
        };
        if action == Action::Install && folder.as_os_str().as_encoded_bytes().contains(&b':') {
            return Err(report::never_on_path(&folder));
        }
        Ok(Shims { action, folder, is_default })
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = PathBuf> {
        names().into_iter().map(|name| self.folder.join(name))
    }

    /// Files with the names of shims that are not shims.
    pub(crate) fn foreign(&self) -> Vec<Problem> {
        let foreign = self.files().filter(|file| file.symlink_metadata().is_ok() && !is_ours(file));
        foreign.map(|file| report::not_a_shim(&file)).collect()
    }

    /// The shims that are installed.
    pub(crate) fn present(&self) -> Vec<PathBuf> {
        self.files().filter(|file| is_ours(file)).collect()
    }

    /// Folders that are removed with the last shim.
    pub(crate) fn own_folders(&self) -> impl Iterator<Item = &Path> {
        self.folder.ancestors().take(if self.is_default { 2 } else { 0 })
    }

    pub(crate) fn removed(&self, count: usize) -> String {
        let folder = self.folder.display();
        if count == 0 { format!("no shims in {folder}\n") } else { format!("{count} shims removed from {folder}\n") }
    }

    pub(crate) fn none(&self) -> String {
        format!("no shims in {}; `zlaunch shims install` puts them there\n", self.folder.display())
    }

    /// How to use them, after they were installed.
    pub(crate) fn advice(&self, host: &Host) -> Vec<u8> {
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

    /// The installed shims, each with the program it stands for.
    pub(crate) fn listing(&self, host: &Host) -> String {
        let row = |file: PathBuf| {
            let name = file.file_name().unwrap_or_default();
            let program = host.find_program(name);
            let program = program.map_or("nothing on PATH".to_string(), |program| program.display().to_string());
            (name.to_string_lossy().into_owned(), program)
        };
        TextTable::of_pairs(0, self.present().into_iter().map(row)).to_string()
    }
}

/// A link is not ours, wherever it points.
fn is_ours(file: &Path) -> bool {
    file.symlink_metadata().is_ok_and(|seen| seen.is_file()) && is_shim(file)
}
