//! What was seen: the environment, the folder, the CPUs, the GPUs. The only reader of the environment; it decides
//! nothing.

pub(crate) mod machine;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use nix::unistd::{AccessFlags, access, geteuid, gethostname};

use crate::said::{Said, Source};
use crate::vars;

#[derive(Clone, Debug, Default)]
pub(crate) struct Host {
    pub(crate) env: BTreeMap<OsString, OsString>,
    pub(crate) cwd: PathBuf,
    pub(crate) hostname: String,
    /// CPUs this process may use: affinity and cgroup quota are honoured.
    pub(crate) cpus: usize,
    /// GPUs the NVIDIA driver lists in /proc, where there is one.
    pub(crate) nvidia_gpus: Option<usize>,
}

const NVIDIA_GPUS: &str = "/proc/driver/nvidia/gpus";

impl Host {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads them")]
    pub(crate) fn read() -> Self {
        Host {
            env: std::env::vars_os().collect(),
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            hostname: gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_default(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            nvidia_gpus: std::fs::read_dir(NVIDIA_GPUS).ok().map(Iterator::count),
        }
    }

    pub(crate) fn raw(&self, name: &str) -> Option<&OsStr> {
        self.env.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// A variable that is set to something readable.
    pub(crate) fn var(&self, name: &str) -> Option<&str> {
        self.raw(name)?.to_str()
    }

    /// A variable that is set and not empty: an empty one counts as unset for paths and numbers.
    pub(crate) fn filled(&self, name: &str) -> Option<&str> {
        self.var(name).filter(|value| !value.is_empty())
    }

    /// A folder named by a variable. Relative ones are ignored, as the XDG specification asks.
    fn folder(&self, name: &str) -> Option<PathBuf> {
        self.raw(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.folder(vars::HOME)
    }

    pub(crate) fn cache_home(&self) -> Option<PathBuf> {
        self.folder(vars::XDG_CACHE_HOME).or_else(|| self.home().map(|home| home.join(".cache")))
    }

    pub(crate) fn data_home(&self) -> Option<PathBuf> {
        self.folder(vars::XDG_DATA_HOME).or_else(|| self.home().map(|home| home.join(".local/share")))
    }

    pub(crate) fn config_home(&self) -> Option<PathBuf> {
        self.folder(vars::XDG_CONFIG_HOME).or_else(|| self.home().map(|home| home.join(".config")))
    }

    /// `~` and relative paths made absolute, without touching the disk.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        let home = path.strip_prefix("~").ok().and_then(|rest| Some(self.home()?.join(rest)));
        self.cwd.join(home.as_deref().unwrap_or(path))
    }

    /// Looks a program up as exec would: a word with a `/` is a path, anything else is searched in PATH.
    pub(crate) fn find_program(&self, word: &OsStr) -> Option<PathBuf> {
        which::which_in(word, self.raw(vars::PATH), &self.cwd).ok()
    }

    /// GPUs of a kind for which accelerate switches the connections between them off, depending on the driver.
    pub(crate) fn has_gpus_without_peers(&self) -> bool {
        let several = self.nvidia_gpus.is_some_and(|count| count > 1);
        let folders = several.then(|| std::fs::read_dir(NVIDIA_GPUS).ok()).flatten();
        let mut texts = folders
            .into_iter()
            .flatten()
            .filter_map(|gpu| std::fs::read_to_string(gpu.ok()?.path().join("information")).ok());
        texts.any(|text| text.contains("RTX 40"))
    }

    /// The name of the first GPU, as the NVIDIA driver lists it.
    pub(crate) fn gpu_name(&self) -> Option<String> {
        self.nvidia_gpus?;
        let folder = std::fs::read_dir(NVIDIA_GPUS).ok()?.find_map(Result::ok)?.path();
        let text = std::fs::read_to_string(folder.join("information")).ok()?;
        text.lines().find_map(|line| line.strip_prefix("Model:")).map(|name| name.trim().to_string())
    }

    /// CPUs of the whole machine, whoever may use them.
    pub(crate) fn online_cpus(&self) -> usize {
        let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
        let count = |range: &str| {
            let (low, high) = range.split_once('-').unwrap_or((range, range));
            Some(high.parse::<usize>().ok()?.checked_sub(low.parse().ok()?)? + 1)
        };
        text.trim().split(',').filter_map(count).sum::<usize>().max(self.cpus)
    }

    /// The memory of the smallest GPU here, from a table of lines `MiB name`: NVML would tell it exactly, but cannot be
    /// asked without unsafe code.
    pub(crate) fn gpu_memory(&self, cards: &str) -> Option<Said<u64>> {
        self.nvidia_gpus.filter(|count| *count > 0)?;
        let gpus = std::fs::read_dir(NVIDIA_GPUS).ok()?.filter_map(Result::ok);
        let texts = gpus.map(|gpu| std::fs::read_to_string(gpu.path().join("information")).unwrap_or_default());
        let each: Option<Vec<u64>> = texts.map(|text| memory_of_card(&text, cards)).collect();
        Some(Said::new(each?.into_iter().min()?, Source::Machine("the GPU's name")))
    }

    /// The memory this process and its children may use: the machine's, or less where a cgroup says so.
    #[expect(clippy::unused_self, reason = "it is the machine's")]
    pub(crate) fn memory(&self) -> Option<u64> {
        let text = std::fs::read_to_string("/proc/meminfo").ok()?;
        let total = text
            .lines()
            .find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse::<u64>().ok())?;
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Some(groups.lines().flat_map(limits_of_group).fold(total * 1024, u64::min))
    }

    /// Whether a path lies where no other machine sees it.
    pub(crate) fn is_of_this_machine(&self, path: &Path) -> bool {
        let temporary = self.folder(vars::TMPDIR);
        let local = ["/tmp", "/var/tmp", "/dev/shm", "/run"].map(PathBuf::from);
        temporary.iter().chain(&local).any(|folder| path.starts_with(folder))
    }

    /// The same machine with these variables set and removed. Most launches change nothing, and an environment is
    /// too large to copy for that.
    pub(crate) fn with(&self, set: &[Said<(String, OsString)>], unset: &[Said<String>]) -> Cow<'_, Self> {
        let mut host = Cow::Borrowed(self);
        for said in unset {
            host.to_mut().env.remove(OsStr::new(&said.value));
        }
        for said in set {
            host.to_mut().env.insert(OsString::from(&said.value.0), said.value.1.clone());
        }
        host
    }

    /// The same machine with these variables, whatever they were.
    pub(crate) fn overlaid<'a>(&self, variables: impl Iterator<Item = (&'a str, &'a str)>) -> Cow<'_, Self> {
        let mut host = Cow::Borrowed(self);
        for (name, value) in variables {
            host.to_mut().env.insert(OsString::from(name), OsString::from(value));
        }
        host
    }

    /// The same machine with these variables where they were not set.
    pub(crate) fn with_more<'a>(&self, more: impl Iterator<Item = (&'a str, &'a str)>) -> Cow<'_, Self> {
        self.overlaid(more.filter(|(name, _)| self.raw(name).is_none()))
    }

    /// The folder for resolved configs: in the user's cache if that can be used, else a private one in the temporary
    /// folder. Only looks; `exec` creates it.
    pub(crate) fn configs_folder(&self) -> PathBuf {
        let in_home = self.folder(vars::XDG_CACHE_HOME).or_else(|| {
            let home = self.home().filter(|home| home.is_dir())?;
            Some(home.join(".cache"))
        });
        let ours = in_home.map(|cache| cache.join("zlaunch").join("configs"));
        ours.filter(|folder| can_be_written(folder)).unwrap_or_else(|| {
            let temporary = self.folder(vars::TMPDIR).unwrap_or_else(|| PathBuf::from("/tmp"));
            temporary.join(format!("zlaunch-{}", geteuid()))
        })
    }
}

/// The first line of the table whose name is part of the model the driver tells.
fn memory_of_card(information: &str, cards: &str) -> Option<u64> {
    let model = information.lines().find_map(|line| line.strip_prefix("Model:"))?.trim();
    let lines = cards.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' '));
    let (mib, _) = lines.into_iter().find(|(_, name)| model.contains(name))?;
    mib.parse::<u64>().ok().map(|mib| mib << 20)
}

/// What a line of /proc/self/cgroup and the groups above it limit memory to, in either version of cgroups.
fn limits_of_group(line: &str) -> Vec<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let (root, file) = match controllers {
        "" => ("/sys/fs/cgroup", "memory.max"),
        list if list.split(',').any(|it| it == "memory") => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        _ => return Vec::new(),
    };
    let folder = Path::new(root).join(path.trim_start_matches('/'));
    let above = folder.ancestors().take_while(|it| it.starts_with(root));
    // `max` is no number, and no limit.
    above.filter_map(|it| std::fs::read_to_string(it.join(file)).ok()?.trim().parse().ok()).collect()
}

/// zlaunch itself, for a script that starts it again.
pub(crate) fn this_program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("zlaunch"))
}

/// `main`, `refs/pr/1`: a name that leads nowhere but down.
pub(crate) fn stays_below(name: &str) -> bool {
    Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Whether the folder, or the nearest one above it that exists, can be written.
pub(crate) fn can_be_written(folder: &Path) -> bool {
    folder
        .ancestors()
        .find(|path| path.exists())
        .is_some_and(|path| path.is_dir() && access(path, AccessFlags::W_OK | AccessFlags::X_OK).is_ok())
}
