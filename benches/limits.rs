//! How the time of a check grows with what it is given: `cargo bench --bench limits`. Four times the input may take four
//! times as long, and a little more; what compares everything with everything takes sixteen times.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures, and stops where it cannot"
)]

#[path = "../tests/fake.rs"]
mod fake;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use fake::Sandbox;

const SMALL: usize = 10_000;
const LARGE: usize = 4 * SMALL;
/// More than this, and something is not in proportion.
const MOST: f64 = 8.0;

/// What is made large, and the words of zlaunch for so many of it.
type Case = (&'static str, fn(&Sandbox, usize) -> Vec<String>);

const CASES: &[Case] = &[
    ("unknown keys at the top", |sandbox, count| {
        check(&config(sandbox, &json!({}), count))
    }),
    ("unknown keys in a section", |sandbox, count| {
        let mut section = numbered(count);
        section.insert("stage".to_string(), 2.into());
        check(&config(sandbox, &json!({"zero_optimization": section}), 0))
    }),
    ("unknown keys, as JSON", |sandbox, count| {
        let mut words = check(&config(sandbox, &json!({}), count));
        words.splice(1..1, ["--format", "json"].map(str::to_string));
        words
    }),
    ("\"auto\" that nobody fills", |sandbox, count| {
        let autos: Map<_, _> = numbered(count)
            .into_iter()
            .map(|(key, _)| (key, "auto".into()))
            .collect();
        check(&config(sandbox, &Value::Object(autos), 0))
    }),
    ("--set", |_, count| {
        check(&repeated("--set", count / 10, |at| format!("key_{at}=1")))
    }),
    ("--unset", |sandbox, count| {
        let all = repeated("--unset", count / 10, |at| format!("key_{at}"));
        check(&[config(sandbox, &json!({}), count / 10), all].concat())
    }),
    ("--unset of what is not there", |_, count| {
        check(&repeated("--unset", count / 10, |at| format!("key_{at}")))
    }),
    ("--env", |_, count| {
        check(&repeated("--env", count / 10, |at| {
            format!("VARIABLE_{at}=1")
        }))
    }),
    ("--patch", |sandbox, count| {
        check(&repeated("--patch", count / 100, |at| {
            sandbox
                .file(
                    &format!("{at}.json"),
                    json!({format!("key_{at}"): at}).to_string(),
                )
                .display()
                .to_string()
        }))
    }),
    ("a merge patch that removes", |sandbox, count| {
        let nulls: Map<_, _> = numbered(count)
            .into_iter()
            .map(|(key, _)| (key, Value::Null))
            .collect();
        let patch = sandbox
            .file("patch.json", Value::Object(nulls).to_string())
            .display()
            .to_string();
        check(
            &[
                config(sandbox, &json!({}), count),
                vec!["--patch".to_string(), patch],
            ]
            .concat(),
        )
    }),
    ("operations of a patch", |sandbox, count| {
        let add = |at| json!({"op": "add", "path": format!("/key_{at}"), "value": at});
        let patch = sandbox.file(
            "patch.json",
            (0..count).map(add).collect::<Value>().to_string(),
        );
        check(&["--patch".to_string(), patch.display().to_string()])
    }),
    ("variables of a template", |sandbox, count| {
        let env: Map<_, _> = (0..count)
            .map(|at| (format!("VARIABLE_{at}"), "1".into()))
            .collect();
        check(&config(sandbox, &json!({"$zlaunch": {"env": env}}), 0))
    }),
    ("words of the command", |_, count| {
        let words = (0..count).map(|at| format!("--option_{at}"));
        check(&[]).into_iter().chain(words).collect()
    }),
    ("a run file", |sandbox, count| {
        let file = sandbox
            .file("run.json", Value::Object(numbered(count)).to_string())
            .display()
            .to_string();
        let words = [
            "check",
            "--deepspeed",
            "zero2",
            "--nproc-per-node",
            "1",
            "--",
            "swift",
            "sft",
            "--config",
            &file,
        ];
        words.map(str::to_string).to_vec()
    }),
    ("a hostfile", |sandbox, count| {
        let hosts: String = (0..count).map(|at| format!("host{at} slots=8\n")).collect();
        let file = sandbox.file("hosts", hosts).display().to_string();
        let words = [
            "check",
            "--deepspeed",
            "zero2",
            "--hostfile",
            &file,
            "--",
            "python",
            "train.py",
        ];
        words.map(str::to_string).to_vec()
    }),
    ("templates in a folder", |sandbox, count| {
        let folder = format!("templates{count}");
        (0..count / 10).for_each(|at| drop(sandbox.put(&format!("{folder}/name{at}.json"), "{}")));
        let folder = sandbox.path(&folder).display().to_string();
        [
            "check",
            "--template-dir",
            &folder,
            "--deepspeed",
            "nameX",
            "--",
            "python",
            "train.py",
        ]
        .map(str::to_string)
        .to_vec()
    }),
];

fn numbered(count: usize) -> Map<String, Value> {
    (0..count)
        .map(|at| (format!("key_{at}"), at.into()))
        .collect()
}

fn repeated(option: &str, count: usize, value: impl Fn(usize) -> String) -> Vec<String> {
    (0..count)
        .flat_map(|at| [option.to_string(), value(at)])
        .collect()
}

/// `--deepspeed` with a config that has these keys and so many unknown ones.
fn config(sandbox: &Sandbox, keys: &Value, unknown: usize) -> Vec<String> {
    let mut config = numbered(unknown);
    config.insert("train_micro_batch_size_per_gpu".to_string(), 1.into());
    config.extend(keys.as_object().cloned().unwrap_or_default());
    let file = sandbox.file("ds.json", Value::Object(config).to_string());
    vec!["--deepspeed".to_string(), file.display().to_string()]
}

/// A check with these options.
fn check(options: &[String]) -> Vec<String> {
    let template = ["--deepspeed", "zero2"].map(str::to_string);
    let template = template
        .iter()
        .filter(|_| !options.iter().any(|word| word == "--deepspeed"));
    let command = ["--nproc-per-node", "1", "--", "python", "train.py"].map(str::to_string);
    ["check".to_string()]
        .iter()
        .chain(template)
        .chain(options)
        .chain(&command)
        .cloned()
        .collect()
}

fn main() {
    let sandbox = Sandbox::new();
    sandbox.file("train.py", "import transformers\n");
    let mut out_of_proportion = Vec::new();
    for (what, words) in CASES {
        let [small, large] = [SMALL, LARGE].map(|count| fastest(&sandbox, &words(&sandbox, count)));
        let ratio = large.as_secs_f64() / small.as_secs_f64();
        println!(
            "{what:<32}{:>8.3} s, four times as many {:>8.3} s: {ratio:.1}",
            small.as_secs_f64(),
            large.as_secs_f64()
        );
        if ratio >= MOST {
            out_of_proportion.push(what);
        }
    }
    assert!(out_of_proportion.is_empty(), "{out_of_proportion:?}");
}

fn fastest(sandbox: &Sandbox, words: &[String]) -> Duration {
    let run = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zlaunch"));
        command
            .env_clear()
            .envs(sandbox.variables())
            .current_dir(sandbox.cwd())
            .args(words);
        let start = Instant::now();
        let status = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(matches!(status.code(), Some(0 | 1)), "{status}");
        start.elapsed()
    };
    (0..3).map(|_| run()).min().unwrap()
}
