//! Rules about the machine: pure functions over what was seen. `doctor` asks all of them; a launch asks those that
//! cost a few system calls (`at_launch`).

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::tables::{
    limits::Needed,
    names::{
        A_LOCAL_FOLDER, NEEDED_PACKAGES, OLDEST_LOCK, SHARED_FILE_SYSTEMS, WITHOUT_GOOD_LOCKS,
    },
};
use crate::{
    base::{json, shell, size::size, vars},
    command::{job::Job, python::Python, tables::HF_PACKAGES},
    config::zero::{Device, Zero},
    host::{
        Host, can_be_written,
        machine::{Lock, Memory, locks_in},
    },
    report::prelude::*,
};

/// The keys that name a folder on NVMe which the config uses, with the folder.
pub fn nvme_folders(config: &Value) -> Vec<(String, PathBuf)> {
    let zero = Zero::of(config);
    let folders = [
        ("offload_optimizer", zero.optimizer),
        ("offload_param", zero.param),
    ]
    .into_iter()
    .filter_map(|(section, device)| {
        let is_used = zero.stage == Some(3) && device == Device::Nvme;
        let key = format!("zero_optimization.{section}.nvme_path");
        let path = json::get(config, &key)?.as_str().filter(|_| is_used)?;
        Some((key, PathBuf::from(path)))
    });
    folders.collect()
}

/// The rules that are cheap enough for every launch with a config.
pub fn at_launch(config: &Value, job: &Job, host: &Host) -> Problems {
    let mut warnings = vec![];
    for (key, path) in nvme_folders(config) {
        warnings.extend(unusable_nvme(&key, &path, host));
    }
    // DeepSpeed compiles its optimizer for host memory.
    if Zero::of(config).optimizer.is_off_gpu() {
        let folder = extensions_folder(host);
        let locks = folder.map(|folder| locks_in(&folder)).unwrap_or_default();
        warnings.extend(stale_locks(&locks, job.python.as_ref()));
    }
    let mut problems = missing_packages(job);
    problems.extend(warnings.into_iter().map(Problem::into_warning));
    problems
}

pub fn extensions_folder(host: &Host) -> Option<PathBuf> {
    host.path(vars::TORCH_EXTENSIONS_DIR)
        .or_else(|| Some(host.cache_home()?.join("torch_extensions")))
}

/// If no packages are found at all, nothing is reported.
pub fn missing_package(name: &str, python: &Python) -> Option<Problem> {
    let inside = match name {
        "torch" => "torch/distributed/run.py".to_string(),
        _ => format!("{name}/__init__.py"),
    };
    if !NEEDED_PACKAGES.contains(&name) || !python.lacks(&inside, name) {
        return None;
    }
    Some(
        Rule::PackageMissing
            .error(format!("`{name}` is not installed for this Python"))
            .at(&python.program)
            .fix(say(format!("activate the environment that has `{name}`"))),
    )
}

/// A warning where the script may do without: only what its lines import at the left, or its trainer, is certain.
fn missing_packages(job: &Job) -> Problems {
    let imports = |name: &str| {
        let Some(source) = &job.source else {
            return job.rewritten;
        };
        let statements = [format!("import {name}"), format!("from {name}")];
        let is_one = |line: &str| statements.iter().any(|it| line.starts_with(it));
        source.text.lines().any(is_one)
    };
    let is_hf = job.trainer.is_hf();
    let by_trainer = is_hf && HF_PACKAGES.iter().any(|name| imports(name));
    NEEDED_PACKAGES
        .iter()
        .filter(|name| **name != "transformers" || is_hf)
        .filter_map(|name| {
            Some(
                missing_package(name, job.python.as_ref()?)?
                    .into_warning_unless(by_trainer || imports(name)),
            )
        })
        .collect()
}

/// Before torch 2.14 the file itself is the lock. Since then the kernel holds the lock, and the file always remains.
pub fn stale_locks(locks: &[Lock], python: Option<&Python>) -> Problems {
    let torch = python.and_then(|python| python.version("torch"));
    if torch.is_some_and(|torch| !torch.is_before([2, 14, 0])) {
        return vec![];
    }
    let stale = locks.iter().filter(|lock| lock.age > OLDEST_LOCK);
    let problems = stale.map(|Lock { path, age }| {
        let folder = path.parent().unwrap_or(path);
        let minutes = age.as_secs() / 60;
        let what = format!(
            "this lock is {minutes} minutes old: a rank that needs {} waits until the file is removed",
            folder.display()
        );
        let remove = run(shell::text(&["rm".into(), "-r".into(), folder.into()]));
        Rule::StaleLock.error(what)
            .at(path)
            .fix(remove.remark("if nothing is compiling there"))
    });
    problems.collect()
}

pub fn unusable_nvme(key: &str, path: &Path, host: &Host) -> Option<Problem> {
    if can_be_written(&host.absolute(path)) {
        return None;
    }
    let what = format!(
        "`{}` cannot be written: offloading to NVMe fails at start",
        path.display()
    );
    Some(Rule::NvmeFolder.error(what).at(key).fix(A_LOCAL_FOLDER))
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
    Some(Rule::NvmeFolder.warning(what).at(key).fix(A_LOCAL_FOLDER))
}

/// `machines` read the config at this path. This one may export the folder to the others, so it is not an error.
pub fn config_may_be_local(path: &Path, machines: usize, kind: Option<&str>) -> Option<Problem> {
    let kind = kind.filter(|kind| !is_shared(kind) && !kind.starts_with("fuse"))?;
    let what = format!(
        "{machines} machines must read the config at this path, and it is on {kind}: do they all see it?"
    );
    let fixes = give("--config-out", "PATH")
        .remark("in a folder that all machines share")
        .or(give("--allow", "config-not-shared"));
    Some(Rule::ConfigNotShared.warning(what).at(path).fix(fixes))
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
    Some(Rule::CacheOnNfs.warning(what).at(path).fix(fix))
}

/// A warning unless they are `needed` at the start.
pub fn no_compiler(compiler: bool, ninja: bool, needed: bool) -> Option<Problem> {
    let (names, help): (Vec<&str>, Vec<&str>) = [
        ("c++", compiler, "apt install g++, or module load gcc"),
        (
            "ninja",
            ninja,
            "pip install ninja, and activate that environment",
        ),
    ]
    .iter()
    .filter(|(_, is_there, _)| !is_there)
    .map(|(name, _, help)| (*name, *help))
    .unzip();
    if names.is_empty() {
        return None;
    }
    let what = format!(
        "no {} on PATH: DeepSpeed compiles its operators (cpu_adam, fused_adam, …) when they are first needed",
        names.join(" and no ")
    );
    Some(
        Rule::NoCompiler
            .error(what)
            .at(Place::variable(vars::PATH, ""))
            .fix(help.join("; "))
            .into_warning_unless(needed),
    )
}

/// `have`: `None` where nothing is limited.
pub fn too_little(needed: &Needed, have: Option<u64>) -> Option<Problem> {
    let have = have.filter(|have| *have <= needed.fatal || *have < needed.least)?;
    let is_fatal = have <= needed.fatal;
    let shown = if needed.is_size {
        size(have)
    } else {
        have.to_string()
    };
    let need = if is_fatal { "need" } else { "may need" };
    Some(
        needed
            .rule
            .error(needed.says.replace("{}", &shown).replace("{need}", need))
            .at(needed.at)
            .fix(needed.help)
            .into_warning_unless(is_fatal),
    )
}

pub fn not_enough_host_memory(needed: u64, memory: &Memory) -> Option<Problem> {
    let have = memory.most().filter(|have| *have < needed)?;
    let what = format!(
        "offloading this model keeps about {} in host memory, but there are {}",
        size(needed),
        size(have)
    );
    Some(
        Rule::NotEnoughHostMemory.error(what)
            .at("zero_optimization.offload_optimizer, zero_optimization.offload_param")
            .fix("more machines, more memory for the job (srun --mem=0), offload less, or train adapters"),
    )
}
