//! The launch record and its replay.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::sandbox::{SWIFT, Sandbox};

const OPTIONS: &[&str] = &["--deepspeed", "zero2", "--nproc-per-node", "2", "--record", "rec"];

fn record(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&fs::read_to_string(sandbox.cwd().join("rec/launch.json")).unwrap()).unwrap()
}

#[test]
fn what_was_launched_is_written_down_without_secrets() {
    let mut sandbox = Sandbox::new();
    sandbox.var("WANDB_API_KEY", "secret-value").var("HF_TOKEN", "hf_secret").var("OMP_NUM_THREADS", "3");
    let token = ["--hub_token", "another-secret", "--system", "say hf_secret aloud"];
    let command: Vec<&str> = SWIFT.iter().chain(&token).copied().collect();
    let options: Vec<&str> = OPTIONS.iter().chain(&["--env", "MY_SECRET=third-secret"]).copied().collect();
    assert_eq!(sandbox.launch(&options, &command).status, Some(0));
    // What is executed has them all the same.
    assert!(sandbox.recorded().iter().any(|word| word == "another-secret"));
    let seen = record(&sandbox);
    assert_eq!(seen["plan"]["config"]["train_batch_size"], 32);
    assert_eq!((&seen["packages"]["deepspeed"], &seen["packages"]["ms_swift"]), (&"0.19.8".into(), &"4.6.0".into()));
    assert_eq!(seen["plan"]["env"]["kept"]["OMP_NUM_THREADS"], "3");
    assert!(seen["time"].as_str().unwrap().ends_with('Z') && seen["words"].as_array().unwrap().len() > 10);
    let config: Value =
        serde_json::from_str(&fs::read_to_string(sandbox.cwd().join("rec/config.json")).unwrap()).unwrap();
    assert_eq!(config, seen["plan"]["config"]);
    for name in ["launch.json", "config.json"] {
        let path = sandbox.cwd().join("rec").join(name);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(path).unwrap();
        for secret in ["secret-value", "hf_secret", "another-secret", "third-secret"] {
            assert!(!text.contains(secret), "{secret} in {name}");
        }
    }
    sandbox.run(["replay", "rec"]).refused(&["MY_SECRET", "was not recorded"]);
}

#[test]
fn the_trainers_output_folder_may_take_it() {
    let sandbox = Sandbox::new();
    let options = ["--deepspeed", "zero2", "--nproc-per-node", "2", "--record", "auto"];
    sandbox.launch(&options, SWIFT).refused(&["--output_dir is not given", "--record DIR"]);
    let command: Vec<&str> = SWIFT.iter().chain(&["--output_dir", "out/x"]).copied().collect();
    assert_eq!(sandbox.launch(&options, &command).status, Some(0));
    assert!(sandbox.cwd().join("out/x/zlaunch/launch.json").is_file());
    assert_eq!(sandbox.launch(&["--dry-run", "--record", "dry"], &["true"]).status, Some(0));
    assert!(!sandbox.cwd().join("dry").exists(), "a dry run writes nothing");
}

#[test]
fn a_replay_launches_it_again_and_tells_what_differs() {
    let mut sandbox = Sandbox::new();
    assert_eq!(sandbox.launch(OPTIONS, SWIFT).status, Some(0));
    let first = sandbox.recorded();
    fs::remove_file(sandbox.root().join("record/argv")).unwrap();
    let written = record(&sandbox);
    let run = sandbox.run(["replay", "rec", "-n"]);
    assert_eq!((run.status, run.stdout.as_str()), (Some(0), "nothing differs\n"), "{run:?}");
    assert!(!sandbox.root().join("record/argv").exists());
    let run = sandbox.run(["replay", "rec"]);
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    assert_eq!(sandbox.recorded(), first);
    assert_eq!(record(&sandbox), written, "the old record stays");
    sandbox.installed("deepspeed", "0.20.0");
    sandbox.var("OMP_NUM_THREADS", "7");
    let run = sandbox.run(["replay", "rec", "--dry-run"]);
    assert!(run.stdout.contains("packages.deepspeed: \"0.19.8\" then, \"0.20.0\" now\n"), "{run:?}");
    assert!(run.stdout.contains("env.kept.OMP_NUM_THREADS: null then, \"7\" now\n"), "{run:?}");
    fs::write(sandbox.cwd().join("rec/launch.json"), "{}").unwrap();
    sandbox.run(["replay", "rec"]).refused(&["no launch record", "rec/launch.json"]);
    sandbox.run(["replay", "nowhere"]).refused(&["nowhere/launch.json"]);
    sandbox.run(["replay"]).refused(&["zlaunch replay DIR"]);
}

/// A model has a config.json and an editor a launch.json: neither is ours.
#[test]
fn what_is_no_part_of_a_record_stays() {
    let sandbox = Sandbox::new();
    let model = r#"{"model_type": "qwen3"}"#;
    let file = sandbox.file("rec/config.json", model);
    sandbox.launch(OPTIONS, SWIFT).refused(&["rec/config.json", "no part of a launch record", "--record /"]);
    fs::remove_file(&file).unwrap();
    let editors = sandbox.file("rec/launch.json", "// of an editor\n{\"version\": \"0.2.0\", \"configurations\": []}\n");
    sandbox.launch(OPTIONS, SWIFT).refused(&["rec/launch.json", "no part of a launch record", "/rec/zlaunch"]);
    assert!(fs::read_to_string(&editors).unwrap().starts_with("// of an editor"));
    assert!(!sandbox.executed(), "before anything is launched");
    // Beside a record of ours, too, where a trainer saved its model there since.
    fs::remove_file(&editors).unwrap();
    assert_eq!(sandbox.launch(OPTIONS, SWIFT).status, Some(0));
    assert_eq!(sandbox.launch(OPTIONS, SWIFT).status, Some(0), "its own record is replaced");
    fs::write(&file, model).unwrap();
    sandbox.launch(OPTIONS, SWIFT).refused(&["rec/config.json", "no part of a launch record"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), model);
}

#[test]
fn a_folder_without_a_name_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.launch(&["--record", ""], &["true"]).refused(&["has no name", "--record ''"]);
    sandbox.launch(&["--record="], &["true"]).refused(&["has no name"]);
    sandbox.file("launch.json", "{}");
    sandbox.run(["replay", ""]).refused(&["a word is missing", "zlaunch replay DIR"]);
}

#[test]
fn a_record_that_was_changed_is_told() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.launch(OPTIONS, SWIFT).status, Some(0));
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
    with("folder", "cwd".into()).refused(&["no launch record", "launch.json"]);
}

#[test]
fn the_config_is_that_of_the_launch() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.launch(OPTIONS, SWIFT).status, Some(0));
    assert_eq!(sandbox.launch(&["--nproc-per-node", "2", "--record", "rec"], SWIFT).status, Some(0));
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
        let config = fs::read_to_string(sandbox.cwd().join("rec/config.json")).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&config).unwrap(), record(&sandbox)["plan"]["config"]);
    }
}
