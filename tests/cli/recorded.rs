//! Recorded truth: what the real HF Trainer and ms-swift's own classes made of several hundred cases
//! (`tools/record hf_cases` and `swift_cases` record them). zlaunch
//! may fill less than the trainer, never otherwise; it refuses only what the trainer refused.

use serde_json::Value;

use crate::sandbox::{Run, Sandbox, Share, plant, side_by_side};

const HF: &str = include_str!("../data/recorded-hf.jsonl");
const MS_SWIFT: &str = include_str!("../data/recorded-swift.jsonl");

fn get<'a>(config: &'a Value, key: &str) -> &'a Value {
    key.split('.').fold(config, |node, part| &node[part])
}

/// Python's `==` on what stands in configs.
fn equal(one: &Value, two: &Value) -> bool {
    match (one.as_array(), two.as_array()) {
        (Some(one), Some(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| equal(one, two))
        }
        _ => one == two || (one.is_number() && one.as_f64() == two.as_f64()),
    }
}

/// How zlaunch's answers stand to the recorded ones.
#[derive(Debug, Default)]
struct Counts {
    /// The answers end before accelerate fills its own keys.
    early: bool,
    refused: usize,
    left_to_refuse: usize,
    equal: usize,
    fills: usize,
}

impl Counts {
    fn compare(&mut self, case: &Value, run: &Run) {
        let answer = &case["answer"];
        if run.status == Some(125) {
            assert!(
                answer.get("refused").is_some(),
                "case {}: {}",
                case["number"],
                run.stderr
            );
            self.refused += 1;
            return;
        }
        let plan = run.json();
        if answer.get("refused").is_some() {
            self.left_to_refuse += 1;
            return;
        }
        let fills = plan["fills"].as_array().unwrap();
        for fill in fills {
            let theirs = get(&answer["config"], fill["key"].as_str().unwrap());
            if self.early && theirs == "auto" {
                continue;
            }
            assert!(
                equal(&fill["value"], theirs),
                "case {}: {fill} is {theirs} there",
                case["number"]
            );
            let same_type = fill["value"].is_f64() == theirs.is_f64()
                && fill["value"].is_boolean() == theirs.is_boolean();
            assert!(
                same_type,
                "case {}: {fill} has another type than {theirs}",
                case["number"]
            );
        }
        self.equal += 1;
        self.fills += fills.len();
    }
}

fn words(case: &Value, name: &str) -> Vec<String> {
    serde_json::from_value(case[name].clone()).unwrap()
}

/// What `check` knows about DeepSpeed itself was not recorded: the recorder stands in its place.
fn run_without_check<'a>(sandbox: &Sandbox, words: impl Iterator<Item = &'a str>) -> Run {
    let words: Vec<&str> = words.collect();
    let first = sandbox.answer(&words);
    let rules = first
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("error[")?.split(']').next());
    let allowed: Vec<&str> = rules.flat_map(|rule| ["--allow", rule]).collect();
    if allowed.is_empty() {
        first
    } else {
        sandbox.answer(allowed.iter().chain(&words))
    }
}

side_by_side!(fills_and_refusals_are_those_of_transformers fills_and_refusals_are_those_of_ms_swift);

fn fills_and_refusals_are_those_of_transformers(share: &Share) {
    let sandbox = Sandbox::new();
    let mut counts = Counts::default();
    // Every other one is enough here: differential.py asks the real one about thousands.
    for line in share.of(HF.lines().skip(1).step_by(2)) {
        let case: Value = serde_json::from_str(line).unwrap();
        sandbox.file("model/config.json", case["model"].to_string());
        let (config, world) = (case["config"].to_string(), case["world"].to_string());
        let head = [
            "-n",
            "--format",
            "json",
            "--deepspeed",
            &config,
            "--nproc-per-node",
            &world,
            "--",
        ];
        let command = ["python", "train.py", "--model_name_or_path", "model"];
        let argv = words(&case, "argv");
        counts.compare(
            &case,
            &run_without_check(
                &sandbox,
                head.into_iter()
                    .chain(command)
                    .chain(argv.iter().map(String::as_str)),
            ),
        );
    }
    // The cases are worth something only if they exercise both sides.
    assert!(
        counts.refused + counts.left_to_refuse + counts.equal >= 50,
        "{counts:?}"
    );
    assert!(
        counts.refused > 10 && counts.equal > 15 && counts.fills > 70,
        "{counts:?}"
    );
}

fn fills_and_refusals_are_those_of_ms_swift(share: &Share) {
    let sandbox = Sandbox::new();
    let mut lines = MS_SWIFT
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let model = lines.next().unwrap()["model"].to_string();
    plant(&sandbox.cwd().join("MODEL/config.json"), &model);
    let mut counts = Counts {
        early: true,
        ..Counts::default()
    };
    for case in share.of(lines) {
        let world = case["world"].to_string();
        let head = [
            "-n",
            "--format",
            "json",
            "--nproc-per-node",
            &world,
            "--",
            "swift",
            case["command"].as_str().unwrap(),
        ];
        let argv = words(&case, "argv");
        counts.compare(
            &case,
            &run_without_check(
                &sandbox,
                head.into_iter().chain(argv.iter().map(String::as_str)),
            ),
        );
    }
    assert!(
        counts.refused > 5 && counts.equal > 20 && counts.fills > 60,
        "{counts:?}"
    );
}
