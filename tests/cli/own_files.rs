//! DeepSpeed configs that come with a trainer: its own word in its own argument means its own file, zlaunch's option means
//! zlaunch's.

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, plant};

const ONE: &str =
    r#"{"zero_optimization": {"stage": 1}, "train_micro_batch_size_per_gpu": "auto"}"#;

/// The values of 4.6, with another one.
fn edited(mut zero2: Value) -> Value {
    zero2["zero_optimization"]["overlap_comm"] = json!(true);
    zero2
}

/// A machine with this ms-swift, whose own config of a name says `overlap_comm: true`.
fn with_swift(version: &str, file: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::remove_dir_all(sandbox.site().join("ms_swift-4.6.0.dist-info")).unwrap();
    sandbox.installed("ms_swift", version);
    let zero2: Value = serde_json::from_str(&sandbox.run(["templates", "zero2"]).stdout).unwrap();
    plant(&sandbox.site().join(file), edited(zero2).to_string());
    sandbox
}

fn rules(plan: &Value) -> Vec<&str> {
    plan["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["rule"].as_str())
        .collect()
}

fn plan(sandbox: &Sandbox, options: &[&str], config: &str) -> Value {
    let command: Vec<&str> = ["swift", "sft"]
        .into_iter()
        .chain(config.split_whitespace())
        .collect();
    sandbox.plan(
        &[
            &["--nproc-per-node", "2", "--allow", "package-missing"],
            options,
        ]
        .concat(),
        &command,
    )
}

#[test]
fn the_trainers_own_word_means_the_file_that_is_installed() {
    for (version, file, word) in [
        ("4.6.0", "swift/config/zero2.json", "zero2"),
        ("3.8.3", "swift/llm/ds_config/zero2.json", "zero2"),
        ("3.0.0", "swift/llm/ds_config/zero2.json", "zero2"),
    ] {
        let sandbox = with_swift(version, file);
        // A file of that name in the folder is not looked at: the words come first.
        sandbox.file(word, ONE);
        let plan = plan(&sandbox, &[], &format!("--deepspeed {word}"));
        assert_eq!(
            plan["config"]["zero_optimization"]["overlap_comm"], true,
            "{version} {word}"
        );
        assert!(
            !rules(&plan).contains(&"own-config-differs"),
            "{version}: {:?}",
            rules(&plan)
        );
    }
}

#[test]
fn zlaunchs_option_means_zlaunchs_and_says_where_they_differ() {
    for (version, file) in [
        ("4.6.0", "swift/config/zero2.json"),
        ("3.8.3", "swift/llm/ds_config/zero2.json"),
    ] {
        let sandbox = with_swift(version, file);
        for own in ["", "--deepspeed zero2"] {
            let plan = plan(&sandbox, &["--deepspeed", "zero2"], own);
            assert_eq!(
                plan["config"]["zero_optimization"]["overlap_comm"], false,
                "{version}"
            );
            let said = plan["diagnostics"]
                .as_array()
                .unwrap()
                .iter()
                .find(|it| it["rule"] == "own-config-differs")
                .unwrap();
            assert!(
                said["message"]
                    .as_str()
                    .unwrap()
                    .ends_with(": `zero_optimization.overlap_comm`"),
                "{said}"
            );
            assert!(
                said["fixes"][0]["value"].as_str().unwrap().ends_with(file),
                "{said}"
            );
        }
    }
    // The values of 4.6, written otherwise.
    let sandbox = with_swift("4.6.0", "swift/config/zero0.json");
    let own = sandbox.site().join("swift/config/zero0.json");
    let values = sandbox.run(["templates", "zero0"]).stdout;
    plant(&own, &values);
    assert_eq!(
        rules(&plan(&sandbox, &["--deepspeed", "zero0"], "")),
        [""; 0]
    );
    plant(&own, "not JSON");
    assert_eq!(
        rules(&plan(&sandbox, &["--deepspeed", "zero0"], "")),
        [""; 0]
    );
}

#[test]
fn a_word_that_only_other_versions_know_is_zlaunchs() {
    // ms-swift has its own zero0 since 3.0.1.
    let sandbox = with_swift("3.0.0", "swift/llm/ds_config/zero2.json");
    let zero0 = plan(&sandbox, &[], "--deepspeed zero0");
    let found = (
        rules(&zero0),
        &zero0["config"]["zero_optimization"]["stage"],
    );
    assert_eq!(found, (vec!["own-config-differs"], &json!(0)));
    let newer = with_swift("4.6.0", "swift/config/zero2.json");
    assert_eq!(
        rules(&plan(&newer, &[], "--deepspeed default-zero2")),
        ["old-spelling"]
    );
}

#[test]
fn a_template_of_the_user_is_meant_to_change_what_the_word_means() {
    let sandbox = with_swift("4.6.0", "swift/config/zero2.json");
    sandbox.file("team/zero2.json", ONE);
    let plan = plan(&sandbox, &["--template-dir", "team"], "--deepspeed zero2");
    assert_eq!(plan["config"]["zero_optimization"]["stage"], 1);
}

#[test]
fn without_the_package_the_template_of_that_name_stands_in() {
    let sandbox = Sandbox::new();
    let plan = plan(&sandbox, &[], "--deepspeed zero3");
    assert_eq!(
        (&plan["template"]["name"], rules(&plan)),
        (&json!("zero3"), vec![""; 0])
    );
}

#[test]
fn the_plan_says_which_recorded_version_stands_in_for_one_that_is_not() {
    let told = |version: &str| {
        let sandbox = with_swift(version, "swift/config/zero2.json");
        let run = sandbox.launch(&["-n", "--nproc-per-node", "2"], &["swift", "sft"]);
        let lines: Vec<String> = run
            .stdout
            .lines()
            .map(|line| line.trim().to_string())
            .collect();
        let at = lines
            .iter()
            .position(|line| line.starts_with("trainer"))
            .unwrap();
        lines[at + 1].clone()
    };
    assert!(told("4.6.0").starts_with("ranks"), "{}", told("4.6.0"));
    assert_eq!(
        told("4.6.99"),
        "its arguments are not recorded; those of ms-swift 4.6.0 are used"
    );
    assert_eq!(
        told("4.0.2"),
        "its arguments are not recorded; those of ms-swift 4.0.0 are used"
    );
    assert_eq!(
        told("2.6.1"),
        "its arguments are not recorded; those of ms-swift 3.0.0 are used"
    );
}

/// transformers opens what is there.
#[test]
fn a_file_of_that_name_in_the_folder_is_what_other_trainers_read() {
    let sandbox = Sandbox::new();
    sandbox.file("zero2", ONE);
    let stage = |options: &[&str], command: &[&str]| {
        sandbox.config(options, command)["zero_optimization"]["stage"].clone()
    };
    assert_eq!(stage(&[], &["python", "x.py", "--deepspeed", "zero2"]), 1);
    assert_eq!(stage(&[], &["python", "x.py", "--deepspeed", "zero3"]), 3);
    assert_eq!(stage(&["--deepspeed", "zero2"], &["python", "x.py"]), 2);
}
