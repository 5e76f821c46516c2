//! What trainers refuse once their arguments are read: values that do not go together, numbers that are texts, models and
//! datasets that cannot be loaded. Each was seen on the real ones (`tests/real/truth.py`).

use serde_json::Value;

use crate::sandbox::Sandbox;

const LLAMAFACTORY: &[(&str, &str)] = &[("transformers", "5.6.0"), ("llamafactory", "0.9.5")];
const LLAMAFACTORY_OLD: &[(&str, &str)] = &[("transformers", "4.52.4"), ("llamafactory", "0.9.3")];
const TRL: &[(&str, &str)] = &[("transformers", "5.19.0"), ("trl", "0.29.1")];
const TRL_OLD: &[(&str, &str)] = &[("transformers", "4.55.4"), ("trl", "0.20.0")];
const SWIFT: &[(&str, &str)] = &[("transformers", "5.19.0"), ("ms_swift", "4.6.0")];
const SWIFT_OLD: &[(&str, &str)] = &[("transformers", "4.55.4"), ("ms_swift", "3.8.3")];

const RUN: &str = "model_name_or_path: a/b\nstage: sft\ndo_train: true\ndataset: tiny\ntemplate: qwen\n";
const TRL_SFT: &str = "trl sft --model_name_or_path a/b --dataset_name c/d";

fn sandbox(packages: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    for (package, version) in packages {
        sandbox.installed(package, version);
    }
    sandbox.file(
        "data/dataset_info.json",
        r#"{"tiny": {"file_name": "t.jsonl"}, "far": {"hf_hub_url": "x/y"}, "lost": {"file_name": "no.jsonl"}}"#,
    );
    sandbox.file("data/t.jsonl", "{}\n");
    for (file, text) in [
        ("llamafactory/data/template.py", "name=\"default\", name=\"qwen\""),
        ("swift/template/constant.py", "class TemplateType: qwen = 'qwen'"),
        ("swift/model/constant.py", "class ModelType: qwen2 = 'qwen2'"),
        ("transformers/models/auto/configuration_auto.py", "(\"qwen2\", \"Qwen2Config\"), (\"new\", \"NewConfig\")"),
    ] {
        sandbox.put(&format!("env/lib/python3.11/site-packages/{file}"), text);
    }
    sandbox
}

/// What `check` says that is no note: severity, rule and message.
fn said(sandbox: &Sandbox, command: &str, template: &str) -> Vec<String> {
    let words = ["check", "--format", "json", "--deepspeed", template, "--nproc-per-node", "2", "--"];
    let found = sandbox.run(words.into_iter().chain(command.split(' '))).stdout;
    let report: Value = serde_json::from_str(&found).unwrap_or_else(|_| panic!("{command}: {found}"));
    let text = |it: &Value, key: &str| it[key].as_str().unwrap().to_string();
    let found = report["diagnostics"].as_array().unwrap().iter().filter(|it| it["severity"] != "note");
    found.map(|it| format!("{}[{}] {}", text(it, "severity"), text(it, "rule"), text(it, "message"))).collect()
}

#[track_caller]
fn one(found: &[String], start: &str, part: &str) {
    assert!(found.len() == 1 && found[0].starts_with(start) && found[0].contains(part), "{start} {part}: {found:#?}");
}

/// What is said about a run file of LLaMA-Factory with these lines behind the usual ones.
fn of_file(packages: &[(&str, &str)], lines: &str, template: &str) -> Vec<String> {
    let sandbox = sandbox(packages);
    let replaced = |line: &&str| !lines.split('\n').any(|it| it.split(':').next() == line.split(':').next());
    let kept: Vec<&str> = RUN.lines().filter(replaced).collect();
    sandbox.file("run.yaml", format!("{}\n{lines}\n", kept.join("\n")));
    said(&sandbox, "llamafactory-cli train run.yaml", template)
}

#[test]
fn llamafactory_refuses_what_does_not_go_together() {
    for packages in [LLAMAFACTORY, LLAMAFACTORY_OLD] {
        for (lines, part) in [
            ("stage: sftt", "`stage: sftt`: there is no such stage"),
            ("stage: ppo\nreport_to: none", "`stage: ppo`: it needs a `reward_model`"),
            ("finetuning_type: full\nuse_dora: true", "`use_dora: true`: it is only for LoRA"),
            ("finetuning_type: full\npissa_init: true", "only for LoRA"),
            ("finetuning_type: full\nuse_llama_pro: true", "LoRA and freeze"),
            ("finetuning_type: everything", "no such method"),
            ("streaming: true", "it needs `max_steps`"),
            ("streaming: true\nmax_steps: 5\nmax_samples: 3", "max_samples"),
            ("val_size: 0.1\neval_dataset: tiny", "`eval_dataset` too"),
            ("eval_strategy: steps", "nothing to evaluate on"),
            ("do_predict: true\nval_size: 0.1", "predict_with_generate"),
            ("mask_history: true\ntrain_on_prompt: true", "`train_on_prompt` is on too"),
            ("image_max_pixels: 1\nimage_min_pixels: 100", "less than `image_min_pixels`"),
            ("interleave_probs: 0.5,0.5", "interleaved"),
            ("template: qwenn", "no such template"),
            ("cutoff_len: 0", "greater than 0"),
            ("eval_strategy: sometimes\nval_size: 0.1", "`eval_strategy: sometimes`"),
        ] {
            one(&of_file(packages, lines, "zero2"), "error[argument] the trainer refuses", part);
        }
        for lines in [
            "",
            "finetuning_type: lora\nuse_dora: true",
            "use_dora: true",
            "finetuning_type: freeze\nuse_llama_pro: true",
            "streaming: true\nmax_steps: 5",
            "val_size: 0.1\neval_strategy: steps",
            "eval_dataset: far\ndo_eval: true",
            "interleave_probs: 0.5,0.5\nmix_strategy: interleave_under\ndataset: tiny,far",
            "image_max_pixels: 4096",
            "stage: pt",
        ] {
            assert_eq!(of_file(packages, lines, "zero2"), Vec::<String>::new(), "{lines}");
        }
        one(&of_file(packages, "pissa_init: true", "zero3"), "error[argument]", "ZeRO-3");
    }
    one(&of_file(LLAMAFACTORY_OLD, "parallelism_config: x", "zero2"), "error[argument]", "parallelism_config");
}

#[test]
fn numbers_that_yaml_reads_as_texts_are_told() {
    one(&of_file(LLAMAFACTORY, "learning_rate: '1e-4'", "zero2"), "error[text-for-number]", "`1e-4`");
    one(&of_file(LLAMAFACTORY, "cutoff_len: long", "zero2"), "warning[text-for-number]", "`cutoff_len`");
    one(&of_file(LLAMAFACTORY, "plot_loss: maybe", "zero2"), "warning[text-for-number]", "true or false");
    // PyYAML, which reads the files of 0.9.3, wants a dot.
    one(&of_file(LLAMAFACTORY_OLD, "learning_rate: 1e-4", "zero2"), "error[text-for-number]", "`1e-4`");
    for (packages, lines) in [(LLAMAFACTORY, "learning_rate: 1e-4"), (LLAMAFACTORY_OLD, "learning_rate: 1.0e-4")] {
        assert_eq!(of_file(packages, lines, "zero2"), Vec::<String>::new(), "{lines}");
    }
}

#[test]
fn datasets_that_cannot_be_loaded() {
    let says = |lines: &str| of_file(LLAMAFACTORY, lines, "zero2");
    one(&says("dataset: tinny"), "error[dataset-unreadable]", "has no dataset `tinny`");
    one(&says("dataset: tiny, other"), "error[dataset-unreadable]", "`other`");
    one(&says("dataset: lost"), "error[dataset-unreadable]", "no.jsonl");
    one(&says("dataset_dir: nowhere"), "error[dataset-unreadable]", "nowhere/dataset_info.json");
    for fine in ["dataset: tiny,far", "dataset: any/thing\ndataset_dir: ONLINE"] {
        assert_eq!(says(fine), Vec::<String>::new(), "{fine}");
    }
    let sandbox = sandbox(&[TRL[1], SWIFT[0], SWIFT[1]]);
    sandbox.file("some.jsonl", "{\"messages\": []}\n");
    sandbox.file("empty.jsonl", "");
    sandbox.file("bad.jsonl", "{\n");
    let trl = |name: &str| said(&sandbox, &format!("trl sft --model_name_or_path a/b --dataset_name {name}"), "zero2");
    one(&trl("some.jsonl"), "error[dataset-unreadable]", "is a file");
    one(&trl("no.jsonl"), "warning[dataset-unreadable]", "on the hub");
    one(&trl("no/such/data.jsonl"), "error[path-missing]", "does not exist");
    assert_eq!([trl("data"), trl("org/data")].concat(), Vec::<String>::new());
    let swift =
        |name: &str| said(&sandbox, &format!("swift sft --model a/b --torch_dtype bfloat16 --dataset {name}"), "zero2");
    one(&swift("empty.jsonl"), "error[dataset-unreadable]", "nothing in it");
    one(&swift("bad.jsonl"), "warning[dataset-unreadable]", "no JSON");
    one(&swift("some.jsonl#many"), "error[argument]", "number of samples");
    for fine in ["some.jsonl", "some.jsonl#5", "org/data:sub/set#5", "hf::org/data"] {
        assert_eq!(swift(fine), Vec::<String>::new(), "{fine}");
    }
}

#[test]
fn models_that_cannot_be_loaded() {
    let sandbox = sandbox(&[TRL[0], TRL[1]]);
    sandbox.file("weightless/config.json", r#"{"model_type": "qwen2"}"#);
    sandbox.file("weightless/tokenizer.json", "{}");
    sandbox.file("file.jsonl", "{}\n");
    for (model, config) in [
        ("other", r#"{"model_type": "no_such"}"#),
        ("bare", "{}"),
        ("new", r#"{"model_type": "new"}"#),
        ("own", r#"{"model_type": "x", "auto_map": {}}"#),
    ] {
        sandbox.file(&format!("{model}/config.json"), config);
        sandbox.file(&format!("{model}/model.safetensors"), "");
    }
    let trl =
        |model: &str| said(&sandbox, &format!("trl sft --model_name_or_path {model} --dataset_name c/d"), "zero2");
    one(&trl("weightless"), "error[weights-missing]", "no weights");
    one(&trl("file.jsonl"), "error[model-unreadable]", "is a file");
    one(&trl("other"), "error[model-unknown]", "transformers 5.19.0 has no model of type `no_such`");
    one(&trl("bare"), "error[model-unknown]", "no `model_type`");
    one(&trl("no/such/model"), "error[path-missing]", "does not exist");
    for fine in ["new", "own", "org/name"] {
        assert_eq!(trl(fine), Vec::<String>::new(), "{fine}");
    }
}

#[test]
fn trl_refuses_its_own_arguments() {
    for (packages, arguments, part) in [
        (TRL, "--lora_task_type x --use_peft true", "no such task"),
        (TRL, "--load_in_4bit true --load_in_8bit true", "load_in_8bit is on"),
        (TRL, "--attn_implementation flash", "no such attention"),
        (TRL, "--loss_type x", "no such loss"),
        (TRL_OLD, "--packing true --packing_strategy x", "way to pack"),
        (TRL, "--use_liger_kernel true", "liger-kernel is not installed"),
        (TRL, "--optim adamw_bnb_8bit", "bitsandbytes is not installed"),
    ] {
        one(&said(&sandbox(packages), &format!("{TRL_SFT} {arguments}"), "zero2"), "error[argument]", part);
    }
    one(&said(&sandbox(TRL), &format!("{TRL_SFT} --chat_template_path ./no"), "zero2"), "error[path-missing]", "./no");
    for arguments in [
        "--packing true --packing_strategy bfd",
        "--attn_implementation sdpa",
        "--attn_implementation org/kernel",
        "--lora_task_type x",
    ] {
        for packages in [TRL, TRL_OLD] {
            assert_eq!(
                said(&sandbox(packages), &format!("{TRL_SFT} {arguments}"), "zero2"),
                Vec::<String>::new(),
                "{arguments}"
            );
        }
    }
    let sandbox = sandbox(TRL_OLD);
    for (file, text) in [
        ("config.json", "{\"model_type\": \"qwen2\"}"),
        ("model.safetensors", ""),
        ("tokenizer.json", "{\"<end>\": 1}"),
        ("tokenizer_config.json", "{\"chat_template\": \"{% for %}\"}"),
    ] {
        sandbox.file(&format!("model/{file}"), text);
    }
    let local = |arguments: &str| {
        said(&sandbox, &format!("trl sft --model_name_or_path model --dataset_name c/d {arguments}"), "zero2")
    };
    one(&local("--eos_token <no>"), "error[argument]", "no such token");
    one(&local("--assistant_only_loss true"), "warning[argument]", "generation");
    assert_eq!(local("--eos_token <end>"), Vec::<String>::new());
}

#[test]
fn swift_refuses_its_own_arguments() {
    let swift = "swift sft --model a/b --dataset c/d --torch_dtype bfloat16";
    for (packages, arguments, part) in [
        (SWIFT, "--tuner_type everything", "no such tuner"),
        (SWIFT_OLD, "--train_type everything", "no such tuner"),
        (SWIFT, "--rope_scaling cubic", "yarn"),
        (SWIFT_OLD, "--rope_scaling cubic", "yarn"),
        (SWIFT, "--quant_method bnb", "--quant_bits"),
        (SWIFT, "--packing true --lazy_tokenize true", "--packing"),
        (SWIFT_OLD, "--streaming true --lazy_tokenize true", "--streaming"),
        (SWIFT, "--freeze_parameters_ratio 1.5", "between 0 and 1"),
        (SWIFT, "--system no.txt", "must be a file"),
        (SWIFT, "--template qwenn", "no such template"),
        (SWIFT, "--model_type qwen22", "no such model_type"),
        (SWIFT, "--attn_impl flash", "no such attention"),
    ] {
        one(&said(&sandbox(packages), &format!("{swift} {arguments}"), "zero2"), "error[argument]", part);
    }
    for arguments in [
        "--rope_scaling yarn",
        "--template qwen --model_type qwen2",
        "--attn_impl flash_attn",
        "--system you",
        "--quant_method bnb --quant_bits 4",
    ] {
        for packages in [SWIFT, SWIFT_OLD] {
            assert_eq!(
                said(&sandbox(packages), &format!("{swift} {arguments}"), "zero2"),
                Vec::<String>::new(),
                "{arguments}"
            );
        }
    }
    let plugin = sandbox(SWIFT);
    plugin.file("mine.py", "");
    let with = |file: &str| said(&plugin, &format!("{swift} --tuner_type mine --external_plugins {file}"), "zero2");
    assert_eq!(with("mine.py"), Vec::<String>::new());
    one(&with("no.py"), "error[path-missing]", "`no.py` does not exist");
}

#[test]
fn what_a_trainer_ends_without_is_told_where_its_sources_say_so() {
    let refusing = |packages: &[(&str, &str)]| {
        let sandbox = sandbox(packages);
        for (file, text) in [
            ("swift/arguments/sft_args.py", "Please input the training dataset."),
            ("swift/arguments/base_args/model_args.py", "Please set --model"),
            ("trl/scripts/sft.py", "model_args.model_name_or_path script_args.dataset_name"),
            ("llamafactory/hparams/model_args.py", "Please provide `model_name_or_path`."),
        ] {
            sandbox.put(&format!("env/lib/python3.11/site-packages/{file}"), text);
        }
        sandbox
    };
    for (packages, command, missing) in [
        (SWIFT, "swift sft --dataset c/d --torch_dtype bfloat16", "`--model`"),
        (SWIFT, "swift sft --model a/b --torch_dtype bfloat16", "`--dataset`"),
        (TRL, "trl sft --dataset_name c/d", "`--model_name_or_path`"),
        (TRL, "trl sft --model_name_or_path a/b", "`--dataset_name`"),
    ] {
        one(&said(&refusing(packages), command, "zero2"), "error[argument-missing]", missing);
        assert_eq!(said(&sandbox(packages), command, "zero2"), Vec::<String>::new(), "{command}");
    }
    // A plan is for looking: what is left out can still be added.
    let looked = refusing(SWIFT).run([
        "-n",
        "--deepspeed",
        "zero2",
        "--nproc-per-node",
        "2",
        "--",
        "swift",
        "sft",
        "--model",
        "a/b",
    ]);
    assert!(
        looked.stderr.starts_with("warning[argument-missing]: ") && looked.stdout.contains("\nruns\n"),
        "{looked:?}"
    );
    let resumed = "swift sft --resume_from_checkpoint data --torch_dtype bfloat16";
    assert_eq!(said(&refusing(SWIFT), resumed, "zero2"), Vec::<String>::new());
}
