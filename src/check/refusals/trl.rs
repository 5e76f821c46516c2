//! What TRL's scripts and trainers refuse of their own arguments once they have read them.

use super::refusal::{ATTENTION, Condition, EVER, Refusal, Test, given, is_no_kernel, launch, left_out, or_default};
use crate::check::subject::Subject;
use crate::report::reading;

const fn always(when: &'static [Condition], why: &'static str, help: &'static str) -> Refusal {
    Refusal { when, why, help, distribution: "trl", since: [0; 3], until: EVER, certain: true }
}

/// A file may hold what the command leaves out.
const NO_FILE: Condition = left_out("config");
const WANTS_MODEL: Condition = launch(|subject| script_says(subject, "model_args.model_name_or_path"));
const WANTS_DATASET: Condition = launch(|subject| script_says(subject, "script_args.dataset_name"));
const SFT: Condition = launch(|subject| subject.job.target.is_module("trl.scripts.sft"));
const PACKING: Condition = given("packing", Test::True);
const NO_STRATEGY: &str = "there is no such way to pack";
const TASKS: &[&str] = &["SEQ_CLS", "SEQ_2_SEQ_LM", "CAUSAL_LM", "TOKEN_CLS", "QUESTION_ANS", "FEATURE_EXTRACTION"];

/// transformers 5 takes any.
const TRANSFORMERS_4: Condition = launch(|subject| subject.has_before("transformers", [5, 0, 0]));

/// Read in the sources of 0.13 to 1.16.
pub(super) const REFUSALS: &[Refusal] = &[
    always(&[left_out("model_name_or_path"), NO_FILE, WANTS_MODEL], "it names the model", "--model_name_or_path MODEL"),
    always(
        &[left_out("dataset_name"), left_out("datasets"), NO_FILE, WANTS_DATASET],
        "it names the data",
        "--dataset_name DATASET",
    ),
    always(
        &[given("load_in_4bit", Test::True), given("load_in_8bit", Test::True)],
        "--load_in_8bit is on too",
        "drop one of them",
    ),
    always(
        &[given("lora_task_type", Test::NoneOf(TASKS)), given("use_peft", Test::True)],
        "peft has no such task",
        "--lora_task_type CAUSAL_LM",
    ),
    Refusal {
        since: [0, 19, 0],
        until: [0, 20, 0],
        ..always(
            &[given("packing_strategy", Test::NoneOf(&["ffd", "wrapped"])), PACKING],
            NO_STRATEGY,
            "--packing_strategy ffd",
        )
    },
    always(
        &[given("attn_implementation", Test::NoneOf(ATTENTION)), launch(|it| is_no_kernel(it, "attn_implementation"))],
        "transformers has no such attention",
        "--attn_implementation sdpa",
    ),
    // From 0.29 on it has choices, which the parser knows.
    Refusal {
        since: [0, 20, 0],
        until: [0, 29, 0],
        ..always(
            &[given("packing_strategy", Test::NoneOf(&["bfd", "wrapped"])), PACKING],
            NO_STRATEGY,
            "--packing_strategy bfd",
        )
    },
    Refusal {
        since: [0, 23, 1],
        until: [1, 15, 0],
        ..always(
            &[given("loss_type", Test::NoneOf(&["nll", "dft", "chunked_nll"])), SFT],
            "there is no such loss",
            "--loss_type nll",
        )
    },
    Refusal {
        since: [0, 17, 0],
        ..always(
            &[given("eos_token", Test::Given), SFT, TRANSFORMERS_4, launch(|it| is_no_token(it, "eos_token"))],
            "the model's tokenizer has no such token",
            "drop it: the tokenizer has its own",
        )
    },
    Refusal {
        since: [0, 16, 1],
        ..always(
            &[given("pad_token", Test::Given), SFT, TRANSFORMERS_4, launch(|it| is_no_token(it, "pad_token"))],
            "the model's tokenizer has no such token",
            "drop it: the tokenizer has its own",
        )
    },
    // Newer versions mend the templates of some models.
    Refusal {
        certain: false,
        ..always(
            &[
                given("assistant_only_loss", Test::True),
                left_out("chat_template_path"),
                or_default("dataset_text_field", "text", Test::Given),
                launch(has_no_generation_mark),
            ],
            "the model's chat template has no `{% generation %}`, which marks what the assistant says",
            "--chat_template_path FILE, or drop it",
        )
    },
];

/// Whether the script behind the command mentions this.
fn script_says(subject: &Subject, text: &str) -> bool {
    subject.script().is_some_and(|script| script.contains(text))
}

/// Files of a tokenizer in which a token may be written.
const TOKENIZER: &[&str] = &["tokenizer.json", "tokenizer_config.json", "added_tokens.json", "special_tokens_map.json"];

/// Whether none of the files of a local tokenizer has the token that an argument names.
fn is_no_token(subject: &Subject, argument: &str) -> bool {
    let Some((_, values)) = subject.job.args.list(argument) else { return false };
    let Some(token) = values.first().and_then(|value| value.to_str()) else { return false };
    // Others may be written in several ways.
    let plain = token.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\');
    let Some(folder) = subject.model_folder().filter(|_| plain && subject.runs_here()) else { return false };
    let Some(vocabulary) = reading::text_if_any(&folder.join(TOKENIZER[0])) else { return false };
    let written = format!("\"{token}\"");
    let others = TOKENIZER[1..].iter().filter_map(|name| reading::text_if_any(&folder.join(name)));
    !vocabulary.contains(&written) && !others.into_iter().any(|text| text.contains(&written))
}

/// Whether a local model has a chat template that does not say where the assistant's words are.
fn has_no_generation_mark(subject: &Subject) -> bool {
    let Some(folder) = subject.model_folder().filter(|_| subject.runs_here()) else { return false };
    let named = reading::text_if_any(&folder.join("chat_template.jinja"));
    let template = named.or_else(|| reading::text_if_any(&folder.join("tokenizer_config.json")));
    template
        .is_some_and(|text| text.contains("{%") && !text.contains("generation %}") && !text.contains("generation -%}"))
}
