//! What DeepSpeed and transformers had and then gave up, as long as they have it: sections that lack something, and what does
//! not go together. Their versions were read in the sources and seen on 0.16.9 and 0.17.5.

use serde_json::Value;

use super::batch::{SIZES, is_elastic};
use super::findings::{Check, Findings};
use super::subject::{STAGE, Subject};
use crate::base::python_value::number;
use crate::config::schema;
use crate::report::{Rule, Severity, When};

pub(super) const RULES: &[Check] = &[
    Check {
        rule: Rule::OneBitZero,
        severity: Severity::Error,
        when: When::Start,
        doc: "an optimizer of the 1-bit family with ZeRO, before DeepSpeed 0.19.7",
        check: one_bit_zero,
    },
    Check {
        rule: Rule::Elasticity,
        severity: Severity::Error,
        when: When::Parse,
        doc: "elasticity beside batch sizes, or without its own (before 0.19.8, which refuses the section)",
        check: elasticity,
    },
    Check {
        rule: Rule::Curriculum,
        severity: Severity::Error,
        when: When::Start,
        doc: "curriculum_learning that is enabled without what it needs, before DeepSpeed 0.19.8",
        check: curriculum,
    },
    Check {
        rule: Rule::OptimizerWithoutType,
        severity: Severity::Error,
        when: When::Start,
        doc: "an optimizer section without a type, with transformers and ZeRO (from DeepSpeed 0.19.8 on, stage 3 is not refused)",
        check: optimizer_without_type,
    },
    Check {
        rule: Rule::Mics,
        severity: Severity::Error,
        when: When::Start,
        doc: "mics_shard_size before DeepSpeed 0.19.7: it does not divide the ranks, or the model is made by transformers (a warning for a script)",
        check: mics,
    },
    Check {
        rule: Rule::AmpMismatch,
        severity: Severity::Error,
        when: When::Start,
        doc: "amp.enabled without `--fp16 --fp16_backend apex`, before transformers 5",
        check: amp_mismatch,
    },
];

fn one_bit_zero(subject: &Subject, found: &mut Findings) {
    const KEY: &str = "optimizer.type";
    const ONE_BIT: &[&str] = &["onebitadam", "zerooneadam", "onebitlamb"];
    let named = subject.get(KEY).and_then(Value::as_str).map(str::to_ascii_lowercase);
    if named.is_some_and(|named| ONE_BIT.contains(&named.as_str()))
        && subject.stage_is(&[1, 2, 3])
        && subject.is_before([0, 19, 7])
    {
        let what = format!("{} does not combine `{}` with ZeRO", subject.deepspeed(), subject.shown(KEY));
        found.key(&[KEY, STAGE], what, format!("--set {KEY}=AdamW, or --set {STAGE}=0"));
    }
}

fn elasticity(subject: &Subject, found: &mut Findings) {
    if !is_elastic(subject) {
        return;
    }
    let given: Vec<&str> = SIZES.into_iter().filter(|key| subject.get(key).is_some()).collect();
    let ignored = subject.get("elasticity.ignore_non_elastic_batch_info").is_some_and(schema::is_true);
    if !given.is_empty() && !ignored {
        let what = "`elasticity` is enabled, and decides the batch sizes that the config has too".to_string();
        found.key(&given, what, "--set elasticity.ignore_non_elastic_batch_info=true");
    }
    for key in ["elasticity.max_train_batch_size", "elasticity.micro_batch_sizes"] {
        if subject.get(key).is_none() {
            found.key(&["elasticity"], format!("`elasticity` is enabled and needs `{key}`"), format!("--set {key}=…"));
        }
    }
    let is_size = |size: &Value| schema::is_whole(size) && number(size).is_some_and(|size| size > 0.0);
    let key = "elasticity.micro_batch_sizes";
    if subject.get(key).is_some_and(|sizes| !sizes.as_array().is_some_and(|sizes| sizes.iter().all(is_size))) {
        let what = format!("`{key}` is {}, but DeepSpeed wants a list of whole numbers above 0", subject.shown(key));
        found.key(&[key], what, format!("--set '{key}=[2,4]'"));
    }
}

/// transformers takes the section for an optimizer, and DeepSpeed does not.
fn optimizer_without_type(subject: &Subject, found: &mut Findings) {
    const KEY: &str = "optimizer";
    let nameless =
        subject.get(KEY).and_then(Value::as_object).is_some_and(|it| it.get("type").is_none_or(Value::is_null));
    let refused = subject.stage_is(&[1, 2]) || subject.stage_is(&[3]) && subject.is_before([0, 19, 8]);
    if nameless && subject.is_hf() && refused {
        let what = format!("`{KEY}` has no `type`, and ZeRO needs an optimizer");
        found.key(&[KEY], what, format!("--set {KEY}.type=AdamW, or --unset {KEY}"));
    }
}

fn curriculum(subject: &Subject, found: &mut Findings) {
    const SECTION: &str = "curriculum_learning";
    let Some(object) = subject.get(SECTION).and_then(Value::as_object) else { return };
    let needed = ["min_difficulty", "max_difficulty", "schedule_type"];
    let missing: Vec<&str> = needed.into_iter().filter(|key| !object.contains_key(*key)).collect();
    let on = object.get("enabled").is_some_and(schema::is_true);
    if on && !missing.is_empty() && subject.is_before([0, 19, 8]) {
        let what = format!("`{SECTION}` is enabled and needs `{}`", missing.join("` and `"));
        found.key(&[SECTION], what, format!("--unset {SECTION}"));
    }
}

fn mics(subject: &Subject, found: &mut Findings) {
    const KEY: &str = "zero_optimization.mics_shard_size";
    let Some(size) = subject.get(KEY).and_then(Value::as_u64).filter(|size| *size > 0) else { return };
    if !subject.stage_is(&[3]) || !subject.is_before([0, 19, 7]) {
        return;
    }
    let ranks = subject.world().filter(|world| world % size != 0);
    let what = match ranks {
        Some(ranks) => format!("`{KEY}` is {size}, which does not divide {ranks} ranks"),
        None if subject.is_hf() => "transformers makes the model with zero.Init, and MiCS wants its own".to_string(),
        None => return,
    };
    // A script may make its model in another way.
    let seen = !subject.job.trainer.launch.consoles.is_empty() || ranks.is_some_and(|ranks| ranks > 1);
    let severity = if seen { Severity::Error } else { Severity::Warning };
    found.key_with_severity(severity, &[KEY], what, format!("--unset {KEY}"));
}

fn amp_mismatch(subject: &Subject, found: &mut Findings) {
    const KEY: &str = "amp.enabled";
    if !subject.is_hf() || subject.get(KEY) != Some(&Value::Bool(true)) {
        return;
    }
    let apex = ["fp16_backend", "half_precision_backend"].iter().any(|name| subject.argument_is(name, "apex"));
    if !apex && subject.has_before("transformers", [5, 0, 0]) {
        let what = format!("`{KEY}` is true, and transformers compares it with `--fp16 --fp16_backend apex`");
        found.key(&[KEY], what, "--unset amp --set bf16.enabled=auto".to_string());
    }
}
