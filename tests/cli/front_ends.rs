//! How commands are recognised and rewritten, and how the config is handed over.

use serde_json::json;

use crate::sandbox::{SWIFT, Sandbox, argv, read_json};

/// The argv after the interpreter, with the config's path as `CONFIG` and site-packages as `SITE`.
fn line(sandbox: &Sandbox, plan: &serde_json::Value) -> String {
    let config = plan["config_path"].as_str().unwrap_or("no config");
    let site = sandbox.site();
    argv(plan)[1..]
        .join(" ")
        .replace(config, "CONFIG")
        .replace(site.to_str().unwrap(), "SITE")
}

#[test]
fn swift_runs_its_inner_file_under_torchrun() {
    let sandbox = Sandbox::new();
    for command in ["sft", "pt", "rlhf"] {
        let plan = sandbox.plan(
            &["--deepspeed", "zero2", "--nproc-per-node", "2"],
            &["swift", command, "--model", "a/b"],
        );
        let expected = format!(
            "-P -m torch.distributed.run --nnodes 1 --nproc_per_node 2 --standalone SITE/swift/cli/{command}.py --model a/b --deepspeed CONFIG"
        );
        assert_eq!(line(&sandbox, &plan), expected);
        assert_eq!(
            (&plan["trainer"]["name"], &plan["trainer"]["version"]),
            (&"swift".into(), &"4.6.0".into())
        );
    }
    let plan = sandbox.plan(
        &["--nproc-per-node", "2"],
        &["swift", "infer", "--model", "a/b"],
    );
    assert_eq!(
        line(&sandbox, &plan),
        "-P -m torch.distributed.run --nnodes 1 --nproc_per_node 2 --standalone SITE/swift/cli/infer.py --model a/b"
    );
}

#[test]
fn other_swift_commands_are_passed_through_untouched() {
    let sandbox = Sandbox::new();
    for command in [
        &["swift", "export", "--model", "a/b", "--deepspeed", "zero2"][..],
        &["swift"],
    ] {
        let plan = sandbox.plan(&[], command);
        assert_eq!(argv(&plan)[1..], command[1..], "{command:?}");
        assert!(argv(&plan)[0].ends_with("env/bin/swift"));
        assert_eq!(
            (&plan["config"], &plan["launcher"]),
            (&serde_json::Value::Null, &"direct".into())
        );
    }
    sandbox
        .launch(&["--deepspeed", "zero2"], &["swift", "export"])
        .refused(&["`swift export`"]);
}

#[test]
fn the_trainers_own_argument_is_replaced_in_place() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "c/mine.json",
        r#"{"zero_optimization": {"stage": 1}, "train_micro_batch_size_per_gpu": 1}"#,
    );
    for (given, expected) in [
        (
            "--deepspeed zero3 --bf16 true",
            "--deepspeed CONFIG --bf16 true",
        ),
        (
            "--deepspeed=c/mine.json --bf16 true",
            "--deepspeed=CONFIG --bf16 true",
        ),
        (
            "--bf16 true --deepspeed c/mine.json",
            "--bf16 true --deepspeed CONFIG",
        ),
    ] {
        let command: Vec<&str> = ["swift", "sft"]
            .into_iter()
            .chain(given.split(' '))
            .collect();
        let plan = sandbox.plan(&["--nproc-per-node", "2"], &command);
        assert!(
            line(&sandbox, &plan).ends_with(&format!("sft.py {expected}")),
            "{given}: {}",
            line(&sandbox, &plan)
        );
    }
    let plan = sandbox.plan(
        &["--nproc-per-node", "2", "--deepspeed", "zero2"],
        &["swift", "sft", "--deepspeed", "zero3"],
    );
    assert_eq!(
        (&plan["template"]["name"], &plan["diagnostics"][0]["rule"]),
        (&"zero2".into(), &"two-configs".into())
    );
}

#[test]
fn wrapped_launchers_keep_their_flags_and_their_ranks() {
    let sandbox = Sandbox::new();
    sandbox.file("h", "a slots=2\nb slots=2\n");
    let site = sandbox.site();
    let inner = format!("{}/swift/cli/sft.py", site.display());
    let tail = [
        "--per_device_train_batch_size",
        "2",
        "--gradient_accumulation_steps",
        "3",
        "--deepspeed",
        "zero2",
    ];
    for (head, start, ranks) in [
        (
            "torchrun --nproc_per_node=5 swift sft",
            "-P -m torch.distributed.run --nproc_per_node=5 SITE/swift/cli/sft.py",
            Some(5),
        ),
        (
            "torchrun --nproc-per-node 4 --nnodes 2 --rdzv_backend c10d swift sft",
            "-P -m torch.distributed.run --nproc-per-node 4 --nnodes 2 --rdzv_backend c10d SITE/swift/cli/sft.py",
            Some(8),
        ),
        (
            "torchrun --nproc_per_node 2 -m swift.cli.sft",
            "--nproc_per_node 2 -m swift.cli.sft",
            Some(2),
        ),
        (
            "python -m torch.distributed.run --nproc_per_node 3 x.py",
            "-m torch.distributed.run --nproc_per_node 3 x.py",
            Some(3),
        ),
        ("torchrun x.py", "x.py", Some(1)),
        (
            "torchrun --nnodes 1:4 --nproc_per_node 2 x.py",
            "--nnodes 1:4 --nproc_per_node 2 x.py",
            None,
        ),
        ("deepspeed --num_gpus=3 x.py", "--num_gpus=3 x.py", Some(3)),
        (
            "deepspeed --include localhost:4,5 --master_port 29600 x.py",
            "--include localhost:4,5 --master_port 29600 x.py",
            Some(2),
        ),
        (
            "deepspeed --num_accelerators 3 x.py",
            "--num_accelerators 3 x.py",
            Some(3),
        ),
        (
            "deepspeed --num_gpus -1 --include localhost:0,1 x.py",
            "--num_gpus -1 --include localhost:0,1 x.py",
            Some(2),
        ),
        (
            "deepspeed --hostfile h --num_gpus 2 x.py",
            "--hostfile h --num_gpus 2 x.py",
            None,
        ),
        (
            "deepspeed --num_gpus 2 swift sft",
            "-P -m deepspeed.launcher.runner --num_gpus 2 SITE/swift/cli/sft.py",
            Some(2),
        ),
        (
            "deepspeed --module --num_gpus 2 pkg.train",
            "--module --num_gpus 2 pkg.train",
            Some(2),
        ),
    ] {
        let command: Vec<&str> = head.split(' ').chain(tail).collect();
        let plan = sandbox.plan(&[], &command);
        let expected = format!(
            "{start} --per_device_train_batch_size 2 --gradient_accumulation_steps 3 --deepspeed CONFIG"
        );
        assert_eq!(line(&sandbox, &plan), expected, "{head}");
        match ranks {
            Some(ranks) => assert_eq!(plan["config"]["train_batch_size"], ranks * 6, "{head}"),
            None => assert_eq!(plan["config"]["train_batch_size"], "auto", "{head}"),
        }
    }
    let written_out = [
        "torchrun",
        "--nproc_per_node",
        "2",
        &inner,
        "--deepspeed",
        "zero2",
    ];
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
    assert_eq!(
        line(&sandbox, &plan),
        "--nnodes 1 --nproc_per_node 4 --max_restarts=2 x.py --a"
    );
    sandbox
        .launch(
            &["--nproc-per-node", "4"],
            &["torchrun", "--nproc_per_node=5", "x.py"],
        )
        .refused(&["--nproc-per-node 4", "--nproc_per_node 5"]);
    sandbox
        .launch(&["--launcher", "direct"], &["torchrun", "x.py"])
        .refused(&["already starts with `torchrun`"]);
}

#[test]
fn plain_deepspeed_scripts_are_told_from_hf_ones() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "plain.py",
        "import deepspeed\nengine, *_ = deepspeed.initialize(args)\n",
    );
    sandbox.file(
        "hf.py",
        "from transformers import Trainer, TrainingArguments\nimport deepspeed\n",
    );
    for (command, trainer) in [
        ("python plain.py", "deepspeed"),
        ("python hf.py", "hf"),
        ("python unknown.py", "hf"),
        (
            "python unknown.py --deepspeed --deepspeed_config x.json",
            "deepspeed",
        ),
        ("python unknown.py --deepspeed_config=x.json", "deepspeed"),
        ("python plain.py --deepspeed x.json", "deepspeed"),
        ("python unknown.py --deepspeed", "deepspeed"),
    ] {
        sandbox.file(
            "x.json",
            r#"{"zero_optimization": {"stage": 1}, "train_micro_batch_size_per_gpu": 1}"#,
        );
        let plan = sandbox.plan(
            &["--nproc-per-node", "2"],
            &command.split(' ').collect::<Vec<_>>(),
        );
        assert_eq!(plan["trainer"]["name"], trainer, "{command}");
    }
    let plan = sandbox.plan(
        &["--nproc-per-node", "2"],
        &[
            "python",
            "u.py",
            "--deepspeed",
            "--deepspeed_config",
            "x.json",
            "--a",
        ],
    );
    assert!(line(&sandbox, &plan).ends_with("u.py --deepspeed --deepspeed_config CONFIG --a"));
    let plan = sandbox.plan(
        &["--nproc-per-node", "2", "--deepspeed", "x.json"],
        &["python", "plain.py", "--a"],
    );
    assert!(line(&sandbox, &plan).ends_with("plain.py --a --deepspeed_config CONFIG"));
}

#[test]
fn the_interpreter_is_the_one_that_owns_the_command() {
    let mut sandbox = Sandbox::new();
    // Another torchrun comes first on PATH; swift's own environment is used all the same.
    sandbox.executable("other/torchrun", "#!/other/python\n");
    let (other, bin) = (
        sandbox.path("other").display().to_string(),
        sandbox.bin().display().to_string(),
    );
    sandbox.search(&[&other, &bin]);
    let python = sandbox.python().display().to_string();
    let plan = sandbox.plan(&["--nproc-per-node", "2"], SWIFT);
    assert_eq!(argv(&plan)[0], python);
    let plan = sandbox.plan(
        &["--nproc-per-node", "2"],
        &["torchrun", "--nproc_per_node", "2", "swift", "sft"],
    );
    assert_eq!(argv(&plan)[0], python);
    // pip's trampoline for paths that are too long or have spaces.
    let trampoline = format!("#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\nimport sys\n");
    sandbox.executable("env/bin/swift", &trampoline);
    let plan = sandbox.plan(&["--nproc-per-node", "2"], SWIFT);
    assert_eq!(
        (
            plan["trainer"]["python"].as_str(),
            &plan["trainer"]["version"]
        ),
        (Some(python.as_str()), &"4.6.0".into())
    );
    // An editable install has no file in site-packages: the module is run instead.
    std::fs::remove_dir_all(sandbox.site().join("swift")).unwrap();
    let plan = sandbox.plan(&["--nproc-per-node", "2"], SWIFT);
    assert!(
        line(&sandbox, &plan).contains("--standalone -m swift.cli.sft --model"),
        "{}",
        line(&sandbox, &plan)
    );
}

#[test]
fn a_run_file_that_holds_all_arguments_is_written_anew() {
    let sandbox = Sandbox::new();
    let text = r#"{"model_name_or_path": "a/b", "per_device_train_batch_size": 2, "gradient_accumulation_steps": 3, "learning_rate": 1e-05, "deepspeed": "zero3", "bf16": true}"#;
    let source = sandbox.file("args.json", text);
    sandbox
        .launch(&["--nproc-per-node", "2"], &["python", "x.py", "args.json"])
        .succeeded();
    let argv = sandbox.recorded();
    let given = argv.last().unwrap().to_str().unwrap();
    assert!(
        given.contains("/zlaunch/configs/args-") && argv[argv.len() - 2] == "x.py",
        "{argv:?}"
    );
    let run_file = read_json(given);
    let config = read_json(run_file["deepspeed"].as_str().unwrap());
    assert_eq!(
        (
            &config["train_batch_size"],
            &config["bf16"]["enabled"],
            &config["zero_optimization"]["stage"]
        ),
        (&12.into(), &true.into(), &3.into())
    );
    assert_eq!(
        (&run_file["learning_rate"], &run_file["model_name_or_path"]),
        (&1e-5.into(), &"a/b".into())
    );
    assert_eq!(
        std::fs::read_to_string(source).unwrap(),
        text,
        "the user's file stays as it is"
    );
    let plan = sandbox.plan(
        &["--nproc-per-node", "2", "--deepspeed", "zero2"],
        &["python", "x.py", "args.json"],
    );
    assert_eq!(
        (
            &plan["template"]["name"],
            plan["argv"].as_array().unwrap().last()
        ),
        (&"zero2".into(), Some(&plan["run_file_path"]))
    );
    // A mapping in braces has no line of its own for it, and PyYAML's floats need a dot.
    sandbox.file(
        "args.yaml",
        "{model_name_or_path: a/b, learning_rate: 1.0e-05}\n",
    );
    sandbox
        .launch(
            &["--nproc-per-node", "2", "--deepspeed", "zero2"],
            &["python", "x.py", "args.yaml"],
        )
        .succeeded();
    let written = std::fs::read_to_string(sandbox.recorded().last().unwrap()).unwrap();
    let start = r#"{"model_name_or_path": "a/b", "learning_rate": 1.0e-05, "deepspeed": "/"#;
    assert!(
        written.starts_with(start) && written.ends_with(".json\"}\n"),
        "{written}"
    );
    sandbox.file("other.json", "[1, 2]");
    let plan = sandbox.plan(
        &["--nproc-per-node", "2"],
        &["python", "x.py", "other.json"],
    );
    assert!(line(&sandbox, &plan).ends_with("x.py other.json"));
}

#[test]
fn a_launcher_is_seen_however_it_is_written() {
    let sandbox = Sandbox::new();
    let tail = [
        "--per_device_train_batch_size",
        "2",
        "--gradient_accumulation_steps",
        "3",
        "--deepspeed",
        "zero2",
    ];
    for (head, start) in [
        (
            "python -u -m torch.distributed.run --nproc_per_node 2 x.py",
            "-u -m torch.distributed.run --nproc_per_node 2 x.py",
        ),
        (
            "python -mtorch.distributed.run --nproc_per_node 2 x.py",
            "-mtorch.distributed.run --nproc_per_node 2 x.py",
        ),
        (
            "python -m torch.distributed.launch --use_env --nproc_per_node 2 x.py",
            "-m torch.distributed.launch --use_env --nproc_per_node 2 x.py",
        ),
        (
            "torchrun --nproc_per_node 2 -- x.py",
            "--nproc_per_node 2 x.py",
        ),
        (
            "torchrun --nproc_per_node 2 --no-python swift sft",
            "-P -m torch.distributed.run --nproc_per_node 2 SITE/swift/cli/sft.py",
        ),
        (
            "deepspeed -i localhost:0,0,1 x.py",
            "-i localhost:0,0,1 x.py",
        ),
    ] {
        let command: Vec<&str> = head.split(' ').chain(tail).collect();
        let plan = sandbox.plan(&[], &command);
        let expected = format!(
            "{start} --per_device_train_batch_size 2 --gradient_accumulation_steps 3 --deepspeed CONFIG"
        );
        assert_eq!(line(&sandbox, &plan), expected, "{head}");
        assert_eq!(plan["config"]["train_batch_size"], 12, "{head}");
    }
    let swift = sandbox.path("env/bin/swift");
    let swift = swift.to_str().unwrap();
    for command in [
        &["torchrun", "--nproc_per_node", "2", swift, "sft"][..],
        &["python", swift, "sft"],
        &["python", "-m", "swift.cli.main", "sft"],
        &[swift, "sft"],
    ] {
        let plan = sandbox.plan(&["--nproc-per-node", "2"], command);
        assert_eq!(plan["trainer"]["name"], "swift", "{command:?}");
        assert!(
            argv(&plan)
                .iter()
                .filter(|word| word.contains("torch.distributed.run"))
                .count()
                == 1,
            "{command:?}"
        );
        assert!(
            argv(&plan).last().is_some_and(|word| word.contains("sft")),
            "{command:?}: {}",
            line(&sandbox, &plan)
        );
    }
}

#[test]
fn what_a_wrapped_launcher_does_not_state_can_be_given() {
    let mut sandbox = Sandbox::new();
    let tail = [
        "--per_device_train_batch_size",
        "2",
        "--gradient_accumulation_steps",
        "3",
        "--deepspeed",
        "zero2",
    ];
    let batch = |sandbox: &Sandbox, options: &[&str], head: &str| {
        let command: Vec<&str> = head.split(' ').chain(tail).collect();
        sandbox.plan(options, &command)["config"]["train_batch_size"].clone()
    };
    assert_eq!(
        batch(
            &sandbox,
            &["--nnodes", "2", "--node-rank", "0", "--nproc-per-node", "4"],
            "torchrun swift sft"
        ),
        48
    );
    assert_eq!(
        batch(
            &sandbox,
            &["--nproc-per-node", "4"],
            "torchrun --nproc_per_node 04 x.py"
        ),
        24
    );
    // DeepSpeed goes on without a hostfile that is not there.
    assert_eq!(
        batch(&sandbox, &[], "deepspeed -H hosts --num_gpus 4 x.py"),
        24
    );
    sandbox.file("hosts", "h0 slots=4\nh1 slots=4\n");
    assert_eq!(
        batch(&sandbox, &[], "deepspeed -H hosts --num_gpus 4 x.py"),
        "auto"
    );
    assert_eq!(batch(&sandbox, &[], "deepspeed --num_gpus 0 x.py"), "auto");
    sandbox.var("PET_NPROC_PER_NODE", "8");
    assert_eq!(batch(&sandbox, &[], "torchrun x.py"), 48);
    sandbox.var("ZLAUNCH_NPROC_PER_NODE", "3");
    assert_eq!(
        batch(&sandbox, &[], "torchrun --nproc_per_node 2 x.py"),
        12,
        "a site's variable gives way to the command"
    );
    let plan = sandbox.plan(
        &[],
        &[
            "torchrun",
            "--nnodes",
            "2",
            "--node_rank",
            "1",
            "--master_addr",
            "h0",
            "--master_port",
            "29501",
            "x.py",
        ],
    );
    let topology = &plan["topology"];
    assert_eq!(
        (
            &topology["node_rank"],
            &topology["master_addr"],
            &topology["master_port"]
        ),
        (&1.into(), &"h0".into(), &29501.into())
    );
    let deepspeed = ["deepspeed", "--include", "localhost:1,2", "x.py"];
    sandbox
        .launch(&["--nproc-per-node", "4"], &deepspeed)
        .refused(&["different numbers", "--include"]);
}

#[test]
fn a_config_is_refused_where_the_command_takes_none() {
    let sandbox = Sandbox::new();
    let options = ["--deepspeed", "zero3", "--nproc-per-node", "2"];
    sandbox
        .launch(&options, &["swift", "infer", "--model", "x"])
        .refused(&["`swift infer`"]);
    sandbox
        .launch(&options, &["torchrun"])
        .refused(&["`torchrun`"]);
    assert_eq!(sandbox.launch(&options, &["nosuch", "x"]).status, Some(127));
}

/// `parse_dict` takes them over, and the Trainer's config has them: `gradient_clipping` is false then.
#[test]
fn a_boolean_for_a_number_is_left_to_the_trainer() {
    let sandbox = Sandbox::new();
    for (name, text) in [
        (
            "a.json",
            r#"{"deepspeed": "zero2", "max_grad_norm": false, "gradient_accumulation_steps": true, "bf16": 0.5}"#,
        ),
        (
            "a.yaml",
            "deepspeed: zero2\nmax_grad_norm: false\ngradient_accumulation_steps: true\nbf16: 0.5\n",
        ),
    ] {
        sandbox.file(name, text);
        let plan = sandbox.plan(&["--nproc-per-node", "2"], &["python", "train.py", name]);
        let config = &plan["config"];
        for key in [
            "gradient_clipping",
            "gradient_accumulation_steps",
            "train_batch_size",
        ] {
            assert_eq!(config[key], "auto", "{key}");
        }
        assert_eq!(config["bf16"]["enabled"], "auto");
    }
}

#[test]
fn a_run_file_of_swift_becomes_arguments() {
    let sandbox = Sandbox::new();
    let yaml = "ENV:\n  NPROC_PER_NODE: 3\n  LANG: de\nmodel: a/b\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 5\nlearning_rate: 1e-5\n\
                weight_decay: 1.0e-5\nbf16: yes\ndataset:\n  - x\n  - y\ndeepspeed: zero1\n";
    sandbox.file("c.yaml", yaml);
    let plan = sandbox.plan(
        &[],
        &[
            "swift",
            "sft",
            "c.yaml",
            "--gradient_accumulation_steps",
            "6",
        ],
    );
    let expected = "-P -m torch.distributed.run --nnodes 1 --nproc_per_node 3 --standalone SITE/swift/cli/sft.py --model a/b --per_device_train_batch_size 2 \
                    --gradient_accumulation_steps 5 --learning_rate 1e-5 --weight_decay 1e-05 --bf16 True --dataset x y --deepspeed CONFIG \
                    --gradient_accumulation_steps 6";
    assert_eq!(line(&sandbox, &plan), expected);
    assert_eq!(
        (
            &plan["config"]["train_batch_size"],
            &plan["config"]["bf16"]["enabled"]
        ),
        (&36.into(), &true.into())
    );
    let set = &plan["env"]["set"];
    assert_eq!(
        (
            &set["NPROC_PER_NODE"],
            &set["SWIFT_CONFIG_FILE"],
            set.get("LANG")
        ),
        (&"3".into(), &"c.yaml".into(), None)
    );
    sandbox
        .file("d.json", r#"{"model": "a/b", "deepspeed": {"zero_optimization": {"stage": 2}, "train_batch_size": 16}, "max_grad_norm": 0.5}"#);
    let plan = sandbox.plan(
        &["--nproc-per-node", "2", "--set", "gradient_clipping=auto"],
        &["swift", "sft", "d.json"],
    );
    assert_eq!(
        plan["config"],
        serde_json::json!({"zero_optimization": {"stage": 2}, "train_batch_size": 16, "gradient_clipping": 0.5})
    );
    sandbox.file("bad.yaml", "a: [1\nb: 2\n");
    sandbox
        .launch(&["--nproc-per-node", "2"], &["swift", "sft", "bad.yaml"])
        .refused(&["bad.yaml:2:", "not YAML"]);
    sandbox.file("words.yaml", "- model\n");
    let refused = ["a run file must hold `key: value` lines", "words.yaml"];
    sandbox
        .launch(&["--nproc-per-node", "2"], &["swift", "sft", "words.yaml"])
        .refused(&refused);
    // One that says nothing is left to ms-swift.
    sandbox.file("empty.yaml", "# later\n");
    let plan = sandbox.plan(
        &["--nproc-per-node", "2", "--deepspeed", "zero1"],
        &["swift", "sft", "empty.yaml", "--model", "a/b"],
    );
    assert!(
        line(&sandbox, &plan)
            .ends_with("SITE/swift/cli/sft.py empty.yaml --model a/b --deepspeed CONFIG")
    );
}

#[test]
fn llamafactory_runs_its_launcher_module_without_train() {
    let mut sandbox = Sandbox::new();
    sandbox.file("x.yaml", "model_name_or_path: a/b\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 4\nbf16: true\ndeepspeed: zero3\nlearning_rate: 1e-4\nmax_grad_norm: '1.0'\n");
    let command = [
        "llamafactory-cli",
        "train",
        "x.yaml",
        "gradient_accumulation_steps=8",
    ];
    let plan = sandbox.plan(&["--nproc-per-node", "4"], &command);
    assert_eq!(
        line(&sandbox, &plan),
        "-P -m torch.distributed.run --nnodes 1 --nproc_per_node 4 --standalone -m llamafactory.launcher x.yaml gradient_accumulation_steps=8 deepspeed=CONFIG"
    );
    let config = &plan["config"];
    assert_eq!(
        (
            &config["train_batch_size"],
            &config["bf16"]["enabled"],
            &config["gradient_clipping"]
        ),
        (&64.into(), &true.into(), &"auto".into())
    );
    assert_eq!(
        plan["env"]["set"]["PYTORCH_CUDA_ALLOC_CONF"],
        "expandable_segments:True"
    );
    sandbox.var("OPTIM_TORCH", "0");
    assert_eq!(
        sandbox.plan(&["--nproc-per-node", "4"], &command)["env"]["set"]
            .get("PYTORCH_CUDA_ALLOC_CONF"),
        None
    );
    let plan = sandbox.plan(
        &["--nproc-per-node", "4", "--deepspeed", "zero2"],
        &["llamafactory-cli", "train", "x.yaml", "deepspeed=zero1"],
    );
    assert!(
        line(&sandbox, &plan).ends_with("llamafactory.launcher x.yaml deepspeed=CONFIG"),
        "{}",
        line(&sandbox, &plan)
    );
    let plan = sandbox.plan(
        &["--nproc-per-node", "4", "--deepspeed", "zero2"],
        &[
            "llamafactory-cli",
            "train",
            "--stage",
            "sft",
            "--bf16",
            "true",
        ],
    );
    assert!(
        line(&sandbox, &plan)
            .ends_with("llamafactory.launcher --stage sft --bf16 true --deepspeed CONFIG"),
        "{}",
        line(&sandbox, &plan)
    );
    sandbox.console_script("lmf");
    assert_eq!(
        sandbox.plan(&["--nproc-per-node", "4"], &["lmf", "train", "x.yaml"])["trainer"]["name"],
        "llamafactory"
    );
    let plan = sandbox.plan(&[], &["llamafactory-cli", "export", "x.yaml"]);
    assert_eq!(argv(&plan)[1..], ["export", "x.yaml"]);
}

#[test]
fn axolotl_and_trl_run_their_modules() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "a.yml",
        "base_model: a/b\nmicro_batch_size: 2\ngradient_accumulation_steps: 2\nlearning_rate: 2e-4\nbf16: auto\n",
    );
    let plan = sandbox.plan(
        &["--nproc-per-node", "2", "--deepspeed", "zero2"],
        &["axolotl", "train", "a.yml", "--micro-batch-size", "4"],
    );
    assert!(
        line(&sandbox, &plan)
            .ends_with("-m axolotl.cli.train a.yml --micro-batch-size=4 --deepspeed=CONFIG"),
        "{}",
        line(&sandbox, &plan)
    );
    assert_eq!(
        (
            &plan["config"]["train_batch_size"],
            &plan["config"]["bf16"]["enabled"]
        ),
        (&16.into(), &"auto".into())
    );
    for own in [
        &["--", "--num_processes", "2"][..],
        &["--num_processes", "2"],
        &["--launcher", "torchrun"],
        // Its launcher refuses it.
        &["--micro_batch_size", "4"],
    ] {
        let command: Vec<&str> = ["axolotl", "train", "a.yml"]
            .iter()
            .chain(own)
            .copied()
            .collect();
        assert_eq!(
            sandbox.plan(&[], &command)["trainer"]["name"],
            "command",
            "{own:?}"
        );
    }
    sandbox.file(
        "t.yaml",
        "env:\n  LANG: de\nper_device_train_batch_size: 3\ngradient_accumulation_steps: 2\n",
    );
    let plan = sandbox.plan(
        &["--nproc-per-node", "2", "--deepspeed", "zero3"],
        &[
            "trl",
            "sft",
            "--config",
            "t.yaml",
            "--gradient_accumulation_steps",
            "5",
        ],
    );
    assert!(
        line(&sandbox, &plan).ends_with(
            "-m trl.scripts.sft --config t.yaml --gradient_accumulation_steps 5 --deepspeed CONFIG"
        ),
        "{}",
        line(&sandbox, &plan)
    );
    assert_eq!(
        (
            &plan["config"]["train_batch_size"],
            &plan["env"]["set"]["LANG"]
        ),
        (&30.into(), &"de".into())
    );
    let plan = sandbox.plan(&[], &["trl", "sft", "--accelerate_config", "zero3"]);
    assert_eq!(plan["trainer"]["name"], "command");
}

#[test]
fn accelerate_launch_is_kept_and_its_config_resolved() {
    let sandbox = Sandbox::new();
    let plan = sandbox.plan(
        &["--deepspeed", "zero3"],
        &[
            "accelerate",
            "launch",
            "--num_processes",
            "2",
            "--max_restarts",
            "1",
            "s.py",
            "--per_device_train_batch_size",
            "2",
        ],
    );
    assert_eq!(
        line(&sandbox, &plan),
        "launch --num_processes 2 --max_restarts 1 --use_deepspeed --deepspeed_config_file CONFIG s.py --per_device_train_batch_size 2"
    );
    let plan = sandbox.plan(
        &[],
        &[
            "accelerate",
            "launch",
            "--use_deepspeed",
            "--deepspeed_config_file",
            "zero2",
            "--num_processes=4",
            "--gpu_ids=all",
            "-m",
            "pkg.train",
            "--a",
        ],
    );
    assert_eq!(
        line(&sandbox, &plan),
        "launch --use_deepspeed --deepspeed_config_file CONFIG --num_processes=4 --gpu_ids=all --module pkg.train --a"
    );
    assert_eq!(plan["topology"]["world_size"], 4);
    // Its own loop has its own rules: nothing of the script's arguments is compared.
    let concrete = r#"{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4}"#;
    let own_loop = [
        "accelerate",
        "launch",
        "--num_processes",
        "2",
        "loop.py",
        "--gradient_accumulation_steps",
        "8",
        "--bf16",
        "maybe",
    ];
    assert_eq!(
        sandbox.plan(&["--deepspeed", concrete], &own_loop)["config"]["gradient_accumulation_steps"],
        4
    );
    sandbox.file(
        "acc.yaml",
        "num_processes: 8\nnum_machines: 2\nmachine_rank: 1\ndeepspeed_config:\n  deepspeed_config_file: zero1\n",
    );
    let plan = sandbox.plan(
        &[],
        &["accelerate", "launch", "--config_file", "acc.yaml", "s.py"],
    );
    assert_eq!(
        (
            &plan["template"]["name"],
            &plan["topology"]["nproc_per_node"]
        ),
        (&"zero1".into(), &4.into())
    );
    // It counts over all machines, however many they are.
    let many = [
        "--deepspeed",
        "zero2",
        "--nproc-per-node",
        "100000",
        "--nnodes",
        "100000",
        "--node-rank",
        "0",
    ];
    let plan = sandbox.plan(
        &many,
        &[
            "accelerate",
            "launch",
            "--deepspeed_multinode_launcher",
            "standard",
            "s.py",
        ],
    );
    assert!(
        line(&sandbox, &plan).contains("--num_processes 10000000000 "),
        "{}",
        line(&sandbox, &plan)
    );
}

#[test]
fn megatron_is_passed_through_with_the_topology() {
    let sandbox = Sandbox::new();
    let plan = sandbox.plan(
        &["--nproc-per-node", "4"],
        &["megatron", "sft", "--load", "x"],
    );
    assert_eq!(
        (&plan["launcher"], &plan["env"]["set"]["NPROC_PER_NODE"]),
        (&"direct".into(), &"4".into())
    );
    assert_eq!(plan["diagnostics"], serde_json::json!([]));
    assert_eq!(argv(&plan)[1..], ["sft", "--load", "x"]);
    sandbox
        .launch(&["--deepspeed", "zero2"], &["megatron", "sft"])
        .refused(&["`megatron sft`"]);
}

#[test]
fn options_swift_does_not_know_are_refused_where_its_list_is_known() {
    let sandbox = Sandbox::new();
    let options = ["--nproc-per-node", "2"];
    sandbox
        .launch(
            &options,
            &[
                "swift",
                "sft",
                "--train_type",
                "full",
                "--learning_rat=1e-5",
            ],
        )
        .refused(&["`--train_type`", "did you mean `--tuner_type`"]);
    sandbox
        .launch(
            &options,
            &[
                "swift",
                "sft",
                "--per_device_train_batchsize",
                "2",
                "--gradient-accumulation-step5",
                "1",
            ],
        )
        .refused(&[
            "did you mean `--per_device_train_batch_size`",
            "did you mean `--gradient_accumulation_steps`",
        ]);
    assert_eq!(
        sandbox
            .launch(
                &options,
                &["swift", "sft", "--whatever", "--ignore_args_error", "true"]
            )
            .status,
        Some(0)
    );
    sandbox.installed("ms_swift", "3.10.0");
    sandbox
        .launch(&options, &["swift", "sft", "--train_type", "full"])
        .succeeded();
    sandbox.file("old.yaml", "train_type: full\nmax_grad_norm: 0.5\n");
    let plan = sandbox.plan(
        &["--nproc-per-node", "2", "--deepspeed", "zero2"],
        &[
            "swift",
            "sft",
            "--config",
            "old.yaml",
            "--max_grad_norm",
            "1",
        ],
    );
    assert_eq!(
        plan["config"]["gradient_clipping"], 0.5,
        "the file's words came last"
    );
}

#[test]
fn commands_that_start_ranks_themselves_are_not_launched_by_torchrun() {
    let mut sandbox = Sandbox::new();
    sandbox.file("a.yml", "base_model: a/b\n");
    let own = [
        &["axolotl", "train", "a.yml", "--", "--num_processes", "4"][..],
        &["axolotl", "train", "https://x/y.yml"],
        &["axolotl", "train", "a.yml", "--num_processes=4"],
        &["trl", "sft", "--num-processes", "4"],
        &["swift", "sft", "--use_ray", "true"],
    ];
    for command in own {
        let plan = sandbox.plan(&["--nproc-per-node", "2"], command);
        assert_eq!(
            (&plan["launcher"], &plan["diagnostics"][0]["rule"]),
            (&"direct".into(), &"ranks-without-effect".into()),
            "{command:?}"
        );
        sandbox
            .launch(
                &["--nproc-per-node", "2", "--launcher", "torchrun"],
                command,
            )
            .refused(&["starts ranks itself"]);
    }
    sandbox.var("USE_RAY", "1");
    assert_eq!(
        sandbox.plan(&[], &["llamafactory-cli", "train", "a.yml"])["launcher"],
        "direct"
    );
}

#[test]
fn dotted_overrides_reach_into_the_config() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "l.yaml",
        "deepspeed:\n  train_batch_size: auto\n  zero_optimization:\n    stage: 2\n",
    );
    let plan = sandbox.plan(
        &["--nproc-per-node", "2"],
        &[
            "llamafactory-cli",
            "train",
            "l.yaml",
            "deepspeed.zero_optimization.stage=3",
        ],
    );
    assert_eq!(plan["config"]["zero_optimization"]["stage"], 3);
    assert!(line(&sandbox, &plan).ends_with("llamafactory.launcher l.yaml deepspeed=CONFIG"));
}

#[test]
fn rules_follow_the_versions_that_are_installed() {
    let mut sandbox = Sandbox::new();
    sandbox.var("CUDA_VISIBLE_DEVICES", "0,1");
    sandbox.file("m/config.json", r#"{"hidden_size": 64}"#);
    sandbox.file("v/config.json", r#"{"text_config": {"hidden_size": 64}}"#);
    let bucket = |sandbox: &Sandbox, model: &str| {
        let plan = sandbox.plan(
            &[],
            &[
                "python",
                "x.py",
                "--deepspeed",
                "zero3",
                "--model_name_or_path",
                model,
            ],
        );
        plan["config"]["zero_optimization"]["stage3_prefetch_bucket_size"].clone()
    };
    // python3 -c 'print(int(0.9*64*64), 0.9*64*64)'
    assert_eq!(
        (bucket(&sandbox, "m"), bucket(&sandbox, "v")),
        (json!(3686), json!(3686))
    );
    sandbox.installed("transformers", "4.45.2");
    assert_eq!(
        (bucket(&sandbox, "m"), bucket(&sandbox, "v")),
        (json!(3686), json!("auto"))
    );
    sandbox.installed("transformers", "4.44.2");
    sandbox
        .launch(
            &[],
            &[
                "python",
                "x.py",
                "--deepspeed",
                "zero3",
                "--model_name_or_path",
                "m",
            ],
        )
        .refused(&["3686.4"]);
    // That was fine with the DeepSpeed of its time.
    sandbox.installed("deepspeed", "0.14.5");
    assert_eq!(
        (bucket(&sandbox, "m"), bucket(&sandbox, "v")),
        (json!(3686.4), json!("auto"))
    );

    let amp = [
        "--deepspeed",
        r#"{"amp": {"enabled": "auto"}, "train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}"#,
    ];
    assert_eq!(
        sandbox.plan(&amp, &["python", "x.py"])["config"]["amp"]["enabled"],
        "auto"
    );
    sandbox.installed("transformers", "5.0.0");
    sandbox
        .launch(&amp, &["python", "x.py"])
        .refused(&["amp.enabled", "neither zlaunch nor the trainer fills"]);

    let rank = ["llamafactory-cli", "train", "x.yaml"];
    sandbox.file("x.yaml", "model_name_or_path: m\ndeepspeed: zero2\n");
    sandbox
        .var("NNODES", "2")
        .var("RANK", "1")
        .var("MASTER_ADDR", "h0")
        .var("MASTER_PORT", "2950");
    for (version, allocator) in [("0.9.1", false), ("0.9.5", true)] {
        sandbox.installed("llamafactory", version);
        // RANK is not read, and every machine would be the first.
        sandbox
            .launch(&[], &rank)
            .refused(&["which of the 2 machines this is"]);
        sandbox.var("NODE_RANK", "0");
        let plan = sandbox.plan(&[], &rank);
        assert_eq!(plan["topology"]["node_rank"], 0, "{version}");
        assert_eq!(
            plan["env"]["set"].get("PYTORCH_CUDA_ALLOC_CONF").is_some(),
            allocator,
            "{version}"
        );
        sandbox.unset("NODE_RANK");
    }
}

#[test]
fn swifts_options_and_files_by_version() {
    let mut sandbox = Sandbox::new();
    sandbox.var("CUDA_VISIBLE_DEVICES", "0,1").var("A", "mine");
    sandbox.file(
        "x.yaml",
        "model: m\ndeepspeed: zero2\nENV:\n  A: 1\n  NPROC_PER_NODE: 1\n",
    );
    let sft = |option: &'static str| ["swift", "sft", option, "full", "--deepspeed", "zero2"];
    for (version, wrong, right) in [
        ("3.9.1", "--tuner_type", "--train_type"),
        ("4.1.0", "--train_type", "--tuner_type"),
        ("4.6.0", "--train_type", "--tuner_type"),
    ] {
        sandbox.installed("ms_swift", version);
        sandbox
            .launch(&[], &sft(wrong))
            .refused(&[wrong, right, version]);
        assert_eq!(
            sandbox.launch(&[], &sft(right)).status,
            Some(0),
            "{version}"
        );
    }
    sandbox.installed("ms_swift", "4.0.4");
    assert_eq!(
        sandbox.launch(&[], &sft("--train_type")).status,
        Some(0),
        "4.0 knew both"
    );
    // The ENV block yields, and counts for the processes.
    sandbox.installed("ms_swift", "4.6.0");
    let plan = sandbox.plan(&[], &["swift", "sft", "x.yaml"]);
    assert_eq!(plan["env"]["set"].get("A"), None);
    assert_eq!(plan["topology"]["nproc_per_node"], 1);
    sandbox.installed("ms_swift", "4.0.4");
    assert!(
        sandbox.plan(&[], &["swift", "sft", "x.yaml"])["config"].is_null(),
        "no file before 4.1"
    );
}

#[test]
fn a_version_that_was_not_recorded_is_judged_by_the_nearest_with_warnings() {
    let mut sandbox = Sandbox::new();
    sandbox
        .var("CUDA_VISIBLE_DEVICES", "0,1")
        .installed("ms_swift", "2.6.1");
    let plan = sandbox.plan(
        &["--deepspeed", "zero2"],
        &["swift", "sft", "--batch_size", "4"],
    );
    assert_eq!(plan["config"]["train_micro_batch_size_per_gpu"], "auto");
    let said = &plan["diagnostics"][0];
    assert_eq!(
        (&said["severity"], &said["rule"]),
        (&json!("warning"), &json!("argument"))
    );
    let known = "(known for ms-swift 3.0.0 and later; 2.6.1 is installed)";
    assert!(said["message"].as_str().unwrap().ends_with(known), "{said}");
}

/// torchrun, deepspeed and accelerate hand any word to Python: `python -u train`.
#[test]
fn a_launcher_runs_a_file_whatever_its_name() {
    let mut sandbox = Sandbox::new();
    sandbox.var("CUDA_VISIBLE_DEVICES", "0,1");
    sandbox.file(
        "train",
        "from transformers import HfArgumentParser, TrainingArguments\n",
    );
    for launcher in [
        "torchrun --nproc_per_node 2",
        "deepspeed --num_gpus 2",
        "accelerate launch --num_processes 2",
    ] {
        let command: Vec<&str> = launcher
            .split(' ')
            .chain(["train", "--bf16", "true"])
            .collect();
        let plan = sandbox.plan(&["--deepspeed", "zero2"], &command);
        assert_eq!(plan["trainer"]["name"], "hf", "{launcher}");
    }
    sandbox
        .launch(&[], &["torchrun", "--nproc_per_node", "2", "trian"])
        .refused(&["trian", "does not exist"]);
}

#[test]
fn the_console_script_starts_torchrun_where_python_has_no_safe_path() {
    let sandbox = Sandbox::new();
    let python = sandbox.executable("old/bin/python3.10", "#!/bin/sh\n");
    let python = python.to_str().unwrap();
    let words = |sandbox: &Sandbox| {
        let plan = sandbox.plan(&["--nproc-per-node", "2"], &[python, "train.py"]);
        let words = argv(&plan);
        assert_eq!(words[0], python);
        words
    };
    assert_eq!(words(&sandbox)[3], "torch.distributed.run");
    let script = sandbox.executable("old/bin/torchrun", "#!/bin/sh\n");
    assert_eq!(words(&sandbox)[1], script.to_str().unwrap());
}
