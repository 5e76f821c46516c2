//! What LLaMA-Factory refuses of its own arguments (`__post_init__` of its classes, `get_train_args`), which it reads
//! from a mapping that converts nothing.

use super::refusal::{Condition, EVER, Refusal, Test, given, launch, left_out, not_installed, or_default};
use crate::check::subject::Subject;
use crate::report::reading;

const fn always(when: &'static [Condition], why: &'static str, help: &'static str) -> Refusal {
    Refusal { when, why, help, distribution: "llamafactory", since: [0; 3], until: EVER, certain: true }
}

const fn only_for_lora(when: &'static [Condition]) -> Refusal {
    always(when, "it is only for LoRA", "finetuning_type: lora, or drop it")
}

const fn on(argument: &'static str) -> Condition {
    given(argument, Test::True)
}

/// LoRA is its default.
const NOT_LORA: Condition = given("finetuning_type", Test::NoneOf(&["lora"]));
const LORA: Condition = or_default("finetuning_type", "lora", Test::OneOf(&["lora"]));
const NOT_SFT: Condition = given("stage", Test::NoneOf(&["sft"]));
const PPO: Condition = given("stage", Test::OneOf(&["ppo"]));
const ZERO3: Condition = launch(|subject| subject.stage_is(&[3]));
const DEEPSPEED: Condition = launch(|subject| !subject.config.is_null());

const WANTS_MODEL: Condition =
    launch(|it| it.source_says(&["llamafactory/hparams/model_args.py"], "Please provide `model_name_or_path`"));
const WANTS_DATASET: Condition =
    launch(|it| it.source_says(&["llamafactory/hparams/parser.py"], "Please specify dataset for training"));

/// What belongs to no argument of its own: a part of the data, which it keeps for the evaluation.
const HAS_VAL_SIZE: Test = Test::Number(|size| size > 1e-6);
const NO_EVAL_DATASET: Condition = left_out("eval_dataset");
const NO_VAL_SIZE: Condition = or_default("val_size", "0", Test::Number(|size| size < 1e-6));
const NOTHING_TO_EVALUATE: &str = "there is nothing to evaluate on";
const EVALUATE_ON: &str = "val_size: 0.1, or name an eval_dataset";
const LAYERWISE: &str = "the layer-wise kind is for one process only";

/// Read in the sources of 0.9.1 to 0.9.5.
pub(super) const REFUSALS: &[Refusal] = &[
    always(&[left_out("model_name_or_path"), WANTS_MODEL], "it names the model", "model_name_or_path: MODEL"),
    always(
        &[given("stage", Test::NoneOf(&["pt", "sft", "rm", "ppo", "dpo", "kto"]))],
        "there is no such stage",
        "stage: sft, or one of pt, rm, ppo, dpo and kto",
    ),
    always(
        &[given("finetuning_type", Test::NoneOf(&["lora", "oft", "freeze", "full"]))],
        "there is no such method",
        "finetuning_type: lora, or full or freeze",
    ),
    always(
        &[given("template", Test::Given), launch(is_no_template)],
        "the installed version has no such template",
        "check the name; its documents list all of them",
    ),
    always(
        &[given("flash_attn", Test::NoneOf(&["auto", "disabled", "off", "sdpa", "fa2", "fa3"]))],
        "there is no such attention",
        "flash_attn: auto",
    ),
    always(
        &[given("cutoff_len", Test::Number(|length| length < 1.0))],
        "it must be greater than 0",
        "cutoff_len: 2048",
    ),
    always(&[PPO, left_out("reward_model")], "it needs a `reward_model`", "reward_model: PATH"),
    always(
        &[PPO, or_default("reward_model_type", "lora", Test::OneOf(&["lora"])), NOT_LORA],
        "a `reward_model_type` of lora needs `finetuning_type: lora`",
        "reward_model_type: full",
    ),
    always(
        &[PPO, or_default("do_train", "false", Test::False)],
        "it cannot evaluate",
        "do_train: true, or evaluate with stage: sft",
    ),
    always(&[PPO, on("shift_attn")], "it does not go with `shift_attn`", "drop shift_attn"),
    always(
        &[on("load_best_model_at_end"), given("stage", Test::OneOf(&["rm", "ppo"]))],
        "this stage has no best model",
        "drop load_best_model_at_end",
    ),
    always(
        &[on("use_llama_pro"), given("finetuning_type", Test::OneOf(&["full"]))],
        "it is only for LoRA and freeze",
        "finetuning_type: freeze, or drop use_llama_pro",
    ),
    always(&[on("use_galore"), LORA], WITHOUT_LORA, "finetuning_type: full"),
    always(&[on("use_apollo"), LORA], WITHOUT_LORA, "finetuning_type: full"),
    always(&[on("use_badam"), LORA], WITHOUT_LORA, "finetuning_type: full"),
    always(&[on("use_galore"), on("use_badam")], "`use_badam` is on too", "drop one of them"),
    always(&[on("use_galore"), on("use_apollo")], "`use_apollo` is on too", "drop one of them"),
    always(&[on("use_apollo"), on("use_badam")], "`use_badam` is on too", "drop one of them"),
    always(
        &[on("use_galore"), DEEPSPEED],
        "it does not go with DeepSpeed",
        "drop use_galore, or train without DeepSpeed",
    ),
    always(
        &[on("use_apollo"), DEEPSPEED],
        "it does not go with DeepSpeed",
        "drop use_apollo, or train without DeepSpeed",
    ),
    always(&[on("use_galore"), on("galore_layerwise")], LAYERWISE, "drop galore_layerwise"),
    always(&[on("use_apollo"), on("apollo_layerwise")], LAYERWISE, "drop apollo_layerwise"),
    always(
        &[on("use_badam"), given("badam_mode", Test::OneOf(&["ratio"]))],
        "`badam_mode: ratio` is for one process only",
        "badam_mode: layer",
    ),
    always(&[on("use_badam"), launch(|subject| !subject.stage_is(&[3]))], "it needs ZeRO-3", "--deepspeed zero3"),
    only_for_lora(&[given("loraplus_lr_ratio", Test::Given), NOT_LORA]),
    only_for_lora(&[on("use_rslora"), NOT_LORA]),
    only_for_lora(&[on("use_dora"), NOT_LORA]),
    only_for_lora(&[on("pissa_init"), NOT_LORA]),
    only_for_lora(&[given("adapter_name_or_path", Test::Given), NOT_LORA]),
    always(&[on("pissa_init"), given("stage", Test::OneOf(&["ppo", "kto"]))], "not in this stage", "drop pissa_init"),
    always(
        &[
            on("pissa_init"),
            given("stage", Test::OneOf(&["dpo"])),
            or_default("pref_loss", "sigmoid", Test::NoneOf(&["orpo", "simpo"])),
        ],
        "not with a reference model",
        "drop pissa_init",
    ),
    always(
        &[on("pissa_init"), ZERO3],
        "ZeRO-3 shards the weights that it starts from",
        "initialise with its scripts/pissa_init.py, or --deepspeed zero2",
    ),
    always(
        &[
            given("dpo_label_smoothing", HAS_VAL_SIZE),
            given("stage", Test::OneOf(&["dpo"])),
            given("pref_loss", Test::NoneOf(&["sigmoid"])),
        ],
        "it is only for `pref_loss: sigmoid`",
        "pref_loss: sigmoid, or drop it",
    ),
    always(
        &[given("quantization_bit", Test::Given), given("finetuning_type", Test::OneOf(&["full", "freeze"]))],
        "only adapters are trained on a quantized model",
        "finetuning_type: lora",
    ),
    always(&[given("quantization_bit", Test::Given), on("pissa_init")], "not with `pissa_init`", "drop pissa_init"),
    always(
        &[given("quantization_bit", Test::Given), on("resize_vocab")],
        "a quantized model cannot be resized",
        "drop resize_vocab",
    ),
    always(
        &[given("quantization_device_map", Test::OneOf(&["auto"])), on("do_train")],
        "it is not for training",
        "drop it",
    ),
    Refusal {
        until: [0, 9, 5],
        ..always(
            &[on("split_special_tokens"), or_default("use_fast_tokenizer", "true", Test::True)],
            "only slow tokenizers can do that",
            "use_fast_tokenizer: false",
        )
    },
    Refusal {
        since: [0, 9, 3],
        ..always(
            &[
                given("image_max_pixels", Test::Given),
                launch(|it| is_below(it, "image_max_pixels", "image_min_pixels", 1024.0)),
            ],
            "it is less than `image_min_pixels`",
            "image_min_pixels: 1024",
        )
    },
    Refusal {
        since: [0, 9, 3],
        ..always(
            &[
                given("video_max_pixels", Test::Given),
                launch(|it| is_below(it, "video_max_pixels", "video_min_pixels", 256.0)),
            ],
            "it is less than `video_min_pixels`",
            "video_min_pixels: 256",
        )
    },
    always(
        &[given("val_size", HAS_VAL_SIZE), given("eval_dataset", Test::Given)],
        "there is an `eval_dataset` too",
        "drop one of them",
    ),
    always(
        &[given("val_size", HAS_VAL_SIZE), left_out("dataset")],
        "there is no `dataset` to take it from",
        "dataset: NAME",
    ),
    always(&[left_out("dataset"), on("do_train"), WANTS_DATASET], "it names the data", "dataset: NAME"),
    always(
        &[given("interleave_probs", Test::Given), or_default("mix_strategy", "concat", Test::OneOf(&["concat"]))],
        "it is only for interleaved datasets",
        "mix_strategy: interleave_under",
    ),
    always(
        &[given("interleave_probs", Test::Given), launch(|it| count(it, "interleave_probs") != count(it, "dataset"))],
        "there must be as many as datasets",
        "one number for each dataset",
    ),
    always(
        &[on("streaming"), given("val_size", Test::Number(|size| size > 1e-6 && size < 1.0))],
        "then `val_size` must be a whole number of samples",
        "val_size: 100",
    ),
    always(
        &[on("streaming"), given("max_samples", Test::Given)],
        "it does not go with `max_samples`",
        "drop max_samples",
    ),
    always(
        &[on("streaming"), or_default("max_steps", "-1", Test::OneOf(&["-1"]))],
        "nobody knows how long the data are, so it needs `max_steps`",
        "max_steps: 1000",
    ),
    always(&[on("mask_history"), on("train_on_prompt")], "`train_on_prompt` is on too", "drop one of them"),
    always(&[on("mask_history"), NOT_SFT], ONLY_SFT, "drop it, or stage: sft"),
    always(&[on("train_on_prompt"), NOT_SFT], ONLY_SFT, "drop it, or stage: sft"),
    always(&[on("neat_packing"), NOT_SFT], ONLY_SFT, "drop it, or stage: sft"),
    always(&[on("predict_with_generate"), NOT_SFT], ONLY_SFT, "drop it, or stage: sft"),
    always(
        &[
            on("do_predict"),
            or_default("stage", "sft", Test::OneOf(&["sft"])),
            or_default("predict_with_generate", "false", Test::False),
        ],
        "it needs `predict_with_generate`",
        "predict_with_generate: true",
    ),
    always(&[on("do_eval"), NO_EVAL_DATASET, NO_VAL_SIZE], NOTHING_TO_EVALUATE, EVALUATE_ON),
    always(&[on("do_predict"), NO_EVAL_DATASET, NO_VAL_SIZE], NOTHING_TO_EVALUATE, EVALUATE_ON),
    always(
        &[given("eval_strategy", Test::OneOf(&["steps", "epoch"])), NO_EVAL_DATASET, NO_VAL_SIZE],
        NOTHING_TO_EVALUATE,
        EVALUATE_ON,
    ),
    Refusal {
        until: [0, 9, 4],
        ..always(&[on("predict_with_generate"), NO_EVAL_DATASET], "it needs an `eval_dataset`", "eval_dataset: NAME")
    },
    Refusal {
        since: [0, 9, 4],
        ..always(&[on("predict_with_generate"), NO_EVAL_DATASET, NO_VAL_SIZE], NOTHING_TO_EVALUATE, EVALUATE_ON)
    },
    always(&[on("predict_with_generate"), ZERO3], "it does not go with ZeRO-3", "--deepspeed zero2"),
    always(&[on("predict_with_generate"), on("compute_accuracy")], "`compute_accuracy` is on too", "drop one of them"),
    always(&[on("pure_bf16"), ZERO3], "it does not go with ZeRO-3", "bf16: true"),
    always(&[on("use_unsloth"), ZERO3], "it does not go with ZeRO-3", "--deepspeed zero2, or drop use_unsloth"),
    always(
        &[given("infer_backend", Test::OneOf(&["vllm"]))],
        "it is for the chat, not for training",
        "drop infer_backend",
    ),
    Refusal {
        since: [0, 9, 3],
        ..always(
            &[given("infer_backend", Test::OneOf(&["sglang"]))],
            "it is for the chat, not for training",
            "drop infer_backend",
        )
    },
    always(&[on("use_unsloth"), not_installed("unsloth", "unsloth")], NOT_THERE, "pip install unsloth"),
    always(
        &[on("enable_liger_kernel"), not_installed("liger-kernel", "liger_kernel")],
        NOT_THERE,
        "pip install liger-kernel",
    ),
    always(&[on("use_galore"), not_installed("galore-torch", "galore_torch")], NOT_THERE, "pip install galore_torch"),
    always(&[on("use_apollo"), not_installed("apollo-torch", "apollo_torch")], NOT_THERE, "pip install apollo_torch"),
    always(&[on("use_badam"), not_installed("badam", "badam")], NOT_THERE, "pip install badam"),
    always(&[on("use_adam_mini"), not_installed("adam-mini", "adam_mini")], NOT_THERE, "pip install adam-mini"),
    always(&[on("plot_loss"), not_installed("matplotlib", "matplotlib")], NOT_THERE, "pip install matplotlib"),
    always(&[on("predict_with_generate"), not_installed("jieba", "jieba")], NOT_THERE, "pip install jieba"),
    always(&[on("predict_with_generate"), not_installed("nltk", "nltk")], NOT_THERE, "pip install nltk"),
    always(
        &[on("predict_with_generate"), not_installed("rouge-chinese", "rouge_chinese")],
        NOT_THERE,
        "pip install rouge-chinese",
    ),
    always(
        &[
            given("quantization_bit", Test::Given),
            or_default("quantization_method", "bnb", Test::OneOf(&["bnb", "bitsandbytes"])),
            launch(|subject| subject.model_config_has("quantization_config") == Some(false)),
            not_installed("bitsandbytes", "bitsandbytes"),
        ],
        NOT_THERE,
        "pip install bitsandbytes",
    ),
];

const NOT_THERE: &str = "the package behind it is not installed";

const WITHOUT_LORA: &str = "it does not go with LoRA";
const ONLY_SFT: &str = "it is only for stage sft";

fn number(subject: &Subject, name: &str) -> Option<f64> {
    let (_, values) = subject.job.args.list(name)?;
    values.first()?.to_str()?.parse().ok()
}

fn is_below(subject: &Subject, greater: &str, less: &str, default: f64) -> bool {
    let unread = subject.job.unread.iter().any(|name| name == less);
    let less = if subject.job.args.list(less).is_some() { number(subject, less) } else { Some(default) };
    number(subject, greater).zip(less.filter(|_| !unread)).is_some_and(|(greater, less)| greater < less)
}

/// How many there are in a text with commas between them.
fn count(subject: &Subject, name: &str) -> Option<usize> {
    let (_, values) = subject.job.args.list(name)?;
    Some(values.first()?.to_str()?.split(',').count())
}

/// Whether the installed version registers no template of that name.
fn is_no_template(subject: &Subject) -> bool {
    let Some((_, values)) = subject.job.args.list("template") else { return false };
    let file = || subject.job.python.as_ref()?.file("llamafactory/data/template.py");
    let (Some(name), Some(file)) = (values.first().and_then(|value| value.to_str()), file()) else { return false };
    let text = reading::read_text(&file).unwrap_or_default();
    text.contains("name=\"default\"") && !text.contains(&format!("name=\"{name}\""))
}
