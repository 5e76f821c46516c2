//! What depends on the versions that are installed. `tests/real/trainers.py` sees the same on the real ones.

use serde_json::json;

use crate::fake::Sandbox;
use crate::sandbox::{argv, read_json};

#[test]
fn whoever_fills_the_prefetch_bucket_decides_whether_it_is_rounded() {
    let mut sandbox = Sandbox::new();
    sandbox.var("CUDA_VISIBLE_DEVICES", "0,1");
    sandbox.file("m/config.json", r#"{"hidden_size": 64}"#);
    // The DeepSpeed of that time takes both.
    sandbox.installed("deepspeed", "0.14.5");
    for (transformers, accelerate, stage, bucket) in [
        ("4.41.2", "0.30.1", 2, json!(3686.4)),
        ("4.41.2", "0.31.0", 2, json!(3686)),
        ("4.41.2", "1.1.1", 2, json!(3686)),
        ("4.41.2", "1.1.1", 3, json!(3686.4)),
        ("4.45.2", "0.30.1", 3, json!(3686)),
        ("4.45.2", "0.30.1", 2, json!(3686.4)),
    ] {
        sandbox.installed("transformers", transformers);
        sandbox.installed("accelerate", accelerate);
        let config = json!({"train_micro_batch_size_per_gpu": "auto",
            "zero_optimization": {"stage": stage, "stage3_prefetch_bucket_size": "auto"}});
        let command = ["python", "x.py", "--model_name_or_path", "m"];
        let plan = sandbox.plan(&["--deepspeed", &config.to_string()], &command);
        let filled = &plan["config"]["zero_optimization"]["stage3_prefetch_bucket_size"];
        assert_eq!(
            *filled, bucket,
            "transformers {transformers}, accelerate {accelerate}, stage {stage}"
        );
    }
}

#[test]
fn before_1_5_the_run_file_of_accelerate_beats_its_flag() {
    let sandbox = Sandbox::new();
    let settings = "num_processes: 2\nrate: 5.0e-7\ndeepspeed_config:\n  zero3_init_flag: true\n  deepspeed_config_file: zero1\n";
    sandbox.file("acc.yaml", settings);
    let both = [
        "accelerate",
        "launch",
        "--config_file",
        "acc.yaml",
        "--deepspeed_config_file",
        "zero2",
        "x.py",
    ];
    let named = |sandbox: &Sandbox| sandbox.plan(&[], &both)["template"]["name"].clone();
    sandbox.installed("accelerate", "1.5.0");
    assert_eq!(named(&sandbox), "zero2");
    let ours = sandbox.plan(
        &["--deepspeed", "zero3"],
        &both[..4]
            .iter()
            .chain(&["x.py"])
            .copied()
            .collect::<Vec<_>>(),
    );
    assert_eq!(ours["run_file_path"], json!(null));

    sandbox.installed("accelerate", "1.4.0");
    assert_eq!(named(&sandbox), "zero1");
    let plan = sandbox.plan(&["--deepspeed", "zero3"], &both);
    let copy = plan["run_file_path"].as_str().unwrap();
    assert!(copy.contains("/acc-") && copy.contains(".yaml"), "{copy}");
    assert!(
        argv(&plan)
            .join(" ")
            .contains(&format!("launch --config_file {copy} ")),
        "{:?}",
        argv(&plan)
    );
    sandbox.launch(&["--deepspeed", "zero3"], &both).succeeded();
    let written = read_json(copy);
    assert_eq!(
        written["deepspeed_config"]["deepspeed_config_file"],
        plan["config_path"]
    );
    assert_eq!(written["deepspeed_config"]["zero3_init_flag"], true);
    assert_eq!(written["num_processes"], 2);

    // The default run file has no flag to replace; one without a config leaves the flag alone.
    sandbox.put(
        "home/.cache/huggingface/accelerate/default_config.yaml",
        settings,
    );
    let plan = sandbox.plan(&["--deepspeed", "zero3"], &["accelerate", "launch", "x.py"]);
    let copy = plan["run_file_path"].as_str().unwrap();
    assert!(
        argv(&plan)
            .join(" ")
            .ends_with(&format!("launch --use_deepspeed --config_file {copy} x.py"))
    );
    sandbox.file(
        "acc.yaml",
        "num_processes: 2\ndeepspeed_config:\n  zero3_init_flag: true\n",
    );
    let plan = sandbox.plan(
        &["--deepspeed", "zero3"],
        &["accelerate", "launch", "--config_file", "acc.yaml", "x.py"],
    );
    let config = plan["config_path"].as_str().unwrap();
    assert!(argv(&plan).join(" ").ends_with(&format!(
        "acc.yaml --use_deepspeed --deepspeed_config_file {config} x.py"
    )));
}

#[test]
fn what_accelerate_refuses_beside_a_config_is_told() {
    let sandbox = Sandbox::new();
    sandbox.file("x.py", "from accelerate import Accelerator\n");
    sandbox.file(
        "acc.yaml",
        "num_processes: 2\nmixed_precision: bf16\ndeepspeed_config:\n  zero_stage: 2\n  zero3_init_flag: true\n",
    );
    let told = |options: &[&str], more: &[&str]| {
        let command = [
            &["accelerate", "launch", "--config_file", "acc.yaml"],
            more,
            &["x.py"],
        ]
        .concat();
        sandbox
            .run([&["check"], options, &["--"], &command].concat())
            .stdout
    };
    let both = told(&["--deepspeed", "zero3"], &[]);
    assert!(
        both.contains("error[run-file]: `accelerate launch` refuses `zero_stage`, `mixed_precision` in its run file"),
        "{both}"
    );
    let one = told(&["--deepspeed", "zero3"], &["--mixed_precision", "bf16"]);
    assert!(
        one.contains("refuses `zero_stage` in its run file"),
        "{one}"
    );
    // Without a config they are what decides.
    assert!(!told(&[], &[]).contains("in its run file"));
}

#[test]
fn before_4_46_names_with_dashes_are_unknown_to_transformers() {
    let sandbox = Sandbox::new();
    let script = "from transformers import HfArgumentParser, Trainer, TrainingArguments\n\
        args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(args=args)\n";
    sandbox.file("strict.py", script);
    let planned = |sandbox: &Sandbox, option: &str| {
        sandbox.config(&["--deepspeed", "zero2"], &["python", "x.py", option, "4"])["train_micro_batch_size_per_gpu"]
            .clone()
    };
    let (dashed, plain) = (
        "--per-device-train-batch-size",
        "--per_device_train_batch_size",
    );
    for (version, refuses) in [("4.46.3", false), ("4.45.2", true), ("4.36.2", true)] {
        sandbox.installed("transformers", version);
        assert_eq!(
            (planned(&sandbox, dashed), planned(&sandbox, plain)),
            (json!(4), json!(4)),
            "{version}"
        );
        let strict = sandbox.launch(
            &["check", "--nproc-per-node", "2", "--deepspeed", "zero2"],
            &["python", "strict.py", dashed, "4"],
        );
        let told = strict
            .stdout
            .contains("has an option `--per-device-train-batch-size`")
            && strict
                .stdout
                .contains("did you mean `--per_device_train_batch_size`");
        assert_eq!(told, refuses, "{version}: {}", strict.stdout);
    }
}

#[test]
fn a_package_that_only_a_pth_file_reaches_counts() {
    let mut sandbox = Sandbox::new();
    sandbox.var("CUDA_VISIBLE_DEVICES", "0,1");
    sandbox.file("m/config.json", r#"{"hidden_size": 64}"#);
    sandbox.installed("deepspeed", "0.14.5");
    sandbox.put("other/transformers-4.41.2.dist-info/METADATA", "");
    let other = sandbox.path("other");
    sandbox.installed("transformers", "0");
    std::fs::remove_dir(sandbox.site().join("transformers-0.dist-info")).unwrap();
    std::fs::write(
        sandbox.site().join("zz.pth"),
        format!("{}\n", other.display()),
    )
    .unwrap();
    let plan = sandbox.plan(
        &["--deepspeed", "zero3"],
        &["python", "x.py", "--model_name_or_path", "m"],
    );
    assert_eq!(
        plan["config"]["zero_optimization"]["stage3_prefetch_bucket_size"],
        3686.4
    );
}

#[test]
fn a_file_with_the_name_of_a_template_is_what_accelerate_reads() {
    let sandbox = Sandbox::new();
    let command = [
        "accelerate",
        "launch",
        "--num_processes",
        "2",
        "--use_deepspeed",
        "--deepspeed_config_file",
        "zero2",
        "x.py",
    ];
    assert_eq!(
        sandbox.plan(&[], &command)["config"]["zero_optimization"]["stage"],
        2
    );
    sandbox.file(
        "zero2",
        r#"{"zero_optimization": {"stage": 1}, "train_micro_batch_size_per_gpu": 1}"#,
    );
    assert_eq!(
        sandbox.plan(&[], &command)["config"]["zero_optimization"]["stage"],
        1
    );
    // Our own option means ours.
    let ours = sandbox.plan(
        &["--deepspeed", "zero2"],
        &["accelerate", "launch", "--num_processes", "2", "x.py"],
    );
    assert_eq!(ours["config"]["zero_optimization"]["stage"], 2);
}

#[test]
fn axolotl_is_run_as_its_version_runs_it() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "a.yml",
        "base_model: a/b\nmicro_batch_size: 2\ngradient_accumulation_steps: 2\n",
    );
    let words = |own: &[&'static str]| {
        ["axolotl", "train", "a.yml"]
            .into_iter()
            .chain(own.to_vec())
            .collect::<Vec<_>>()
    };
    let ours = ["--nproc-per-node", "2", "--deepspeed", "zero2"];
    // A switch since 0.15, and a value before.
    let valued = words(&["--fp16", "true"]);
    sandbox.installed("axolotl", "0.14.0");
    let plan = sandbox.plan(&ours, &valued);
    assert!(
        argv(&plan)
            .join(" ")
            .contains("-m axolotl.cli.train a.yml --fp16=true --deepspeed="),
        "{plan}"
    );
    assert_eq!(plan["config"]["train_batch_size"], 8);
    sandbox.installed("axolotl", "0.15.0");
    assert_eq!(sandbox.plan(&[], &valued)["trainer"]["name"], "command");
    // What it does not know is for its launcher.
    assert_eq!(
        sandbox.plan(&[], &words(&["--launcher", "torchrun"]))["trainer"]["name"],
        "command"
    );
    // Before the first that is recorded, that one counts.
    sandbox.installed("axolotl", "0.9.2");
    sandbox
        .launch(&ours, &words(&["--lora_r", "8"]))
        .refused(&["zlaunch does not know how `axolotl train` takes a DeepSpeed config"]);

    let set = |version: &str, torch: &str| {
        sandbox.installed("axolotl", version);
        sandbox.installed("torch", torch);
        let plan = sandbox.plan(&ours, &words(&[]));
        let set = plan["env"]["set"].as_object().unwrap().clone();
        let names = [
            "PYTORCH_ALLOC_CONF",
            "PYTORCH_CUDA_ALLOC_CONF",
            "HF_HUB_ENABLE_HF_TRANSFER",
        ];
        names.map(|name| {
            set.get(name)
                .map(|value| value.as_str().unwrap().to_string())
        })
    };
    let (plain, rounded) = (
        "expandable_segments:True",
        "expandable_segments:True,roundup_power2_divisions:16",
    );
    let some = |text: &str| Some(text.to_string());
    assert_eq!(set("0.12.2", "2.9.0"), [None, some(rounded), some("1")]);
    assert_eq!(set("0.15.0", "2.9.0"), [some(rounded), None, None]);
    assert_eq!(set("0.16.0", "2.9.0"), [some(plain), None, None]);
    assert_eq!(set("0.16.0", "2.8.0"), [None, some(rounded), None]);
}
