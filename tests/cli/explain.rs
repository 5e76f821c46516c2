//! `zlaunch explain`, from outside: what is answered, in which language, and what is not known.

use crate::sandbox::{Run, SWIFT, Sandbox, Share, side_by_side};

#[test]
fn a_key_is_found_by_its_full_name_its_end_or_its_alias() {
    let sandbox = Sandbox::new();
    let whole = sandbox.run(["explain", "zero_optimization.stage3_prefetch_bucket_size"]);
    whole.succeeded_silently();
    for word in [
        "default  5e7",
        "⌊0.9 · hidden_size²⌋",
        "integer ≥ 0",
        "stages   3",
        "advice",
        "example",
    ] {
        assert!(whole.stdout.contains(word), "{word}: {}", whole.stdout);
    }
    for other in ["stage3_prefetch_bucket_size", "prefetch_bucket_size"] {
        assert_eq!(sandbox.run(["explain", other]).stdout, whole.stdout);
    }
}

#[test]
fn an_ambiguous_end_shows_every_match() {
    let sandbox = Sandbox::new();
    let few = sandbox.run(["explain", "pin_memory"]).stdout;
    for key in ["offload_param.pin_memory", "offload_optimizer.pin_memory"] {
        assert!(
            few.contains(&format!("zero_optimization.{key}  (")),
            "{few}"
        );
    }
    let part = sandbox.run(["explain", "offload_param.pin_memory"]).stdout;
    assert!(
        part.starts_with("zero_optimization.offload_param.pin_memory")
            && !part.contains("offload_optimizer.pin")
    );
    let many = sandbox.run(["explain", "enabled"]).stdout;
    for key in [
        "fp16.enabled\n",
        "bf16.enabled\n",
        "torch_autocast.enabled\n",
    ] {
        assert!(many.contains(key), "{many}");
    }
    assert!(!many.contains("default"), "only listed: {many}");
    let part = sandbox.run(["explain", "overlap"]).stdout;
    assert!(part.contains("zero_optimization.overlap_comm"), "{part}");
}

#[test]
fn a_default_that_changed_is_shown_with_its_version() {
    let sandbox = Sandbox::new();
    for (key, told) in [
        ("gradient_clipping", "1.0 (< 0.19.3: 0.0)"),
        (
            "zero_optimization.offload_param.pin_memory",
            "true (< 0.19.5: false)",
        ),
        ("steps_per_print", "null (< 0.15.2: 10)"),
    ] {
        assert!(sandbox.run(["explain", key]).stdout.contains(told), "{key}");
    }
}

#[test]
fn stages_variables_rules_and_templates_are_explained() {
    let sandbox = Sandbox::new();
    let stage = sandbox.run(["explain", "stage", "3"]).stdout;
    assert!(stage.starts_with("stage 3  (a stage of ZeRO)"), "{stage}");
    let both = sandbox.run(["explain", "zero3"]).stdout;
    assert!(
        both.contains("a stage of ZeRO") && both.contains("zlaunch templates zero3"),
        "{both}"
    );
    for (word, told) in [
        ("DS_REUSE_BUFFERS", "Read by nothing"),
        ("ds_reuse_buffers", "Read by nothing"),
        ("OMP_NUM_THREADS", "CPUs divided by ranks"),
        ("SLURM_NODEID", "number of this machine"),
        ("ZLAUNCH_DEEPSPEED", "--deepspeed CONFIG"),
        ("mismatch", "a rule"),
        ("old-spelling", "--allow old-spelling"),
        ("zero3_offload", "zlaunch templates zero3_offload"),
        ("use_dynamic_tiling", "Not a key of DeepSpeed"),
        ("amp", "Removed in 0.19.8"),
    ] {
        let run = sandbox.run(["explain", word]);
        assert_eq!(run.status, Some(0), "{word}");
        assert!(run.stdout.contains(told), "{word}: {}", run.stdout);
    }
    sandbox.put(
        "home/.config/zlaunch/templates/ours.json",
        r#"{"$zlaunch": {"extends": "zero2", "about": "the way we do it"}}"#,
    );
    assert!(
        sandbox
            .run(["explain", "ours"])
            .stdout
            .contains("the way we do it")
    );
}

#[test]
fn the_language_follows_the_locale_and_zlaunch_lang() {
    let mut sandbox = Sandbox::new();
    sandbox.var("LANG", "zh_CN.UTF-8");
    let chinese = sandbox
        .run(["explain", "stage3_max_live_parameters"])
        .stdout;
    assert!(
        chinese.contains("默认值") && chinese.contains("不是“1GB”"),
        "{chinese}"
    );
    // What is not translated is told in English.
    assert!(
        sandbox
            .run(["explain", "disable_allgather"])
            .stdout
            .contains("Dead key")
    );
    sandbox.var("ZLAUNCH_LANG", "en");
    assert!(
        sandbox
            .run(["explain", "stage3_max_live_parameters"])
            .stdout
            .contains("default")
    );
    // And a launch does not take it for a misspelt option.
    let run = sandbox.launch(
        &["--dry-run", "--nproc-per-node", "2", "--deepspeed", "zero2"],
        SWIFT,
    );
    run.succeeded_silently();
}

#[test]
fn without_a_word_the_subjects_are_on_one_screen() {
    let sandbox = Sandbox::new();
    let list = sandbox.run(["explain"]).stdout;
    for word in [
        "stage 3",
        "zero3_offload",
        "keys: `zlaunch explain keys`",
        "terms\n  ZeRO",
        "errors: `zlaunch explain errors`",
    ] {
        assert!(list.contains(word), "{word}: {list}");
    }
    assert!(list.lines().count() <= 40, "{list}");
}

#[test]
fn an_unknown_word_is_refused_with_the_nearest() {
    let sandbox = Sandbox::new();
    for (word, meant) in [
        ("stage3_prefetch_bucket_sise", "stage3_prefetch_bucket_size"),
        (
            "zero_optimization.overlap_conm",
            "zero_optimization.overlap_comm",
        ),
        ("NCCL_DEBUGG", "NCCL_DEBUG"),
        ("mismach", "mismatch"),
        ("zero3_ofload", "zero3_offload"),
    ] {
        sandbox
            .run(["explain", word])
            .refused(&[word, &format!("did you mean `{meant}`?")]);
    }
    sandbox
        .run(["explain", "photosynthesis"])
        .refused(&["zlaunch explain"]);
    sandbox.run(["explain", "--wrong"]).refused(&["--wrong"]);
    let help = sandbox.run(["explain", "--help"]);
    assert!(
        help.status == Some(0)
            && help.stdout.contains("WORD")
            && help.stdout.contains("ZLAUNCH_LANG")
    );
}

#[test]
fn what_became_of_a_key_is_told() {
    let sandbox = Sandbox::new();
    let asked = |word: &str| sandbox.run(["explain", word]).stdout;
    sandbox.installed("deepspeed", "0.16.3");
    let later = asked("tensor_parallel.autotp_size");
    assert!(later.contains("since    0.16.4\n"), "{later}");
    let still = asked("amp");
    assert!(still.contains("removed in 0.19.8"), "{still}");
    sandbox.installed("deepspeed", "0.19.8");
    assert!(asked("bfloat16").contains("the old name of `bf16`"));
    // Gone long ago, so that nothing else is told of it.
    assert!(
        asked("compile.backend").contains("dropped in 0.14.4"),
        "{}",
        asked("compile.backend")
    );
}

/// Why it matters, what is wrong and right; the errors were seen, so they name a version.
#[test]
fn rules_are_explained_with_examples() {
    let sandbox = Sandbox::new();
    let blocks = include_str!("../../src/tools/explain/rules.txt")
        .trim_start_matches("# ")
        .split("\n# ");
    for block in blocks {
        let (name, fields) = block.split_once('\n').unwrap();
        let all: Vec<&str> = fields
            .lines()
            .map(|line| line.split(": ").next().unwrap())
            .collect();
        let names: Vec<&str> = all
            .iter()
            .copied()
            .filter(|field| !field.ends_with("zh"))
            .collect();
        assert!(all.ends_with(&["zh", "why.zh"]), "{name}: {all:?}");
        assert!(
            names[..3] == ["why", "wrong", "right"] && names.len() <= 4,
            "{name}: {names:?}"
        );
        let page = sandbox.run(["explain", name]).stdout;
        assert!(
            page.contains("(a rule)")
                && names
                    .iter()
                    .all(|field| page.contains(&format!("  {field} "))),
            "{page}"
        );
        let error = fields.lines().find_map(|line| line.strip_prefix("error: "));
        assert!(
            error.is_none_or(
                |error| error.ends_with(')') && error.contains(|c: char| c.is_ascii_digit())
            ),
            "{name}"
        );
    }
}

side_by_side!(the_examples_of_rules_are_true);

/// An example that is a whole config is checked, with what is said of the script: the wrong one has the problem, alone or in
/// front of a trainer, and the right one has not.
fn the_examples_of_rules_are_true(share: &Share) {
    const SCRIPT: &str = "import argparse, deepspeed\ndeepspeed.add_config_arguments(argparse.ArgumentParser()).parse_args()\n";
    let sandbox = Sandbox::new();
    let launch = [
        "check",
        "--format",
        "json",
        "--nproc-per-node",
        "8",
        "--deepspeed",
        "ds.json",
        "--",
    ];
    let reports = |rule: &str| {
        let quoted = format!("\"rule\": \"{rule}\"");
        [SWIFT, &["deepspeed", "plain.py"]].iter().any(|it| {
            sandbox
                .answer(launch.iter().chain(*it))
                .stdout
                .contains(&quoted)
        }) || sandbox
            .run(["check", "--format", "json", "ds.json"])
            .stdout
            .contains(&quoted)
    };
    let mut tried = 0;
    let rules = include_str!("../../src/tools/explain/rules.txt").trim_start_matches("# ");
    for block in share.of(rules.split("\n# ")) {
        let (rule, fields) = block.split_once('\n').unwrap();
        for (field, expected) in [("wrong: ", true), ("right: ", false)] {
            let example = fields
                .lines()
                .find_map(|line| line.strip_prefix(field))
                .unwrap();
            let (code, config) = example
                .split_once(" in the script, ")
                .unwrap_or(("", example));
            let mut first =
                serde_json::Deserializer::from_str(config).into_iter::<serde_json::Value>();
            assert!(
                !config.starts_with('{') || first.next().is_some_and(|it| it.is_ok()),
                "{rule}: {config}"
            );
            if serde_json::from_str::<serde_json::Value>(config).is_ok() {
                let body = if code.ends_with(':') { " pass" } else { "" };
                sandbox.put("cwd/plain.py", format!("{SCRIPT}{code}{body}\n"));
                sandbox.put("cwd/ds.json", config);
                assert_eq!(reports(rule), expected, "{rule}: {field}{example}");
                tried += 1;
            }
        }
    }
    assert!(tried > 10, "{tried}");
}

/// An example that is arguments of a trainer is checked as well, and so is an option of zlaunch that is named instead.
#[test]
fn the_commands_in_the_examples_of_rules_are_judged_so() {
    let sandbox = Sandbox::new();
    let mut tried = 0;
    for block in include_str!("../../src/tools/explain/rules.txt")
        .trim_start_matches("# ")
        .split("\n# ")
    {
        let (rule, fields) = block.split_once('\n').unwrap();
        let example = |field: &str| {
            fields
                .lines()
                .find_map(|line| line.strip_prefix(field))
                .unwrap()
        };
        let arguments = |text: &'static str| {
            let words = text.strip_prefix("swift sft … ").unwrap_or(text);
            (words.starts_with("--") && words.contains("--deepspeed ")).then_some(words)
        };
        let (Some(wrong), Some(right)) =
            (arguments(example("wrong: ")), arguments(example("right: ")))
        else {
            continue;
        };
        let (right, instead) = right.split_once(", or ").unwrap_or((right, ""));
        let option = instead.starts_with("--").then_some((instead, wrong, false));
        for (options, words, expected) in [("", wrong, true), ("", right, false)]
            .into_iter()
            .chain(option)
        {
            let mut launch = vec!["check", "--format", "json", "--nproc-per-node", "8"];
            launch.extend(options.split_whitespace());
            launch.push("--");
            launch.extend(SWIFT.iter().copied().chain(words.split(' ')));
            let run = sandbox.answer(&launch);
            let is_said = run.stdout.contains(&format!("\"rule\": \"{rule}\""));
            assert_eq!(is_said, expected, "{rule}: {launch:?} {run:?}");
            assert!(
                expected || run.status == Some(0),
                "{rule}: {launch:?} {run:?}"
            );
            tried += 1;
        }
    }
    assert!(tried > 6, "{tried}");
}

const TIMEOUT: &str =
    "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=70, OpType=ALLREDUCE)";
const MEMORY: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.";

fn piped(sandbox: &Sandbox, input: &str, words: &str) -> Run {
    sandbox.file("input", input);
    sandbox.script(&format!(
        "cat input | {} explain {words}",
        sandbox.command([""; 0]).get_program().display()
    ))
}

/// A message, a log, several of them, or standard input.
#[test]
fn an_error_is_explained_however_it_is_given() {
    let sandbox = Sandbox::new();
    let log: String = (0..8)
        .map(|rank| format!("[rank{rank}]: {MEMORY}\n"))
        .collect();
    sandbox.file("job.log", format!("start\n{log}"));
    sandbox.file("other.log", "nothing\n");
    let message = sandbox.run(["explain", MEMORY]);
    let (file, both) = (
        sandbox.run(["explain", "job.log"]),
        sandbox.run(["explain", "other.log", "job.log"]),
    );
    for run in [
        &message,
        &file,
        &both,
        &piped(&sandbox, &log, ""),
        &piped(&sandbox, &log, "-"),
    ] {
        assert!(
            run.stdout.starts_with("out of GPU memory  (an error)\n"),
            "{run:?}"
        );
        assert!(
            run.stdout.contains(MEMORY)
                && run.stdout.contains("  advice ")
                && run.status == Some(0),
            "{run:?}"
        );
    }
    assert!(
        file.stdout
            .contains("  where    job.log:2, ranks 0, 1, 2, 3, 4, 5, 6, 7\n"),
        "{file:?}"
    );
    // Words of a message need no quotes.
    let words = MEMORY.split(' ').fold(vec!["explain"], |mut words, word| {
        words.push(word);
        words
    });
    assert_eq!(sandbox.run(words).stdout, message.stdout);
}

/// Nothing is said where nothing is known, and nobody waits for input that nobody gives.
#[test]
fn an_unknown_error_is_not_guessed_at() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "job.log",
        "everything is fine\n[rank3]: ValueError: our own code says so\n",
    );
    sandbox.file("empty.log", "");
    let run = sandbox.run(["explain", "job.log"]);
    assert_eq!((run.status, run.stderr.as_str()), (Some(1), ""), "{run:?}");
    for told in [
        "no explanation for this error",
        "  line    ValueError: our own code",
        "  where   job.log:2, rank 3\n",
    ] {
        assert!(run.stdout.contains(told), "{told}: {run:?}");
    }
    for run in [
        sandbox.run(["explain", "empty.log"]),
        piped(&sandbox, "fine\n", ""),
    ] {
        assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""), "{run:?}");
        assert_eq!(run.stderr, "there is no error that zlaunch knows\n");
    }
    let run = sandbox.run(["explain", "ValueError: our own code says so"]);
    assert!(
        run.status == Some(125) && run.stderr.contains("has no explanation for"),
        "{run:?}"
    );
    assert!(sandbox.run(["explain"]).stdout.contains("\nerrors\n"));
}

/// A rule that has a text of the trainer is recognized by it, with the list below it.
#[test]
fn an_error_of_a_rule_leads_to_the_rule() {
    let sandbox = Sandbox::new();
    let said = "ValueError: Please correct the following DeepSpeed config values that mismatch TrainingArguments values:\n\
                - ds gradient_clipping=0.5 vs hf max_grad_norm=1.0\n- ds train_batch_size=8 vs hf train_batch_size (calculated)=16\n\
                The easiest method is to set these DeepSpeed config values to 'auto'.";
    let page = sandbox.run(["explain", said]).stdout;
    assert!(
        page.starts_with("mismatch  (a rule)\n") && page.contains("vs hf max_grad_norm=1.0"),
        "{page}"
    );
    assert!(
        page.contains("(calculated)=16") && !page.contains("The easiest method"),
        "{page}"
    );
    sandbox.file(
        "job.log",
        "[rank0]: pydantic_core._pydantic_core.ValidationError: 1 validation error for DeepSpeedZeroConfig\n\
        [rank1]: other\n[rank0]: overlapp_comm\n[rank0]:   Extra inputs are not permitted [type=extra_forbidden]\n",
    );
    let page = sandbox.run(["explain", "job.log"]).stdout;
    assert!(
        page.starts_with("unknown-key  (a rule)\n") && page.contains("  line   overlapp_comm\n"),
        "{page}"
    );
    // The same words of another program are not about DeepSpeed.
    let other =
        "ValidationError: 1 validation error for ServerConfig port Extra inputs are not permitted";
    let page = sandbox.run(["explain", other]).stdout;
    assert!(page.starts_with("values that a program refuses"), "{page}");
}

/// The rank that the others waited for, and what to change in this launch: from its record, or from its command.
#[test]
fn the_launch_at_hand_is_what_the_advice_is_about() {
    let sandbox = Sandbox::new();
    let ranks = (0..8).filter(|rank| *rank != 3);
    sandbox.file(
        "nccl.log",
        ranks
            .map(|rank| format!("[rank{rank}]:[E115] [Rank {rank}] {TIMEOUT}\n"))
            .collect::<String>(),
    );
    let page = sandbox.run(["explain", "nccl.log"]).stdout;
    assert!(
        page.contains("\n  missing  rank 3: the others waited for it"),
        "{page}"
    );
    // Where most ranks say nothing, none of them is pointed out.
    let few = format!("[rank7]: other\n[rank2]:[E115] [Rank 2] {TIMEOUT}\n");
    sandbox.file("few.log", few);
    let page = sandbox.run(["explain", "few.log"]).stdout;
    assert!(!page.contains("missing"), "{page}");
    sandbox.file(
        "memory.log",
        format!("Traceback (most recent call last):\n  in training_step\n{MEMORY}\n"),
    );
    let asked = |words: &[&str]| {
        sandbox
            .run(["explain", "memory.log"].iter().chain(words))
            .stdout
    };
    assert!(!asked(&[]).contains("this launch"));
    let options = ["--deepspeed", "zero2", "--nproc-per-node", "2"];
    let command = ["--per_device_train_batch_size", "4"];
    let launch: Vec<&str> = options
        .iter()
        .chain(&["--"])
        .chain(SWIFT)
        .chain(&command)
        .copied()
        .collect();
    let told = asked(&launch);
    for advice in [
        "--deepspeed zero3, which also shards the weights",
        "the micro batch is 4: halve it",
    ] {
        assert!(told.contains(advice), "{advice}: {told}");
    }
    let words: Vec<&str> = SWIFT.iter().chain(&command).copied().collect();
    sandbox
        .launch(&[&options[..], &["--record", "."]].concat(), &words)
        .succeeded();
    assert_eq!(asked(&[]), told);
    // What zlaunch itself would refuse is said too.
    let refused = sandbox.run([
        "explain",
        "memory.log",
        "--deepspeed",
        "zero9",
        "--",
        "swift",
        "sft",
    ]);
    assert!(
        refused.stderr.contains("zero9")
            && refused.stdout.starts_with("out of GPU memory in a step"),
        "{refused:?}"
    );
}

/// A log is not ours: what is secret in it, or could deceive a terminal, is not shown.
#[test]
fn a_line_of_a_log_is_harmless() {
    let mut sandbox = Sandbox::new();
    sandbox.var("HF_TOKEN", "hf_abcdefghijklmnopqrstuvwxyz");
    sandbox
        .file("job.log", b"\xff\xfe \x1b]0;title\x07 hf_abcdefghijklmnopqrstuvwxyz CUDA out of memory \x00\x1b[31m\n");
    let run = sandbox.run(["explain", "job.log"]);
    assert!(
        run.status == Some(0)
            && !run.stdout.contains("hf_abc")
            && !run.stdout.contains(['\x1b', '\x07', '\0']),
        "{run:?}"
    );
}

#[test]
fn every_kind_of_subject_can_be_listed() {
    let sandbox = Sandbox::new();
    for (kind, named) in [
        (
            "rules",
            &["unknown-key\n", "no-effect\n", "batch-size\n"][..],
        ),
        (
            "errors",
            &["NCCL timed out\n", "out of GPU memory in evaluation\n"],
        ),
        ("keys", &["zero_optimization.stage\n", "fp16.loss_scale\n"]),
        ("templates", &["zero2\n"]),
        ("variables", &["NCCL_DEBUG\n", "ZLAUNCH_DEEPSPEED\n"]),
    ] {
        let list = sandbox.run(["explain", kind]);
        list.succeeded_silently();
        assert!(
            named.iter().all(|name| list.stdout.contains(name)),
            "{kind}: {}",
            list.stdout
        );
    }
    assert!(
        sandbox
            .run(["explain", "NCCL timed out"])
            .stdout
            .contains("  seen in ")
    );
}

#[test]
fn an_explanation_is_data_too() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(["explain", "--format", "json", "mismatch"]);
    let pages: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(pages[0]["name"], "mismatch");
    assert!(pages[0]["rows"][0]["text"].is_string(), "{pages}");
    sandbox.file(
        "train.log",
        "ValueError: Please correct the following DeepSpeed config values that mismatch TrainingArguments values:\n- ds gradient_clipping=0.5 vs hf max_grad_norm=1.0\n",
    );
    let run = sandbox.run(["explain", "train.log", "--format", "json"]);
    let page: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(
        page["name"].is_string() && page["also"].is_array(),
        "{page}"
    );
}

/// A package whose statements are as those of the real ones: over several lines, with values, below branches.
const PLUMBING: &str = r#"class Pipe:
    def connect(self, args, config, ranks):
        """It may say that the hose of a sprinkler leaks."""
        if "hose" not in config or config.is_auto("train_batch_size"):
            raise ValueError(
                f"The sprinkler of rank {ranks} has no hose to hang on; "
                "please water by hand"
            )
        elif args.gardener is not None:
            message = f"gardener {args.gardener} waters already"
        else:
            assert os.environ.get("WATER_OFF") is None and not args.drained, \\
                f"there is no water in the pipes of rank {ranks}"
            self.valves.pop(0)

class ModelArguments:
    """Of which scripts have their own."""

def tap(garden, house):
    if garden and house:
        raise ValueError("You cannot give a hose in the garden and in the house at the same time. Please remove the hose in the garden or make a tap in the house")

def drain(pipe):
    if os.environ.get("DRAIN_SLOWLY", "false") != "true":
        if pipe.length() % (8 * pipe.rows) == 0:
            raise ValueError("A pipe of this length cannot be drained into the river")

def report(rank):
    return f"Traceback (most recent call last): (RANK {rank})\n"

def water(bed, size, rows):
    if bed.kind == "hose16":
        raise ValueError("Type hose16 is not watered by this tap.")
    if rows == 0:
        raise ZeroDivisionError("division by zero")
    logger.error(f"Failed to water {bed}: {size}")

def __getattr__(name):
    raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
"#;

fn with_plumbing() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.installed("deepspeed", "0.19.8");
    sandbox.put(
        "env/lib/python3.11/site-packages/deepspeed/runtime/plumbing.py",
        PLUMBING,
    );
    sandbox
}

/// Who says it, in which version, where, under which conditions; what would make them false; and what holds in this launch.
#[test]
fn the_installed_packages_are_asked_who_says_it() {
    let sandbox = with_plumbing();
    let said =
        "[rank7]: ValueError: The sprinkler of rank 7 has no hose to hang on; please water by hand";
    let run = sandbox.run(["explain", said]);
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    for told in [
        "said by deepspeed 0.19.8  (an error)\n",
        "deepspeed/runtime/plumbing.py, line 5, in `connect`.",
        "  if     \"hose\" not in config or config.is_auto(\"train_batch_size\")\n",
    ] {
        assert!(run.stdout.contains(told), "{told}: {}", run.stdout);
    }
    // One of two that would both be needed is not advised.
    assert!(!run.stdout.contains("NUMBER"), "{}", run.stdout);
    // It may end earlier in another version.
    let shorter = sandbox.run(["explain", "ValueError: Type hose16 is not watered."]);
    assert!(shorter.stdout.contains("in `water`"), "{shorter:?}");
    // A part is enough, and the rest is shown.
    let run = sandbox.run([
        "explain",
        "ValueError: The sprinkler of rank 3 has no hose to hang on;",
    ]);
    assert!(
        run.stdout
            .contains("  in full  The sprinkler of rank … has no hose"),
        "{}",
        run.stdout
    );
    let said = "AssertionError: there is no water in the pipes of rank 0";
    let page = sandbox.run(["explain", said]).stdout;
    for told in [
        "  unless  os.environ.get(\"WATER_OFF\") is None and not args.drained\n",
        "  unless  args.gardener is not None\n",
        "--unset-env WATER_OFF and drop --drained",
        "--gardener VALUE",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    // Without a launch, nothing is said of one.
    assert!(!page.contains("this launch"), "{page}");
    // The same words in a comment, of another exception, or of everybody, are nobody's.
    for other in [
        "ValueError: the hose of a sprinkler leaks",
        "KeyError: The sprinkler of rank 7 has no hose to hang on; please water by hand",
        "AssertionError: no water in the bath",
        // What raises it is no assertion.
        "RuntimeError: there is no water in the pipes of rank 0",
        // The opposite, in words that the source says twice.
        "ValueError: You cannot make a tap without giving a hose in the garden",
        // A script has a class of this name, too.
        "AttributeError: 'ModelArguments' object has no attribute 'hose'",
        // Python's own.
        "ZeroDivisionError: division by zero",
        // Of another object than the engine, which has these words in its `__getattr__`.
        "  File \"/v/site-packages/deepspeed/runtime/plumbing.py\", line 4, in water\nAttributeError: 'NoneType' object has no attribute 'hose'",
    ] {
        assert_eq!(sandbox.run(["explain", other]).status, Some(125), "{other}");
    }
    let run = sandbox.run(["explain", "--format", "json", said]);
    let page: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(page["name"], "said by deepspeed 0.19.8");
    // The default of a variable is no variable, and a product is no name.
    let said = "ValueError: A pipe of this length cannot be drained into the river";
    let page = sandbox.run(["explain", said]).stdout;
    assert!(page.contains("os.environ.get(\"DRAIN_SLOWLY\""), "{page}");
    assert!(!page.contains("advice"), "{page}");
}

/// A traceback names the file and the function, in whatever environment it was.
#[test]
fn a_traceback_leads_to_the_statement() {
    let sandbox = with_plumbing();
    sandbox.file(
        "job.log",
        "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    engine()\n  File \"/other/env/deepspeed/runtime/plumbing.py\", line 14, in connect\n    self.valves.pop(0)\n    ^^^^^^^^^^^^^^\nIndexError: pop from empty list\n",
    );
    let page = sandbox.run(["explain", "job.log"]).stdout;
    assert!(
        page.contains("plumbing.py, line 14, in `connect`"),
        "{page}"
    );
    assert!(
        page.contains("  unless  args.gardener is not None\n"),
        "{page}"
    );
}

/// However it was pasted: without the name of the exception, below it, with the name of a machine in front.
#[test]
fn a_message_is_found_however_it_was_pasted() {
    let sandbox = with_plumbing();
    let said = "The sprinkler of rank 7 has no hose to hang on; please water by hand";
    for pasted in [
        format!("I get this:\n\n{said}\n"),
        format!("ValueError: \n      {said}\n"),
        format!("`gpu-3: ValueError: {said}`\n"),
        format!("> ValueError: {said}\n"),
    ] {
        sandbox.file("job.log", &pasted);
        let run = sandbox.run(["explain", "job.log"]);
        assert!(
            run.status == Some(0) && run.stdout.contains("plumbing.py, line 5, in `connect`"),
            "{pasted}: {run:?}"
        );
    }
    for other in [
        "nothing is wrong with the sprinkler of rank 7\n",
        "Failed to water the whole street because the main pipe of the town is broken\n",
    ] {
        sandbox.file("job.log", other);
        let run = sandbox.run(["explain", "job.log"]);
        assert_eq!(
            (run.status, &*run.stderr),
            (Some(1), "there is no error that zlaunch knows\n")
        );
    }
}

/// What a traceback shows of the source is no evidence, and the beginning of a `raise` may be that of another one.
#[test]
fn a_traceback_is_not_taken_for_more_than_it_says() {
    let sandbox = with_plumbing();
    let traceback = |code: &str, file: &str, error: &str| {
        let text = format!(
            "Traceback (most recent call last):\n  File \"/x/{file}\", line 9, in connect\n    {code}\n{error}\n"
        );
        sandbox.file("job.log", text);
        sandbox.run(["explain", "job.log"])
    };
    let plumbing = "deepspeed/runtime/plumbing.py";
    let run = traceback("raise ValueError(", plumbing, "ValueError: seen by nobody");
    assert!(
        run.status == Some(1) && run.stdout.contains("an error without an explanation"),
        "{run:?}"
    );
    // A package prints tracebacks, too.
    let headless =
        "Traceback (most recent call last):\n  File \"x.py\", line 3, in <module>\n    main()";
    sandbox.file("job.log", headless);
    let run = sandbox.run(["explain", "job.log"]);
    assert_eq!(
        (run.status, &*run.stderr),
        (Some(1), "there is no error that zlaunch knows\n")
    );
    let quoted = "dist.init_distributed(auto_mpi_discovery=False)";
    let run = traceback(quoted, "accelerate/state.py", "ValueError: seen by nobody");
    assert!(!run.stdout.contains("MPI"), "{run:?}");
}

/// Who holds the memory, how many ranks DeepSpeed counted, which two values differ.
#[test]
fn the_numbers_of_a_line_are_read() {
    let sandbox = Sandbox::new();
    let memory = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.63 GiB. GPU 7 has a total capacity of 79.11 GiB of which 2.61 GiB is free. Including non-PyTorch memory, this process has 26.20 GiB memory in use. Of the allocated memory 25.19 GiB is allocated by PyTorch";
    let product = "Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size";
    for (said, told) in [
        (memory, "other processes hold 50 GiB"),
        (&*format!("{product} 16 != 1 * 1 * 1"), "counts one rank"),
        (
            &*format!("{product} 16 != 2 * 2 * 8"),
            "--set train_batch_size=32",
        ),
        (
            "- ds fp16.enabled=True vs hf fp16|fp16_full_eval+fp16_backend(amp)=False",
            "--set fp16.enabled=auto, or --fp16 true",
        ),
        (
            "- ds train_batch_size=8 vs hf train_batch_size (calculated)=16",
            "--set train_batch_size=auto\n",
        ),
        // Cut where the words of the trainer begin.
        (
            "- ds fp16.enabled=True vs",
            "differs from what the trainer computes",
        ),
    ] {
        let page = sandbox.run(["explain", said]).stdout;
        let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(told.trim_end()), "{told}: {page}");
    }
}

/// Where words are everybody's, the frames decide; without any, the cause is only the likeliest one. What contradicts a row ends it.
#[test]
fn a_row_says_no_more_than_it_knows() {
    let sandbox = Sandbox::new();
    let told = |log: &str, launch: &[&str]| {
        sandbox.file("job.log", log);
        sandbox
            .run(["explain", "job.log"].iter().chain(launch))
            .stdout
    };
    let deque = "IndexError: pop from an empty deque\n";
    let in_file = |file: &str| {
        format!(
            "Traceback (most recent call last):\n  File \"{file}\", line 9, in fetch\n    queue.popleft()\n{deque}"
        )
    };
    let hooks = "hooks of ZeRO-3 in the wrong order";
    let alone = told(deque, &[]);
    assert!(
        alone.starts_with(hooks) && alone.contains("not the only one"),
        "{alone}"
    );
    let page = told(&in_file("/x/deepspeed/runtime/zero/stage3.py"), &[]);
    assert!(
        page.starts_with(hooks) && !page.contains("not the only one"),
        "{page}"
    );
    assert!(!told(&in_file("/x/my/data.py"), &[]).contains(hooks));
    // A launch with another stage cannot have had it.
    let of = |stage| {
        let options = ["--deepspeed", stage, "--nproc-per-node", "2", "--"];
        let words: Vec<&str> = options.iter().chain(SWIFT).copied().collect();
        told("RuntimeError: 'weight' must be 2-D\n", &words)
    };
    let gathered = "weights that are not gathered";
    assert!(
        of("zero3").starts_with(gathered) && of("zero3").contains("this launch has ZeRO-3"),
        "{}",
        of("zero3")
    );
    assert!(!of("zero2").contains(gathered), "{}", of("zero2"));
    // On Windows, nothing can be installed that is made for Linux.
    let aio = "RuntimeError: Unable to JIT load the async_io op due to it not being compatible\n";
    assert!(told(aio, &[]).starts_with("no libaio"));
    let windows =
        format!("File \"C:\\Users\\me\\env\\Lib\\site-packages\\deepspeed\\op.py\"\n{aio}");
    assert!(told(&windows, &[]).starts_with("DeepSpeed on Windows"));
    let compiled = "AssertionError: Unable to pre-compile async_io\n";
    assert!(told(compiled, &[]).starts_with("no libaio"));
    let windows = format!("File \"D:\\DeepSpeed\\setup.py\", line 157, in <module>\n{compiled}");
    assert!(told(&windows, &[]).starts_with("DeepSpeed on Windows"));
    // Behind the labels of Ray and vLLM, and where it is indented.
    for (said, name) in [
        (
            "(EngineCore pid=273) ERROR 04-24 10:50:25 [core.py:1110] ValueError: num_samples should be a positive integer value, but got num_samples=0",
            "no samples left",
        ),
        (
            "        File \"C:\\Users\\a\\setup.py\", line 81, in <module>\n      FileNotFoundError: [WinError 2] The system cannot find the file specified",
            "DeepSpeed on Windows",
        ),
        (
            "  File \"/x/datasets/formatting/formatting.py\", line 280, in __getitem__\nKeyError: 'messages'",
            "a column that the data do not have",
        ),
        (
            "  File \"train.py\", line 280, in main\nKeyError: 'messages'",
            "an error without an explanation",
        ),
    ] {
        let page = told(&format!("{said}\n"), &[]);
        assert!(page.starts_with(name) && !page.contains(" pid="), "{page}");
    }
    // The report stands above the error that only points to it.
    let report = "layers.0.weight | MISMATCH | Reinit due to size mismatch - ckpt: torch.Size([0]) vs model:torch.Size([8, 8])\n\
                  RuntimeError: You set `ignore_mismatched_sizes` to `False`, thus raising an error. For details look at the above report!\n";
    assert!(told(report, &[]).starts_with("weights that ZeRO-3 saved in pieces"));
    let ckpt = "Traceback (most recent call last):\n  File \"/x/deepspeed/runtime/state_dict_factory.py\", line 9, in check_ckpt_list\n    assert len(self.ckpt_list) > 0\nAssertionError\n";
    assert!(told(ckpt, &[]).contains("One of these:"));
    // The tail of a log has no cause in it, and is not told beside one.
    let tail = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n";
    assert!(told(tail, &[]).starts_with("the report of a launcher"));
    assert!(!told(&format!("{MEMORY}\n{tail}"), &[]).contains("also in the log"));
    let timeout = |count: u32, size: u32| {
        told(
            &format!(
                "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={count}, OpType=BROADCAST, NumelIn={size}, NumelOut=1)\n"
            ),
            &[],
        )
    };
    assert!(timeout(1, 1).contains("NCCL_DEBUG=INFO"));
    assert!(timeout(900, 1).contains("a barrier") && !timeout(900, 7).contains("a barrier"));
}

/// A statement on the line that the traceback names needs no words, and an object its class.
#[test]
fn what_the_installed_packages_say_is_told_in_full() {
    let sandbox = with_plumbing();
    let told = |message: &str| {
        sandbox.file("job.log", message);
        sandbox.run(["explain", "job.log"])
    };
    let run = told(
        "Traceback (most recent call last):\n  File \"/x/deepspeed/runtime/plumbing.py\", line 5, in connect\n    raise ValueError(\nValueError: [7]\n",
    );
    assert!(
        run.status == Some(0) && run.stdout.contains("plumbing.py, line 5, in `connect`"),
        "{run:?}"
    );
    for member in ["leak", "valves", "connect"] {
        let page = told(&format!(
            "AttributeError: 'Pipe' object has no attribute '{member}'\n"
        ))
        .stdout;
        let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            page.starts_with("two packages of different times")
                && flat.contains("`Pipe` is in deepspeed/runtime/plumbing.py, line 1"),
            "{page}"
        );
    }
    // A key of the model's config is none of DeepSpeed's.
    let model = "env/lib/python3.11/site-packages/transformers/model.py";
    sandbox.put(model, "def f(config):\n    if \"model_type\" in config:\n        raise ValueError(\"this is a model that nobody here knows\")\n");
    let page = told("ValueError: this is a model that nobody here knows\n").stdout;
    assert!(
        page.contains("\"model_type\" in config") && !page.contains("--unset"),
        "{page}"
    );
    // A class of nobody is nobody's.
    assert_eq!(
        told("AttributeError: 'Mine' object has no attribute 'leak'\n").status,
        Some(1)
    );
}
