//! The launch record and its replay.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;

use serde_json::Value;

use crate::sandbox::{SWIFT, Sandbox, read_json, rights};

const OPTIONS: &[&str] = &["--deepspeed", "zero2", "--nproc-per-node", "2", "--record", "rec"];

fn record(sandbox: &Sandbox) -> Value {
    read_json(sandbox.cwd().join("rec/launch.json"))
}

#[test]
fn what_was_launched_is_written_down_without_secrets() {
    let mut sandbox = Sandbox::new();
    sandbox.var("WANDB_API_KEY", "secret-value").var("HF_TOKEN", "hf_secret").var("OMP_NUM_THREADS", "3");
    let token = ["--hub_token", "another-secret", "--system", "say hf_secret aloud"];
    let command: Vec<&str> = SWIFT.iter().chain(&token).copied().collect();
    let options: Vec<&str> = OPTIONS.iter().chain(&["--env", "MY_SECRET=third-secret"]).copied().collect();
    sandbox.launch(&options, &command).succeeded();
    // What is executed has them all the same.
    assert!(sandbox.recorded().iter().any(|word| word == "another-secret"));
    let seen = record(&sandbox);
    assert_eq!(seen["plan"]["config"]["train_batch_size"], 32);
    assert_eq!(seen["packages"]["python"], "3.11");
    assert_eq!((&seen["packages"]["deepspeed"], &seen["packages"]["ms_swift"]), (&"0.19.8".into(), &"4.6.0".into()));
    assert_eq!(seen["plan"]["env"]["kept"]["OMP_NUM_THREADS"], "3");
    assert!(seen["time"].as_str().unwrap().ends_with('Z') && seen["words"].as_array().unwrap().len() > 10);
    assert_eq!(read_json(sandbox.cwd().join("rec/config.json")), seen["plan"]["config"]);
    for name in ["launch.json", "config.json"] {
        let path = sandbox.cwd().join("rec").join(name);
        assert_eq!(rights(&path), 0o600);
        let text = fs::read_to_string(path).unwrap();
        for secret in ["secret-value", "hf_secret", "another-secret", "third-secret"] {
            assert!(!text.contains(secret), "{secret} in {name}");
        }
    }
    sandbox.run(["replay", "rec"]).refused(&["MY_SECRET", "was not recorded"]);
}

#[test]
fn record_auto_is_in_the_trainers_output_folder() {
    let sandbox = Sandbox::new();
    let options = ["--deepspeed", "zero2", "--nproc-per-node", "2", "--record", "auto"];
    sandbox.launch(&options, SWIFT).refused(&["no `--output_dir`", "--record DIR"]);
    let command: Vec<&str> = SWIFT.iter().chain(&["--output_dir", "out/x"]).copied().collect();
    sandbox.launch(&options, &command).succeeded();
    assert!(sandbox.cwd().join("out/x/zlaunch/launch.json").is_file());
    sandbox.launch(&["--dry-run", "--record", "dry"], &["true"]).succeeded();
    assert!(!sandbox.cwd().join("dry").exists(), "a dry run writes nothing");
}

#[test]
fn a_replay_launches_again_and_reports_what_differs() {
    let mut sandbox = Sandbox::new();
    sandbox.launch(OPTIONS, SWIFT).succeeded();
    let first = sandbox.recorded();
    sandbox.forget_execution();
    let written = record(&sandbox);
    let run = sandbox.run(["replay", "rec", "-n"]);
    assert_eq!((run.status, run.stdout.as_str()), (Some(0), "nothing differs\n"), "{run:?}");
    assert!(!sandbox.executed());
    let run = sandbox.run(["replay", "rec"]);
    run.succeeded_silently();
    assert_eq!(sandbox.recorded(), first);
    assert_eq!(record(&sandbox), written, "the old record stays");
    sandbox.installed("deepspeed", "0.20.0");
    sandbox.var("OMP_NUM_THREADS", "7");
    let run = sandbox.run(["replay", "rec", "--dry-run"]);
    assert!(run.stdout.contains("packages.deepspeed: \"0.19.8\" then, \"0.20.0\" now\n"), "{run:?}");
    assert!(run.stdout.contains("env.kept.OMP_NUM_THREADS: null then, \"7\" now\n"), "{run:?}");
    fs::write(sandbox.cwd().join("rec/launch.json"), "{}").unwrap();
    sandbox.run(["replay", "rec"]).refused(&["not a launch record", "rec/launch.json"]);
    sandbox.run(["replay", "nowhere"]).refused(&["no launch record", "/nowhere"]);
    sandbox.run(["replay"]).refused(&["zlaunch replay DIR"]);
}

/// A model has a config.json and an editor a launch.json: neither is ours.
#[test]
fn files_that_are_no_record_are_not_overwritten() {
    let sandbox = Sandbox::new();
    let model = r#"{"model_type": "qwen3"}"#;
    let file = sandbox.file("rec/config.json", model);
    sandbox.launch(OPTIONS, SWIFT).refused(&["rec/config.json", "not part of a launch record", "--record /"]);
    fs::remove_file(&file).unwrap();
    let editors =
        sandbox.file("rec/launch.json", "// of an editor\n{\"version\": \"0.2.0\", \"configurations\": []}\n");
    sandbox.launch(OPTIONS, SWIFT).refused(&["rec/launch.json", "not part of a launch record", "/rec/zlaunch"]);
    assert!(fs::read_to_string(&editors).unwrap().starts_with("// of an editor"));
    assert!(!sandbox.executed(), "before anything is launched");
    // Beside a record of ours, too, where a trainer saved its model there since.
    fs::remove_file(&editors).unwrap();
    sandbox.launch(OPTIONS, SWIFT).succeeded();
    assert_eq!(sandbox.launch(OPTIONS, SWIFT).status, Some(0), "its own record is replaced");
    fs::write(&file, model).unwrap();
    sandbox.launch(OPTIONS, SWIFT).refused(&["rec/config.json", "not part of a launch record"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), model);
}

#[test]
fn an_empty_folder_name_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.launch(&["--record", ""], &["true"]).refused(&["is empty", "--record ''"]);
    sandbox.launch(&["--record="], &["true"]).refused(&["is empty"]);
    sandbox.file("launch.json", "{}");
    sandbox.run(["replay", ""]).refused(&["`zlaunch replay` needs DIR", "zlaunch replay DIR"]);
}

#[test]
fn a_record_that_was_changed_is_reported() {
    let sandbox = Sandbox::new();
    sandbox.launch(OPTIONS, SWIFT).succeeded();
    let (launch, config) = (sandbox.cwd().join("rec/launch.json"), sandbox.cwd().join("rec/config.json"));
    let differs = || sandbox.run(["replay", "rec", "-n"]).stdout;
    assert_eq!(differs(), "nothing differs\n");
    fs::write(&config, "{}").unwrap();
    assert_eq!(differs(), format!("{}: is not the config that launch.json has\n", config.display()));
    fs::remove_file(&config).unwrap();
    assert_eq!(differs(), format!("{}: is not the config that launch.json has\n", config.display()));
    let written = record(&sandbox);
    let with = |key: &str, value: Value| {
        let mut changed = written.clone();
        changed[key] = value;
        fs::write(&launch, changed.to_string()).unwrap();
        sandbox.run(["replay", "rec", "-n"])
    };
    with("version", 99.into()).refused(&["version 99", "reads version 1", "launch.json"]);
    with("folder", "cwd".into()).refused(&["not a launch record", "launch.json"]);
}

#[test]
fn the_config_is_that_of_the_launch() {
    let sandbox = Sandbox::new();
    sandbox.launch(OPTIONS, SWIFT).succeeded();
    sandbox.launch(&["--nproc-per-node", "2", "--record", "rec"], SWIFT).succeeded();
    assert_eq!(record(&sandbox)["plan"]["config"], Value::Null);
    assert!(!sandbox.cwd().join("rec/config.json").exists(), "of the launch before");
    for _ in 0..5 {
        let started = (1..=6).map(|number| {
            let set = format!("steps_per_print={number}");
            sandbox.command(OPTIONS.iter().chain(&["--set", &set, "--"]).chain(SWIFT)).spawn().unwrap()
        });
        for mut launch in started.collect::<Vec<_>>() {
            assert!(launch.wait().unwrap().success());
        }
        assert_eq!(read_json(sandbox.cwd().join("rec/config.json")), record(&sandbox)["plan"]["config"]);
    }
}

/// Where a site or a job script says it all by variables.
#[test]
fn a_replay_has_the_variables_of_zlaunch_that_were_in_force() {
    let mut sandbox = Sandbox::new();
    sandbox.var("ZLAUNCH_DEEPSPEED", "zero3").var("ZLAUNCH_SET", "steps_per_print=3\nwall_clock_breakdown=true");
    sandbox.var("ZLAUNCH_NPROC_PER_NODE", "2");
    sandbox.launch(&["--record", "rec"], SWIFT).succeeded();
    let first = sandbox.recorded();
    assert_eq!(record(&sandbox)["plan"]["config"]["steps_per_print"], 3);
    for name in ["ZLAUNCH_DEEPSPEED", "ZLAUNCH_NPROC_PER_NODE"] {
        sandbox.unset(name);
    }
    sandbox.var("ZLAUNCH_SET", "steps_per_print=4").var("ZLAUNCH_NO_FILL", "1").var("ZLAUNCH_DRY_RUN", "1");
    assert_eq!(sandbox.run(["replay", "rec", "-n"]).stdout, "nothing differs\n");
    sandbox.forget_execution();
    sandbox.run(["replay", "rec"]).succeeded();
    assert_eq!(sandbox.recorded(), first);
    // Whoever comes after, another zlaunch under srun, is told the same.
    let env = sandbox.recorded_env();
    assert_eq!((&env["ZLAUNCH_DEEPSPEED"][..], &env["ZLAUNCH_NPROC_PER_NODE"][..]), ("zero3", "2"));
    assert!(!env.contains_key("ZLAUNCH_NO_FILL") && !env.contains_key("ZLAUNCH_DRY_RUN"), "{env:?}");
}

#[test]
fn a_secret_in_a_variable_of_zlaunch_is_not_recorded() {
    let mut sandbox = Sandbox::new();
    sandbox.var("ZLAUNCH_ENV", "NCCL_DEBUG=INFO\nMY_TOKEN=short");
    sandbox.launch(OPTIONS, SWIFT).succeeded();
    assert_eq!(record(&sandbox)["variables"]["ZLAUNCH_ENV"], "NCCL_DEBUG=INFO\nMY_TOKEN=(secret)");
    sandbox.run(["replay", "rec"]).refused(&["the value of ZLAUNCH_ENV was not recorded"]);
}

#[test]
fn variables_that_change_a_training_are_recorded_and_compared() {
    let mut sandbox = Sandbox::new();
    sandbox.var("NCCL_IB_DISABLE", "1").var("PYTHONPATH", "/my/fork").var("LD_LIBRARY_PATH", "/cuda");
    sandbox.var("WANDB_API_KEY", "a-secret-value").var("EDITOR", "vi").var("NCCL_DEBUG", "INFO");
    sandbox.launch(OPTIONS, SWIFT).succeeded();
    let variables = record(&sandbox)["variables"].take();
    assert_eq!((&variables["NCCL_IB_DISABLE"], &variables["EDITOR"]), (&"1".into(), &Value::Null));
    assert_eq!(variables["WANDB_API_KEY"], "(secret)");
    for name in ["NCCL_IB_DISABLE", "LD_LIBRARY_PATH", "NCCL_DEBUG"] {
        sandbox.unset(name);
    }
    sandbox.var("PYTHONPATH", "/your/fork").var("HF_ENDPOINT", "https://me:password@mirror").var("EDITOR", "ed");
    let mut lines: Vec<String> = sandbox.run(["replay", "rec", "-n"]).stdout.lines().map(str::to_string).collect();
    lines.sort();
    let expected = [
        "env.kept.NCCL_DEBUG: \"INFO\" then, null now",
        "variables.HF_ENDPOINT: null then, \"https://(secret)@mirror\" now",
        "variables.LD_LIBRARY_PATH: \"/cuda\" then, null now",
        "variables.NCCL_IB_DISABLE: \"1\" then, null now",
        "variables.PYTHONPATH: \"/my/fork\" then, \"/your/fork\" now",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_changed_input_file_is_reported() {
    let sandbox = Sandbox::new();
    let run_file = "model_name_or_path: x\nper_device_train_batch_size: 1\nlearning_rate: 1e-4\n";
    let files = [
        ("t.yaml", run_file),
        ("p.json", "{\"steps_per_print\": 7}"),
        ("t/mine.json", "{\"$zlaunch\": {\"extends\": \"base\"}}"),
        ("t/base.json", "{\"$zlaunch\": {\"extends\": \"zero2\"}}"),
    ];
    let options = ["--template-dir", "t", "--deepspeed", "mine", "--patch", "p.json"];
    let options: Vec<&str> =
        options.iter().chain(&OPTIONS[2..]).chain(&["--config-out", "out.json"]).copied().collect();
    for (name, text) in files {
        sandbox.file(name, text);
    }
    sandbox.launch(&options, &["llamafactory-cli", "train", "t.yaml"]).succeeded();
    let differs = || sandbox.run(["replay", "rec", "-n"]);
    assert_eq!(differs().stdout, "nothing differs\n", "and what it wrote itself is none of them");
    for (name, text) in files {
        // What a front end does not look at, a comment or a space, is a change as well.
        let path = sandbox.file(name, format!("{text}\n"));
        assert_eq!(differs().stdout, format!("{}: has changed\n", path.display()));
        sandbox.file(name, text);
    }
    // The config is still there when its template is not.
    fs::remove_file(sandbox.cwd().join("p.json")).unwrap();
    differs().refused(&["p.json", "is gone", "--deepspeed ", "rec/config.json"]);
}

#[test]
fn a_changed_script_or_model_is_reported() {
    let sandbox = Sandbox::new();
    sandbox.file("train.py", "print(1)");
    sandbox.file("m/config.json", r#"{"model_type": "qwen3", "hidden_size": 64}"#);
    let options = ["--nproc-per-node", "2", "--record", "rec"];
    let command = ["python", "train.py", "--model_name_or_path", "m", "--data=d.jsonl"];
    sandbox.file("d.jsonl", "{}");
    sandbox.launch(&options, &command).succeeded();
    for name in ["train.py", "m/config.json", "d.jsonl"] {
        let path = sandbox.cwd().join(name);
        let before = fs::read(&path).unwrap();
        fs::write(&path, "{ }").unwrap();
        let line = format!("{}: has changed\n", path.display());
        assert_eq!(sandbox.run(["replay", "rec", "-n"]).stdout, line);
        fs::write(&path, before).unwrap();
    }
}

#[test]
fn words_that_are_not_utf8_cannot_be_recorded() {
    let mut sandbox = Sandbox::new();
    let odd = OsStr::from_bytes(b"caf\xe9");
    let words = ["--record", "rec", "--nproc-per-node=2", "--", "python", "train.py"].map(OsString::from);
    let words: Vec<OsString> = words.into_iter().chain([odd.to_os_string()]).collect();
    sandbox.run(&words).refused(&["not UTF-8", "leave --record out"]);
    sandbox.var("ZLAUNCH_LAUNCHER_ARG", odd);
    sandbox.run(&words[..6]).refused(&["not UTF-8"]);
    assert!(!sandbox.executed() && !sandbox.cwd().join("rec").exists());
}

#[test]
fn words_that_look_like_a_hidden_secret_are_launched_again() {
    let sandbox = Sandbox::new();
    let command: Vec<&str> = SWIFT.iter().chain(&["--system", "say (secret) aloud"]).copied().collect();
    sandbox.launch(OPTIONS, &command).succeeded();
    let first = sandbox.recorded();
    sandbox.forget_execution();
    sandbox.run(["replay", "rec"]).succeeded();
    assert_eq!(sandbox.recorded(), first);
}

#[test]
fn a_config_that_one_side_lacks_is_shown_in_short() {
    let sandbox = Sandbox::new();
    sandbox.launch(OPTIONS, SWIFT).succeeded();
    let mut changed = record(&sandbox);
    changed["plan"]["config"] = Value::Null;
    fs::write(sandbox.cwd().join("rec/launch.json"), changed.to_string()).unwrap();
    let run = sandbox.run(["replay", "rec", "-n"]);
    assert!(run.stdout.lines().any(|line| line == "config: null then, {…} now"), "{run:?}");
}

/// The machines that srun starts are told by words and variables, and would write it anew.
#[test]
fn a_replay_on_several_machines_leaves_the_record_alone() {
    let mut sandbox = Sandbox::new();
    sandbox.program("srun");
    sandbox.var("ZLAUNCH_RECORD", "rec").var("ZLAUNCH_QUIET", "1");
    sandbox.launch(OPTIONS, SWIFT).succeeded();
    sandbox.vars(&[("SLURM_JOB_ID", "9"), ("SLURM_JOB_NUM_NODES", "2")]);
    sandbox.vars(&[("SLURM_JOB_NODELIST", "n[1-2]"), ("SLURM_NODEID", "0")]);
    let run = sandbox.run(["replay", "rec"]);
    run.succeeded();
    let argv = sandbox.recorded();
    assert!(argv[0].to_str().unwrap().ends_with("srun") && !argv.iter().any(|word| word == "--record"), "{argv:?}");
    let env = sandbox.recorded_env();
    assert!(!env.contains_key("ZLAUNCH_RECORD") && env["ZLAUNCH_QUIET"] == "1", "{env:?}");
}
