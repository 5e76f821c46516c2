//! What transformers' `TrainingArguments` refuses once its arguments are read: values that do not go together.

use super::refusal::{Condition, EVER, Refusal, Test, given, launch, not_installed, or_default};

/// A number of steps beyond 1 that is not whole; below 1 it is a part of all.
const BROKEN: Test = Test::Number(|steps| steps > 1.0 && steps.fract() != 0.0);
const ZERO: Test = Test::Number(|value| value == 0.0);
const STEPS: &[&str] = &["steps"];
const EPOCH: &[&str] = &["epoch"];
const NO: &[&str] = &["no"];

const fn always(when: &'static [Condition], why: &'static str, help: &'static str) -> Refusal {
    Refusal { when, why, help, distribution: "transformers", since: [0; 3], until: EVER, certain: true }
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
    always(
        &[given("debug", Test::NoneOf(DEBUG_OPTIONS))],
        "it wants underflow_overflow or tpu_metrics_debug",
        "--debug underflow_overflow, or drop it",
    ),
    always(
        &[
            given("learning_rate", Test::Number(|rate| rate < 0.0)),
            or_default("optim", "adamw_torch", Test::OneOf(&["adamw_torch", "adamw_torch_fused", "adamw_hf", "sgd"])),
            NO_OPTIMIZER,
        ],
        "it must not be negative",
        "--learning_rate 1e-5",
    ),
    always(
        &[given("optim", Test::OneOf(OF_BITSANDBYTES)), NO_OPTIMIZER, not_installed("bitsandbytes", "bitsandbytes")],
        "bitsandbytes is not installed",
        "pip install bitsandbytes, or --optim adamw_torch",
    ),
    Refusal {
        since: [4, 45, 2],
        ..always(
            &[given("use_liger_kernel", Test::True), not_installed("liger-kernel", "liger_kernel")],
            "liger-kernel is not installed",
            "pip install liger-kernel, or drop it",
        )
    },
];

/// Else DeepSpeed makes the optimizer.
const NO_OPTIMIZER: Condition = launch(|subject| subject.get("optimizer").is_none());

const DEBUG_OPTIONS: &[&str] = &[
    "",
    "underflow_overflow",
    "tpu_metrics_debug",
    "underflow_overflow tpu_metrics_debug",
    "tpu_metrics_debug underflow_overflow",
];

/// The optimizers that are made by bitsandbytes.
const OF_BITSANDBYTES: &[&str] = &[
    "adamw_bnb_8bit",
    "adamw_8bit",
    "paged_adamw",
    "paged_adamw_32bit",
    "paged_adamw_8bit",
    "lion_8bit",
    "lion",
    "lion_32bit",
    "paged_lion",
    "paged_lion_32bit",
    "paged_lion_8bit",
];
