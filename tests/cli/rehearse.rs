//! `zlaunch rehearse`: what is made of what the rehearsal tells. The interpreter here tells what a real one told; the real
//! ones run in `tests/real/rehearse.py`.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::local::{is_ignored, until};
use crate::sandbox::{Run, SWIFT, Sandbox, ZLAUNCH, start};

const OPTIONS: &[&str] = &["--nproc-per-node", "2", "--deepspeed", "zero2"];

/// What ms-swift tells up to the trainer.
const STARTED: &str = r#"{"event": "start", "seconds": 0.0}
{"event": "model", "seconds": 5.3, "name": "Qwen3ForCausalLM", "parameters": 8190735360}
{"event": "dataset", "seconds": 5.4, "rows": 300}
{"event": "trainer", "seconds": 6.0, "of": "Seq2SeqTrainer"}"#;

/// A sandbox in which a rehearsal runs this script of the shell; `$config` is the config that it was given.
fn sandbox(script: &str) -> Sandbox {
    let mut sandbox = Sandbox::new();
    let temporary = sandbox.path("tmp");
    fs::create_dir(&temporary).unwrap();
    sandbox.var("TMPDIR", temporary);
    sandbox.executable(
        "env/bin/python3.11",
        &format!(
            "#!/bin/sh\nfolder=$(dirname \"$1\")\nconfig=$(find \"$folder/written\" -name 'zero2-*.json' -exec cat {{}} + | tr -d '\\n')\n{script}\n"
        ),
    );
    sandbox
}

fn telling(lines: &str) -> Sandbox {
    sandbox(&format!("cat <<END\n{STARTED}\n{lines}\nEND"))
}

fn initialized(config: &str) -> String {
    format!(
        r#"{{"event": "initialize", "seconds": 6.2, "config": {config}, "model": "Qwen3ForCausalLM", "parameters": 8190735360, "trainable": 21823488}}"#
    )
}

fn rehearsed(sandbox: &Sandbox, options: &[&str]) -> Run {
    let run = sandbox.run([&["rehearse"], OPTIONS, options, &["--"], SWIFT].concat());
    assert_eq!(sandbox.files("tmp").len(), 0, "nothing is left behind");
    assert!(
        !sandbox.path("home/.cache/zlaunch").exists(),
        "and nothing is written elsewhere"
    );
    run
}

#[test]
fn it_arrives_with_the_planned_config() {
    let sandbox = telling(&format!(
        "{}\n{{\"event\": \"step\"}}\n{}\n{{\"event\": \"end\", \"why\": \"the first step\"}}",
        initialized("$config"),
        r#"{"event": "values", "done": ["forward", "backward", "optimizer step"], "ended_by": "end"}"#
    ));
    let run = rehearsed(&sandbox, &[]);
    run.succeeded_silently();
    for said in [
        "model      Qwen3ForCausalLM, 8,190,735,360 parameters, 21,823,488 of them trained\n",
        "dataset    300 rows\n",
        "DeepSpeed  arrived with the planned config\n",
        "covered    full-size shapes, forward, backward, optimizer step; not the weights on disk\n",
        "arrived: rank 0 of 2 in ",
    ] {
        assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
    }
    let json = rehearsed(&sandbox, &["--format", "json"]).json();
    assert_eq!(json["rehearsal"]["refused"], false);
    assert_eq!(json["rehearsal"]["verdict"], "arrived");
    assert_eq!(json["rehearsal"]["covered"].as_array().unwrap().len(), 4);
    assert_eq!(json["rehearsal"]["reached"], "step");
    assert_eq!(
        json["rehearsal"]["initialize"][0]["differences"]
            .as_array()
            .unwrap()
            .len(),
        0
    );
    assert_eq!(json["config"]["zero_optimization"]["stage"], 2);
    rehearsed(&sandbox, &["-q"]).succeeded_silently();
}

#[test]
fn what_was_looked_at_on_disk_is_covered() {
    let told = r#"{"event": "weights"}
{"event": "resumed"}
{"event": "step"}
{"event": "refused", "type": null, "message": "m/model.safetensors is a pointer of git-lfs, and not the weights", "where": []}"#;
    let run = rehearsed(&telling(told), &[]);
    assert_eq!(run.status, Some(1), "{run:?}");
    for said in [
        "covered  full-size shapes, weights on disk, checkpoint to resume from\n",
        "rejected this launch: m/model.safetensors is a pointer of git-lfs, and not the weights\n  help: git lfs install && git lfs pull",
    ] {
        assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
    }
}

#[test]
fn a_key_that_arrives_with_another_value_is_shown() {
    let ended = "\n{\"event\": \"end\", \"why\": \"the first step\"}";
    let run = rehearsed(&telling(&(initialized("{}") + ended)), &[]);
    run.succeeded();
    assert!(
        run.stdout.contains(
            "warning[rehearsal]: deepspeed.initialize of Qwen3ForCausalLM gets a different config than planned"
        )
    );
    assert!(
        run.stdout
            .contains("  --> zero_optimization.stage: 2 planned, null arrived\n"),
        "{}",
        run.stdout
    );
    let reference =
        initialized("{}").replace("\"trainable\"", "\"compared\": false, \"trainable\"");
    let run = rehearsed(&telling(&(reference + ended)), &[]);
    run.succeeded_silently();
    assert!(!run.stdout.contains("planned, "), "{}", run.stdout);
}

#[test]
fn a_refusal_is_shown_with_its_place() {
    let refused = r#"{"event": "refused", "type": "ValueError", "message": "no gradient_accumulation_steps:\n- one\n- two",
 "where": [{"file": "/e/lib/python3.11/site-packages/swift/arguments/sft_args.py", "line": 12, "function": "__post_init__"}]}"#
        .replace('\n', "");
    let run = rehearsed(&telling(&refused), &[]);
    assert_eq!(run.status, Some(1), "{run:?}");
    for said in [
        "error[rehearsal]: ms-swift rejected this launch: ValueError: no gradient_accumulation_steps:\n",
        "  --> - one\n  --> - two\n  --> swift/arguments/sft_args.py:12, in __post_init__\n",
        "\nrefused: rank 0 of 2 in ",
    ] {
        assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
    }
    let silent = r#"{"event": "refused", "type": "AssertionError", "message": "", "where": []}"#;
    let run = rehearsed(&telling(silent), &[]);
    assert!(
        run.stdout
            .contains("error[rehearsal]: ms-swift rejected this launch: AssertionError\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn what_the_pretence_cannot_do_is_no_refusal() {
    for (event, status, verdict, says) in [
        (
            "limit",
            0,
            "incomplete, the rest needs a GPU",
            "note[rehearsal]: rehearsed up to the trainer; the rest needs a GPU: RuntimeError: no\n",
        ),
        (
            "shapes",
            0,
            "incomplete, only shapes were tried",
            "note[rehearsal]: rehearsed up to the trainer, with shapes alone: RuntimeError: no\n",
        ),
        (
            "unsure",
            3,
            "not sure",
            "note[rehearsal]: rehearsed up to the trainer; the next failure may come from the rehearsal itself: RuntimeError: no\n",
        ),
        (
            "network",
            3,
            "incomplete, the rest needs the network",
            "note[rehearsal]: rehearsed up to the trainer; the rest needs the network: RuntimeError: no\n  help: --online\n",
        ),
    ] {
        let told = format!(
            r#"{{"event": "{event}", "type": "RuntimeError", "message": "no", "where": []}}"#
        );
        let run = rehearsed(&telling(&told), &[]);
        assert_eq!(
            (run.status, run.stderr.as_str()),
            (Some(status), ""),
            "{}",
            run.stdout
        );
        assert!(run.stdout.contains(says), "{}", run.stdout);
        assert!(
            run.stdout
                .contains(&format!("\n{verdict}: rank 0 of 2 in ")),
            "{}",
            run.stdout
        );
    }
    let died = sandbox(&format!(
        "cat <<END\n{STARTED}\nEND\necho a last word >&2\nkill -9 $$"
    ));
    let run = rehearsed(&died, &[]);
    assert_eq!(run.status, Some(3), "{}", run.stdout);
    assert!(
        run.stdout
            .contains("then the process ended: exit status: 137: a last word\n"),
        "{}",
        run.stdout
    );
    let ended = rehearsed(&telling(r#"{"event": "end", "why": "itself"}"#), &[]);
    assert!(
        ended
            .stdout
            .contains("ended without calling deepspeed.initialize"),
        "{}",
        ended.stdout
    );
}

#[test]
fn its_time_is_limited() {
    let run = rehearsed(
        &sandbox(&format!("cat <<END\n{STARTED}\nEND\nsleep 1000")),
        &["--timeout", "1"],
    );
    assert_eq!(run.status, Some(3), "{}", run.stdout);
    // On a busy machine, a second is too short to come as far as the trainer.
    assert!(
        run.stdout
            .contains("; stopped after 1 s\n  help: --timeout"),
        "{}",
        run.stdout
    );
}

#[test]
fn what_check_refuses_is_not_run() {
    let sandbox = sandbox("touch ran");
    let words = [
        OPTIONS,
        &["--set", "zero_optimization.stage=7", "--"],
        SWIFT,
    ]
    .concat();
    let [check, rehearse] =
        ["check", "rehearse"].map(|name| sandbox.run([&[name], &words[..]].concat()));
    assert_eq!((check.status, &check.stdout), (Some(1), &rehearse.stdout));
    assert_eq!(check.status, rehearse.status);
    assert!(!sandbox.cwd().join("ran").exists());
    sandbox.run(["rehearse"]).refused(&["no command to launch"]);
    sandbox
        .run([&["rehearse", "--timeout", "0", "--"], SWIFT].concat())
        .refused(&["--timeout"]);
}

#[test]
fn what_cannot_be_rehearsed_is_zlaunchs_own_refusal() {
    let unable =
        sandbox(r#"echo '{"event": "start"}'; echo '{"event": "unable", "program": "train.sh"}'"#);
    rehearsed(&unable, &[]).refused(&["`train.sh` is not a Python program"]);
    let old = sandbox("echo SyntaxError: invalid syntax >&2; exit 1");
    rehearsed(&old, &[]).refused(&["did not start: exit status: 1: SyntaxError: invalid syntax"]);
}

/// The machines need not meet, and what a prefix sets is set.
#[test]
fn it_is_rank_0_of_all_machines_behind_a_prefix_too() {
    let sandbox = sandbox(
        "printf '{\"event\": \"start\", \"A\": \"%s\", \"spec\": %s}' \"$A\" \"$(tr -d '\\n' < \"$2\")\"",
    );
    let options = [
        "rehearse",
        "--nnodes",
        "3",
        "--nproc-per-node",
        "8",
        "--deepspeed",
        "zero2",
        "--timeout",
        "60",
    ];
    let run = sandbox.run(
        [
            &options[..],
            &["--online", "--format", "json", "--", "env", "A=b"],
            SWIFT,
        ]
        .concat(),
    );
    assert_eq!(run.status, Some(3), "{run:?}");
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["rehearsal"]["nnodes"], 3);
    let told = json["rehearsal"]["events"]
        .as_array()
        .unwrap()
        .iter()
        .find(|event| event["event"] == "start")
        .unwrap();
    assert_eq!(
        (
            &told["A"],
            &told["spec"]["nnodes"],
            &told["spec"]["nproc_per_node"]
        ),
        (&"b".into(), &3.into(), &8.into())
    );
    assert_eq!(told["spec"]["online"], true);
    // What the launch would execute, word for word: the config is found where it says.
    assert!(
        told["spec"]["argv"]
            .to_string()
            .contains("swift/cli/sft.py"),
        "{told}"
    );
    assert_eq!(told["spec"]["argv"], json["argv"]);
}

#[test]
fn it_ends_with_zlaunch() {
    let sandbox = sandbox("touch \"$folder/started\"; (setsid sleep 1000 &); sleep 1000");
    let folders = || {
        fs::read_dir(sandbox.path("tmp"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect::<Vec<_>>()
    };
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGKILL]
        .into_iter()
        .filter(|signal| !is_ignored(*signal))
    {
        let mut command = sandbox.command([&["rehearse"], OPTIONS, &["--"], SWIFT].concat());
        let mut zlaunch = start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        until("started", || {
            folders()
                .iter()
                .any(|folder| folder.join("started").exists())
        });
        kill(Pid::from_raw(zlaunch.id().cast_signed()), signal).unwrap();
        assert_eq!(zlaunch.wait().unwrap().signal(), Some(signal as i32));
        until("removed", || folders().is_empty());
    }
}

/// `tests/real/hostile.py`, with any Python that is here.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn hostile(names: &[&str]) {
    let python = ["/usr/bin/python3", "/usr/local/bin/python3"]
        .into_iter()
        .find(|it| Path::new(it).exists());
    let Some(python) = python else {
        return eprintln!("skipped: there is no python3 here");
    };
    let mut command = Command::new(python);
    command
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/real/hostile.py"
        ))
        .args(["--bin", ZLAUNCH])
        .args(names);
    let run = Run::of(command.env("PYTHONDONTWRITEBYTECODE", "1"));
    run.stdout
        .lines()
        .filter(|line| line.starts_with("skipped"))
        .for_each(|line| eprintln!("{line}"));
    assert_eq!(run.status, Some(0), "{run:?}");
}

#[test]
fn a_hostile_script_changes_nothing_and_reaches_nobody() {
    hostile(&["sandboxed, itself", "not sandboxed"]);
}

#[test]
fn a_hostile_script_leaves_nothing_behind() {
    hostile(&[
        "sandboxed, timeout",
        "sandboxed, SIGINT",
        "sandboxed, SIGTERM",
        "sandboxed, SIGKILL",
    ]);
}

#[test]
fn a_hostile_script_is_held_by_older_kernels() {
    hostile(&["without namespaces, itself", "without Landlock, itself"]);
}
