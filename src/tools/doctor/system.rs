//! The sections of the report about the machine and its variables.

use std::path::PathBuf;

use super::examination::Examination;
use super::page::DoctorRow;
use crate::base::size::size;
use crate::base::vars;
use crate::check::machine;
use crate::command::model::Hub;
use crate::fit;
use crate::host::machine::{Limit, locks_in};
use crate::plan::launch_env::SHOWN_WHEN_SET;
use crate::report::secrets::Sensitivity;

pub(super) fn machine(facts: &Examination) -> Vec<DoctorRow> {
    let here = facts.host.hostname.split('.').next().filter(|name| !name.is_empty()).map(str::to_string);
    let system = [facts.machine.system(), facts.machine.kernel().map(|kernel| format!("Linux {kernel}"))];
    let system: Vec<String> = system.into_iter().flatten().collect();
    let gpus = facts.machine.gpus();
    let memory = facts.machine.memory();
    let all = memory.total.map(|total| {
        let rest = memory.available.map(|bytes| format!(", {} available", size(bytes))).unwrap_or_default();
        let limit = memory.limit.map(|bytes| format!(", the cgroup allows {}", size(bytes))).unwrap_or_default();
        format!("{}{rest}{limit}", size(total))
    });
    vec![
        DoctorRow::fact("system", Some(system.join(", ")).filter(|text| !text.is_empty())),
        DoctorRow::fact("host", here),
        DoctorRow::fact("CPUs", Some(facts.host.cpus.to_string())),
        DoctorRow::checked(
            "memory",
            all,
            facts.offloaded.and_then(|offloaded| machine::not_enough_host_memory(offloaded, &memory)),
        ),
        DoctorRow::fact("GPUs", count_models(&gpus).or_else(|| Some("none in /proc/driver/nvidia".to_string()))),
        DoctorRow::fact("GPU memory", gpu_memory(&gpus)),
        DoctorRow::fact("driver", facts.machine.driver()),
    ]
}

pub(super) fn limits(facts: &Examination) -> Vec<DoctorRow> {
    let limit = |name: &str| facts.machine.limit(name);
    let shown = |limit: Limit, unit: fn(u64) -> String| {
        let [soft, hard] = [limit.soft, limit.hard].map(|bound| bound.map_or("unlimited".to_string(), unit));
        if soft == hard { soft } else { format!("{soft}, at most {hard}") }
    };
    let bytes = |limit: Limit| shown(limit, size);
    let count = |limit: Limit| shown(limit, |count| count.to_string());
    let (locked, files) = (limit("Max locked memory"), limit("Max open files"));
    let infiniband = facts.machine.has_infiniband();
    let shm = facts.machine.shared_memory();
    vec![
        DoctorRow::checked(
            "locked memory",
            locked.map(bytes),
            machine::small_memlock(locked, &facts.wants, infiniband),
        ),
        DoctorRow::checked("open files", files.map(count), machine::few_files(files)),
        DoctorRow::fact("processes", limit("Max processes").map(count)),
        DoctorRow::checked("/dev/shm", shm.map(size), machine::small_shm(shm)),
    ]
}

pub(super) fn folders(facts: &Examination) -> Vec<DoctorRow> {
    let host = facts.host;
    let mut rows = vec![folder(facts, "configs", Some(host.configs_folder()), None)];
    let extensions = machine::extensions_folder(host);
    let mut row = folder(facts, "torch_extensions", extensions.clone(), Some(vars::TORCH_EXTENSIONS_DIR));
    let locks = extensions.map(|folder| locks_in(&folder)).unwrap_or_default();
    row.problems.extend(machine::stale_locks(&locks, facts.python.as_ref()));
    rows.push(row);
    let triton = host.path(vars::TRITON_CACHE_DIR).or_else(|| host.home().map(|home| home.join(".triton/cache")));
    rows.push(folder(facts, "triton", triton, Some(vars::TRITON_CACHE_DIR)));
    rows.push(folder(facts, "Hugging Face", Hub::HuggingFace.cache(host), None));
    rows.push(folder(facts, "ModelScope", Hub::ModelScope.cache(host), None));
    rows.extend(nvme(facts));
    rows.push(DoctorRow::fact("templates", Some(facts.launch.search.in_words())));
    rows
}

/// A folder with its file system. If ranks lock files in it, `variable` is the one that moves it elsewhere.
fn folder(facts: &Examination, name: &'static str, path: Option<PathBuf>, variable: Option<&str>) -> DoctorRow {
    let Some(path) = path else { return DoctorRow::fact(name, None) };
    let file_system = facts.machine.file_system(&path);
    let problem = variable.and_then(|variable| machine::cache_on_nfs(name, &path, file_system.as_deref(), variable));
    let file_system = file_system.unwrap_or_else(|| "unknown file system".to_string());
    let missing = if path.is_dir() { "" } else { ", not there yet" };
    let text = format!("{} ({file_system}{missing})", path.display());
    if variable.is_some() { DoctorRow::checked(name, Some(text), problem) } else { DoctorRow::fact(name, Some(text)) }
}

fn nvme(facts: &Examination) -> Vec<DoctorRow> {
    let row = |(key, path): &(String, PathBuf)| {
        let file_system = facts.machine.file_system(&facts.host.absolute(path));
        let problem = machine::unusable_nvme(key, path, facts.host)
            .or_else(|| machine::shared_nvme(key, path, file_system.as_deref()));
        DoctorRow::checked("nvme_path", Some(path.display().to_string()), problem)
    };
    facts.wants.nvme.iter().map(row).collect()
}

/// `4 × NVIDIA H200, 1 × Tesla T4`.
fn count_models(gpus: &[String]) -> Option<String> {
    let mut models: Vec<(&str, usize)> = Vec::new();
    for gpu in gpus {
        match models.iter_mut().find(|(model, _)| model == gpu) {
            Some((_, count)) => *count += 1,
            None => models.push((gpu, 1)),
        }
    }
    let texts: Vec<String> = models.iter().map(|(model, count)| format!("{count} × {model}")).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// By the names of the models, because the driver's files do not contain it.
fn gpu_memory(gpus: &[String]) -> Option<String> {
    let known = |model: &String| fit::cards::memory(model).map(size);
    let mut sizes: Vec<String> = gpus.iter().map(known).collect::<Option<_>>()?;
    sizes.dedup();
    (!sizes.is_empty()).then(|| sizes.join(", "))
}

/// Variables that are shown besides those of every plan, as `vars::lists` reads them.
const SHOWN: &str = "NCCL_ TORCH_NCCL_ CUDA_HOME DEEPSPEED_TIMEOUT HF_HUB_OFFLINE PYTHONNOUSERSITE \
    TORCH_DISTRIBUTED_DEBUG DS_ENV_FILE HF_HOME MODELSCOPE_CACHE NNODES NODE_RANK NPROC_PER_NODE TORCH_EXTENSIONS_DIR \
    TRITON_CACHE_DIR SLURM_JOB_NUM_NODES SLURM_TASKS_PER_NODE SLURM_GPUS_ON_NODE USE_HF";

pub(super) fn variables(facts: &Examination) -> Vec<DoctorRow> {
    let shown = facts.host.env.iter().filter_map(|(name, value)| {
        let name = name.to_str().filter(|name| may_be_shown(name))?;
        Some(DoctorRow::fact(name, Some(value.to_string_lossy().into_owned())))
    });
    let mut rows: Vec<DoctorRow> = shown.collect();
    if facts.host.var_os(vars::CUDA_VISIBLE_DEVICES).is_none() {
        rows.insert(0, DoctorRow::fact(vars::CUDA_VISIBLE_DEVICES, Some("not set".to_string())));
    }
    rows
}

fn may_be_shown(name: &str) -> bool {
    (vars::lists(SHOWN, name) || vars::lists(SHOWN_WHEN_SET, name)) && Sensitivity::of(name).is_none()
}
