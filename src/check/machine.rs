//! Rules about the machine: pure functions over what was seen. `doctor` asks all of them; a launch asks those that
//! cost a few system calls (`at_launch`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::operators;
use super::tables::names::{SHARED_FILE_SYSTEMS, WITHOUT_GOOD_LOCKS};
use crate::base::size::size;
use crate::base::{shell, vars};
use crate::command::job::Job;
use crate::command::python::Python;
use crate::command::tables::HF_PACKAGES;
use crate::config::zero::{Device, Zero};
use crate::host::machine::{Limit, Lock, Memory, locks_in};
use crate::host::{Host, can_be_written};
use crate::report::fix::{Fixes, run, say, set};
use crate::report::{self, Place, Problem, Rule, Severity};

/// No compilation takes this long: the compiler was killed and left its lock.
const STALE: Duration = Duration::from_secs(15 * 60);
/// Less than this and NCCL or a data loader fails.
const LEAST_SHARED_MEMORY: u64 = 1 << 30;
const LEAST_LOCKED_MEMORY: u64 = 1 << 30;
const LEAST_FILES: u64 = 1024;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Wants {
    pub offloads_optimizer: bool,
    pub offloads_parameters: bool,
    /// The keys that name a folder on NVMe, with the folder.
    pub nvme: Vec<(String, PathBuf)>,
}

impl Wants {
    pub fn of(config: &Value) -> Self {
        let zero = Zero::of(config);
        let stage = zero.stage.unwrap_or(0);
        let sections = [
            ("offload_optimizer", zero.optimizer),
            ("offload_param", zero.param),
        ];
        let on_nvme = sections
            .into_iter()
            .filter(|(_, device)| stage == 3 && *device == Device::Nvme);
        let nvme = on_nvme.filter_map(|(section, _)| {
            let path = zero.section?.get(section)?.get("nvme_path")?.as_str()?;
            Some((
                format!("zero_optimization.{section}.nvme_path"),
                PathBuf::from(path),
            ))
        });
        Wants {
            offloads_optimizer: stage > 0 && zero.optimizer.is_off_gpu(),
            offloads_parameters: stage == 3 && zero.param.is_off_gpu(),
            nvme: nvme.collect(),
        }
    }
}

/// The rules that are cheap enough for every launch with a config.
pub(crate) fn at_launch(config: &Value, job: &Job, host: &Host) -> Vec<Problem> {
    let python = job.python.as_ref();
    let mut problems = Vec::new();
    problems.extend(
        Wants::of(config)
            .nvme
            .iter()
            .filter_map(|(key, path)| unusable_nvme(key, path, host)),
    );
    let operators = operators::needed(config, job);
    if !operators.is_empty()
        && let Some(all) = extensions_folder(host).filter(|folder| folder.is_dir())
    {
        // Only the locks of this Python and CUDA count, where these are known.
        let folder = python
            .and_then(|python| operators::build_folder(python, host))
            .unwrap_or(all);
        let mut locks = locks_in(&folder);
        locks.retain(|lock| {
            operators
                .iter()
                .any(|needed| lock.path.ends_with(Path::new(needed.name).join("lock")))
        });
        problems.extend(stale_locks(&locks, python));
    }
    let missing = python
        .into_iter()
        .flat_map(|python| missing_packages(job, python, host));
    missing
        .chain(problems.into_iter().map(Problem::into_warning))
        .collect()
}

pub(crate) fn extensions_folder(host: &Host) -> Option<PathBuf> {
    host.path(vars::TORCH_EXTENSIONS_DIR)
        .or_else(|| Some(host.cache_home()?.join("torch_extensions")))
}

/// Only transformers' Trainer needs the last one.
const NEEDED: [&str; 3] = ["torch", "deepspeed", "transformers"];

/// If no packages are found at all, nothing is reported.
pub(crate) fn missing_package(name: &str, python: &Python, host: &Host) -> Option<Problem> {
    let inside = if name == "torch" {
        "distributed/run.py"
    } else {
        "__init__.py"
    };
    let is_missing = |python: &Python| python.lacks(&format!("{name}/{inside}"), name);
    (NEEDED.contains(&name) && is_missing(python)).then_some(())?;
    let problem = Problem::error(
        Rule::PackageMissing,
        format!("`{name}` is not installed for this Python"),
    );
    let environment = [".venv", "venv", "env"].into_iter().find(|folder| {
        let program = host.cwd.join(folder).join("bin/python");
        program.is_file() && !is_missing(&Python::at(program, host))
    });
    let activate = match environment {
        Some(folder) => run(format!("source {folder}/bin/activate")),
        None => say(format!("activate the environment that has `{name}`")),
    };
    // The system's own Python is not for pip.
    let is_own = python
        .program
        .ancestors()
        .nth(2)
        .is_some_and(|prefix| prefix.join("pyvenv.cfg").is_file());
    let install = is_own.then(|| {
        run(format!(
            "{} -m pip install {name}",
            python.program.display()
        ))
    });
    Some(
        problem
            .at(&python.program)
            .fix(Fixes::from(activate).or(Fixes(install.into_iter().collect()))),
    )
}

/// A warning where the script may do without: only what its lines import at the left, or its trainer, is certain.
fn missing_packages(job: &Job, python: &Python, host: &Host) -> Vec<Problem> {
    let imports = |name: &str| {
        let Some(source) = &job.source else {
            return job.rewritten;
        };
        let statements = [format!("import {name}"), format!("from {name}")];
        source
            .text
            .lines()
            .any(|line| statements.iter().any(|it| line.starts_with(it)))
    };
    let by_trainer = job.trainer.is_hf() && HF_PACKAGES.iter().any(|name| imports(name));
    let needed = NEEDED
        .into_iter()
        .filter(|name| *name != "transformers" || job.trainer.is_hf());
    let found = needed.filter_map(|name| Some((name, missing_package(name, python, host)?)));
    found
        .map(|(name, it)| {
            if by_trainer || imports(name) {
                it
            } else {
                it.into_warning()
            }
        })
        .collect()
}

/// Before torch 2.14 the file itself is the lock. Since then the kernel holds the lock, and the file always remains.
pub fn stale_locks(locks: &[Lock], python: Option<&Python>) -> Vec<Problem> {
    let torch = python.and_then(|python| python.version("torch"));
    if torch.is_some_and(|torch| !torch.is_before([2, 14, 0])) {
        return Vec::new();
    }
    let torch = torch.map_or("torch before 2.14".to_string(), |it| format!("torch {it}"));
    let stale = locks.iter().filter(|lock| lock.age > STALE);
    let problems = stale.map(|Lock { path, age }| {
        let folder = path.parent().unwrap_or(path);
        let minutes = age.as_secs() / 60;
        let age = match minutes {
            0..120 => format!("{minutes} minutes"),
            120..2880 => format!("{} hours", minutes / 60),
            _ => format!("{} days", minutes / 60 / 24),
        };
        let what = format!(
            "this lock is {age} old: a rank of {torch} that needs {} waits until the file is removed",
            folder.display()
        );
        let remove = run(shell::text(&["rm".into(), "-r".into(), folder.into()]));
        Problem::warning(Rule::StaleLock, what)
            .at(path)
            .fix(remove.remark("if nothing is compiling there"))
    });
    problems.collect()
}

pub(crate) fn unusable_nvme(key: &str, path: &Path, host: &Host) -> Option<Problem> {
    if can_be_written(&host.absolute(path)) {
        return None;
    }
    let what = format!(
        "`{}` cannot be written: offloading to NVMe fails at start",
        path.display()
    );
    Some(
        Problem::error(Rule::NvmeFolder, what)
            .at(key)
            .fix(set(key, "/local/nvme/$USER-$$")),
    )
}

fn is_shared(kind: &str) -> bool {
    WITHOUT_GOOD_LOCKS.contains(&kind) || SHARED_FILE_SYSTEMS.contains(&kind)
}

pub fn shared_nvme(key: &str, path: &Path, kind: Option<&str>) -> Option<Problem> {
    let kind = kind.filter(|kind| is_shared(kind))?;
    let what = format!(
        "`{}` is on {kind}: it is slow, and other jobs may delete its files",
        path.display()
    );
    Some(
        Problem::warning(Rule::NvmeFolder, what)
            .at(key)
            .fix("give every job its own folder, on a local disk"),
    )
}

/// This machine may export the folder to the others, so it is not an error.
pub fn config_may_be_local(path: &Path, machines: usize, kind: Option<&str>) -> Option<Problem> {
    let kind = kind.filter(|kind| !is_shared(kind) && !kind.starts_with("fuse"))?;
    Some(report::config_may_be_local(path, machines, kind))
}

/// `path` is a folder in which ranks take locks.
pub fn cache_on_nfs(
    what: &str,
    path: &Path,
    kind: Option<&str>,
    variable: &str,
) -> Option<Problem> {
    let kind = kind.filter(|kind| WITHOUT_GOOD_LOCKS.contains(kind))?;
    let fix = run(format!("export {variable}=/tmp/$USER-{what}"));
    let what = format!("{what} is on {kind}: ranks that lock files there wait or fail");
    Some(Problem::warning(Rule::CacheOnNfs, what).at(path).fix(fix))
}

/// `needed` is true if this launch compiles something.
pub fn no_compiler(compiler: bool, ninja: bool, needed: bool) -> Option<Problem> {
    let compile = "apt install g++, or module load gcc";
    let build = "pip install ninja, and activate that environment";
    let (names, help) = match (compiler, ninja) {
        (true, true) => return None,
        (false, true) => ("c++", compile.to_string()),
        (true, false) => ("ninja", build.to_string()),
        (false, false) => ("c++ and no ninja", format!("{compile}; {build}")),
    };
    let what = format!(
        "no {names} on PATH: DeepSpeed compiles its operators (cpu_adam, fused_adam, …) when they are first needed"
    );
    let problem = Problem::warning(Rule::NoCompiler, what)
        .at(Place::bare_variable(vars::PATH))
        .fix(help);
    Some(Problem {
        severity: Severity::error_if(needed),
        ..problem
    })
}

/// The hard limit counts: zlaunch raises the soft one to it. CUDA's own pinned memory is not counted by the kernel;
/// what is registered for InfiniBand or locked for NVMe is.
pub fn small_memlock(limit: Option<Limit>, wants: &Wants, infiniband: bool) -> Option<Problem> {
    let hard = limit?
        .hard
        .filter(|hard| *hard < LEAST_LOCKED_MEMORY && (infiniband || !wants.nvme.is_empty()))?;
    let why = if infiniband {
        "InfiniBand registers memory"
    } else {
        "NVMe offload locks its buffers"
    };
    let what = format!("only {} of memory can be locked, and {why}", size(hard));
    Some(Problem::warning(Rule::SmallMemlock, what).at("ulimit -H -l").fix(
        "`memlock unlimited` in /etc/security/limits.conf, LimitMEMLOCK=infinity for slurmd, docker run --ulimit \
         memlock=-1",
    ))
}

pub fn small_shm(bytes: Option<u64>) -> Option<Problem> {
    let bytes = bytes.filter(|bytes| *bytes < LEAST_SHARED_MEMORY)?;
    let what = format!(
        "/dev/shm has {}: NCCL and data loader workers share memory there",
        size(bytes)
    );
    let help = "docker run --shm-size=16g (or --ipc=host); Kubernetes: an emptyDir of medium Memory at /dev/shm";
    Some(
        Problem::warning(Rule::SmallShm, what)
            .at(Path::new("/dev/shm"))
            .fix(help),
    )
}

pub fn few_files(limit: Option<Limit>) -> Option<Problem> {
    let most = limit?.soft.filter(|most| *most < LEAST_FILES)?;
    let what = format!("only {most} files can be open at once: data loaders need more");
    Some(
        Problem::warning(Rule::FewFiles, what)
            .at("ulimit -n")
            .fix(run("ulimit -n 65536")),
    )
}

pub fn not_enough_host_memory(needed: u64, memory: &Memory) -> Option<Problem> {
    let have = memory.most().filter(|have| *have < needed)?;
    let whose = if memory.limit.is_some() {
        "the cgroup allows"
    } else {
        "this machine has"
    };
    let what = format!(
        "offloading this model keeps about {} in host memory, but {whose} {}",
        size(needed),
        size(have)
    );
    Some(
        Problem::error(Rule::NotEnoughHostMemory, what)
            .at("zero_optimization.offload_optimizer, zero_optimization.offload_param")
            .fix("more machines, more memory for the job (srun --mem=0), offload less, or train adapters"),
    )
}
