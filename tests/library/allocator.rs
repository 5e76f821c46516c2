//! Expandable segments of torch's allocator: set for a launch with a config, where they can do no harm and nobody has said
//! anything about the allocator.

use std::ffi::OsString;

use serde_json::Value;

use crate::invariants::fake::Sandbox;
use zlaunch::testing::cli::{Asked, TOOLS, parse};
use zlaunch::testing::secrets::Secrets;
use zlaunch::testing::{Format, Host, Judged};

const OLD: &str = "PYTORCH_CUDA_ALLOC_CONF";
const NEW: &str = "PYTORCH_ALLOC_CONF";
const EXPANDABLE: &str = "expandable_segments:True";

/// What the plan sets `PYTORCH_CUDA_ALLOC_CONF` to.
fn set(host: &Host, words: &str) -> Option<String> {
    let line = format!("zlaunch -n {words}");
    let argv: Vec<OsString> = line.split(' ').map(OsString::from).collect();
    let Ok(Asked::Request(request)) = parse(&argv, host, &TOOLS) else {
        panic!("{words}")
    };
    let launch = request.into_launch().unwrap();
    let (plan, problems) = Judged::new(&launch, host).accepted().unwrap();
    let text = plan.render(&problems, Format::Json, &Secrets::of(host));
    let json: Value = serde_json::from_slice(&text).unwrap();
    json["env"]["set"][OLD].as_str().map(str::to_string)
}

const SWIFT: &str = "-- swift sft --model m --dataset d --per_device_train_batch_size 8 --gradient_accumulation_steps 1";

#[test]
fn they_follow_from_the_gpus_and_the_command() {
    let sandbox = Sandbox::new();
    let with_gpus = sandbox.host();
    let without_gpus = Host {
        nvidia_gpus: None,
        ..sandbox.host()
    };
    for (host, words, is_set) in [
        (&with_gpus, "--deepspeed zero2", true),
        // Whether the model is here, and whether it would fit without them, makes no difference.
        (&with_gpus, "--deepspeed zero2 --gpu-memory 999GiB", true),
        (&without_gpus, "--deepspeed zero2 --gpu-memory 80GiB", true),
        (&without_gpus, "--deepspeed zero2", false),
        (&with_gpus, "--launcher torchrun", false),
    ] {
        let words = format!("{words} --nproc-per-node 2 {SWIFT}");
        let expected = is_set.then_some(EXPANDABLE);
        assert_eq!(set(host, &words).as_deref(), expected, "{words}");
    }
    let grpo = "--deepspeed zero2 --nproc-per-node 2 -- swift rlhf --rlhf_type grpo --model m --dataset d --num_generations 2";
    assert_eq!(set(&with_gpus, grpo).as_deref(), Some(EXPANDABLE));
    assert_eq!(set(&with_gpus, &format!("{grpo} --use_vllm true")), None);
}

#[test]
fn the_word_of_others_counts() {
    let split = "max_split_size_mb:64";
    for (variables, template, expected) in [
        (&[][..], "zero2", Some(EXPANDABLE)),
        (&[(OLD, split)], "zero2", None),
        (&[(OLD, "")], "zero2", None),
        (&[(NEW, split)], "zero2", None),
        (&[(NEW, EXPANDABLE)], "zero2", None),
        (
            &[],
            "zero3_lowmem",
            Some("max_split_size_mb:128,garbage_collection_threshold:0.9"),
        ),
    ] {
        let mut sandbox = Sandbox::new();
        sandbox.vars(variables);
        let words = format!("--deepspeed {template} --nproc-per-node 2 {SWIFT}");
        let seen = set(&sandbox.host(), &words);
        assert_eq!(seen.as_deref(), expected, "{variables:?} {template}");
    }
}

#[test]
fn rocm_and_old_releases_of_torch_do_not_get_them() {
    let words = format!("--deepspeed zero2 --nproc-per-node 2 {SWIFT}");
    for (variable, is_set) in [
        ("HIP_VISIBLE_DEVICES", false),
        ("ROCR_VISIBLE_DEVICES", false),
        ("CUDA_VISIBLE_DEVICES", true),
    ] {
        let mut sandbox = Sandbox::new();
        sandbox.var(variable, "0,1");
        assert_eq!(set(&sandbox.host(), &words).is_some(), is_set, "{variable}");
    }
    for (version, is_set) in [("2.1.2", false), ("2.2.0", true), ("2.11.0", true)] {
        let sandbox = Sandbox::new();
        sandbox.installed("torch", version);
        assert_eq!(set(&sandbox.host(), &words).is_some(), is_set, "{version}");
    }
}
