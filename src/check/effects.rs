//! Surprising defaults.

use super::findings::Findings;
use super::subject::Subject;
use super::tables::names::STAGE;
use crate::config::schema::truth;
use crate::report::Severity;
use crate::report::fix::{say, set};

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
