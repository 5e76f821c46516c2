//! The few ways a value for an "auto" is computed.

use serde_json::{Value, json};

use super::context::{Answer, FillContext, FilledValue, Unfilled};
use crate::base::source::Sourced;
use crate::config::tables::{AutoRule, Constant, Formula, RULES};

const NEEDS_DATASET: &str = "needs the length of the dataset";

impl AutoRule {
    pub(super) fn value(&self, context: &FillContext) -> Answer {
        match self.how {
            Formula::Batch(argument) => Ok(context.batch(argument)?.into()),
            Formula::Float(argument) => Ok(context.float(argument)?.into()),
            Formula::Precision(precision) => context.precision(precision),
            // The variable overrides the default later.
            Formula::Accelerate { variable, .. } if context.host.var_os(variable).is_some() => Err(
                Unfilled::Deferred(format!("accelerate reads it from {variable}")),
            ),
            Formula::Accelerate { ref default, .. } => {
                let value = match *default {
                    Constant::Number(number) => number.into(),
                    Constant::Text(text) => text.into(),
                    Constant::Bool(on) => Value::Bool(on),
                };
                Ok(FilledValue::fixed(value, "accelerate's default"))
            }
            Formula::Zero => Ok(FilledValue::fixed(0, "always 0")),
            Formula::LeftOpen(why) => Err(Unfilled::deferred(why)),
            Formula::GlobalBatch => global_batch(context),
            Formula::Betas => betas(context),
            Formula::TotalSteps => total_steps(context),
            Formula::WarmupSteps => warmup_steps(context),
            Formula::ReduceBucket => sized(context, true, |h| (json!(h * h), "hidden_size²")),
            Formula::PrefetchBucket => prefetch_bucket(context),
            Formula::PersistenceThreshold => {
                sized(context, false, |h| (json!(10 * h), "10 · hidden_size"))
            }
            Formula::Apex if context.installed_before("transformers", [5, 0, 0]) => {
                Err(Unfilled::deferred("transformers before 5.0 fills it in"))
            }
            Formula::Apex => Err(Unfilled::Unsupported),
        }
    }
}

impl FillContext<'_> {
    /// Half precision by the arguments and the trainer's defaults, as far as they are known.
    pub(crate) fn is_on(&self, key: &str) -> Option<Sourced<bool>> {
        let rule = RULES
            .iter()
            .find(|rule| rule.key == key && self.job.trainer.source_of_auto(key).is_none())?;
        let filled = rule.value(&self.comparing()).ok()?;
        Some(Sourced::new(
            filled.value.as_bool()?,
            filled.arguments.into_iter().next()?,
        ))
    }
}

/// A size that follows from the model. Below stage 3, accelerate fills two of the three, without a look at `text_config`.
fn sized(
    context: &FillContext,
    at_every_stage: bool,
    of: fn(u64) -> (Value, &'static str),
) -> Answer {
    // TRL initialises a reference model before transformers fills these sizes; DeepSpeed drops an "auto" there.
    if (context.job.trainer.model.has_reference)(&context.job.args, &context.job.target) {
        return Err(Unfilled::deferred("the reference model gets it unchanged"));
    }
    let hidden = context.hidden_size()?;
    if !at_every_stage && !context.is_stage3() && !hidden.at_top {
        return Err(Unfilled::deferred(
            "below stage 3 accelerate does not look into text_config",
        ));
    }
    if !hidden.at_top && context.installed_before("transformers", [4, 46, 0]) {
        return Err(Unfilled::deferred(
            "transformers before 4.46 does not look into text_config",
        ));
    }
    if hidden.value == 0 || hidden.value > 1 << 24 {
        return Err(Unfilled::Deferred(format!(
            "hidden_size {} is implausible",
            hidden.value
        )));
    }
    let (size, formula) = of(hidden.value);
    let from = format!(
        "{formula}, hidden_size {} in {}",
        hidden.value,
        hidden.file.display()
    );
    Ok(FilledValue::fixed(size, from))
}

fn betas(context: &FillContext) -> Answer {
    let one = context.float("adam_beta1")?;
    let two = context.float("adam_beta2")?;
    let from = format!("{}, {}", one.from, two.from);
    Ok(FilledValue {
        value: json!([one.value, two.value]),
        from,
        arguments: vec![one.from, two.from],
    })
}

fn total_steps(context: &FillContext) -> Answer {
    let steps = context
        .given("max_steps", |args| args.int("max_steps"))?
        .filter(|steps| steps.value > 0);
    Ok(steps
        .ok_or_else(|| Unfilled::deferred(NEEDS_DATASET))?
        .into())
}

fn prefetch_bucket(context: &FillContext) -> Answer {
    if context
        .job
        .args
        .text("rlhf_type")
        .is_some_and(|sourced| sourced.value == "grpo")
    {
        return Err(Unfilled::deferred(
            "ms-swift sets it to 0 for GRPO at stage 3",
        ));
    }
    // transformers fills it at stage 3, accelerate below. Old versions of both do not round.
    let keeps_fractions = if context.is_stage3() {
        context.installed_before("transformers", [4, 45, 0])
    } else {
        context.installed_before("accelerate", [0, 31, 0])
    };
    if keeps_fractions {
        return sized(context, false, |h| {
            (nine_tenths_squared(h, false), "0.9 · hidden_size²")
        });
    }
    sized(context, false, |h| {
        (nine_tenths_squared(h, true), "⌊0.9 · hidden_size²⌋")
    })
}

fn global_batch(context: &FillContext) -> Answer {
    let micro = context.batch("per_device_train_batch_size")?;
    let steps = context.batch("gradient_accumulation_steps")?;
    let Some(world) = &context.topology.world_size else {
        return Err(Unfilled::deferred(
            "the launcher leaves the number of ranks open",
        ));
    };
    let product = i128::from(world.value) * i128::from(micro.value) * i128::from(steps.value);
    let Ok(product) = i64::try_from(product) else {
        return Err(Unfilled::deferred("the product is too large"));
    };
    let nodes = context
        .topology
        .nnodes
        .as_ref()
        .map_or(1, |nodes| nodes.value);
    let ranks = match &context.topology.nproc_per_node {
        Some(nproc) if nodes > 1 => format!("{nodes} × {}", nproc.value),
        _ => world.value.to_string(),
    };
    let from = format!(
        "{ranks} × {} × {} ({}, {}, {})",
        micro.value, steps.value, world.from, micro.from, steps.from
    );
    Ok(FilledValue {
        value: product.into(),
        from,
        arguments: vec![micro.from, steps.from],
    })
}

/// From 1 on, `warmup_steps` is a number of steps. Below, it is a share of the steps, which depend on the dataset.
fn warmup_steps(context: &FillContext) -> Answer {
    let Some(warmup) = context.given("warmup_steps", |args| args.float("warmup_steps"))? else {
        return context
            .no_warmup()
            .ok_or_else(|| context.not_given("warmup_steps"));
    };
    if warmup.value < 1.0 || warmup.value > 1e15 || context.job.args.is_given("warmup_ratio") {
        return Err(Unfilled::deferred(NEEDS_DATASET));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "Python's int() truncates too; the range was checked"
    )]
    let steps = warmup.value as i64;
    Ok(Sourced::new(steps, warmup.from).into())
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
    if rounded || size.fract() == 0.0 {
        json!(size as u64)
    } else {
        json!(size)
    }
}
