//! Reads /proc, /sys and /dev for `doctor`, `fit` and some rules; tests give another root. No program is started and no
//! driver is asked, and file systems are looked up in the mount table: a dead file server would block.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::sys::statvfs::statvfs;

pub(crate) struct Machine {
    root: PathBuf,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) total: Option<u64>,
    pub(crate) available: Option<u64>,
    /// What the cgroup of this process allows, if that is less than the total.
    pub(crate) limit: Option<u64>,
}

impl Memory {
    /// The most that a process here can have.
    pub(crate) fn most(&self) -> Option<u64> {
        self.limit.into_iter().chain(self.total).min()
    }
}

/// A soft and a hard limit; `None` is unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) soft: Option<u64>,
    pub(crate) hard: Option<u64>,
}

/// A lock in a folder of torch extensions, held or left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lock {
    pub(crate) path: PathBuf,
    pub(crate) age: Duration,
}

impl Machine {
    pub(crate) fn below(root: impl Into<PathBuf>) -> Self {
        Machine { root: root.into() }
    }

    pub(crate) fn here() -> Self {
        Self::below("/")
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read(self.at(path)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// `Debian GNU/Linux 12 (bookworm)`.
    pub(crate) fn system(&self) -> Option<String> {
        let text = self.text("/etc/os-release")?;
        text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).map(|name| name.trim_matches('"').to_string())
    }

    pub(crate) fn kernel(&self) -> Option<String> {
        self.text("/proc/sys/kernel/osrelease").map(|text| text.trim().to_string())
    }

    pub(crate) fn memory(&self) -> Memory {
        let text = self.text("/proc/meminfo").unwrap_or_default();
        let total = kilobytes(&text, "MemTotal:");
        let limit = self.memory_limit().filter(|limit| total.is_none_or(|total| *limit < total));
        Memory { total, available: kilobytes(&text, "MemAvailable:"), limit }
    }

    /// The smallest limit of the cgroups of this process and those above, of version 1 or 2.
    fn memory_limit(&self) -> Option<u64> {
        let text = self.text("/proc/self/cgroup")?;
        let limits = text.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            let (base, file) = match controllers {
                "" => ("/sys/fs/cgroup", "memory.max"),
                _ if controllers.split(',').any(|controller| controller == "memory") => {
                    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
                }
                _ => return None,
            };
            let folders = Path::new(path).ancestors();
            folders
                .filter_map(|folder| self.text(&format!("{base}{}/{file}", folder.display()))?.trim().parse().ok())
                .min()
        });
        limits.min()
    }

    /// The models of the GPUs that NVIDIA's driver lists.
    pub(crate) fn gpus(&self) -> Vec<String> {
        let folders = fs::read_dir(self.at("/proc/driver/nvidia/gpus")).into_iter().flatten().filter_map(Result::ok);
        let mut paths: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
        paths.sort();
        let model = |path: &PathBuf| {
            let text = fs::read_to_string(path.join("information")).unwrap_or_default();
            let model = text.lines().find_map(|line| line.strip_prefix("Model:")).map(|name| name.trim().to_string());
            model.filter(|name| !name.is_empty()).unwrap_or_else(|| "a GPU of unknown kind".to_string())
        };
        paths.iter().map(model).collect()
    }

    /// The version of NVIDIA's driver.
    pub(crate) fn driver(&self) -> Option<String> {
        let text = self.text("/proc/driver/nvidia/version")?;
        let is_version = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
        text.lines().next()?.split_whitespace().find(is_version).map(str::to_string)
    }

    pub(crate) fn has_infiniband(&self) -> bool {
        fs::read_dir(self.at("/sys/class/infiniband")).is_ok_and(|mut devices| devices.next().is_some())
    }

    /// A limit by its name in /proc: `Max locked memory`.
    pub(crate) fn limit(&self, name: &str) -> Option<Limit> {
        let text = self.text("/proc/self/limits")?;
        let mut words = text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace();
        let mut next = || words.next().map(|word| word.parse().ok());
        Some(Limit { soft: next()?, hard: next()? })
    }

    /// Size of /dev/shm.
    pub(crate) fn shared_memory(&self) -> Option<u64> {
        let seen = statvfs(&self.at("/dev/shm")).ok()?;
        Some(seen.blocks() * seen.fragment_size())
    }

    /// The kind of file system a path is on: `ext4`, `nfs4`.
    pub(crate) fn file_system(&self, path: &Path) -> Option<String> {
        let existing = path.ancestors().find_map(|folder| fs::canonicalize(folder).ok())?;
        mounted(&self.text("/proc/self/mountinfo")?, &existing)
    }

    /// Bytes that are free where a path is, or will be, if that is a disk of this machine: a file server may not answer.
    pub(crate) fn free(&self, path: &Path) -> Option<u64> {
        const LOCAL: &[&str] = &["ext4", "ext3", "xfs", "btrfs", "zfs", "f2fs", "overlay", "tmpfs"];
        let kind = self.file_system(path)?;
        let existing = path.ancestors().find(|folder| folder.exists()).filter(|_| LOCAL.contains(&kind.as_str()))?;
        let seen = statvfs(existing).ok()?;
        Some(seen.blocks_available() * seen.fragment_size())
    }

    /// Whether a process of this machine listens on a port.
    pub(crate) fn listens(&self, port: u16) -> bool {
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"].iter().filter_map(|path| self.text(path));
        tables.into_iter().any(|table| is_listening(&table, port))
    }
}

/// Whether a name is that of a model: `Tesla T4` is a `T4`, a `T400` is not.
pub(crate) fn is_model(name: &str, model: &str) -> bool {
    name.split_once(model).is_some_and(|(before, after)| {
        (before.is_empty() || before.ends_with(' ')) && !after.starts_with(|c: char| c.is_ascii_alphanumeric())
    })
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|count| count << 10)
}

/// The kind of file system at the deepest mount point above a path; the last of several at one point counts. A line of
/// the table: `36 35 98:0 / /mnt/a\040b rw - ext4 /dev/sda rw`.
fn mounted(table: &str, path: &Path) -> Option<String> {
    let mounts = table.lines().filter_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let point = left.split(' ').nth(4)?.replace("\\040", " ");
        Some((point, right.split(' ').next()?))
    });
    let above = mounts.filter(|(point, _)| path.starts_with(point));
    above.max_by_key(|(point, _)| point.len()).map(|(_, kind)| kind.to_string())
}

/// Whether a table has a listener, which is in state 0A: `0: 0100007F:734C 00000000:0000 0A …`.
fn is_listening(table: &str, port: u16) -> bool {
    let wanted = format!(":{port:04X}");
    table.lines().any(|line| {
        let mut words = line.split_whitespace().skip(1);
        words.next().is_some_and(|local| local.ends_with(&wanted)) && words.nth(1) == Some("0A")
    })
}

/// The locks in a folder of torch's extensions: `<folder>/[py311_cu121/]cpu_adam/lock`.
pub(crate) fn locks_in(folder: &Path) -> Vec<Lock> {
    let first = folders_in(folder);
    let second: Vec<PathBuf> = first.iter().flat_map(|folder| folders_in(folder)).collect();
    let mut found: Vec<Lock> = first.iter().chain(&second).filter_map(|folder| lock_in(folder)).collect();
    found.sort_by(|one, two| one.path.cmp(&two.path));
    found
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}

fn lock_in(folder: &Path) -> Option<Lock> {
    let path = folder.join("lock");
    let changed = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?.modified().ok()?;
    Some(Lock { path, age: SystemTime::now().duration_since(changed).unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Sandbox;

    #[test]
    fn memory_is_limited_by_the_cgroup() {
        let sandbox = Sandbox::bare();
        let machine = Machine::below(sandbox.root());
        assert_eq!(machine.memory(), Memory::default());
        sandbox.put("proc/meminfo", "MemTotal:  1048576 kB\nMemFree: 1 kB\nMemAvailable:  524288 kB\n");
        let memory = machine.memory();
        assert_eq!((memory.total, memory.available, memory.limit), (Some(1 << 30), Some(1 << 29), None));
        // Version 2, limited above this process's own group.
        sandbox.put("proc/self/cgroup", "0::/job/step\n");
        sandbox.put("sys/fs/cgroup/job/step/memory.max", "max\n");
        sandbox.put("sys/fs/cgroup/job/memory.max", "268435456\n");
        assert_eq!(machine.memory().most(), Some(1 << 28));
        // Version 1, as old Slurm has it; its "no limit" is a number larger than any memory.
        sandbox.put("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/slurm\n0::/\n");
        sandbox.put("sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(machine.memory().limit, None);
        sandbox.put("sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "134217728\n");
        assert_eq!(machine.memory().most(), Some(1 << 27));
    }

    #[test]
    fn gpus_and_driver_are_read_from_the_kernel_module() {
        let sandbox = Sandbox::bare();
        let machine = Machine::below(sandbox.root());
        assert!(machine.gpus().is_empty() && machine.driver().is_none());
        for (bus, model) in [("0000:1b:00.0", "NVIDIA H200"), ("0000:0a:00.0", "Tesla T4")] {
            let text = format!("Model: \t\t {model}\nIRQ:   \t\t 16\n");
            sandbox.put(&format!("proc/driver/nvidia/gpus/{bus}/information"), &text);
        }
        assert_eq!(machine.gpus(), ["Tesla T4", "NVIDIA H200"]);
        for (line, version) in [
            ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023", "535.54.03"),
            ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build", "570.86.15"),
        ] {
            sandbox.put("proc/driver/nvidia/version", format!("{line}\nGCC version:  gcc 12.2.0\n"));
            assert_eq!(machine.driver().as_deref(), Some(version));
        }
    }

    #[test]
    fn limits_are_soft_and_hard() {
        let sandbox = Sandbox::bare();
        sandbox.put(
            "proc/self/limits",
            "Limit                     Soft Limit           Hard Limit           Units     \n\
             Max open files            1024                 524288               files     \n\
             Max locked memory         65536                unlimited            bytes     \n",
        );
        let machine = Machine::below(sandbox.root());
        assert_eq!(machine.limit("Max open files"), Some(Limit { soft: Some(1024), hard: Some(524_288) }));
        assert_eq!(machine.limit("Max locked memory"), Some(Limit { soft: Some(65536), hard: None }));
        assert_eq!(machine.limit("Max processes"), None);
    }

    #[test]
    fn a_path_is_on_its_deepest_mount() {
        let table = "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n\
                     40 22 0:40 / /home rw shared:1 - nfs4 server:/home rw\n\
                     41 40 0:41 / /home/a\\040b rw - lustre x rw\n";
        for (path, kind) in [("/", "ext4"), ("/homes", "ext4"), ("/home/me/.cache", "nfs4"), ("/home/a b/c", "lustre")]
        {
            assert_eq!(mounted(table, Path::new(path)).as_deref(), Some(kind), "{path}");
        }
        assert_eq!(mounted("", Path::new("/")), None);
    }

    #[test]
    fn a_listener_is_seen_by_its_port_and_state() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue\n\
                     0: 0100007F:734C 00000000:0000 0A 00000000:00000000\n\
                     1: 0100007F:0016 0100007F:9999 01 00000000:00000000\n";
        assert!(is_listening(table, 29516) && !is_listening(table, 22) && !is_listening(table, 29517));
    }

    #[test]
    fn locks_with_and_without_a_folder_of_the_version() {
        let sandbox = Sandbox::bare();
        assert!(locks_in(&sandbox.root().join("none")).is_empty());
        sandbox.put("py311_cu121/cpu_adam/lock", "");
        sandbox.put("fused_adam/lock", "");
        sandbox.put("py311_cu121/utils/utils.so", "");
        let found: Vec<PathBuf> = locks_in(sandbox.root()).into_iter().map(|lock| lock.path).collect();
        assert_eq!(found, [sandbox.root().join("fused_adam/lock"), sandbox.root().join("py311_cu121/cpu_adam/lock")]);
        // The folder of one Python and CUDA alone.
        assert_eq!(locks_in(&sandbox.root().join("py311_cu121")).len(), 1);
    }
}
