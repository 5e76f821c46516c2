//! fp16 and bf16: weights, gradients and optimizer states.

use super::findings::Check;
use super::subject::{OFFLOAD, STAGE, Subject};
use crate::config::schema;
use crate::host::machine::is_model;
use crate::report::fix::set;
use crate::report::{Rule, Severity, When};

pub(super) const RULES: &[Check] = &[
    Check::row(
        Rule::TwoPrecisions,
        Severity::Error,
        When::Parse,
        |subject| {
            let trainer_decides = subject.job.trainer.sets("fp16.enabled");
            is_enabled(subject, "fp16") && is_enabled(subject, "bf16") && !trainer_decides
        },
    ),
    Check::code(
        Rule::LossScale,
        Severity::Error,
        When::Parse,
        |subject, found| {
            if subject.is_before(MODELS) {
                // Old versions compute 2 to the power of the value without checking it.
                let key = "fp16.initial_scale_power";
                let (Some(power), true) = (subject.get(key), is_enabled(subject, "fp16")) else {
                    return;
                };
                let is_small = power.as_f64().is_some_and(|power| power < 1024.0);
                let is_power = power.is_boolean() || schema::is_whole(power) || is_small;
                if !is_power && (power != "auto" || subject.is_plain()) {
                    let what = format!("`{key}` is {power}, but DeepSpeed expects a number");
                    found.key(&[key], what, set(key, 16));
                }
                return;
            }
            let scale = subject
                .get("fp16.loss_scale")
                .filter(|scale| *scale != "auto");
            let dynamic = scale.is_none_or(|scale| schema::real(scale) == Some(0.0));
            if subject.is_on("fp16.enabled") != Some(true) || !dynamic {
                return;
            }
            for (key, good) in [("fp16.loss_scale_window", 1000), ("fp16.min_loss_scale", 1)] {
                if subject.whole(key).is_some_and(|number| number <= 0.0)
                    && !subject.is_before([0, 19, 3])
                {
                    let what = format!(
                        "`{key}` is {}: with dynamic loss scaling it must be above 0",
                        subject.shown(key)
                    );
                    found.key(&[key], what, set(key, good));
                }
            }
        },
    ),
    Check::code(
        Rule::MasterWeights,
        Severity::Error,
        When::Parse,
        |subject, found| {
            let states = ("bf16", "bf16_optimizer_states");
            let off = if subject.stage_is(&[0]) {
                "off"
            } else {
                "at another stage"
            };
            let (wrong, needs): (&[u8], _) = if subject.is_before(ALL_STAGES) {
                (&[0, 1, 3], "stage 2")
            } else {
                (&[0], "stage 1, 2 or 3")
            };
            for (section, key) in MASTERS.into_iter().chain([states]) {
                if subject.stage_is(wrong) && counts(subject, section, key) {
                    let key = format!("{section}.{key}");
                    let what = format!("`{key}` is on, and ZeRO is {off}: it needs {needs}");
                    found.key(&[&key, STAGE], what, set(&key, false));
                }
            }
            if counts(subject, states.0, states.1) && !is_on_in(subject, MASTERS[1].0, MASTERS[1].1)
            {
                let what =
                    "`bf16.bf16_optimizer_states` needs `bf16.bf16_master_weights_and_grads`";
                found.key(
                    &["bf16.bf16_optimizer_states"],
                    what,
                    set("bf16.bf16_master_weights_and_grads", true),
                );
            }
        },
    ),
    Check::code(
        Rule::MasterWeightsOffload,
        Severity::Error,
        When::Start,
        |subject, found| {
            for (section, key) in MASTERS {
                let states =
                    section == "bf16" && is_on_in(subject, "bf16", "bf16_optimizer_states");
                if subject.stage_is(&[1, 2, 3])
                    && counts(subject, section, key)
                    && !subject.offloads_optimizer()
                    && !states
                {
                    let key = format!("{section}.{key}");
                    let what =
                        format!("`{key}` needs the optimizer in host memory (DeepSpeedCPUAdam)");
                    found.key(&[&key], what, set(OFFLOAD, "cpu"));
                }
            }
        },
    ),
    Check::row(
        Rule::AccumulationDtype,
        Severity::Error,
        When::Start,
        |subject| {
            let dtype = subject.text("data_types.grad_accum_dtype");
            let accumulates_fp32 =
                matches!(dtype, Some("fp32" | "float32" | "float" | "torch.float32"));
            subject.stage_is(&[0]) && bf16(subject, "enabled") == Some(true) && accumulates_fp32
        },
    ),
    Check::code(
        Rule::PrecisionOfGpu,
        Severity::Warning,
        When::Start,
        |subject, found| {
            for (precision, lacking, why) in [
                (
                    "bf16",
                    [WITHOUT_BF16, WITHOUT_FP16].concat(),
                    "only emulates bf16",
                ),
                (
                    "fp16",
                    WITHOUT_FP16.to_vec(),
                    "is too old for DeepSpeed's fp16",
                ),
            ] {
                let key = format!("{precision}.enabled");
                if subject.is_on(&key) == Some(true)
                    && let Some(name) = subject
                        .host
                        .gpus()
                        .iter()
                        .find(|name| lacking.iter().any(|it| is_model(name, it)))
                {
                    let what = format!("`{key}` is true, but this machine's {name} {why}");
                    found.key(&[&key], what, set(&key, false));
                }
            }
        },
    ),
];

/// From the section `bf16` or its old name.
fn bf16(subject: &Subject, key: &str) -> Option<bool> {
    let mut sections = ["bf16", "bfloat16"]
        .into_iter()
        .filter_map(|name| subject.get(name));
    sections
        .find(|section| !section.is_null())?
        .get(key)
        .and_then(schema::truth)
}

/// Since then both sections are pydantic models. Before, any value that Python calls true was true, even "auto".
const MODELS: [u32; 3] = [0, 17, 1];

fn is_enabled(subject: &Subject, section: &str) -> bool {
    if !subject.is_before(MODELS) {
        return is_on_in(subject, section, "enabled");
    }
    // The new name counts, whatever it holds.
    let old_name = section == "bf16" && subject.get("bf16").is_none();
    let enabled = subject.get(&format!(
        "{}.enabled",
        if old_name { "bfloat16" } else { section }
    ));
    enabled.is_some_and(|on| schema::is_true(on) && (on != "auto" || subject.is_plain()))
}

const MASTERS: [(&str, &str); 2] = [
    ("fp16", "fp16_master_weights_and_grads"),
    ("bf16", "bf16_master_weights_and_grads"),
];

fn is_on_in(subject: &Subject, section: &str, key: &str) -> bool {
    let on = if section == "bf16" {
        bf16(subject, key)
    } else {
        subject.is_on(&format!("{section}.{key}"))
    };
    on == Some(true)
}

/// On, and read by this version. Before the models, the key of fp16 only counted if fp16 was on, and bf16 had none.
fn counts(subject: &Subject, section: &str, key: &str) -> bool {
    if !subject.is_before(MODELS) {
        return is_on_in(subject, section, key) && subject.reads(&format!("{section}.{key}"));
    }
    let value = subject.get(&format!("{section}.{key}"));
    section == "fp16" && is_enabled(subject, section) && value.is_some_and(schema::is_true)
}

/// Since then stages 1 and 3 can keep 16-bit master weights, too.
const ALL_STAGES: [u32; 3] = [0, 18, 3];

/// GPUs before Ampere have no bf16; DeepSpeed supports no fp16 on those before Volta.
pub const WITHOUT_BF16: &[&str] = &[
    "V100",
    "T4",
    "RTX 2060",
    "RTX 2070",
    "RTX 2080",
    "TITAN RTX",
    "TITAN V",
    "GTX 1650",
    "GTX 1660",
    "Quadro RTX",
];
pub const WITHOUT_FP16: &[&str] = &[
    "P100", "P40", "P4", "GTX 1060", "GTX 1070", "GTX 1080", "TITAN X", "TITAN Xp", "M40", "M60",
    "K80",
];
