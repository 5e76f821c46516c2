//! Sizes of groups, folders and buffers that do not go together with the ranks or the model, and surprising defaults.

use serde_json::Value;

use super::findings::Findings;
use super::subject::Subject;
use super::tables::names::STAGE;
use crate::command::model::HiddenSize;
use crate::config::auto;
use crate::config::schema::truth;
use crate::config::zero::Device;
use crate::report::Severity;
use crate::report::fix::{say, set, unset};

pub(super) fn partition_size(subject: &Subject, found: &mut Findings) {
    let key = "zero_optimization.zero_hpz_partition_size";
    let size = subject.get(key).and_then(Value::as_u64);
    let (Some(size), Some(world), true) = (size, subject.world(), subject.stage_is(&[3])) else {
        return;
    };
    if size > 1 && size > world {
        let what =
            format!("`{key}` is {size}, but there are {world} ranks: DeepSpeed reduces it to that");
        found.key(&[key], what, set(key, world)).severity = Severity::Note;
    } else if size > 1 && world % size != 0 {
        let what = format!("`{key}` is {size}, which does not divide {world} ranks");
        found.key(&[key], what, set(key, 1));
    }
}

pub(super) fn tensor_parallel_size(subject: &Subject, found: &mut Findings) {
    let inner = "tensor_parallel.tp.tp_size";
    let outer = "tensor_parallel.autotp_size";
    let Some(size) = subject.whole(outer) else {
        return;
    };
    #[expect(clippy::cast_precision_loss, reason = "nobody has 2^53 ranks")]
    let ranks = subject.world().map(|world| world as f64);
    if let Some(ranks) = ranks.filter(|ranks| *ranks < size)
        && subject.reads("tensor_parallel")
    {
        let what = format!("`{outer}` is {size}, and there are {ranks} ranks");
        found.key(&[outer], what, set(outer, ranks));
    }
    if let Some(other) = subject.whole(inner)
        && size > 1.0
        && (other - 1.0).abs() > 0.0
        && (other - size).abs() > 0.0
    {
        let what = format!("`{inner}` is {other}, but `{outer}` is {size}: they must agree");
        found.key(&[inner, outer], what, unset(inner));
    }
}

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

pub(super) fn keys_of_stage_3(subject: &Subject, found: &mut Findings) {
    let mut keys = subject.keys().iter().map(|key| &*key.path);
    if subject.stage_is(&[0, 1, 2])
        && let Some(key) = keys.find(|key| key.starts_with("zero_optimization.stage3_"))
    {
        let what = format!("`{key}` and similar keys only act at stage 3");
        found.key(&[key], what, say("ignore this").or(set(STAGE, 3)));
    }
}

pub(super) fn gathered_weights(subject: &Subject, found: &mut Findings) {
    let key = "zero_optimization.stage3_gather_16bit_weights_on_model_save";
    let old_key = "zero_optimization.stage3_gather_fp16_weights_on_model_save";
    let value = subject.get(key);
    let gathers = value
        .and_then(truth)
        .or_else(|| subject.get(old_key).and_then(truth));
    let is_on = value.is_some_and(|value| value == "auto") || gathers == Some(true);
    if !subject.is_hf() || !subject.stage_is(&[3]) || is_on {
        return;
    }
    let what = "a full model is saved as ZeRO's shards (zero_to_fp32.py turns them into weights): \
                `stage3_gather_16bit_weights_on_model_save` is off";
    // Adapters are always gathered.
    let tuner = ["tuner_type", "train_type", "finetuning_type"]
        .iter()
        .find_map(|name| subject.job.args.text(name));
    let is_full = tuner.is_some_and(|tuner| matches!(tuner.value.as_str(), "full" | "freeze"));
    let problem = found.key(&[key], what, set(key, true));
    if !is_full {
        problem.severity = Severity::Note;
    }
}

pub(super) fn large_buckets(subject: &Subject, found: &mut Findings) {
    for key in [
        "zero_optimization.reduce_bucket_size",
        "zero_optimization.allgather_bucket_size",
        "zero_optimization.stage3_prefetch_bucket_size",
    ] {
        if let Some(size) = subject.whole(key).filter(|size| *size > 5e8) {
            let what = format!(
                "`{key}` takes {:.1} GB on every GPU, twice that with overlap_comm",
                size * 2.0 / 1e9
            );
            found.key(&[key], what, set(key, 200_000_000));
        }
    }
}
