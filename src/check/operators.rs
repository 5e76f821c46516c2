//! The operators that DeepSpeed compiles on first use: those that a launch needs and torch has not built for this Python.

use std::path::PathBuf;

use serde_json::Value;

use super::findings::Check;
use super::subject::OFFLOAD;
use crate::base::{json, vars};
use crate::command::job::Job;
use crate::command::python::Python;
use crate::config::schema;
use crate::config::zero::{Device, Zero};
use crate::host::Host;
use crate::ranks::launcher::Launcher;
use crate::report::{Rule, Severity, When, reading};

pub(super) const RULES: &[Check] = &[Check::code(
    Rule::FirstCompile,
    Severity::Note,
    When::Start,
    |subject, found| {
        let Some((missing, folder)) = not_built(subject.config, subject.job, subject.host) else {
            return;
        };
        // Other machines may have built them.
        if missing.is_empty() || subject.launcher == Some(Launcher::Srun) {
            return;
        }
        let (names, keys): (Vec<_>, Vec<_>) = missing
            .into_iter()
            .map(|(name, key)| (format!("`{name}`"), key))
            .unzip();
        let (is, them) = if names.len() == 1 {
            ("is", "it")
        } else {
            ("are", "them")
        };
        let (names, folder) = (names.join(" and "), folder.display());
        let start = "at start, once; this takes a minute or more, and the other ranks wait";
        let what = format!("{names} {is} not built yet: the first rank compiles {them} {start}");
        let compilers = "the compilers it needs (c++, ninja, and nvcc for GPUs)";
        found.key(
            &keys,
            what,
            format!("`zlaunch doctor` looks for {compilers}; the result is kept in {folder}"),
        );
    },
)];

/// DeepSpeed's optimizers, each with its operator in host memory and on the GPU.
const OF_OPTIMIZERS: &[(&str, &str, Option<&str>)] = &[
    ("adam", "cpu_adam", Some("fused_adam")),
    ("adamw", "cpu_adam", Some("fused_adam")),
    ("lion", "cpu_lion", Some("fused_lion")),
    ("adagrad", "cpu_adagrad", None),
    ("lamb", "fused_lamb", Some("fused_lamb")),
];

/// Operators with the key that asks for each.
pub(super) fn needed(config: &Value, job: &Job) -> Vec<(&'static str, &'static str)> {
    let zero = Zero::of(config);
    let zero = if job.trainer.is_raw_deepspeed() {
        zero.without_auto()
    } else {
        zero
    };
    let mut needed: Vec<_> = of_optimizer(config, zero.optimizer.is_off_gpu(), job)
        .into_iter()
        .collect();
    if zero.stage != Some(3) {
        return needed;
    }
    let devices = [
        (zero.optimizer, OFFLOAD),
        (zero.param, "zero_optimization.offload_param.device"),
    ];
    needed.extend(
        devices
            .iter()
            .find(|(device, _)| *device == Device::Nvme)
            .map(|(_, key)| ("async_io", *key)),
    );
    let quantized = QUANTIZED
        .iter()
        .find(|key| json::get(config, key).and_then(schema::truth) == Some(true));
    needed.extend(quantized.map(|key| ("quantizer", *key)));
    needed
}

const QUANTIZED: &[&str] = &[
    "zero_optimization.zero_quantized_weights",
    "zero_optimization.zero_quantized_gradients",
    "zero_optimization.zero_quantized_nontrainable_weights",
];

fn of_optimizer(config: &Value, off_gpu: bool, job: &Job) -> Option<(&'static str, &'static str)> {
    if job.trainer.sets("optimizer.params.lr") {
        return None;
    }
    let operator = |name: &str| {
        let (_, host, gpu) = OF_OPTIMIZERS.iter().find(|(known, ..)| *known == name)?;
        if off_gpu { Some(*host) } else { *gpu }
    };
    if json::get(config, "optimizer").is_some_and(Value::is_object) {
        let name = json::get(config, "optimizer.type")?
            .as_str()?
            .to_ascii_lowercase();
        let by_torch =
            json::get(config, "optimizer.params.torch_adam").is_some_and(schema::is_true);
        return if by_torch {
            None
        } else {
            operator(&name).map(|found| (found, "optimizer.type"))
        };
    }
    let forced = json::get(config, "zero_force_ds_cpu_optimizer").is_none_or(schema::is_true);
    let name = if off_gpu && forced {
        own_optimizer(job)
    } else {
        None
    };
    operator(name?).map(|found| (found, OFFLOAD))
}

/// The optimizer of the trainer in host memory.
fn own_optimizer(job: &Job) -> Option<&'static str> {
    if job.trainer.is_hf() {
        // accelerate replaces it by DeepSpeed's own.
        let optim = job.args.text("optim");
        return Some(match optim.as_ref().map(|sourced| sourced.value.as_str()) {
            Some("adagrad") => "adagrad",
            Some("lion_32bit" | "paged_lion_32bit") => "lion",
            _ => "adam",
        });
    }
    let script = &job.source.as_ref()?.text;
    let named = [
        ("DeepSpeedCPUAdam", "adam"),
        ("DeepSpeedCPULion", "lion"),
        ("DeepSpeedCPUAdagrad", "adagrad"),
    ];
    named
        .into_iter()
        .find(|(class, _)| script.contains(&format!("{class}(")))
        .map(|(_, name)| name)
}

/// The operators that are neither built nor installed, and the folder where torch builds them, if it is known.
fn not_built(
    config: &Value,
    job: &Job,
    host: &Host,
) -> Option<(Vec<(&'static str, &'static str)>, PathBuf)> {
    let needed = needed(config, job);
    let (Some(python), false) = (&job.python, needed.is_empty()) else {
        return None;
    };
    let folder = build_folder(python, host)?;
    let installed =
        reading::read_text(&python.file("deepspeed/git_version_info_installed.py")?).ok()?;
    let missing = needed.into_iter().filter(|(name, _)| {
        !installed.contains(&format!("'{name}': True"))
            && !folder.join(name).join(format!("{name}.so")).is_file()
    });
    Some((missing.collect(), folder))
}

/// True if that is unknown, too.
pub(crate) fn compiles(config: &Value, job: &Job, host: &Host) -> bool {
    not_built(config, job, host).map_or_else(
        || !needed(config, job).is_empty(),
        |(missing, _)| !missing.is_empty(),
    )
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
