//! The operators that DeepSpeed compiles on first use: those that a launch needs and torch has not built for this Python.

use std::path::PathBuf;

use serde_json::Value;

use super::findings::Findings;
use super::subject::Subject;
use super::tables::names::{OFFLOAD, OPTIMIZERS};
use crate::base::{json, vars};
use crate::command::job::Job;
use crate::command::python::Python;
use crate::config::schema;
use crate::config::zero::{Device, Zero};
use crate::host::Host;
use crate::ranks::launcher::Launcher;
use crate::report::reading;

/// An operator, and the key that asks for it.
pub(super) struct Operator {
    pub(super) name: &'static str,
    key: &'static str,
}

const QUANTIZED: &[&str] = &[
    "zero_optimization.zero_quantized_weights",
    "zero_optimization.zero_quantized_gradients",
    "zero_optimization.zero_quantized_nontrainable_weights",
];

pub(super) fn first_compile(subject: &Subject, found: &mut Findings) {
    // Other machines may have built them.
    if subject.launcher == Some(Launcher::Srun) {
        return;
    }
    let Some((missing, folder)) = not_built(subject.config, subject.job, subject.host) else {
        return;
    };
    let names: Vec<String> = missing.iter().map(|it| format!("`{}`", it.name)).collect();
    let keys: Vec<&str> = missing.iter().map(|it| it.key).collect();
    let verb = match names.len() {
        0 => return,
        1 => "is not built yet: the first rank compiles it",
        _ => "are not built yet: the first rank compiles them",
    };
    let what = format!(
        "{} {verb} at start, once; this takes a minute or more, and the other ranks wait",
        names.join(" and ")
    );
    let help = format!(
        "`zlaunch doctor` looks for the compilers it needs (c++, ninja, and nvcc for GPUs); the result is kept in {}",
        folder.display()
    );
    found.key(&keys, what, help);
}

pub(super) fn needed(config: &Value, job: &Job) -> Vec<Operator> {
    let zero = Zero::of(config);
    let zero = if job.trainer.is_raw_deepspeed() {
        zero.without_auto()
    } else {
        zero
    };
    let mut needed = Vec::new();
    needed.extend(of_optimizer(config, zero.optimizer.is_off_gpu(), job));
    if zero.stage != Some(3) {
        return needed;
    }
    let on_nvme = if zero.optimizer == Device::Nvme {
        Some(OFFLOAD)
    } else if zero.param == Device::Nvme {
        Some("zero_optimization.offload_param.device")
    } else {
        None
    };
    needed.extend(on_nvme.map(|key| Operator {
        name: "async_io",
        key,
    }));
    let quantized = QUANTIZED
        .iter()
        .find(|key| json::get(config, key).and_then(schema::truth) == Some(true));
    needed.extend(quantized.map(|key| Operator {
        name: "quantizer",
        key,
    }));
    needed
}

fn of_optimizer(config: &Value, off_gpu: bool, job: &Job) -> Option<Operator> {
    if job.trainer.sets("optimizer.params.lr") {
        return None;
    }
    let is_true = |key: &str| json::get(config, key).map(schema::is_true);
    let (name, key) = if json::get(config, "optimizer").is_some_and(Value::is_object) {
        if is_true("optimizer.params.torch_adam") == Some(true) {
            return None;
        }
        let name = json::get(config, "optimizer.type")?.as_str()?;
        (name.to_ascii_lowercase(), "optimizer.type")
    } else if off_gpu && is_true("zero_force_ds_cpu_optimizer") != Some(false) {
        (own_optimizer(job)?.to_string(), OFFLOAD)
    } else {
        return None;
    };
    let known = OPTIMIZERS.iter().find(|known| known.name == name)?;
    let name = if off_gpu {
        known.host_operator
    } else {
        known.gpu_operator
    };
    Some(Operator { name: name?, key })
}

/// DeepSpeed's optimizer with which accelerate replaces that of transformers in host memory.
fn own_optimizer(job: &Job) -> Option<&'static str> {
    let optim = job.args.text("optim").map(|optim| optim.value);
    job.trainer.is_hf().then_some(match optim.as_deref() {
        Some("adagrad") => "adagrad",
        Some("lion_32bit" | "paged_lion_32bit") => "lion",
        _ => "adam",
    })
}

/// The operators that are neither built nor installed, and the folder where torch builds them, if it is known.
fn not_built(config: &Value, job: &Job, host: &Host) -> Option<(Vec<Operator>, PathBuf)> {
    let mut missing = needed(config, job);
    let python = job.python.as_ref().filter(|_| !missing.is_empty())?;
    let folder = build_folder(python, host)?;
    let installed = python.file("deepspeed/git_version_info_installed.py")?;
    let installed = reading::read_text(&installed).ok()?;
    missing.retain(|Operator { name, .. }| {
        !installed.contains(&format!("'{name}': True"))
            && !folder.join(name).join(format!("{name}.so")).is_file()
    });
    Some((missing, folder))
}

/// True if this launch compiles an operator, or if that is unknown.
pub(crate) fn compiles(config: &Value, job: &Job, host: &Host) -> bool {
    let missing = not_built(config, job, host).map(|(missing, _)| missing);
    !missing.unwrap_or_else(|| needed(config, job)).is_empty()
}

/// `…/py311_cu128`, unless a variable names the folder. The name for ROCm depends on the version.
pub(super) fn build_folder(python: &Python, host: &Host) -> Option<PathBuf> {
    if let Some(folder) = host.path(vars::TORCH_EXTENSIONS_DIR) {
        return Some(folder);
    }
    let text = reading::read_text(&python.file("torch/version.py")?).ok()?;
    // `cuda: Optional[str] = '12.8'`, or `cuda = None`.
    let value = |name: &str| {
        let rest = text
            .lines()
            .filter_map(|line| line.strip_prefix(name))
            .find(|rest| rest.starts_with([':', ' ']))?;
        Some(rest.rsplit_once("= ")?.1.trim_matches('\''))
    };
    if value("hip") != Some("None") {
        return None;
    }
    let device = match value("cuda")? {
        "None" => "cpu".to_string(),
        version => format!("cu{}", version.replace('.', "")),
    };
    let version = python.own_version()?.replace('.', "");
    Some(
        host.cache_home()?
            .join("torch_extensions")
            .join(format!("py{version}_{device}")),
    )
}
