//! What becomes of every "auto": one table of rules that mirrors what transformers and accelerate do, down to the
//! numeric type. Each fill is a JSON Patch pair `test "auto"` + `replace`, so nothing but an "auto" can ever change.

use json_patch::jsonptr::PointerBuf;
use json_patch::{Patch, PatchOperation, ReplaceOperation, TestOperation};
use serde_json::{Value, json};

use crate::argv::Args;
use crate::error::{self, Problem};
use crate::host::Host;
use crate::json;
use crate::model::{self, HiddenSize};
use crate::said::Said;
use crate::topology::Topology;
use crate::trainer::{Family, Job, Precision};
use crate::vars;

/// One key that may be "auto".
pub(crate) struct Rule {
    pub(crate) key: &'static str,
    pub(crate) doc: &'static str,
    /// transformers compares a concrete value with its own and refuses a difference.
    pub(crate) compared: bool,
    /// A value to paste for a plain DeepSpeed script; `None` where such a script is not given one by us.
    plain: Option<&'static str>,
    value: fn(&Known) -> Answer,
}

/// The value and where it comes from, or why it is left to the trainer.
type Answer = Result<(Value, String), Left>;

#[derive(Debug)]
pub(crate) enum Left {
    Why(String),
    /// The argument itself is wrong: the trainer would refuse it.
    Wrong(Problem),
}

impl From<Problem> for Left {
    fn from(problem: Problem) -> Self {
        // `$(expr 16 / 8)` in single quotes, or a command copied out of a script: not a wrong value, but none at all.
        match problem.places.iter().find(|place| place.contains('$')) {
            Some(place) => Left::Why(format!("the shell did not expand {place}")),
            None => Left::Wrong(problem),
        }
    }
}

/// What the rules may look at.
pub(crate) struct Known<'a> {
    pub(crate) job: &'a Job,
    pub(crate) topology: &'a Topology,
    pub(crate) config: &'a Value,
    pub(crate) hidden: Result<HiddenSize, String>,
    pub(crate) host: &'a Host,
}

/// One "auto" that was filled.
#[derive(Debug, PartialEq)]
pub(crate) struct Fill {
    pub(crate) key: &'static str,
    pub(crate) value: Value,
    pub(crate) from: String,
}

/// One "auto" that was left to the trainer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LeftAuto {
    pub(crate) key: String,
    pub(crate) why: String,
}

/// The table. Its order is that of the documentation and of the plan.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        key: "train_micro_batch_size_per_gpu",
        doc: "per_device_train_batch_size",
        compared: true,
        plain: Some("1"),
        value: |known| {
            known.batch("per_device_train_batch_size").map(|said| (json!(said.value), said.from.to_string()))
        },
    },
    Rule {
        key: "gradient_accumulation_steps",
        doc: "gradient_accumulation_steps",
        compared: true,
        plain: Some("1"),
        value: |known| {
            known.batch("gradient_accumulation_steps").map(|said| (json!(said.value), said.from.to_string()))
        },
    },
    Rule {
        key: "train_batch_size",
        doc: "world size × per_device_train_batch_size × gradient_accumulation_steps",
        compared: true,
        plain: None,
        value: |known| known.global_batch(),
    },
    Rule {
        key: "gradient_clipping",
        doc: "max_grad_norm",
        compared: true,
        plain: Some("1.0"),
        value: |known| known.float("max_grad_norm"),
    },
    Rule {
        key: "optimizer.params.lr",
        doc: "learning_rate",
        compared: true,
        plain: Some("1e-5"),
        value: |known| known.float("learning_rate"),
    },
    Rule {
        key: "optimizer.params.betas",
        doc: "[adam_beta1, adam_beta2]",
        compared: true,
        plain: Some("[0.9,0.999]"),
        value: |known| {
            let (one, from_one) = known.float("adam_beta1")?;
            let (two, from_two) = known.float("adam_beta2")?;
            Ok((json!([one, two]), format!("{from_one}, {from_two}")))
        },
    },
    Rule {
        key: "optimizer.params.eps",
        doc: "adam_epsilon",
        compared: true,
        plain: Some("1e-8"),
        value: |known| known.float("adam_epsilon"),
    },
    Rule {
        key: "optimizer.params.weight_decay",
        doc: "weight_decay",
        compared: true,
        plain: Some("0.0"),
        value: |known| known.float("weight_decay"),
    },
    Rule {
        key: "scheduler.params.warmup_min_lr",
        doc: "always 0",
        compared: false,
        plain: Some("0"),
        value: |_| Ok((json!(0), "always 0".to_string())),
    },
    Rule {
        key: "scheduler.params.warmup_max_lr",
        doc: "learning_rate",
        compared: true,
        plain: Some("1e-5"),
        value: |known| known.float("learning_rate"),
    },
    Rule {
        key: "scheduler.params.total_num_steps",
        doc: "max_steps, else the length of the dataset",
        compared: true,
        plain: Some("1000"),
        value: |known| {
            let steps = known.int("max_steps")?.filter(|said| said.value > 0);
            let said = steps.ok_or_else(|| Left::Why("needs the length of the dataset".to_string()))?;
            Ok((json!(said.value), said.from.to_string()))
        },
    },
    Rule {
        key: "scheduler.params.warmup_num_steps",
        doc: "warmup_steps from 1 on; a ratio needs the length of the dataset",
        compared: true,
        plain: Some("100"),
        value: |known| known.warmup_steps(),
    },
    Rule {
        key: "fp16.enabled",
        doc: "fp16 or fp16_full_eval; in ms-swift also --torch_dtype float16 or float32",
        compared: true,
        plain: Some("false"),
        value: |known| known.precision(known.job.trainer.fp16, "fp16"),
    },
    Rule {
        key: "bf16.enabled",
        doc: "bf16 or bf16_full_eval; in ms-swift also --torch_dtype bfloat16",
        compared: true,
        plain: Some("true"),
        value: |known| known.precision(known.job.trainer.bf16, "bf16"),
    },
    Rule {
        key: "zero_optimization.reduce_bucket_size",
        doc: "hidden_size²",
        compared: false,
        plain: Some("500000000"),
        value: |known| known.sized(true, |h| (h * h, "hidden_size²")),
    },
    Rule {
        key: "zero_optimization.stage3_prefetch_bucket_size",
        doc: "⌊0.9 · hidden_size²⌋; ms-swift's GRPO sets 0",
        compared: false,
        plain: Some("50000000"),
        value: |known| {
            if known.job.args.text("rlhf_type").is_some_and(|said| said.value == "grpo") {
                return Err(Left::Why("ms-swift sets it to 0 for GRPO at stage 3".to_string()));
            }
            known.sized(false, |h| (nine_tenths_squared(h), "⌊0.9 · hidden_size²⌋"))
        },
    },
    Rule {
        key: "zero_optimization.stage3_param_persistence_threshold",
        doc: "10 · hidden_size",
        compared: false,
        plain: Some("100000"),
        value: |known| known.sized(false, |h| (10 * h, "10 · hidden_size")),
    },
    Rule {
        key: "zero_optimization.stage",
        doc: "2, as accelerate fills it",
        compared: false,
        plain: None,
        value: |known| known.accelerate(vars::ACCELERATE_DEEPSPEED_ZERO_STAGE, json!(2)),
    },
    Rule {
        key: "zero_optimization.offload_optimizer.device",
        doc: "\"none\", as accelerate fills it",
        compared: false,
        plain: None,
        value: |known| known.accelerate(vars::ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE, json!("none")),
    },
    Rule {
        key: "zero_optimization.offload_param.device",
        doc: "\"none\", as accelerate fills it",
        compared: false,
        plain: None,
        value: |known| known.accelerate(vars::ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE, json!("none")),
    },
    Rule {
        key: "zero_optimization.offload_optimizer.nvme_path",
        doc: "the text \"none\", as accelerate fills it",
        compared: false,
        plain: None,
        value: |known| known.accelerate(vars::ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_NVME_PATH, json!("none")),
    },
    Rule {
        key: "zero_optimization.offload_param.nvme_path",
        doc: "the text \"none\", as accelerate fills it",
        compared: false,
        plain: None,
        value: |known| known.accelerate(vars::ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_NVME_PATH, json!("none")),
    },
    Rule {
        key: "zero_optimization.stage3_gather_16bit_weights_on_model_save",
        doc: "false, as accelerate fills it",
        compared: false,
        plain: None,
        value: |known| known.accelerate(vars::ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL, json!(false)),
    },
    Rule {
        key: "steps_per_print",
        doc: "accelerate overwrites it with infinity, whatever it is",
        compared: false,
        plain: None,
        value: |_| Err(Left::Why("accelerate overwrites it with infinity".to_string())),
    },
];

impl Known<'_> {
    fn int(&self, name: &str) -> Result<Option<Said<i64>>, Left> {
        Ok(self.job.args.int(name)?)
    }

    /// A float argument as JSON; Python keeps `1` given to a float as 1.0.
    fn float(&self, name: &str) -> Answer {
        let Some(said) = self.job.args.float(name)? else { return Err(self.not_given(name)) };
        match serde_json::Number::from_f64(said.value) {
            Some(number) => Ok((Value::Number(number), said.from.to_string())),
            None => Err(Left::Why(format!("{} {} cannot be written as JSON", said.from, said.value))),
        }
    }

    fn not_given(&self, name: &str) -> Left {
        Left::Why(match self.job.args.unclear(name) {
            Some(word) => format!("{word} may abbreviate --{name}: write it out"),
            None => format!("--{name} is not given"),
        })
    }

    /// A batch argument, unless something rewrites the batch later.
    fn batch(&self, name: &str) -> Result<Said<i64>, Left> {
        self.batch_is_final()?;
        self.int(name)?.ok_or_else(|| self.not_given(name))
    }

    fn batch_is_final(&self) -> Result<(), Left> {
        let args = &self.job.args;
        if args.bool("auto_find_batch_size", true)?.is_some_and(|said| said.value) {
            return Err(Left::Why("--auto_find_batch_size tries several".to_string()));
        }
        if args.is_given("parallelism_config") {
            return Err(Left::Why("--parallelism_config may divide it".to_string()));
        }
        if args.int("sequence_parallel_size")?.is_some_and(|said| said.value > 1) {
            return Err(Left::Why("--sequence_parallel_size changes how it counts".to_string()));
        }
        let elastic = args.words().iter().any(|word| word == "deepspeed_elastic");
        if args.is_given("callbacks") && elastic {
            return Err(Left::Why("the deepspeed_elastic callback rewrites it".to_string()));
        }
        Ok(())
    }

    fn global_batch(&self) -> Answer {
        let micro = self.batch("per_device_train_batch_size")?;
        let steps = self.batch("gradient_accumulation_steps")?;
        let Some(world) = &self.topology.world_size else {
            return Err(Left::Why("the launcher leaves the number of ranks open".to_string()));
        };
        let product = i128::from(world.value) * i128::from(micro.value) * i128::from(steps.value);
        let Ok(product) = i64::try_from(product) else { return Err(Left::Why("the product is too large".to_string())) };
        let nodes = self.topology.nnodes.as_ref().map_or(1, |nodes| nodes.value);
        let ranks = match &self.topology.nproc_per_node {
            Some(nproc) if nodes > 1 => format!("{nodes} × {}", nproc.value),
            _ => world.value.to_string(),
        };
        let from =
            format!("{ranks} × {} × {} ({}, {}, {})", micro.value, steps.value, world.from, micro.from, steps.from);
        Ok((json!(product), from))
    }

    /// From 1 on it is a number of steps; below, a share of a length nobody knows yet.
    fn warmup_steps(&self) -> Answer {
        let Some(said) = self.job.args.float("warmup_steps")? else { return Err(self.not_given("warmup_steps")) };
        if said.value < 1.0 || said.value > 1e15 || self.job.args.is_given("warmup_ratio") {
            return Err(Left::Why("needs the length of the dataset".to_string()));
        }
        #[expect(clippy::cast_possible_truncation, reason = "Python's int() truncates too; the range was checked")]
        let steps = said.value as i64;
        Ok((json!(steps), said.from.to_string()))
    }

    fn precision(&self, of: fn(&Args) -> Precision, name: &str) -> Answer {
        match (of(&self.job.args)?, self.job.trainer.precision_unknown) {
            (Some((on, from)), _) => Ok((json!(on), from)),
            (None, Some(why)) => Err(Left::Why(why.to_string())),
            (None, None) => Err(self.not_given(name)),
        }
    }

    /// The three sizes that follow from the model. Below stage 3, accelerate fills the last two, and it does not look
    /// into a text model's section.
    fn sized(&self, at_every_stage: bool, of: fn(u64) -> (u64, &'static str)) -> Answer {
        let hidden = self.hidden.as_ref().map_err(|why| Left::Why(why.clone()))?;
        let stage3 = json::get(self.config, "zero_optimization.stage") == Some(&json!(3));
        if !at_every_stage && !stage3 && !hidden.at_top {
            return Err(Left::Why("below stage 3 accelerate does not look into text_config".to_string()));
        }
        if hidden.value == 0 || hidden.value > 1 << 24 {
            return Err(Left::Why(format!("hidden_size {} is beyond belief", hidden.value)));
        }
        let (size, formula) = of(hidden.value);
        let from = format!("{formula}, hidden_size {} in {}", hidden.value, hidden.file.display());
        Ok((json!(size), from))
    }

    /// accelerate's own defaults. With its variable set, what is filled early and what is filled late differ.
    fn accelerate(&self, variable: &str, default: Value) -> Answer {
        match self.host.raw(variable) {
            Some(_) => Err(Left::Why(format!("accelerate takes it from {variable}"))),
            None => Ok((default, "accelerate's default".to_string())),
        }
    }
}

/// Python's `int(0.9 * h * h)`.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "h is below 2^24"
)]
fn nine_tenths_squared(h: u64) -> u64 {
    (0.9 * h as f64 * h as f64) as u64
}

/// The model's hidden size, looked up only if a key asks for it.
pub(crate) fn hidden_size(job: &Job, config: &Value, host: &Host) -> Result<HiddenSize, String> {
    let wanted = ["reduce_bucket_size", "stage3_prefetch_bucket_size", "stage3_param_persistence_threshold"];
    let is_auto = |key: &&str| json::get(config, &format!("zero_optimization.{key}")).is_some_and(is_auto);
    if !wanted.iter().any(is_auto) {
        return Err("not needed".to_string());
    }
    let name = job.trainer.model_argument;
    let Some(model) = job.args.text(name) else {
        return Err(format!("needs the model's hidden_size: --{name} is not given"));
    };
    let hub = (job.trainer.hub)(&job.args, host);
    let revision = job.args.text("model_revision").map(|said| said.value);
    model::hidden_size(&model.value, revision.as_deref(), hub, job.trainer.lifts_hidden_size, host)
        .map_err(|why| format!("needs the model's hidden_size: {why}"))
}

/// What `resolve` makes of a config.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) config: Value,
    pub(crate) fills: Vec<Fill>,
    pub(crate) left: Vec<LeftAuto>,
}

/// Whether anything is filled, and why not.
#[derive(Clone, Copy)]
pub(crate) enum Policy {
    Fill,
    Leave(&'static str),
}

/// Fills what is known, leaves or refuses the rest, and compares what is concrete, as the trainer would.
/// `place` says where a key of the config was written.
pub(crate) fn resolve(known: &Known, policy: Policy, place: impl Fn(&str) -> String) -> Result<Resolved, Vec<Problem>> {
    let family = known.job.trainer.family;
    let mut problems = Vec::new();
    let mut fills = Vec::new();
    let mut left = Vec::new();
    for rule in RULES {
        let Some(value) = json::get(known.config, rule.key) else { continue };
        let auto = is_auto(value);
        if !auto && (!rule.compared || family != Family::Hf || value.is_null()) {
            continue;
        }
        let by_nobody = family == Family::Plain && rule.plain.is_none();
        let answer = if by_nobody { Err(Left::Why("nobody fills it".to_string())) } else { (rule.value)(known) };
        match answer {
            Err(Left::Wrong(problem)) => {
                // Several keys read the same argument.
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
            Ok((wanted, from)) if !auto => {
                if !python_equal(value, &wanted) {
                    problems.push(error::mismatch(rule.key, rule.doc, value, &place(rule.key), &wanted, &from));
                }
            }
            Ok((value, from)) => match policy {
                Policy::Fill => fills.push(Fill { key: rule.key, value, from }),
                Policy::Leave(why) => left.push(LeftAuto { key: rule.key.to_string(), why: why.to_string() }),
            },
            Err(Left::Why(why)) if auto => left.push(LeftAuto { key: rule.key.to_string(), why }),
            Err(Left::Why(_)) => {}
        }
    }
    let mut config = apply(known.config, &fills);
    if family == Family::Plain {
        left = plain_leftovers(&mut config, left, &place, &mut problems);
    }
    for key in json::leaves(&config, is_auto) {
        let known_key = RULES.iter().any(|rule| rule.key == key);
        if !(known_key || family == Family::Plain && deepspeed_knows_auto(&key)) {
            problems.push(error::nobody_fills(&key, &place(&key)));
        }
    }
    if problems.is_empty() { Ok(Resolved { config, fills, left }) } else { Err(problems) }
}

/// Nobody fills after us: the global batch may go, `DeepSpeed` infers it; every other "auto" is an error.
fn plain_leftovers(
    config: &mut Value,
    left: Vec<LeftAuto>,
    place: impl Fn(&str) -> String,
    problems: &mut Vec<Problem>,
) -> Vec<LeftAuto> {
    let mut kept = Vec::new();
    for it in left {
        match config.as_object_mut().filter(|_| it.key == "train_batch_size") {
            Some(object) => {
                object.shift_remove("train_batch_size");
                kept.push(LeftAuto { why: "removed: DeepSpeed infers it".to_string(), ..it });
            }
            None => problems.push(error::left_for_nobody(&it.key, &place(&it.key), &it.why, example(&it.key))),
        }
    }
    kept
}

fn example(key: &str) -> &'static str {
    RULES.iter().find(|rule| rule.key == key).and_then(|rule| rule.plain).unwrap_or("VALUE")
}

/// Keys whose "auto" `DeepSpeed` itself understands (accelerate refuses them all the same).
fn deepspeed_knows_auto(key: &str) -> bool {
    ["zero_optimization.zenflow.", "expert_parallel."].iter().any(|section| key.starts_with(section))
        || ["data_types.keep_in_fp32_modules", "pipeline.stages"].contains(&key)
}

fn apply(config: &Value, fills: &[Fill]) -> Value {
    let mut filled = config.clone();
    // Every fill was made for an "auto" that stands there, so this cannot fail; if it did, nothing would change.
    let applied = json_patch::patch(&mut filled, &operations(fills));
    debug_assert!(applied.is_ok(), "{applied:?}");
    filled
}

fn operations(fills: &[Fill]) -> Patch {
    let operations = fills.iter().flat_map(|fill| {
        let path = PointerBuf::from_tokens(fill.key.split('.'));
        [
            PatchOperation::Test(TestOperation { path: path.clone(), value: json!("auto") }),
            PatchOperation::Replace(ReplaceOperation { path, value: fill.value.clone() }),
        ]
    });
    Patch(operations.collect())
}

fn is_auto(value: &Value) -> bool {
    value.as_str() == Some("auto")
}

/// Python's `==`: 1 equals 1.0 and True, "8" is not 8.
fn python_equal(one: &Value, two: &Value) -> bool {
    fn number(value: &Value) -> Option<f64> {
        match value {
            Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
            other => other.as_f64(),
        }
    }
    match (one, two) {
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| python_equal(one, two))
        }
        _ => match (number(one), number(two)) {
            #[expect(clippy::float_cmp, reason = "Python compares exactly too")]
            (Some(one), Some(two)) => one == two,
            _ => one == two,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_is_pythons() {
        for (one, two) in [
            (json!(1), json!(1.0)),
            (json!(true), json!(1)),
            (json!([0.9, 1]), json!([0.9, 1.0])),
            (json!("a"), json!("a")),
        ] {
            assert!(python_equal(&one, &two), "{one} {two}");
        }
        for (one, two) in [
            (json!("8"), json!(8)),
            (json!("true"), json!(true)),
            (json!([0.9]), json!([0.9, 0.9])),
            (json!(1e-5), json!(1.1e-5)),
        ] {
            assert!(!python_equal(&one, &two), "{one} {two}");
        }
    }

    #[test]
    fn nine_tenths_is_pythons_int() {
        // python3 -c 'print([int(0.9*h*h) for h in (3584, 4096, 5120, 8192, 64, 7)])'
        for (h, size) in
            [(3584, 11_560_550), (4096, 15_099_494), (5120, 23_592_960), (8192, 60_397_977), (64, 3686), (7, 44)]
        {
            assert_eq!(nine_tenths_squared(h), size, "{h}");
        }
    }

    #[test]
    fn the_table_has_the_24_keys_and_no_key_twice() {
        assert_eq!(RULES.len(), 24);
        for (at, rule) in RULES.iter().enumerate() {
            assert!(RULES[at + 1..].iter().all(|other| other.key != rule.key), "{}", rule.key);
        }
    }

    #[test]
    fn a_fill_changes_only_an_auto() {
        let config = json!({"a": "auto", "b": {"c": "auto", "d": 1}});
        let fill = |key, value| Fill { key, value, from: String::new() };
        assert_eq!(apply(&config, &[fill("b.c", json!(2))]), json!({"a": "auto", "b": {"c": 2, "d": 1}}));
        // Not even a fill that was made for something else: the standard's own `test` stands before it.
        let operations = operations(&[fill("b.d", json!(2))]);
        assert!(json_patch::patch(&mut config.clone(), &operations).is_err());
    }
}
