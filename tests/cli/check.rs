//! `zlaunch check`: every combination that fails or is mishandled by DeepSpeed has a case that fails without its rule.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::sandbox::{SWIFT, Sandbox, Share, side_by_side};

/// One case a line: what is merged over a config that nothing is said about, and what is said then. Without a `rule`, nothing is said but
/// notes, and the rule `not` says nothing at all.
const CASES: &str = include_str!("../data/check-cases.jsonl");
/// The 37 combinations and 14 removed keys that were found in DeepSpeed and accelerate.
const COMBINATIONS: &str = include_str!("../data/deepspeed-combinations.txt");

const TRAIN: &str = "import deepspeed\ndeepspeed.initialize()\n";

pub(crate) fn sandbox(case: &Value) -> Sandbox {
    let mut sandbox = Sandbox::new();
    if let Some(version) = case["version"].as_str() {
        sandbox.installed("deepspeed", version);
    }
    if let Some(version) = case["swift"].as_str() {
        sandbox.installed("ms_swift", version);
    }
    for (package, version) in case["installed"].as_object().into_iter().flatten() {
        sandbox.installed(package, version.as_str().unwrap());
    }
    for (name, text) in case["site"].as_object().into_iter().flatten() {
        sandbox.put(
            &format!("env/lib/python3.11/site-packages/{name}"),
            text.as_str().unwrap(),
        );
    }
    for (name, value) in case["env"].as_object().into_iter().flatten() {
        sandbox.var(name, value.as_str().unwrap());
    }
    for (name, text) in case["files"].as_object().into_iter().flatten() {
        sandbox.file(name, text.as_str().unwrap());
    }
    fill(&sandbox, case);
    sandbox
}

/// The script, the model and the config of a case.
fn fill(sandbox: &Sandbox, case: &Value) {
    sandbox.file(
        "train.py",
        format!("{TRAIN}{}", case["script"].as_str().unwrap_or_default()),
    );
    sandbox.file(
        "model/config.json",
        r#"{"hidden_size": 4096, "model_type": "llama"}"#,
    );
    let mut config = base(case["on"].is_string());
    merge(&mut config, &case["merge"]);
    sandbox.file("ds.json", format!("{config:#}"));
}

/// Nothing is wrong or odd about these.
fn base(hf: bool) -> Value {
    if hf {
        return json!({
            "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto",
            "gradient_clipping": "auto", "bf16": {"enabled": "auto"},
            "zero_optimization": {"stage": 2, "overlap_comm": false},
        });
    }
    json!({
        "train_micro_batch_size_per_gpu": 1, "gradient_clipping": 1.0, "zero_optimization": {"stage": 2},
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-5}},
    })
}

/// A section of the case replaces that of the base; null removes it (but a null `fp16` is what one case is about).
fn merge(config: &mut Value, change: &Value) {
    let object = config.as_object_mut().unwrap();
    for (key, value) in change.as_object().into_iter().flatten() {
        match value {
            Value::Null if key != "fp16" => drop(object.shift_remove(key)),
            _ => drop(object.insert(key.clone(), value.clone())),
        }
    }
}

/// What `check` says, as (rule, severity, everything else in one text). Cases with nothing of their own around them share a sandbox.
fn said(
    case: &Value,
    shared: &Sandbox,
    more: &[&str],
) -> (Vec<(String, String, String)>, Option<i32>) {
    let is_plain = ["version", "swift", "installed", "site", "env", "files"]
        .iter()
        .all(|key| case[*key].is_null());
    let own = (!is_plain).then(|| sandbox(case));
    let sandbox = own.as_ref().unwrap_or(shared);
    if is_plain {
        fill(shared, case);
    }
    let run = sandbox.answer(words(case, more));
    assert!(matches!(run.status, Some(0 | 1)), "{case}: {run:?}");
    let plan: Value = serde_json::from_str(&run.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let row = |it: &Value| {
        (
            text(&it["rule"]),
            text(&it["severity"]),
            it.to_string().replace("\\\"", "\""),
        )
    };
    (
        plan["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .map(row)
            .collect(),
        run.status,
    )
}

/// The words of a case, with more options.
pub(crate) fn words(case: &Value, more: &[&str]) -> Vec<String> {
    let ranks = case
        .get("ranks")
        .map_or(Some(2), Value::as_u64)
        .map(|ranks| ranks.to_string());
    let mut words = vec!["check", "--format", "json"];
    words.extend(more);
    words.extend(
        ranks
            .as_ref()
            .into_iter()
            .flat_map(|ranks| ["--nproc-per-node", ranks]),
    );
    words.push("--");
    match case["on"].as_str() {
        Some("swift") => words.extend(SWIFT.iter().chain(&["--deepspeed", "ds.json"])),
        Some("xtuner") => words.extend(["xtuner", "train", "config.py", "--deepspeed", "ds.json"]),
        _ => words.extend(["python", "train.py", "--deepspeed_config", "ds.json"]),
    }
    words.extend(
        case["args"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|word| word.as_str().unwrap()),
    );
    words.into_iter().map(str::to_string).collect()
}

pub(crate) fn cases() -> impl Iterator<Item = Value> {
    CASES
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
}

side_by_side!(every_case_gets_its_diagnostic_and_no_other);

fn every_case_gets_its_diagnostic_and_no_other(share: &Share) {
    let shared = Sandbox::new();
    let wrong: Vec<String> = share
        .of(cases())
        .filter_map(|case| wrong_answer(&case, &shared))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} cases\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn wrong_answer(case: &Value, shared: &Sandbox) -> Option<String> {
    let (found, status) = said(case, shared, &[]);
    let mut loud = found.iter().filter(|(_, severity, _)| severity != "note");
    // A false alarm, also as a note.
    if found.iter().any(|(rule, ..)| case["not"] == *rule) {
        return Some(format!("{case}: {found:#?}"));
    }
    let good = match case["rule"].as_str() {
        None => loud.next().is_none(),
        Some(rule) => {
            let (severity, says) = (
                case["severity"].as_str().unwrap(),
                case["says"].as_str().unwrap(),
            );
            let there = found
                .iter()
                .any(|it| it.0 == rule && it.1 == severity && it.2.contains(says));
            let also = case["also"].as_str().unwrap_or_default();
            let also: Vec<&str> = also.split(' ').collect();
            there
                && loud.all(|it| it.0 == rule || also.contains(&it.0.as_str()))
                && status == Some(i32::from(severity == "error"))
        }
    };
    (!good).then(|| format!("{case}: {found:#?}"))
}

#[test]
fn a_rule_that_is_allowed_says_nothing() {
    let (mut tried, shared) = (BTreeSet::new(), Sandbox::new());
    // Errors end a launch; that of warnings is the same list of names.
    for case in cases().filter(|case| case["severity"] == "error" && case["rule"] != "ranks") {
        let rule = case["rule"].as_str().unwrap();
        if tried.insert(rule.to_string()) {
            let (found, status) = said(&case, &shared, &["--allow", rule]);
            assert!(
                !found.iter().any(|it| it.0 == rule) && status == Some(0),
                "{case}: {found:#?}"
            );
        }
    }
}

/// Fifty are printed, and all are counted.
#[test]
fn many_problems_are_counted_and_fifty_are_printed() {
    let sandbox = Sandbox::new();
    for (top, zero, counted, more) in [
        (
            60,
            60,
            "61 errors, 60 warnings, 1 note",
            "and 72 more problems",
        ),
        (
            60,
            10,
            "11 errors, 60 warnings, 1 note",
            "and 22 more problems",
        ),
    ] {
        let named = |name: &str, count: usize| {
            (0..count)
                .map(|at| (format!("{name}_{at}"), json!(1)))
                .collect()
        };
        let mut config: serde_json::Map<String, Value> = named("top", top);
        let mut section: serde_json::Map<String, Value> = named("zero", zero);
        section.insert("stage".to_string(), json!(2));
        config.extend([
            ("zero_optimization".to_string(), section.into()),
            ("bf16".to_string(), json!({"enabled": 3})),
        ]);
        sandbox.file("many.json", json!(config).to_string());
        let said = sandbox.run(["check", "many.json"]).stdout;
        let told: Vec<&str> = said
            .lines()
            .filter(|line| line.starts_with(['e', 'w']) && line.contains("]: "))
            .collect();
        assert!(
            told.len() == 50 && told.iter().all(|line| line.contains('`')),
            "{said}"
        );
        assert!(said.contains(counted) && said.contains(more), "{said}");
        let report = sandbox
            .run(["check", "--format", "json", "many.json"])
            .stdout;
        let found = serde_json::from_str::<Value>(&report).unwrap()["diagnostics"]
            .as_array()
            .unwrap()
            .clone();
        assert!(
            found.len() == top + zero + 2 && found.iter().all(|it| it["message"] != ""),
            "{}",
            found.len()
        );
    }
}

/// One process with a WORLD_SIZE from elsewhere would wait for ranks that nobody starts, or find a group of one.
#[test]
fn a_stray_world_size_does_not_reach_the_rank() {
    let mut sandbox = sandbox(&json!({}));
    sandbox.var("WORLD_SIZE", "8");
    let plan = sandbox.plan(
        &["--nnodes", "1", "--nproc-per-node", "1"],
        &["python", "train.py", "--deepspeed_config", "ds.json"],
    );
    assert_eq!(
        (
            &plan["env"]["set"]["WORLD_SIZE"],
            &plan["env"]["set"]["RANK"]
        ),
        (&json!("1"), &json!("0")),
        "{plan}"
    );
}

#[test]
fn every_combination_has_a_case() {
    // Not about a config: `gpus_by_their_names` in tests/library/check.rs, and the test above.
    const ELSEWHERE: &[&str] = &[
        "fp16/bf16 not supported by the GPU",
        "WORLD_SIZE > 1 but zero.Init sees a 1-rank group",
    ];
    let covered: BTreeSet<String> = cases()
        .map(|case| case["combination"].as_str().unwrap().to_string())
        .collect();
    let missing: Vec<&str> = COMBINATIONS
        .lines()
        .filter(|line| !covered.contains(*line) && !ELSEWHERE.contains(line))
        .collect();
    assert!(
        missing.is_empty() && COMBINATIONS.lines().count() == 50,
        "{missing:#?}"
    );
}

/// No rule without a case, by the table of docs/check.md.
#[test]
fn every_rule_has_a_case() {
    // The models of GPUs are in tests/library/check.rs, nvcc beside one is in tests/real/slurm/planted.py, what the shell did to SIGHUP is in exec.rs, what is not there in
    // missing.rs, what the trainers refuse in arguments.rs and refusals.rs, checkpoints in last_look.rs.
    const ELSEWHERE: &[&str] = &[
        "precision-of-gpu",
        "no-nvcc",
        "nohup-undone",
        "script-missing",
        "module-missing",
        "model-unreadable",
        "weights-missing",
        "dataset-unreadable",
        "checkpoint-ranks",
        "argument",
        "argument-missing",
        "text-for-number",
    ];
    let tables =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/check.md")).unwrap();
    let (_, rest) = tables.split_once("<!-- check -->").unwrap();
    let table = rest.split_once("<!-- end -->").unwrap().0;
    let names = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let covered: BTreeSet<String> = cases()
        .filter_map(|case| case["rule"].as_str().map(str::to_string))
        .collect();
    let missing: Vec<&str> = names
        .filter(|name| !covered.contains(*name) && !ELSEWHERE.contains(name))
        .collect();
    assert!(
        missing.is_empty() && table.lines().count() > 50,
        "{missing:?}"
    );
}

#[test]
fn built_in_templates_cause_no_diagnostic() {
    let sandbox = Sandbox::new();
    sandbox.file("train.py", "from transformers import Trainer\n");
    let nvme = ["offload_optimizer", "offload_param"]
        .map(|it| format!("zero_optimization.{it}.nvme_path=/local/x"));
    for name in sandbox
        .run(["templates"])
        .stdout
        .lines()
        .filter(|line| !line.starts_with(' '))
    {
        let name = name.split_whitespace().next().unwrap();
        let mut words = vec![
            "check",
            "--strict",
            "--nproc-per-node",
            "16",
            "--deepspeed",
            name,
        ];
        if name == "zero3_nvme" {
            words.extend(["--set", &nvme[0], "--set", &nvme[1]]);
        }
        // The low-memory recipe fixes the global batch.
        let (ranks, steps) = if name == "zero3_lowmem" {
            ("16", "1")
        } else {
            ("8", "16")
        };
        words[3] = ranks;
        // ms-swift fails with the optimizer sections of HF's own.
        let hf = ["--", "python", "train.py", "--model_name_or_path", "a/b"].as_slice();
        let swift = [
            "--",
            "swift",
            "sft",
            "--model",
            "a/b",
            "--tuner_type",
            "full",
        ]
        .as_slice();
        words.extend(if name.starts_with("hf_") { hf } else { swift });
        words.extend([
            "--per_device_train_batch_size",
            "1",
            "--gradient_accumulation_steps",
            steps,
        ]);
        let run = sandbox.run(&words);
        assert_eq!(run.status, Some(0), "{name}: {}", run.stdout);
        assert!(
            run.stdout.contains(" notes\nchecked: ") || run.stdout.contains(" note\nchecked: "),
            "{name}: {}",
            run.stdout
        );
    }
}

/// The last line of the text, as data.
#[test]
fn the_answer_says_what_it_rests_on() {
    let sandbox = Sandbox::new();
    sandbox.file("ds.json", r#"{"train_micro_batch_size_per_gpu": 1}"#);
    let launch = [
        "--deepspeed",
        "zero2",
        "--nproc-per-node",
        "2",
        "--",
        "swift",
        "sft",
        "--model",
        "a/b",
    ];
    for (words, checked, unchecked, rehearsal) in [
        (
            &launch[..],
            "the config against DeepSpeed 0.19.8",
            "the dataset",
            "zlaunch rehearse ",
        ),
        (
            &["--", "ls"],
            "whether `ls` can be started",
            "what it does",
            "",
        ),
        (
            &["ds.json"],
            "the config against DeepSpeed 0.19.8",
            "what depends on the trainer or the number of ranks, such as batch sizes and \"auto\" values",
            "",
        ),
    ] {
        let run = sandbox.run([&["check", "--format", "json"], words].concat());
        let answer: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(
            (&answer["checked"][0], &answer["not_checked"][0]),
            (&checked.into(), &unchecked.into()),
            "{words:?}"
        );
        assert!(
            answer["rehearsal"]
                .as_str()
                .unwrap_or_default()
                .starts_with(rehearsal),
            "{answer}"
        );
        assert_eq!(
            answer["rehearsal"].is_null(),
            rehearsal.is_empty(),
            "{answer}"
        );
        let text = sandbox.run([&["check"], words].concat()).stdout;
        // No Python runs, so nothing is imported.
        assert!(!sandbox.executed());
        for phrase in ["checked", "not_checked"]
            .iter()
            .flat_map(|name| answer[name].as_array().unwrap())
        {
            let is_config = words[0] == "ds.json" && *phrase == checked;
            assert!(
                is_config || text.contains(phrase.as_str().unwrap()),
                "{phrase}: {text}"
            );
        }
    }
}

#[test]
fn a_launch_runs_the_same_rules() {
    let case = json!({"merge": {"amp": {}, "use_dynamic_tiling": true, "zero_optimization": {"stage": 4}}});
    let errors = sandbox(&case);
    let command = [
        "--nproc-per-node",
        "2",
        "--",
        "python",
        "train.py",
        "--deepspeed_config",
        "ds.json",
    ];
    let run = errors.run(command);
    run.refused(&[
        "error[removed-key]",
        "error[wrong-value]",
        "warning[ignored-key]",
        "ds.json:",
    ]);
    assert!(
        !errors.executed() && !run.stderr.contains("note["),
        "{run:?}"
    );

    let warnings = sandbox(&json!({"merge": {"use_dynamic_tiling": true}}));
    let run = warnings.run(command);
    assert!(warnings.executed() && run.status == Some(0), "{run:?}");
    assert_eq!(
        run.stderr.matches("warning[ignored-key]").count(),
        1,
        "{run:?}"
    );
    warnings
        .run([&["--strict"], command.as_slice()].concat())
        .refused(&["error[ignored-key]"]);
    let run = warnings.run([&["--strict", "--allow", "ignored-key"], command.as_slice()].concat());
    run.succeeded_silently();
}

#[test]
fn all_errors_are_reported_at_once() {
    let case = json!({"on": "swift", "merge": {
        "amp": {}, "train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2, "allgather_bucket_size": "auto", "x": 1}}});
    let (found, status) = said(&case, &Sandbox::new(), &[]);
    let rules: BTreeSet<&str> = found
        .iter()
        .filter(|it| it.1 == "error")
        .map(|it| it.0.as_str())
        .collect();
    assert_eq!(
        rules,
        BTreeSet::from(["auto", "mismatch", "removed-key", "unknown-key"]),
        "{found:#?}"
    );
    assert_eq!(status, Some(1));
}

#[test]
fn a_diagnostic_points_to_where_the_key_was_written() {
    let sandbox = sandbox(&json!({}));
    sandbox
        .file("ds.json", "{\n  // mine\n  \"zero_optimization\": {\"stage\": 2, \"overlapp\": 1},\n  \"amp\": {}\n}\n");
    sandbox.file("patch.json", "{\"eigenvalue\": {}}");
    sandbox.file(
        "site.json",
        "{\"$zlaunch\": {\"extends\": \"zero2\"},\n\"nebula\": {}}",
    );
    let places = |options: &[&str]| {
        let command = [
            "--trainer",
            "hf",
            "--nproc-per-node",
            "2",
            "--",
            "python",
            "train.py",
        ];
        let run = sandbox.run([&["check", "--format", "json"], options, &command].concat());
        let plan: Value = serde_json::from_str(&run.stdout).unwrap();
        let rows = plan["diagnostics"].as_array().unwrap();
        rows.iter()
            .flat_map(|it| it["where"].as_array().unwrap())
            .map(Value::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let own = places(&[
        "--deepspeed",
        "ds.json",
        "--set",
        "elasticity=1",
        "--patch",
        "patch.json",
    ]);
    for place in [
        "ds.json:3:37",
        "ds.json:4:3",
        "--set elasticity=1",
        "patch.json:1:2",
    ] {
        assert!(own.contains(place), "{place}: {own}");
    }
    let site = places(&["--deepspeed", "site.json"]);
    assert!(site.contains("site.json:2:1"), "{site}");
    let section = places(&["--deepspeed", "zero2", "--set", "fp16={\"loss_scal\":1}"]);
    assert!(section.contains("--set fp16="), "{section}");
    let built_in = places(&[
        "--deepspeed",
        "zero2_offload",
        "--set",
        "zero_optimization.stage=0",
    ]);
    assert!(
        built_in.contains("template zero2_offload, zero_optimization.offload_optimizer"),
        "{built_in}"
    );
    assert!(
        built_in.contains("--set zero_optimization.stage=0"),
        "{built_in}"
    );
}

/// What was written stays, or is told, where a key was written in another way.
#[test]
fn a_fix_keeps_what_the_config_says() {
    let sandbox = Sandbox::new();
    let zero3 = |inside: &str| format!(r#"{{"zero_optimization": {{"stage": 3, {inside}}}}}"#);
    for (config, help) in [
        (
            r#"{"optimizer": "AdamW", "zero_optimization": {"stage": 2}}"#.to_string(),
            "--unset optimizer --set optimizer.type=AdamW --set optimizer.params.lr=auto",
        ),
        (
            r#"{"bf16": "auto", "zero_optimization": {"stage": 2}}"#.to_string(),
            "--unset bf16 --set bf16.enabled=auto",
        ),
        (
            r#"{"zero_optimization.stage": 3}"#.to_string(),
            "--unset zero_optimization.stage --set zero_optimization.stage=3",
        ),
        (
            r#"{"zero_optimization/stage": 3}"#.to_string(),
            "--unset zero_optimization/stage --set zero_optimization.stage=3",
        ),
        (
            r#"{"zero_optimization": "stage3"}"#.to_string(),
            "--unset zero_optimization --set zero_optimization.stage=3",
        ),
        (
            zero3(r#""stage3_prefetch_bucket": "auto""#),
            "did you mean `stage3_prefetch_bucket_size`? --unset zero_optimization.stage3_prefetch_bucket \
             --set zero_optimization.stage3_prefetch_bucket_size=auto",
        ),
        (
            zero3(r#""load_universal_checkpoint": true"#),
            "it belongs in `checkpoint.load_universal`: --unset zero_optimization.load_universal_checkpoint \
             --set checkpoint.load_universal=true",
        ),
        (
            zero3(r#""offload": "cpu""#),
            "did you mean `offload_optimizer`? --unset zero_optimization.offload \
             --set zero_optimization.offload_optimizer.device=cpu",
        ),
        (
            zero3(r#""offload_optimizer": {"device": "disk"}"#),
            "did you mean `\"nvme\"`?\n",
        ),
        (
            r#"{"fp16": {"enabled": true, "loss_scale": "dynamic"}, "zero_optimization": {"stage": 2}}"#.to_string(),
            "--set fp16.loss_scale=0\n",
        ),
        (
            r#"{"stage": 3}"#.to_string(),
            "--unset stage --set zero_optimization.stage=3",
        ),
        // Nobody knows what was meant.
        (
            r#"{"gradient_clipping": "O.5", "zero_optimization": {"stage": 2}}"#.to_string(),
            "write a number\n",
        ),
    ] {
        sandbox.file("ds.json", &config);
        let line = "check --nproc-per-node 2 --deepspeed ds.json -- python hf.py --output_dir out --fp16 false";
        sandbox.file("hf.py", "from transformers import HfArgumentParser, Trainer, TrainingArguments\n\
            args, = HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()\nTrainer(None, args).train()\n");
        let run = sandbox.run(line.split(' '));
        assert!(run.stdout.contains(&format!("  help: {help}")), "{config}: {}", run.stdout);
        assert!(!run.stdout.contains("zero_optimization.stage=0"), "{config}: {}", run.stdout);
    }
}

/// A key that a patch or a template adds is asked for, as with `--set`.
#[test]
fn a_misspelt_key_of_a_patch_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.file("patch.json", r#"{"zero_optimisation": {"stage": 3}}"#);
    sandbox.file(
        "comment.json",
        r#"{"_comment": "ours", "zero_optimization": {"stage": 3}}"#,
    );
    sandbox.file(
        "ours.json",
        r#"{"$zlaunch": {"extends": "zero2"}, "gradient_cliping": 1.0}"#,
    );
    for (options, refused) in [
        ("--deepspeed zero2 --patch patch.json", true),
        ("--deepspeed ours.json", true),
        ("--deepspeed zero2 --patch comment.json", false),
    ] {
        let line =
            format!("check --nproc-per-node 2 {options} -- swift sft --model a/b --dataset c/d");
        let run = sandbox.run(line.split(' '));
        assert_eq!(
            run.stdout.contains("error[ignored-key]"),
            refused,
            "{options}: {}",
            run.stdout
        );
    }
}

#[test]
fn a_refused_plan_is_printed_as_json_too() {
    let sandbox = sandbox(&json!({}));
    sandbox.file("bad.json", "{");
    let run = sandbox.run([
        "check",
        "--format",
        "json",
        "--nproc-per-node",
        "2",
        "--deepspeed",
        "bad.json",
        "--",
        "python",
        "x.py",
    ]);
    assert_eq!(run.status, Some(1), "{run:?}");
    let plan: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (&plan["config"], &plan["diagnostics"][0]["rule"]),
        (&Value::Null, &json!("json"))
    );
    // The command line itself is no subject of a check.
    sandbox
        .run(["check", "--nproc-per-node", "x", "--", "python"])
        .refused(&["whole number"]);
    sandbox
        .run(["check", "--allow", "ignored-keys", "--", "python"])
        .refused(&["did you mean `ignored-key`?"]);
    sandbox
        .run(["check", "--format", "shell", "--", "python"])
        .refused(&["one of text, json"]);
    let quiet = sandbox.run([
        "check",
        "-q",
        "--nproc-per-node",
        "2",
        "--",
        "python",
        "train.py",
        "--deepspeed_config",
        "ds.json",
    ]);
    assert_eq!(quiet.stdout, "0 errors, 0 warnings, 0 notes\n", "{quiet:?}");
}

/// The messages of `check`, by what they begin with.
fn heads(run: &crate::sandbox::Run) -> Vec<&str> {
    let is_head = |line: &&str| {
        ["error[", "warning[", "note["]
            .iter()
            .any(|start| line.starts_with(start))
    };
    run.stdout
        .lines()
        .chain(run.stderr.lines())
        .filter(is_head)
        .collect()
}

#[test]
fn one_problem_is_reported_once() {
    let sandbox = Sandbox::new();
    for (package, version) in [
        ("transformers", "5.19.0"),
        ("ms_swift", "4.6.0"),
        ("deepspeed", "0.19.8"),
        ("torch", "2.9.0"),
    ] {
        sandbox.installed(package, version);
    }
    sandbox.file("bad.yaml", "model: a/b\n\tdataset: c/d\n");
    sandbox.file("run.yaml", "model: a/b\n");
    sandbox.file(
        "hf.py",
        "import sys, deepspeed\nfrom transformers import HfArgumentParser, Trainer, TrainingArguments\n\
         parser = HfArgumentParser(TrainingArguments)\nif sys.argv[1].endswith('.json'):\n    \
         args, = parser.parse_json_file(sys.argv[1])\nelse:\n    args, = parser.parse_args_into_dataclasses()\n\
         Trainer(None, args).train()\n",
    );
    sandbox.file(
        "comma.json",
        "{\n  \"output_dir\": \"out\"\n  \"seed\": 1\n}\n",
    );
    sandbox.file(
        "key.json",
        "{\n  \"output_dir\": \"out\",\n  \"learning_rat\": 1e-5\n}\n",
    );
    for (words, expected) in [
        (
            "--set zero_optimization.stage 3 -- swift sft --model a/b --dataset c/d",
            "error[usage]: a value follows `=`, in the same word",
        ),
        (
            "--set zero_optimization.stage 3",
            "error[usage]: a value follows `=`, in the same word",
        ),
        (
            "-- swift sft --model a/b --dataset c/d --bf16 true --fp16 true",
            "error[two-precisions]",
        ),
        ("-- swift sft runn.yaml", "error[file]"),
        ("-- swift sft bad.yaml", "error[run-file]: not YAML"),
        (
            "-- swift sft --modle a/b --dataset c/d",
            "error[argument]: ms-swift 4.6.0 has no option `--modle`",
        ),
        (
            "-- python hf.py comma.json",
            "error[run-file]: not JSON: a `,` or a `}` is missing",
        ),
        (
            "-- python hf.py key.json",
            "error[argument]: neither hf.py nor transformers 5.19.0 has an option `learning_rat`",
        ),
    ] {
        let run = sandbox.run(
            "check --deepspeed zero2 --nproc-per-node 2"
                .split(' ')
                .chain(words.split(' ')),
        );
        let heads = heads(&run);
        assert!(
            heads.len() == 1 && heads[0].starts_with(expected),
            "{words}: {run:?}"
        );
    }
    let missing =
        sandbox.run("check --deepspeed zero2 --nproc-per-node 2 -- swift sft runn.yaml".split(' '));
    let (file, meant) = (
        sandbox.cwd().join("runn.yaml"),
        sandbox.cwd().join("run.yaml"),
    );
    assert!(missing.stdout.contains(&format!(
        "--> {}\n  help: did you mean `{}`?",
        file.display(),
        meant.display()
    )));
    // It is not its own next step.
    let rehearsed = sandbox
        .run("rehearse --deepspeed zero2 --nproc-per-node 2 -- swift sft --modle a/b".split(' '));
    assert!(
        rehearsed
            .stdout
            .ends_with("not checked: the dataset, the weights\n"),
        "{rehearsed:?}"
    );
    let tab =
        sandbox.run("check --deepspeed zero2 --nproc-per-node 2 -- swift sft bad.yaml".split(' '));
    assert!(tab.stdout.contains("bad.yaml:2:1\n"), "{tab:?}");
    for (file, place) in [
        ("comma.json", "comma.json:3:3\n"),
        ("key.json", "key.json:3:4\n"),
    ] {
        let run = sandbox.run([
            "check",
            "--nproc-per-node",
            "2",
            "--",
            "python",
            "hf.py",
            file,
        ]);
        assert!(run.stdout.contains(place), "{run:?}");
    }
    for (words, expected) in [
        (
            "torchrun --nproc_per_node --standalone",
            "error[launcher]: `--nproc_per_node` has no value",
        ),
        (
            "torchrun --nproc-per-node=",
            "error[launcher]: `--nproc-per-node` has no value",
        ),
        (
            "torchrun --nnodes --nproc_per_node 8",
            "error[launcher]: `--nnodes` has no value (is a variable empty?)",
        ),
        (
            "torchrun --nnodes 2 --node_rank --master_addr gpu07",
            "error[launcher]: `--node_rank` has no value",
        ),
        (
            "accelerate launch --num_processes --mixed_precision bf16",
            "error[launcher]: `--num_processes` has no value",
        ),
        (
            "deepspeed --num_gpus= --master_port 29501",
            "error[launcher]: `--num_gpus` has no value",
        ),
        (
            "deepspeed --hostfile none --num_nodes 2",
            "error[launcher]: there is no hostfile",
        ),
        (
            "deepspeed --num_nodes 2",
            "error[launcher]: there is no hostfile",
        ),
        (
            "deepspeed --hostfile none",
            "warning[launcher]: there is no hostfile",
        ),
        (
            "deepspeed --num_gpus 2 python",
            "error[launcher]: `deepspeed` starts Python itself",
        ),
    ] {
        let run = sandbox.run("check --".split(' ').chain(words.split(' ')).chain([
            "hf.py",
            "--output_dir",
            "out",
        ]));
        let heads = heads(&run);
        assert!(
            heads.len() == 1 && heads[0].starts_with(expected),
            "{words}: {run:?}"
        );
    }
}

#[test]
fn problems_stand_apart_and_paths_are_plain() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "a/bad.json",
        r#"{"train_micro_batch_size_per_gpu": 0, "zero_optimization": {"stage": 7}}"#,
    );
    std::os::unix::fs::symlink(sandbox.cwd().join("a"), sandbox.cwd().join("link")).unwrap();
    let run = sandbox.run(["check", ".//a/../a/./bad.json"]);
    let errors = run.stdout.matches("error[").count();
    assert!(errors >= 2, "{run:?}");
    assert_eq!(
        run.stdout.matches("\n\n").count(),
        heads(&run).len(),
        "{run:?}"
    );
    let plain = sandbox.cwd().join("a/bad.json").display().to_string();
    assert!(
        run.stdout.contains(&format!("--> {plain}:1:")) && !run.stdout.contains("/./"),
        "{run:?}"
    );
    // The parent of a link is that of its target, so nothing is shortened.
    let run = sandbox.run(["check", "link/../bad.json"]);
    assert!(run.stdout.contains("link/../bad.json"), "{run:?}");
}

#[test]
fn a_changed_template_says_so() {
    let sandbox = Sandbox::new();
    let swift = ["swift", "sft", "--model", "a/b", "--dataset", "c/d"];
    for (value, shown) in [("3", "zero2, modified"), ("2", "zero2")] {
        let set = format!("zero_optimization.stage={value}");
        let options = [
            "--deepspeed",
            "zero2",
            "--nproc-per-node",
            "2",
            "--set",
            &set,
        ];
        let run = sandbox.launch(&options, &swift);
        assert!(
            run.headline
                .starts_with(&format!("zlaunch: {shown} · 2 ranks")),
            "{run:?}"
        );
        let run = sandbox.run([&["-n"], &options[..], &["--"], &swift].concat());
        assert!(
            run.stdout
                .contains(&format!("config   {shown} (built in)\n")),
            "{run:?}"
        );
    }
}

/// What the answer rests on is true: a config that was not found was not checked, and what is refused needs no rehearsal.
#[test]
fn only_what_was_checked_is_said_to_be() {
    let sandbox = Sandbox::new();
    sandbox.file("bad.json", "{");
    let check = |config: &str| {
        let words = [
            "check",
            "--nproc-per-node",
            "2",
            "--deepspeed",
            config,
            "--",
        ];
        sandbox.run(words.iter().chain(SWIFT)).stdout
    };
    let [found, unknown, bad] = ["zero2", "zero3+offload", "bad.json"].map(check);
    assert!(
        found.contains("checked: the config against DeepSpeed")
            && found.contains("zlaunch rehearse"),
        "{found}"
    );
    for refused in [unknown, bad] {
        let last = refused.lines().last().unwrap();
        assert!(
            last.starts_with("checked: the arguments") && !refused.contains("zlaunch rehearse"),
            "{refused}"
        );
    }
}

/// A config may come through a pipe: by the name of standard input, or by the name that the shell gives to one.
#[test]
fn a_config_may_be_a_pipe() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "bad.json",
        r#"{"train_batch_size": 8, "zero_optimization": {"stage": 7}}"#,
    );
    for script in [
        r#""$0" check - < bad.json"#,
        r#""$0" check /dev/stdin < bad.json"#,
        r#"cat bad.json | "$0" check /dev/fd/0"#,
        r#""$0" check /dev/fd/3 3< bad.json"#,
        r#""$0" check /proc/self/fd/3 3< bad.json"#,
    ] {
        let run = sandbox.shell(script, [""; 0]);
        assert!(
            run.status == Some(1) && run.stdout.contains("`zero_optimization.stage` is 7"),
            "{script}: {run:?}"
        );
    }
}

/// One mistake is one error: what follows from it is not reported beside it.
#[test]
fn a_mistake_is_reported_without_its_consequences() {
    let mut sandbox = Sandbox::new();
    // Where ms-swift asks for data.
    sandbox.put(
        "env/lib/python3.11/site-packages/swift/arguments/sft_args.py",
        "Please input the training dataset.\n",
    );
    let errors = |sandbox: &Sandbox, line: &str| {
        let run = sandbox.run(line.split(' '));
        (run.stdout + &run.stderr).matches("error[").count()
    };
    let check = "check --nproc-per-node 2 --deepspeed zero2";
    assert_eq!(
        errors(
            &sandbox,
            &format!("{check} -- swift sft --model a/b --datset x.jsonl")
        ),
        1
    );
    assert_eq!(
        errors(
            &sandbox,
            &format!("{check} -- swift sft --model a/b --learning_rate x")
        ),
        2
    );
    assert_eq!(
        errors(
            &sandbox,
            "--set gradient_clipping 1.0 --deepspeed zero2 -- swift sft"
        ),
        1
    );
    sandbox.var("NPROC_PER_NODE", "eight");
    assert_eq!(
        errors(
            &sandbox,
            "check --deepspeed zero2 -- swift sft --model a/b --dataset c/d"
        ),
        1
    );
}

/// A file that is not there: the one that was meant, wherever a path is given.
#[test]
fn a_missing_file_has_a_neighbour() {
    let sandbox = Sandbox::new();
    for name in ["ds.json", "team/ours.json", "data.jsonl"] {
        sandbox.put(&format!("cwd/{name}"), "{}");
    }
    let launch = "check --nproc-per-node 2 --deepspeed";
    for (line, meant) in [
        (
            format!("{launch} dss.json -- swift sft --model a/b --dataset c/d"),
            "/cwd/ds.json`?",
        ),
        (
            format!("{launch} team/ours -- swift sft --model a/b --dataset c/d"),
            "/cwd/team/ours.json`?",
        ),
        (
            format!("{launch} Team/ours.json -- swift sft --model a/b --dataset c/d"),
            "/cwd/team/ours.json`?",
        ),
        (
            format!("{launch} Team/theirs.json -- swift sft --model a/b --dataset c/d"),
            "check the path: there is no `Team` in ",
        ),
        (
            format!("{launch} zero2 -- swift sft --model a/b --dataset dta.jsonl"),
            "/cwd/data.jsonl`?",
        ),
        ("explain job.log".to_string(), "does not exist"),
    ] {
        let run = sandbox.run(line.split(' '));
        assert!(
            (run.stdout.clone() + &run.stderr).contains(meant),
            "{line}: {run:?}"
        );
    }
    let folder = sandbox.run(["check", "--deepspeed", "team", "--", "swift", "sft"]);
    assert!(
        folder
            .stdout
            .contains("no DeepSpeed template is named `team`"),
        "{folder:?}"
    );
}

/// Only a launch must know which machine this is, and where they meet.
#[test]
fn several_machines_are_checked_without_a_place() {
    let sandbox = Sandbox::new();
    let options = [
        "--nnodes",
        "2",
        "--nproc-per-node",
        "8",
        "--deepspeed",
        "zero2",
    ];
    for more in [&[][..], &["--master-addr", "a"]] {
        let words = [
            &["check", "--format", "json"],
            &options[..],
            more,
            &["--"],
            SWIFT,
        ]
        .concat();
        let report: Value = serde_json::from_str(&sandbox.answer(&words).stdout).unwrap();
        assert_eq!(report["diagnostics"], json!([]), "{more:?}");
        assert_eq!(report["topology"]["world_size"], 16);
    }
    let address = [&options[..], &["--master-addr", "a"]].concat();
    sandbox.launch(&address, SWIFT).refused(&[
        "help: --master-port 29500 (the same",
        "which of the 2 machines",
    ]);
}

#[test]
fn a_config_of_another_program_is_recognised() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "acc.yaml",
        "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\n",
    );
    sandbox.file("acc.json", r#"{"deepspeed_config": {"zero_stage": 3}}"#);
    for file in ["acc.yaml", "acc.json"] {
        let run = sandbox.launch(&["--nproc-per-node", "2", "--deepspeed", file], SWIFT);
        run.refused(&[
            "this is accelerate's config",
            "accelerate launch --config_file, or name a template",
        ]);
    }
    for (text, name) in [
        (
            r#"{"fsdp_transformer_layer_cls_to_wrap": ["A"], "backward_prefetch": "backward_pre", "use_orig_params": true}"#,
            "a config of FSDP",
        ),
        (
            r#"{"output_dir": "o", "per_device_train_batch_size": 2, "num_train_epochs": 3, "bf16": true}"#,
            "a set of TrainingArguments",
        ),
        (
            r#"{"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 4096}"#,
            "a model's config.json",
        ),
        (
            r#"{"tensor_model_parallel_size": 2, "num_layers": 32}"#,
            "a config of Megatron",
        ),
    ] {
        sandbox.file("other.json", text);
        let run = sandbox.run(["check", "other.json"]);
        let said = format!("error[template]: this is {name}, not a config of DeepSpeed\n");
        assert!(run.stdout.starts_with(&said), "{run:?}");
        assert!(
            run.stdout.contains("1 error, 0 warnings, 0 notes"),
            "{run:?}"
        );
    }
    sandbox.file("typo.json", r#"{"$zlauch": {"extends": "zero2"}}"#);
    let run = sandbox.run(["check", "typo.json"]);
    assert!(run.stdout.contains("is named `$zlaunch`"), "{run:?}");
    // DeepSpeed reads this, and ignores the section.
    sandbox
        .file("ds.json", r#"{"train_batch_size": "auto", "zero_optimization": {"stage": 2}, "deepspeed_config": {}}"#);
    sandbox.plan(&["--nproc-per-node", "2", "--deepspeed", "ds.json"], SWIFT);
}

#[test]
fn a_check_of_several_machines_takes_the_address_that_is_set() {
    let mut sandbox = Sandbox::new();
    let words = "check --nnodes 2 --nproc-per-node 2 --deepspeed zero2 --"
        .split(' ')
        .chain(SWIFT.iter().copied());
    for (name, value) in [("MASTER_ADDR", "10.0.0.1"), ("MASTER_PORT", "1234")] {
        sandbox.var(name, value);
        let run = sandbox.run(words.clone());
        assert!(!run.stdout.contains("stray-variable"), "{run:?}");
        assert!(run.stdout.contains("which machine this is"), "{run:?}");
    }
    let first = ["check", "--nnodes", "2", "--node-rank", "0"];
    let run = sandbox.run(first.into_iter().chain(words.skip(3)));
    assert!(!run.stdout.contains("which machine this is"), "{run:?}");
}
