//! Keys without effect, and surprising defaults.

use serde_json::Value;

use super::findings::{Check, Findings};
use super::refusals::Block;
use super::subject::STAGE;
use crate::base::rows;
use crate::config::schema::{self, truth};
use crate::config::zero::Device;
use crate::report::fix::{say, set, unset};
use crate::report::{Place, Rule, Severity, When};

pub(super) const RULES: &[Check] = &[
    Check::code(
        Rule::NoEffect,
        Severity::Warning,
        When::Silent,
        |_, found| {
            ineffective(found, include_str!("effects.txt"));
        },
    ),
    Check::code(
        Rule::IdleKey,
        Severity::Note,
        When::Silent,
        |subject, found| {
            ineffective(found, include_str!("idle.txt"));
            if subject.stage_is(&[0, 1, 2])
                && let Some(key) = subject
                    .keys()
                    .iter()
                    .find(|key| key.path.starts_with("zero_optimization.stage3_"))
            {
                let what = format!("`{}` and similar keys only act at stage 3", key.path);
                found.key(&[&key.path], what, say("ignore this").or(set(STAGE, 3)));
            }
        },
    ),
    Check::code(
        Rule::ClippingIgnored,
        Severity::Warning,
        When::Silent,
        |subject, found| {
            if subject.is_hf()
                && subject.get("gradient_clipping").is_none()
                && let Some(given) = subject.job.args.text("max_grad_norm")
            {
                let why =
                    "the config has no `gradient_clipping`, so DeepSpeed clips at its own default";
                let places = [Place::from(&given), (subject.place)("gradient_clipping")];
                found.at(
                    places,
                    format!("{} has no effect: {why}", given.spelling()),
                    set("gradient_clipping", "auto"),
                );
            }
        },
    ),
    Check::code(
        Rule::DefaultClipping,
        Severity::Note,
        When::Silent,
        |subject, found| {
            let trainer = subject.job.trainer;
            let is_given = subject.is_hf() && subject.job.args.is_given("max_grad_norm")
                || trainer.sets("gradient_clipping")
                || trainer.sets_what_is_absent();
            if subject.get("gradient_clipping").is_none() && !is_given {
                let norm = if subject.is_before([0, 19, 3]) {
                    "does not clip"
                } else {
                    "clips at 1.0"
                };
                let help = set(
                    "gradient_clipping",
                    if subject.is_hf() { "auto" } else { "1.0" },
                );
                let what = format!("without `gradient_clipping` {} {norm}", subject.deepspeed());
                found.key(&["gradient_clipping"], what, help);
            }
        },
    ),
    Check::row(Rule::NoZero, Severity::Note, When::Silent, |subject| {
        !subject.job.trainer.uses_accelerate() && subject.get("zero_optimization").is_none()
    }),
    Check::code(
        Rule::GatheredWeights,
        Severity::Warning,
        When::Step,
        |subject, found| {
            let key = "zero_optimization.stage3_gather_16bit_weights_on_model_save";
            let value = subject.zero_key("stage3_gather_16bit_weights_on_model_save");
            let old = subject
                .zero_key("stage3_gather_fp16_weights_on_model_save")
                .and_then(truth);
            let gathers = value.is_some_and(|value| value == "auto")
                || value.and_then(truth).or(old) == Some(true);
            if !subject.is_hf() || !subject.stage_is(&[3]) || gathers {
                return;
            }
            // Adapters are always gathered.
            let tuner = ["tuner_type", "train_type", "finetuning_type"]
                .iter()
                .find_map(|name| subject.job.args.text(name));
            let is_full =
                tuner.is_some_and(|tuner| matches!(tuner.value.as_str(), "full" | "freeze"));
            let what = "a full model is saved as ZeRO's shards (zero_to_fp32.py turns them into weights): \
                    `stage3_gather_16bit_weights_on_model_save` is off";
            found.key(&[key], what, set(key, true)).severity = if is_full {
                Severity::Warning
            } else {
                Severity::Note
            };
        },
    ),
    Check::code(
        Rule::LargeBucket,
        Severity::Note,
        When::Silent,
        |subject, found| {
            for name in [
                "reduce_bucket_size",
                "allgather_bucket_size",
                "stage3_prefetch_bucket_size",
            ] {
                let key = format!("zero_optimization.{name}");
                if let Some(size) = subject
                    .zero_key(name)
                    .and_then(schema::whole)
                    .filter(|size| *size > 5e8)
                {
                    let size = size * 2.0 / 1e9;
                    let what = format!(
                        "`{key}` takes {size:.1} GB on every GPU, twice that with overlap_comm"
                    );
                    found.key(&[&key], what, set(&key, 200_000_000));
                }
            }
        },
    ),
    Check::code(
        Rule::PinnedMemory,
        Severity::Note,
        When::Silent,
        |subject, found| {
            let param = if subject.stage_is(&[3]) {
                subject.zero().param
            } else {
                Device::None
            };
            for (section, device) in [
                ("offload_optimizer", subject.zero().optimizer),
                ("offload_param", param),
            ] {
                let key = format!("zero_optimization.{section}.pin_memory");
                let is_section = subject.zero_key(section).is_some_and(Value::is_object);
                if is_section
                    && device.is_off_gpu()
                    && subject.get(&key).is_none()
                    && !subject.is_before([0, 19, 5])
                {
                    let what = format!(
                        "`{section}` locks its host memory by default: `ulimit -l` must allow it"
                    );
                    found.key(
                        &[&format!("zero_optimization.{section}")],
                        what,
                        set(key, false),
                    );
                }
            }
        },
    ),
];

fn ineffective(found: &mut Findings, table: &'static str) {
    let subject = found.subject;
    for block in rows::blocks(table).map(Block::of) {
        let key = block.name;
        let is_given = subject
            .get(key)
            .is_some_and(|value| !value.is_null() && value != "auto");
        if is_given && block.holds(subject, None) {
            let fixes = Some(block.joined_fixes()).filter(|fixes| !fixes.0.is_empty());
            let what = format!("`{key}` has no effect here: {}", block.text("why"));
            found.key(&[key], what, fixes.unwrap_or_else(|| unset(key).into()));
        }
    }
}
