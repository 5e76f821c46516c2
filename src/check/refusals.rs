//! What transformers' `TrainingArguments` refuses once its arguments are read: values that do not go together.

use super::subject::Subject;
use crate::base::python_value::float;
use crate::command::argv::hf_bool;

/// Arguments that do not go together, the first of which must be given.
pub(super) struct Refusal {
    when: &'static [Condition],
    pub(super) why: &'static str,
    pub(super) help: &'static str,
    /// Versions of transformers, the last one excluded.
    pub(super) since: [u32; 3],
    pub(super) until: [u32; 3],
}

struct Condition {
    argument: &'static str,
    /// What it is where it is not given, as it is in every version.
    default: Option<&'static str>,
    is: Test,
}

enum Test {
    Given,
    OneOf(&'static [&'static str]),
    True,
    Number(fn(f64) -> bool),
}

/// A number of steps beyond 1 that is not whole; below 1 it is a part of all.
const BROKEN: Test = Test::Number(|steps| steps > 1.0 && steps.fract() != 0.0);
const ZERO: Test = Test::Number(|value| value == 0.0);
const EVER: [u32; 3] = [u32::MAX; 3];
const STEPS: &[&str] = &["steps"];
const EPOCH: &[&str] = &["epoch"];
const NO: &[&str] = &["no"];

const fn given(argument: &'static str, is: Test) -> Condition {
    Condition { argument, default: None, is }
}

const fn or_default(argument: &'static str, default: &'static str, is: Test) -> Condition {
    Condition { argument, default: Some(default), is }
}

const fn always(when: &'static [Condition], why: &'static str, help: &'static str) -> Refusal {
    Refusal { when, why, help, since: [0; 3], until: EVER }
}

const BEST: Condition = given("load_best_model_at_end", Test::True);
const SAME: &str = "--load_best_model_at_end needs the same --save_strategy and --eval_strategy";
const MAKE_SAME: &str = "--eval_strategy steps --save_strategy steps";

/// Read in the sources of 4.40 to 5.22.
pub(super) const REFUSALS: &[Refusal] = &[
    always(
        &[given("torch_empty_cache_steps", Test::Number(|steps| steps <= 0.0))],
        "it must be greater than 0",
        "--torch_empty_cache_steps 100, or drop it",
    ),
    always(
        &[given("logging_steps", ZERO), or_default("logging_strategy", "steps", Test::OneOf(STEPS))],
        "--logging_strategy steps needs a number that is not 0",
        "--logging_steps 10, or --logging_strategy no",
    ),
    always(
        &[given("logging_steps", BROKEN), or_default("logging_strategy", "steps", Test::OneOf(STEPS))],
        "beyond 1 it must be whole",
        "--logging_steps 10",
    ),
    always(
        &[given("save_steps", BROKEN), or_default("save_strategy", "steps", Test::OneOf(STEPS))],
        "beyond 1 it must be whole",
        "--save_steps 100",
    ),
    always(
        &[given("eval_steps", BROKEN), given("eval_strategy", Test::OneOf(STEPS))],
        "beyond 1 it must be whole",
        "--eval_steps 100",
    ),
    always(
        &[
            given("lr_scheduler_type", Test::OneOf(&["reduce_lr_on_plateau", "greedy"])),
            or_default("eval_strategy", "no", Test::OneOf(NO)),
        ],
        "that scheduler needs an --eval_strategy",
        "--eval_strategy steps, or --lr_scheduler_type cosine",
    ),
    always(
        &[given("dataloader_prefetch_factor", Test::Given), or_default("dataloader_num_workers", "0", ZERO)],
        "it needs --dataloader_num_workers greater than 0",
        "--dataloader_num_workers 4",
    ),
    always(&[given("fp16", Test::True), given("bf16", Test::True)], "--bf16 is on too", "drop one of them"),
    always(
        &[
            BEST,
            or_default("save_strategy", "steps", Test::OneOf(STEPS)),
            or_default("eval_strategy", "no", Test::OneOf(&["no", "epoch"])),
        ],
        SAME,
        MAKE_SAME,
    ),
    always(
        &[
            BEST,
            given("save_strategy", Test::OneOf(EPOCH)),
            or_default("eval_strategy", "no", Test::OneOf(&["no", "steps"])),
        ],
        SAME,
        "--eval_strategy epoch --save_strategy epoch",
    ),
    always(
        &[BEST, given("save_strategy", Test::OneOf(NO)), given("eval_strategy", Test::OneOf(&["steps", "epoch"]))],
        SAME,
        MAKE_SAME,
    ),
    Refusal {
        since: [4, 44, 2],
        ..always(
            &[given("warmup_steps", Test::Number(|steps| steps < 0.0))],
            "it must not be negative",
            "--warmup_steps 0",
        )
    },
    Refusal {
        until: [5, 0, 0],
        ..always(
            &[given("warmup_ratio", Test::Number(|ratio| !(0.0..=1.0).contains(&ratio)))],
            "it must be between 0 and 1",
            "--warmup_ratio 0.1",
        )
    },
];

impl Refusal {
    /// The argument that must be given.
    pub(super) fn argument(&self) -> &'static str {
        self.when.first().map_or("", |condition| condition.argument)
    }

    /// The argument as it is given, if this is what transformers will see. `keeps_default`: whether nobody changed the
    /// default of an argument.
    pub(super) fn found(&self, subject: &Subject, keeps_default: impl Fn(&str) -> bool) -> Option<String> {
        let first = self.when.first()?;
        let (option, values) = subject.job.args.list(first.argument)?;
        let holds = |condition: &Condition| condition.holds(subject, &keeps_default).unwrap_or(false);
        let value = values.first().map_or_else(String::new, |value| format!(" {}", value.to_string_lossy()));
        self.when.iter().all(holds).then(|| format!("{option}{value}"))
    }
}

impl Condition {
    fn holds(&self, subject: &Subject, keeps_default: impl Fn(&str) -> bool) -> Option<bool> {
        let args = &subject.job.args;
        if subject.job.unread.iter().any(|name| name == self.argument) {
            return None;
        }
        let given = args.list(self.argument).map(|(_, values)| values.first().and_then(|value| value.to_str()));
        let value = match given {
            Some(value) => value.unwrap_or("true"),
            None => self.default.filter(|_| keeps_default(self.argument))?,
        };
        match self.is {
            Test::Given => Some(!["None", "null"].contains(&value) && !value.contains('$')),
            Test::OneOf(choices) => Some(choices.contains(&value)),
            Test::True => hf_bool(value),
            Test::Number(test) => Some(test(float(value)?)),
        }
    }
}
