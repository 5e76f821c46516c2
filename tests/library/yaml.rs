//! YAML as PyYAML and OmegaConf read it.

use serde_json::json;

use serde_json::Value;
use zlaunch::testing::yaml::*;

#[test]
fn anchors_merges_and_quotes() {
    let text = "base: &base\n  lr: 1.0e-4\n  bf16: yes\nrun:\n  <<: *base\n  lr: '1e-5'\n  list: [1, two, 3.0]\n  text: |\n    a\n    b\n";
    let value = parse(text, Dialect::PyYaml).unwrap();
    assert_eq!(
        value["run"],
        json!({"lr": "1e-5", "bf16": true, "list": [1, "two", 3.0], "text": "a\nb\n"})
    );
    let text = "b: &b {lr: 1, x: 2}\nc: &c {lr: 3, y: 4}\ntwo:\n  <<: *b\n  <<: *c\nthree:\n  lr: 9\n  <<: *b\nfour: {\"<<\": 1}\n";
    let value = parse(text, Dialect::PyYaml).unwrap();
    assert_eq!(value["two"], json!({"lr": 3, "x": 2, "y": 4}));
    assert_eq!(
        (&value["three"], &value["four"]),
        (&json!({"lr": 9, "x": 2}), &json!({"<<": 1}))
    );
    for (text, read) in [("a: |\n  b\n", "b\n"), ("a: >-\n  b", "b")] {
        assert_eq!(
            parse(text, Dialect::PyYaml),
            Ok(json!({"a": read})),
            "{text:?}"
        );
    }
    assert!(parse("a: !!set {x, y}\nb: !!omap [a: 1]\n", Dialect::PyYaml).is_ok());
    assert_eq!(parse("", Dialect::PyYaml), Ok(Value::Null));
    assert_eq!(parse("a: 1\na: 2\n", Dialect::PyYaml), Ok(json!({"a": 2})));
    assert_eq!(parse("on: 1\n", Dialect::PyYaml), Ok(json!({"True": 1})));
    assert_eq!(
        parse("a: !!int 5\nb: !!bool yes\nc: !!null ~\n", Dialect::PyYaml),
        Ok(json!({"a": 5, "b": true, "c": null}))
    );
    assert_eq!(
        parse("---\na: !!str 1\n...\n", Dialect::PyYaml),
        Ok(json!({"a": "1"}))
    );
}

#[test]
fn faults_have_a_place_and_bombs_are_refused() {
    assert_eq!(parse("a: [1\nb: 2", Dialect::PyYaml).unwrap_err().line, 2);
    for text in [
        "a: 1\n---\nb: 2\n",
        "a: !foo x\n",
        "a: !!python/object x\n",
        "? [a]\n: b\n",
        "a:\n  <<: 1\n",
    ] {
        assert!(parse(text, Dialect::PyYaml).is_err(), "{text}");
    }
    assert!(parse("a: 1\na: 2\n", Dialect::OmegaConf).is_err());
    assert_eq!(
        parse("a: !!float 1\n", Dialect::PyYaml),
        Ok(json!({"a": 1.0}))
    );
    assert!(parse(&"[".repeat(10_000), Dialect::PyYaml).is_err());
    let bomb: String = (1..30)
        .map(|n| format!("a{n}: &a{n} [*a{0},*a{0},*a{0},*a{0}]\n", n - 1))
        .collect();
    assert!(parse(&format!("a0: &a0 [1,1,1,1]\n{bomb}"), Dialect::PyYaml).is_err());
}

/// Derived with CPython's `str` and `json.dumps`.
#[test]
fn values_become_words_as_python_writes_them() {
    assert_eq!(python_str(&json!(true)), "True");
    assert_eq!(
        python_str(&json!(["b", "it's", 1.0, null, {"d": "e"}])),
        r#"['b', "it's", 1.0, None, {'d': 'e'}]"#
    );
    assert_eq!(
        python_json(&json!({"a": [1, 2.0, "ü"], "b": null, "c": true})),
        r#"{"a": [1, 2.0, "ü"], "b": null, "c": true}"#
    );
}

/// Derived with PyYAML 6 and OmegaConf 2.3: `yaml.safe_load(text)`, `OmegaConf.create(text)`.
#[test]
fn plain_scalars_are_yaml_1_1() {
    for (text, pyyaml, omegaconf) in [
        ("1e-5", json!("1e-5"), json!(1e-5)),
        ("1.0e-5", json!(1e-5), json!(1e-5)),
        ("1.0e5", json!("1.0e5"), json!(1e5)),
        ("1.e+3", json!(1000.0), json!(1000.0)),
        (".5", json!(0.5), json!(0.5)),
        ("-.5", json!("-.5"), json!("-.5")),
        ("+1", json!(1), json!(1)),
        ("1_000", json!(1000), json!(1000)),
        ("010", json!(8), json!(8)),
        ("08", json!("08"), json!("08")),
        ("0x1F", json!(31), json!(31)),
        ("yes", json!(true), json!(true)),
        ("Off", json!(false), json!(false)),
        ("y", json!("y"), json!("y")),
        ("NO", json!(false), json!(false)),
        ("~", json!(null), json!(null)),
        ("None", json!("None"), json!("None")),
        ("4", json!(4), json!(4)),
        ("4.0", json!(4.0), json!(4.0)),
        ("1e5x", json!("1e5x"), json!("1e5x")),
        ("-", json!("-"), json!("-")),
        (".", json!("."), json!(".")),
    ] {
        assert_eq!(scalar(text, Dialect::PyYaml), pyyaml, "{text}");
        assert_eq!(scalar(text, Dialect::OmegaConf), omegaconf, "{text}");
    }
}
