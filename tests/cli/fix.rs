//! `zlaunch check --fix`, and the line of a file with a mark under it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::sandbox::Sandbox;

const WRONG: &str = r#"{
  // ours, "overlapp_comm" and all
  "train_micro_batch_size_per_gpu":  1,
  "zero_optimization": { "stage": "three",   "overlapp_comm": true, /* big */ "reduce_bucket_size": "200M" },
  "amp": {"enabled": false},
  "steps_per_print": 10,
}
"#;

const RIGHT: &str = r#"{
  // ours, "overlapp_comm" and all
  "train_micro_batch_size_per_gpu":  1,
  "zero_optimization": { "stage": 3,   "overlap_comm": true, /* big */ "reduce_bucket_size": 200000000 },
  "steps_per_print": 10,
}
"#;

#[test]
fn the_safe_corrections_are_made_and_everything_else_stays() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("ds.json", WRONG);
    fs::set_permissions(
        sandbox.cwd().join("ds.json"),
        fs::Permissions::from_mode(0o640),
    )
    .unwrap();
    symlink("ds.json", sandbox.cwd().join("link.json")).unwrap();
    let run = sandbox.run(["check", "link.json", "--fix"]);
    assert_eq!(
        fs::read_to_string(sandbox.cwd().join("ds.json")).unwrap(),
        RIGHT,
        "{run:?} {file:?}"
    );
    assert_eq!(run.status, Some(0), "{run:?}");
    for said in [
        "`zero_optimization.overlapp_comm` is `overlap_comm` now",
        "`zero_optimization.stage` is 3 now",
        "`amp` is removed",
    ] {
        assert!(run.stderr.contains(said), "{run:?}");
    }
    let seen = fs::symlink_metadata(sandbox.cwd().join("link.json")).unwrap();
    let mode = fs::metadata(sandbox.cwd().join("ds.json"))
        .unwrap()
        .permissions()
        .mode()
        & 0o777;
    assert!(seen.file_type().is_symlink() && mode == 0o640, "{mode:o}");
    // Once more, there is nothing to do.
    let run = sandbox.run(["check", "--fix", "ds.json"]);
    assert!(
        !run.stderr.contains("fixed") && run.status == Some(0),
        "{run:?}"
    );
    assert_eq!(
        fs::read_to_string(sandbox.cwd().join("ds.json")).unwrap(),
        RIGHT
    );
}

/// What is safe is a property of the fix, whichever rule states it.
#[test]
fn every_safe_fix_is_made() {
    let sandbox = Sandbox::new();
    for (wrong, right) in [
        (
            r#"{"train_batch_size": "16"}"#,
            r#"{"train_batch_size": 16}"#,
        ),
        (
            r#"{"train_micro_batch_size_per_gpu": "4"}"#,
            r#"{"train_micro_batch_size_per_gpu": 4}"#,
        ),
        (
            r#"{"zero_optimization": {"stage": 3, "offload_param": {"device": "CPU"}}}"#,
            r#"{"zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}}"#,
        ),
        (
            r#"{"zero_optimization": {"stage": 2, "cpu_offload": true, "offload_optimizer": {"device": "cpu"}}}"#,
            r#"{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}"#,
        ),
        (
            r#"{"zero_optimization": {"stage": 2, "cpu_offload": true}}"#,
            r#"{"zero_optimization": {"offload_optimizer": {"device": "cpu"}, "stage": 2}}"#,
        ),
        (
            r#"{"zero_optimization": {"stage": 2, "cpu_offload": false}}"#,
            r#"{"zero_optimization": {"stage": 2}}"#,
        ),
        (r#"{"fp16": true}"#, r#"{"fp16": {"enabled": true}}"#),
        // One leads to the next.
        (
            r#"{"zero_optimization": {"stage": 2, "reduce_bucket_siz": "5e8"}}"#,
            r#"{"zero_optimization": {"stage": 2, "reduce_bucket_size": 500000000}}"#,
        ),
        (
            r#"{"zero_optimization": {"stage": 2, "cpu_offload": true, "offload_optimiser": {"device": "CPU", "pin_memory": true}}}"#,
            r#"{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu", "pin_memory": true}}}"#,
        ),
        (
            r#"{"zero_optimization": {"stage": 2, "cpu_offload": true, "offload_optimizer": {"pin_memory": true}}}"#,
            r#"{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu", "pin_memory": true}}}"#,
        ),
        // Into the section where it belongs, with its spacing.
        (
            "{\n  \"overlap_comm\": true,\n  \"zero_optimization\": {\n    \"stage\": 2\n  }\n}\n",
            "{\n  \"zero_optimization\": {\n    \"overlap_comm\": true,\n    \"stage\": 2\n  }\n}\n",
        ),
        (
            r#"{"optimizer": {"type": "AdamW", "params": {"lrr": 1e-5}}}"#,
            r#"{"optimizer": {"type": "AdamW", "params": {"lr": 1e-5}}}"#,
        ),
        (
            r#"{"scheduler": {"type": "WarmupLr"}}"#,
            r#"{"scheduler": {"type": "WarmupLR"}}"#,
        ),
    ] {
        sandbox.file("ds.json", wrong);
        let run = sandbox.run(["check", "--fix", "ds.json"]);
        assert_eq!(
            fs::read_to_string(sandbox.cwd().join("ds.json")).unwrap(),
            right,
            "{run:?}"
        );
        assert!(run.stderr.starts_with("fixed: `"), "{run:?}");
    }
}

#[test]
fn a_dry_run_shows_the_corrections_and_writes_nothing() {
    let sandbox = Sandbox::new();
    for flags in [["--fix", "--dry-run"], ["-n", "--fix"], ["--fix", "--diff"]] {
        sandbox.file("ds.json", WRONG);
        let run = sandbox.run(["check"].iter().chain(&flags).chain(&["ds.json"]));
        let after = fs::read_to_string(sandbox.cwd().join("ds.json")).unwrap();
        assert_eq!(after, WRONG, "{flags:?}");
        let lines = run.stdout.lines();
        let marked: Vec<&str> = lines
            .take_while(|line| line.starts_with(['-', '+']))
            .collect();
        assert_eq!(
            marked,
            [
                r#"-  "zero_optimization": { "stage": "three",   "overlapp_comm": true, /* big */ "reduce_bucket_size": "200M" },"#,
                r#"-  "amp": {"enabled": false},"#,
                r#"+  "zero_optimization": { "stage": 3,   "overlap_comm": true, /* big */ "reduce_bucket_size": 200000000 },"#,
            ],
            "{run:?}"
        );
        assert!(run.stderr.contains("to fix: `amp` is removed"), "{run:?}");
        assert_eq!(run.status, Some(1), "the file is as it was: {run:?}");
    }
}

#[test]
fn places_and_fixes_are_data() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "ds.json",
        "{\n  \"zero_optimization\": {\"stage\": 2, \"overlapp_comm\": true}\n}\n",
    );
    let found = |words: &[&str], rule: &str| {
        let run = sandbox.run(["check", "--format", "json"].iter().chain(words));
        let answer: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        let rows = answer["diagnostics"].as_array().unwrap().clone();
        rows.into_iter()
            .find(|row| row["rule"] == rule)
            .unwrap_or_else(|| panic!("{answer:#}"))
    };
    let typo = found(&["ds.json"], "unknown-key");
    assert_eq!(typo["places"][0]["line"], 2);
    assert_eq!(typo["places"][0]["column"], 37);
    let fix = serde_json::json!([{
        "rename": "zero_optimization.overlapp_comm", "to": "zero_optimization.overlap_comm", "value": true,
        "why": "did you mean `overlap_comm`?", "safe": true,
    }]);
    assert_eq!(typo["fixes"], fix);
    let two = ["--nproc-per-node", "2", "--deepspeed", "zero2"];
    let set = [
        "--set",
        "gradient_clipping=0.5",
        "--",
        "swift",
        "sft",
        "--max_grad_norm",
        "1.0",
    ];
    let mismatch = found(&[&two[..], &set].concat(), "mismatch");
    assert_eq!(
        mismatch["places"],
        serde_json::json!([{"option": "--set", "value": "gradient_clipping=0.5"}, {"option": "--max_grad_norm"}])
    );
    assert_eq!(
        mismatch["fixes"][0],
        serde_json::json!({"set": "gradient_clipping", "value": "auto"})
    );
    let typed = found(
        &[&two[..], &["--", "swift", "sft", "--learning_ratee", "1"]].concat(),
        "argument",
    );
    assert_eq!(
        typed["places"],
        serde_json::json!([{"option": "--learning_ratee"}])
    );
    assert_eq!(
        typed["fixes"],
        serde_json::json!([{"rename": "--learning_ratee", "to": "--learning_rate", "owner": "trainer"}])
    );
}

#[test]
fn what_is_not_sure_is_left_alone() {
    let sandbox = Sandbox::new();
    // A number is no list.
    for (parameter, help) in [
        ("beta1", "help: write `betas: [0.9, 0.999]`"),
        ("betas", "but DeepSpeed's adamw expects a list"),
    ] {
        let text =
            format!(r#"{{"optimizer": {{"type": "AdamW", "params": {{"{parameter}": 0.9}}}}}}"#);
        sandbox.file("ds.json", &text);
        let run = sandbox.run(["check", "--fix", "ds.json"]);
        assert!(run.stdout.contains(help), "{run:?}");
        assert_eq!(
            fs::read_to_string(sandbox.cwd().join("ds.json")).unwrap(),
            text
        );
    }
    for text in [
        // An argument of transformers that means the micro batch.
        r#"{"per_device_train_batch_size": 2, "gradient_accumulation_steps": 1, "zero_optimization": {"stage": 2}}"#,
        // Only the user knows which device was meant.
        r#"{"train_batch_size": 8, "zero_optimization": {"stage": 3, "cpu_offload": true, "offload_optimizer": {"device": "nvme", "nvme_path": "/local"}}}"#,
        // The right name is there already.
        r#"{"train_batch_size": 8, "zero_optimization": {"stage": 2, "overlap_comm": false, "overlapp_comm": true}}"#,
        r#"{"train_batch_size": 8, "overlap_comm": true, "zero_optimization": {"stage": 2, "overlap_comm": false}}"#,
    ] {
        sandbox.file("ds.json", text);
        let run = sandbox.run(["check", "--fix", "ds.json"]);
        let after = fs::read_to_string(sandbox.cwd().join("ds.json")).unwrap();
        assert_eq!(after, text, "{run:?}");
    }
    let text = r#"{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 4, "nonsense": 1}}"#;
    sandbox.file("ds.json", text);
    let run = sandbox.run(["check", "--fix", "ds.json"]);
    assert_eq!(
        (
            run.status,
            fs::read_to_string(sandbox.cwd().join("ds.json"))
                .unwrap()
                .as_str()
        ),
        (Some(1), text),
        "{run:?}"
    );
    sandbox
        .run([
            "check",
            "--fix",
            "--deepspeed",
            "ds.json",
            "--",
            "swift",
            "sft",
        ])
        .refused(&["`--fix` only edits config files"]);
}

#[test]
fn the_line_is_shown_with_a_mark() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "ds.json",
        "{\n\t\"zero_optimization\": {\"stage\": 2, \"overlapp_comm\": true}\n}\n",
    );
    let run = sandbox.run(["check", "ds.json"]);
    let shown = "   |\n 2 |  \"zero_optimization\": {\"stage\": 2, \"overlapp_comm\": true}\n   |                                    ^^^^^^^^^^^^^^^\n";
    assert!(run.stdout.contains(shown), "{}", run.stdout);
    // Letters that take no or two columns.
    for (letter, width) in [("\u{e47}", 0), ("置", 2)] {
        let before = letter.repeat(80) + "\", \"zero_optimization\": {\"stage\": 2, ";
        sandbox.file(
            "ds.json",
            format!("{{\"x\": \"{before}\"overlapp_comm\": true}}}}\n"),
        );
        let run = sandbox.run(["check", "ds.json"]);
        let (text, mark) = run
            .stdout
            .lines()
            .zip(run.stdout.lines().skip(1))
            .find(|(_, mark)| mark.contains('^'))
            .unwrap();
        let shown = text.split("\"overlapp_comm\"").next().unwrap();
        let columns: usize = shown
            .chars()
            .map(|c| if letter.contains(c) { width } else { 1 })
            .sum();
        assert_eq!(
            (columns, mark.trim_end().len()),
            (mark.find('^').unwrap(), columns + 15),
            "{}",
            run.stdout
        );
    }
    // A line with a secret is not.
    sandbox
        .file("ds.json", "{\"zero_optimization\": {\"stagee\": 2}, \"comet\": {\"api_key\": \"abcdefgh12345678\"}}\n");
    let run = sandbox.run(["check", "ds.json"]);
    assert!(
        run.stdout.contains("stagee")
            && !run.stdout.contains("abcdefgh12345678")
            && !run.stdout.contains('^'),
        "{}",
        run.stdout
    );
}

#[test]
fn every_mistake_of_json_has_a_help_of_its_own() {
    let sandbox = Sandbox::new();
    for (text, help) in [
        ("{'a': 1}", "use double quotes around"),
        ("{“a”: 1}", "use double quotes around"),
        ("{\"a\": 1 # x\n}", "start a comment with //"),
        ("{\"a\": NaN}", "write another number"),
        ("{\"a\": True}", "write it in lowercase"),
        ("{\"a\": 1 \"b\": 2}", "add a comma after"),
        ("a:\n  b: 2\n", "a DeepSpeed config is JSON"),
        ("{a: 1}", "put double quotes around the key"),
        ("{\"a\": 1,, }", "drop it"),
    ] {
        sandbox.file("ds.json", text);
        let run = sandbox.run(["check", "ds.json"]);
        assert!(
            run.stdout.contains(&format!("  help: {help}")),
            "{text}: {}",
            run.stdout
        );
    }
    sandbox.file(
        "ds.json",
        "{\n // fine\n \"train_micro_batch_size_per_gpu\": 1,\n}\n",
    );
    assert_eq!(sandbox.run(["check", "ds.json"]).status, Some(0));
}

/// Only options of zlaunch stand beside each other, however those of the trainer are spelled.
#[test]
fn an_option_of_the_trainer_is_not_pasted_among_those_of_zlaunch() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "hf.py",
        "from transformers import HfArgumentParser, Trainer, TrainingArguments\n\
         args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(None, args).train()\n",
    );
    sandbox.file(
        "ds.json",
        r#"{"zero_optimization": {"stage": 2}, "tf32": true, "overlap_comm": true}"#,
    );
    let words = "check --nproc-per-node 2 --deepspeed ds.json -- python hf.py --output_dir out";
    let run = sandbox.run(words.split(' '));
    for help in [
        "help: zlaunch check --nproc-per-node 2 --deepspeed ds.json --unset tf32 -- python hf.py --output_dir out --tf32 true (it is the trainer's argument)\n",
        "help: it belongs in `zero_optimization.overlap_comm`: --unset overlap_comm --set zero_optimization.overlap_comm=true\n",
    ] {
        assert!(run.stdout.contains(help), "{run:?}");
    }
}
