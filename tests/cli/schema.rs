//! Every key of every built-in template is one DeepSpeed knows.

use serde_json::Value;

use crate::sandbox::Sandbox;

/// DeepSpeed 0.19.8's keys, recorded from its config models and readers.
const KEYS: &str = include_str!("../data/deepspeed-keys.txt");

fn keys(prefix: &str, value: &Value, found: &mut Vec<String>) {
    for (key, value) in value.as_object().unwrap() {
        let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        if value.is_object() {
            keys(&key, value, found);
        }
        found.push(key);
    }
}

#[test]
fn built_in_templates_hold_known_keys_only() {
    let sandbox = Sandbox::new();
    let list = sandbox.run(["templates"]).stdout;
    let names: Vec<&str> = list
        .lines()
        .filter(|line| !line.starts_with(' '))
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert!(names.len() >= 11, "{names:?}");
    for name in names {
        let config: Value = serde_json::from_str(&sandbox.run(["templates", name]).stdout).unwrap();
        let mut found = Vec::new();
        keys("", &config, &mut found);
        assert!(found.len() > 15, "{name}");
        for key in found {
            assert!(KEYS.lines().any(|known| known == key), "{name}: {key}");
        }
    }
}
