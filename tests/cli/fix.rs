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
        // With the comments inside. Those around stay.
        (
            "{\n  // where\n  \"offload_param\": {\n    // here\n    \"device\": \"cpu\"\n  },\n  \"zero_optimization\": {\"stage\": 3}\n}\n",
            "{\n  // where\n  \"zero_optimization\": {\"offload_param\": {\n    // here\n    \"device\": \"cpu\"\n  }, \"stage\": 3}\n}\n",
        ),
        (
            "{\n  \"train_batch_size\": 8, // ours\n  \"amp\": {\"enabled\": false} // theirs\n}\n",
            "{\n  \"train_batch_size\": 8 // ours\n   // theirs\n}\n",
        ),
        (
            "{\n  // for eight GPUs\n  \"amp\": {\"enabled\": false}, // apex\n  \"train_batch_size\": 8\n}\n",
            "{\n  // for eight GPUs\n  // apex\n  \"train_batch_size\": 8\n}\n",
        ),
        (
            "{\n  \"train_batch_size\": 8,\n  // to the CPU\n  // as it was\n  \"zero_optimization\": {\n    \"stage\": 2,\n    // old\n    \"cpu_offload\": true // here\n  }\n}\n",
            "{\n  \"train_batch_size\": 8,\n  // to the CPU\n  // as it was\n  \"zero_optimization\": {\n    \"offload_optimizer\": {\"device\": \"cpu\"},\n    \"stage\": 2\n    // old\n     // here\n  }\n}\n",
        ),
        // A name with dots, or slashes, is a key in a section.
        (
            r#"{"zero_optimization.stage": 3, "train_batch_size": 8}"#,
            r#"{"zero_optimization": {"stage": 3}, "train_batch_size": 8}"#,
        ),
        (
            r#"{"zero_optimization/stage": 3, "train_batch_size": 8}"#,
            r#"{"zero_optimization": {"stage": 3}, "train_batch_size": 8}"#,
        ),
        // A comma is a point where it does not stand before three digits.
        (
            r#"{"gradient_clipping": "0,5"}"#,
            r#"{"gradient_clipping": 0.5}"#,
        ),
        (
            r#"{"zero_optimization": {"stage": 2, "reduce_bucket_size": "5,000,000"}}"#,
            r#"{"zero_optimization": {"stage": 2, "reduce_bucket_size": 5000000}}"#,
        ),
        // One that leads to another problem does not hinder the others.
        (
            r#"{"zero_optimization": {"stage": 2, "offload_params": {"device": "cpu"}}, "train_batch_size": "32"}"#,
            r#"{"zero_optimization": {"stage": 2, "offload_params": {"device": "cpu"}}, "train_batch_size": 32}"#,
        ),
        // Words that are left out.
        (
            r#"{"zero_optimization": {"stage": 3, "stage3_max_live_params": 5, "reduce_bucket": 6}}"#,
            r#"{"zero_optimization": {"stage": 3, "stage3_max_live_parameters": 5, "reduce_bucket_size": 6}}"#,
        ),
        (
            r#"{"scheduler": {"type": "OneCycle", "params": {"cycle_min_lr": 0.1, "max_lr": 0.2}}}"#,
            r#"{"scheduler": {"type": "OneCycle", "params": {"cycle_min_lr": 0.1, "cycle_max_lr": 0.2}}}"#,
        ),
        (
            r#"{"zero_optimization": {"stage": 3, "offload_param": {"device": "nvme", "path": "/x/1"}}}"#,
            r#"{"zero_optimization": {"stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/x/1"}}}"#,
        ),
        (
            r#"{"optimizer": {"type": "AdamW", "params": {"lrr": 1e-5}}}"#,
            r#"{"optimizer": {"type": "AdamW", "params": {"lr": 1e-5}}}"#,
        ),
        (
            r#"{"scheduler": {"type": "WarmupLr"}}"#,
            r#"{"scheduler": {"type": "WarmupLR"}}"#,
        ),
        // The section is made where there is none.
        (
            r#"{"train_batch_size": 8, "stage": 2}"#,
            r#"{"zero_optimization": {"stage": 2}, "train_batch_size": 8}"#,
        ),
        (
            r#"{"optimizer": {"type": "AdamW", "lr": 0.01}}"#,
            r#"{"optimizer": {"params": {"lr": 0.01}, "type": "AdamW"}}"#,
        ),
        (
            r#"{"optimizer": {"type": "AdamW", "eps": 0.1, "params": {"lr": 0.01}}}"#,
            r#"{"optimizer": {"type": "AdamW", "params": {"eps": 0.1, "lr": 0.01}}}"#,
        ),
        (
            r#"{"zero_optimization": {"stage": 3, "pin_memory": true, "offload_param": {"device": "cpu"}}}"#,
            r#"{"zero_optimization": {"stage": 3, "offload_param": {"pin_memory": true, "device": "cpu"}}}"#,
        ),
        (
            r#"{"zero_optimization": {"stage": 2, "overlap-comm": "ture"}}"#,
            r#"{"zero_optimization": {"stage": 2, "overlap_comm": true}}"#,
        ),
        (
            r#"{"zero_optimization": {"stage": [2]}}"#,
            r#"{"zero_optimization": {"stage": 2}}"#,
        ),
        (
            r#"{"optimizer": {"type": "AdamW", "params": {"betas": "[0.9, 0.95]"}}}"#,
            r#"{"optimizer": {"type": "AdamW", "params": {"betas": [0.9,0.95]}}}"#,
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
        ("beta1", "help: remove optimizer.params.beta1"),
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
        // Two values for one setting.
        r#"{"train_batch_size": 8, "zero_optimization": {"stage": 3, "stage3_max_live_parameters": 5, "max_live_parameters": 6}}"#,
        // Nobody knows whose it is, or how many steps there are.
        r#"{"train_batch_size": 8, "type": "AdamW", "optimizer": {}, "scheduler": {}}"#,
        r#"{"train_batch_size": 8, "scheduler": {"type": "linear"}}"#,
        r#"{"train_batch_size": 8, "optimizer": null}"#,
        r#"{"train_batch_size": 8, "zero_optimization": {"stage": 3, "offload_param": true}}"#,
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
        let before = letter.repeat(20) + "\", \"zero_optimization\": {\"stage\": 2, ";
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
        r#"{"zero_optimization": {"stage": 2}, "activation_checkpointing": {"cpu_checkpointing": true}, "overlap_comm": true}"#,
    );
    let words = "check --nproc-per-node 2 --deepspeed ds.json -- python hf.py --output_dir out";
    let run = sandbox.run(words.split(' '));
    for help in [
        "help: zlaunch check --nproc-per-node 2 --deepspeed ds.json --unset activation_checkpointing -- python hf.py --output_dir out --gradient_checkpointing true\n",
        "help: it belongs in `zero_optimization.overlap_comm`: --unset overlap_comm --set zero_optimization.overlap_comm=true\n",
    ] {
        assert!(run.stdout.contains(help), "{run:?}");
    }
}

/// The first fix of a problem that a misspelling causes is that of the misspelling: another one would hide it.
#[test]
fn a_misspelling_is_the_fix_of_what_it_hides() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "hf.py",
        "from transformers import HfArgumentParser, Trainer, TrainingArguments\n\
         args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(None, args).train()\n",
    );
    sandbox.file(
        "ds.py",
        "import deepspeed\ndeepspeed.initialize(args=None, model=None)\n",
    );
    for (script, text, rule, right) in [
        (
            "hf.py",
            r#"{"train_batch_size": "auto", "zero_optimisation": {"stage": 2}}"#,
            "no-zero-section",
            "zero_optimization",
        ),
        (
            "hf.py",
            r#"{"train_batch_size": "auto", "zero_optimization": {"stagee": 2}}"#,
            "no-stage",
            "zero_optimization.stage",
        ),
        (
            "ds.py",
            r#"{"train_micro_batchsize_per_gpu": 4, "zero_optimization": {"stage": 2}}"#,
            "batch-size",
            "train_micro_batch_size_per_gpu",
        ),
        (
            "ds.py",
            r#"{"train_batch_size": 8, "gradient_cliping": 0.5}"#,
            "default-clipping",
            "gradient_clipping",
        ),
    ] {
        sandbox.file("ds.json", text);
        let fixes = |words: &[&str], rule: &str| {
            let run = sandbox.run(["check", "--format", "json"].iter().chain(words));
            let answer: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
            let rows = answer["diagnostics"].as_array().unwrap().clone();
            let row = rows.iter().find(|row| row["rule"] == rule).cloned();
            row.map(|row| row["fixes"].clone())
        };
        let ranks = ["--nproc-per-node", "2", "--deepspeed", "ds.json"];
        let command = [&ranks[..], &["--", "python", script]].concat();
        let found = fixes(&command, rule).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(found[0]["to"], right, "{text}: {found}");
        assert_eq!(found.as_array().unwrap().len(), 1, "{text}: {found}");
        // Without a command, if it is found at all.
        if let Some(found) = fixes(&["ds.json"], rule) {
            assert_eq!(found[0]["to"], right, "{text}: {found}");
        }
    }
    // A problem of another cause keeps its fix.
    sandbox.file(
        "ds.json",
        r#"{"zero_optimisation": {"stage": 2}, "fp16": {"enabled": true}, "bf16": {"enabled": true}}"#,
    );
    let run = sandbox.run(["check", "ds.json"]);
    for help in [
        "help: did you mean `zero_optimization`? rename zero_optimisation to zero_optimization\n",
        "help: set fp16.enabled to false, or set bf16.enabled to false\n",
    ] {
        assert!(run.stdout.contains(help), "{run:?}");
    }
    // What it brings to light is to be decided.
    sandbox.file("ds.json", r#"{"zero_optimisation": {"stage": 7}}"#);
    let run = sandbox.run(["check", "ds.json"]);
    let help = "help: did you mean `zero_optimization`?\n";
    assert!(run.stdout.contains(help), "{run:?}");
}

/// Where `check --fix` is shown, it changes the file, and ends with nothing that it could still do.
#[test]
fn a_shown_correction_is_made() {
    let sandbox = Sandbox::new();
    for (section, name) in [
        ("", "stage"),
        ("", "pin_memory"),
        ("", "enabled"),
        ("", "device"),
        ("", "lr"),
        ("", "overlap_comm"),
        ("zero_optimization", "device"),
        ("zero_optimization", "overlapp_comm"),
        ("zero_optimization", "max_live_parameters"),
        ("optimizer", "lr"),
        ("optimizer", "typ"),
        ("scheduler", "warmup_steps"),
    ] {
        for others in [
            serde_json::json!({}),
            serde_json::json!({"zero_optimization": {}, "optimizer": {}, "scheduler": {}}),
            serde_json::json!({"zero_optimization": {"stage": 3, "overlap_comm": true, "stage3_max_live_parameters": 1,
                "offload_param": {"device": "cpu"}, "offload_optimizer": {"device": "cpu", "pin_memory": false}}}),
            serde_json::json!({"zero_optimization": true, "fp16": {}, "bf16": {}, "optimizer": {"type": "AdamW"},
                "scheduler": {"type": "WarmupLR", "params": {}}}),
            serde_json::json!({"optimizer": {"type": "Lion", "params": {"lr": 1}}, "scheduler": {"params": {"warmup_num_steps": 2}}}),
        ] {
            let mut config = others.clone();
            let place = if section.is_empty() {
                &mut config
            } else {
                &mut config[section]
            };
            if !(place.is_object() || place.is_null()) {
                continue;
            }
            place[name] = 1.into();
            let text = config.to_string();
            sandbox.file("ds.json", &text);
            let shown = sandbox.run(["check", "ds.json"]);
            let is_shown = shown.stdout.contains(": zlaunch check --fix ")
                || shown.stdout.contains("? zlaunch check --fix ");
            let run = sandbox.run(["check", "--fix", "ds.json"]);
            let is_made = run.stderr.starts_with("fixed: ");
            assert_eq!(is_shown, is_made, "{text}: {shown:?} {run:?}");
            assert!(!run.stdout.contains("zlaunch check --fix "), "{run:?}");
        }
    }
}

/// What brings other warnings to light is no reason to give up what was written.
#[test]
fn a_fix_keeps_the_values_of_others() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "hf.py",
        "from transformers import HfArgumentParser, Trainer, TrainingArguments\n\
         args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(None, args).train()\n",
    );
    sandbox.file(
        "ds.json",
        r#"{"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4, "zero_optimization": {"stage": 2}}"#,
    );
    for (line, help) in [
        (
            "--nproc-per-node 2 --deepspeed ds.json -- python hf.py --output_dir out",
            "help: --per_device_train_batch_size 4 (for the trainer)",
        ),
        (
            "--deepspeed ds.json -- deepspeed --num_gpus two hf.py --output_dir out",
            "help: --num_gpus 2\n",
        ),
        // The misspelling of an option hides less than the config's value.
        (
            "--nproc-per-node 2 --deepspeed ds.json -- python hf.py --output_dir out --per_device_train_batchsize 4 --gradient_accumulation_steps 4",
            "`train_micro_batch_size_per_gpu` is 4 in the config, but the trainer defaults to 8",
        ),
    ] {
        let run = sandbox.run(format!("check {line}").split(' '));
        assert!(run.stdout.contains(help), "{line}: {run:?}");
        if line.contains("batchsize") {
            let meant = run
                .stdout
                .matches("help: did you mean `--per_device_train_batch_size`?\n");
            assert_eq!(meant.count(), 3, "{line}: {run:?}");
        }
    }
}

/// The first help, with these options for zlaunch and the trainer.
#[test]
fn what_was_written_is_kept() {
    let sandbox = Sandbox::new();
    let zero3 = |inside: &str| {
        format!(
            r#"{{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {{"stage": 3, {inside}}}}}"#
        )
    };
    sandbox.file("patch.json", r#"{"zero_optimisation": {"stage": 3}}"#);
    sandbox.file(
        "operation.json",
        r#"{"op": "remove", "path": "/zero_optimization"}"#,
    );
    for (config, options, help) in [
        (
            zero3(r#""offload_param": {"cpu": true}"#),
            "",
            "offload_param.device=cpu\n",
        ),
        (
            zero3(r#""offload_optimizer": {"enabled": true}"#),
            "",
            "offload_optimizer.device=cpu\n",
        ),
        (
            zero3(
                r#""pin_memory": true, "offload_param": {"device": "cpu"}, "offload_optimizer": {"device": "cpu"}"#,
            ),
            "",
            "--set zero_optimization.offload_optimizer.pin_memory=true --set zero_optimization.offload_param.pin_memory=true\n",
        ),
        // Of two sections, only the one without a device can be meant.
        (
            zero3(
                r#""device": "cpu", "offload_param": {"pin_memory": true}, "offload_optimizer": {"device": "cpu"}"#,
            ),
            "",
            "--unset zero_optimization.device --set zero_optimization.offload_param.device=cpu\n",
        ),
        (
            zero3(r#""offload_param.device": "cpu""#),
            "",
            "--unset zero_optimization.offload_param.device --set zero_optimization.offload_param.device=cpu\n",
        ),
        (
            zero3(r#""reduce_bucket_size": "large""#),
            "",
            "help: write a whole number above 0\n",
        ),
        (
            zero3(r#""overlap_comm": true"#),
            "--patch patch.json ",
            "help: did you mean `zero_optimization`?\n",
        ),
        (
            zero3(r#""overlap_comm": true"#),
            "--patch operation.json ",
            "put it in [ ]",
        ),
        (
            r#"{"deepspeed": {"zero_optimization": {"stage": 3}}}"#.to_string(),
            "",
            "take the contents out of `deepspeed`",
        ),
        (
            r#"{"per_device_train_batch_size": 2, "zero_optimization": {"stage": 3}}"#.to_string(),
            "",
            "--set train_micro_batch_size_per_gpu=2\n",
        ),
    ] {
        sandbox.file("train.py", "import deepspeed\ndeepspeed.initialize()\n");
        sandbox.file("ds.json", config);
        let words = format!(
            "check --nproc-per-node 2 {options}-- python train.py --deepspeed_config ds.json"
        );
        let run = sandbox.run(words.split(' '));
        assert!(run.stdout.contains(help), "{help}: {run:?}");
    }
    sandbox.installed("ms_swift", "4.6.0");
    sandbox.installed("transformers", "5.19.0");
    for (set, help) in [
        (
            "learning_rate=2e-5",
            "dataset c/d --learning_rate 0.00002\n",
        ),
        ("lr=2e-5", "dataset c/d --learning_rate 0.00002\n"),
        (
            "optimizer.params.learning_rate=2e-5",
            "dataset c/d --learning_rate 0.00002\n",
        ),
        (
            "train_batch_size=64",
            "help: --gradient_accumulation_steps 32 (for the trainer), or ",
        ),
        (
            "train_batch_size=63",
            "help: --set train_batch_size=auto, or ",
        ),
        (
            "zero_stage=3",
            "help: it belongs in `zero_optimization.stage`: --set zero_optimization.stage=3",
        ),
        (
            "zero_optimization.cpu_offload=true",
            "--set zero_optimization.offload_optimizer.device=cpu",
        ),
        (
            "zero_optimization.offload_optimizer.pin=true",
            "offload_optimizer.pin_memory=true",
        ),
        (
            "zero_optimization.bucket_size=2e8",
            "did you mean `reduce_bucket_size`?",
        ),
        (
            "zero_optimization.offload_optimizer.device=gpu",
            "help: --set zero_optimization.offload_optimizer.device=none",
        ),
        ("bf16=on", "help: --set bf16.enabled=true"),
        (
            "lr=2e-5 --env PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True;max_split_size_mb=128",
            "--env PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,max_split_size_mb:128",
        ),
    ] {
        let line = format!(
            "check --nproc-per-node 2 --deepspeed zero3 --set {set} -- swift sft --model a/b --dataset c/d"
        );
        let run = sandbox.run(line.split(' '));
        assert!(run.stdout.contains(help), "{set}: {run:?}");
    }
    sandbox.file(
        "ds.json",
        r#"{"gradient_clipping": "auto", "gradient_clip_norm": 0.5}"#,
    );
    let run = sandbox.run(["check", "ds.json"]);
    let help = "help: remove gradient_clip_norm, and set gradient_clipping to 0.5\n";
    assert!(run.stdout.contains(help), "{run:?}");
    // The argument counts.
    let line = "check --nproc-per-node 2 --deepspeed zero2 --set learning_rate=2e-5 -- swift sft --model a/b --dataset c/d --learning_rate 1e-5";
    let run = sandbox.run(line.split(' '));
    assert!(
        run.stdout.contains("help: drop --set learning_rate=2e-5"),
        "{run:?}"
    );
}

#[test]
fn a_comment_is_not_taken_for_a_misspelt_key() {
    let sandbox = Sandbox::new();
    let text = r#"{"zero_optimization": {"stage": 2, "_comment": true}, "train_batch_size": 16}"#;
    sandbox.file("ds.json", text);
    let run = sandbox.run(["check", "--fix", "ds.json"]);
    let fixed = std::fs::read_to_string(sandbox.cwd().join("ds.json")).unwrap();
    assert_eq!(fixed, text, "{run:?}");
    assert!(
        run.stdout.contains("zero_optimization._comment") && !run.stdout.contains("overlap"),
        "{run:?}"
    );
}
