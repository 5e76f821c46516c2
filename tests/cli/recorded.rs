//! Recorded truth: what the real HF Trainer made of several hundred cases (`tests/real/record.py` records them). zlaunch
//! may fill less than the trainer, never otherwise; it refuses only what the trainer refused.

use serde_json::Value;

use crate::sandbox::{Sandbox, plant};

const CASES: &str = include_str!("../data/recorded-hf.jsonl");

fn get<'a>(config: &'a Value, key: &str) -> &'a Value {
    key.split('.').fold(config, |node, part| &node[part])
}

/// Python's `==` on what stands in configs.
fn equal(one: &Value, two: &Value) -> bool {
    match (one.as_array(), two.as_array()) {
        (Some(one), Some(two)) => one.len() == two.len() && one.iter().zip(two).all(|(one, two)| equal(one, two)),
        _ => one == two || (one.is_number() && one.as_f64() == two.as_f64()),
    }
}

#[test]
fn fills_and_refusals_are_the_trainers() {
    let sandbox = Sandbox::new();
    let mut counts = [0; 4];
    for line in CASES.lines().skip(1) {
        let case: Value = serde_json::from_str(line).unwrap();
        plant(&sandbox.cwd().join("model/config.json"), &case["model"].to_string());
        let argv: Vec<String> = serde_json::from_value(case["argv"].clone()).unwrap();
        let (config, world) = (case["config"].to_string(), case["world"].to_string());
        let options = [
            "-n",
            "--format",
            "json",
            "--deepspeed",
            &config,
            "--nproc-per-node",
            &world,
            "--",
            "python",
            "train.py",
            "--model_name_or_path",
            "model",
        ];
        let run =
            |more: &[&str]| sandbox.run(more.iter().chain(&options).copied().chain(argv.iter().map(String::as_str)));
        // What `check` knows about DeepSpeed itself was not recorded here: the recorder stands in its place.
        let first = run(&[]);
        let rules = first.stderr.lines().filter_map(|line| line.strip_prefix("error[")?.split(']').next());
        let allowed: Vec<&str> = rules.flat_map(|rule| ["--allow", rule]).collect();
        let run = if allowed.is_empty() { first } else { run(&allowed) };
        let answer = &case["answer"];
        if run.status == Some(125) {
            assert!(answer.get("refused").is_some(), "case {}: {}", case["number"], run.stderr);
            counts[0] += 1;
            continue;
        }
        assert_eq!(run.status, Some(0), "case {}: {}", case["number"], run.stderr);
        let plan: Value = serde_json::from_str(&run.stdout).unwrap();
        if answer.get("refused").is_some() {
            counts[1] += 1;
            continue;
        }
        let fills = plan["fills"].as_array().unwrap();
        for fill in fills {
            let theirs = get(&answer["config"], fill["key"].as_str().unwrap());
            assert!(equal(&fill["value"], theirs), "case {}: {fill} is {theirs} there", case["number"]);
            let same_type =
                fill["value"].is_f64() == theirs.is_f64() && fill["value"].is_boolean() == theirs.is_boolean();
            assert!(same_type, "case {}: {fill} has another type than {theirs}", case["number"]);
        }
        counts[2] += 1;
        counts[3] += fills.len();
    }
    let [refused, left_to_refuse, equal, fills] = counts;
    assert!(refused + left_to_refuse + equal >= 400, "{counts:?}");
    // The cases are worth something only if they exercise both sides.
    assert!(refused > 100 && equal > 150 && fills > 800, "{counts:?}");
}
