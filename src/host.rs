//! The environment and the machine, as zlaunch finds them. Only this folder reads the environment, /proc and /sys, and
//! nothing here decides.

pub mod cards;
pub mod machine;
mod tables;
pub mod terminal;

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::Read,
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
    rc::Rc,
};

use nix::{
    sys::signal::Signal,
    unistd::{AccessFlags, Pid, access, geteuid, gethostname, getpid},
};

use crate::base::{source::Sourced, vars};
use machine::Machine;
pub use machine::names_in;

#[derive(Clone, Default)]
pub struct Host {
    /// The command line, with the name of the program first.
    pub words: Vec<OsString>,
    pub env: BTreeMap<OsString, OsString>,
    pub cwd: PathBuf,
    pub hostname: String,
    /// CPUs this process may use, by its affinity and its cgroup.
    pub cpus: usize,
    /// GPUs that the NVIDIA driver lists in /proc, if there is a driver.
    pub nvidia_gpus: Option<usize>,
    /// SIGHUP is ignored, as `nohup` leaves it.
    pub ignores_hangup: bool,
    /// The configs and run files that were read, for the secrets in them. Copies of a host share it.
    pub documents: Rc<RefCell<BTreeSet<String>>>,
}

impl Host {
    #[expect(clippy::disallowed_methods, reason = "the only place that reads them")]
    pub fn read() -> Self {
        Host {
            words: std::env::args_os().collect(),
            env: std::env::vars_os().collect(),
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            hostname: gethostname()
                .ok()
                .and_then(|name| name.into_string().ok())
                .unwrap_or_default(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            nvidia_gpus: fs::read_dir("/proc/driver/nvidia/gpus")
                .ok()
                // The tests decide how many GPUs there are, also on a machine that has some.
                .filter(|_| {
                    !cfg!(debug_assertions) || std::env::var_os("tests_hide_gpus").is_none()
                })
                .map(Iterator::count),
            ignores_hangup: is_ignored(Signal::SIGHUP),
            documents: Rc::default(),
        }
    }

    pub fn var_os(&self, name: &str) -> Option<&OsStr> {
        self.env.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    pub fn var(&self, name: &str) -> Option<&str> {
        self.var_os(name)?.to_str()
    }

    /// The variables whose names begin with this.
    pub fn vars_from<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a OsStr)> {
        self.env
            .range(OsString::from(prefix)..)
            .filter_map(|(name, value)| Some((name.to_str()?, value.as_os_str())))
            .take_while(move |(name, _)| name.starts_with(prefix))
    }

    pub fn nonempty_var(&self, name: &str) -> Option<&str> {
        self.var(name).filter(|value| !value.is_empty())
    }

    /// A folder named by a variable. Relative ones are ignored, as the XDG specification asks.
    fn folder(&self, name: &str) -> Option<PathBuf> {
        self.var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    }

    pub fn home(&self) -> Option<PathBuf> {
        self.folder(vars::HOME)
    }

    /// A folder of the XDG specification, by its variable, or else where it is in the home.
    pub fn xdg_folder(&self, variable: &str, in_home: &str) -> Option<PathBuf> {
        self.folder(variable)
            .or_else(|| Some(self.home()?.join(in_home)))
    }

    pub fn cache_home(&self) -> Option<PathBuf> {
        self.xdg_folder(vars::XDG_CACHE_HOME, ".cache")
    }

    pub fn data_home(&self) -> Option<PathBuf> {
        self.folder(vars::XDG_DATA_HOME)
            .or_else(|| Some(self.home().filter(|it| it.is_dir())?.join(".local/share")))
    }

    /// The folder of Hugging Face's libraries.
    pub fn hf_home(&self) -> Option<PathBuf> {
        self.path(vars::HF_HOME)
            .or_else(|| Some(self.cache_home()?.join("huggingface")))
    }

    /// The path that a variable holds, made absolute.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.nonempty_var(name)
            .map(|path| self.absolute(Path::new(path)))
    }

    /// `~` and relative paths made absolute, without `.`, `//` and `folder/..`. The parent of a link is another one.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        let home = path
            .strip_prefix("~")
            .ok()
            .and_then(|rest| Some(self.home()?.join(rest)));
        let path = self.cwd.join(home.as_deref().unwrap_or(path));
        if !path
            .as_os_str()
            .as_encoded_bytes()
            .windows(2)
            .any(|pair| pair == b"//" || pair == b"/.")
        {
            return path;
        }
        path.components()
            .fold(PathBuf::new(), |short, part| match part {
                Component::ParentDir if short.is_dir() && !short.is_symlink() => {
                    short.parent().unwrap_or(&short).into()
                }
                _ => short.join(part),
            })
    }

    /// Remembers a document, whose secrets must not be shown.
    pub fn has_read(&self, document: &str) {
        self.documents.borrow_mut().insert(document.to_string());
    }

    /// The executable that a shell would run for this word, or the next one of that name if it is a shim of zlaunch.
    pub fn find_program(&self, word: &OsStr) -> Option<PathBuf> {
        let first = self.programs(word).next()?;
        if is_shim(&first) {
            self.programs(first.file_name()?)
                .find(|program| !is_shim(program))
        } else {
            Some(first)
        }
    }

    pub fn programs(&self, word: &OsStr) -> impl Iterator<Item = PathBuf> {
        which::which_in_all(word, self.var_os(vars::PATH), &self.cwd)
            .into_iter()
            .flatten()
    }

    /// The models of the GPUs, as the NVIDIA driver names them.
    pub fn gpus(&self) -> Vec<String> {
        if self.nvidia_gpus.is_none() {
            vec![]
        } else {
            Machine::here().gpus()
        }
    }

    /// Looks where torch does.
    pub fn has_nvcc(&self) -> bool {
        let home = ["CUDA_HOME", "CUDA_PATH"]
            .into_iter()
            .find_map(|name| self.nonempty_var(name));
        let is_below = |home: &str| Path::new(home).join("bin/nvcc").exists();
        match home {
            Some(home) => is_below(home),
            None => self.find_program("nvcc".as_ref()).is_some() || is_below("/usr/local/cuda"),
        }
    }

    /// All CPUs of the machine, also those that this process may not use.
    pub fn online_cpus(&self) -> usize {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        // The first line is the sum of all.
        text.lines()
            .skip(1)
            .filter(|line| line.starts_with("cpu"))
            .count()
            .max(self.cpus)
    }

    /// The path is in a folder that other machines usually do not share.
    pub fn is_of_this_machine(&self, path: &Path) -> bool {
        ["/tmp", "/var/tmp", "/dev/shm", "/run"]
            .iter()
            .any(|folder| path.starts_with(folder))
            || self
                .folder(vars::TMPDIR)
                .is_some_and(|folder| path.starts_with(folder))
    }

    /// The same host with these variables set and removed. Most launches change none, and then nothing is copied.
    pub fn with(
        &self,
        set: &[Sourced<(String, OsString)>],
        unset: &[Sourced<String>],
    ) -> Cow<'_, Self> {
        let mut host = Cow::Borrowed(self);
        for sourced in unset {
            host.to_mut().env.remove(OsStr::new(&sourced.value));
        }
        for sourced in set {
            host.to_mut()
                .env
                .insert(OsString::from(&sourced.value.0), sourced.value.1.clone());
        }
        host
    }

    /// The same host with those of these variables set that were not.
    pub fn with_more<'a>(&self, more: impl Iterator<Item = (&'a str, &'a str)>) -> Cow<'_, Self> {
        let mut host = Cow::Borrowed(self);
        for (name, value) in more.filter(|(name, _)| self.var_os(name).is_none()) {
            host.to_mut()
                .env
                .insert(OsString::from(name), OsString::from(value));
        }
        host
    }

    /// The folder for resolved configs: in the user's cache if only this user can write it, or else a private one in the
    /// temporary folder. `exec` creates it, but neither a home nor the folder that TMPDIR names.
    pub fn configs_folder(&self) -> PathBuf {
        self.cache_home()
            .filter(|cache| cache.is_dir() || cache.parent().is_some_and(Path::is_dir))
            .map(|cache| cache.join("zlaunch/configs"))
            .filter(|folder| can_be_written(folder))
            .filter(|folder| open_to_others(folder, Trust::OwnerAlone).is_none())
            .unwrap_or_else(|| {
                self.folder(vars::TMPDIR)
                    .unwrap_or_else(|| PathBuf::from("/tmp"))
                    .join(format!("zlaunch-{}", geteuid()))
            })
    }
}

/// The second line of every shim of zlaunch begins with `# zlaunch shim:`.
pub fn is_shim(file: &Path) -> bool {
    let mut head = [0; 64];
    let read = File::open(file).and_then(|mut file| file.read(&mut head));
    let mut lines = head.split(|byte| *byte == b'\n');
    read.is_ok()
        && lines
            .nth(1)
            .is_some_and(|line| line.starts_with(b"# zlaunch shim:"))
}

/// Our caller made us ignore this signal. /proc says so, and no handler has to be changed for that.
pub fn is_ignored(signal: Signal) -> bool {
    fs::read_to_string("/proc/self/status")
        .unwrap_or_default()
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok())
        .unwrap_or(0)
        >> (signal as i32 - 1)
        & 1
        == 1
}

/// The children of this process, which has one thread that starts any. A kernel without this file lists none.
pub fn children() -> Vec<Pid> {
    let pid = getpid();
    fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .map(Pid::from_raw)
        .collect()
}

pub fn this_program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("zlaunch"))
}

/// A name such as `refs/pr/1` stays below the folder it is joined to.
pub fn stays_below(name: &str) -> bool {
    Path::new(name)
        .components()
        .all(|part| matches!(part, Component::Normal(_)))
}

/// The folder, or the nearest one above it that exists, can be written.
pub fn can_be_written(folder: &Path) -> bool {
    folder
        .ancestors()
        .find(|path| path.exists())
        .is_some_and(|path| {
            path.is_dir() && access(path, AccessFlags::W_OK | AccessFlags::X_OK).is_ok()
        })
}

#[derive(Clone, Copy, PartialEq)]
pub enum Trust {
    /// Only files of this user and of root are trusted.
    OwnerAlone,
    /// Also files of a group, and of the owner of a folder.
    Group,
}

/// The first part of a path that others can replace, from the root down, as ssh looks at its own files. In a container,
/// root's own folders may belong to the owner of `/`.
pub fn open_to_others(path: &Path, trust: Trust) -> Option<PathBuf> {
    const STICKY: u32 = 0o1000;
    let ours = [
        0,
        fs::metadata("/").map_or(0, |root| root.uid()),
        geteuid().as_raw(),
    ];
    let mut parts: Vec<&Path> = path.ancestors().collect();
    parts.reverse();
    // Others can make something in the folder above.
    let mut is_shared = false;
    for part in parts {
        let Ok(seen) = fs::symlink_metadata(part) else {
            break;
        };
        if !ours.contains(&seen.uid()) && (is_shared || trust == Trust::OwnerAlone) {
            return Some(part.to_path_buf());
        }
        if seen.is_symlink() {
            let behind = fs::canonicalize(part)
                .ok()
                .and_then(|real| open_to_others(&real, trust));
            if behind.is_some() {
                return behind;
            }
            continue;
        }
        // A user's private group has the number of the user.
        let by_group =
            trust == Trust::OwnerAlone && seen.mode() & 0o020 != 0 && seen.gid() != seen.uid();
        is_shared = by_group || seen.mode() & 0o002 != 0;
        if is_shared && seen.mode() & STICKY == 0 {
            return Some(part.to_path_buf());
        }
    }
    None
}
