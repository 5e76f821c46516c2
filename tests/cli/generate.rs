//! A ready config from a few numbers.

use std::fs;

use serde_json::Value;

use crate::sandbox::{SWIFT, Sandbox, read_json, rights};

const KEYS: &str = include_str!("../../src/recorded/deepspeed-schema.txt");

fn generate(sandbox: &Sandbox, words: &[&str]) -> Value {
    let run = sandbox.run(["generate"].iter().chain(words));
    run.succeeded();
    serde_json::from_str(&run.stdout).unwrap()
}

fn known_keys(prefix: &str, value: &Value) {
    for (key, value) in value.as_object().unwrap() {
        let key = if prefix.is_empty() {
            key.clone()
        } else {
            format!("{prefix}.{key}")
        };
        assert!(
            KEYS.lines()
                .any(|known| known.split('\t').next() == Some(key.as_str())),
            "{key}"
        );
        if value.is_object() {
            known_keys(&key, value);
        }
    }
}

#[test]
fn the_global_batch_is_the_product_of_the_numbers_given() {
    let sandbox = Sandbox::new();
    let config = generate(
        &sandbox,
        &[
            "--micro-batch",
            "2",
            "--grad-accum",
            "32",
            "--world-size",
            "4",
            "--offload",
        ],
    );
    assert_eq!(
        (
            &config["train_batch_size"],
            &config["train_micro_batch_size_per_gpu"],
            &config["gradient_accumulation_steps"]
        ),
        (&256.into(), &2.into(), &32.into())
    );
    let cpu = serde_json::json!({"device": "cpu", "pin_memory": true});
    let zero = &config["zero_optimization"];
    assert_eq!(
        (
            &zero["stage"],
            &zero["offload_param"],
            &zero["offload_optimizer"]
        ),
        (&3.into(), &cpu, &cpu)
    );
    assert_eq!(
        (&zero["overlap_comm"], &zero["contiguous_gradients"]),
        (&true.into(), &true.into())
    );
    assert_eq!(
        (&config["bf16"]["enabled"], &config["fp16"]["enabled"]),
        (&true.into(), &false.into())
    );
    assert_eq!(
        (&config["steps_per_print"], &config["gradient_clipping"]),
        (&50.into(), &1.0.into())
    );
    assert!(
        zero["stage3_max_live_parameters"].is_u64() && zero["stage3_prefetch_bucket_size"].is_u64()
    );
}

#[test]
fn every_stage_holds_known_keys_and_nothing_auto() {
    let sandbox = Sandbox::new();
    for stage in ["0", "1", "2", "3"] {
        for more in [&["--bf16"][..], &["--fp16"], &["--offload"]] {
            if stage == "0" && more == ["--offload"] {
                continue;
            }
            let config = generate(&sandbox, &[&["--stage", stage], more].concat());
            known_keys("", &config);
            assert!(!config.to_string().contains("auto"), "{config}");
            assert_eq!(
                config["zero_optimization"].get("offload_param").is_some(),
                stage == "3" && more == ["--offload"]
            );
        }
    }
    let half = generate(&sandbox, &["--fp16"]);
    assert_eq!(
        (&half["fp16"]["enabled"], &half["bf16"]["enabled"]),
        (&true.into(), &false.into())
    );
    assert_eq!(
        (
            &half["fp16"]["loss_scale"],
            &half["fp16"]["initial_scale_power"]
        ),
        (&0.into(), &12.into())
    );
}

#[test]
fn a_file_is_never_overwritten_unless_asked() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(["generate", "--world-size", "8", "-o", "new/ds.json"]);
    assert_eq!((run.status, run.stdout.as_str()), (Some(0), ""), "{run:?}");
    assert!(
        run.stderr.contains("train_batch_size 8 = 1 × 1 × 8 GPUs"),
        "{}",
        run.stderr
    );
    let path = sandbox.cwd().join("new/ds.json");
    let before = fs::read(&path).unwrap();
    assert_eq!(rights(&path) & 0o400, 0o400);
    sandbox
        .run(["generate", "-o", "new/ds.json"])
        .refused(&["new/ds.json", "--force"]);
    assert_eq!(fs::read(&path).unwrap(), before);
    sandbox
        .run(["generate", "-o", "new/ds.json", "--force"])
        .succeeded();
    assert_ne!(fs::read(&path).unwrap(), before);
    assert_eq!(
        sandbox.files("cwd/new").len(),
        1,
        "{:?}",
        sandbox.files("cwd")
    );
}

#[test]
fn three_tiers_with_one_global_batch() {
    let sandbox = Sandbox::new();
    let words = [
        "generate",
        "--micro-batch",
        "2",
        "--grad-accum",
        "32",
        "--world-size",
        "8",
        "--tiers",
        "-o",
        "tiers",
    ];
    sandbox.run(words).succeeded();
    let mut seen = Vec::new();
    for name in ["small", "medium", "large"] {
        let config = read_json(sandbox.cwd().join(format!("tiers/{name}.json")));
        known_keys("", &config);
        assert_eq!(config["train_batch_size"], 512, "{name}");
        let zero = &config["zero_optimization"];
        seen.push((
            config["train_micro_batch_size_per_gpu"].clone(),
            zero["stage"].clone(),
            zero.get("offload_param").is_some(),
        ));
    }
    assert_eq!(
        seen,
        [
            (1.into(), 3.into(), true),
            (2.into(), 3.into(), false),
            (4.into(), 2.into(), false)
        ]
    );
    sandbox.run(words).refused(&["tiers/small.json", "--force"]);
}

#[test]
fn contradicting_options_are_refused() {
    let sandbox = Sandbox::new();
    for (words, told) in [
        (&["--bf16", "--fp16"][..], "--bf16"),
        (&["--stage", "0", "--offload"], "--stage 2 --offload"),
        (&["--stage", "4"], "one of 0, 1, 2, 3"),
        (&["--tiers"], "--out"),
        (
            &["--tiers", "-o", "x", "--stage", "2"],
            "cannot be used with",
        ),
        (&["--micro-batch", "0"], "from 1 to"),
        (&["--world-size", "4294967295"], "from 1 to 1048576"),
        (&["--micro_bach", "1"], "--micro"),
    ] {
        sandbox
            .run(["generate"].iter().chain(words))
            .refused(&[told]);
    }
}

/// A generated file launches, and the trainer's numbers agree with it.
#[test]
fn what_is_generated_launches() {
    let sandbox = Sandbox::new();
    sandbox.run([
        "generate",
        "--micro-batch",
        "1",
        "--grad-accum",
        "16",
        "--world-size",
        "2",
        "-o",
        "ds.json",
    ]);
    let plan = sandbox.plan(
        &["--nproc-per-node", "2", "--deepspeed", "ds.json"],
        &[
            SWIFT,
            &["--max_grad_norm", "1.0", "--torch_dtype", "bfloat16"],
        ]
        .concat(),
    );
    assert_eq!(
        (
            &plan["config"]["train_batch_size"],
            plan["fills"].as_array().unwrap().len()
        ),
        (&32.into(), 0)
    );
}

/// What is written passes our own rules, also where only a warning would be said.
#[test]
fn what_is_generated_passes_check() {
    let sandbox = Sandbox::new();
    sandbox.file("plain.py", "import deepspeed\ndeepspeed.initialize()\n");
    for words in [
        &["--stage", "0"][..],
        &["--stage", "2", "--offload", "--fp16"],
        &["--stage", "3", "--offload"],
        &["--stage", "1", "--micro-batch", "4", "--grad-accum", "8"],
    ] {
        let words: Vec<&str> = ["generate", "--world-size", "4", "--force", "-o", "c.json"]
            .iter()
            .chain(words)
            .copied()
            .collect();
        sandbox.run(&words).succeeded();
        let check = [
            "check",
            "--strict",
            "--nproc-per-node",
            "4",
            "--",
            "python",
            "plain.py",
            "--deepspeed_config",
            "c.json",
        ];
        let run = sandbox.run(check);
        assert_eq!(run.status, Some(0), "{words:?}: {run:?}");
    }
}

/// Each file by its own name, with an option that there is.
#[test]
fn an_error_names_the_file_that_cannot_be_written() {
    let mut sandbox = Sandbox::new();
    let run = sandbox.run(["generate", "-o", "/proc/nope/x.json"]);
    run.refused(&[
        "the generated config cannot be written",
        "/proc/nope/x.json",
        "-o FILE",
    ]);
    assert!(!run.stderr.contains("--config-out"), "{run:?}");
    sandbox.file(
        "run.yaml",
        "model_name_or_path: x\nper_device_train_batch_size: 1\ndeepspeed: zero2\n",
    );
    sandbox.file("train.py", "from transformers import Trainer\n");
    sandbox.unset("HOME").var("TMPDIR", "/dev/null/x");
    let options = ["--nproc-per-node", "2", "--config-out", "out.json"];
    let run = sandbox.launch(&options, &["python", "train.py", "run.yaml"]);
    run.refused(&[
        "the run file that names the config cannot be written",
        "XDG_CACHE_HOME",
    ]);
    sandbox
        .launch(
            &["--nproc-per-node", "2", "--record", "/proc/nope"],
            &["python", "train.py"],
        )
        .refused(&[
            "the launch record cannot be written",
            "/proc/nope",
            "--record DIR",
        ]);
}
