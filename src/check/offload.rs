//! Offload to host memory and NVMe.

use serde_json::Value;

use super::findings::Check;
use super::subject::Subject;
use crate::command::model::HiddenSize;
use crate::config::zero::Device;
use crate::config::{auto, schema};
use crate::report::fix::set;
use crate::report::{Rule, Severity, When};

const RATIO: &str = "zero_optimization.offload_optimizer.ratio";

pub(super) const RULES: &[Check] = &[
    Check::row(
        Rule::OffloadAtStage0,
        Severity::Error,
        When::Step,
        |subject| subject.stage_is(&[0]) && subject.offloads_optimizer(),
    ),
    Check::code(
        Rule::NvmePath,
        Severity::Error,
        When::Start,
        |subject, found| {
            for section in on_nvme(subject) {
                let key = format!("zero_optimization.{section}.nvme_path");
                if subject.get(&key).is_none_or(Value::is_null) {
                    let what = format!(
                        "`zero_optimization.{section}` is on nvme, but `nvme_path` is not set"
                    );
                    let device = format!("zero_optimization.{section}.device");
                    found.key(&[&device], what, set(key, "/local/nvme/$USER-$$"));
                }
            }
        },
    ),
    Check::code(
        Rule::NvmeShared,
        Severity::Note,
        When::Silent,
        |subject, found| {
            for section in on_nvme(subject) {
                let key = format!("zero_optimization.{section}.nvme_path");
                // Not at the number of a process or of a job, as in `/local/nvme/me-12345`.
                if let Some(path) = subject.get(&key).and_then(Value::as_str)
                    && path
                        .rsplit(['-', '_', '/'])
                        .next()
                        .is_none_or(|end| end.parse::<u64>().is_err())
                {
                    let what = format!(
                        "DeepSpeed empties its folder in {path} at start: two jobs must not share it"
                    );
                    found.key(
                        &[&key],
                        what,
                        set(&key, format!("{path}/$$")).remark("a separate one for every job"),
                    );
                }
            }
        },
    ),
    Check::code(
        Rule::NvmeDefaults,
        Severity::Note,
        When::Silent,
        |subject, found| {
            if subject.get("aio").is_none_or(Value::is_null)
                && let Some(section) = on_nvme(subject).next()
            {
                let what = "NVMe is used without an `aio` section: 1 MiB blocks, queue depth 8, one thread";
                let help = set("aio.queue_depth", 32).and(set("aio.intra_op_parallelism", 8));
                found.key(
                    &[&format!("zero_optimization.{section}.device")],
                    what,
                    help,
                );
            }
        },
    ),
    // A model has weights of hidden size × hidden size; a shard of one must fit into a buffer.
    Check::code(
        Rule::NvmeBuffers,
        Severity::Warning,
        When::Step,
        |subject, found| {
            let key = "zero_optimization.offload_param.buffer_size";
            let (Some(size), Some(world)) = (subject.whole(key), subject.world()) else {
                return;
            };
            if !on_nvme(subject).any(|section| section == "offload_param") {
                return;
            }
            let Ok(HiddenSize { value: hidden, .. }) = auto::hidden_size(subject.job, subject.host)
            else {
                return;
            };
            let shard = hidden.saturating_mul(hidden).div_ceil(world.max(1));
            #[expect(clippy::cast_precision_loss, reason = "sizes of weights")]
            if size < shard as f64 {
                let what = format!(
                    "`{key}` is {size}, but a weight of {hidden} × {hidden} on {world} ranks has shards of {shard}"
                );
                found.key(&[key], what, set(key, shard.next_power_of_two()));
            }
        },
    ),
    // With pydantic 1, DeepSpeed's check had no effect.
    Check::row(
        Rule::PartialOffload,
        Severity::Error,
        When::Parse,
        |subject| {
            let in_part = subject
                .get(RATIO)
                .and_then(schema::real)
                .is_some_and(|ratio| ratio < 1.0);
            in_part && subject.stage_is(&[0, 1, 2]) && !subject.is_before([0, 15, 0])
        },
    ),
];

/// Sections that use NVMe. Below stage 3, DeepSpeed ignores it.
fn on_nvme(subject: &Subject) -> impl Iterator<Item = &'static str> {
    let stage_3 = subject.stage_is(&[3]);
    let sections = [
        ("offload_optimizer", subject.zero().optimizer),
        ("offload_param", subject.zero().param),
    ];
    sections
        .into_iter()
        .filter_map(move |(name, device)| (stage_3 && device == Device::Nvme).then_some(name))
}
