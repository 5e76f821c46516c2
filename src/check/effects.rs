//! Keys that do nothing where they stand, and defaults that surprise.

use serde_json::Value;

use super::findings::{Check, Findings};
use super::subject::Subject;
use crate::config::schema;
use crate::config::zero::Device;
use crate::report::{Rule, Severity, When};

pub(super) const RULES: &[Check] = &[
    Check {
        rule: Rule::NoEffect,
        severity: Severity::Warning,
        when: When::Silent,
        doc: "a key that is read and does nothing here: offload_param below stage 3, activation_checkpointing under transformers, round_robin_gradients at stage 3, …",
        check: |subject, found| idle(subject, found, Severity::Warning),
    },
    Check {
        rule: Rule::IdleKey,
        severity: Severity::Note,
        when: When::Silent,
        doc: "a key that waits for another one: aio and buffers until something is on nvme, stage3_* below stage 3",
        check: |subject, found| idle(subject, found, Severity::Note),
    },
    Check {
        rule: Rule::ClippingIgnored,
        severity: Severity::Warning,
        when: When::Silent,
        doc: "--max_grad_norm is given, but a config without gradient_clipping clips at DeepSpeed's own default",
        check: clipping_ignored,
    },
    Check {
        rule: Rule::DefaultClipping,
        severity: Severity::Note,
        when: When::Silent,
        doc: "without gradient_clipping DeepSpeed clips at 1.0 since 0.19.3, before that not at all",
        check: default_clipping,
    },
    Check {
        rule: Rule::NoZero,
        severity: Severity::Note,
        when: When::Silent,
        doc: "without zero_optimization nothing is sharded: ZeRO is off",
        check: no_zero,
    },
    Check {
        rule: Rule::GatheredWeights,
        severity: Severity::Warning,
        when: When::Step,
        doc: "stage 3 without stage3_gather_16bit_weights_on_model_save: transformers saves ZeRO's shards instead of a model",
        check: gathered_weights,
    },
    Check {
        rule: Rule::OverlapComm,
        severity: Severity::Note,
        when: When::Silent,
        doc: "by default overlap_comm is on at stage 3 and off below; on, it was reported to diverge and takes more memory",
        check: overlap_comm,
    },
    Check {
        rule: Rule::LargeBucket,
        severity: Severity::Note,
        when: When::Silent,
        doc: "buckets above DeepSpeed's default of 500,000,000 elements, and the memory they take",
        check: large_bucket,
    },
    Check {
        rule: Rule::PinnedMemory,
        severity: Severity::Note,
        when: When::Silent,
        doc: "offload locks its host memory by default since 0.19.5: ulimit -l must allow it",
        check: pinned_memory,
    },
];

/// A key that does nothing, while a condition holds.
struct Idle {
    key: &'static str,
    severity: Severity,
    why: &'static str,
    help: &'static str,
    /// Given the value, which is there and not "auto".
    holds: fn(&Subject, &Value) -> bool,
}

const fn idle_entry(
    severity: Severity,
    key: &'static str,
    why: &'static str,
    help: &'static str,
    holds: fn(&Subject, &Value) -> bool,
) -> Idle {
    Idle { key, severity, why, help, holds }
}

const IDLE: &[Idle] = &[
    idle_entry(
        Severity::Warning,
        "zero_optimization.offload_param.device",
        "parameters are offloaded at stage 3 only",
        "--set zero_optimization.stage=3",
        |subject, _| subject.stage_is(&[0, 1, 2]) && subject.zero().param.is_off_gpu(),
    ),
    idle_entry(
        Severity::Warning,
        "zero_optimization.offload_optimizer.device",
        "below stage 3 \"nvme\" means cpu: the NVMe is never used",
        "--set zero_optimization.offload_optimizer.device=cpu, or --set zero_optimization.stage=3",
        |subject, _| subject.stage_is(&[1, 2]) && subject.zero().optimizer == Device::Nvme,
    ),
    idle_entry(
        Severity::Warning,
        "zero_optimization.round_robin_gradients",
        "it acts at stages 1 and 2 only",
        "--unset zero_optimization.round_robin_gradients",
        |subject, on| subject.stage_is(&[0, 3]) && schema::truth(on) == Some(true),
    ),
    idle_entry(
        Severity::Warning,
        "activation_checkpointing",
        "only scripts that call deepspeed.checkpointing.configure() read it; transformers does not",
        "--gradient_checkpointing true, and --unset activation_checkpointing",
        |subject, section| subject.is_hf() && section.as_object().is_some_and(|it| it.values().any(schema::is_true)),
    ),
    idle_entry(
        Severity::Warning,
        "train_micro_batch_size_per_gpu",
        "the trainer overwrites it with the batch size of its own config",
        "--set train_micro_batch_size_per_gpu=auto",
        |subject, _| subject.job.trainer.sets("train_micro_batch_size_per_gpu"),
    ),
    idle_entry(
        Severity::Warning,
        "gradient_accumulation_steps",
        "the trainer overwrites it with the steps of its own config",
        "--set gradient_accumulation_steps=auto",
        |subject, _| subject.job.trainer.sets("gradient_accumulation_steps"),
    ),
    idle_entry(
        Severity::Warning,
        "gradient_clipping",
        "the trainer overwrites it with the norm of its own config",
        "--set gradient_clipping=auto",
        |subject, _| subject.job.trainer.sets("gradient_clipping"),
    ),
    idle_entry(
        Severity::Warning,
        "optimizer",
        "the trainer brings the optimizer of its own config",
        "--unset optimizer",
        |subject, _| subject.job.trainer.sets("optimizer.params.lr"),
    ),
    idle_entry(
        Severity::Warning,
        "zero_optimization.contiguous_gradients",
        "with the optimizer in host memory it is always true at stages 1 and 2",
        "--set zero_optimization.contiguous_gradients=true",
        |subject, on| subject.stage_is(&[1, 2]) && subject.offloads_optimizer() && schema::truth(on) == Some(false),
    ),
    idle_entry(
        Severity::Warning,
        "zero_optimization.allgather_partitions",
        "DeepSpeed reads it and uses it nowhere",
        "--unset zero_optimization.allgather_partitions",
        |_, on| schema::truth(on) == Some(false),
    ),
    idle_entry(
        Severity::Warning,
        "disable_allgather",
        "DeepSpeed reads it and uses it nowhere",
        "--unset disable_allgather",
        |_, on| schema::is_true(on),
    ),
    idle_entry(
        Severity::Warning,
        "zero_optimization.zero_hpz_partition_size",
        "it acts at stage 3 only",
        "--set zero_optimization.stage=3",
        |subject, size| subject.stage_is(&[0, 1, 2]) && schema::whole(size).is_some_and(|size| size > 1.0),
    ),
    idle_entry(
        Severity::Warning,
        "zero_optimization.zero_quantized_weights",
        "it acts at stage 3 only",
        "--set zero_optimization.stage=3",
        |subject, on| subject.stage_is(&[0, 1, 2]) && schema::truth(on) == Some(true),
    ),
    idle_entry(
        Severity::Note,
        "zero_optimization.offload_optimizer.fast_init",
        "it acts only with optimizer and parameters on nvme",
        "--unset zero_optimization.offload_optimizer.fast_init",
        |subject, on| {
            schema::truth(on) == Some(true)
                && (subject.zero().optimizer, subject.zero().param) != (Device::Nvme, Device::Nvme)
        },
    ),
    idle_entry(
        Severity::Note,
        "zero_optimization.offload_param.buffer_size",
        "buffer_count, buffer_size and max_in_cpu act only with the parameters on nvme",
        "--set zero_optimization.offload_param.device=nvme, or leave them",
        |subject, _| subject.zero().param != Device::Nvme,
    ),
    idle_entry(Severity::Note, "aio", "nothing is on nvme", "--unset aio", |subject, _| {
        ![subject.zero().param, subject.zero().optimizer].contains(&Device::Nvme)
            && subject.get("checkpoint.writer").is_none()
    }),
];

fn idle(subject: &Subject, found: &mut Findings, severity: Severity) {
    for it in IDLE.iter().filter(|it| it.severity == severity) {
        let value = subject.get(it.key).filter(|value| !value.is_null() && *value != "auto");
        if value.is_some_and(|value| (it.holds)(subject, value)) {
            found.key(&[it.key], format!("`{}` has no effect here: {}", it.key, it.why), it.help);
        }
    }
    if severity == Severity::Note && subject.stage_is(&[0, 1, 2]) {
        let mut keys = subject.keys().iter().filter(|key| key.path.starts_with("zero_optimization.stage3_"));
        if let Some(key) = keys.next() {
            let what = format!("`{}` and its like act at stage 3 only", key.path);
            found.key(&[&key.path], what, "--set zero_optimization.stage=3, or leave them");
        }
    }
}

fn clipping_ignored(subject: &Subject, found: &mut Findings) {
    if !subject.is_hf() || subject.get("gradient_clipping").is_some() {
        return;
    }
    if let Some(sourced) = subject.job.args.text("max_grad_norm") {
        let what = format!(
            "{} has no effect: the config has no `gradient_clipping`, and DeepSpeed clips by its own default",
            sourced.place()
        );
        found.at(&[sourced.place(), (subject.place)("gradient_clipping")], what, "--set gradient_clipping=auto");
    }
}

fn default_clipping(subject: &Subject, found: &mut Findings) {
    let given = subject.is_hf() && subject.job.args.is_given("max_grad_norm");
    let trainer = subject.job.trainer;
    let given = given || trainer.sets("gradient_clipping") || trainer.sets_what_is_absent();
    if subject.get("gradient_clipping").is_none() && !given {
        let norm = if subject.is_before([0, 19, 3]) { "does not clip" } else { "clips at 1.0" };
        let help = if subject.is_hf() { "--set gradient_clipping=auto" } else { "--set gradient_clipping=1.0" };
        found.key(&["gradient_clipping"], format!("without `gradient_clipping` {} {norm}", subject.deepspeed()), help);
    }
}

fn no_zero(subject: &Subject, found: &mut Findings) {
    if !subject.job.trainer.uses_accelerate() && subject.get("zero_optimization").is_none() {
        let what = "the config has no `zero_optimization` section: nothing is sharded".to_string();
        found.key(&["zero_optimization"], what, "--set zero_optimization.stage=2");
    }
}

fn gathered_weights(subject: &Subject, found: &mut Findings) {
    let key = "zero_optimization.stage3_gather_16bit_weights_on_model_save";
    let gathers = subject.zero_key("stage3_gather_16bit_weights_on_model_save").and_then(schema::truth);
    let old = subject.zero_key("stage3_gather_fp16_weights_on_model_save").and_then(schema::truth);
    let open = subject.zero_key("stage3_gather_16bit_weights_on_model_save").is_some_and(|value| value == "auto");
    if !subject.is_hf() || !subject.stage_is(&[3]) || open || gathers.or(old) == Some(true) {
        return;
    }
    // Adapters are gathered whatever it says.
    let tuner = ["tuner_type", "train_type", "finetuning_type"].iter().find_map(|name| subject.job.args.text(name));
    let severity = match tuner.as_ref().map(|sourced| sourced.value.as_str()) {
        Some("full" | "freeze") => Severity::Warning,
        _ => Severity::Note,
    };
    let what = "a full model is saved as ZeRO's shards (zero_to_fp32.py makes weights of them): `stage3_gather_16bit_weights_on_model_save` is not on".to_string();
    found.key_with_severity(severity, &[key], what, format!("--set {key}=true"));
}

fn overlap_comm(subject: &Subject, found: &mut Findings) {
    let key = "zero_optimization.overlap_comm";
    match subject.get(key) {
        None | Some(Value::Null) if subject.zero().section.is_some() => {
            let on = if subject.stage_is(&[3]) { "on" } else { "off" };
            found.key(&[key], format!("`{key}` is {on} by default at this stage"), format!("--set {key}=false"));
        }
        Some(value) if schema::truth(value) == Some(true) => {
            let what = format!(
                "`{key}` takes about 4.5 × the buckets in memory, and was reported to diverge (DeepSpeed#4298, #5347)"
            );
            found.key(&[key], what, format!("--set {key}=false"));
        }
        _ => {}
    }
}

fn large_bucket(subject: &Subject, found: &mut Findings) {
    for name in ["reduce_bucket_size", "allgather_bucket_size", "stage3_prefetch_bucket_size"] {
        let Some(size) = subject.zero_key(name).and_then(schema::whole).filter(|size| *size > 5e8) else { continue };
        let key = format!("zero_optimization.{name}");
        let what = format!("`{key}` takes {:.1} GB on every GPU, twice that with overlap_comm", size * 2.0 / 1e9);
        found.key(&[&key], what, format!("--set {key}=200000000"));
    }
}

fn pinned_memory(subject: &Subject, found: &mut Findings) {
    let param = if subject.stage_is(&[3]) { subject.zero().param } else { Device::None };
    for (section, device) in [("offload_optimizer", subject.zero().optimizer), ("offload_param", param)] {
        let key = format!("zero_optimization.{section}.pin_memory");
        if device.is_off_gpu() && subject.get(&key).is_none() && !subject.is_before([0, 19, 5]) {
            let what = format!("`{section}` locks its host memory by default: `ulimit -l` must allow it");
            found.key(&[&format!("zero_optimization.{section}")], what, format!("--set {key}=false"));
        }
    }
}
