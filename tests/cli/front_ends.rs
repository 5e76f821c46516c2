//! How commands are recognised and rewritten, and how the config is handed over.

use crate::sandbox::{SWIFT, Sandbox, executable, plant};

fn words(plan: &serde_json::Value) -> Vec<String> {
    serde_json::from_value(plan["argv"].clone()).unwrap()
}

/// The argv after the interpreter, with the config's path as `CONFIG` and site-packages as `SITE`.
fn line(sandbox: &Sandbox, plan: &serde_json::Value) -> String {
    let config = plan["config_path"].as_str().unwrap_or("no config");
    let site = sandbox.site();
    words(plan)[1..].join(" ").replace(config, "CONFIG").replace(site.to_str().unwrap(), "SITE")
}

#[test]
fn swift_runs_its_inner_file_under_torchrun() {
    let sandbox = Sandbox::new();
    for command in ["sft", "pt", "rlhf"] {
        let plan =
            sandbox.plan(&["--deepspeed", "zero2", "--nproc-per-node", "2"], &["swift", command, "--model", "a/b"]);
        let expected = format!(
            "-m torch.distributed.run --nproc_per_node 2 --standalone SITE/swift/cli/{command}.py --model a/b --deepspeed CONFIG"
        );
        assert_eq!(line(&sandbox, &plan), expected);
        assert_eq!((&plan["trainer"]["name"], &plan["trainer"]["version"]), (&"swift".into(), &"4.6.0".into()));
    }
    let plan = sandbox.plan(&["--nproc-per-node", "2"], &["swift", "infer", "--model", "a/b"]);
    assert_eq!(
        line(&sandbox, &plan),
        "-m torch.distributed.run --nproc_per_node 2 --standalone SITE/swift/cli/infer.py --model a/b"
    );
}

#[test]
fn other_swift_commands_are_passed_through_untouched() {
    let sandbox = Sandbox::new();
    for command in
        [&["swift", "export", "--model", "a/b", "--deepspeed", "zero2"][..], &["swift", "sft", "run.yaml"], &["swift"]]
    {
        let plan = sandbox.plan(&[], command);
        assert_eq!(words(&plan)[1..], command[1..], "{command:?}");
        assert!(words(&plan)[0].ends_with("env/bin/swift"));
        assert_eq!((&plan["config"], &plan["launcher"]), (&serde_json::Value::Null, &"direct".into()));
    }
    sandbox.launch(&["--deepspeed", "zero2"], &["swift", "export"]).refused(&["`swift export`"]);
}

#[test]
fn the_trainers_own_argument_is_replaced_in_place() {
    let sandbox = Sandbox::new();
    sandbox.file("c/mine.json", r#"{"zero_optimization": {"stage": 1}}"#);
    for (given, expected) in [
        ("--deepspeed zero3 --bf16 true", "--deepspeed CONFIG --bf16 true"),
        ("--deepspeed=c/mine.json --bf16 true", "--deepspeed=CONFIG --bf16 true"),
        ("--bf16 true --deepspeed c/mine.json", "--bf16 true --deepspeed CONFIG"),
    ] {
        let command: Vec<&str> = ["swift", "sft"].into_iter().chain(given.split(' ')).collect();
        let plan = sandbox.plan(&["--nproc-per-node", "2"], &command);
        assert!(line(&sandbox, &plan).ends_with(&format!("sft.py {expected}")), "{given}: {}", line(&sandbox, &plan));
    }
    let plan =
        sandbox.plan(&["--nproc-per-node", "2", "--deepspeed", "zero2"], &["swift", "sft", "--deepspeed", "zero3"]);
    assert_eq!((&plan["template"]["name"], &plan["diagnostics"][0]["rule"]), (&"zero2".into(), &"two-configs".into()));
}

#[test]
fn wrapped_launchers_keep_their_flags_and_their_ranks() {
    let sandbox = Sandbox::new();
    let site = sandbox.site();
    let inner = format!("{}/swift/cli/sft.py", site.display());
    let tail = ["--per_device_train_batch_size", "2", "--gradient_accumulation_steps", "3", "--deepspeed", "zero2"];
    for (head, start, ranks) in [
        (
            "torchrun --nproc_per_node=5 swift sft",
            "-m torch.distributed.run --nproc_per_node=5 SITE/swift/cli/sft.py",
            Some(5),
        ),
        (
            "torchrun --nproc-per-node 4 --nnodes 2 --rdzv_backend c10d --standalone swift sft",
            "-m torch.distributed.run --nproc-per-node 4 --nnodes 2 --rdzv_backend c10d --standalone SITE/swift/cli/sft.py",
            Some(8),
        ),
        ("torchrun --nproc_per_node 2 -m swift.cli.sft", "--nproc_per_node 2 -m swift.cli.sft", Some(2)),
        (
            "python -m torch.distributed.run --nproc_per_node 3 x.py",
            "-m torch.distributed.run --nproc_per_node 3 x.py",
            Some(3),
        ),
        ("torchrun x.py", "x.py", Some(1)),
        ("torchrun --nnodes 1:4 --nproc_per_node 2 x.py", "--nnodes 1:4 --nproc_per_node 2 x.py", None),
        ("deepspeed --num_gpus=3 x.py", "--num_gpus=3 x.py", Some(3)),
        (
            "deepspeed --include localhost:4,5 --master_port 29600 x.py",
            "--include localhost:4,5 --master_port 29600 x.py",
            Some(2),
        ),
        ("deepspeed --hostfile h --num_gpus 2 x.py", "--hostfile h --num_gpus 2 x.py", None),
        (
            "deepspeed --num_gpus 2 swift sft",
            "-m deepspeed.launcher.runner --num_gpus 2 SITE/swift/cli/sft.py",
            Some(2),
        ),
        ("deepspeed --module --num_gpus 2 pkg.train", "--module --num_gpus 2 pkg.train", Some(2)),
    ] {
        let command: Vec<&str> = head.split(' ').chain(tail).collect();
        let plan = sandbox.plan(&[], &command);
        let expected =
            format!("{start} --per_device_train_batch_size 2 --gradient_accumulation_steps 3 --deepspeed CONFIG");
        assert_eq!(line(&sandbox, &plan), expected, "{head}");
        match ranks {
            Some(ranks) => assert_eq!(plan["config"]["train_batch_size"], ranks * 6, "{head}"),
            None => assert_eq!(plan["config"]["train_batch_size"], "auto", "{head}"),
        }
    }
    let written_out = ["torchrun", "--nproc_per_node", "2", &inner, "--deepspeed", "zero2"];
    let plan = sandbox.plan(&[], &written_out);
    assert_eq!(plan["trainer"]["name"], "swift");
}

#[test]
fn a_wrapped_launcher_takes_what_it_does_not_state_and_refuses_a_contradiction() {
    let sandbox = Sandbox::new();
    let plan = sandbox.plan(
        &["--nproc-per-node", "4", "--launcher-arg=--max_restarts=2"],
        &["torchrun", "--nnodes", "1", "x.py", "--a"],
    );
    assert_eq!(line(&sandbox, &plan), "--nnodes 1 --nproc_per_node 4 --max_restarts=2 x.py --a");
    sandbox
        .launch(&["--nproc-per-node", "4"], &["torchrun", "--nproc_per_node=5", "x.py"])
        .refused(&["--nproc-per-node 4", "--nproc_per_node 5"]);
    sandbox.launch(&["--launcher", "direct"], &["torchrun", "x.py"]).refused(&["already starts with `torchrun`"]);
}

#[test]
fn plain_deepspeed_scripts_are_told_from_hf_ones() {
    let sandbox = Sandbox::new();
    sandbox.file("plain.py", "import deepspeed\nengine, *_ = deepspeed.initialize(args)\n");
    sandbox.file("hf.py", "from transformers import Trainer, TrainingArguments\nimport deepspeed\n");
    for (command, trainer) in [
        ("python plain.py", "deepspeed"),
        ("python hf.py", "hf"),
        ("python unknown.py", "hf"),
        ("python unknown.py --deepspeed --deepspeed_config x.json", "deepspeed"),
        ("python unknown.py --deepspeed_config=x.json", "deepspeed"),
        ("python plain.py --deepspeed x.json", "hf"),
        ("python unknown.py --deepspeed", "deepspeed"),
    ] {
        sandbox.file("x.json", r#"{"zero_optimization": {"stage": 1}}"#);
        let plan = sandbox.plan(&["--nproc-per-node", "2"], &command.split(' ').collect::<Vec<_>>());
        assert_eq!(plan["trainer"]["name"], trainer, "{command}");
    }
    let plan = sandbox
        .plan(&["--nproc-per-node", "2"], &["python", "u.py", "--deepspeed", "--deepspeed_config", "x.json", "--a"]);
    assert!(line(&sandbox, &plan).ends_with("u.py --deepspeed --deepspeed_config CONFIG --a"));
    let plan = sandbox.plan(&["--nproc-per-node", "2", "--deepspeed", "x.json"], &["python", "plain.py", "--a"]);
    assert!(line(&sandbox, &plan).ends_with("plain.py --a --deepspeed_config CONFIG"));
}

#[test]
fn the_interpreter_is_the_one_that_owns_the_command() {
    let mut sandbox = Sandbox::new();
    let root = sandbox.root().to_path_buf();
    // Another torchrun comes first on PATH; swift's own environment is used all the same.
    executable(&root.join("other/torchrun"), "#!/other/python\n");
    sandbox.var("PATH", format!("{}:{}:/usr/bin:/bin", root.join("other").display(), root.join("env/bin").display()));
    let plan = sandbox.plan(&["--nproc-per-node", "2"], SWIFT);
    assert_eq!(words(&plan)[0], root.join("env/bin/python3.11").to_str().unwrap());
    let plan = sandbox.plan(&["--nproc-per-node", "2"], &["torchrun", "--nproc_per_node", "2", "swift", "sft"]);
    assert_eq!(words(&plan)[0], root.join("env/bin/python3.11").to_str().unwrap());
    // pip's trampoline for paths that are too long or have spaces.
    let trampoline = format!(
        "#!/bin/sh\n'''exec' \"{}\" \"$0\" \"$@\"\n' '''\nimport sys\n",
        root.join("env/bin/python3.11").display()
    );
    executable(&root.join("env/bin/swift"), &trampoline);
    let plan = sandbox.plan(&["--nproc-per-node", "2"], SWIFT);
    assert_eq!(
        (plan["trainer"]["python"].as_str(), &plan["trainer"]["version"]),
        (root.join("env/bin/python3.11").to_str(), &"4.6.0".into())
    );
    // An editable install has no file in site-packages: the module is run instead.
    std::fs::remove_dir_all(sandbox.site().join("swift")).unwrap();
    let plan = sandbox.plan(&["--nproc-per-node", "2"], SWIFT);
    assert!(line(&sandbox, &plan).contains("--standalone -m swift.cli.sft --model"), "{}", line(&sandbox, &plan));
    plant(&sandbox.site().join("unrelated.txt"), "");
}

#[test]
fn a_run_file_that_holds_all_arguments_is_not_added_to() {
    let sandbox = Sandbox::new();
    sandbox.file("args.json", "{}");
    sandbox
        .launch(&["--nproc-per-node", "2", "--deepspeed", "zero2"], &["python", "x.py", "args.json"])
        .refused(&["args.json", "\"deepspeed\""]);
    let plan = sandbox.plan(&["--nproc-per-node", "2"], &["python", "x.py", "args.json"]);
    assert!(line(&sandbox, &plan).ends_with("x.py args.json"));
}
