//! What the trainer sees: its pid, its signals, its arguments to the byte, its exit status.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;

use crate::sandbox::{SWIFT, Sandbox, mode, option, plant, read_json, rights, start};

const ZERO2: &[&str] = &["--deepspeed", "zero2", "--nproc-per-node", "2"];

#[test]
fn the_exit_status_is_the_trainers() {
    let mut sandbox = Sandbox::new();
    for status in [0, 1, 37, 255] {
        sandbox.var("STUB_EXIT", status.to_string());
        assert_eq!(sandbox.launch(ZERO2, SWIFT).status, Some(status));
    }
}

#[test]
fn a_signal_that_kills_the_trainer_reaches_the_caller() {
    let mut sandbox = Sandbox::new();
    for (name, number) in [("KILL", 9), ("TERM", 15), ("USR1", 10)] {
        sandbox.var("STUB_KILL", name);
        assert_eq!(sandbox.launch(ZERO2, SWIFT).signal, Some(number), "{name}");
    }
}

#[test]
fn the_pid_stays_the_same_and_no_signal_is_ignored_or_blocked() {
    let mut sandbox = Sandbox::new();
    sandbox.var("STUB_STATUS", "1");
    let mut child = start(&mut sandbox.command(ZERO2.iter().chain(&["--"]).chain(SWIFT)));
    let pid = child.id();
    assert!(child.wait().unwrap().success());
    let read = |name: &str| fs::read_to_string(sandbox.path("record").join(name)).unwrap();
    assert_eq!(read("pid").trim(), pid.to_string());
    // This thread's: the main thread, which /proc/self shows, blocks every signal while it starts another test.
    let own = fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = |text: &str, name: &str| {
        text.lines()
            .find(|line| line.starts_with(name))
            .unwrap()
            .to_string()
    };
    // Rust's runtime ignores SIGPIPE; the trainer must not inherit that.
    let ignored = u64::from_str_radix(
        line(&read("status"), "SigIgn")
            .split_whitespace()
            .nth(1)
            .unwrap(),
        16,
    )
    .unwrap();
    assert_eq!(ignored & (1 << 12), 0, "SIGPIPE is ignored");
    assert_eq!(line(&read("status"), "SigBlk"), line(&own, "SigBlk"));
}

#[test]
fn arguments_arrive_to_the_byte() {
    let sandbox = Sandbox::new();
    let odd: Vec<OsString> = [
        "a b",
        "a\nb",
        "it's",
        "\"q\"",
        "$HOME",
        "",
        "--x=1 2",
        "日本",
        "a'; echo foo",
        "*",
    ]
    .iter()
    .map(OsString::from)
    .chain([OsString::from_vec(vec![0xff, 0xfe, b'x'])])
    .collect();
    let words = ZERO2
        .iter()
        .chain(&["--"])
        .chain(SWIFT)
        .chain(&["--target_modules"])
        .map(OsString::from)
        .chain(odd.clone());
    sandbox.run(words).succeeded();
    let argv = sandbox.recorded();
    let at = argv
        .iter()
        .position(|word| word == "--target_modules")
        .unwrap();
    assert_eq!(argv[at + 1..=at + odd.len()], odd);
}

#[test]
fn odd_folders_are_no_obstacle() {
    for name in ["a 0", "a\"=0\"", "a'; echo foo", "a\n0", "ünï", "-rf"] {
        let mut sandbox = Sandbox::new();
        let home = sandbox.root().join(name);
        fs::create_dir(&home).unwrap();
        sandbox.var("HOME", &home);
        assert_eq!(sandbox.launch(ZERO2, SWIFT).status, Some(0), "{name}");
        let argv = sandbox.recorded();
        let path = option(&argv, "--deepspeed").unwrap();
        assert!(
            std::path::Path::new(path).starts_with(&home) && fs::metadata(path).is_ok(),
            "{name}"
        );
    }
}

#[test]
fn not_found_is_127_and_not_executable_is_126() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(["no-such-command"]);
    assert_eq!(run.status, Some(127), "{run:?}");
    assert!(
        run.stderr.contains("`no-such-command` is not on PATH") && run.stderr.contains("help: "),
        "{run:?}"
    );
    sandbox.file("plain", "x");
    assert_eq!(sandbox.run(["./plain"]).status, Some(126));
    sandbox.put("env/bin/plain", "");
    let run = sandbox.run(["plain"]);
    assert_eq!(run.status, Some(126), "found on PATH: {run:?}");
    assert_eq!(sandbox.run(["./missing"]).status, Some(127));
    sandbox.executable("cwd/bad-shebang", "#!/proc/nowhere/interpreter\n");
    assert_eq!(sandbox.run(["./bad-shebang"]).status, Some(127));
    assert!(sandbox.files("home").is_empty());
}

#[test]
fn a_missing_trainer_stops_a_launch_but_not_a_plan() {
    let mut sandbox = Sandbox::new();
    sandbox.search(&[]);
    let run = sandbox.launch(ZERO2, SWIFT);
    assert_eq!(run.status, Some(127), "{run:?}");
    assert!(run.stderr.contains("`swift` is not on PATH"), "{run:?}");
    assert!(
        sandbox.files("home").is_empty(),
        "nothing is written for a launch that cannot be"
    );
    let plan = sandbox.plan(ZERO2, SWIFT);
    assert_eq!(plan["config"]["train_batch_size"], 32);
    assert_eq!(plan["diagnostics"][0]["rule"], "not-found");
}

#[test]
fn the_config_is_private_complete_and_written_once() {
    let sandbox = Sandbox::new();
    for _ in 0..2 {
        sandbox.launch(ZERO2, SWIFT).succeeded();
    }
    let files = sandbox.files("home");
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(
        (rights(&files[0]), rights(files[0].parent().unwrap())),
        (0o600, 0o700)
    );
    assert_eq!(read_json(&files[0]), sandbox.plan(ZERO2, SWIFT)["config"]);
    assert_eq!(
        option(&sandbox.recorded(), "--deepspeed").unwrap(),
        files[0].as_os_str()
    );
}

#[test]
fn a_damaged_config_is_mended_and_a_link_is_not_followed() {
    let sandbox = Sandbox::new();
    sandbox.launch(ZERO2, SWIFT);
    let file = sandbox.cached_config();
    let whole = fs::read(&file).unwrap();
    plant(&file, "{");
    sandbox.launch(ZERO2, SWIFT).succeeded();
    assert_eq!(fs::read(&file).unwrap(), whole);
    let victim = sandbox.file("victim", "precious");
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&victim, &file).unwrap();
    sandbox.launch(ZERO2, SWIFT).succeeded();
    assert_eq!(
        (
            fs::read_to_string(&victim).unwrap().as_str(),
            fs::read(&file).unwrap()
        ),
        ("precious", whole)
    );
}

#[test]
fn without_a_home_a_private_temporary_folder_is_used() {
    let mut sandbox = Sandbox::new();
    let temporary = sandbox.path("tmp");
    fs::create_dir(&temporary).unwrap();
    sandbox.var("TMPDIR", &temporary).unset("HOME");
    sandbox.launch(ZERO2, SWIFT).succeeded();
    let files = sandbox.files("tmp");
    assert_eq!(files.len(), 1);
    // Somebody else could have made the folder: one that others can write to is not trusted.
    let folder = files[0].parent().unwrap();
    mode(folder, 0o777);
    sandbox
        .launch(ZERO2, SWIFT)
        .refused(&["does not belong to you alone"]);
}

/// A home and a temporary folder are the user's to make.
#[test]
fn what_home_and_tmpdir_name_is_not_made() {
    let mut sandbox = Sandbox::new();
    let [home, temporary] = ["gone/home", "gone/tmp"].map(|name| sandbox.path(name));
    sandbox.var("HOME", &home).var("TMPDIR", &temporary);
    let sentence = format!(
        "the resolved config cannot be written: there is no folder `{}`",
        temporary.display()
    );
    sandbox
        .launch(ZERO2, SWIFT)
        .refused(&[&sentence, "--config-out"]);
    sandbox
        .run(["shims", "install"])
        .refused(&["there is no home folder"]);
    sandbox.var("XDG_CACHE_HOME", home.join(".cache"));
    sandbox
        .launch(ZERO2, SWIFT)
        .refused(&[&sentence, "--config-out"]);
    assert!(!sandbox.path("gone").exists());
    fs::create_dir_all(&temporary).unwrap();
    sandbox.launch(ZERO2, SWIFT).succeeded();
    assert_eq!((sandbox.files("gone").len(), home.exists()), (1, false));
    // A cache is made where there is a home.
    let cache = sandbox.home().join(".cache");
    sandbox.var("XDG_CACHE_HOME", &cache);
    sandbox.launch(ZERO2, SWIFT).succeeded();
    assert!(sandbox.cached_config().starts_with(cache));
}

#[test]
fn config_out_writes_where_it_is_told_but_never_over_its_source() {
    let sandbox = Sandbox::new();
    let out: Vec<&str> = ZERO2
        .iter()
        .chain(&["--config-out", "out.json"])
        .copied()
        .collect();
    sandbox.launch(&out, SWIFT).succeeded();
    assert_eq!(
        option(&sandbox.recorded(), "--deepspeed").unwrap(),
        sandbox.cwd().join("out.json").as_os_str()
    );
    assert!(sandbox.files("home").is_empty());
    let source = sandbox.file("mine.json", r#"{"zero_optimization": {"stage": 1}}"#);
    let over = [
        "--deepspeed",
        "mine.json",
        "--config-out",
        "./mine.json",
        "--nproc-per-node",
        "2",
    ];
    sandbox.launch(&over, SWIFT).refused(&["would overwrite"]);
    assert!(fs::read_to_string(source).unwrap().contains("\"stage\": 1"));
    sandbox
        .launch(
            &[
                "--deepspeed",
                "zero2",
                "--nproc-per-node",
                "2",
                "--config-out",
                "no/such/x.json",
            ],
            SWIFT,
        )
        .refused(&["no/such/x.json"]);
    fs::create_dir(sandbox.cwd().join("folder")).unwrap();
    sandbox
        .launch(
            &[
                "--deepspeed",
                "zero2",
                "--nproc-per-node",
                "2",
                "--config-out",
                "folder",
            ],
            SWIFT,
        )
        .refused(&["folder"]);
}

#[test]
fn the_shell_format_does_what_the_launch_does() {
    let sandbox = Sandbox::new();
    let command: Vec<&str> = SWIFT
        .iter()
        .chain(&["--system", "it's $x\n`y`"])
        .copied()
        .collect();
    let options: Vec<&str> = ZERO2
        .iter()
        .chain(&["--env", "NCCL_DEBUG=a b", "--unset-env", "LANG"])
        .copied()
        .collect();
    sandbox.launch(&options, &command).succeeded();
    let (argv, env) = (sandbox.recorded(), sandbox.recorded_env());
    let config = sandbox.cached_config();
    let text = fs::read(&config).unwrap();
    fs::remove_dir_all(sandbox.path("home/.cache")).unwrap();

    let script = sandbox.printed_script(&options, &command);
    assert!(sandbox.files("home").is_empty(), "a dry run writes nothing");
    sandbox.script(&script.stdout).succeeded();
    assert_eq!(sandbox.recorded(), argv);
    assert_eq!(fs::read(&config).unwrap(), text);
    assert_eq!(rights(&config), 0o600);
    let differ = |name: &str| ["_", "PWD", "SHLVL", "OLDPWD"].contains(&name);
    let ours = sandbox.recorded_env();
    for (name, value) in env.iter().filter(|(name, _)| !differ(name)) {
        assert_eq!(ours.get(name), Some(value), "{name}");
    }
    assert!(!ours.contains_key("LANG") && ours["NCCL_DEBUG"] == "a b");
}

#[test]
fn no_plan_and_no_error_shows_a_secret() {
    let mut sandbox = Sandbox::new();
    sandbox.var("HF_TOKEN", "hf_of-the-environment");
    let secrets = [
        "hf_of-the-environment",
        "hf_of-an-option",
        "hf_of-a-setting",
        "me:pw",
        "hf_in-json",
        "hf_$in`the\\\\config",
    ];
    let words = [
        "--hub_token",
        "hf_of-an-option",
        "--system",
        "say hf_of-the-environment",
        "--swanlab_token",
    ];
    let command: Vec<&str> = SWIFT
        .iter()
        .chain(&words)
        .chain(&[
            "hf_of-the-environment",
            "--system=http://me:pw@host",
            "--model_kwargs",
            r#"{"token": "hf_in-json"}"#,
        ])
        .copied()
        .collect();
    let options: Vec<&str> = ZERO2
        .iter()
        .chain(&[
            "--env",
            "WANDB_API_KEY=hf_of-a-setting",
            "--set",
            r#"comet={"api_key": "hf_$in`the\\config", "project": "$x`"}"#,
        ])
        .copied()
        .collect();
    sandbox.launch(&options, &command).succeeded();
    let argv = sandbox.recorded();
    let config = fs::read(sandbox.cached_config()).unwrap();

    let plan = |format: &str, more: &[&str]| {
        let run = sandbox.run(
            ["-n", "--format", format]
                .iter()
                .chain(&options)
                .chain(more)
                .chain(&["--"])
                .chain(&command),
        );
        for secret in secrets {
            assert!(
                !run.stdout.contains(secret) && !run.stderr.contains(secret),
                "{secret}: {run:?}"
            );
        }
        run
    };
    assert!(plan("text", &[]).stdout.contains("WANDB_API_KEY=***"));
    assert_eq!(
        plan("json", &[]).json()["env"]["set"]["WANDB_API_KEY"],
        "***"
    );
    plan("text", &["--env", "MY-TOKEN=hf_of-an-option"]).refused(&["MY-TOKEN"]);
    // What is known to be a secret is one wherever else it stands.
    for secret in [
        "hf_of-the-environment",
        "hf_of-an-option",
        "hf_of-a-setting",
        "https://me:pw@host",
    ] {
        plan("text", &["--deepspeed", secret]).refused(&["***"]);
        let words = |verb| {
            [verb, "--format", "json", "--deepspeed", secret]
                .into_iter()
                .chain(options.iter().copied())
        };
        for verb in ["check", "doctor"] {
            let run = sandbox.run(
                words(verb)
                    .chain(["--deepspeed", secret, "--"])
                    .chain(command.iter().copied()),
            );
            assert!(
                run.stdout.contains("***") && !run.stdout.contains(secret),
                "{run:?}"
            );
        }
    }

    let script = plan("shell", &[]).stdout;
    assert_ne!(
        sandbox.script(&script).status,
        Some(0),
        "what it does not hold must be given to it"
    );
    let names = [
        "HF_TOKEN",
        "HUB_TOKEN",
        "WANDB_API_KEY",
        "CREDENTIALS",
        "TOKEN",
        "API_KEY",
    ];
    let given: Vec<_> = names.into_iter().zip(secrets).collect();
    fs::remove_dir_all(sandbox.path("home/.cache")).unwrap();
    sandbox.script_with(&script, &given).succeeded();
    assert_eq!(sandbox.recorded(), argv);
    assert_eq!(fs::read(sandbox.cached_config()).unwrap(), config);
    assert_eq!(sandbox.recorded_env()["WANDB_API_KEY"], "hf_of-a-setting");
}

#[test]
fn a_missing_command_is_refused() {
    let sandbox = Sandbox::new();
    sandbox
        .run(["--deepspeed", "zero2"])
        .refused(&["no command"]);
    sandbox
        .run(["--deepspeed", "zero2", "--"])
        .refused(&["no command"]);
    sandbox.run(["--help"]).succeeded();
    assert!(sandbox.run(["--version"]).stdout.starts_with("zlaunch "));
}

/// Nothing that the launch itself is made from may be lost by it.
#[test]
fn config_out_never_overwrites_an_input() {
    let sandbox = Sandbox::new();
    let model = r#"{"model_type": "qwen3", "hidden_size": 64}"#;
    let run_file = "model: x\nper_device_train_batch_size: 1\n";
    let files = [
        ("p.json", "{\"steps_per_print\": 7}"),
        ("t/mine.json", "{\"$zlaunch\": {\"extends\": \"base\"}}"),
        ("t/base.json", "{\"$zlaunch\": {\"extends\": \"zero2\"}}"),
        ("m/config.json", model),
        ("run.yaml", run_file),
    ];
    for (name, text) in files {
        sandbox.file(name, text);
    }
    std::os::unix::fs::symlink("m/config.json", sandbox.cwd().join("link.json")).unwrap();
    let mine = [
        "--template-dir",
        "t",
        "--deepspeed",
        "mine",
        "--nproc-per-node",
        "2",
    ];
    let swift = ["swift", "sft", "--model", "m"];
    for (out, more, command) in [
        ("p.json", &["--patch", "./p.json"][..], &swift[..]),
        ("t/base.json", &[], &swift),
        ("m/config.json", &[], &swift),
        ("link.json", &[], &swift),
        ("run.yaml", &[], &["swift", "sft", "run.yaml"]),
        ("run.yaml", &[], &["swift", "sft", "--config", "run.yaml"]),
    ] {
        let options: Vec<&str> = mine
            .iter()
            .chain(more)
            .chain(&["--config-out", out])
            .copied()
            .collect();
        let path = format!("--config-out {out}");
        sandbox.launch(&options, command).refused(&[
            "would overwrite",
            "an input of this launch",
            &path,
        ]);
    }
    for (name, text) in files {
        assert_eq!(fs::read_to_string(sandbox.cwd().join(name)).unwrap(), text);
    }
    assert!(!sandbox.executed());
    // The value of an option may be the place where a script looks for it.
    let options: Vec<&str> = mine
        .iter()
        .chain(&["--config-out", "out.json"])
        .copied()
        .collect();
    for _ in 0..2 {
        let run = sandbox.launch(&options, &["python", "train.py", "--my_config", "out.json"]);
        run.succeeded();
    }
}
