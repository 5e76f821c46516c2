//! Reads /proc, /sys and /dev for `doctor`, `fit` and some rules; tests give another root. No program is started, no
//! driver is asked, and the mount table says which file system a path is on: a dead file server would block.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use nix::sys::statvfs::statvfs;

use super::tables::file_systems::{CAP_IPC_LOCK, LOCAL};

pub struct Machine {
    root: PathBuf,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory {
    pub total: Option<u64>,
    pub available: Option<u64>,
    /// The limit of this process's cgroup, if that is less than the total.
    pub limit: Option<u64>,
}

impl Memory {
    pub fn most(&self) -> Option<u64> {
        self.limit.into_iter().chain(self.total).min()
    }
}

/// A soft and a hard limit; `None` is unlimited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    pub soft: Option<u64>,
    pub hard: Option<u64>,
}

/// A lock in a folder of torch extensions, held or left behind.
#[derive(Clone, PartialEq)]
pub struct Lock {
    pub path: PathBuf,
    pub age: Duration,
}

impl Machine {
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Machine { root: root.into() }
    }

    pub fn here() -> Self {
        Self::below("/")
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read(self.at(path))
            .ok()
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    pub fn system(&self) -> Option<String> {
        let text = self.text("/etc/os-release")?;
        value(&text, "PRETTY_NAME=").map(|name| name.trim_matches('"').to_string())
    }

    pub fn kernel(&self) -> Option<String> {
        self.text("/proc/sys/kernel/osrelease")
            .map(|text| text.trim().to_string())
    }

    pub fn memory(&self) -> Memory {
        let text = self.text("/proc/meminfo").unwrap_or_default();
        let total = kilobytes(&text, "MemTotal:");
        let limit = self
            .memory_limit()
            .filter(|limit| total.is_none_or(|total| *limit < total));
        Memory {
            total,
            available: kilobytes(&text, "MemAvailable:"),
            limit,
        }
    }

    /// The smallest limit of the cgroups of this process and those above, of version 1 or 2.
    fn memory_limit(&self) -> Option<u64> {
        let text = self.text("/proc/self/cgroup")?;
        let limits = text.lines().filter_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            let (base, file) = match controllers {
                "" => ("/sys/fs/cgroup", "memory.max"),
                _ if controllers.contains("memory") => {
                    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
                }
                _ => return None,
            };
            Path::new(path)
                .ancestors()
                .map(Path::display)
                .filter_map(|folder| {
                    self.text(&format!("{base}{folder}/{file}"))?
                        .trim()
                        .parse()
                        .ok()
                })
                .min()
        });
        limits.min()
    }

    /// The models of the GPUs that NVIDIA's driver lists.
    pub fn gpus(&self) -> Vec<String> {
        let folder = self.at("/proc/driver/nvidia/gpus");
        let mut names: Vec<String> = names_in(&folder).collect();
        names.sort();
        names
            .iter()
            .map(|name| {
                let text = fs::read_to_string(folder.join(name).join("information"));
                value(&text.unwrap_or_default(), "Model:")
                    .filter(|name| !name.is_empty())
                    .unwrap_or("a GPU of unknown kind")
                    .to_string()
            })
            .collect()
    }

    pub fn driver(&self) -> Option<String> {
        self.text("/proc/driver/nvidia/version")?
            .lines()
            .next()?
            .split_whitespace()
            .find(|word| word.contains('.') && word.chars().all(|c| matches!(c, '0'..='9' | '.')))
            .map(str::to_string)
    }

    pub fn has_infiniband(&self) -> bool {
        names_in(&self.at("/sys/class/infiniband")).next().is_some()
    }

    /// A limit by its name in /proc: `Max locked memory`.
    pub fn limit(&self, name: &str) -> Option<Limit> {
        let text = self.text("/proc/self/limits")?;
        let mut words = value(&text, name)?.split_whitespace();
        let mut next = || words.next().map(|word| word.parse().ok());
        Some(Limit {
            soft: next()?,
            hard: next()?,
        })
    }

    /// No limit on locked memory counts for this process.
    pub fn may_lock(&self) -> bool {
        let text = self.text("/proc/self/status").unwrap_or_default();
        value(&text, "CapEff:")
            .and_then(|it| u64::from_str_radix(it, 16).ok())
            .is_some_and(|capabilities| capabilities >> CAP_IPC_LOCK & 1 == 1)
    }

    pub fn shared_memory(&self) -> Option<u64> {
        let seen = statvfs(&self.at("/dev/shm")).ok()?;
        Some(seen.blocks() * seen.fragment_size())
    }

    /// The kind of file system a path is on: `ext4`, `nfs4`.
    pub fn file_system(&self, path: &Path) -> Option<String> {
        let existing = path
            .ancestors()
            .find_map(|folder| fs::canonicalize(folder).ok())?;
        mounted(&self.text("/proc/self/mountinfo")?, &existing)
    }

    /// Bytes that are free on the disk of a path, if it is one of this machine: a file server may not answer.
    pub fn free(&self, path: &Path) -> Option<u64> {
        self.file_system(path)
            .filter(|kind| LOCAL.contains(&kind.as_str()))?;
        let seen = statvfs(path.ancestors().find(|folder| folder.exists())?).ok()?;
        Some(seen.blocks_available() * seen.fragment_size())
    }
}

/// `Tesla T4` is a `T4`, and `T400` is not.
pub fn is_model(name: &str, model: &str) -> bool {
    name.split_once(model).is_some_and(|(before, after)| {
        (before.is_empty() || before.ends_with(' '))
            && !after.starts_with(|c: char| c.is_ascii_alphanumeric())
    })
}

/// The rest of the line that begins with the name.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    Some(value(text, name)?.split(' ').next()?.parse::<u64>().ok()? << 10)
}

/// The mount points of a table, each with the kind of its file system:
/// `36 35 98:0 / /mnt/a\040b rw - ext4 /dev/sda rw`.
pub fn mounts(table: &str) -> impl Iterator<Item = (String, &str)> {
    let codes = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    table.lines().filter_map(move |line| {
        let (left, right) = line.split_once(" - ")?;
        let mut point = left.split(' ').nth(4)?.to_string();
        for (code, c) in codes {
            point = point.replace(code, c);
        }
        Some((point, right.split(' ').next()?))
    })
}

/// The kind of file system at the deepest mount point above a path; the last of several at one point counts.
pub fn mounted(table: &str, path: &Path) -> Option<String> {
    mounts(table)
        .filter(|(point, _)| path.starts_with(point))
        .max_by_key(|(point, _)| point.len())
        .map(|(_, kind)| kind.to_string())
}

/// The locks in a folder of torch's extensions: `<folder>/[py311_cu121/]cpu_adam/lock`.
pub fn locks_in(folder: &Path) -> Vec<Lock> {
    let below = |folder: &Path| -> Vec<PathBuf> {
        names_in(folder).map(|name| folder.join(name)).collect()
    };
    let mut folders = below(folder);
    for at in 0..folders.len() {
        folders.extend(below(&folders[at]));
    }
    folders.sort();
    folders
        .iter()
        .filter_map(|folder| {
            let path = folder.join("lock");
            let age = fs::metadata(&path)
                .ok()
                .filter(fs::Metadata::is_file)?
                .modified()
                .ok()?
                .elapsed()
                .unwrap_or_default();
            Some(Lock { path, age })
        })
        .collect()
}

/// The names of what is in a folder, in whatever order the file system lists them. A folder that cannot be read has none.
pub fn names_in(folder: &Path) -> impl Iterator<Item = String> + use<> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
}
