//! The table: one entry for each key that may be "auto", and the few ways a value is computed.

use serde_json::{Value, json};

use super::context::{Answer, FillContext, FillSource, FilledValue, Unfilled};
use crate::base::json;
use crate::base::python_value;
use crate::base::source::Sourced;
use crate::base::vars;

/// One key that may be "auto".
pub struct AutoRule {
    pub key: &'static str,
    pub doc: &'static str,
    /// transformers compares a concrete value with its own and refuses a difference.
    pub compared: bool,
    /// A value to paste for a plain DeepSpeed script; `None` where zlaunch fills none for such a script.
    pub(super) plain: Option<&'static str>,
    pub(super) value: fn(&FillContext) -> Answer,
}

const NEEDS_DATASET: &str = "needs the length of the dataset";

/// The table. Its order is that of the documentation and of the plan.
pub const RULES: &[AutoRule] = &[
    AutoRule {
        key: "train_micro_batch_size_per_gpu",
        doc: "per_device_train_batch_size",
        compared: true,
        plain: Some("1"),
        value: |context| Ok(context.batch("per_device_train_batch_size")?.into()),
    },
    AutoRule {
        key: "gradient_accumulation_steps",
        doc: "gradient_accumulation_steps",
        compared: true,
        plain: Some("1"),
        value: |context| Ok(context.batch("gradient_accumulation_steps")?.into()),
    },
    AutoRule {
        key: "train_batch_size",
        doc: "world size × per_device_train_batch_size × gradient_accumulation_steps",
        compared: true,
        plain: None,
        value: |context| context.global_batch(),
    },
    AutoRule {
        key: "gradient_clipping",
        doc: "max_grad_norm",
        compared: true,
        plain: Some("1.0"),
        value: |context| Ok(context.float("max_grad_norm")?.into()),
    },
    AutoRule {
        key: "optimizer.params.lr",
        doc: "learning_rate",
        compared: true,
        plain: Some("1e-5"),
        value: |context| Ok(context.float("learning_rate")?.into()),
    },
    AutoRule {
        key: "optimizer.params.betas",
        doc: "[adam_beta1, adam_beta2]",
        compared: true,
        plain: Some("[0.9,0.999]"),
        value: |context| {
            let (one, two) = (context.float("adam_beta1")?, context.float("adam_beta2")?);
            Ok(FilledValue::new([one.value, two.value].as_slice(), FillSource::Arguments(one.from, two.from)))
        },
    },
    AutoRule {
        key: "optimizer.params.eps",
        doc: "adam_epsilon",
        compared: true,
        plain: Some("1e-8"),
        value: |context| Ok(context.float("adam_epsilon")?.into()),
    },
    AutoRule {
        key: "optimizer.params.weight_decay",
        doc: "weight_decay",
        compared: true,
        plain: Some("0.0"),
        value: |context| Ok(context.float("weight_decay")?.into()),
    },
    AutoRule {
        key: "scheduler.params.warmup_min_lr",
        doc: "always 0",
        compared: false,
        plain: Some("0"),
        value: |_| Ok(FilledValue::new(0, FillSource::Constant("always 0"))),
    },
    AutoRule {
        key: "scheduler.params.warmup_max_lr",
        doc: "learning_rate",
        compared: true,
        plain: Some("1e-5"),
        value: |context| Ok(context.float("learning_rate")?.into()),
    },
    AutoRule {
        key: "scheduler.params.total_num_steps",
        doc: "max_steps, else the length of the dataset",
        compared: true,
        plain: Some("1000"),
        value: |context| {
            let steps = context.given("max_steps", |args| args.int("max_steps"))?.filter(|steps| steps.value > 0);
            Ok(steps.ok_or_else(|| Unfilled::deferred(NEEDS_DATASET))?.into())
        },
    },
    AutoRule {
        key: "scheduler.params.warmup_num_steps",
        doc: "warmup_steps from 1 on; a ratio needs the length of the dataset",
        compared: true,
        plain: Some("100"),
        value: |context| context.warmup_steps(),
    },
    AutoRule {
        key: "fp16.enabled",
        doc: "fp16 or fp16_full_eval; in ms-swift also --torch_dtype float16 or float32",
        compared: true,
        plain: Some("false"),
        value: |context| context.precision(context.job.trainer.model.fp16, "fp16"),
    },
    AutoRule {
        key: "bf16.enabled",
        doc: "bf16 or bf16_full_eval; in ms-swift also --torch_dtype bfloat16",
        compared: true,
        plain: Some("true"),
        value: |context| context.precision(context.job.trainer.model.bf16, "bf16"),
    },
    AutoRule {
        key: "zero_optimization.reduce_bucket_size",
        doc: "hidden_size²",
        compared: false,
        plain: Some("500000000"),
        value: |context| context.sized(true, |h| (json!(h * h), "hidden_size²")),
    },
    AutoRule {
        key: "zero_optimization.stage3_prefetch_bucket_size",
        doc: "⌊0.9 · hidden_size²⌋ (not rounded at stage 3 before transformers 4.45, below before accelerate 0.31); ms-swift's GRPO sets 0",
        compared: false,
        plain: Some("50000000"),
        value: |context| {
            if context.job.args.text("rlhf_type").is_some_and(|sourced| sourced.value == "grpo") {
                return Err(Unfilled::deferred("ms-swift sets it to 0 for GRPO at stage 3"));
            }
            if context.keeps_fractions() {
                return context.sized(false, |h| (unrounded(h), "0.9 · hidden_size²"));
            }
            context.sized(false, |h| (json!(nine_tenths_squared(h)), "⌊0.9 · hidden_size²⌋"))
        },
    },
    AutoRule {
        key: "zero_optimization.stage3_param_persistence_threshold",
        doc: "10 · hidden_size",
        compared: false,
        plain: Some("100000"),
        value: |context| context.sized(false, |h| (json!(10 * h), "10 · hidden_size")),
    },
    AutoRule {
        key: "zero_optimization.stage",
        doc: "2, as accelerate fills it",
        compared: false,
        plain: None,
        value: |context| context.accelerate(vars::ACCELERATE_DEEPSPEED_ZERO_STAGE, json!(2)),
    },
    AutoRule {
        key: "zero_optimization.offload_optimizer.device",
        doc: "\"none\", as accelerate fills it",
        compared: false,
        plain: None,
        value: |context| context.accelerate(vars::ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE, json!("none")),
    },
    AutoRule {
        key: "zero_optimization.offload_param.device",
        doc: "\"none\", as accelerate fills it",
        compared: false,
        plain: None,
        value: |context| context.accelerate(vars::ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE, json!("none")),
    },
    AutoRule {
        key: "zero_optimization.offload_optimizer.nvme_path",
        doc: "the text \"none\", as accelerate fills it",
        compared: false,
        plain: None,
        value: |context| context.accelerate(vars::ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_NVME_PATH, json!("none")),
    },
    AutoRule {
        key: "zero_optimization.offload_param.nvme_path",
        doc: "the text \"none\", as accelerate fills it",
        compared: false,
        plain: None,
        value: |context| context.accelerate(vars::ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_NVME_PATH, json!("none")),
    },
    AutoRule {
        key: "zero_optimization.stage3_gather_16bit_weights_on_model_save",
        doc: "false, as accelerate fills it",
        compared: false,
        plain: None,
        value: |context| context.accelerate(vars::ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL, json!(false)),
    },
    AutoRule {
        key: "amp.enabled",
        doc: "left to transformers before 5.0; nobody fills it since",
        compared: false,
        plain: None,
        value: |context| context.amp(),
    },
    AutoRule { key: "amp.opt_level", doc: "the same", compared: false, plain: None, value: |context| context.amp() },
    AutoRule {
        key: "steps_per_print",
        doc: "accelerate overwrites it with infinity, whatever it is",
        compared: false,
        plain: None,
        value: |_| Err(Unfilled::deferred("accelerate overwrites it with infinity")),
    },
];

impl FillContext<'_> {
    /// A float argument as JSON; Python keeps `1` given to a float as 1.0.
    fn float(&self, name: &'static str) -> Result<Sourced<Value>, Unfilled> {
        let given = self.given(name, |args| args.float(name))?.or_else(|| self.default(name, python_value::float));
        let Some(argument) = given else { return Err(self.not_given(name)) };
        match serde_json::Number::from_f64(argument.value) {
            Some(number) => Ok(Sourced::new(Value::Number(number), argument.from)),
            None => Err(Unfilled::Deferred(format!("{} cannot be written as JSON", argument.place()))),
        }
    }

    pub(super) fn not_given(&self, name: &str) -> Unfilled {
        Unfilled::Deferred(match self.job.args.unclear(name) {
            Some(word) => format!("{word} may abbreviate --{name}: write it out"),
            None => format!("--{name} is not given"),
        })
    }

    /// A batch argument, unless something rewrites the batch later.
    fn batch(&self, name: &'static str) -> Result<Sourced<i64>, Unfilled> {
        self.batch_is_final()?;
        let given = self.given(name, |args| args.int(name))?.or_else(|| self.default(name, python_value::int));
        given.ok_or_else(|| self.not_given(name))
    }

    fn batch_is_final(&self) -> Result<(), Unfilled> {
        let args = &self.job.args;
        if args.bool("auto_find_batch_size", true)?.is_some_and(|sourced| sourced.value) {
            return Err(Unfilled::deferred("--auto_find_batch_size tries several"));
        }
        if args.is_given("parallelism_config") {
            return Err(Unfilled::deferred("--parallelism_config may divide it"));
        }
        if args.int("sequence_parallel_size")?.is_some_and(|sourced| sourced.value > 1) {
            return Err(Unfilled::deferred("--sequence_parallel_size changes how it counts"));
        }
        let elastic = args.words().iter().any(|word| word == "deepspeed_elastic");
        if args.is_given("callbacks") && elastic {
            return Err(Unfilled::deferred("the deepspeed_elastic callback rewrites it"));
        }
        Ok(())
    }

    fn global_batch(&self) -> Answer {
        let micro = self.batch("per_device_train_batch_size")?;
        let steps = self.batch("gradient_accumulation_steps")?;
        let Some(world) = &self.topology.world_size else {
            return Err(Unfilled::deferred("the launcher leaves the number of ranks open"));
        };
        let product = i128::from(world.value) * i128::from(micro.value) * i128::from(steps.value);
        let Ok(product) = i64::try_from(product) else {
            return Err(Unfilled::deferred("the product is too large"));
        };
        let nodes = self.topology.nnodes.as_ref().map_or(1, |nodes| nodes.value);
        let ranks = match &self.topology.nproc_per_node {
            Some(nproc) if nodes > 1 => format!("{nodes} × {}", nproc.value),
            _ => world.value.to_string(),
        };
        let world_size = world.from.clone();
        let from = FillSource::GlobalBatch { ranks, micro_batch: micro, accumulation: steps, world_size };
        Ok(FilledValue::new(product, from))
    }

    /// From 1 on it is a number of steps. Below, it is a share of the steps, which depend on the dataset.
    fn warmup_steps(&self) -> Answer {
        let Some(warmup) = self.given("warmup_steps", |args| args.float("warmup_steps"))? else {
            return self.no_warmup().ok_or_else(|| self.not_given("warmup_steps"));
        };
        if warmup.value < 1.0 || warmup.value > 1e15 || self.job.args.is_given("warmup_ratio") {
            return Err(Unfilled::deferred(NEEDS_DATASET));
        }
        #[expect(clippy::cast_possible_truncation, reason = "Python's int() truncates too; the range was checked")]
        let steps = warmup.value as i64;
        Ok(FilledValue::new(steps, FillSource::Argument(warmup.from)))
    }

    /// Whether the trainer's transformers is known to be older than that.
    pub(super) fn transformers_before(&self, version: [u32; 3]) -> bool {
        self.installed_before("transformers", version)
    }

    fn installed_before(&self, distribution: &str, version: [u32; 3]) -> bool {
        let python = self.job.python.as_ref().filter(|_| self.job.trainer.is_hf());
        python.and_then(|python| python.version(distribution)).is_some_and(|found| found.is_before(version))
    }

    /// transformers fills the sizes of stage 3 only; below it accelerate does, by rules of its own.
    fn is_stage3(&self) -> bool {
        json::get(self.config, "zero_optimization.stage") == Some(&json!(3))
    }

    /// Whether whoever fills the prefetch bucket does not round it.
    fn keeps_fractions(&self) -> bool {
        if self.is_stage3() {
            self.transformers_before([4, 45, 0])
        } else {
            self.installed_before("accelerate", [0, 31, 0])
        }
    }

    /// The three sizes that follow from the model. Below stage 3, accelerate fills the last two, and it does not look
    /// into a text model's section.
    fn sized(&self, at_every_stage: bool, of: fn(u64) -> (Value, &'static str)) -> Answer {
        let hidden = self.hidden_size()?;
        if !at_every_stage && !self.is_stage3() && !hidden.at_top {
            return Err(Unfilled::deferred("below stage 3 accelerate does not look into text_config"));
        }
        if !hidden.at_top && self.transformers_before([4, 46, 0]) {
            return Err(Unfilled::deferred("transformers before 4.46 does not look into text_config"));
        }
        if hidden.value == 0 || hidden.value > 1 << 24 {
            return Err(Unfilled::Deferred(format!("hidden_size {} is not plausible", hidden.value)));
        }
        let (size, formula) = of(hidden.value);
        let from = FillSource::HiddenSize { formula, size: hidden.value, file: hidden.file.clone() };
        Ok(FilledValue::new(size, from))
    }

    fn amp(&self) -> Answer {
        let filled = self.transformers_before([5, 0, 0]);
        Err(if filled { Unfilled::deferred("transformers before 5.0 fills it") } else { Unfilled::Unsupported })
    }

    /// accelerate's own defaults. Its variable would override them at a later point, so with one set it is left alone.
    fn accelerate(&self, variable: &str, default: Value) -> Answer {
        match self.host.raw(variable) {
            Some(_) => Err(Unfilled::Deferred(format!("accelerate takes it from {variable}"))),
            None => Ok(FilledValue::new(default, FillSource::Constant("accelerate's default"))),
        }
    }
}

/// Python's `int(0.9 * h * h)`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "h is below 2^24")]
fn nine_tenths_squared(h: u64) -> u64 {
    (0.9 * as_float(h) * as_float(h)) as u64
}

/// The same without `int`. DeepSpeed takes 23592960.0 for a whole number, and refuses one with a fraction.
fn unrounded(h: u64) -> Value {
    let size = 0.9 * as_float(h) * as_float(h);
    if size.fract() == 0.0 { json!(nine_tenths_squared(h)) } else { json!(size) }
}

#[expect(clippy::cast_precision_loss, reason = "a hidden size is below 2^24")]
fn as_float(h: u64) -> f64 {
    h as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_tenths_is_pythons_int() {
        // python3 -c 'print([int(0.9*h*h) for h in (3584, 4096, 5120, 8192, 64, 7)])'
        for (h, size) in
            [(3584, 11_560_550), (4096, 15_099_494), (5120, 23_592_960), (8192, 60_397_977), (64, 3686), (7, 44)]
        {
            assert_eq!(nine_tenths_squared(h), size, "{h}");
        }
        assert_eq!((unrounded(5120), unrounded(64)), (json!(23_592_960), json!(3686.4)));
    }

    #[test]
    fn the_table_has_the_26_keys_and_no_key_twice() {
        assert_eq!(RULES.len(), 26);
        for (at, rule) in RULES.iter().enumerate() {
            assert!(RULES[at + 1..].iter().all(|other| other.key != rule.key), "{}", rule.key);
        }
    }
}
