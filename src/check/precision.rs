//! fp16 and bf16: weights, gradients and optimizer states.

use super::findings::Findings;
use super::subject::Subject;
use super::tables::names::{OFFLOAD, PRECISION_MODELS, STAGE, WITHOUT_BF16, WITHOUT_FP16};
use crate::config::schema;
use crate::host::machine::is_model;
use crate::report::fix::set;

const MASTERS: [[&str; 2]; 2] = [
    ["fp16", "fp16_master_weights_and_grads"],
    ["bf16", "bf16_master_weights_and_grads"],
];
const STATES: &str = "bf16_optimizer_states";

pub(super) fn master_weights(subject: &Subject, found: &mut Findings) {
    let off = if subject.stage_is(&[0]) {
        "off"
    } else {
        "at another stage"
    };
    // Since then stages 1 and 3 can keep 16-bit master weights, too.
    let is_old = subject.is_before([0, 18, 3]);
    let is_wrong = subject.stage_is(if is_old { &[0, 1, 3] } else { &[0] });
    let needed = if is_old { "stage 2" } else { "stage 1, 2 or 3" };
    for [section, key] in MASTERS.into_iter().chain([["bf16", STATES]]) {
        if is_wrong && counts(subject, section, key) {
            let key = format!("{section}.{key}");
            let what = format!("`{key}` is on, and ZeRO is {off}: it needs {needed}");
            found.key(&[&key, STAGE], what, set(&key, false));
        }
    }
    let [_, masters] = MASTERS[1];
    if counts(subject, "bf16", STATES) && !subject.is_on_in("bf16", masters) {
        let what = format!("`bf16.{STATES}` needs `bf16.{masters}`");
        let fix = set(format_args!("bf16.{masters}"), true);
        found.key(&[&format!("bf16.{STATES}")], what, fix);
    }
}

pub(super) fn master_weights_on_the_gpu(subject: &Subject, found: &mut Findings) {
    if !subject.stage_is(&[1, 2, 3]) || subject.offloads_optimizer() {
        return;
    }
    for [section, key] in MASTERS {
        let has_states = section == "bf16" && subject.is_on_in(section, STATES);
        if counts(subject, section, key) && !has_states {
            let key = format!("{section}.{key}");
            let what = format!("`{key}` needs the optimizer in host memory (DeepSpeedCPUAdam)");
            found.key(&[&key], what, set(OFFLOAD, "cpu"));
        }
    }
}

pub(super) fn of_gpus(subject: &Subject, found: &mut Findings) {
    let gpus = subject.host.gpus();
    let one_of = |models: &[&str]| {
        gpus.iter()
            .find(|name| models.iter().any(|model| is_model(name, model)))
    };
    let without_fp16 = one_of(WITHOUT_FP16);
    for (key, gpu, why) in [
        (
            "bf16.enabled",
            one_of(WITHOUT_BF16).or(without_fp16),
            "only emulates bf16",
        ),
        (
            "fp16.enabled",
            without_fp16,
            "is too old for DeepSpeed's fp16",
        ),
    ] {
        if subject.is_on(key) == Some(true)
            && let Some(name) = gpu
        {
            let what = format!("`{key}` is true, but this machine's {name} {why}");
            found.key(&[key], what, set(key, false));
        }
    }
}

/// On, and read by this version. Before the models, the key of fp16 only counted if fp16 was on, and bf16 had none.
fn counts(subject: &Subject, section: &str, key: &str) -> bool {
    if !subject.is_before(PRECISION_MODELS) {
        return subject.is_on_in(section, key) && subject.reads(&format!("{section}.{key}"));
    }
    let value = subject.get(&format!("{section}.{key}"));
    section == "fp16" && subject.has_precision(section) && value.is_some_and(schema::is_true)
}
