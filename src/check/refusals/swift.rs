//! What ms-swift refuses of its own arguments once it has read them.

use std::path::Path;

use super::refusal::{ATTENTION, Condition, EVER, Refusal, Test, given, is_no_kernel, launch, left_out};
use crate::check::subject::Subject;
use crate::report::reading;

const fn always(when: &'static [Condition], why: &'static str, help: &'static str) -> Refusal {
    Refusal { when, why, help, distribution: "ms-swift", since: [3, 0, 0], until: EVER, certain: true }
}

/// A checkpoint has the arguments that made it.
const NO_CHECKPOINT: Condition = launch(|subject| {
    let given = |name: &str| subject.job.args.list(name).is_some();
    !["adapters", "resume_from_checkpoint", "ckpt_dir", "load_args"].iter().any(|name| given(name))
});

const WANTS_MODEL: Condition = launch(|subject| {
    let files = ["swift/arguments/base_args/model_args.py", "swift/llm/argument/base_args/model_args.py"];
    subject.source_says(&files, "Please set --model")
});
const WANTS_DATASET: Condition = launch(|subject| {
    let files = ["swift/arguments/sft_args.py", "swift/llm/argument/train_args.py"];
    subject.source_says(&files, "Please input the training dataset")
});

/// Code of the user's may register more names.
const NO_PLUGIN: Condition = launch(|subject| {
    let given = |name: &str| subject.job.args.list(name).is_some();
    !["external_plugins", "custom_register_path", "model_adapter"].iter().any(|name| given(name))
});

const TUNERS: &[&str] = &[
    "full",
    "lora",
    "longlora",
    "adalora",
    "llamapro",
    "adapter",
    "vera",
    "boft",
    "fourierft",
    "reft",
    "bone",
    "ia3",
    "lora_llm",
    "dummy",
];

/// Read in the sources of 3.2 to 4.6. Those of 2 were others.
pub(super) const REFUSALS: &[Refusal] = &[
    always(&[left_out("model"), NO_CHECKPOINT, WANTS_MODEL], "it names the model", "--model MODEL"),
    always(
        &[left_out("dataset"), left_out("cached_dataset"), NO_CHECKPOINT, WANTS_DATASET],
        "it names the data",
        "--dataset DATASET",
    ),
    always(
        &[given("tuner_type", Test::NoneOf(TUNERS)), NO_PLUGIN],
        "there is no such tuner",
        "--tuner_type lora, or full",
    ),
    always(
        &[given("train_type", Test::NoneOf(TUNERS)), NO_PLUGIN],
        "there is no such tuner",
        "--train_type lora, or full",
    ),
    // Before, the parser knew the choices.
    Refusal {
        since: [3, 7, 0],
        ..always(
            &[
                given("attn_impl", Test::NoneOf(ATTENTION)),
                given("attn_impl", Test::NoneOf(&["flash_attn", "None"])),
                launch(|it| is_no_kernel(it, "attn_impl")),
            ],
            "transformers has no such attention",
            "--attn_impl sdpa",
        )
    },
    Refusal {
        since: [3, 7, 0],
        ..always(
            &[
                given("rope_scaling", Test::NoneOf(&["linear", "dynamic", "yarn"])),
                launch(|it| is_plain(it, "rope_scaling")),
            ],
            "it wants linear, dynamic, yarn or JSON",
            "--rope_scaling yarn",
        )
    },
    always(
        &[given("quant_method", Test::OneOf(&["bnb", "hqq", "eetq", "quanto"])), left_out("quant_bits")],
        "it needs --quant_bits",
        "--quant_bits 4",
    ),
    always(
        &[given("lazy_tokenize", Test::True), given("packing", Test::True)],
        "it does not go with --packing",
        "drop one of them",
    ),
    always(
        &[given("lazy_tokenize", Test::True), given("streaming", Test::True)],
        "it does not go with --streaming",
        "drop one of them",
    ),
    always(
        &[given("freeze_parameters_ratio", Test::Number(|ratio| ratio > 1.0))],
        "it must be between 0 and 1",
        "--freeze_parameters_ratio 0.5",
    ),
    always(
        &[given("deepspeed_autotp_size", Test::Given), launch(has_too_few_ranks)],
        "there are fewer ranks",
        "--deepspeed_autotp_size 2, with two ranks or more",
    ),
    always(
        &[given("loss_scale", Test::Given), NO_PLUGIN, launch(is_no_loss_scale)],
        "the installed version has no such loss scale",
        "--loss_scale default",
    ),
    always(
        &[given("system", Test::Given), launch(|it| is_missing_text(it, "system"))],
        "a name that ends with .txt must be a file",
        "check the path",
    ),
    always(
        &[given("dataset", Test::Given), launch(has_odd_number_of_samples)],
        "behind `#` stands the number of samples",
        "--dataset data.jsonl#1000",
    ),
    always(
        &[given("template", Test::Given), NO_PLUGIN, launch(|it| is_in_no_list(it, "template"))],
        "there is no such template",
        "drop it: the model has one",
    ),
    always(
        &[given("model_type", Test::Given), NO_PLUGIN, launch(|it| is_in_no_list(it, "model"))],
        "there is no such model_type",
        "drop it: the model's config.json has one",
    ),
];

fn value<'a>(subject: &'a Subject, name: &str) -> Option<&'a str> {
    subject.job.args.list(name)?.1.first()?.to_str()
}

/// Neither JSON nor a file with it.
fn is_plain(subject: &Subject, name: &str) -> bool {
    value(subject, name).is_some_and(|value| !value.contains('{') && !subject.host.cwd.join(value).is_file())
}

fn is_missing_text(subject: &Subject, name: &str) -> bool {
    let is_missing = |value: &str| {
        Path::new(value).extension().is_some_and(|it| it == "txt") && !subject.host.absolute(value.as_ref()).is_file()
    };
    subject.runs_here() && value(subject, name).is_some_and(is_missing)
}

/// `data.jsonl#1000`, unless that is the name of a file.
fn has_odd_number_of_samples(subject: &Subject) -> bool {
    let Some((_, values)) = subject.job.args.list("dataset") else { return false };
    values.iter().filter_map(|value| value.to_str()).any(|value| {
        let samples = value.rsplit_once('#').map(|(_, samples)| samples);
        samples.is_some_and(|it| it.trim().parse::<i64>().is_err() && !it.contains('$'))
            && !subject.host.absolute(value.as_ref()).exists()
    })
}

/// Whether the installed version registers no template or model type of that name.
fn is_in_no_list(subject: &Subject, list: &str) -> bool {
    let argument = if list == "model" { "model_type" } else { list };
    let (Some(value), Some(python)) = (value(subject, argument), &subject.job.python) else { return false };
    let names = [format!("swift/{list}/constant.py"), format!("swift/llm/{list}/constant.py")];
    let Some(file) = names.iter().find_map(|name| python.file(name)) else { return false };
    let text = reading::read_text(&file).unwrap_or_default();
    text.contains("Type") && !text.contains(&format!("'{value}'"))
}

fn has_too_few_ranks(subject: &Subject) -> bool {
    let size = value(subject, "deepspeed_autotp_size").and_then(|size| size.parse::<u64>().ok());
    size.zip(subject.world()).is_some_and(|(size, world)| world < size)
}

/// Parts with `+` between them: a strategy, or a name that the installed version has a class for.
fn is_no_loss_scale(subject: &Subject) -> bool {
    const STRATEGIES: &[&str] = &["default", "last_round", "all"];
    let (Some(value), Some(python)) = (value(subject, "loss_scale"), &subject.job.python) else { return false };
    let names = ["swift/loss_scale/mapping.py", "swift/plugin/loss_scale/loss_scale.py"];
    let Some(file) = names.iter().find_map(|name| python.file(name)) else { return false };
    let text = reading::read_text(&file).unwrap_or_default();
    let is_known = |part: &str| STRATEGIES.contains(&part) || text.contains(&format!("'{part}'"));
    text.contains("loss_scale_map") && !value.split('+').all(is_known)
}
