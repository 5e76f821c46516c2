//! Keys, arguments and ranks that do not go together.

use serde_json::Value;

use super::findings::{Check, Findings};
use super::subject::{STAGE, Subject};
use crate::config::schema;
use crate::report::{Rule, Severity, When};

pub(super) const RULES: &[Check] = &[
    Check {
        rule: Rule::NoZeroSection,
        severity: Severity::Error,
        when: When::Start,
        doc: "accelerate refuses a config without zero_optimization: stage 0 must be written out",
        check: no_zero_section,
    },
    Check {
        rule: Rule::NoStage,
        severity: Severity::Warning,
        when: When::Step,
        doc: "zero_optimization without a stage: accelerate ends with a KeyError when the model is saved",
        check: no_stage,
    },
    Check {
        rule: Rule::GradientNorm,
        severity: Severity::Error,
        when: When::Parse,
        doc: "compute_grad_norm false outside of stages 1 and 2",
        check: gradient_norm,
    },
    Check {
        rule: Rule::GradientNormClipping,
        severity: Severity::Error,
        when: When::Start,
        doc: "compute_grad_norm false with clipping (1.0 by default), offload or ZenFlow",
        check: gradient_norm_clipping,
    },
    Check {
        rule: Rule::SumOfGradients,
        severity: Severity::Error,
        when: When::Parse,
        doc: "gradient_allreduce_op sum with stage 3, ZenFlow or DeepCompile",
        check: sum_of_gradients,
    },
    Check {
        rule: Rule::PrescaledGradients,
        severity: Severity::Error,
        when: When::Start,
        doc: "prescale_gradients or a predivide factor with stage 2 or 3 and reduce_scatter",
        check: prescaled_gradients,
    },
    Check {
        rule: Rule::OddBucket,
        severity: Severity::Error,
        when: When::Start,
        doc: "an allgather_bucket_size that is not even, at stage 1 or 2",
        check: odd_bucket,
    },
    Check {
        rule: Rule::LegacyStage1,
        severity: Severity::Error,
        when: When::Start,
        doc: "legacy_stage1, which DeepSpeed refuses",
        check: legacy_stage_1,
    },
    Check {
        rule: Rule::Zenflow,
        severity: Severity::Error,
        when: When::Start,
        doc: "ZenFlow without the optimizer in host memory, without an optimizer section, or with offload but no overlap_comm",
        check: zenflow,
    },
    Check {
        rule: Rule::ZenflowInterval,
        severity: Severity::Error,
        when: When::Start,
        doc: "ZenFlow's select_strategy and select_interval contradict each other",
        check: zenflow_interval,
    },
    Check {
        rule: Rule::PartitionSize,
        severity: Severity::Error,
        when: When::Start,
        doc: "zero_hpz_partition_size does not divide the ranks; a larger one is silently cut down",
        check: partition_size,
    },
    Check {
        rule: Rule::TensorParallelSize,
        severity: Severity::Error,
        when: When::Start,
        doc: "tensor_parallel.tp.tp_size is neither 1 nor autotp_size, or there are fewer ranks than autotp_size",
        check: tensor_parallel_size,
    },
    Check {
        rule: Rule::DataEfficiency,
        severity: Severity::Error,
        when: When::Parse,
        doc: "curriculum learning without curriculum_metrics, or dynamic batching without max_tokens",
        check: data_efficiency,
    },
    Check {
        rule: Rule::HfArguments,
        severity: Severity::Error,
        when: When::Start,
        doc: "arguments that transformers refuses together with DeepSpeed: auto_find_batch_size at stage 3, fsdp, save_only_model with load_best_model_at_end",
        check: hf_arguments,
    },
    Check {
        rule: Rule::ExpertsAtStage3,
        severity: Severity::Warning,
        when: When::Start,
        doc: "a script with DeepSpeed's own MoE layer at stage 3, which DeepSpeed refuses",
        check: experts_at_stage_3,
    },
    Check {
        rule: Rule::NoSync,
        severity: Severity::Warning,
        when: When::Step,
        doc: "a script that calls no_sync() at stage 2 or 3, which DeepSpeed refuses",
        check: no_sync,
    },
];

fn no_zero_section(subject: &Subject, found: &mut Findings) {
    if subject.job.trainer.uses_accelerate() && subject.get("zero_optimization").is_none() {
        let what = "the config has no `zero_optimization` section, and accelerate refuses it".to_string();
        found.key(&["zero_optimization"], what, "--set zero_optimization.stage=0");
    }
}

fn no_stage(subject: &Subject, found: &mut Findings) {
    let section = subject.get("zero_optimization").filter(|section| section.is_object());
    if subject.is_hf() && section.is_some_and(|section| section.get("stage").is_none()) {
        let what =
            "`zero_optimization` has no `stage`: DeepSpeed takes 0, and accelerate fails when it saves".to_string();
        found.key(&["zero_optimization"], what, "--set zero_optimization.stage=0, or 1, 2 or 3");
    }
}

fn gradient_norm(subject: &Subject, found: &mut Findings) {
    let key = "zero_optimization.compute_grad_norm";
    if subject.is_on(key) == Some(false) && subject.stage_is(&[0, 3]) {
        let what = format!("`{key}` is false: that is for stages 1 and 2 only");
        found.key(&[key, STAGE], what, format!("--set {key}=true"));
    }
}

fn gradient_norm_clipping(subject: &Subject, found: &mut Findings) {
    let key = "zero_optimization.compute_grad_norm";
    if subject.is_on(key) != Some(false) || !subject.stage_is(&[1, 2]) {
        return;
    }
    let clipping = subject.get("gradient_clipping");
    if clipping.is_none_or(|value| value.as_f64().is_some_and(|norm| norm > 0.0)) {
        let value = clipping.map_or("1.0 by default".to_string(), Value::to_string);
        let what =
            format!("`{key}` is false, but gradients are clipped by their norm (`gradient_clipping` is {value})");
        found.key(&[key, "gradient_clipping"], what, "--set gradient_clipping=0");
    }
    if subject.offloads_optimizer() || subject.zero_key("zenflow").is_some_and(Value::is_object) {
        let what = format!("`{key}` is false, which goes neither with offload nor with ZenFlow");
        found.key(&[key], what, format!("--set {key}=true"));
    }
}

fn sum_of_gradients(subject: &Subject, found: &mut Findings) {
    let key = "gradient_allreduce_op";
    let sum = subject.get(key).and_then(Value::as_str).is_some_and(|op| op.eq_ignore_ascii_case("sum"));
    if !sum || subject.is_before([0, 19, 6]) {
        return;
    }
    for (with, why) in [
        (subject.stage_is(&[3]), "ZeRO stage 3"),
        (subject.zero_key("zenflow").is_some_and(|it| !it.is_null() && *it != "auto"), "ZenFlow"),
        (subject.is_on("compile.deepcompile") == Some(true), "DeepCompile"),
    ] {
        if with {
            found.key(&[key], format!("`{key}` is \"sum\", which does not go with {why}"), format!("--set {key}=mean"));
        }
    }
}

fn prescaled_gradients(subject: &Subject, found: &mut Findings) {
    let prescaled = subject.get("prescale_gradients").is_some_and(|it| *it != "auto" && schema::is_true(it));
    let factor = subject.get("gradient_predivide_factor").and_then(Value::as_f64);
    let divided = factor.is_some_and(|factor| (factor - 1.0).abs() > 0.0);
    let key = if prescaled { "prescale_gradients" } else { "gradient_predivide_factor" };
    if (prescaled || divided) && subject.stage_is(&[2, 3]) && subject.zero_is_on("reduce_scatter") != Some(false) {
        let what = format!("`{key}` is {}, which stages 2 and 3 do not allow with reduce_scatter", subject.shown(key));
        found.key(&[key, "zero_optimization.reduce_scatter"], what, format!("--unset {key}"));
    }
}

fn odd_bucket(subject: &Subject, found: &mut Findings) {
    let key = "zero_optimization.allgather_bucket_size";
    let odd = subject.get(key).and_then(schema::whole).is_some_and(|size| size % 2.0 != 0.0);
    if odd && subject.stage_is(&[1, 2]) {
        let what = format!("`{key}` is {}: stages 1 and 2 want an even number", subject.shown(key));
        found.key(&[key], what, format!("--set {key}=200000000"));
    }
}

fn legacy_stage_1(subject: &Subject, found: &mut Findings) {
    let key = "zero_optimization.legacy_stage1";
    if subject.is_on(key) == Some(true) {
        found.key(&[key], format!("`{key}` is no longer supported: DeepSpeed refuses it"), format!("--unset {key}"));
    }
}

fn zenflow(subject: &Subject, found: &mut Findings) {
    let key = "zero_optimization.zenflow";
    if !subject.get(key).is_some_and(Value::is_object) || !subject.stage_is(&[1, 2, 3]) {
        return;
    }
    if !subject.offloads_optimizer() {
        let what = "ZenFlow needs the optimizer in host memory".to_string();
        found.key(&[key], what, "--set zero_optimization.offload_optimizer.device=cpu");
    }
    if subject.get("optimizer.type").is_none_or(Value::is_null) {
        let what = "ZenFlow builds its optimizer from the config, which has no `optimizer` section".to_string();
        found.key(&[key], what, "--set optimizer.type=AdamW --set optimizer.params.lr=1e-5");
    }
    let overlapped = subject.zero_is_on("overlap_comm").unwrap_or(subject.stage_is(&[3]));
    if subject.is_on("zero_optimization.zenflow.offload") == Some(true) && !overlapped {
        let what = "ZenFlow's `offload` needs `overlap_comm`".to_string();
        let keys = ["zero_optimization.zenflow.offload", "zero_optimization.overlap_comm"];
        found.key(&keys, what, "--set zero_optimization.overlap_comm=true");
    }
}

fn zenflow_interval(subject: &Subject, found: &mut Findings) {
    let (strategy, interval) =
        ("zero_optimization.zenflow.select_strategy", "zero_optimization.zenflow.select_interval");
    if !subject.get("zero_optimization.zenflow").is_some_and(Value::is_object) {
        return;
    }
    let by_itself = subject.get(strategy).is_none_or(|it| it == "auto");
    let number = subject.get(interval).and_then(schema::whole).is_some();
    if by_itself && number {
        let what = format!("`{interval}` is {}, but `select_strategy` is \"auto\"", subject.shown(interval));
        found.key(&[interval], what, format!("--set {strategy}=step"));
    } else if !by_itself && !number && subject.get(strategy).is_some_and(Value::is_string) {
        let what = format!("`{strategy}` is {}, which needs a number as `select_interval`", subject.shown(strategy));
        found.key(&[strategy], what, format!("--set {interval}=10"));
    }
}

fn partition_size(subject: &Subject, found: &mut Findings) {
    let key = "zero_optimization.zero_hpz_partition_size";
    let Some(size) = subject.get(key).and_then(Value::as_u64).filter(|size| *size > 1 && subject.stage_is(&[3])) else {
        return;
    };
    match subject.world() {
        Some(world) if size > world => {
            let what = format!("`{key}` is {size}, but there are {world} ranks: DeepSpeed cuts it down to that");
            found.key_with_severity(Severity::Note, &[key], what, format!("--set {key}={world}"));
        }
        Some(world) if world % size != 0 => {
            found.key(
                &[key],
                format!("`{key}` is {size}, which does not divide {world} ranks"),
                format!("--set {key}=1"),
            );
        }
        _ => {}
    }
}

fn tensor_parallel_size(subject: &Subject, found: &mut Findings) {
    let (inner, outer) = ("tensor_parallel.tp.tp_size", "tensor_parallel.autotp_size");
    let size = |key: &str| subject.get(key).and_then(schema::whole);
    let ranks = subject.world().and_then(|world| u32::try_from(world).ok()).map(f64::from);
    let is_read = || subject.reads("tensor_parallel");
    if let Some((ranks, size)) = ranks.zip(size(outer)).filter(|(ranks, size)| ranks < size && is_read()) {
        let what = format!("`{outer}` is {size}, and there are {ranks} ranks");
        found.key(&[outer], what, format!("--set {outer}={ranks}"));
    }
    let (Some(one), Some(two)) = (size(inner), size(outer)) else { return };
    if two > 1.0 && (one - 1.0).abs() > 0.0 && (one - two).abs() > 0.0 {
        let what = format!("`{inner}` is {one}, but `{outer}` is {two}: they must agree");
        found.key(&[inner, outer], what, format!("--unset {inner}"));
    }
}

fn data_efficiency(subject: &Subject, found: &mut Findings) {
    let sampling = "data_efficiency.data_sampling";
    for (section, needed) in [("curriculum_learning", "curriculum_metrics"), ("dynamic_batching", "max_tokens")] {
        let Some(section_value) = subject.get(&format!("{sampling}.{section}")).filter(|it| it.is_object()) else {
            continue;
        };
        let on = section_value.get("enabled").is_some_and(schema::is_true);
        let key = format!("{sampling}.{section}.{needed}");
        let value = section_value.get(needed);
        let missing = match value {
            None => true,
            // Python's int() is called on it.
            Some(value) => needed == "max_tokens" && !schema::can_be_int(value),
        };
        if on && missing && subject.reads(&format!("{sampling}.{section}")) {
            let what = format!("`{sampling}.{section}` is enabled and needs `{needed}`");
            found.key(&[&format!("{sampling}.{section}")], what, format!("--set {key}=…"));
        }
    }
}

fn hf_arguments(subject: &Subject, found: &mut Findings) {
    if !subject.is_hf() {
        return;
    }
    let args = &subject.job.args;
    let on = |name: &str| args.bool(name, true).ok().flatten().filter(|sourced| sourced.value);
    if let Some(sourced) = on("auto_find_batch_size") {
        let places = [sourced.from.to_string(), (subject.place)(STAGE)];
        let before = |version| subject.has_before("transformers", version);
        // It came with 4.38 for every stage; since 4.45 it is for stage 3 alone.
        if before([4, 45, 0]) && !before([4, 38, 0]) {
            let what = "transformers 4.38 to 4.44 refuses `auto_find_batch_size` with DeepSpeed".to_string();
            found.at(&places[..1], what, format!("drop {}", sourced.from));
        } else if subject.stage_is(&[3]) && !before([4, 38, 0]) {
            let what = "transformers refuses `auto_find_batch_size` at stage 3".to_string();
            found.at(&places, what, "drop it, or take stage 2: --deepspeed zero2");
        }
    }
    let off = |text: &str| text.is_empty() || hf_false(text);
    if let Some(sourced) = args.text("fsdp").filter(|sourced| !off(&sourced.value)) {
        let what = "transformers refuses `fsdp` together with DeepSpeed".to_string();
        found.at(&[sourced.place()], what, format!("drop {}", sourced.from));
    }
    if let (Some(only), Some(best)) = (on("save_only_model"), on("load_best_model_at_end"))
        && !subject.has_before("transformers", [4, 38, 0])
    {
        let what = "transformers refuses `save_only_model` with `load_best_model_at_end` under DeepSpeed".to_string();
        found.at(&[only.from.to_string(), best.from.to_string()], what, format!("drop {}", only.from));
    }
}

fn hf_false(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "false" | "none" | "0" | "[]")
}

fn experts_at_stage_3(subject: &Subject, found: &mut Findings) {
    if subject.is_plain() && subject.stage_is(&[3]) && says(subject, "deepspeed.moe") {
        let what = "the script uses DeepSpeed's MoE layer, which does not go with stage 3".to_string();
        found.key(&[STAGE], what, "--set zero_optimization.stage=2, or an `expert_parallel` section (AutoEP)");
    }
}

fn no_sync(subject: &Subject, found: &mut Findings) {
    if subject.is_plain() && subject.stage_is(&[2, 3]) && says(subject, ".no_sync(") {
        let what = "the script calls no_sync(), which DeepSpeed refuses at stages 2 and 3".to_string();
        found.key(&[STAGE], what, "--set zero_optimization.stage=1, or leave accumulation to the engine");
    }
}

fn says(subject: &Subject, sign: &str) -> bool {
    subject.script().is_some_and(|text| text.contains(sign))
}
