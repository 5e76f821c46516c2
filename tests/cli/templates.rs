//! Names, search order, `extends`, and what a template may not do.

use std::fs;

use crate::sandbox::{SWIFT, Sandbox, plant};

const RANKS: &[&str] = &["--nproc-per-node", "2"];

fn with<'a>(options: &[&'a str]) -> Vec<&'a str> {
    RANKS.iter().chain(options).copied().collect()
}

#[test]
fn folders_are_searched_in_order_and_the_first_wins() {
    let mut sandbox = Sandbox::new();
    let root = sandbox.root().to_path_buf();
    let template = |folder: &str, n: u32| {
        plant(
            &root.join(folder).join("t.json"),
            format!(
                "{{\"zero_optimization\": {{\"stage\": 1}}, \"train_micro_batch_size_per_gpu\": \"auto\", \"steps_per_print\": {n}}}"
            ),
        );
    };
    let steps = |sandbox: &Sandbox, options: &[&str]| {
        let options: Vec<&str> = options
            .iter()
            .chain(&["--deepspeed", "t"])
            .copied()
            .collect();
        sandbox.config(&options, SWIFT)["steps_per_print"].clone()
    };
    template("home/.config/zlaunch/templates", 1);
    assert_eq!(steps(&sandbox, &[]), 1);
    template("xdg/zlaunch/templates", 2);
    sandbox.var("XDG_CONFIG_HOME", root.join("xdg"));
    assert_eq!(steps(&sandbox, &[]), 2);
    template("variable", 3);
    sandbox.var(
        "ZLAUNCH_TEMPLATE_DIR",
        format!("/proc/nowhere:{}", root.join("variable").display()),
    );
    assert_eq!(steps(&sandbox, &[]), 3);
    template("flag", 4);
    template("flag2", 5);
    let (flag, flag2) = (root.join("flag"), root.join("flag2"));
    let flags = [
        "--template-dir",
        flag.to_str().unwrap(),
        "--template-dir",
        flag2.to_str().unwrap(),
    ];
    assert_eq!(steps(&sandbox, &flags), 4);
    // One of the folders should be here.
    sandbox.var("ZLAUNCH_TEMPLATE_DIR", "/proc/nowhere:/proc/neither");
    let run = sandbox.launch(&with(&["-n", "--deepspeed", "zero2"]), SWIFT);
    let what = "warning[template-dir]: there is no folder `/proc/nowhere`, so templates come from elsewhere\n";
    assert!(
        run.stderr.contains(what)
            && run
                .stderr
                .contains("--> ZLAUNCH_TEMPLATE_DIR=/proc/nowhere\n"),
        "{run:?}"
    );
}

#[test]
fn a_template_that_extends_its_own_name_means_the_next_one() {
    let sandbox = Sandbox::new();
    let site = r#"{"$zlaunch": {"extends": "zero3"}, // the site's
        "zero_optimization": {"overlap_comm": true, "sub_group_size": null}}"#;
    sandbox.put("home/.config/zlaunch/templates/zero3.json", site);
    let user = r#"{"$zlaunch": {"extends": "zero3", "patch": [{"op": "remove", "path": "/fp16"}]}, "steps_per_print": 7,}"#;
    let path = sandbox.file("t/zero3.json", user);
    let folder = path.parent().unwrap().to_str().unwrap().to_string();
    for spec in ["zero3", path.to_str().unwrap()] {
        let plan = sandbox.plan(
            &with(&["--template-dir", &folder, "--deepspeed", spec]),
            SWIFT,
        );
        let config = &plan["config"];
        assert_eq!(
            plan["template"]["chain"],
            serde_json::json!(["zero3", "zero3", "zero3"])
        );
        assert_eq!(
            (
                &config["steps_per_print"],
                &config["zero_optimization"]["overlap_comm"]
            ),
            (&7.into(), &true.into())
        );
        assert!(
            config.get("fp16").is_none()
                && config["zero_optimization"].get("sub_group_size").is_none()
        );
        assert_eq!(config["zero_optimization"]["stage"], 3);
    }
}

/// ms-swift alone trains with these.
#[test]
fn a_python_dict_on_the_command_line_is_refused() {
    let sandbox = Sandbox::new();
    for text in [
        "{'zero_optimization': {'stage': 2}}",
        "{zero_optimization: {stage: 2",
        r#"{"x": None}"#,
    ] {
        let swift = [SWIFT, &["--deepspeed", text]].concat();
        sandbox
            .launch(RANKS, &swift)
            .refused(&["not JSON", "ms-swift itself would repair"]);
    }
}

#[test]
fn a_cycle_of_extends_shows_the_chain() {
    let sandbox = Sandbox::new();
    sandbox.file("t/a.json", r#"{"$zlaunch": {"extends": "b"}}"#);
    sandbox.file("t/b.json", r#"{"$zlaunch": {"extends": "a"}}"#);
    sandbox
        .launch(&with(&["--template-dir", "t", "--deepspeed", "a"]), SWIFT)
        .refused(&["a → b → a"]);
}

#[test]
fn wrong_headers_are_named() {
    let sandbox = Sandbox::new();
    for (header, words) in [
        (
            r#"{"extend": "zero2"}"#,
            ["`extend`", "expected one of `about`"],
        ),
        (r#"{"extends": "zero9"}"#, ["zero9", "did you mean `zero"]),
        (r#"{"about": 3}"#, ["$zlaunch", "a string"]),
        (r#"{"about.zh": []}"#, ["$zlaunch", "a string"]),
        (r#"{"patch": {}}"#, ["$zlaunch.patch", "not a list"]),
        (r#"{"needs": []}"#, ["$zlaunch", "a map"]),
        (r#"{"extends": 3}"#, ["$zlaunch", "a string"]),
        (
            r#"{"extends": "../zero2"}"#,
            ["$zlaunch.extends", "the name of a template"],
        ),
        (r#"{"env": {"A B": "1"}}"#, ["$zlaunch.env.A B", "exported"]),
        (r#"{"env": {"X": [1]}}"#, ["$zlaunch.env.X", "a string"]),
        (
            r#"{"env": {"LD_PRELOAD": "/x.so"}}"#,
            ["LD_PRELOAD", "remove it from the template"],
        ),
        (r#"{"env": {"PATH": "/x"}}"#, ["`PATH`", "tuning variable"]),
        (
            r#"{"patch": [{"op": "remove", "path": "/nothing"}]}"#,
            ["operation 1", "/nothing"],
        ),
        (
            r#"{"patch": [{"op": "frobnicate"}]}"#,
            ["not a patch", "$zlaunch.patch"],
        ),
        (r#""x""#, ["$zlaunch", "an object"]),
    ] {
        sandbox.file(
            "t/x.json",
            format!("{{\"$zlaunch\": {header}, \"zero_optimization\": {{\"stage\": 2}}}}"),
        );
        let run = sandbox.launch(&with(&["--template-dir", "t", "--deepspeed", "x"]), SWIFT);
        run.refused(&words);
        assert!(run.stderr.contains("x.json"), "{header}: {}", run.stderr);
    }
    assert!(!sandbox.executed());
}

#[test]
fn names_that_are_no_template_are_refused() {
    let sandbox = Sandbox::new();
    for name in [
        "../../etc/passwd",
        "/etc/passwd",
        ".hidden",
        "",
        "a b",
        "zero2\n",
        "~",
        "..",
        "/dev/zero",
    ] {
        sandbox
            .launch(&with(&["--deepspeed", name]), SWIFT)
            .refused(&[]);
    }
    sandbox
        .launch(&with(&["--deepspeed", "zero3_ofload"]), SWIFT)
        .refused(&["did you mean `zero3_offload`"]);
    sandbox
        .launch(&with(&["--deepspeed", "./scripts/zero3.json"]), SWIFT)
        .refused(&["./scripts/zero3.json", "--deepspeed zero3"]);
    sandbox
        .launch(&with(&["--deepspeed", "frobnicate"]), SWIFT)
        .refused(&["`zlaunch templates` lists"]);
}

#[test]
fn old_spellings_work_and_say_so() {
    let sandbox = Sandbox::new();
    for (old, new) in [
        ("zero3-offload", "zero3_offload"),
        ("default-zero3", "zero3"),
        ("z3", "zero3"),
    ] {
        let plan = sandbox.plan(&with(&["--deepspeed", old]), SWIFT);
        assert_eq!(
            (&plan["template"]["name"], &plan["diagnostics"][0]["rule"]),
            (&new.into(), &"old-spelling".into())
        );
    }
    sandbox
        .launch(&with(&["--strict", "--deepspeed", "z3"]), SWIFT)
        .refused(&["alias of `zero3`"]);
    let allowed = sandbox.launch(
        &with(&["--strict", "--allow", "old-spelling", "--deepspeed", "z3"]),
        SWIFT,
    );
    allowed.succeeded_silently();
}

#[test]
fn paths_inline_json_and_bare_file_names() {
    let sandbox = Sandbox::new();
    let text = r#"{"zero_optimization": {"stage": 1}, "train_micro_batch_size_per_gpu": "auto"}"#;
    sandbox.file("c/x.json", text);
    sandbox.file("ds_config", text);
    for spec in ["c/x.json", "./c/x.json", "ds_config", text] {
        let config = sandbox.config(&["--deepspeed", spec], SWIFT);
        assert_eq!(config["train_micro_batch_size_per_gpu"], 1, "{spec}");
    }
    sandbox
        .launch(&with(&["--deepspeed", r#"{"a": }"#]), SWIFT)
        .refused(&["the command line:1:7"]);
}

#[test]
fn a_template_may_require_a_setting() {
    let sandbox = Sandbox::new();
    let key = "zero_optimization.offload_param.nvme_path";
    sandbox
        .launch(&with(&["--deepspeed", "zero3_nvme"]), SWIFT)
        .refused(&["zero3_nvme", key, &format!("--set {key}=")]);
    let set = [
        "--set",
        "zero_optimization.offload_param.nvme_path=/nvme/1",
        "--set",
        "zero_optimization.offload_optimizer.nvme_path=/nvme/1",
    ];
    let options: Vec<&str> = ["--deepspeed", "zero3_nvme"]
        .iter()
        .chain(&set)
        .copied()
        .collect();
    assert_eq!(
        sandbox.config(&options, SWIFT)["zero_optimization"]["offload_param"]["nvme_path"],
        "/nvme/1"
    );
}

#[test]
fn templates_are_listed_and_printed() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "t/zero2.json",
        r#"{"$zlaunch": {"extends": "zero2", "about": "our own zero2"}}"#,
    );
    sandbox.file("t/broken.json", "{");
    let list = sandbox.run(["templates", "--template-dir", "t"]).stdout;
    for words in [
        "our own zero2",
        "hidden by one above",
        "cannot be used: not JSON",
    ] {
        assert!(list.contains(words), "{words}: {list}");
    }
    assert!(
        list.lines()
            .any(|line| line.starts_with("zero3_offload  ") && line.contains("  ZeRO-3 with")),
        "{list}"
    );
    assert!(
        list.lines()
            .any(|line| line.starts_with("zero2 ") && line.contains("ZeRO-2")),
        "{list}"
    );
    let one = sandbox.run(["templates", "zero3_offload"]);
    let config: serde_json::Value = serde_json::from_str(&one.stdout).unwrap();
    assert_eq!(
        config["zero_optimization"]["offload_param"]["device"],
        "cpu"
    );
    assert!(
        one.stderr
            .starts_with("zero3_offload → zero3 (built in)\n  ZeRO-3 with"),
        "{}",
        one.stderr
    );
    assert!(
        sandbox
            .run(["templates", "zero3_lowmem"])
            .stderr
            .contains("  sets CUDA_AUTO_BOOST=0\n")
    );
    let raw = sandbox.run(["templates", "zero3_offload", "--raw"]).stdout;
    assert_eq!(
        raw,
        fs::read_to_string(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/templates/zero3_offload.json"
        ))
        .unwrap()
    );
    sandbox
        .run(["templates", "zero33"])
        .refused(&["did you mean `zero3`"]);
}
