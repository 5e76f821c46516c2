//! Every key, variable, rule and template is explained, in both languages where it says so.

use std::collections::BTreeSet;

use zlaunch::testing::all_variables;
use zlaunch::testing::cli;
use zlaunch::testing::explain::tables::failures::{FAILURES, Role};
use zlaunch::testing::explain::{Explainer, Log, entries, rules};
use zlaunch::testing::options::{launch_options, variable};
use zlaunch::testing::template::Search;
use zlaunch::testing::{Host, Problem, Rule, auto, vars};

fn host(variables: &[(&str, &str)]) -> Host {
    Host {
        env: variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        ..Host::default()
    }
}

fn asked(word: &str, env: &[(&str, &str)]) -> Result<String, Problem> {
    let (search, host) = (Search::default(), host(env));
    let explainer = Explainer::new(&search, &host);
    let text = explainer.text(&explainer.all_meanings(word)?);
    Ok(anstream::adapter::strip_str(&text).to_string())
}

#[test]
fn every_key_of_deepspeed_has_an_entry() {
    // Except the parameters of optimizers and schedulers, removed keys, and sections that have a second name.
    let other_names = ["bfloat16.", "tensor_parallel.tensor_parallel."];
    let keys: Vec<&str> = include_str!("../../src/recorded/deepspeed-schema.txt")
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .filter(|row| {
            !row[0].contains('@')
                && row[5] == "-"
                && !other_names.iter().any(|it| row[0].starts_with(it))
        })
        .map(|row| row[0])
        .collect();
    assert!(keys.len() > 300, "{}", keys.len());
    let entries: Vec<_> = entries().collect();
    let names: Vec<&str> = entries
        .iter()
        .flat_map(|it| it.names().collect::<Vec<_>>())
        .collect();
    for key in &keys {
        assert_eq!(names.iter().filter(|name| *name == key).count(), 1, "{key}");
        assert!(
            asked(key, &[]).is_ok_and(|text| text.contains(key)),
            "{key}"
        );
    }
    let sections: BTreeSet<&str> = keys
        .iter()
        .filter_map(|key| key.rsplit_once('.'))
        .map(|(section, _)| section)
        .collect();
    for section in sections {
        assert!(asked(section, &[]).is_ok(), "{section}");
    }
}

#[test]
fn every_key_that_may_be_auto_says_so() {
    for rule in auto::RULES
        .iter()
        .filter(|rule| !rule.key.starts_with("amp."))
    {
        assert!(
            asked(rule.key, &[]).is_ok_and(|text| text.contains("\n  \"auto\"")),
            "{}",
            rule.key
        );
    }
}

#[test]
fn every_variable_option_rule_and_template_is_explained() {
    let options = launch_options().map(variable);
    let variables = all_variables();
    let names = variables
        .iter()
        .flat_map(vars::Var::names)
        .map(str::to_string)
        .chain(options);
    let names = names.chain(rules().map(|(rule, _)| rule.to_string()));
    for name in names.chain(Search::default().names()) {
        assert!(
            asked(&name, &[]).is_ok_and(|text| text.len() > 40),
            "{name}"
        );
    }
}

#[test]
fn every_rule_that_can_be_silenced_says_how() {
    for rule in Rule::all() {
        assert_eq!(
            rules()
                .filter(|(known, about)| *known == rule && about.len() > 20)
                .count(),
            1,
            "{rule}"
        );
    }
    for (rule, _) in rules() {
        let name = rule.name();
        let words = ["zlaunch", "--allow", name, "true"]
            .map(Into::into)
            .to_vec();
        let taken = cli::parse(&words, &Host::default(), &cli::TOOLS).is_ok();
        let shown = asked(name, &[]).is_ok_and(|text| text.contains(&format!("--allow {name}\n")));
        assert_eq!(shown, taken, "{name}");
    }
    assert!(asked("large-bucket", &[]).is_ok_and(|text| text.contains("--allow large-bucket")));
}

/// An entry is translated as a whole or not at all.
#[test]
fn every_entry_is_whole() {
    for entry in entries() {
        let name = entry.name();
        assert!(
            entry.field("en").is_some_and(|text| text.len() > 10),
            "{name}"
        );
        let chinese = entry.field("zh").is_some();
        for field in ["advice", "careful"] {
            let both = entry.field(&format!("{field}.zh")).is_some();
            assert_eq!(
                chinese && entry.field(field).is_some(),
                both,
                "{name}: {field}"
            );
        }
        // That includes what the tables say about it, unless that has no words.
        let sentence = |text: &str| {
            text.as_bytes().windows(3).any(|it| {
                it[0].is_ascii_lowercase() && it[1] == b' ' && it[2].is_ascii_alphanumeric()
            })
        };
        let auto = auto::RULES
            .iter()
            .any(|rule| rule.key == name && sentence(rule.doc));
        assert_eq!(
            chinese && auto,
            entry.field("auto.zh").is_some(),
            "{name}: auto.zh"
        );
        let ours = all_variables().iter().any(|var| var.is_called(name));
        assert_eq!(
            chinese && ours,
            entry.field("zlaunch.zh").is_some(),
            "{name}: zlaunch.zh"
        );
    }
}

/// Everything that the guides which people copy from explain.
const COPIED: &str = "ZeRO offload gradient_checkpointing zero0 zero1 zero2 zero3 zero2_offload zero3_offload hf_zero2 \
    hf_zero3 zero3_lowmem fp16 bf16 optimizer optimizer.params scheduler scheduler.params zero_optimization \
    NPROC_PER_NODE OMP_NUM_THREADS CUDA_VISIBLE_DEVICES fp16.enabled fp16.loss_scale fp16.loss_scale_window fp16.initial_scale_power fp16.hysteresis \
    fp16.min_loss_scale bf16.enabled zero_optimization.stage zero_optimization.offload_optimizer \
    zero_optimization.offload_optimizer.device zero_optimization.offload_optimizer.pin_memory \
    zero_optimization.offload_optimizer.fast_init zero_optimization.offload_param \
    zero_optimization.offload_param.device zero_optimization.offload_param.pin_memory \
    zero_optimization.offload_param.buffer_count zero_optimization.offload_param.buffer_size \
    zero_optimization.offload_param.max_in_cpu zero_optimization.overlap_comm \
    zero_optimization.contiguous_gradients zero_optimization.sub_group_size zero_optimization.reduce_bucket_size \
    zero_optimization.stage3_prefetch_bucket_size zero_optimization.stage3_param_persistence_threshold \
    zero_optimization.stage3_max_live_parameters zero_optimization.stage3_max_reuse_distance \
    zero_optimization.stage3_gather_16bit_weights_on_model_save zero_optimization.allgather_partitions \
    zero_optimization.allgather_bucket_size zero_optimization.reduce_scatter \
    zero_optimization.round_robin_gradients zero_optimization.memory_efficient_linear train_batch_size \
    train_micro_batch_size_per_gpu gradient_accumulation_steps gradient_clipping steps_per_print \
    wall_clock_breakdown optimizer.type optimizer.params.lr optimizer.params.betas optimizer.params.eps \
    optimizer.params.weight_decay scheduler.type scheduler.params.warmup_min_lr scheduler.params.warmup_max_lr \
    scheduler.params.warmup_num_steps activation_checkpointing activation_checkpointing.partition_activations \
    activation_checkpointing.cpu_checkpointing activation_checkpointing.contiguous_memory_optimization \
    activation_checkpointing.number_checkpoints aio aio.block_size aio.queue_depth aio.single_submit \
    aio.overlap_events use_dynamic_tiling CUDA_DEVICE_MAX_CONNECTIONS CUDA_AUTO_BOOST DS_PIPE_RESERVE \
    DS_SKIP_UNUSED_PARAMETERS DS_REUSE_BUFFERS DS_USE_CUDA_TILING TORCH_DISTRIBUTED_DEBUG PYTORCH_CUDA_ALLOC_CONF";

#[test]
fn what_the_guides_explain_is_there_in_chinese() {
    let stages = ["stage 0", "stage 1", "stage 2", "stage 3"];
    for word in COPIED.split_whitespace().chain(stages) {
        let text = asked(word, &[("ZLAUNCH_LANG", "zh")]).unwrap();
        for page in text.split("\n\n").filter(|page| !page.starts_with("  ")) {
            assert!(
                page.lines().nth(1).is_some_and(|line| !line.is_ascii()),
                "{word}: {text}"
            );
        }
        // Only the example may hold an English sentence.
        let words = |line: &&str| {
            !line.contains("示例")
                && line
                    .split(' ')
                    .filter(|it| ["the", "is", "as", "of", "to"].contains(it))
                    .count()
                    > 1
        };
        assert_eq!(text.lines().find(words), None, "{word}");
    }
}

#[test]
fn the_language_is_found_as_the_c_library_does() {
    let chinese = |env: &[(&str, &str)]| asked("stage 3", env).unwrap().contains("切分");
    assert!(!chinese(&[]) && chinese(&[("LANG", "zh_CN.UTF-8")]));
    assert!(chinese(&[("LC_MESSAGES", "zh_TW"), ("LANG", "de_DE")]));
    assert!(!chinese(&[("LC_ALL", "C"), ("LANG", "zh_CN.UTF-8")]));
    assert!(!chinese(&[
        ("ZLAUNCH_LANG", "en"),
        ("LC_ALL", "zh_CN.UTF-8")
    ]));
    assert!(chinese(&[("LC_ALL", ""), ("LANG", "zh_CN.UTF-8")]));
    for value in [
        "zh",
        "ZH",
        "zh_CN",
        "zh-CN",
        "zh_CN.UTF-8",
        "zh-Hans",
        "cn",
        "Chinese",
        "中文",
    ] {
        assert!(chinese(&[("ZLAUNCH_LANG", value)]), "{value}");
    }
    assert!(!chinese(&[("LANG", "de_DE.UTF-8")]) && !chinese(&[("ZLAUNCH_LANG", "en_US.UTF-8")]));
}

#[test]
fn stages_have_many_spellings() {
    let stage = asked("stage 3", &[]).unwrap();
    for word in ["stage3", "zero3", "ZeRO-3", "zero stage 3", "z3", "zero_3"] {
        assert!(asked(word, &[]).unwrap().contains(&stage), "{word}");
    }
    for word in ["zero", "stage3_prefetch_bucket_size", "3", "zero3_offload"] {
        assert!(
            !asked(word, &[]).is_ok_and(|text| text.contains(&stage)),
            "{word}"
        );
    }
    for word in ["stage 4", "stage 33"] {
        assert!(asked(word, &[]).is_err(), "{word}");
    }
}

/// Eight ranks that print their steps, a progress bar and a warning, each before the `end`.
fn eight_ranks(end: impl Fn(u32) -> String) -> String {
    let steps = |rank: u32| {
        (0..40).map(move |step| {
            format!("[rank{rank}]: {{'loss': 1.{step}, 'grad_norm': 0.4, 'epoch': 0.0{step}}}\n")
        })
    };
    let rank = |rank: u32| {
        let noise = steps(rank).collect::<String>();
        format!(
            "[2026-11-15 10:00:0{rank},879] [INFO] [real_accelerator.py:260:get_accelerator] Setting ds_accelerator to cuda\n\
             {noise}Train:   3%|█▏  | 600/22156\rTrain:   3%|█▏  | 601/22156\n\
             [rank{rank}]: UserWarning: None of the inputs have requires_grad=True. Gradients will be None\n{}",
            end(rank)
        )
    };
    (0..8).map(rank).collect()
}

fn found(text: &str) -> Log {
    let mut log = Log::default();
    log.read("job.log", text.as_bytes()).unwrap();
    log
}

/// Every row has a line that was really seen, and says where; it is found among the lines of eight ranks, and nothing is
/// found where nothing is wrong.
#[test]
fn every_error_is_found_in_a_log_of_eight_ranks() {
    assert!(found(&eight_ranks(|_| String::new())).found.is_empty());
    let mut names = BTreeSet::new();
    // The last one is for every other error.
    for failure in FAILURES
        .iter()
        .filter(|failure| failure.role != Role::Unknown)
    {
        let name = failure.name();
        assert!(names.insert(name), "{name} twice");
        // `PACKAGE VERSION` or `OWNER/REPOSITORY#NUMBER`.
        let recorded = failure
            .seen_in
            .split_once(' ')
            .is_some_and(|(_, version)| version.starts_with(|c: char| c.is_ascii_digit()));
        let quoted = failure
            .seen_in
            .split_once('#')
            .is_some_and(|(place, number)| {
                place.split('/').count() == 2 && number.parse::<u32>().is_ok()
            });
        assert!(recorded || quoted, "{name}: {}", failure.seen_in);
        let line = failure.example;
        let said = line
            .split_once("]: ")
            .filter(|(label, _)| label.starts_with("[rank"))
            .map_or(line, |(_, said)| said);
        let place = failure.traceback.first().unwrap_or(&"train");
        let log = found(&eight_ranks(|rank| {
            let traceback = format!(
                "Traceback (most recent call last):\n  File \"train.py\", line 7, in {place}\n{said}\n"
            );
            traceback
                .lines()
                .map(|line| format!("[rank{rank}]: {line}\n"))
                .collect()
        }));
        assert_eq!(
            log.found
                .iter()
                .map(|found| found.failure.name())
                .collect::<Vec<_>>(),
            [name],
            "{line}"
        );
        assert_eq!((log.found[0].ranks.len(), log.ranks), (8, 8), "{name}");
        assert!(
            log.found[0]
                .lines
                .iter()
                .any(|line| said.contains(line.trim_end_matches('…'))),
            "{name}: {:?}",
            log.found[0].lines
        );
        assert_eq!(log.found[0].place, "job.log:46", "{name}");
    }
    let explained = FAILURES.iter().filter(|failure| failure.rule.is_none());
    assert!(explained.count() > 60);
}

/// A row without a rule explains itself, and what a package printed was seen with a version that is tried here.
#[test]
fn every_error_is_explained_and_was_seen() {
    let mut tried = String::new();
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real")).unwrap() {
        tried += &std::fs::read_to_string(file.unwrap().path()).unwrap_or_default();
    }
    let tried: BTreeSet<&str> = tried
        .split(|c: char| !c.is_alphanumeric() && !"-._=".contains(c))
        .collect();
    for failure in FAILURES {
        let name = failure.name();
        let is_explained = !failure.about.is_empty() && !failure.advice.is_empty();
        assert!(failure.rule.is_some() || is_explained, "{name}");
        if let Some((package, version)) = failure.seen_in.split_once(' ') {
            let package = package.to_lowercase() + "==";
            let seen = format!("{package}{version}");
            // The other packages are not pinned in all environments.
            let is_pinned =
                ["torch==", "transformers==", "accelerate==", "deepspeed=="].contains(&&*package);
            assert!(!is_pinned || tried.contains(&*seen), "{name}: {seen}");
        }
    }
}

/// What ended a rank comes before what the others say about it, wherever it stands.
#[test]
fn a_cause_comes_before_what_follows_from_it() {
    let timeout = "[Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=70, OpType=ALLREDUCE)";
    let log = eight_ranks(|rank| match rank {
        5 => "[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
            .to_string(),
        _ => format!("[rank{rank}]:[E115 10:00:00 ProcessGroupNCCL.cpp:607] {timeout}\n"),
    });
    let names: Vec<&str> = found(&log)
        .found
        .iter()
        .map(|found| found.failure.name())
        .collect();
    assert_eq!(
        names,
        [
            "out of GPU memory",
            "NCCL timed out while gradients were reduced"
        ]
    );
}

/// The line that ended the run, where no row knows it: what a rank raised last, not what a launcher says of it, and before what
/// followed on the other ranks.
#[test]
fn an_unknown_error_is_shown_where_no_cause_is_known() {
    let traceback = "Traceback (most recent call last):\n  File \"train.py\", line 7, in main\n";
    let chain =
        format!("{traceback}KeyError: 'x'\n\nDuring handling of the above exception:\n{traceback}");
    let ours = "my.package.OurError: no such thing";
    let by_launcher = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n";
    let rank5 = |rank: u32, other: &str| {
        let text = if rank == 5 {
            format!("{chain}{ours}\n")
        } else {
            other.to_string()
        };
        text.lines()
            .map(|line| format!("[rank{rank}]: {line}\n"))
            .collect::<String>()
    };
    let names = |log: &Log| {
        log.found
            .iter()
            .map(|found| found.failure.name())
            .collect::<Vec<_>>()
    };
    let alone = found(&(eight_ranks(|rank| rank5(rank, "")) + by_launcher));
    assert_eq!(
        (names(&alone), &alone.found[0].lines[..]),
        (
            vec![
                "an error without an explanation",
                "the report of a launcher"
            ],
            &[ours.to_string()][..]
        )
    );
    // Where there is nothing else, it leads to what is missing.
    assert_eq!(names(&found(by_launcher)), ["the report of a launcher"]);
    assert!(
        alone.found[0].failure.role == Role::Unknown && alone.found[0].ranks == BTreeSet::from([5])
    );
    let timeout = "[Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=70)";
    assert_eq!(
        names(&found(&eight_ranks(|rank| rank5(rank, timeout)))),
        ["an error without an explanation", "NCCL timed out"]
    );
    // The first rank that failed is the reason for the others, and what fails while Python tidies up is nothing.
    let tidied = "Exception ignored in: <function Adam.__del__ at 0x7f>\nTraceback (most recent call last):\n  File \"adam.py\", line 7, in __del__\nAttributeError: 'Adam' object has no attribute 'id'\n";
    let log = found(&format!(
        "{tidied}[rank2]: {ours}\n[rank4]: ValueError: another one\n"
    ));
    assert_eq!(log.found[0].lines, [ours]);
    assert!(found(tidied).found[0].role == Role::Consequence);
    let memory = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.";
    assert_eq!(
        names(&found(&eight_ranks(|rank| rank5(rank, memory))))[0],
        "out of GPU memory"
    );
    for (line, is_error) in [
        ("train.py: error: unrecognized arguments: --lr", true),
        ("3: AssertionError", true),
        ("KeyboardInterrupt", true),
        ("WARNING: ValueError: was caught", false),
        ("UserWarning: Error: is not one", false),
        ("srun: error: node1: task 0: Exited with exit code 1", false),
        (
            "subprocess.CalledProcessError: Command '['python']' returned non-zero exit status 1.",
            false,
        ),
        ("0 errors: all is well", false),
    ] {
        assert_eq!(!found(line).found.is_empty(), is_error, "{line}");
    }
}

/// Lines that a terminal wrapped are one line again, and are counted as before; others are left alone.
#[test]
fn wrapped_lines_are_joined() {
    let said = "AssertionError: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size 16 != 2 * 2 * 8";
    let words = said
        .split(' ')
        .fold(vec![String::new()], |mut lines, word| {
            let last = lines.last_mut().unwrap();
            if last.len() + 1 + word.len() > 60 {
                lines.push(word.to_string());
            } else {
                *last = format!("{last} {word}").trim_start().to_string();
            }
            lines
        });
    assert!(words.len() > 2);
    let log = found(&format!(
        "start\n{}\nend\nKeyError: 'x'\n",
        words.join("\n")
    ));
    assert_eq!(log.found[0].lines, [said]);
    assert_eq!(log.found[0].place, "job.log:2");
    assert_eq!(log.found[1].place, format!("job.log:{}", words.len() + 3));
    // Beside the frame of a box, whose lines are longer in bytes than in columns.
    let frame = format!("│ {} │\n", "❱ 893".repeat(10));
    assert_eq!(frame.chars().count(), 55);
    let boxed = found(&format!(
        "{frame}{frame}AssertionError: Check batch related parameters. train_batch\n_size is not equal\n"
    ));
    assert!(
        boxed.found[0].lines[0].ends_with("not equal"),
        "{:?}",
        boxed.found[0].lines
    );
    let list = found(
        "ValueError: Please correct the following DeepSpeed config values that mismatch TrainingArguments values:\n- ds gradient_clipping=0.5 vs hf max_grad_norm=1.0\n",
    );
    assert_eq!(list.found[0].lines.len(), 2);
}

/// What NCCL says in the line below is shown, and leads to its own row where there is one.
#[test]
fn the_last_error_of_nccl_is_shown() {
    let log = |why: &str| {
        found(&format!(
            "ncclSystemError: System call (e.g. socket, malloc) or\nLast error:\n{why}\n"
        ))
    };
    let other = log("Error in ibv_poll_cq()");
    assert_eq!(
        other.found[0].lines[1..],
        ["Last error:", "Error in ibv_poll_cq()"]
    );
    let route = log("socketStartConnect: Connect to 172.17.0.1<52822> failed : No route to host");
    assert_eq!(
        route.found[0].failure.name(),
        "a network that NCCL cannot use"
    );
}

/// A rank is known by torch's label, by that of torchrun or by that of `srun --label`.
#[test]
fn ranks_are_known_by_their_labels() {
    for label in [
        "[rank7]: ",
        "[default7]:",
        "7: ",
        " 7: ",
        "[rank7]:[E115 ProcessGroupNCCL.cpp:607] [Rank 7] ",
    ] {
        let log = found(&format!(
            "{label}RuntimeError: Ninja is required to load C++ extensions\n"
        ));
        assert_eq!(log.found[0].ranks, BTreeSet::from([7]), "{label}");
    }
    assert!(
        found("10:15: RuntimeError: Ninja is required to load C++ extensions").found[0]
            .ranks
            .len()
            <= 1
    );
}

/// The traceback that belongs to an error is found wherever the log is cut for reading, and so is its line.
#[test]
fn a_log_is_read_in_pieces() {
    let error = "Traceback (most recent call last):\n  File \"trainer.py\", line 7, in evaluation_loop\n\
                 torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n";
    // The first piece ends before, within and after each of the three lines.
    let noise = format!("{}\n", "x".repeat(2000)).repeat((1 << 20) / 2001 - 1);
    for more in [0, 40, 90, 130, 250] {
        let text = format!(
            "{noise}{}\n{error}{noise}",
            "x".repeat((1 << 20) - 200 - noise.len() + more)
        );
        let log = found(&text);
        assert_eq!(
            log.found[0].failure.name(),
            "out of GPU memory in evaluation",
            "{more}"
        );
        let line = text[..text.find("torch.Out").unwrap()].lines().count() + 1;
        assert_eq!(log.found[0].place, format!("job.log:{line}"), "{more}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 64, failure_persistence: None, ..Default::default() })]
    /// Whatever is in a file.
    #[test]
    fn no_log_is_too_strange(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..400), at in 0_usize..400) {
        let line = b"[rank99999999999]: CUDA out of memory \xff\xfe\x1b[31m [Rank 4294967295] Watchdog caught collective operation timeout";
        let at = at.min(bytes.len());
        let mut log = Log::default();
        log.read("", &[&bytes[..at], line, &bytes[at..]].concat()[..]).unwrap();
        log.read("", &bytes[..]).unwrap();
    }
}
