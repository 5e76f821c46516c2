//! Unit tests of `src/command/trainer/axolotl.rs`.

use super::*;

#[test]
fn options_are_passed_to_the_module_as_axolotl_passes_them() {
    // Seen on the real one: what its module was started with.
    let seen = [
        (
            "x.yml --max-steps 5 --no-shard --dpo-norm-loss --micro-batch-size=4 --debug --no-debug-text-only",
            "x.yml --max-steps=5 --shard=False --dpo-norm-loss=True --micro-batch-size=4 --debug=True --debug-text-only=False",
        ),
        ("x.yml --adapter lora --bf16=true", "x.yml --adapter=lora --bf16=true"),
    ];
    for (line, passed) in seen {
        assert_eq!(passed_on(line, None), Some((words(passed), Vec::new())), "{line}");
    }
    for line in [
        "x.yml --nproc_per_node 2",
        "x.yml --launcher torchrun",
        "x.yml --use-ray",
        "x.yml -- --num_processes 2",
        "x.yml y",
        "x.yml --fp16 true",
    ] {
        assert_eq!(passed_on(line, None), None, "{line}");
    }
    assert_eq!(
        refused("x.yml --max_steps 5 --micro_batch_size=2", None),
        ["did you mean `--max-steps`?", "did you mean `--micro-batch-size`?"]
    );
    assert_eq!(renamed_flag(&"--micro-batch-size=4".into()), "--per_device_train_batch_size=4");
    assert_eq!(renamed_flag(&"--micro_batch_size".into()), "--per_device_train_batch_size");
}

#[test]
fn options_are_those_of_the_installed_version() {
    // `Optional[bool]` was a value up to 0.14, and is a switch since. Before 0.12.2, which is the first that is recorded,
    // that one counts.
    for (version, line, passed) in [
        ("0.9.2", "x.yml --fp16 true --no-shard", Some("x.yml --fp16=true --shard=False")),
        ("0.12.2", "x.yml --fp16 true --no-shard", Some("x.yml --fp16=true --shard=False")),
        ("0.12.2", "x.yml --num-processes 4", None),
        ("0.14.0", "x.yml --trl x", Some("x.yml --trl=x")),
        ("0.15.0", "x.yml --fp16", Some("x.yml --fp16=True")),
        ("0.15.0", "x.yml --trl x", None),
        ("0.13.0.dev0", "x.yml --center-rewards-coefficient 1", None),
        ("0.13.1", "x.yml --center-rewards-coefficient 1", Some("x.yml --center-rewards-coefficient=1")),
    ] {
        let passed = passed.map(|passed| (words(passed), Vec::new()));
        assert_eq!(passed_on(line, Some(version)), passed, "{version} {line}");
    }
    assert_eq!(refused("x.yml --lora_r 8 --debug", Some("0.13.1")), ["did you mean `--lora-r`?"]);
}

fn words(line: &str) -> Vec<OsString> {
    line.split(' ').map(OsString::from).collect()
}

fn passed_on(line: &str, version: Option<&str>) -> Option<(Vec<OsString>, Vec<Problem>)> {
    module_args(&words(line), version)
}

fn refused(line: &str, version: Option<&str>) -> Vec<String> {
    let (_, problems) = passed_on(line, version).unwrap();
    problems.into_iter().map(|problem| problem.help).collect()
}
