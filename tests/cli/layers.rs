//! `--patch`, `--unset`, `--set`: their order, their mistakes, and what happens to numbers and the order of keys.

use crate::sandbox::{SWIFT, Sandbox};

#[test]
fn layers_apply_in_order() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "ops.json",
        r#"[{"op": "add", "path": "/comms_logger", "value": {"enabled": true}}]"#,
    );
    sandbox.file(
        "merge.json",
        r#"{"comms_logger": {"verbose": true}, "wall_clock_breakdown": null}"#,
    );
    let options = [
        "--deepspeed",
        "zero2",
        "--set",
        "steps_per_print=5",
        "--set",
        "steps_per_print=6",
        "--unset",
        "steps_per_print",
        "--patch",
        "ops.json",
        "--patch",
        "merge.json",
        "--set",
        "zero_optimization.overlap_comm=true",
    ];
    let config = sandbox.config(&options, SWIFT);
    assert_eq!(
        config["comms_logger"],
        serde_json::json!({"enabled": true, "verbose": true})
    );
    assert!(config.get("wall_clock_breakdown").is_none());
    assert_eq!(
        (
            &config["steps_per_print"],
            &config["zero_optimization"]["overlap_comm"]
        ),
        (&6.into(), &true.into())
    );
}

#[test]
fn key_order_is_kept_and_integral_numbers_are_integers() {
    let sandbox = Sandbox::new();
    let text = r#"{"z": 1, "zero_optimization": {"stage": 2, "reduce_bucket_size": 2e8}, "b": 0.30000000000000004, "train_batch_size": 32.0, "m": 5e-5}"#;
    sandbox.file("c.json", text);
    let plan = sandbox.run(
        [
            "-n",
            "--format",
            "shell",
            "--deepspeed",
            "c.json",
            "--nproc-per-node",
            "2",
            "--unset",
            "z",
            "--set",
            "n=1e9",
            "--allow",
            "ignored-key",
            "--",
        ]
        .iter()
        .chain(SWIFT),
    );
    let written: String = plan
        .stdout
        .lines()
        .skip_while(|line| !line.starts_with("printf"))
        .take_while(|line| !line.starts_with("mv"))
        .collect();
    let config = &written[written.find('{').unwrap()..=written.rfind('}').unwrap()];
    let dense: String = config.split_whitespace().collect();
    assert_eq!(
        dense,
        r#"{"zero_optimization":{"stage":2,"reduce_bucket_size":200000000},"b":0.30000000000000004,"train_batch_size":32,"m":0.00005,"n":1000000000}"#
    );
}

#[test]
fn values_are_json_else_strings() {
    let sandbox = Sandbox::new();
    let set = |assignment: &str| {
        sandbox.config(
            &[
                "--allow",
                "ignored-key",
                "--deepspeed",
                "zero2",
                "--set",
                assignment,
            ],
            SWIFT,
        )["x"]
            .clone()
    };
    assert_eq!(set("x=true"), true);
    assert_eq!(set("x=[1, 2e0]"), serde_json::json!([1, 2]));
    assert_eq!(set("x=hello world"), "hello world");
    assert_eq!(set("x="), "");
    assert_eq!(set("x=a=b"), "a=b");
    assert_eq!(set("x=null"), serde_json::Value::Null);
}

#[test]
fn mistakes_are_all_reported_at_once() {
    let sandbox = Sandbox::new();
    let options = ["--deepspeed", "zero2", "--nproc-per-node", "2"];
    let broken = [
        "--unset",
        "zero_optimization.overlap_com",
        "--set",
        "zero_optimization.stage.x=1",
        "--patch",
        "none.json",
    ];
    let run = sandbox.launch(&[&options[..], &broken[..]].concat(), SWIFT);
    run.refused(&[
        "did you mean `zero_optimization.overlap_comm`",
        "`zero_optimization.stage` is a value",
        "none.json",
        "does not exist",
    ]);
    assert_eq!(run.stderr.matches("error[").count(), 3, "{}", run.stderr);
    let run = sandbox.launch(
        &[
            "--set",
            "novalue",
            "--set",
            "=1",
            "--unset",
            "a..b",
            "--env",
            "X",
            "--nproc-per-node",
            "0",
            "--launcher",
            "torchrum",
        ],
        SWIFT,
    );
    run.refused(&[
        "`novalue` is not KEY=VALUE",
        "`=1`",
        "`a..b`",
        "`X` is not NAME=VALUE",
        "`0` is not a number of ranks",
        "did you mean `torchrun`",
    ]);
    let unknown = [
        "--foo",
        "--launcher-arg",
        "--bar",
        "--baz=1",
        "--nproc-per-node",
        "x",
    ];
    let run = sandbox.launch(&unknown, SWIFT);
    run.refused(&["`--foo`", "`--baz`", "`x` is not a number of ranks"]);
    assert!(
        !run.stderr.contains("`--bar`"),
        "it is the launcher's: {}",
        run.stderr
    );
    assert!(!sandbox.executed());
    let mut sandbox = Sandbox::new();
    sandbox.var("CUDA_VISIBLE_DEVICES", "");
    sandbox
        .launch(
            &[
                "--deepspeed",
                "zero2",
                "--unset",
                "nothing",
                "--patch",
                "none.json",
            ],
            SWIFT,
        )
        .refused(&["hides every GPU", "`nothing`", "none.json"]);
}

#[test]
fn layers_without_a_config_are_a_mistake() {
    let sandbox = Sandbox::new();
    sandbox
        .launch(
            &["--nproc-per-node", "2", "--set", "steps_per_print=1"],
            SWIFT,
        )
        .refused(&["no DeepSpeed config to change", "--deepspeed"]);
    sandbox.file("p.json", "3");
    sandbox
        .launch(
            &[
                "--deepspeed",
                "zero2",
                "--nproc-per-node",
                "2",
                "--patch",
                "p.json",
            ],
            SWIFT,
        )
        .refused(&["neither a list nor an object"]);
}

#[test]
fn every_option_has_a_variable_and_a_flag_beats_it() {
    let mut sandbox = Sandbox::new();
    sandbox
        .var("ZLAUNCH_DEEPSPEED", "zero1")
        .var("ZLAUNCH_NPROC_PER_NODE", "3")
        .var("ZLAUNCH_SET", "steps_per_print=1\nx=1");
    sandbox
        .var("ZLAUNCH_DRY_RUN", "yes")
        .var("ZLAUNCH_FORMAT", "json");
    let plan: serde_json::Value = serde_json::from_str(&sandbox.run(SWIFT).stdout).unwrap();
    assert_eq!(
        (
            &plan["config"]["zero_optimization"]["stage"],
            &plan["topology"]["nproc_per_node"]
        ),
        (&1.into(), &3.into())
    );
    assert_eq!(
        (&plan["config"]["steps_per_print"], &plan["config"]["x"]),
        (&1.into(), &1.into())
    );
    assert_eq!(
        plan["topology"]["from"]["nproc_per_node"],
        "ZLAUNCH_NPROC_PER_NODE"
    );
    let plan = sandbox.plan(
        &[
            "--deepspeed",
            "zero2",
            "--nproc_per_node",
            "5",
            "--set",
            "steps_per_print=2",
        ],
        SWIFT,
    );
    assert_eq!(
        (
            &plan["config"]["zero_optimization"]["stage"],
            &plan["topology"]["nproc_per_node"]
        ),
        (&2.into(), &5.into())
    );
    // An option that may be repeated has the values of both.
    assert_eq!(
        (&plan["config"]["steps_per_print"], &plan["config"]["x"]),
        (&2.into(), &1.into())
    );
    // An empty variable counts as unset.
    sandbox.var("ZLAUNCH_STRICT", "").var("ZLAUNCH_TRAINER", "");
    sandbox.run(SWIFT).succeeded();
    sandbox
        .unset("ZLAUNCH_TRAINER")
        .var("ZLAUNCH_STRICT", "maybe");
    sandbox.run(SWIFT).refused(&["ZLAUNCH_STRICT=maybe"]);
    sandbox.unset("ZLAUNCH_STRICT").var("ZLAUNCH_DEEPSEED", "x");
    assert!(
        sandbox
            .run(SWIFT)
            .stderr
            .contains("did you mean `ZLAUNCH_DEEPSPEED`")
    );
}

#[test]
fn no_layer_makes_the_config_something_else() {
    let sandbox = Sandbox::new();
    let options = ["--deepspeed", "zero2", "--nproc-per-node", "2"];
    let with = |more: &[&str]| sandbox.launch(&[&options[..], more].concat(), SWIFT);
    with(&["--set", "$zlaunch.env.PATH=/x"]).refused(&["`$zlaunch`"]);
    sandbox.file(
        "root.json",
        r#"[{"op": "replace", "path": "", "value": [1]}]"#,
    );
    with(&["--patch", "root.json"]).refused(&["not a JSON object"]);
    let deep = format!("{}=1", vec!["a"; 60_000].join("."));
    with(&["--set", &deep]).refused(&["is not KEY=VALUE"]);
    let bomb: Vec<String> = (0..40)
        .map(|n| format!(r#"{{"op": "copy", "from": "", "path": "/a{n}"}}"#))
        .collect();
    sandbox.file("bomb.json", format!("[{}]", bomb.join(",")));
    with(&["--patch", "bomb.json"]).refused(&["too large"]);
    sandbox.file("p.json", r#"{"gradient_clipping": 3}"#);
    let run = sandbox.launch(
        &[&options[..], &["--patch", "p.json"]].concat(),
        &["swift", "sft", "--max_grad_norm", "1"],
    );
    run.refused(&["p.json:1:2"]);
}

#[test]
fn warnings_have_names_and_survive_errors() {
    let mut sandbox = Sandbox::new();
    sandbox
        .var("ZLAUNCH_NPROC_PER_NOD", "8")
        .var("CUDA_VISIBLE_DEVICES", "");
    let run = sandbox.launch(&["--deepspeed", "zero2"], SWIFT);
    run.refused(&["warning[unknown-variable]: zlaunch does not read `ZLAUNCH_NPROC_PER_NOD`"]);
    sandbox
        .launch(
            &["--deepspeed", "zero2", "--allow", "unknown-variabel"],
            SWIFT,
        )
        .refused(&["did you mean `unknown-variable`"]);
    let quiet = sandbox.run(
        [
            "-q",
            "-n",
            "--deepspeed",
            "z2",
            "--nproc-per-node",
            "2",
            "--",
        ]
        .iter()
        .chain(SWIFT),
    );
    quiet.succeeded_silently();
}
