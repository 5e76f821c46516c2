//! Keys, arguments and ranks that do not go together.

use serde_json::Value;

use super::findings::{Check, Findings};
use super::subject::{STAGE, Subject};
use crate::config::schema;
use crate::report::fix::{drop_word, give, set, unset};
use crate::report::{Place, Rule, Severity, When};

const GRADIENT_NORM: &str = "zero_optimization.compute_grad_norm";
const GATHER_BUCKET: &str = "zero_optimization.allgather_bucket_size";

pub(super) const RULES: &[Check] = &[
    Check::row(Rule::NoZeroSection, Severity::Error, When::Start)
        .doc("accelerate refuses a config without zero_optimization: stage 0 must be spelled out")
        .holds(|subject| subject.job.trainer.uses_accelerate() && subject.get("zero_optimization").is_none())
        .says(
            &["zero_optimization"],
            "the config has no `zero_optimization` section, and accelerate refuses it",
            || set(STAGE, 0).into(),
        ),
    Check::row(Rule::NoStage, Severity::Warning, When::Step)
        .doc("zero_optimization without a stage: accelerate stops with a KeyError when it saves the model")
        .holds(|subject| {
            subject.is_hf() && subject.zero().section.is_some_and(|section| !section.contains_key("stage"))
        })
        .says(
            &["zero_optimization"],
            "`zero_optimization` has no `stage`: DeepSpeed takes 0, and accelerate fails when it saves",
            || set(STAGE, 0).or("choose stage 1, 2 or 3"),
        ),
    Check::row(Rule::GradientNorm, Severity::Error, When::Parse)
        .doc("compute_grad_norm false outside stages 1 and 2")
        .holds(|subject| subject.is_on(GRADIENT_NORM) == Some(false) && subject.stage_is(&[0, 3]))
        .says(&[GRADIENT_NORM, STAGE], "`{key}` is false, which only stages 1 and 2 allow", || {
            set(GRADIENT_NORM, true).into()
        }),
    Check::code(Rule::SumOfGradients, Severity::Error, When::Parse, sum_of_gradients)
        .doc("gradient_allreduce_op sum with stage 3, ZenFlow or DeepCompile"),
    Check::code(Rule::PrescaledGradients, Severity::Error, When::Start, prescaled_gradients)
        .doc("prescale_gradients or a predivide factor with stage 2 or 3 and reduce_scatter"),
    Check::row(Rule::OddBucket, Severity::Error, When::Start)
        .doc("an allgather_bucket_size that is not even, at stage 1 or 2")
        .holds(|subject| {
            subject.stage_is(&[1, 2]) && subject.whole(GATHER_BUCKET).is_some_and(|size| size % 2.0 != 0.0)
        })
        .says(&[GATHER_BUCKET], "`{key}` is {value}: stages 1 and 2 need an even number", || {
            set(GATHER_BUCKET, 200_000_000).into()
        }),
    Check::code(Rule::PartitionSize, Severity::Error, When::Start, partition_size)
        .doc("zero_hpz_partition_size does not divide the number of ranks; a larger one is silently reduced"),
    Check::code(Rule::TensorParallelSize, Severity::Error, When::Start, tensor_parallel_size)
        .doc("tensor_parallel.tp.tp_size is neither 1 nor autotp_size, or there are fewer ranks than autotp_size"),
    Check::code(Rule::HfArguments, Severity::Error, When::Start, hf_arguments).doc(
        "arguments that transformers refuses together with DeepSpeed: auto_find_batch_size at stage 3, fsdp, \
         save_only_model with load_best_model_at_end",
    ),
    Check::row(Rule::ExpertsAtStage3, Severity::Warning, When::Start)
        .doc("a script with DeepSpeed's own MoE layer at stage 3, which DeepSpeed refuses")
        .holds(|subject| subject.is_plain() && subject.stage_is(&[3]) && subject.script_says("deepspeed.moe"))
        .says(&[STAGE], "the script uses DeepSpeed's MoE layer, which does not work with stage 3", || {
            set(STAGE, 2).or("use an `expert_parallel` section (AutoEP)")
        }),
    Check::row(Rule::NoSync, Severity::Warning, When::Step)
        .doc("a script that calls no_sync() at stage 2 or 3, which DeepSpeed refuses")
        .holds(|subject| subject.is_plain() && subject.stage_is(&[2, 3]) && subject.script_says(".no_sync("))
        .says(&[STAGE], "the script calls no_sync(), which DeepSpeed refuses at stages 2 and 3", || {
            set(STAGE, 1).or("leave accumulation to the engine")
        }),
];

fn sum_of_gradients(subject: &Subject, found: &mut Findings) {
    let key = "gradient_allreduce_op";
    if !subject.text(key).is_some_and(|op| op.eq_ignore_ascii_case("sum")) || subject.is_before([0, 19, 6]) {
        return;
    }
    for (with, why) in [
        (subject.stage_is(&[3]), "ZeRO stage 3"),
        (subject.zero_key("zenflow").is_some_and(|section| !section.is_null() && *section != "auto"), "ZenFlow"),
        (subject.is_on("compile.deepcompile") == Some(true), "DeepCompile"),
    ] {
        if with {
            found.key(&[key], format!("`{key}` is \"sum\", which cannot be combined with {why}"), set(key, "mean"));
        }
    }
}

fn prescaled_gradients(subject: &Subject, found: &mut Findings) {
    let prescaled = subject.get("prescale_gradients").is_some_and(|on| *on != "auto" && schema::is_true(on));
    let factor = subject.get("gradient_predivide_factor").and_then(Value::as_f64);
    let divided = factor.is_some_and(|factor| (factor - 1.0).abs() > 0.0);
    let key = if prescaled { "prescale_gradients" } else { "gradient_predivide_factor" };
    if (prescaled || divided)
        && subject.stage_is(&[2, 3])
        && subject.zero_key("reduce_scatter").and_then(schema::truth) != Some(false)
    {
        let what = format!("`{key}` is {}, which stages 2 and 3 do not allow with reduce_scatter", subject.shown(key));
        found.key(&[key, "zero_optimization.reduce_scatter"], what, unset(key));
    }
}

fn partition_size(subject: &Subject, found: &mut Findings) {
    let key = "zero_optimization.zero_hpz_partition_size";
    let size = subject.get(key).and_then(Value::as_u64).filter(|size| *size > 1 && subject.stage_is(&[3]));
    let (Some(size), Some(world)) = (size, subject.world()) else { return };
    if size > world {
        let what = format!("`{key}` is {size}, but there are {world} ranks: DeepSpeed reduces it to that");
        found.key(&[key], what, set(key, world)).severity = Severity::Note;
    } else if world % size != 0 {
        let what = format!("`{key}` is {size}, which does not divide {world} ranks");
        found.key(&[key], what, set(key, 1));
    }
}

fn tensor_parallel_size(subject: &Subject, found: &mut Findings) {
    let (inner, outer) = ("tensor_parallel.tp.tp_size", "tensor_parallel.autotp_size");
    let ranks = subject.world().and_then(|world| u32::try_from(world).ok()).map(f64::from);
    if let (Some(ranks), Some(size)) = (ranks, subject.whole(outer))
        && ranks < size
        && subject.reads("tensor_parallel")
    {
        let what = format!("`{outer}` is {size}, and there are {ranks} ranks");
        found.key(&[outer], what, set(outer, ranks));
    }
    let (Some(one), Some(two)) = (subject.whole(inner), subject.whole(outer)) else { return };
    if two > 1.0 && (one - 1.0).abs() > 0.0 && (one - two).abs() > 0.0 {
        let what = format!("`{inner}` is {one}, but `{outer}` is {two}: they must agree");
        found.key(&[inner, outer], what, unset(inner));
    }
}

fn hf_arguments(subject: &Subject, found: &mut Findings) {
    if !subject.is_hf() {
        return;
    }
    let args = &subject.job.args;
    let on = |name: &str| args.bool(name, true).ok().flatten().filter(|sourced| sourced.value);
    if let Some(sourced) = on("auto_find_batch_size") {
        let places = [Place::from(&sourced.from), (subject.place)(STAGE)];
        let before = |version| subject.has_before("transformers", version);
        // It came with 4.38 for every stage; since 4.45 it is for stage 3 alone.
        if before([4, 45, 0]) && !before([4, 38, 0]) {
            let what = "transformers 4.38 to 4.44 refuses `auto_find_batch_size` with DeepSpeed";
            found.at(&places[..1], what, drop_word(&sourced.from));
        } else if subject.stage_is(&[3]) && !before([4, 38, 0]) {
            let what = "transformers refuses `auto_find_batch_size` at stage 3";
            found.at(places, what, drop_word(&sourced.from).or(give("--deepspeed", "zero2").remark("use stage 2")));
        }
    }
    if let Some(sourced) = args.text("fsdp")
        && !matches!(sourced.value.to_ascii_lowercase().as_str(), "" | "false" | "none" | "0" | "[]")
    {
        let what = "transformers refuses `fsdp` together with DeepSpeed";
        found.at([Place::from(&sourced)], what, drop_word(&sourced.from));
    }
    if let (Some(only), Some(best)) = (on("save_only_model"), on("load_best_model_at_end"))
        && !subject.has_before("transformers", [4, 38, 0])
    {
        let what = "transformers refuses `save_only_model` with `load_best_model_at_end` under DeepSpeed";
        found.at([Place::from(&only.from), Place::from(&best.from)], what, drop_word(&only.from));
    }
}
