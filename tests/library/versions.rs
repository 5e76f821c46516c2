//! What real versions of DeepSpeed said about configs, recorded by `tests/real/check_agreement.py --record`: zlaunch says the same
//! where that version is installed.

use serde_json::Value;

use zlaunch::testing::{Rule, Severity, When};

use crate::check::found;
use crate::invariants::fake::{Sandbox, Share, side_by_side};

/// The versions, then one config a line: the number of ranks, and for each version whether DeepSpeed refused it (1).
const VERDICTS: &str = include_str!("../data/deepspeed-verdicts.jsonl");

/// What zlaunch would refuse because DeepSpeed does, when it reads the config. `None` where an "auto" is open, which zlaunch
/// refuses for a reason of its own.
fn refusals(config: &Value, world: u64, sandbox: &Sandbox) -> Option<Vec<String>> {
    sandbox.file("ds.json", config.to_string());
    let words = format!("--nproc-per-node {world} -- python plain.py --deepspeed_config ds.json");
    let found = found(&words, sandbox);
    if found.iter().any(|it| it.rule == Rule::Auto) {
        return None;
    }
    let refused = found
        .into_iter()
        .filter(|it| it.severity == Severity::Error && it.when == Some(When::Parse));
    let said = refused.map(|it| format!("{}: {}", it.rule, it.what));
    Some(said.collect())
}

/// Of versions that answer alike, those beside one that answers otherwise say enough.
fn says_something_new(case: &Value, at: usize) -> bool {
    let refused = case["refused"].as_str().unwrap().as_bytes();
    let differs = |other: Option<&u8>| other.is_some_and(|other| *other != refused[at]);
    differs(at.checked_sub(1).and_then(|before| refused.get(before)))
        || differs(refused.get(at + 1))
}

side_by_side!(every_recorded_verdict_is_zlaunch_s_own);

fn every_recorded_verdict_is_zlaunch_s_own(share: &Share) {
    let mut lines = VERDICTS
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let versions: Vec<String> = serde_json::from_value(lines.next().unwrap()).unwrap();
    let cases: Vec<Value> = lines.collect();
    let mut sandbox = Sandbox::new();
    sandbox.file("plain.py", "import deepspeed\ndeepspeed.initialize()\n");
    let path = sandbox.bin();
    sandbox.var("PATH", path);
    let mut wrong = Vec::new();
    for (at, version) in share.of(versions.iter().enumerate()) {
        sandbox.installed("deepspeed", version);
        for case in cases.iter().filter(|case| says_something_new(case, at)) {
            let world = case["world"].as_u64().unwrap();
            let Some(ours) = refusals(&case["config"], world, &sandbox) else {
                continue;
            };
            let theirs = case["refused"].as_str().unwrap().as_bytes()[at] == b'1';
            if theirs == ours.is_empty() {
                wrong.push(format!(
                    "DeepSpeed {version} refuses it: {theirs}, zlaunch says {ours:?}\n   {case}"
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
