//! Sentences about what `machine` and `doctor` find.

use std::path::Path;
use std::time::Duration;

use super::problem::{Problem, Severity};
use super::rule::Rule;
use crate::base::size::size;

fn age(time: Duration) -> String {
    let (count, unit) = match time.as_secs() / 60 {
        minutes if minutes < 120 => (minutes, "minutes"),
        minutes if minutes < 48 * 60 => (minutes / 60, "hours"),
        minutes => (minutes / 60 / 24, "days"),
    };
    format!("{count} {unit}")
}

pub(crate) fn package_missing(name: &str, python: &Path) -> Problem {
    Problem::error(Rule::PackageMissing, format!("`{name}` is not installed for this Python"))
        .at(python.display())
        .help(format!("{} -m pip install {name}, or activate the environment that has it", python.display()))
}

/// `torch`: the version that waits.
pub(crate) fn stale_lock(path: &Path, old: Duration, torch: &str) -> Problem {
    let folder = path.parent().unwrap_or(path).display();
    Problem::warning(
        Rule::StaleLock,
        format!(
            "this lock is {} old: a rank of {torch} that needs {folder} waits as long as the file is there",
            age(old)
        ),
    )
    .at(path.display())
    .help(format!("if nobody compiles there: rm -r {folder}"))
}

pub(crate) fn nvme_not_writable(key: &str, path: &Path) -> Problem {
    Problem::error(
        Rule::NvmeFolder,
        format!("`{}` cannot be written: offloading to NVMe fails at start", path.display()),
    )
    .at(key)
    .help(format!("--set {key}=/local/nvme/$USER-$$"))
}

pub(crate) fn nvme_is_shared(key: &str, path: &Path, kind: &str) -> Problem {
    Problem::warning(Rule::NvmeFolder, format!("`{}` is on {kind}: slow, and other jobs may empty it", path.display()))
        .at(key)
        .help("give every job a folder of its own, on a disk of this machine")
}

pub(crate) fn cache_on_nfs(what: &str, path: &Path, kind: &str, variable: &str) -> Problem {
    Problem::warning(Rule::CacheOnNfs, format!("{what} is on {kind}: ranks that lock files there wait or fail"))
        .at(path.display())
        .help(format!("export {variable}=/tmp/$USER-{what}"))
}

pub(crate) fn no_compiler(missing: &[&str], needed: bool) -> Problem {
    let help: Vec<&str> = missing
        .iter()
        .map(|name| match *name {
            "ninja" => "pip install ninja, and activate that environment",
            _ => "apt install g++, or module load gcc",
        })
        .collect();
    let what = format!(
        "no {} on PATH: DeepSpeed compiles its operators (cpu_adam, fused_adam, …) when a run first needs them",
        missing.join(" and no ")
    );
    let problem = Problem::warning(Rule::NoCompiler, what).at("PATH").help(help.join("; "));
    if needed { Problem { severity: Severity::Error, ..problem } } else { problem }
}

pub(crate) fn small_memlock(limit: u64, why: &str) -> Problem {
    Problem::warning(Rule::SmallMemlock, format!("only {} of memory may be locked, and {why}", size(limit)))
        .at("ulimit -H -l")
        .help("`memlock unlimited` in /etc/security/limits.conf, LimitMEMLOCK=infinity for slurmd, docker run --ulimit memlock=-1")
}

pub(crate) fn small_shm(bytes: u64) -> Problem {
    Problem::warning(
        Rule::SmallShm,
        format!("/dev/shm has {}: NCCL and data loader workers share memory there", size(bytes)),
    )
    .at("/dev/shm")
    .help("docker run --shm-size=16g (or --ipc=host); Kubernetes: an emptyDir of medium Memory at /dev/shm")
}

pub(crate) fn few_files(most: u64) -> Problem {
    Problem::warning(Rule::FewFiles, format!("only {most} files may be open: data loaders need more"))
        .at("ulimit -n")
        .help("ulimit -n 65536")
}

pub(crate) fn not_enough_host_memory(needed: u64, have: u64, limited: bool) -> Problem {
    let whose = if limited { "the cgroup allows" } else { "this machine has" };
    Problem::error(
        Rule::NotEnoughHostMemory,
        format!("offloading this model keeps about {} in host memory, but {whose} {}", size(needed), size(have)),
    )
    .at("zero_optimization.offload_optimizer, zero_optimization.offload_param")
    .help("more machines, more memory for the job (srun --mem=0), offload less, or train adapters")
}
