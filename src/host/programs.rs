//! Looks programs up on PATH, with the environment that was read already. `which` would read it again, and would ask the
//! system for the user's home, which a static executable cannot do.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry, File, Metadata, ReadDir};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use which::WhichConfig;
use which::sys::Sys;

/// The part of a `Host` that a look-up needs.
#[derive(Clone)]
pub(super) struct HostSys<'a> {
    pub(super) path: Option<&'a OsStr>,
    pub(super) cwd: &'a Path,
    pub(super) home: Option<PathBuf>,
}

/// Looks a program up as a shell would: a word with a `/` is a path, anything else is searched in PATH. For a shim of
/// zlaunch, the next program of that name is meant.
pub(super) fn find(word: &OsStr, host: &HostSys) -> Option<PathBuf> {
    let all = |word: &OsStr| {
        let config = WhichConfig::new_with_sys(host.clone()).binary_name(word.to_os_string());
        config.custom_cwd(host.cwd.to_path_buf()).all_results().ok()
    };
    let first = all(word)?.next()?;
    if is_shim(&first) { all(first.file_name()?)?.find(|program| !is_shim(program)) } else { Some(first) }
}

/// How the second line of every shim begins.
const MARK: &str = "# zlaunch shim:";

/// Whether a file is a shim of zlaunch.
pub(crate) fn is_shim(file: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(file).and_then(|file| file.take(64).read_to_end(&mut head));
    read.is_ok() && head.split(|byte| *byte == b'\n').nth(1).is_some_and(|line| line.starts_with(MARK.as_bytes()))
}

impl Sys for HostSys<'_> {
    type ReadDirEntry = DirEntry;
    type Metadata = Metadata;

    fn is_windows(&self) -> bool {
        false
    }

    fn current_dir(&self) -> io::Result<PathBuf> {
        Ok(self.cwd.to_path_buf())
    }

    fn home_dir(&self) -> Option<PathBuf> {
        self.home.clone()
    }

    fn env_split_paths(&self, paths: &OsStr) -> Vec<PathBuf> {
        std::env::split_paths(paths).collect()
    }

    fn env_path(&self) -> Option<OsString> {
        self.path.map(OsStr::to_os_string)
    }

    fn env_path_ext(&self) -> Option<OsString> {
        None
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        fs::metadata(path)
    }

    fn symlink_metadata(&self, path: &Path) -> io::Result<Metadata> {
        fs::symlink_metadata(path)
    }

    fn read_dir(&self, path: &Path) -> io::Result<Box<dyn Iterator<Item = io::Result<DirEntry>>>> {
        fs::read_dir(path).map(|entries: ReadDir| -> Box<dyn Iterator<Item = _>> { Box::new(entries) })
    }

    fn is_valid_executable(&self, path: &Path) -> io::Result<bool> {
        Ok(access(path, AccessFlags::X_OK).is_ok())
    }
}
