//! The launch record: what is in it, its script, and what differs today.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;

use serde_json::Value;

use crate::sandbox::{Run, SWIFT, Sandbox, read_json, rights, start};

const OPTIONS: &[&str] = &[
    "--deepspeed",
    "zero2",
    "--nproc-per-node",
    "2",
    "--record",
    "rec",
];

fn record(sandbox: &Sandbox) -> Value {
    read_json(sandbox.cwd().join("rec/launch.json"))
}

/// The folder may be shared by all machines.
#[test]
fn only_the_first_machine_writes_it() {
    let sandbox = Sandbox::new();
    for (rank, is_written) in [("1", false), ("0", true)] {
        let machines = "--nnodes 2 --master-addr n1 --master-port 29500 --node-rank";
        let options: Vec<&str> = OPTIONS
            .iter()
            .copied()
            .chain(machines.split(' '))
            .chain([rank])
            .collect();
        sandbox.launch(&options, SWIFT).succeeded();
        let is_there = sandbox.cwd().join("rec/launch.json").exists();
        assert_eq!(is_there, is_written, "machine {rank}");
    }
}

#[test]
fn what_was_launched_is_written_down_without_secrets() {
    let mut sandbox = Sandbox::new();
    sandbox
        .var("WANDB_API_KEY", "secret-value")
        .var("HF_TOKEN", "hf_secret")
        .var("OMP_NUM_THREADS", "3");
    let token = [
        "--hub_token",
        "another-secret",
        "--system",
        "say hf_secret aloud",
    ];
    let command: Vec<&str> = SWIFT.iter().chain(&token).copied().collect();
    let options: Vec<&str> = OPTIONS
        .iter()
        .chain(&["--env", "MY_SECRET=third-secret"])
        .copied()
        .collect();
    sandbox.launch(&options, &command).succeeded();
    // What is executed has them all the same.
    assert!(
        sandbox
            .recorded()
            .iter()
            .any(|word| word == "another-secret")
    );
    let seen = record(&sandbox);
    assert_eq!(seen["plan"]["config"]["train_batch_size"], 32);
    assert_eq!(seen["packages"]["python"], "3.11");
    assert_eq!(
        (
            &seen["packages"]["deepspeed"],
            &seen["packages"]["ms_swift"]
        ),
        (&"0.19.8".into(), &"4.6.0".into())
    );
    assert_eq!(seen["plan"]["env"]["kept"]["OMP_NUM_THREADS"], "3");
    assert!(
        seen["time"].as_u64().unwrap() > 1_700_000_000
            && seen["words"].as_array().unwrap().len() > 10
    );
    assert_eq!(
        read_json(sandbox.cwd().join("rec/config.json")),
        seen["plan"]["config"]
    );
    for name in ["launch.json", "config.json", "launch.sh"] {
        let path = sandbox.cwd().join("rec").join(name);
        assert_eq!(rights(&path), 0o600);
        let text = fs::read_to_string(path).unwrap();
        for secret in [
            "secret-value",
            "hf_secret",
            "another-secret",
            "third-secret",
        ] {
            assert!(!text.contains(secret), "{secret} in {name}");
        }
    }
}

#[test]
fn a_dry_run_writes_no_record() {
    let sandbox = Sandbox::new();
    sandbox
        .launch(&["--dry-run", "--record", "dry"], &["true"])
        .succeeded();
    assert!(!sandbox.cwd().join("dry").exists());
}

/// A model has a config.json and an editor a launch.json: neither is ours.
#[test]
fn files_that_are_no_record_are_not_overwritten() {
    let sandbox = Sandbox::new();
    let model = r#"{"model_type": "qwen3"}"#;
    let file = sandbox.file("rec/config.json", model);
    sandbox.launch(OPTIONS, SWIFT).refused(&[
        "rec/config.json",
        "not part of a launch record",
        "--record /",
    ]);
    fs::remove_file(&file).unwrap();
    let editors = sandbox.file(
        "rec/launch.json",
        "// of an editor\n{\"version\": \"0.2.0\", \"configurations\": []}\n",
    );
    sandbox.launch(OPTIONS, SWIFT).refused(&[
        "rec/launch.json",
        "not part of a launch record",
        "/rec/zlaunch",
    ]);
    assert!(
        fs::read_to_string(&editors)
            .unwrap()
            .starts_with("// of an editor")
    );
    assert!(!sandbox.executed(), "before anything is launched");
    // Beside a record of ours, too, where a trainer saved its model there since.
    fs::remove_file(&editors).unwrap();
    sandbox.launch(OPTIONS, SWIFT).succeeded();
    assert_eq!(
        sandbox.launch(OPTIONS, SWIFT).status,
        Some(0),
        "its own record is replaced"
    );
    fs::write(&file, model).unwrap();
    sandbox
        .launch(OPTIONS, SWIFT)
        .refused(&["rec/config.json", "not part of a launch record"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), model);
    // Many a project has a launch.sh.
    let script = sandbox.file("mine/launch.sh", "#!/bin/sh\n");
    let options: Vec<&str> = OPTIONS[..5].iter().chain(&["mine"]).copied().collect();
    sandbox
        .launch(&options, SWIFT)
        .refused(&["mine/launch.sh", "not part of a launch record"]);
    assert_eq!(fs::read_to_string(&script).unwrap(), "#!/bin/sh\n");
}

#[test]
fn an_empty_folder_name_is_refused() {
    let sandbox = Sandbox::new();
    sandbox
        .launch(&["--record", ""], &["true"])
        .refused(&["is empty", "--record ''"]);
    sandbox
        .launch(&["--record="], &["true"])
        .refused(&["is empty"]);
}

#[test]
fn the_config_is_that_of_the_launch() {
    let sandbox = Sandbox::new();
    sandbox.launch(OPTIONS, SWIFT).succeeded();
    sandbox
        .launch(&["--nproc-per-node", "2", "--record", "rec"], SWIFT)
        .succeeded();
    assert_eq!(record(&sandbox)["plan"]["config"], Value::Null);
    assert!(
        !sandbox.cwd().join("rec/config.json").exists(),
        "of the launch before"
    );
    for _ in 0..5 {
        let started = (1..=6).map(|number| {
            let set = format!("steps_per_print={number}");
            start(&mut sandbox.command(OPTIONS.iter().chain(&["--set", &set, "--"]).chain(SWIFT)))
        });
        for mut launch in started.collect::<Vec<_>>() {
            assert!(launch.wait().unwrap().success());
        }
        assert_eq!(
            read_json(sandbox.cwd().join("rec/config.json")),
            record(&sandbox)["plan"]["config"]
        );
    }
}

#[test]
fn a_secret_in_a_variable_of_zlaunch_is_not_recorded() {
    let mut sandbox = Sandbox::new();
    sandbox.var("ZLAUNCH_ENV", "NCCL_DEBUG=INFO\nMY_TOKEN=short");
    sandbox.launch(OPTIONS, SWIFT).succeeded();
    assert_eq!(
        record(&sandbox)["variables"]["ZLAUNCH_ENV"],
        "NCCL_DEBUG=INFO\nMY_TOKEN=***"
    );
}

#[test]
fn the_script_of_a_record_has_words_that_are_not_utf8() {
    let sandbox = Sandbox::new();
    let odd = OsStr::from_bytes(b"caf\xe9");
    let words = [
        "--record",
        "rec",
        "--nproc-per-node=2",
        "--",
        "python",
        "train.py",
    ]
    .map(OsString::from);
    let words: Vec<OsString> = words.into_iter().chain([odd.to_os_string()]).collect();
    sandbox.run(&words).succeeded();
    let script = fs::read_to_string(sandbox.cwd().join("rec/launch.sh")).unwrap();
    let word = r#""$(printf 'caf\351')""#;
    assert!(script.contains(word), "{script}");
}

/// The words of the launch that differ, by their places.
fn differing_words(sandbox: &Sandbox, options: &[&str], command: &[&str]) -> Vec<String> {
    let run = sandbox.run([&["diff", "rec"], options, &["--"], command].concat());
    run.succeeded();
    let lines = run.stdout.lines();
    lines
        .filter_map(|line| line.strip_prefix("~ argv")?.split(' ').next())
        .map(str::to_string)
        .collect()
}

#[test]
fn the_script_launches_the_same_again() {
    let mut sandbox = Sandbox::new();
    let command: Vec<&str> = SWIFT
        .iter()
        .chain(&["--system", "it's *** $HOME\n"])
        .copied()
        .collect();
    sandbox.var(
        "ZLAUNCH_SET",
        "steps_per_print=3\nwall_clock_breakdown=true",
    );
    sandbox
        .launch(
            &[
                OPTIONS,
                &["--env", "NCCL_ALGO=Tree", "--env", "MY_TOKEN=short"],
            ]
            .concat(),
            &command,
        )
        .succeeded();
    let first = (sandbox.recorded(), sandbox.recorded_env());
    sandbox.forget_execution();
    sandbox.unset("ZLAUNCH_SET");
    let script = || {
        let mut shell = sandbox.inside("sh");
        shell
            .current_dir("/")
            .arg(sandbox.cwd().join("rec/launch.sh"));
        shell
    };
    let refused = Run::of(&mut script());
    assert!(
        !sandbox.executed() && refused.stderr.contains("MY_TOKEN"),
        "a secret must be given: {refused:?}"
    );
    Run::of(script().env("MY_TOKEN", "short")).succeeded();
    assert_eq!(sandbox.recorded(), first.0);
    let env = sandbox.recorded_env();
    for name in ["NCCL_ALGO", "OMP_NUM_THREADS", "MY_TOKEN", "PWD"] {
        assert_eq!(env.get(name), first.1.get(name), "{name}");
    }
}

#[test]
fn what_differs_today_is_said() {
    let mut sandbox = Sandbox::new();
    sandbox
        .var("NCCL_IB_DISABLE", "1")
        .var("PYTHONPATH", "/my/fork")
        .var("LD_LIBRARY_PATH", "/cuda");
    sandbox
        .var("WANDB_API_KEY", "a-secret-value")
        .var("EDITOR", "vi")
        .var("NCCL_DEBUG", "INFO");
    sandbox.launch(OPTIONS, SWIFT).succeeded();
    let variables = record(&sandbox)["variables"].take();
    assert_eq!(
        (&variables["NCCL_IB_DISABLE"], &variables["EDITOR"]),
        (&"1".into(), &Value::Null)
    );
    assert_eq!(variables["WANDB_API_KEY"], "***");
    let same = sandbox
        .run([&["diff", "rec"], &OPTIONS[..4], &["--"], SWIFT].concat())
        .stdout;
    assert!(
        same.starts_with("rec and zero2 as launched are the same: "),
        "{same}"
    );
    let mut longer = SWIFT.to_vec();
    longer.extend(["--seed", "7"]);
    assert_eq!(
        differing_words(&sandbox, &OPTIONS[..4], &longer),
        [""],
        "all of them"
    );
    let other = ["--deepspeed", "zero2", "--nproc-per-node", "3"];
    // The number of ranks, and the path of the config.
    assert_eq!(differing_words(&sandbox, &other, SWIFT), ["[7]", "[19]"]);
    // The config by its keys, and another number of ranks word by word.
    let json = sandbox.run(
        [
            &[
                "diff",
                "rec",
                "--format",
                "json",
                "--nproc-per-node",
                "3",
                "--deepspeed",
                "zero2",
                "--",
            ],
            SWIFT,
        ]
        .concat(),
    );
    let json = json.json();
    let rows = json["differences"].as_array().unwrap().iter();
    let keys: Vec<&str> = rows.map(|it| it["key"].as_str().unwrap()).collect();
    for key in ["train_batch_size", "argv[7]"] {
        assert!(keys.contains(&key), "{key}: {json}");
    }
}

#[test]
fn what_is_no_record_is_not_compared() {
    let sandbox = Sandbox::new();
    sandbox.launch(OPTIONS, SWIFT).succeeded();
    let written = record(&sandbox);
    let with = |content: &Value| {
        fs::write(sandbox.cwd().join("rec/launch.json"), content.to_string()).unwrap();
        sandbox.run(["diff", "rec", "zero2"])
    };
    with(&Value::Null).refused(&["not a launch record", "rec/launch.json"]);
    with(&written).succeeded();
}
