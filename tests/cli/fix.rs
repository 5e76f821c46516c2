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
    fs::set_permissions(sandbox.cwd().join("ds.json"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("ds.json", sandbox.cwd().join("link.json")).unwrap();
    let run = sandbox.run(["check", "link.json", "--fix"]);
    assert_eq!(fs::read_to_string(sandbox.cwd().join("ds.json")).unwrap(), RIGHT, "{run:?} {file:?}");
    assert_eq!(run.status, Some(0), "{run:?}");
    for said in [
        "`zero_optimization.overlapp_comm` is `overlap_comm` now",
        "`zero_optimization.stage` is 3 now",
        "`amp` is removed",
    ] {
        assert!(run.stderr.contains(said), "{run:?}");
    }
    let seen = fs::symlink_metadata(sandbox.cwd().join("link.json")).unwrap();
    let mode = fs::metadata(sandbox.cwd().join("ds.json")).unwrap().permissions().mode() & 0o777;
    assert!(seen.file_type().is_symlink() && mode == 0o640, "{mode:o}");
    // Once more, there is nothing to do.
    let run = sandbox.run(["check", "--fix", "ds.json"]);
    assert!(!run.stderr.contains("fixed") && run.status == Some(0), "{run:?}");
    assert_eq!(fs::read_to_string(sandbox.cwd().join("ds.json")).unwrap(), RIGHT);
}

#[test]
fn what_is_not_sure_is_left_alone() {
    let sandbox = Sandbox::new();
    let text = r#"{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 4, "nonsense": 1}}"#;
    sandbox.file("ds.json", text);
    let run = sandbox.run(["check", "--fix", "ds.json"]);
    assert_eq!(
        (run.status, fs::read_to_string(sandbox.cwd().join("ds.json")).unwrap().as_str()),
        (Some(1), text),
        "{run:?}"
    );
    sandbox
        .run(["check", "--fix", "--deepspeed", "ds.json", "--", "swift", "sft"])
        .refused(&["`--fix` mends the files of configs"]);
}

#[test]
fn the_line_is_shown_with_a_mark() {
    let sandbox = Sandbox::new();
    sandbox.file("ds.json", "{\n\t\"zero_optimization\": {\"stage\": 2, \"overlapp_comm\": true}\n}\n");
    let run = sandbox.run(["check", "ds.json"]);
    let shown = "   |\n 2 |  \"zero_optimization\": {\"stage\": 2, \"overlapp_comm\": true}\n   |                                    ^^^^^^^^^^^^^^^\n";
    assert!(run.stdout.contains(shown), "{}", run.stdout);
    // A line with a secret is not.
    sandbox
        .file("ds.json", "{\"zero_optimization\": {\"stagee\": 2}, \"comet\": {\"api_key\": \"abcdefgh12345678\"}}\n");
    let run = sandbox.run(["check", "ds.json"]);
    assert!(
        run.stdout.contains("stagee") && !run.stdout.contains("abcdefgh12345678") && !run.stdout.contains('^'),
        "{}",
        run.stdout
    );
}

#[test]
fn every_mistake_of_json_has_a_help_of_its_own() {
    let sandbox = Sandbox::new();
    for (text, help) in [
        ("{'a': 1}", "write \"…\" around"),
        ("{“a”: 1}", "write \"…\" around"),
        ("{\"a\": 1 # x\n}", "write // in front"),
        ("{\"a\": NaN}", "write another number"),
        ("{\"a\": True}", "write it in lowercase"),
        ("{\"a\": 1 \"b\": 2}", "put a comma behind"),
        ("a:\n  b: 2\n", "a DeepSpeed config is JSON"),
        ("{a: 1}", "put the name between"),
        ("{\"a\": 1,, }", "leave it out"),
    ] {
        sandbox.file("ds.json", text);
        let run = sandbox.run(["check", "ds.json"]);
        assert!(run.stdout.contains(&format!("  help: {help}")), "{text}: {}", run.stdout);
    }
    sandbox.file("ds.json", "{\n // fine\n \"train_micro_batch_size_per_gpu\": 1,\n}\n");
    assert_eq!(sandbox.run(["check", "ds.json"]).status, Some(0));
}
