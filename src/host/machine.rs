//! Reads /proc, /sys and /dev for `doctor`, `fit` and some rules; tests give another root. No program is started, no
//! driver is asked, and the mount table says which file system a path is on: a dead file server would block.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::sys::statvfs::statvfs;

pub struct Machine {
    root: PathBuf,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub soft: Option<u64>,
    pub hard: Option<u64>,
}

/// A lock in a folder of torch extensions, held or left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
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
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            let (base, file) = match controllers {
                "" => ("/sys/fs/cgroup", "memory.max"),
                _ if controllers
                    .split(',')
                    .any(|controller| controller == "memory") =>
                {
                    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
                }
                _ => return None,
            };
            let files = Path::new(path)
                .ancestors()
                .map(|folder| format!("{base}{}/{file}", folder.display()));
            files
                .filter_map(|file| self.text(&file)?.trim().parse().ok())
                .min()
        });
        limits.min()
    }

    /// The models of the GPUs that NVIDIA's driver lists.
    pub fn gpus(&self) -> Vec<String> {
        let mut paths = folders_in(&self.at("/proc/driver/nvidia/gpus"));
        paths.sort();
        let models = paths.iter().map(|path| {
            let text = fs::read_to_string(path.join("information")).unwrap_or_default();
            value(&text, "Model:")
                .filter(|name| !name.is_empty())
                .unwrap_or("a GPU of unknown kind")
                .to_string()
        });
        models.collect()
    }

    pub fn driver(&self) -> Option<String> {
        let text = self.text("/proc/driver/nvidia/version")?;
        let mut words = text.lines().next()?.split_whitespace();
        words
            .find(|word| word.contains('.') && word.chars().all(|c| matches!(c, '0'..='9' | '.')))
            .map(str::to_string)
    }

    pub fn has_infiniband(&self) -> bool {
        fs::read_dir(self.at("/sys/class/infiniband"))
            .is_ok_and(|mut devices| devices.next().is_some())
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
        const LOCAL: &[&str] = &[
            "ext4", "ext3", "xfs", "btrfs", "zfs", "f2fs", "overlay", "tmpfs",
        ];
        self.file_system(path)
            .filter(|kind| LOCAL.contains(&kind.as_str()))?;
        let seen = statvfs(path.ancestors().find(|folder| folder.exists())?).ok()?;
        Some(seen.blocks_available() * seen.fragment_size())
    }

    /// A process of this machine listens on the port.
    pub fn listens(&self, port: u16) -> bool {
        let mut tables = ["/proc/net/tcp", "/proc/net/tcp6"]
            .iter()
            .filter_map(|path| self.text(path));
        tables.any(|table| is_listening(&table, port))
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

/// The kind of file system at the deepest mount point above a path; the last of several at one point counts. A line of
/// the table: `36 35 98:0 / /mnt/a\040b rw - ext4 /dev/sda rw`.
pub fn mounted(table: &str, path: &Path) -> Option<String> {
    let mounts = table.lines().filter_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let point = left.split(' ').nth(4)?.replace("\\040", " ");
        Some((point, right.split(' ').next()?))
    });
    let above = mounts.filter(|(point, _)| path.starts_with(point));
    above
        .max_by_key(|(point, _)| point.len())
        .map(|(_, kind)| kind.to_string())
}

/// A listener is in state 0A: `0: 0100007F:734C 00000000:0000 0A …`.
pub fn is_listening(table: &str, port: u16) -> bool {
    let wanted = format!(":{port:04X}");
    table.lines().any(|line| {
        let mut words = line.split_whitespace().skip(1);
        words.next().is_some_and(|local| local.ends_with(&wanted)) && words.nth(1) == Some("0A")
    })
}

/// The locks in a folder of torch's extensions: `<folder>/[py311_cu121/]cpu_adam/lock`.
pub fn locks_in(folder: &Path) -> Vec<Lock> {
    let first = folders_in(folder);
    let second: Vec<PathBuf> = first.iter().flat_map(|folder| folders_in(folder)).collect();
    let locks = first.iter().chain(&second).filter_map(|folder| {
        let path = folder.join("lock");
        let changed = fs::metadata(&path)
            .ok()
            .filter(fs::Metadata::is_file)?
            .modified()
            .ok()?;
        Some(Lock {
            path,
            age: SystemTime::now()
                .duration_since(changed)
                .unwrap_or_default(),
        })
    });
    let mut found: Vec<Lock> = locks.collect();
    found.sort_by(|one, two| one.path.cmp(&two.path));
    found
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}
