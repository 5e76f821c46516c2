//! Keys without effect, and surprising defaults.

use serde_json::Value;

use super::findings::{Check, Findings, Texts};
use super::subject::{STAGE, Subject};
use crate::config::schema::{self, truth};
use crate::config::zero::Device;
use crate::report::fix::{say, set};
use crate::report::{Place, Rule, Severity, When};

pub(super) const RULES: &[Check] = &[
    Check::code(Rule::NoEffect, Severity::Warning, When::Silent, |_, found| ineffective(found, WITHOUT_EFFECT)),
    Check::code(Rule::IdleKey, Severity::Note, When::Silent, |subject, found| {
        ineffective(found, WAITING);
        let mut keys = subject.keys().iter().filter(|key| key.path.starts_with("zero_optimization.stage3_"));
        if let Some(key) = keys.next().filter(|_| subject.stage_is(&[0, 1, 2])) {
            let what = format!("`{}` and similar keys only act at stage 3", key.path);
            found.key(&[&key.path], what, say("ignore this").or(set(STAGE, 3)));
        }
    }),
    Check::code(Rule::ClippingIgnored, Severity::Warning, When::Silent, clipping_ignored),
    Check::code(Rule::DefaultClipping, Severity::Note, When::Silent, default_clipping),
    Check::row(Rule::NoZero, Severity::Note, When::Silent, |subject| {
        !subject.job.trainer.uses_accelerate() && subject.get("zero_optimization").is_none()
    }),
    Check::code(Rule::GatheredWeights, Severity::Warning, When::Step, gathered_weights),
    Check::code(Rule::LargeBucket, Severity::Note, When::Silent, large_bucket),
    Check::code(Rule::PinnedMemory, Severity::Note, When::Silent, pinned_memory),
];

/// A key that does nothing while the condition holds, and the condition, for a value that is neither missing nor "auto".
/// `effects.txt` has the texts.
type IneffectiveKey = (&'static str, fn(&Subject, &Value) -> bool);

const WITHOUT_EFFECT: &[IneffectiveKey] = &[
    ("zero_optimization.offload_param.device", |subject, _| below_3(subject) && subject.zero().param.is_off_gpu()),
    ("zero_optimization.offload_optimizer.device", |subject, _| {
        subject.stage_is(&[1, 2]) && subject.zero().optimizer == Device::Nvme
    }),
    ("zero_optimization.round_robin_gradients", |subject, on| subject.stage_is(&[0, 3]) && truth(on) == Some(true)),
    ("activation_checkpointing", |subject, section| {
        subject.is_hf() && section.as_object().is_some_and(|section| section.values().any(schema::is_true))
    }),
    ("train_micro_batch_size_per_gpu", |subject, _| subject.job.trainer.sets("train_micro_batch_size_per_gpu")),
    ("gradient_accumulation_steps", |subject, _| subject.job.trainer.sets("gradient_accumulation_steps")),
    ("gradient_clipping", |subject, _| subject.job.trainer.sets("gradient_clipping")),
    ("optimizer", |subject, _| subject.job.trainer.sets("optimizer.params.lr")),
    ("zero_optimization.contiguous_gradients", |subject, on| {
        subject.stage_is(&[1, 2]) && subject.offloads_optimizer() && truth(on) == Some(false)
    }),
    ("zero_optimization.allgather_partitions", |_, on| truth(on) == Some(false)),
    ("disable_allgather", |_, on| schema::is_true(on)),
    ("zero_optimization.zero_hpz_partition_size", |subject, size| {
        below_3(subject) && schema::whole(size).is_some_and(|size| size > 1.0)
    }),
    ("zero_optimization.zero_quantized_weights", |subject, on| below_3(subject) && truth(on) == Some(true)),
];

const WAITING: &[IneffectiveKey] = &[
    ("zero_optimization.offload_optimizer.fast_init", |subject, on| {
        let zero = subject.zero();
        truth(on) == Some(true) && (zero.optimizer, zero.param) != (Device::Nvme, Device::Nvme)
    }),
    ("zero_optimization.offload_param.buffer_size", |subject, _| subject.zero().param != Device::Nvme),
    ("aio", |subject, _| {
        let devices = [subject.zero().param, subject.zero().optimizer];
        !devices.contains(&Device::Nvme) && subject.get("checkpoint.writer").is_none()
    }),
];

fn below_3(subject: &Subject) -> bool {
    subject.stage_is(&[0, 1, 2])
}

fn ineffective(found: &mut Findings, keys: &[IneffectiveKey]) {
    for (key, holds) in keys {
        let value = found.subject.get(key).filter(|value| !value.is_null() && *value != "auto");
        if value.is_some_and(|value| holds(found.subject, value)) {
            let texts = Texts::of(include_str!("effects.txt"), key);
            let why = texts.all("why").next().unwrap_or_default();
            found.key(&[key], format!("`{key}` has no effect here: {why}"), texts.fixes());
        }
    }
}

fn clipping_ignored(subject: &Subject, found: &mut Findings) {
    if subject.is_hf()
        && subject.get("gradient_clipping").is_none()
        && let Some(given) = subject.job.args.text("max_grad_norm")
    {
        let why = "the config has no `gradient_clipping`, so DeepSpeed clips at its own default";
        let places = [Place::from(&given), (subject.place)("gradient_clipping")];
        found.at(places, format!("{} has no effect: {why}", given.spelling()), set("gradient_clipping", "auto"));
    }
}

fn default_clipping(subject: &Subject, found: &mut Findings) {
    let trainer = subject.job.trainer;
    let is_given = subject.is_hf() && subject.job.args.is_given("max_grad_norm")
        || trainer.sets("gradient_clipping")
        || trainer.sets_what_is_absent();
    if subject.get("gradient_clipping").is_none() && !is_given {
        let norm = if subject.is_before([0, 19, 3]) { "does not clip" } else { "clips at 1.0" };
        let help = set("gradient_clipping", if subject.is_hf() { "auto" } else { "1.0" });
        found.key(&["gradient_clipping"], format!("without `gradient_clipping` {} {norm}", subject.deepspeed()), help);
    }
}

fn gathered_weights(subject: &Subject, found: &mut Findings) {
    let key = "zero_optimization.stage3_gather_16bit_weights_on_model_save";
    let value = subject.zero_key("stage3_gather_16bit_weights_on_model_save");
    let old = subject.zero_key("stage3_gather_fp16_weights_on_model_save").and_then(truth);
    let gathers = value.is_some_and(|value| value == "auto") || value.and_then(truth).or(old) == Some(true);
    if !subject.is_hf() || !subject.stage_is(&[3]) || gathers {
        return;
    }
    // Adapters are always gathered.
    let tuner = ["tuner_type", "train_type", "finetuning_type"].iter().find_map(|name| subject.job.args.text(name));
    let is_full = tuner.is_some_and(|tuner| matches!(tuner.value.as_str(), "full" | "freeze"));
    let what = "a full model is saved as ZeRO's shards (zero_to_fp32.py turns them into weights): \
                `stage3_gather_16bit_weights_on_model_save` is off";
    found.key(&[key], what, set(key, true)).severity = if is_full { Severity::Warning } else { Severity::Note };
}

fn large_bucket(subject: &Subject, found: &mut Findings) {
    for name in ["reduce_bucket_size", "allgather_bucket_size", "stage3_prefetch_bucket_size"] {
        let Some(size) = subject.zero_key(name).and_then(schema::whole).filter(|size| *size > 5e8) else { continue };
        let key = format!("zero_optimization.{name}");
        let what = format!("`{key}` takes {:.1} GB on every GPU, twice that with overlap_comm", size * 2.0 / 1e9);
        found.key(&[&key], what, set(&key, 200_000_000));
    }
}

fn pinned_memory(subject: &Subject, found: &mut Findings) {
    let param = if subject.stage_is(&[3]) { subject.zero().param } else { Device::None };
    for (section, device) in [("offload_optimizer", subject.zero().optimizer), ("offload_param", param)] {
        let key = format!("zero_optimization.{section}.pin_memory");
        let is_section = subject.zero_key(section).is_some_and(Value::is_object);
        if is_section && device.is_off_gpu() && subject.get(&key).is_none() && !subject.is_before([0, 19, 5]) {
            let what = format!("`{section}` locks its host memory by default: `ulimit -l` must allow it");
            found.key(&[&format!("zero_optimization.{section}")], what, set(key, false));
        }
    }
}
