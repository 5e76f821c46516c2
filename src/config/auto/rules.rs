//! The table: one row for each key that may be "auto", and the few ways a value is computed.

use serde_json::{Value, json};

use super::context::{Answer, FillContext, FilledValue, Unfilled};
use crate::base::source::Sourced;
use crate::base::vars;

pub struct AutoRule {
    pub key: &'static str,
    pub doc: &'static str,
    /// transformers compares a concrete value with its own and refuses a difference.
    pub compared: bool,
    /// A value to paste for a plain DeepSpeed script; `None` where zlaunch fills none for such a script.
    pub(super) plain: Option<&'static str>,
    compute: Compute,
}

enum Compute {
    /// A whole number among the arguments, which something may change later.
    Batch(&'static str),
    Float(&'static str),
    /// A variable, and the JSON value that accelerate takes without it.
    Accelerate(&'static str, &'static str),
    With(fn(&FillContext) -> Answer),
}

use Compute::{Accelerate, Batch, Float, With};

const fn compared(key: &'static str, plain: Option<&'static str>, doc: &'static str, compute: Compute) -> AutoRule {
    AutoRule { key, doc, compared: true, plain, compute }
}

const fn filled(key: &'static str, plain: Option<&'static str>, doc: &'static str, compute: Compute) -> AutoRule {
    AutoRule { key, doc, compared: false, plain, compute }
}

const MICRO_BATCH: &str = "per_device_train_batch_size";
const ACCUMULATION: &str = "gradient_accumulation_steps";
const NEEDS_DATASET: &str = "needs the length of the dataset";

#[rustfmt::skip]
pub const RULES: &[AutoRule] = &[
    compared("train_micro_batch_size_per_gpu", Some("1"), MICRO_BATCH, Batch(MICRO_BATCH)),
    compared("gradient_accumulation_steps", Some("1"), ACCUMULATION, Batch(ACCUMULATION)),
    compared("train_batch_size", None, "world size × per_device_train_batch_size × gradient_accumulation_steps",
        With(global_batch)),
    compared("gradient_clipping", Some("1.0"), "max_grad_norm", Float("max_grad_norm")),
    compared("optimizer.params.lr", Some("1e-5"), "learning_rate", Float("learning_rate")),
    compared("optimizer.params.betas", Some("[0.9,0.999]"), "[adam_beta1, adam_beta2]", With(betas)),
    compared("optimizer.params.eps", Some("1e-8"), "adam_epsilon", Float("adam_epsilon")),
    compared("optimizer.params.weight_decay", Some("0.0"), "weight_decay", Float("weight_decay")),
    filled("scheduler.params.warmup_min_lr", Some("0"), "always 0",
        With(|_| Ok(FilledValue::fixed(0, "always 0")))),
    compared("scheduler.params.warmup_max_lr", Some("1e-5"), "learning_rate", Float("learning_rate")),
    compared("scheduler.params.total_num_steps", Some("1000"), "max_steps, else the length of the dataset",
        With(total_steps)),
    compared("scheduler.params.warmup_num_steps", Some("100"),
        "warmup_steps from 1 on; a ratio needs the length of the dataset", With(warmup_steps)),
    compared("fp16.enabled", Some("false"), "fp16 or fp16_full_eval; in ms-swift also --torch_dtype float16 or float32",
        With(|context| context.precision(context.job.trainer.model.fp16, "fp16"))),
    compared("bf16.enabled", Some("true"), "bf16 or bf16_full_eval; in ms-swift also --torch_dtype bfloat16",
        With(|context| context.precision(context.job.trainer.model.bf16, "bf16"))),
    filled("zero_optimization.reduce_bucket_size", Some("500000000"), "hidden_size²",
        With(|context| sized(context, true, |h| (json!(h * h), "hidden_size²")))),
    filled("zero_optimization.stage3_prefetch_bucket_size", Some("50000000"),
        "⌊0.9 · hidden_size²⌋ (not rounded at stage 3 before transformers 4.45, below before accelerate 0.31); ms-swift's GRPO sets 0",
        With(prefetch_bucket)),
    filled("zero_optimization.stage3_param_persistence_threshold", Some("100000"), "10 · hidden_size",
        With(|context| sized(context, false, |h| (json!(10 * h), "10 · hidden_size")))),
    filled("zero_optimization.stage", None, "2, as accelerate fills it in",
        Accelerate(vars::ACCELERATE_DEEPSPEED_ZERO_STAGE, "2")),
    filled("zero_optimization.offload_optimizer.device", None, "\"none\", as accelerate fills it in",
        Accelerate(vars::ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE, "\"none\"")),
    filled("zero_optimization.offload_param.device", None, "\"none\", as accelerate fills it in",
        Accelerate(vars::ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE, "\"none\"")),
    filled("zero_optimization.offload_optimizer.nvme_path", None, "the string \"none\", as accelerate fills it in",
        Accelerate(vars::ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_NVME_PATH, "\"none\"")),
    filled("zero_optimization.offload_param.nvme_path", None, "the string \"none\", as accelerate fills it in",
        Accelerate(vars::ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_NVME_PATH, "\"none\"")),
    filled("zero_optimization.stage3_gather_16bit_weights_on_model_save", None, "false, as accelerate fills it in",
        Accelerate(vars::ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL, "false")),
    filled("amp.enabled", None, "filled in by transformers before 5.0, and by nothing after that", With(amp)),
    filled("amp.opt_level", None, "the same", With(amp)),
    filled("steps_per_print", None, "accelerate overwrites it with infinity, whatever it is",
        With(|_| Err(Unfilled::deferred("accelerate overwrites it with infinity")))),
];

impl AutoRule {
    pub(super) fn value(&self, context: &FillContext) -> Answer {
        match self.compute {
            Batch(argument) => Ok(context.batch(argument)?.into()),
            Float(argument) => Ok(context.float(argument)?.into()),
            // The variable overrides the default later.
            Accelerate(variable, _) if context.host.var_os(variable).is_some() => {
                Err(Unfilled::Deferred(format!("accelerate reads it from {variable}")))
            }
            Accelerate(_, default) => {
                let value: Value = serde_json::from_str(default).unwrap_or_default();
                Ok(FilledValue::fixed(value, "accelerate's default"))
            }
            With(compute) => compute(context),
        }
    }
}

impl FillContext<'_> {
    /// Half precision by the arguments and the trainer's defaults, as far as they are known.
    pub(crate) fn is_on(&self, key: &str) -> Option<Sourced<bool>> {
        let rule = RULES.iter().find(|rule| rule.key == key && self.job.trainer.source_of_auto(key).is_none())?;
        let filled = rule.value(&self.comparing()).ok()?;
        Some(Sourced::new(filled.value.as_bool()?, filled.arguments.into_iter().next()?))
    }
}

/// A size that follows from the model. Below stage 3, accelerate fills two of the three, without a look at `text_config`.
fn sized(context: &FillContext, at_every_stage: bool, of: fn(u64) -> (Value, &'static str)) -> Answer {
    // TRL initialises a reference model before transformers fills these sizes; DeepSpeed drops an "auto" there.
    if (context.job.trainer.model.has_reference)(&context.job.args, &context.job.target) {
        return Err(Unfilled::deferred("the reference model gets it unchanged"));
    }
    let hidden = context.hidden_size()?;
    if !at_every_stage && !context.is_stage3() && !hidden.at_top {
        return Err(Unfilled::deferred("below stage 3 accelerate does not look into text_config"));
    }
    if !hidden.at_top && context.installed_before("transformers", [4, 46, 0]) {
        return Err(Unfilled::deferred("transformers before 4.46 does not look into text_config"));
    }
    if hidden.value == 0 || hidden.value > 1 << 24 {
        return Err(Unfilled::Deferred(format!("hidden_size {} is implausible", hidden.value)));
    }
    let (size, formula) = of(hidden.value);
    let from = format!("{formula}, hidden_size {} in {}", hidden.value, hidden.file.display());
    Ok(FilledValue::fixed(size, from))
}

fn betas(context: &FillContext) -> Answer {
    let (one, two) = (context.float("adam_beta1")?, context.float("adam_beta2")?);
    let from = format!("{}, {}", one.from, two.from);
    Ok(FilledValue { value: json!([one.value, two.value]), from, arguments: vec![one.from, two.from] })
}

fn total_steps(context: &FillContext) -> Answer {
    let steps = context.given("max_steps", |args| args.int("max_steps"))?.filter(|steps| steps.value > 0);
    Ok(steps.ok_or_else(|| Unfilled::deferred(NEEDS_DATASET))?.into())
}

fn prefetch_bucket(context: &FillContext) -> Answer {
    if context.job.args.text("rlhf_type").is_some_and(|sourced| sourced.value == "grpo") {
        return Err(Unfilled::deferred("ms-swift sets it to 0 for GRPO at stage 3"));
    }
    // transformers fills it at stage 3, accelerate below. Old versions of both do not round.
    let keeps_fractions = if context.is_stage3() {
        context.installed_before("transformers", [4, 45, 0])
    } else {
        context.installed_before("accelerate", [0, 31, 0])
    };
    if keeps_fractions {
        return sized(context, false, |h| (nine_tenths_squared(h, false), "0.9 · hidden_size²"));
    }
    sized(context, false, |h| (nine_tenths_squared(h, true), "⌊0.9 · hidden_size²⌋"))
}

fn global_batch(context: &FillContext) -> Answer {
    let micro = context.batch(MICRO_BATCH)?;
    let steps = context.batch(ACCUMULATION)?;
    let Some(world) = &context.topology.world_size else {
        return Err(Unfilled::deferred("the launcher leaves the number of ranks open"));
    };
    let product = i128::from(world.value) * i128::from(micro.value) * i128::from(steps.value);
    let Ok(product) = i64::try_from(product) else {
        return Err(Unfilled::deferred("the product is too large"));
    };
    let nodes = context.topology.nnodes.as_ref().map_or(1, |nodes| nodes.value);
    let ranks = match &context.topology.nproc_per_node {
        Some(nproc) if nodes > 1 => format!("{nodes} × {}", nproc.value),
        _ => world.value.to_string(),
    };
    let from = format!("{ranks} × {} × {} ({}, {}, {})", micro.value, steps.value, world.from, micro.from, steps.from);
    Ok(FilledValue { value: product.into(), from, arguments: vec![micro.from, steps.from] })
}

/// From 1 on, `warmup_steps` is a number of steps. Below, it is a share of the steps, which depend on the dataset.
fn warmup_steps(context: &FillContext) -> Answer {
    let Some(warmup) = context.given("warmup_steps", |args| args.float("warmup_steps"))? else {
        return context.no_warmup().ok_or_else(|| context.not_given("warmup_steps"));
    };
    if warmup.value < 1.0 || warmup.value > 1e15 || context.job.args.is_given("warmup_ratio") {
        return Err(Unfilled::deferred(NEEDS_DATASET));
    }
    #[expect(clippy::cast_possible_truncation, reason = "Python's int() truncates too; the range was checked")]
    let steps = warmup.value as i64;
    Ok(Sourced::new(steps, warmup.from).into())
}

fn amp(context: &FillContext) -> Answer {
    let filled = context.installed_before("transformers", [5, 0, 0]);
    Err(if filled { Unfilled::deferred("transformers before 5.0 fills it in") } else { Unfilled::Unsupported })
}

/// Python's `int(0.9 * h * h)`, or the same without `int`. DeepSpeed takes 23592960.0 for a whole number, and refuses a
/// number with a fraction.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "h is below 2^24"
)]
fn nine_tenths_squared(h: u64, rounded: bool) -> Value {
    let size = 0.9 * h as f64 * h as f64;
    if rounded || size.fract() == 0.0 { json!(size as u64) } else { json!(size) }
}
