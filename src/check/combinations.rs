//! Keys, arguments and ranks that do not go together.

use serde_json::Value;

use super::findings::{Check, Findings};
use super::subject::{STAGE, Subject};
use crate::command::python::Presence;
use crate::config::schema;
use crate::report::fix::{Owner, drop_word, give, run, set, unset};
use crate::report::{Place, Rule, Severity, When};

pub(super) const RULES: &[Check] = &[
    Check::row(
        Rule::NoZeroSection,
        Severity::Error,
        When::Start,
        |subject| {
            subject.job.trainer.uses_accelerate() && subject.get("zero_optimization").is_none()
        },
    ),
    Check::row(Rule::NoStage, Severity::Warning, When::Step, |subject| {
        subject.is_hf()
            && subject
                .zero()
                .section
                .is_some_and(|section| !section.contains_key("stage"))
    }),
    Check::row(
        Rule::GradientNorm,
        Severity::Error,
        When::Parse,
        |subject| {
            subject.is_on("zero_optimization.compute_grad_norm") == Some(false)
                && subject.stage_is(&[0, 3])
        },
    ),
    Check::code(
        Rule::SumOfGradients,
        Severity::Error,
        When::Parse,
        |subject, found| {
            let key = "gradient_allreduce_op";
            if !subject
                .text(key)
                .is_some_and(|op| op.eq_ignore_ascii_case("sum"))
                || subject.is_before([0, 19, 6])
            {
                return;
            }
            for (with, why) in [
                (subject.stage_is(&[3]), "ZeRO stage 3"),
                (
                    subject
                        .zero_key("zenflow")
                        .is_some_and(|section| !section.is_null() && *section != "auto"),
                    "ZenFlow",
                ),
                (
                    subject.is_on("compile.deepcompile") == Some(true),
                    "DeepCompile",
                ),
            ] {
                if with {
                    found.key(
                        &[key],
                        format!("`{key}` is \"sum\", which cannot be combined with {why}"),
                        set(key, "mean"),
                    );
                }
            }
        },
    ),
    Check::code(
        Rule::PrescaledGradients,
        Severity::Error,
        When::Start,
        |subject, found| {
            let prescaled = subject
                .get("prescale_gradients")
                .is_some_and(|on| *on != "auto" && schema::is_true(on));
            let factor = subject
                .get("gradient_predivide_factor")
                .and_then(Value::as_f64);
            let divided = factor.is_some_and(|factor| (factor - 1.0).abs() > 0.0);
            let key = if prescaled {
                "prescale_gradients"
            } else {
                "gradient_predivide_factor"
            };
            if (prescaled || divided)
                && subject.stage_is(&[2, 3])
                && subject.zero_key("reduce_scatter").and_then(schema::truth) != Some(false)
            {
                let what = format!(
                    "`{key}` is {}, which stages 2 and 3 do not allow with reduce_scatter",
                    subject.shown(key)
                );
                found.key(&[key, "zero_optimization.reduce_scatter"], what, unset(key));
            }
        },
    ),
    Check::row(Rule::OddBucket, Severity::Error, When::Start, |subject| {
        let bucket = subject.whole("zero_optimization.allgather_bucket_size");
        subject.stage_is(&[1, 2]) && bucket.is_some_and(|size| size % 2.0 != 0.0)
    }),
    Check::code(
        Rule::PartitionSize,
        Severity::Error,
        When::Start,
        |subject, found| {
            let key = "zero_optimization.zero_hpz_partition_size";
            let size = subject
                .get(key)
                .and_then(Value::as_u64)
                .filter(|size| *size > 1 && subject.stage_is(&[3]));
            let (Some(size), Some(world)) = (size, subject.world()) else {
                return;
            };
            if size > world {
                let what = format!(
                    "`{key}` is {size}, but there are {world} ranks: DeepSpeed reduces it to that"
                );
                found.key(&[key], what, set(key, world)).severity = Severity::Note;
            } else if world % size != 0 {
                let what = format!("`{key}` is {size}, which does not divide {world} ranks");
                found.key(&[key], what, set(key, 1));
            }
        },
    ),
    Check::code(
        Rule::TensorParallelSize,
        Severity::Error,
        When::Start,
        |subject, found| {
            let (inner, outer) = ("tensor_parallel.tp.tp_size", "tensor_parallel.autotp_size");
            let ranks = subject
                .world()
                .and_then(|world| u32::try_from(world).ok())
                .map(f64::from);
            if let (Some(ranks), Some(size)) = (ranks, subject.whole(outer))
                && ranks < size
                && subject.reads("tensor_parallel")
            {
                let what = format!("`{outer}` is {size}, and there are {ranks} ranks");
                found.key(&[outer], what, set(outer, ranks));
            }
            let (Some(one), Some(two)) = (subject.whole(inner), subject.whole(outer)) else {
                return;
            };
            if two > 1.0 && (one - 1.0).abs() > 0.0 && (one - two).abs() > 0.0 {
                let what = format!("`{inner}` is {one}, but `{outer}` is {two}: they must agree");
                found.key(&[inner, outer], what, unset(inner));
            }
        },
    ),
    Check::code(
        Rule::HfArguments,
        Severity::Error,
        When::Start,
        hf_arguments,
    ),
    Check::code(
        Rule::MonitorPackage,
        Severity::Error,
        When::Start,
        |subject, found| {
            let (Some(python), true) = (&subject.job.python, subject.runs_here()) else {
                return;
            };
            for (section, module) in [
                ("wandb", "wandb"),
                ("comet", "comet_ml"),
                ("tensorboard", "tensorboard"),
            ] {
                let key = format!("{section}.enabled");
                if subject.is_on(&key) == Some(true)
                    && python.seek(module, subject.host) == Presence::Missing
                {
                    let what = format!(
                        "`{key}` is true, but the package {module} is not installed for this Python"
                    );
                    found.key(
                        &[&key],
                        what,
                        set(&key, false).or(run(format!("pip install {module}"))),
                    );
                }
            }
        },
    ),
    Check::row(
        Rule::ExpertsAtStage3,
        Severity::Warning,
        When::Start,
        |subject| {
            subject.is_plain() && subject.stage_is(&[3]) && subject.script_says("deepspeed.moe")
        },
    ),
    Check::row(Rule::NoSync, Severity::Warning, When::Step, |subject| {
        subject.is_plain() && subject.stage_is(&[2, 3]) && subject.script_says(".no_sync(")
    }),
];

fn hf_arguments(subject: &Subject, found: &mut Findings) {
    if !subject.is_hf() {
        return;
    }
    let args = &subject.job.args;
    let on = |name: &str| {
        args.bool(name, true)
            .ok()
            .flatten()
            .filter(|sourced| sourced.value)
    };
    if let Some(sourced) = on("auto_find_batch_size") {
        let places = [Place::from(&sourced.from), (subject.place)(STAGE)];
        let before = |version| subject.has_before("transformers", version);
        // It came with 4.38 for every stage; since 4.45 it is for stage 3 alone.
        if before([4, 45, 0]) && !before([4, 38, 0]) {
            let what = "transformers 4.38 to 4.44 refuses `auto_find_batch_size` with DeepSpeed";
            found.at(
                &places[..1],
                what,
                drop_word(&sourced.from).of(Owner::Trainer),
            );
        } else if subject.stage_is(&[3]) && !before([4, 38, 0]) {
            let what = "transformers refuses `auto_find_batch_size` at stage 3";
            found.at(
                places,
                what,
                drop_word(&sourced.from)
                    .of(Owner::Trainer)
                    .or(give("--deepspeed", "zero2").remark("use stage 2")),
            );
        }
    }
    if let Some(sourced) = args.text("fsdp")
        && !matches!(
            sourced.value.to_ascii_lowercase().as_str(),
            "" | "false" | "none" | "0" | "[]"
        )
    {
        let what = "transformers refuses `fsdp` together with DeepSpeed";
        found.at(
            [Place::from(&sourced)],
            what,
            drop_word(&sourced.from).of(Owner::Trainer),
        );
    }
    if let (Some(only), Some(best)) = (on("save_only_model"), on("load_best_model_at_end"))
        && !subject.has_before("transformers", [4, 38, 0])
    {
        let what =
            "transformers refuses `save_only_model` with `load_best_model_at_end` under DeepSpeed";
        found.at(
            [Place::from(&only.from), Place::from(&best.from)],
            what,
            drop_word(&only.from).of(Owner::Trainer),
        );
    }
}
