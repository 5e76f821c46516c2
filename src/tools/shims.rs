//! PATH shims: small shell scripts under the names of trainers and launchers, so that an unchanged script gets zlaunch
//! with one PATH line. Here is which files; `exec` writes and removes them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::base::options::SHIMS;
use crate::base::shell::quoted;
use crate::base::vars;
use crate::command::trainer::{self, Family};
use crate::host::{Host, is_shim};
use crate::report::{self, Problem};

/// The launchers that have one.
const LAUNCHERS: &[&str] = &["accelerate", "deepspeed", "torchrun"];

/// The programs that have one: the launchers, and every trainer that takes a config.
fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = each_name().collect();
    names.sort_unstable();
    names
}

fn each_name() -> impl Iterator<Item = &'static str> {
    let trainers = trainer::ALL.iter().filter(|trainer| trainer.family != Family::Opaque);
    let consoles = trainers.filter_map(|trainer| trainer.consoles.first());
    LAUNCHERS.iter().chain(consoles).copied()
}

/// Every shim is this file; it knows by its name whom it stands for.
pub(crate) const SHIM: &str = include_str!("../../shims/shim.sh");

/// Whom every shim looks for.
const US: &str = "zlaunch";

pub(crate) struct Shims {
    pub(crate) action: Action,
    folder: PathBuf,
    /// Nobody named the folder: it is zlaunch's own.
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
            None => host.data_home().ok_or_else(|| report::no_folder_for_shims(SHIMS.usage))?.join("zlaunch/shims"),
        };
        if action == Action::Install && folder.as_os_str().as_encoded_bytes().contains(&b':') {
            return Err(report::never_on_path(&folder));
        }
        Ok(Shims { action, folder, is_default })
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = PathBuf> {
        names().into_iter().map(|name| self.folder.join(name))
    }

    /// Files of these names that are somebody else's.
    pub(crate) fn foreign(&self) -> Vec<Problem> {
        let foreign = self.files().filter(|file| file.symlink_metadata().is_ok() && !is_ours(file));
        foreign.map(|file| report::not_a_shim(&file)).collect()
    }

    /// What is there now.
    pub(crate) fn present(&self) -> Vec<PathBuf> {
        self.files().filter(|file| is_ours(file)).collect()
    }

    /// Folders that go with the last shim.
    pub(crate) fn own_folders(&self) -> impl Iterator<Item = &Path> {
        self.folder.ancestors().take(if self.is_default { 2 } else { 0 })
    }

    pub(crate) fn removed(&self, count: usize) -> String {
        let folder = self.folder.display();
        if count == 0 { format!("no shims in {folder}\n") } else { format!("{count} shims removed from {folder}\n") }
    }

    /// How to use them, after they were installed.
    pub(crate) fn advice(&self, host: &Host) -> Vec<u8> {
        let path = host.raw(vars::PATH).unwrap_or_default();
        let first =
            std::env::split_paths(path).map(|folder| folder.join(LAUNCHERS[0])).find(|program| program.is_file());
        let real = |program: PathBuf| fs::canonicalize(program).ok();
        let active = first.and_then(real).is_some_and(|first| Some(first) == real(self.folder.join(LAUNCHERS[0])));
        let ours = host.find_program(OsStr::new(US)).is_some() || self.folder.join(US).is_file();
        let alone = if ours { "" } else { "; zlaunch itself is not on PATH: until it is, they stand aside" };
        let mut text = format!("{} shims in {}{alone}\n", names().len(), self.folder.display()).into_bytes();
        if active {
            text.extend(b"it is on PATH\n");
        } else {
            text.extend([b"export PATH=", quoted(self.folder.as_os_str()).as_slice(), b":\"$PATH\"\n"].concat());
        }
        text
    }

    /// A line for each: whom it stands for, and which program is behind it.
    pub(crate) fn listing(&self, host: &Host) -> String {
        let line = |file: &PathBuf| {
            let name = file.file_name().unwrap_or_default();
            let behind = host.find_program(name);
            let behind = behind.map_or_else(|| "nothing on PATH".to_string(), |program| program.display().to_string());
            format!("{:<17} {behind}\n", name.to_string_lossy())
        };
        self.present().iter().map(line).collect()
    }
}

/// A link is somebody else's, wherever it leads.
fn is_ours(file: &Path) -> bool {
    file.symlink_metadata().is_ok_and(|seen| seen.is_file()) && is_shim(file)
}
