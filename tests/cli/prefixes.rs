//! Commands behind other commands: the prefix stays in front, and zlaunch goes behind it.

use crate::sandbox::{Sandbox, argv, option, read_json};

const OPTIONS: &[&str] = &["--deepspeed", "zero2", "--nproc-per-node", "2"];
const SWIFT: &[&str] = &[
    "swift",
    "sft",
    "--model",
    "a/b",
    "--per_device_train_batch_size",
    "2",
    "--gradient_accumulation_steps",
    "4",
];

fn behind<'a>(prefix: &'a str, command: &[&'a str]) -> Vec<&'a str> {
    prefix.split(' ').chain(command.iter().copied()).collect()
}

/// A sandbox with programs that run the words behind their options, as the real ones do.
fn with_tools() -> Sandbox {
    let sandbox = Sandbox::new();
    for tool in ["uv", "docker", "sudo", "numactl"] {
        let skip = "while :; do case $1 in run) shift;; -n|-m) shift 2;; -*) shift;; *) break;; esac; done; exec \"$@\"";
        sandbox.executable(&format!("env/bin/{tool}"), &format!("#!/bin/sh\n{skip}\n"));
    }
    sandbox
}

#[test]
fn the_command_behind_a_prefix_is_launched() {
    let sandbox = with_tools();
    for prefix in [
        "env A=1",
        "A=1",
        "nice -n 5 timeout -k 5 60 env A=1",
        "uv run env A=1",
        "env A=1 sudo -E",
        "numactl -m 0 env A=1",
    ] {
        sandbox
            .launch(OPTIONS, &behind(prefix, SWIFT))
            .succeeded_silently();
        let words = sandbox.recorded();
        assert_eq!(
            words[1..4],
            ["-P", "-m", "torch.distributed.run"],
            "{prefix}"
        );
        assert_eq!(
            read_json(option(&words, "--deepspeed").unwrap())["train_batch_size"],
            16,
            "{prefix}"
        );
        assert_eq!(sandbox.recorded_env()["A"], "1", "{prefix}");
        sandbox.forget_execution();
    }
}

#[test]
fn a_plan_shows_zlaunch_behind_the_prefix() {
    let sandbox = with_tools();
    // The program's own path is in the plan.
    let plan = sandbox
        .launch(
            &[&["-n", "--format", "json"], OPTIONS].concat(),
            &behind("nice -n 5", SWIFT),
        )
        .json();
    assert_eq!(
        (&plan["launcher"], &plan["config"]["train_batch_size"]),
        (&"nice".into(), &16.into())
    );
    let words = argv(&plan);
    assert_eq!(words[1..3], ["-n", "5"]);
    assert!(words[3].ends_with("zlaunch"), "{words:?}");
    assert_eq!(words[4..], [OPTIONS, &["--"], SWIFT].concat());
    assert_eq!(
        plan["env"]["set"],
        serde_json::json!({}),
        "zlaunch sets them behind the prefix"
    );
}

#[test]
fn variables_of_env_are_the_users_own() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "mine.json",
        r#"{"$zlaunch": {"extends": "zero2", "env": {"NCCL_DEBUG": "INFO"}}}"#,
    );
    let options = ["--deepspeed", "mine.json", "--nproc-per-node", "2"];
    sandbox
        .launch(&options, &behind("env NCCL_DEBUG=WARN", SWIFT))
        .succeeded_silently();
    assert_eq!(sandbox.recorded_env()["NCCL_DEBUG"], "WARN");
    let run = sandbox.launch(
        &["--deepspeed", "zero2"],
        &behind("env CUDA_VISIBLE_DEVICES=0,1,2", SWIFT),
    );
    run.succeeded_silently();
    assert_eq!(
        option(&sandbox.recorded(), "--nproc_per_node").unwrap(),
        "3"
    );
}

#[test]
fn mistakes_are_found_before_the_prefix_runs() {
    let sandbox = with_tools();
    let typo = [SWIFT, &["--deepspeed", "zero2_typo"]].concat();
    sandbox
        .launch(&["--nproc-per-node", "2"], &behind("uv run", &typo))
        .refused(&["zero2_typo"]);
    sandbox
        .launch(&["--nproc-per-node", "2"], &behind("env A=1 nohup", &typo))
        .refused(&["zero2_typo"]);
    let run = sandbox.launch(OPTIONS, &behind("no-such-tool", SWIFT));
    assert_eq!(run.status, Some(127), "{run:?}");
    assert!(!sandbox.executed());
}

#[test]
fn a_config_of_a_package_elsewhere_is_read_there() {
    let sandbox = with_tools();
    let xtuner = [
        "uv",
        "run",
        "xtuner",
        "train",
        "c.py",
        "--deepspeed",
        "deepspeed_zero2",
    ];
    let plan = sandbox.plan(
        &["--nproc-per-node", "2", "--set", "gradient_clipping=1"],
        &xtuner,
    );
    assert_eq!(
        (&plan["launcher"], &plan["config"]),
        (&"uv run".into(), &serde_json::Value::Null)
    );
}

#[test]
fn where_zlaunch_cannot_go_the_right_order_is_shown() {
    let sandbox = with_tools();
    for (prefix, why) in [
        (
            "docker run --gpus all image",
            "cannot see into the container",
        ),
        ("env -i PATH=/bin", "`env -i`"),
        ("env -C /tmp", "`env -C`"),
        ("sudo", "without -E"),
    ] {
        let order = format!("{prefix} zlaunch --deepspeed zero2 --nproc-per-node 2 -- swift sft");
        sandbox
            .launch(OPTIONS, &behind(prefix, SWIFT))
            .refused(&[why, &order]);
        assert!(!sandbox.executed(), "{prefix}");
    }
}

#[test]
fn a_check_says_what_it_cannot_see() {
    let sandbox = with_tools();
    sandbox.file("x.py", "from transformers import Trainer\n");
    let check = |command: &[&str]| {
        sandbox
            .run([&["check"], OPTIONS, &["--"], command].concat())
            .stdout
    };
    for command in [
        SWIFT,
        &["torchrun", "x.py"],
        &["python", "x.py"],
        &["trl", "sft", "--model_name_or_path", "a/b"],
    ] {
        let shown = check(&behind("uv run", command));
        assert!(
            shown.contains("warning[packages-not-seen]: `uv run`"),
            "{shown}"
        );
        assert!(shown.contains("0 errors, 1 warning,"), "{shown}");
    }
    let missing = check(&behind("uv run", &["python", "no-such-script.py"]));
    assert!(missing.contains("error[script-missing]"), "{missing}");
    let without = sandbox
        .run(["check", "--", "nice", "python", "no-such-script.py"])
        .stdout;
    assert!(without.contains("error[script-missing]"), "{without}");
    let elsewhere = sandbox
        .run([
            "check",
            "--",
            "nice",
            "srun",
            "-N2",
            "python",
            "no-such-script.py",
        ])
        .stdout;
    assert!(!elsewhere.contains("error[script-missing]"), "{elsewhere}");
    assert!(check(&behind("nice", SWIFT)).contains("0 errors, 0 warnings"));
    let unknown = sandbox.run(["check", "--", "bash", "train.sh"]).stdout;
    assert!(
        unknown.contains("warning[not-understood]: zlaunch does not recognize `bash`")
            && unknown.contains("0 errors, 1 warning"),
        "{unknown}"
    );
    let odd = sandbox
        .run([
            "check",
            "--",
            "uv",
            "run",
            "--no-such-option",
            "x",
            "swift",
            "sft",
        ])
        .stdout;
    assert!(
        odd.contains("uv run --no-such-option x zlaunch check -- swift sft"),
        "{odd}"
    );
    let value = sandbox
        .run([
            "check",
            "--",
            "docker",
            "run",
            "--entrypoint",
            "swift",
            "image",
            "sft",
        ])
        .stdout;
    assert!(
        value.contains("inside it") && !value.contains("zlaunch check"),
        "{value}"
    );
}

#[test]
fn what_is_not_understood_is_not_placed_on_several_machines() {
    let sandbox = Sandbox::new();
    sandbox.file("hosts", "a slots=2\nb slots=2\n");
    for options in [
        &[
            "--nnodes",
            "2",
            "--node-rank",
            "0",
            "--master-addr",
            "a",
            "--master-port",
            "1",
        ][..],
        &["--hostfile", "hosts"],
        &["--node-rank", "1"],
    ] {
        sandbox
            .launch(options, &["bash", "train.sh"])
            .refused(&["`bash`", options[0]]);
    }
    // On purpose, it runs as it stands.
    sandbox
        .launch(&["--trainer", "command"], &["true"])
        .succeeded_silently();
    sandbox
        .launch(&["--allow", "not-understood"], &["true"])
        .succeeded_silently();
}

#[test]
fn a_wrapper_of_a_trainer_is_not_launched_twice() {
    let mut sandbox = Sandbox::new();
    sandbox.executable("env/bin/my-swift", "#!/bin/sh\nexec swift \"$@\"\n");
    sandbox.var("NPROC_PER_NODE", "2");
    for trainer in ["swift", "llamafactory", "trl"] {
        sandbox
            .launch(
                &["--trainer", trainer, "--deepspeed", "zero2"],
                &["my-swift", "sft"],
            )
            .refused(&["`my-swift` starts ranks itself, or a program that does"]);
    }
    sandbox
        .launch(
            &["--trainer", "swift", "--deepspeed", "zero2"],
            &behind("nice", SWIFT),
        )
        .succeeded_silently();
    assert_eq!(
        sandbox
            .recorded()
            .iter()
            .filter(|word| *word == "torch.distributed.run")
            .count(),
        1
    );
}
