//! Every "auto" key: filled with transformers' value and type, left with a reason, or refused as the trainer would.

use serde_json::{Value, json};

use crate::sandbox::{SWIFT, Sandbox, argv};

const ALL: &str = r#"{
    "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "gradient_clipping": "auto",
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
    "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_min_lr": "auto", "warmup_max_lr": "auto", "warmup_num_steps": "auto", "total_num_steps": "auto"}},
    "fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}, "steps_per_print": "auto",
    "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto",
        "stage3_gather_16bit_weights_on_model_save": "auto",
        "offload_optimizer": {"device": "auto", "nvme_path": "auto"}, "offload_param": {"device": "auto", "nvme_path": "auto"}}
}"#;

const MICRO: &str = "train_micro_batch_size_per_gpu";
const BUCKET: &str = "zero_optimization.reduce_bucket_size";

fn model(sandbox: &Sandbox, config: &Value) {
    sandbox.file("model/config.json", config.to_string());
}

fn filled(line: &str) -> Value {
    let sandbox = Sandbox::new();
    model(&sandbox, &json!({"hidden_size": 3584}));
    let command: Vec<&str> = line.split(' ').collect();
    sandbox.config(
        &["--deepspeed", ALL, "--allow", "swift-optimizer"],
        &command,
    )
}

#[test]
fn everything_that_is_given_is_filled_with_its_type() {
    let config = filled(
        "python x.py --model_name_or_path model --per_device_train_batch_size 4 --gradient_accumulation_steps 2 --max_grad_norm 1 \
         --learning_rate 1e-5 --adam_beta1 0.9 --adam_beta2 0.95 --adam_epsilon 1e-8 --weight_decay 0 --warmup_steps 10 --max_steps 100 --bf16",
    );
    let expected = json!({
        "train_batch_size": 16, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "gradient_clipping": 1.0,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-5, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.0}},
        "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_min_lr": 0, "warmup_max_lr": 1e-5, "warmup_num_steps": 10, "total_num_steps": 100}},
        "fp16": {"enabled": false}, "bf16": {"enabled": true}, "steps_per_print": "auto",
        "zero_optimization": {"stage": 3, "reduce_bucket_size": 12_845_056, "stage3_prefetch_bucket_size": 11_560_550, "stage3_param_persistence_threshold": 35840,
            "stage3_gather_16bit_weights_on_model_save": false,
            "offload_optimizer": {"device": "none", "nvme_path": "none"}, "offload_param": {"device": "none", "nvme_path": "none"}}
    });
    assert_eq!(config, expected);
}

/// An argument beside it may decide too, so the trainer fills it.
#[test]
fn what_another_argument_decides_is_left() {
    let sandbox = Sandbox::new();
    model(&sandbox, &json!({"hidden_size": 3584}));
    for (words, key, why) in [
        (
            "--bf16 --half_precision_backend apex",
            "bf16.enabled",
            "--half_precision_backend decides too",
        ),
        (
            "--bf16 --fp16_backend apex",
            "bf16.enabled",
            "--half_precision_backend decides too",
        ),
        ("--bf16 --no_bf16", "bf16.enabled", "--no_bf16 is also set"),
        (
            "--model_name_or_path model --config_name c",
            BUCKET,
            "needs the model's hidden_size: --config_name decides too",
        ),
        (
            "--model_name_or_path model --config_overrides n=1",
            BUCKET,
            "needs the model's hidden_size: --config_overrides decides too",
        ),
        (
            "--config_name c",
            BUCKET,
            "needs the model's hidden_size: --model_name_or_path is not set",
        ),
        (
            "--max_grad_norm inf",
            "gradient_clipping",
            "--max_grad_norm inf cannot be written as JSON",
        ),
        (
            "--parallelism_config x --per_device_train_batch_size 1",
            MICRO,
            "--parallelism_config may divide it",
        ),
        (
            "--per_device_train_batch_size $N",
            MICRO,
            "--per_device_train_batch_size $N is not resolved yet",
        ),
    ] {
        let command: Vec<&str> = ["python", "x.py"]
            .into_iter()
            .chain(words.split(' '))
            .collect();
        let plan = sandbox.plan(&["--nproc-per-node", "2", "--deepspeed", ALL], &command);
        let left = plan["left_auto"]
            .as_array()
            .unwrap()
            .iter()
            .find(|left| left["key"] == key);
        assert_eq!(
            left.map(|left| &left["why"]),
            Some(&why.into()),
            "{words}: {}",
            plan["left_auto"]
        );
    }
}

#[test]
fn nothing_given_means_nothing_guessed() {
    let sandbox = Sandbox::new();
    let plan = sandbox.plan(
        &["--nproc-per-node", "2", "--deepspeed", ALL],
        &["python", "x.py"],
    );
    let left: Vec<&str> = plan["left_auto"]
        .as_array()
        .unwrap()
        .iter()
        .map(|left| left["key"].as_str().unwrap())
        .collect();
    for key in [
        "train_batch_size",
        "train_micro_batch_size_per_gpu",
        "gradient_accumulation_steps",
        "gradient_clipping",
        "optimizer.params.lr",
        "optimizer.params.betas",
        "optimizer.params.eps",
        "optimizer.params.weight_decay",
        "scheduler.params.warmup_max_lr",
        "scheduler.params.warmup_num_steps",
        "scheduler.params.total_num_steps",
        "fp16.enabled",
        "bf16.enabled",
        "zero_optimization.reduce_bucket_size",
        "zero_optimization.stage3_prefetch_bucket_size",
        "zero_optimization.stage3_param_persistence_threshold",
    ] {
        assert!(left.contains(&key), "{key} is not in {left:?}");
    }
    assert!(
        plan["left_auto"]
            .as_array()
            .unwrap()
            .iter()
            .all(|left| !left["why"].as_str().unwrap().is_empty())
    );
    let unfilled = sandbox.plan(
        &["--no-fill", "--nproc-per-node", "2", "--deepspeed", ALL],
        &["python", "x.py", "--bf16", "--max_grad_norm", "1"],
    );
    assert_eq!(
        (&unfilled["config"]["bf16"]["enabled"], &unfilled["fills"]),
        (&"auto".into(), &json!([]))
    );
}

#[test]
fn what_rewrites_the_batch_later_keeps_it_auto() {
    for more in [
        "--sequence_parallel_size 2",
        "--callbacks deepspeed_elastic",
        "--parallelism_config x",
    ] {
        let line = format!(
            "swift sft --per_device_train_batch_size 4 --gradient_accumulation_steps 2 {more}"
        );
        let config = filled(&line);
        assert_eq!(
            (
                &config["train_batch_size"],
                &config["train_micro_batch_size_per_gpu"]
            ),
            (&"auto".into(), &"auto".into()),
            "{more}"
        );
    }
    // transformers refuses this one at stage 3.
    let tries = [SWIFT, &["--auto_find_batch_size"]].concat();
    assert_eq!(
        Sandbox::new().config(&["--deepspeed", "zero2"], &tries)["train_batch_size"],
        "auto"
    );
}

#[test]
fn precision_as_each_front_end_reads_it() {
    let pair = |line: &str| {
        let config = filled(line);
        (
            config["fp16"]["enabled"].clone(),
            config["bf16"]["enabled"].clone(),
        )
    };
    let auto = Value::from("auto");
    for (line, fp16, bf16) in [
        ("python x.py --bf16", json!(false), json!(true)),
        ("python x.py --bf16 False", auto.clone(), json!(false)),
        ("python x.py --fp16 --bf16 no", json!(true), json!(false)),
        ("python x.py --fp16=yes", json!(true), json!(false)),
        ("python x.py --fp16_full_eval", json!(true), auto.clone()),
        ("python x.py", auto.clone(), auto.clone()),
        (
            "swift sft --torch_dtype bfloat16",
            json!(false),
            json!(true),
        ),
        ("swift sft --torch_dtype float16", json!(true), json!(false)),
        // ms-swift trains float32 models in mixed precision with fp16.
        ("swift sft --torch_dtype float32", json!(true), json!(false)),
        ("swift sft --bf16 true", auto.clone(), json!(true)),
        ("swift sft", auto.clone(), auto.clone()),
    ] {
        assert_eq!(pair(line), (fp16, bf16), "{line}");
    }
}

#[test]
fn hidden_sizes_below_stage_3() {
    let sandbox = Sandbox::new();
    let stage2 = ALL.replace("\"stage\": 3", "\"stage\": 2");
    let zero = |command: &str| {
        let options = ["--deepspeed", &stage2, "--allow", "swift-optimizer"];
        sandbox.config(&options, &command.split(' ').collect::<Vec<_>>())["zero_optimization"]
            .clone()
    };
    model(&sandbox, &json!({"hidden_size": 64}));
    assert_eq!(
        zero("python x.py --model_name_or_path model")["stage3_prefetch_bucket_size"],
        3686
    );
    // accelerate fills these below stage 3, and it does not look into text_config.
    model(&sandbox, &json!({"text_config": {"hidden_size": 64}}));
    let hf = zero("python x.py --model_name_or_path model");
    assert_eq!(
        (
            &hf["reduce_bucket_size"],
            &hf["stage3_prefetch_bucket_size"]
        ),
        (&4096.into(), &"auto".into())
    );
    // ms-swift copies the size to the top of the config first.
    assert_eq!(
        zero("swift sft --model model")["stage3_prefetch_bucket_size"],
        3686
    );
}

#[test]
fn nine_tenths_is_pythons_int() {
    let sandbox = Sandbox::new();
    let prefetch = |hidden_size: u32| {
        model(&sandbox, &json!({"hidden_size": hidden_size}));
        let command = ["python", "x.py", "--model_name_or_path", "model"];
        let config = sandbox.config(&["--deepspeed", ALL], &command);
        config["zero_optimization"]["stage3_prefetch_bucket_size"].clone()
    };
    // python3 -c 'print([int(0.9*h*h) for h in (3584, 4096, 5120, 8192, 64, 7)])'
    for (h, size) in [
        (3584, 11_560_550),
        (4096, 15_099_494),
        (5120, 23_592_960),
        (8192, 60_397_977),
        (64, 3686),
        (7, 44),
    ] {
        assert_eq!(prefetch(h), json!(size), "{h}");
    }
    // Older ones do not round it, which the DeepSpeed of their time takes.
    sandbox.installed("transformers", "4.44.2");
    sandbox.installed("deepspeed", "0.14.5");
    assert_eq!(
        (prefetch(5120), prefetch(64)),
        (json!(23_592_960), json!(3686.4))
    );
}

#[test]
fn grpo_keeps_its_own_prefetch_rule() {
    let config = filled("swift rlhf --rlhf_type grpo --model model");
    assert_eq!(
        config["zero_optimization"]["stage3_prefetch_bucket_size"],
        "auto"
    );
    assert_eq!(
        config["zero_optimization"]["reduce_bucket_size"],
        12_845_056
    );
}

#[test]
fn accelerates_variables_are_left_to_accelerate() {
    let mut sandbox = Sandbox::new();
    sandbox.var("ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE", "cpu");
    let config = sandbox.config(&["--deepspeed", ALL], &["python", "x.py"]);
    assert_eq!(
        config["zero_optimization"]["offload_param"]["device"],
        "auto"
    );
    assert_eq!(
        config["zero_optimization"]["offload_optimizer"]["device"],
        "none"
    );
}

#[test]
fn arguments_the_trainer_would_refuse() {
    let sandbox = Sandbox::new();
    for (line, words) in [
        (
            "swift sft --per_device_train_batch_size four",
            ["--per_device_train_batch_size four", "an integer"],
        ),
        (
            "swift sft --max_grad_norm -1e-5",
            ["`--max_grad_norm` alone", "a number"],
        ),
        ("swift sft --bf16", ["`--bf16` alone", "true or false"]),
        (
            "python x.py --bf16 maybe",
            ["--bf16 maybe", "true or false"],
        ),
    ] {
        let command: Vec<&str> = line.split(' ').collect();
        sandbox
            .launch(&["--nproc-per-node", "2", "--deepspeed", "zero2"], &command)
            .refused(&words);
    }
    assert!(!sandbox.executed());
}

#[test]
fn mismatches_are_reported_together_with_both_sides() {
    let sandbox = Sandbox::new();
    let config = json!({
        "zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": "8", "gradient_clipping": 1.0,
        "train_batch_size": 32, "bf16": {"enabled": false}, "optimizer": {"type": "AdamW", "params": {"betas": ["auto", "auto"], "lr": 1e-5}},
    });
    let path = sandbox.file("my.json", config.to_string());
    let command = "swift sft --per_device_train_batch_size 2 --gradient_accumulation_steps 8 --max_grad_norm 0.5 --learning_rate 1e-5 --torch_dtype bfloat16 \
                   --adam_beta1 0.9 --adam_beta2 0.95";
    let run = sandbox.launch(
        &["--nproc-per-node", "2", "--deepspeed", "my.json"],
        &command.split_whitespace().collect::<Vec<_>>(),
    );
    run.refused(&[
        "`train_micro_batch_size_per_gpu` is 4 in the config, but `--per_device_train_batch_size` makes it 2",
        "`gradient_accumulation_steps` is \"8\" in the config, but `--gradient_accumulation_steps` makes it 8",
        "`gradient_clipping` is 1 in the config, but `--max_grad_norm` makes it 0.5",
        "`bf16.enabled` is false",
        "`optimizer.params.betas`",
        "--max_grad_norm",
        &format!("{}:1:", path.display()),
    ]);
    assert_eq!(
        run.stderr.matches("error[mismatch]: ").count(),
        5,
        "{}",
        run.stderr
    );
    assert!(!sandbox.executed());
    let equal = sandbox.launch(
        &[
            "--nproc-per-node",
            "2",
            "--deepspeed",
            "zero2",
            "--set",
            "gradient_clipping=1.0",
        ],
        &["swift", "sft", "--max_grad_norm", "1"],
    );
    assert_eq!(equal.status, Some(0), "1 equals 1.0: {}", equal.stderr);
    sandbox
        .launch(
            &[
                "--nproc-per-node",
                "2",
                "--deepspeed",
                "zero2",
                "--set",
                "gradient_clipping=2",
            ],
            &["swift", "sft", "--max_grad_norm", "1"],
        )
        .refused(&["--set gradient_clipping=2"]);
}

#[test]
fn an_auto_nobody_fills_is_refused_for_everyone() {
    let sandbox = Sandbox::new();
    for set in [
        "zero_optimization.overlap_comm=auto",
        "zero_optimization.allgather_bucket_size=auto",
        "fp16.loss_scale=auto",
        "made.up=auto",
    ] {
        let key = set.split('=').next().unwrap();
        for command in [
            &["swift", "sft"][..],
            &["python", "x.py", "--deepspeed_config", "zero2"],
        ] {
            sandbox
                .launch(
                    &[
                        "--nproc-per-node",
                        "2",
                        "--deepspeed",
                        "zero2",
                        "--set",
                        set,
                    ],
                    command,
                )
                .refused(&[key]);
        }
    }
}

#[test]
fn plain_scripts_get_no_auto_at_all() {
    let sandbox = Sandbox::new();
    let plain = ["python", "x.py", "--deepspeed_config", "zero2"];
    sandbox
        .launch(&["--nproc-per-node", "2"], &plain)
        .refused(&[
            "--set train_micro_batch_size_per_gpu=1",
            "--set gradient_accumulation_steps=1",
            "--set gradient_clipping=1.0",
            "--set bf16.enabled=true",
        ]);
    let sets = [
        "train_micro_batch_size_per_gpu=4",
        "gradient_accumulation_steps=2",
        "gradient_clipping=1.0",
        "bf16.enabled=true",
        "fp16.enabled=false",
    ];
    let options: Vec<&str> = ["--nproc-per-node", "2"]
        .into_iter()
        .chain(sets.iter().flat_map(|set| ["--set", set]))
        .collect();
    let plan = sandbox.plan(&options, &plain);
    assert!(!plan["config"].to_string().contains("\"auto\""));
    assert_eq!(
        plan["config"].get("train_batch_size"),
        None,
        "DeepSpeed infers it"
    );
    let zenflow = [
        "zero_optimization.zenflow.select_strategy=auto",
        "zero_optimization.zenflow.topk_ratio=0.1",
        "zero_optimization.offload_optimizer.device=cpu",
        "optimizer.type=AdamW",
    ];
    let options: Vec<&str> = options
        .into_iter()
        .chain(zenflow.iter().flat_map(|set| ["--set", set]))
        .collect();
    assert_eq!(
        sandbox.plan(&options, &plain)["config"]["zero_optimization"]["zenflow"]["select_strategy"],
        "auto"
    );
    // DeepSpeed itself understands these, and no others.
    for (config, is_fine) in [
        (r#"{"pipeline": {"stages": "auto"}}"#, true),
        (r#"{"data_types": {"keep_in_fp32_modules": "auto"}}"#, true),
        (
            r#"{"expert_parallel": {"load_balance_coeff": "auto"}}"#,
            false,
        ),
        (r#"{"pipeline": {"partition": "auto"}}"#, false),
    ] {
        sandbox.file("ds.json", config);
        let checked = sandbox.run(["check", "ds.json"]).stdout;
        assert_eq!(
            !checked.contains("cannot be \"auto\""),
            is_fine,
            "{config}: {checked}"
        );
    }
}

#[test]
fn plain_scripts_are_never_given_a_global_batch() {
    let sandbox = Sandbox::new();
    sandbox.file("plain.py", "import deepspeed\ndeepspeed.initialize()\n");
    let config = r#"{"zero_optimization": {"stage": 3}, "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}"#;
    sandbox.file("ds.json", config);
    let command = [
        "python",
        "plain.py",
        "--per_device_train_batch_size",
        "2",
        "--gradient_accumulation_steps",
        "4",
        "--deepspeed",
        "ds.json",
    ];
    let plan = sandbox.plan(&["--nproc-per-node", "4"], &command);
    assert_eq!(
        plan["config"],
        json!({"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4})
    );
    let words = argv(&plan);
    assert_eq!(words[words.len() - 2], "--deepspeed");
}

#[test]
fn two_words_for_the_warmup_fill_nothing() {
    let config = filled("python x.py --warmup_steps 10 --warmup_ratio 0.1");
    assert_eq!(config["scheduler"]["params"]["warmup_num_steps"], "auto");
}

#[test]
fn a_trainer_that_fills_auto_itself_is_left_its_keys() {
    let sandbox = Sandbox::new();
    let plan = sandbox.plan(
        &["--deepspeed", "zero3", "--nproc-per-node", "2"],
        &["xtuner", "train", "config.py"],
    );
    let left = plan["left_auto"].as_array().unwrap();
    let why = |key: &str| {
        left.iter()
            .find(|it| it["key"] == key)
            .and_then(|it| it["why"].as_str())
            .unwrap_or_default()
    };
    assert!(
        why("train_micro_batch_size_per_gpu").contains("train_dataloader.batch_size"),
        "{left:?}"
    );
    assert!(
        why("bf16.enabled").contains("GPU") && why("gradient_clipping").contains("max_norm"),
        "{left:?}"
    );
    assert!(
        why("zero_optimization.reduce_bucket_size").contains("DeepSpeed uses its default"),
        "{left:?}"
    );
    // Nobody fills this one, and DeepSpeed would compare the text with a number.
    assert!(
        plan["config"].get("train_batch_size").is_none(),
        "{}",
        plan["config"]
    );
    assert_eq!(plan["fills"], serde_json::json!([]));

    let overwritten = [
        "--set",
        "gradient_clipping=0.5",
        "--set",
        "train_batch_size=64",
    ];
    let options: Vec<&str> = ["--deepspeed", "zero2_offload", "--nproc-per-node", "2"]
        .into_iter()
        .chain(overwritten)
        .collect();
    let plan = sandbox.plan(&options, &["xtuner", "train", "config.py"]);
    let rules: Vec<_> = plan["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["rule"].as_str().unwrap())
        .collect();
    assert_eq!(rules, ["batch-product", "trainer-optimizer", "no-effect"]);
}

/// TRL initialises a reference model with the config before transformers fills it.
#[test]
fn what_a_reference_model_gets_is_not_filled() {
    let sandbox = Sandbox::new();
    let llamafactory = [
        "llamafactory-cli",
        "train",
        "--model_name_or_path",
        "a/b",
        "--stage",
    ];
    for (command, is_left) in [
        ([&llamafactory[..], &["dpo"]].concat(), true),
        ([&llamafactory[..], &["sft"]].concat(), false),
        (
            vec![
                "trl",
                "kto",
                "--model_name_or_path",
                "a/b",
                "--dataset_name",
                "c/d",
            ],
            true,
        ),
        (
            vec![
                "trl",
                "sft",
                "--model_name_or_path",
                "a/b",
                "--dataset_name",
                "c/d",
            ],
            false,
        ),
    ] {
        let plan = sandbox.plan(&["--deepspeed", "zero3", "--nproc-per-node", "2"], &command);
        let mut left = plan["left_auto"].as_array().unwrap().iter();
        let bucket = left
            .find(|it| it["key"] == "zero_optimization.reduce_bucket_size")
            .unwrap();
        assert_eq!(
            bucket["why"] == "the reference model gets it unchanged",
            is_left,
            "{command:?}: {bucket}"
        );
    }
}
