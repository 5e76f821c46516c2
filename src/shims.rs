//! PATH shims: small shell scripts under the names of trainers and launchers, so that an unchanged script gets zlaunch
//! with one PATH line. Here is which files; `exec` writes and removes them.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::error::{self, Problem};
use crate::host::Host;
use crate::trainer::{self, Family};

/// The launchers that have one.
const LAUNCHERS: &[&str] = &["accelerate", "deepspeed", "torchrun"];

/// The programs that have one: the launchers, and every trainer that takes a config.
fn names() -> BTreeSet<&'static str> {
    let trainers = trainer::ALL.iter().filter(|trainer| trainer.family != Family::Opaque);
    let consoles = trainers.filter_map(|trainer| trainer.consoles.first());
    LAUNCHERS.iter().chain(consoles).copied().collect()
}

/// Every shim is this file; it knows by its name whom it stands for.
pub(crate) const SHIM: &str = include_str!("../shims/shim.sh");

/// What makes a file one of ours.
const MARK: &str = "# zlaunch shim:";

const USAGE: &str = "zlaunch shims install|remove|list [DIR]";

pub(crate) struct Shims {
    pub(crate) action: Action,
    pub(crate) folder: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Install,
    Remove,
    List,
}

impl Shims {
    /// The words behind `zlaunch shims`.
    pub(crate) fn parse(words: &[OsString], host: &Host) -> Result<Self, Problem> {
        let action = match words.first().and_then(|word| word.to_str()) {
            Some("install") => Action::Install,
            Some("remove") => Action::Remove,
            Some("list") => Action::List,
            word => return Err(error::unknown_action(USAGE, word, &["install", "remove", "list"])),
        };
        let folder = match words.get(1) {
            Some(folder) if !folder.as_encoded_bytes().starts_with(b"-") && words.len() == 2 => {
                host.absolute(Path::new(folder))
            }
            Some(word) => return Err(error::unknown_action(USAGE, word.to_str(), &[])),
            None => host.data_home().ok_or_else(|| error::no_folder_for_shims(USAGE))?.join("zlaunch/shims"),
        };
        Ok(Shims { action, folder })
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = PathBuf> {
        names().into_iter().map(|name| self.folder.join(name))
    }

    /// Files of these names that are somebody else's.
    pub(crate) fn foreign(&self) -> Vec<Problem> {
        let foreign = self.files().filter(|file| file.symlink_metadata().is_ok() && !is_ours(file));
        foreign.map(|file| error::not_a_shim(&file)).collect()
    }

    /// What is there now.
    pub(crate) fn present(&self) -> Vec<PathBuf> {
        self.files().filter(|file| is_ours(file)).collect()
    }

    /// How to use them, after they were installed.
    pub(crate) fn advice(&self, host: &Host) -> String {
        let folder = self.folder.display();
        let first = host.find_program(OsStr::new(LAUNCHERS[0]));
        let active = first.is_some_and(|program| program.parent() == Some(&self.folder));
        let next = if active { "it is on PATH".to_string() } else { format!("export PATH={folder}:\"$PATH\"") };
        format!("{} shims in {folder}\n{next}\n", names().len())
    }

    /// A line for each: whom it stands for, and which program is behind it.
    pub(crate) fn listing(&self, host: &Host) -> String {
        let path = host.raw(crate::vars::PATH).unwrap_or_default();
        let rest: Vec<PathBuf> = std::env::split_paths(path).filter(|folder| *folder != self.folder).collect();
        let behind = |name: &OsStr| rest.iter().map(|folder| folder.join(name)).find(|program| program.is_file());
        let line = |file: &PathBuf| {
            let name = file.file_name().unwrap_or_default();
            let behind =
                behind(name).map_or_else(|| "nothing on PATH".to_string(), |program| program.display().to_string());
            format!("{:<17} {behind}\n", name.to_string_lossy())
        };
        self.present().iter().map(line).collect()
    }
}

fn is_ours(file: &Path) -> bool {
    let plain = file.symlink_metadata().is_ok_and(|seen| seen.is_file());
    plain
        && std::fs::read_to_string(file)
            .is_ok_and(|text| text.lines().nth(1).is_some_and(|line| line.starts_with(MARK)))
}
