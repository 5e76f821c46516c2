//! For editors: `zlaunch schema`, and the `$schema` line of a config, which is for them alone.

use serde_json::{Value, json};

use crate::sandbox::{SWIFT, Sandbox};

fn schema(sandbox: &Sandbox, options: &[&str]) -> Value {
    let printed = sandbox.run(["schema"].iter().chain(options));
    printed.succeeded_silently();
    printed.json()
}

#[test]
fn the_schema_is_that_of_the_installed_deepspeed() {
    let sandbox = Sandbox::new();
    assert_eq!(
        schema(&sandbox, &[])["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    sandbox.installed("deepspeed", "0.16.3");
    let installed = schema(&sandbox, &[]);
    assert_eq!(installed["title"], "config of DeepSpeed 0.16.3");
    assert!(installed["properties"].get("tensor_parallel").is_none());
    let asked = schema(&sandbox, &["--deepspeed-version", "0.16.4"]);
    // Without its last number, the first release of it is meant.
    let [short, long] =
        ["v0.16", "0.16.0"].map(|version| schema(&sandbox, &["--deepspeed-version", version]));
    assert_eq!(short, long);
    assert_eq!(asked["properties"]["tensor_parallel"]["type"], "object");
}

#[test]
fn a_version_that_was_not_recorded_is_told() {
    let sandbox = Sandbox::new();
    let printed = sandbox.run(["schema", "--deepspeed-version", "0.16.99"]);
    assert_eq!(
        printed.stderr,
        "note: DeepSpeed 0.16.99 was not recorded: this is the schema of 0.16.9\n"
    );
    let wrong = sandbox.run(["schema", "--deepspeed-version", "newest"]);
    wrong.refused(&["`newest` is not a version", "`0.19.8`"]);
}

/// Wherever a config is written, an editor may want the line, and DeepSpeed never sees it.
#[test]
fn the_line_for_the_editor_never_reaches_deepspeed() {
    let line = r#""$schema": "./deepspeed.schema.json""#;
    let config = format!(
        r#"{{{line}, "train_micro_batch_size_per_gpu": "auto", "zero_optimization": {{"stage": 2}}}}"#
    );
    let sandbox = Sandbox::new();
    sandbox.file("c.json", &config);
    sandbox.file(
        "t/mine.json",
        format!(r#"{{{line}, "$zlaunch": {{"extends": "zero2"}}, "steps_per_print": 7}}"#),
    );
    sandbox.file("merge.json", format!(r#"{{{line}, "steps_per_print": 7}}"#));
    sandbox.file(
        "operations.json",
        r#"[{"op": "add", "path": "/$schema", "value": "x"}]"#,
    );
    let ways: &[&[&str]] = &[
        &["--deepspeed", "c.json"],
        &["--deepspeed", &config],
        &["--template-dir", "t", "--deepspeed", "mine"],
        &["--deepspeed", "c.json", "--patch", "merge.json"],
        &["--deepspeed", "zero2", "--patch", "operations.json"],
        &["--deepspeed", "zero2", "--set", "$schema=x"],
        &["--deepspeed", "c.json", "--unset", "$schema"],
    ];
    for options in ways {
        let resolved = sandbox.config(options, SWIFT);
        assert!(resolved.get("$schema").is_none(), "{options:?}: {resolved}");
        assert_eq!(resolved["zero_optimization"]["stage"], 2, "{options:?}");
    }
    let own = SWIFT
        .iter()
        .copied()
        .chain(["--deepspeed", "c.json"])
        .collect::<Vec<_>>();
    assert!(sandbox.config(&[], &own).get("$schema").is_none());
    for command in [
        &["templates", "c.json"][..],
        &["templates", "--template-dir", "t", "mine"],
    ] {
        let printed = sandbox.run(command);
        assert!(
            printed.status == Some(0) && !printed.stdout.contains("$schema"),
            "{}",
            printed.stdout
        );
    }
    assert_eq!(sandbox.run(["check", "c.json"]).status, Some(0));
}

#[test]
fn several_files_are_checked_at_once() {
    let sandbox = Sandbox::new();
    sandbox.file("good.json", r#"{"zero_optimization": {"stage": 2}}"#);
    sandbox.file("bad.json", r#"{"zero_optimization": {"stage": 4}}"#);
    sandbox.file("worse.json", r#"{"zero_optimization": {"#);
    assert_eq!(
        sandbox.run(["check", "good.json", "good.json"]).status,
        Some(0)
    );
    let checked = sandbox.run(["check", "good.json", "bad.json", "worse.json"]);
    assert_eq!(checked.status, Some(1));
    assert!(
        checked.stdout.contains("bad.json:1:") && checked.stdout.contains("worse.json"),
        "{}",
        checked.stdout
    );
}

#[test]
fn options_may_stand_behind_files() {
    let sandbox = Sandbox::new();
    sandbox.file("a.json", "{\"train_micro_batch_size_per_gpu\": 1}");
    sandbox.file("b.conf", "{}");
    let [behind, between, before] = [
        "check a.json b.conf --format json -q",
        "check a.json --format json -q b.conf",
        "check -q --format json a.json b.conf",
    ]
    .map(|line| sandbox.run(line.split(' ')));
    assert!(
        behind.stdout == before.stdout && between.stdout == before.stdout,
        "{behind:?} {between:?} {before:?}"
    );
    assert!(!before.json()["diagnostics"].as_array().unwrap().is_empty());
}

/// A file alone does not say which trainer reads it.
#[test]
fn an_auto_that_no_trainer_fills_is_pointed_out() {
    let sandbox = Sandbox::new();
    sandbox
        .file("c.json", r#"{"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2, "overlap_comm": "auto"}}"#);
    let checked = sandbox.run(["check", "--format", "json", "c.json"]);
    let found: Value = checked.json();
    let rules: Vec<&Value> = found["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["rule"])
        .collect();
    assert!(
        checked.status == Some(0) && rules.iter().filter(|rule| **rule == "auto").count() == 1,
        "{found}"
    );
    assert_eq!(
        found["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .find(|it| it["rule"] == "auto")
            .unwrap()["severity"],
        "warning"
    );
    let schema = schema(&sandbox, &[]);
    let zero = &schema["properties"]["zero_optimization"]["then"]["properties"];
    assert!(
        zero["stage"]["anyOf"]
            .as_array()
            .unwrap()
            .contains(&json!({"const": "auto"}))
    );
    assert!(
        !zero["overlap_comm"]
            .to_string()
            .contains(r#""const":"auto""#)
    );
}

fn property<'a>(schema: &'a Value, key: &str) -> Option<&'a Value> {
    schema.pointer(&format!("/properties/{}", key.replace('.', "/properties/")))
}

#[test]
fn keys_are_those_of_the_version() {
    let sandbox = Sandbox::new();
    let [old, new] =
        ["0.16.3", "0.19.8"].map(|version| schema(&sandbox, &["--deepspeed-version", version]));
    assert!(
        property(&old, "tensor_parallel").is_none() && property(&new, "tensor_parallel").is_some()
    );
    // A pattern, which no editor offers.
    assert_eq!(new["patternProperties"]["^amp$"]["deprecated"], true);
    assert_eq!(new["patternProperties"]["^amp$"]["not"], json!({}));
    // It is still read there, and gone in a later one.
    assert_eq!(property(&old, "amp").unwrap()["type"], "object");
    assert!(
        property(&old, "amp").unwrap()["description"]
            .as_str()
            .unwrap()
            .contains("0.19.8")
    );
    assert_eq!(property(&new, "bfloat16").unwrap()["deprecated"], true);
}

/// Before pydantic 2 a fraction was cut off, so that -0.5 is 0.
#[test]
fn fractions_are_cut_where_pydantic_1_judges() {
    let sandbox = Sandbox::new();
    let bucket = |version: &str| {
        let made = schema(&sandbox, &["--deepspeed-version", version]);
        made.pointer("/properties/zero_optimization/then/properties/reduce_bucket_size/anyOf/0")
            .unwrap()
            .clone()
    };
    for (version, kind, least) in [("0.14.5", "cut", json!(-1.0)), ("0.19.8", "int", json!(0))] {
        let bucket = bucket(version);
        assert_eq!(bucket["$ref"], format!("#/$defs/{kind}"));
        assert_eq!(bucket["exclusiveMinimum"], least, "{bucket}");
    }
}

/// Every reference leads somewhere, and every known key has its place, a description and a type.
#[test]
fn every_key_is_described() {
    let sandbox = Sandbox::new();
    let made = schema(&sandbox, &["--deepspeed-version", "0.19.8"]);
    let text = made.to_string();
    for reference in text
        .match_indices("\"$ref\":\"#")
        .map(|(at, it)| &text[at + it.len()..])
    {
        let pointer = reference.split('"').next().unwrap();
        assert!(made.pointer(pointer).is_some(), "{pointer}");
    }
    let zero = made.pointer("/properties/zero_optimization/then").unwrap();
    for key in [
        "stage",
        "reduce_bucket_size",
        "overlap_comm",
        "stage3_prefetch_bucket_size",
    ] {
        let property = &zero["properties"][key];
        assert!(
            property["description"]
                .as_str()
                .is_some_and(|text| text.len() > 20),
            "{key}: {property}"
        );
        assert!(property.get("default").is_some(), "{key}: {property}");
    }
    let batch = &property(&made, "train_batch_size").unwrap()["anyOf"];
    assert_eq!(
        batch[0],
        json!({"type": ["number", "boolean"], "exclusiveMinimum": 0, "not": {"const": false}})
    );
    let autos = zero["properties"]["stage3_prefetch_bucket_size"]["anyOf"]
        .as_array()
        .unwrap();
    assert!(autos.contains(&json!({"const": "auto"})));
}

#[test]
fn the_descriptions_have_a_language() {
    let mut sandbox = Sandbox::new();
    let english = schema(&sandbox, &[]);
    sandbox.var("ZLAUNCH_LANG", "zh");
    let chinese = schema(&sandbox, &[]);
    let about = |made: &Value| {
        property(made, "train_batch_size").unwrap()["description"]
            .as_str()
            .unwrap()
            .to_string()
    };
    assert!(about(&english).is_ascii() || about(&english).contains('×'));
    assert!(about(&chinese).contains("样本"));
    assert_eq!(chinese["$defs"], english["$defs"]);
}
