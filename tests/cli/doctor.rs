//! `zlaunch doctor` from outside, and what a launch says about the machine. The rules themselves are tested over written
//! facts in `src/check/machine.rs`, the report of a whole machine in `src/tools/doctor.rs`.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::sandbox::{Run, SWIFT, Sandbox, executable};

const OFFLOAD: &[&str] = &[
    "--dry-run",
    "--nproc-per-node",
    "2",
    "--deepspeed",
    "zero3_offload",
];

/// A lock that a killed compiler left two hours ago.
fn leave_lock(sandbox: &Sandbox, folder: &str) {
    let path = sandbox.put(&format!("{folder}/cpu_adam/lock"), "");
    let then = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(then)
        .unwrap();
}

fn rules(report: &Value) -> Vec<&str> {
    report["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["rule"].as_str().unwrap())
        .collect()
}

/// The report, and exit status 1 if there is an error in it.
#[track_caller]
fn answer(run: &Run) -> Value {
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let is_error = |it: &Value| it["severity"] == "error";
    let has_errors = report["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .any(is_error);
    assert_eq!(run.status, Some(i32::from(has_errors)), "{run:?}");
    report
}

#[test]
fn a_report_needs_no_command_and_never_fails() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(["doctor"]);
    run.succeeded_silently();
    for word in [
        "machine\n",
        "limits\n",
        "python\n",
        "launch\n",
        "folders\n",
        "Linux",
        "deepspeed",
        "0.19.8",
        "/dev/shm",
    ] {
        assert!(run.stdout.contains(word), "{word}: {}", run.stdout);
    }
    assert!(run.stdout.contains("env/bin/python3"), "{}", run.stdout);
    assert!(!sandbox.executed() && sandbox.files("home").is_empty());
    // Also with nothing at all around it.
    let mut bare = Sandbox::new();
    bare.unset("PATH").unset("HOME").unset("LANG");
    bare.run(["doctor"]).succeeded();
}

#[test]
fn a_command_is_planned_but_not_started() {
    let sandbox = Sandbox::new();
    let words = [
        "doctor",
        "--format",
        "json",
        "--deepspeed",
        "zero3_offload",
        "--nproc-per-node",
        "2",
        "--",
    ];
    let report = answer(&sandbox.run(words.iter().chain(SWIFT)));
    assert_eq!(
        (&report["version"], &report["launch"]["trainer"]),
        (&1.into(), &"swift: swift sft".into())
    );
    assert_eq!(report["launch"]["config"], "zero3_offload (built in)");
    assert_eq!(
        report["launch"]["ranks"],
        "2 on this machine (--nproc-per-node)"
    );
    assert_eq!(report["python"]["ms-swift"], "4.6.0");
    assert!(!sandbox.executed());
    // What would be refused is shown.
    let words = [
        "doctor",
        "--format",
        "json",
        "--deepspeed",
        "zero3_ofload",
        "--nproc-per-node",
        "2",
        "--",
    ];
    let report = answer(&sandbox.run(words.iter().chain(SWIFT)));
    assert!(rules(&report).contains(&"template"), "{report}");
    assert_eq!(report["launch"]["plan"], "refused");
}

#[test]
fn a_missing_compiler_is_an_error_where_something_is_compiled() {
    let mut sandbox = Sandbox::new();
    sandbox.var("CXX", "no-such-c++");
    let severity = |sandbox: &Sandbox, template| {
        let words = ["doctor", "--format", "json", "--deepspeed", template];
        let ranks = ["--nproc-per-node", "2", "--"];
        let report = answer(&sandbox.run(words.iter().chain(&ranks).chain(SWIFT)));
        let mut said = report["diagnostics"].as_array().unwrap().iter();
        let compiler = said.find(|it| it["rule"] == "no-compiler");
        compiler.map_or("none".to_string(), |it| {
            it["severity"].as_str().unwrap().to_string()
        })
    };
    // It has no ninja either.
    assert_eq!(severity(&sandbox, "zero3_offload"), "error");
    assert_eq!(severity(&sandbox, "zero3"), "warning");
    // It was compiled before, or DeepSpeed was installed with it.
    let built = "home/.cache/torch_extensions/py311_cu128/cpu_adam/cpu_adam.so";
    let library = sandbox.put(built, "");
    // Ninja is asked all the same.
    assert_eq!(severity(&sandbox, "zero3_offload"), "error");
    executable(&sandbox.path("env/bin/ninja"), "#!/bin/sh\n");
    assert_eq!(severity(&sandbox, "zero3_offload"), "none");
    fs::remove_file(library).unwrap();
    let installed = sandbox
        .site()
        .join("deepspeed/git_version_info_installed.py");
    for (text, expected) in [
        ("installed_ops={'cpu_adam': False}", "error"),
        ("installed_ops={'cpu_adam': True}", "warning"),
    ] {
        fs::write(&installed, text).unwrap();
        assert_eq!(severity(&sandbox, "zero3_offload"), expected, "{text}");
    }
}

/// `doctor && zlaunch` does not go on into a launch that runs out of memory.
#[test]
fn memory_that_is_too_small_for_certain_is_an_error() {
    let sandbox = Sandbox::new();
    let config = r#"{"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "hidden_size": 8192, "intermediate_size": 29568,
        "num_attention_heads": 64, "num_hidden_layers": 80, "num_key_value_heads": 8, "vocab_size": 152064, "torch_dtype": "bfloat16"}"#;
    sandbox.put("cwd/large/config.json", config);
    let words = [
        "doctor",
        "--format",
        "json",
        "--deepspeed",
        "zero2",
        "--nproc-per-node",
        "2",
    ];
    let command = [
        "--",
        "swift",
        "sft",
        "--model",
        "./large",
        "--tuner_type",
        "full",
        "--torch_dtype",
        "bfloat16",
        "--max_length",
        "512",
    ];
    for (memory, expected) in [("40GiB", Some("error")), ("4TiB", None)] {
        let memory = ["--gpu-memory", memory, "--host-memory", "9TiB"];
        let report = answer(&sandbox.run(words.iter().chain(&memory).chain(&command)));
        let mut said = report["diagnostics"].as_array().unwrap().iter();
        let short = said.find(|it| it["rule"] == "memory-short");
        assert_eq!(
            short.and_then(|it| it["severity"].as_str()),
            expected,
            "{report}"
        );
    }
}

/// A launch is refused by what `doctor` calls an error.
#[test]
fn what_refuses_the_launch_is_an_error() {
    let mut sandbox = Sandbox::new();
    sandbox.vars(&[("HF_HUB_OFFLINE", "1"), ("USE_HF", "1")]);
    let words = ["doctor", "--format", "json", "--deepspeed", "zero2"];
    let command = ["--nproc-per-node", "2", "--", "swift", "sft", "--model"];
    let words = words.iter().chain(&command).chain(&["no/model"]);
    let report = answer(&sandbox.run(words));
    let mut found = report["diagnostics"].as_array().unwrap().iter();
    let model = found.find(|it| it["rule"] == "model-unreadable").unwrap();
    assert_eq!(model["severity"], "error", "{report}");
}

#[test]
fn more_ranks_than_gpus_and_a_scheduler_are_reported() {
    let mut sandbox = Sandbox::new();
    sandbox.var("CUDA_VISIBLE_DEVICES", "0,1");
    let report = answer(&sandbox.run(["doctor", "--format", "json", "--nproc-per-node", "3"]));
    assert!(rules(&report).contains(&"ranks-share-gpus"), "{report}");
    assert_eq!(report["variables"]["CUDA_VISIBLE_DEVICES"], "0,1");
    sandbox.vars(&[
        ("SLURM_JOB_ID", "7"),
        ("SLURM_STEP_ID", "0"),
        ("SLURM_NODEID", "0"),
        ("SLURM_LOCALID", "0"),
    ]);
    sandbox.vars(&[
        ("SLURM_STEP_NODELIST", "n1"),
        ("SLURM_STEP_NUM_NODES", "1"),
        ("SLURM_STEP_TASKS_PER_NODE", "1"),
    ]);
    let report = answer(&sandbox.run(["doctor", "--format", "json"]));
    assert_eq!(report["launch"]["scheduler"], "Slurm", "{report}");
}

#[test]
fn a_report_shows_no_secrets() {
    let mut sandbox = Sandbox::new();
    sandbox
        .var("HF_TOKEN", "hunter2")
        .var("NCCL_SECRET", "hunter2")
        .var("WANDB_API_KEY", "hunter2");
    sandbox
        .var("NCCL_NET", "https://me:hunter2@proxy/x")
        .var("UNLISTED", "hunter2")
        .var("MY_NCCL_X", "hunter2");
    let options = [
        "--nproc-per-node",
        "2",
        "--deepspeed",
        "zero2",
        "--set",
        "comet.api_key=hunter2",
    ];
    let trainer = [
        "--",
        "swift",
        "sft",
        "--hub_token",
        "hunter2",
        "--hub_tokn=hunter2",
    ];
    for format in ["text", "json"] {
        let run = sandbox.run(
            ["doctor", "--format", format]
                .iter()
                .chain(&options)
                .chain(&trainer),
        );
        assert_eq!(
            run.status,
            Some(1),
            "an option that the trainer does not have: {run:?}"
        );
        assert!(
            !run.stdout.contains("hunter2") && !run.stderr.contains("hunter2"),
            "{run:?}"
        );
        assert!(run.stdout.contains("https://***@proxy/x"), "{run:?}");
        assert!(
            !run.stdout.contains(sandbox.home().to_str().unwrap()),
            "{run:?}"
        );
    }
}

#[test]
fn wrong_options_are_refused() {
    let sandbox = Sandbox::new();
    sandbox
        .run(["doctor", "--format", "shell"])
        .refused(&["shell"]);
    sandbox.run(["doctor", "--wrong"]).refused(&["--wrong"]);
    let help = sandbox.run(["doctor", "--help"]).stdout;
    assert!(
        help.contains("zlaunch doctor [OPTIONS]") && help.contains("--nproc-per-node"),
        "{help}"
    );
}

#[test]
fn a_missing_package_is_reported_at_launch() {
    let sandbox = Sandbox::new();
    let launch = |options: &[&str]| {
        sandbox.launch(
            &OFFLOAD.iter().chain(options).copied().collect::<Vec<_>>(),
            SWIFT,
        )
    };
    assert_eq!(launch(&[]).stderr, "");
    fs::remove_dir_all(sandbox.site().join("deepspeed")).unwrap();
    assert_eq!(launch(&[]).stderr, "", "its dist-info is still there");
    fs::remove_dir(sandbox.site().join("deepspeed-0.19.8.dist-info")).unwrap();
    let run = launch(&[]);
    run.succeeded();
    assert!(
        run.stderr
            .starts_with("warning[package-missing]: `deepspeed` is not installed"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr
            .contains("activate the environment that has `deepspeed`"),
        "{}",
        run.stderr
    );
    assert_eq!(launch(&["--allow", "package-missing"]).stderr, "");
    launch(&["--strict"]).refused_by("package-missing");
    // Nothing is said where no config is used.
    assert_eq!(
        sandbox
            .launch(&["--dry-run", "--nproc-per-node", "2"], SWIFT)
            .stderr,
        ""
    );
    let report = answer(&sandbox.run(["doctor", "--format", "json"]));
    assert!(rules(&report).contains(&"package-missing"), "{report}");
}

#[test]
fn a_stale_lock_is_reported_where_something_is_compiled() {
    let mut sandbox = Sandbox::new();
    leave_lock(&sandbox, "home/.cache/torch_extensions/py311_cu121");
    let run = sandbox.launch(OFFLOAD, SWIFT);
    assert!(
        run.stderr
            .starts_with("warning[stale-lock]: this lock is 120 minutes old"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("torch_extensions/py311_cu121/cpu_adam"),
        "{}",
        run.stderr
    );
    let plain = sandbox.launch(
        &["--dry-run", "--nproc-per-node", "2", "--deepspeed", "zero3"],
        SWIFT,
    );
    assert_eq!(plain.stderr, "");
    let words = ["doctor", "--format", "json"];
    for (options, severity) in [(&[][..], "warning"), (OFFLOAD, "error")] {
        let command = options.iter().chain(&["--"]).chain(SWIFT);
        let report = match options {
            [] => answer(&sandbox.run(words)),
            _ => answer(&sandbox.run(words.iter().chain(command))),
        };
        let mut found = report["diagnostics"].as_array().unwrap().iter();
        let lock = found.find(|it| it["rule"] == "stale-lock").unwrap();
        assert_eq!(lock["severity"], severity, "{report}");
    }
    // From torch 2.14 on the kernel holds the lock, and the file stays behind every build.
    for (version, warned) in [("2.13.0", true), ("2.14.0", false)] {
        sandbox.installed("torch", version);
        assert_eq!(
            sandbox.launch(OFFLOAD, SWIFT).stderr.contains("stale-lock"),
            warned
        );
        let report = answer(&sandbox.run(["doctor", "--format", "json"]));
        assert_eq!(rules(&report).contains(&"stale-lock"), warned, "{report}");
    }
    sandbox.installed("torch", "2.13.0");
    // One that is being compiled now is none.
    sandbox.put("other/cpu_adam/lock", "");
    let other = sandbox.path("other");
    sandbox.var("TORCH_EXTENSIONS_DIR", other);
    assert_eq!(sandbox.launch(OFFLOAD, SWIFT).stderr, "");
}

#[test]
fn an_impossible_nvme_folder_is_reported() {
    let sandbox = Sandbox::new();
    let key = "zero_optimization.offload_optimizer.nvme_path";
    let other = &format!(
        "zero_optimization.offload_param.nvme_path={}",
        sandbox.path("nvme").display()
    );
    // Below a file there can be no folder, not even for root.
    let path = format!("{key}={}/a", sandbox.file("file", "").display());
    let options = [
        "--dry-run",
        "--nproc-per-node",
        "2",
        "--deepspeed",
        "zero3_nvme",
        "--set",
        other,
        "--set",
        &path,
    ];
    let run = sandbox.launch(&options, SWIFT);
    run.succeeded();
    assert!(
        run.stderr.contains("warning[nvme-folder]") && run.stderr.contains(key),
        "{}",
        run.stderr
    );
    let report = answer(
        &sandbox.run(
            ["doctor", "--format", "json"]
                .iter()
                .chain(&options)
                .chain(&["--"])
                .chain(SWIFT),
        ),
    );
    assert!(rules(&report).contains(&"nvme-folder"), "{report}");
    // pydantic takes a number in quotes, so it is stage 3 here too.
    let quoted = ["--set", "zero_optimization.stage=\"3\""];
    let words = ["doctor", "--format", "json"];
    let report = answer(
        &sandbox.run(
            words
                .iter()
                .chain(&options)
                .chain(&quoted)
                .chain(&["--"])
                .chain(SWIFT),
        ),
    );
    assert!(rules(&report).contains(&"nvme-folder"), "{report}");
}

#[test]
fn host_memory_is_compared_with_what_the_model_needs() {
    let sandbox = Sandbox::new();
    // 171 billion parameters in a layer: no machine of this world offloads that.
    let config = r#"{"model_type": "llama", "dtype": "bfloat16", "hidden_size": 131072, "intermediate_size": 262144,
        "num_hidden_layers": 100, "num_attention_heads": 1024, "num_key_value_heads": 1024, "vocab_size": 1000}"#;
    sandbox.file("model/config.json", config);
    for tuner in ["full", "lora"] {
        let command = [
            "--nproc-per-node",
            "2",
            "--",
            "swift",
            "sft",
            "--model",
            "model",
            "--tuner_type",
            tuner,
        ];
        let report = sandbox.run(
            ["doctor", "--format", "json", "--deepspeed", "zero3_offload"]
                .iter()
                .chain(&command),
        );
        let report = answer(&report);
        let found = report["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .find(|it| it["rule"] == "not-enough-host-memory");
        let found = found.unwrap_or_else(|| panic!("{report}"))["message"]
            .as_str()
            .unwrap();
        // What `fit` says of the same launch.
        let fit = sandbox
            .run(["fit", "--format", "json"].iter().chain(&command))
            .json();
        let row = fit["rows"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["template"] == "zero3_offload")
            .unwrap();
        let needed = row["host_bytes"].as_u64().unwrap() >> 40;
        assert!(
            needed > 8 && found.contains(&format!("about {needed}")),
            "{tuner}: {needed} TiB; {found}"
        );
    }
}

#[test]
fn the_machines_of_a_hostfile_are_tried() {
    let sandbox = Sandbox::new();
    sandbox.executable(
        "env/bin/ssh",
        "#!/bin/sh\ncase \"$*\" in *' down true') exit 255;; esac\n",
    );
    sandbox.file("up", "n1 slots=2\nn2 slots=2\n");
    sandbox.file("down", "n1 slots=2\ndown slots=2\n");
    let ours = ["--deepspeed", "zero2", "--hostfile"];
    for (file, is_told) in [("up", false), ("down", true)] {
        let theirs = ["--", "deepspeed", "--hostfile", file, "x.py"];
        let own = ours
            .iter()
            .copied()
            .chain([file, "--"])
            .chain(SWIFT.iter().copied());
        for words in [theirs.to_vec(), own.collect()] {
            let run = sandbox.run(["doctor"].into_iter().chain(words));
            let says = "`down` of the hostfile cannot be reached by ssh";
            assert_eq!(run.stdout.contains(says), is_told, "{run:?}");
            assert!(!is_told || run.status == Some(1), "{run:?}");
        }
    }
}

/// As on several machines, where they are compared; the ranks run here.
#[test]
fn what_one_machine_lacks_is_told_without_others() {
    for (name, value, output, says) in [
        (
            "NCCL_SOCKET_IFNAME",
            "eth99",
            "out",
            "no interface for NCCL_SOCKET_IFNAME=eth99",
        ),
        (
            "NCCL_IB_HCA",
            "mlx5_99",
            "out",
            "no InfiniBand adapter for NCCL_IB_HCA=mlx5_99",
        ),
        ("A", "b", "file/out", "file/out cannot be written"),
        ("NCCL_SOCKET_IFNAME", "=lo", "out", ""),
        ("NCCL_SOCKET_IFNAME", "^docker", "out", ""),
    ] {
        let mut sandbox = Sandbox::new();
        sandbox.file("file", "");
        sandbox.var(name, value);
        let launch = ["doctor", "--nproc-per-node", "2", "--format", "json", "--"];
        let output = ["--output_dir", output];
        let words = launch.iter().chain(SWIFT).chain(&output);
        let report = answer(&sandbox.run(words));
        assert_eq!(
            rules(&report).contains(&"unlike-others"),
            !says.is_empty(),
            "{report}"
        );
        assert!(report.to_string().contains(says), "{value}: {report}");
        // Where no ranks start, nothing is known of what they need.
        let report = answer(&sandbox.run(["doctor", "--format", "json"]));
        assert!(!rules(&report).contains(&"unlike-others"), "{report}");
    }
}
