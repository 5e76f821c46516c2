//! `zlaunch diff` of two configs. `record.rs` compares launches.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

#[test]
fn a_missing_key_has_the_default_unless_its_section_is_off() {
    let sandbox = Sandbox::new();
    let json = |a: &Value, b: &Value| {
        sandbox.file("a.json", a.to_string());
        sandbox.file("b.json", b.to_string());
        sandbox
            .run(["diff", "a.json", "b.json", "--format", "json"])
            .json()
    };
    let silent = json!({"fp16": {}});
    let config = json!({"gradient_clipping": 1, "zero_optimization": {"stage": 2, "reduce_bucket_size": 5e8}});
    let found = json(&config, &silent);
    let only_a = |key: &str, a: u32, default: Value| {
        let (kind, b) = ("only_a", Value::Null);
        json!({"key": key, "kind": kind, "a": a, "b": b, "default": default})
    };
    let expected = json!([
        only_a("gradient_clipping", 1, json!(1.0)),
        only_a("zero_optimization.stage", 2, json!(0)),
        only_a(
            "zero_optimization.reduce_bucket_size",
            500_000_000,
            json!(500_000_000)
        ),
    ]);
    assert_eq!(
        (&found["differences"], &found["equal"]),
        (&expected, &json!(0))
    );
    // 5e8 is the default, and so is 1.
    let text = sandbox.run(["diff", "a.json", "b.json"]).stdout;
    let mark = |key: &str| {
        text.lines()
            .find(|line| line.contains(key))
            .and_then(|line| line.split_whitespace().next())
    };
    let marks = ["clipping", "stage", "bucket"].map(mark);
    assert_eq!(marks, [Some("="), Some("-"), Some("=")], "{text}");
    let off = json(
        &json!({"zero_optimization": {"offload_param": {"device": "cpu"}}, "no_such_key": 1}),
        &silent,
    );
    let defaults: Vec<_> = off["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (&it["key"], &it["default"]))
        .collect();
    let keys = [
        json!("no_such_key"),
        json!("zero_optimization.offload_param.device"),
    ];
    assert_eq!(
        defaults,
        keys.iter()
            .map(|key| (key, &Value::Null))
            .collect::<Vec<_>>()
    );
}

#[test]
fn a_config_in_the_command_line_has_no_name() {
    let text = Sandbox::new()
        .run(["diff", r#"{"gradient_clipping": 1}"#, "zero2"])
        .stdout;
    let mut lines = text.lines();
    assert_eq!(
        lines.next().unwrap().split_whitespace().collect::<Vec<_>>(),
        ["inline", "zero2"]
    );
    assert_eq!(
        lines.next().unwrap().split_whitespace().collect::<Vec<_>>(),
        ["~", "gradient_clipping", "1", "\"auto\""]
    );
}
