//! States in host memory or on NVMe.

use serde_json::Value;

use super::findings::{Check, Findings};
use super::subject::{STAGE, Subject};
use crate::config::schema;
use crate::config::zero::Device;
use crate::report::{Rule, Severity, When};

pub(super) const RULES: &[Check] = &[
    Check {
        rule: Rule::OffloadAtStage0,
        severity: Severity::Error,
        when: When::Step,
        doc: "the optimizer in host memory without ZeRO: DeepSpeed takes its CPU optimizer and stops at the first step",
        check: offload_at_stage_0,
    },
    Check {
        rule: Rule::NvmePath,
        severity: Severity::Error,
        when: When::Start,
        doc: "offload to nvme without nvme_path",
        check: nvme_path,
    },
    Check {
        rule: Rule::NvmeShared,
        severity: Severity::Note,
        when: When::Silent,
        doc: "the folder on NVMe is emptied when a job starts: two jobs with one nvme_path destroy each other",
        check: nvme_shared,
    },
    Check {
        rule: Rule::NvmeDefaults,
        severity: Severity::Note,
        when: When::Silent,
        doc: "NVMe without an aio section: 1 MiB blocks, queue depth 8, one thread",
        check: nvme_defaults,
    },
    Check {
        rule: Rule::NvmeBuffers,
        severity: Severity::Warning,
        when: When::Step,
        doc: "offload_param.buffer_size is smaller than the shard of a square weight of the model",
        check: nvme_buffers,
    },
    Check {
        rule: Rule::PartialOffload,
        severity: Severity::Error,
        when: When::Parse,
        doc: "offload_optimizer.ratio below 1 is for stage 3 only",
        check: partial_offload,
    },
];

fn offload_at_stage_0(subject: &Subject, found: &mut Findings) {
    if subject.stage_is(&[0]) && subject.offloads_optimizer() {
        let what = format!(
            "the optimizer is to be on {}, but ZeRO is off: the first step fails with \"param is on cuda and must be cpu\"",
            subject.zero().optimizer
        );
        found.key(&["zero_optimization.offload_optimizer", STAGE], what, "--set zero_optimization.stage=2");
    }
}

/// Sections that use NVMe. Below stage 3, DeepSpeed ignores it.
fn on_nvme<'a>(subject: &'a Subject) -> impl Iterator<Item = &'static str> + use<'a> {
    let sections = [("offload_optimizer", subject.zero().optimizer), ("offload_param", subject.zero().param)];
    sections
        .into_iter()
        .filter(|(_, device)| subject.stage_is(&[3]) && *device == Device::Nvme)
        .map(|(section, _)| section)
}

fn nvme_path(subject: &Subject, found: &mut Findings) {
    for section in on_nvme(subject) {
        let key = format!("zero_optimization.{section}.nvme_path");
        if subject.get(&key).is_none_or(Value::is_null) {
            let what = format!("`zero_optimization.{section}` is on nvme, and `nvme_path` is not there");
            found.key(
                &[&format!("zero_optimization.{section}.device")],
                what,
                format!("--set {key}=/local/nvme/$USER-$$"),
            );
        }
    }
}

fn nvme_shared(subject: &Subject, found: &mut Findings) {
    for section in on_nvme(subject) {
        let key = format!("zero_optimization.{section}.nvme_path");
        if let Some(path) = subject.get(&key).and_then(Value::as_str) {
            let what = format!("DeepSpeed empties its folder in {path} at start: two jobs there destroy each other");
            found.key(&[&key], what, format!("one of its own for every job: --set {key}={path}-$$"));
        }
    }
}

fn nvme_defaults(subject: &Subject, found: &mut Findings) {
    if subject.get("aio").is_none_or(Value::is_null)
        && let Some(section) = on_nvme(subject).next()
    {
        let what = "NVMe is used without an `aio` section: 1 MiB blocks, queue depth 8, one thread".to_string();
        found.key(
            &[&format!("zero_optimization.{section}.device")],
            what,
            "--set aio.queue_depth=32 --set aio.intra_op_parallelism=8",
        );
    }
}

/// A model whose hidden size is known has weights of its square; their shards must fit into one buffer.
fn nvme_buffers(subject: &Subject, found: &mut Findings) {
    let key = "zero_optimization.offload_param.buffer_size";
    let (Some(size), Some(world)) = (subject.get(key).and_then(schema::whole), subject.world()) else { return };
    if !on_nvme(subject).any(|section| section == "offload_param") {
        return;
    }
    let Some(hidden) = subject.hidden_size() else { return };
    let shard = hidden.saturating_mul(hidden).div_ceil(world.max(1));
    #[expect(clippy::cast_precision_loss, reason = "sizes of weights")]
    if size < shard as f64 {
        let what =
            format!("`{key}` is {size}, but a weight of {hidden} × {hidden} on {world} ranks has shards of {shard}");
        found.key(&[key], what, format!("--set {key}={}", shard.next_power_of_two()));
    }
}

fn partial_offload(subject: &Subject, found: &mut Findings) {
    let key = "zero_optimization.offload_optimizer.ratio";
    let partial = subject.get(key).and_then(schema::real).is_some_and(|ratio| ratio < 1.0);
    // With pydantic 1 the check looked at nothing.
    if partial && subject.stage_is(&[0, 1, 2]) && !subject.is_before([0, 15, 0]) {
        let what = format!("`{key}` is {}: a part of the optimizer is offloaded at stage 3 only", subject.shown(key));
        found.key(&[key, STAGE], what, format!("--set {key}=1"));
    }
}
