//! Offload to NVMe: folders that jobs share, and buffers.

use serde_json::Value;

use super::findings::Findings;
use super::subject::Subject;
use crate::command::model::HiddenSize;
use crate::config::auto;
use crate::config::zero::Device;
use crate::report::fix::set;

pub(super) fn shared_folders(subject: &Subject, found: &mut Findings) {
    let zero = subject.zero();
    for (section, device) in [
        ("offload_optimizer", zero.optimizer),
        ("offload_param", zero.param),
    ] {
        let key = format!("zero_optimization.{section}.nvme_path");
        let Some(path) = subject.get(&key).and_then(Value::as_str) else {
            continue;
        };
        // The number of a process or of a job makes it a folder of its own: `/local/nvme/me-12345`.
        let end = path.rsplit(['-', '_', '/']).next().unwrap_or_default();
        if subject.stage_is(&[3]) && device == Device::Nvme && end.parse::<u64>().is_err() {
            let what = format!(
                "DeepSpeed empties its folder in {path} at start: two jobs must not share it"
            );
            let fix = set(&key, format!("{path}/$$")).remark("a separate one for every job");
            found.key(&[&key], what, fix);
        }
    }
}

/// A model has weights of hidden size × hidden size; a shard of one must fit into a buffer.
pub(super) fn small_buffers(subject: &Subject, found: &mut Findings) {
    let key = "zero_optimization.offload_param.buffer_size";
    let (Some(size), Some(world)) = (subject.whole(key), subject.world()) else {
        return;
    };
    if !subject.stage_is(&[3]) || subject.zero().param != Device::Nvme {
        return;
    }
    let Ok(HiddenSize { value: hidden, .. }) = auto::hidden_size(subject.job, subject.host) else {
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
}
