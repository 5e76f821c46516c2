//! What is not there is said before the launch: scripts, modules, paths, GPUs, halves of a placement.

use crate::sandbox::{SWIFT, Sandbox};

const ZERO2: &[&str] = &["--deepspeed", "zero2", "--nproc-per-node", "2"];

/// `check` ends with 1, a launch with 125, and a plan can still be read.
#[track_caller]
fn refused(sandbox: &Sandbox, command: &[&str], says: &[&str]) {
    let check = sandbox.launch(&[&["check"], ZERO2].concat(), command);
    assert_eq!(check.status, Some(1), "{check:?}");
    for word in says {
        assert!(check.stdout.contains(word), "{word}: {check:?}");
    }
    sandbox.launch(ZERO2, command).refused(says);
    assert!(!sandbox.executed());
    sandbox
        .launch(&[&["-n"], ZERO2].concat(), command)
        .succeeded();
}

#[track_caller]
fn accepted(sandbox: &Sandbox, command: &[&str]) {
    let check = sandbox.launch(&[&["check"], ZERO2].concat(), command);
    assert_eq!(check.status, Some(0), "{check:?}");
}

#[test]
fn a_script_that_does_not_exist_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.file("finetune.py", "");
    sandbox.file("package/__main__.py", "");
    let says = [
        "error[script-missing]: `finetun.py` does not exist",
        "did you mean `",
        "/cwd/finetune.py`?",
    ];
    refused(&sandbox, &["python", "finetun.py"], &says);
    refused(
        &sandbox,
        &["torchrun", "--nproc_per_node=2", "finetun.py"],
        &says,
    );
    refused(
        &sandbox,
        &["deepspeed", "--num_gpus=2", "finetun.py"],
        &says,
    );
    for script in ["finetune.py", "./package"] {
        accepted(&sandbox, &["python", script]);
    }
    // The other machines may have it.
    let run = sandbox.launch(
        &["check", "--deepspeed", "zero2"],
        &["srun", "-n2", "python", "finetun.py"],
    );
    assert!(!run.stdout.contains("script-missing"), "{run:?}");
}

#[test]
fn a_module_that_does_not_exist_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.file("mine/train.py", "");
    sandbox.file("train.py", "import deepspeed\n");
    refused(
        &sandbox,
        &["python", "-m", "no.such.module"],
        &["error[module-missing]", "has no module `no.such.module`"],
    );
    refused(
        &sandbox,
        &["python", "-m", "train.py"],
        &["has no module `train.py`"],
    );
    for module in ["mine.train", "train", "swift.cli.sft"] {
        accepted(&sandbox, &["python", "-m", module]);
    }
}

#[test]
fn a_path_that_is_not_there_is_refused_where_it_was_written() {
    let sandbox = Sandbox::new();
    sandbox.file("model/config.json", "{}");
    sandbox.put("home/model/config.json", "{}");
    refused(
        &sandbox,
        &["swift", "sft", "--model", "./modle"],
        &[
            "`./modle` does not exist",
            "--> --model ./modle",
            "/cwd/model`?",
        ],
    );
    refused(
        &sandbox,
        &["python", "train.py", "--model_name_or_path=~/model"],
        &["is not expanded", "/home/model"],
    );
    accepted(
        &sandbox,
        &[
            "swift",
            "sft",
            "--model=~/model",
            "--dataset",
            "AI/x#100",
            "--output_dir",
            "./new",
        ],
    );
    let warned = sandbox.launch(
        &[&["check"], ZERO2].concat(),
        &["python", "train.py", "--resume_from_checkpoint", "./no"],
    );
    assert!(
        warned.status == Some(0) && warned.stdout.contains("warning[path-missing]"),
        "{warned:?}"
    );
    sandbox.file(
        "run.yaml",
        "stage: sft\nmodel_name_or_path: ./model\ndataset_dir: ./no_data\n",
    );
    sandbox.put(
        "env/lib/python3.11/site-packages/llamafactory/launcher.py",
        "",
    );
    refused(
        &sandbox,
        &["llamafactory-cli", "train", "run.yaml"],
        &["`./no_data` does not exist", "--> run.yaml:3:14"],
    );
    sandbox.file(
        "run.yaml",
        "base_model: a/b\ndatasets:\n  - path: ./no_data\n",
    );
    sandbox.put("env/lib/python3.11/site-packages/axolotl/cli/train.py", "");
    let warned = sandbox.launch(
        &[&["check"], ZERO2].concat(),
        &["axolotl", "train", "run.yaml"],
    );
    assert!(
        warned.stdout.contains("`./no_data` does not exist")
            && warned.stdout.contains("run.yaml:3:11"),
        "{warned:?}"
    );
    sandbox.file("run.yaml", "model: ./no_model\n");
    refused(
        &sandbox,
        &["swift", "sft", "run.yaml"],
        &["--> run.yaml:1:8"],
    );
}

#[test]
fn gpus_that_are_not_there_are_refused() {
    let mut sandbox = Sandbox::new();
    for (list, says, help) in [
        (
            "0,1,1",
            "`1` is in the list twice, so torch sees no GPU",
            "CUDA_VISIBLE_DEVICES=0,1\n",
        ),
        ("[0,1,1]", "`[0` is not a GPU", "CUDA_VISIBLE_DEVICES=0,1\n"),
        // The ranks that are left over are to be decided.
        (
            "0,0",
            "`0` is in the list twice, so torch sees no GPU",
            "CUDA_VISIBLE_DEVICES=0\n",
        ),
        (
            "cuda:0,cuda:1",
            "`cuda:0` is not a GPU",
            "CUDA_VISIBLE_DEVICES=0,1\n",
        ),
        ("0..1", "`0..1` is not a GPU", "CUDA_VISIBLE_DEVICES=0,1\n"),
        (
            "all",
            "`all` is not a GPU",
            "--unset-env CUDA_VISIBLE_DEVICES\n",
        ),
        (
            "a,b",
            "`a` is not a GPU, and torch sees none of those behind it",
            "write numbers with commas, or GPU-… as `nvidia-smi -L` prints them",
        ),
        (
            "0,x",
            "torch sees none of those behind it",
            "write numbers with commas, or GPU-… as `nvidia-smi -L` prints them",
        ),
    ] {
        sandbox.var("CUDA_VISIBLE_DEVICES", list);
        refused(&sandbox, SWIFT, &["error[visible-devices]", says, help]);
        let uncounted = sandbox.launch(&["--deepspeed", "zero2"], SWIFT);
        assert_eq!(uncounted.status, Some(125), "{uncounted:?}");
        accepted(&sandbox, &[SWIFT, &["--use_cpu", "true"]].concat());
    }
    sandbox.var("CUDA_VISIBLE_DEVICES", "0,1,x");
    accepted(&sandbox, SWIFT);
    sandbox.var("CUDA_VISIBLE_DEVICES", "0");
    let shared = sandbox.launch(&[&["check"], ZERO2].concat(), SWIFT);
    assert!(
        shared
            .stdout
            .contains("warning[ranks-share-gpus]: 2 ranks would share 1 GPU,"),
        "{shared:?}"
    );
    let gloo = sandbox.launch(
        &[&["check"], ZERO2].concat(),
        &[SWIFT, &["--ddp_backend", "gloo"]].concat(),
    );
    assert!(!gloo.stdout.contains("ranks-share-gpus"), "{gloo:?}");
    sandbox.var("CUDA_VISIBLE_DEVICES", "");
    let hidden = sandbox.launch(&[&["check"], ZERO2].concat(), SWIFT);
    let says = "warning[ranks-share-gpus]: `CUDA_VISIBLE_DEVICES` hides every GPU from 2 ranks";
    assert!(hidden.stdout.contains(says), "{hidden:?}");
    let one = sandbox.launch(
        &["check", "--deepspeed", "zero2", "--nproc-per-node", "1"],
        SWIFT,
    );
    assert!(!one.stdout.contains("ranks-share-gpus"), "{one:?}");
}

#[test]
fn a_printed_plan_may_be_for_another_machine_but_may_not_be_wrong() {
    let sandbox = Sandbox::new();
    let options = [&["-n"], ZERO2].concat();
    let elsewhere = sandbox.launch(
        &options,
        &["python", "train.py", "--model_name_or_path", "./no"],
    );
    assert!(
        elsewhere.status == Some(0) && elsewhere.stderr.contains("warning[path-missing]"),
        "{elsewhere:?}"
    );
    let wrong = [&options[..], &["--set", "zero_optimization.stage=7"]].concat();
    sandbox
        .launch(&wrong, SWIFT)
        .refused(&["error[wrong-value]"]);
}

#[test]
fn half_a_placement_is_refused() {
    for (variables, says) in [
        (
            &[("WORLD_SIZE", "16")][..],
            "`WORLD_SIZE` is set, but not RANK and LOCAL_RANK",
        ),
        (
            &[("RANK", "3")],
            "`RANK` is set, but not LOCAL_RANK and WORLD_SIZE",
        ),
        (
            &[("RANK", "2"), ("LOCAL_RANK", "0"), ("WORLD_SIZE", "2")],
            "rank 2 of 2 does not exist",
        ),
        (
            &[("RANK", "x"), ("LOCAL_RANK", "0"), ("WORLD_SIZE", "2")],
            "`x` is not a whole number",
        ),
    ] {
        let mut sandbox = Sandbox::new();
        sandbox.vars(variables).var("CUDA_VISIBLE_DEVICES", "0,1");
        sandbox
            .launch(&["-n", "--deepspeed", "zero2"], SWIFT)
            .refused(&[says]);
    }
    // The number of the ranks that are started anyway.
    let mut sandbox = Sandbox::new();
    sandbox.var("WORLD_SIZE", "2");
    sandbox
        .launch(&[&["-n"], ZERO2].concat(), SWIFT)
        .succeeded();
}

#[test]
fn configs_are_checked_without_a_command() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "good.json",
        r#"{"zero_optimization": {"stage": 2, "overlap_comm": false}, "gradient_clipping": "auto"}"#,
    );
    sandbox.file(
        "bad.json",
        r#"{"zero_optimization": {"stage": 2, "overlapp_comm": true}}"#,
    );
    sandbox.file(
        "odd.json",
        r#"{"zero_optimization": {"stage": 2}, "no_such_key": 1}"#,
    );
    let check = |words: &[&str]| sandbox.run([&["check"], words].concat());
    for (words, status, says) in [
        (
            &["good.json"][..],
            0,
            "0 errors, 0 warnings, 0 notes\nchecked: the config against DeepSpeed 0.19.8; not checked: ",
        ),
        (&["zero3_offload"], 0, "0 errors, 0 warnings"),
        (&["--deepspeed", "zero2"], 0, "0 errors, 0 warnings"),
        (&["good.json", "bad.json"], 1, "bad.json:1:36"),
        (&["--", "bad.json"], 1, "did you mean `overlap_comm`?"),
        (&["odd.json"], 0, "odd.json:1:37"),
        (&["--strict", "odd.json"], 1, "no_such_key"),
        (
            &["--strict", "--allow", "ignored-key", "odd.json"],
            0,
            "0 errors, 0 warnings",
        ),
        (&["nothere.json"], 1, "does not exist"),
        (
            &["--format", "json", "bad.json"],
            1,
            "\"rule\": \"unknown-key\"",
        ),
    ] {
        let run = check(words);
        assert!(
            run.status == Some(status) && run.stdout.contains(says),
            "{words:?}: {run:?}"
        );
    }
}

#[test]
fn a_word_that_is_no_command_is_answered_with_what_was_meant() {
    let sandbox = Sandbox::new();
    sandbox.file("ds.json", "{}");
    for (line, meant) in [
        ("ds.json", "zlaunch check ds.json"),
        (
            "ds.json -- swift sft",
            "zlaunch --deepspeed ds.json -- swift sft",
        ),
        (
            "zero2 -- swift sft",
            "zlaunch --deepspeed zero2 -- swift sft",
        ),
        ("--zero2 -- swift sft", "did you mean `--deepspeed zero2`?"),
        (
            "--deepspeed zero2 check -- swift sft",
            "zlaunch check --deepspeed zero2 -- swift sft",
        ),
        (
            "--deepspeed zero2 doctor",
            "zlaunch doctor --deepspeed zero2",
        ),
        ("-- check swift sft", "zlaunch check swift sft"),
        ("-n templates zero2", "zlaunch templates zero2"),
        ("launch swift sft", "zlaunch swift sft"),
        (
            "check ds.json -- swift sft",
            "zlaunch check --deepspeed ds.json -- swift sft",
        ),
    ] {
        let run = sandbox.run(line.split(' '));
        run.refused(&[meant]);
    }
    // A program of that name is one behind `--` only: `zlaunch init` must not run /sbin/init.
    for name in ["run", "init"] {
        sandbox.program(name);
        sandbox.run(["-n", "--", name, "x"]).succeeded();
        sandbox
            .run([name, "x"])
            .refused(&[&format!("zlaunch -- {name} x")]);
        assert!(!sandbox.executed(), "{name}");
    }
    sandbox.run(["init"]).refused(&["zlaunch generate"]);
    assert!(sandbox.run(["help"]).stdout.contains("Usage: zlaunch"));
}

#[test]
fn a_model_that_cannot_be_read_is_said() {
    let sandbox = Sandbox::new();
    sandbox.file("bare/readme", "");
    sandbox.file("adapter/adapter_config.json", "{}");
    sandbox.file("odd/config.json", "{\"model_type\": \"qwen2\", \"x\": NaN}");
    let swift = |model: &str| ["swift", "sft", "--model", model].map(str::to_string);
    refused(
        &sandbox,
        &swift("bare/readme").each_ref().map(String::as_str),
        &["error[model-unreadable]", "is a file, not a folder"],
    );
    for (model, warned) in [("bare", true), ("adapter", false), ("odd", false)] {
        let command = swift(model);
        let check = sandbox.launch(
            &[&["check"], ZERO2].concat(),
            &command.each_ref().map(String::as_str),
        );
        assert_eq!(
            check.stdout.contains("warning[model-unreadable]"),
            warned,
            "{check:?}"
        );
    }
    let script = ["python", "train.py", "--model_name_or_path", "bare/readme"];
    let check = sandbox.launch(&[&["check"], ZERO2].concat(), &script);
    assert!(
        check.stdout.contains("warning[model-unreadable]"),
        "{check:?}"
    );
}
