//! The rules: their table, and what some of them find.

use std::ffi::OsString;

use serde_json::{Map, Value, json};

use zlaunch::testing::check::{WITHOUT_BF16, WITHOUT_FP16, rules};
use zlaunch::testing::cli::{Asked, TOOLS, parse};
use zlaunch::testing::machine::is_model;
use zlaunch::testing::{Host, Judged, Problem, Rule, RuleSubject, Severity, When, schema};

use crate::invariants::fake::Sandbox;

/// What `zlaunch check` finds with these words, which have no spaces.
pub(crate) fn found(words: &str, sandbox: &Sandbox) -> Vec<Problem> {
    found_on(&sandbox.host(), words)
}

fn found_on(host: &Host, words: &str) -> Vec<Problem> {
    let argv: Vec<OsString> = format!("zlaunch check {words}")
        .split(' ')
        .map(OsString::from)
        .collect();
    let Ok(Asked::Request(request)) = parse(&argv, host, &TOOLS) else {
        panic!("{words}")
    };
    let launch = request.into_launch().unwrap();
    Judged::new(&launch, host).problems
}

/// What these rules say about the config of a plain script on 8 ranks.
fn said(rules: &[Rule], config: &Value, sandbox: &Sandbox) -> Vec<Problem> {
    sandbox.file("plain.py", "import deepspeed\ndeepspeed.initialize()\n");
    sandbox.file("ds.json", config.to_string());
    let found = found(
        "--nproc-per-node 8 -- python plain.py --deepspeed_config ds.json",
        sandbox,
    );
    found
        .into_iter()
        .filter(|problem| rules.contains(&problem.rule))
        .collect()
}

#[test]
fn every_rule_has_one_check_and_says_what_it_is() {
    for rule in Rule::all().filter(|rule| rule.subject() == RuleSubject::Check) {
        assert_eq!(
            rules().filter(|check| check.rule == rule).count(),
            1,
            "{rule}"
        );
    }
    for check in rules() {
        let (rule, doc) = (check.rule, check.about);
        assert_eq!(rule.subject(), RuleSubject::Check, "{rule}");
        assert!(doc.len() > 20 && !doc.ends_with('.'), "{rule}: {doc}");
        assert!(
            rule.name()
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
            "{rule}"
        );
        for row in check.rows {
            assert!(!row.at.is_empty() && !row.when.is_empty(), "{rule}");
            let rest = ["key", "value", "name", "deepspeed"]
                .iter()
                .fold(row.says.to_string(), |says, name| {
                    says.replace(&format!("{{{name}}}"), "")
                });
            assert!(!rest.contains(['{', '}']), "{rule}: {}", row.says);
        }
        // What nobody notices is no reason to refuse.
        assert!(
            check.noticed != When::Silent || check.severity != Severity::Error,
            "{rule}"
        );
    }
}

/// The table of names has a row for each rule, and each name is that of its rule.
#[test]
fn rules_have_the_names_of_their_variants() {
    assert_eq!(Rule::all().count(), Rule::TextForNumber as usize + 1);
    for rule in Rule::all() {
        let mut name = String::new();
        for letter in format!("{rule:?}").chars() {
            if !letter.is_lowercase() && !name.is_empty() {
                name.push('-');
            }
            name.extend(letter.to_lowercase());
        }
        assert_eq!(rule.name(), name);
    }
}

/// Each was seen on DeepSpeed 0.19.8 with 8 ranks. 0: it is not in the config.
#[test]
fn the_three_batch_sizes_of_eight_ranks() {
    const KEYS: [&str; 3] = [
        "train_batch_size",
        "train_micro_batch_size_per_gpu",
        "gradient_accumulation_steps",
    ];
    let sandbox = Sandbox::new();
    let said = |sizes: [i64; 3]| -> Vec<String> {
        let given = KEYS.into_iter().zip(sizes).filter(|(_, size)| *size != 0);
        let config: Map<String, Value> = given
            .map(|(key, size)| (key.to_string(), size.into()))
            .collect();
        let problems = said(
            &[Rule::BatchSize, Rule::BatchProduct],
            &config.into(),
            &sandbox,
        );
        problems.into_iter().map(|problem| problem.what).collect()
    };
    for sizes in [
        [16, 2, 1],
        [16, 2, 0],
        [16, 0, 2],
        [0, 2, 3],
        [64, 0, 0],
        [0, 3, 0],
    ] {
        assert_eq!(said(sizes), [""; 0], "{sizes:?}");
    }
    let product = |global: u32, micro: u32, all: u32| {
        format!(
            "`train_batch_size` is {global}, but {micro} (micro batch) × 1 (accumulation steps) × 8 (ranks) is {all}"
        )
    };
    assert_eq!(
        said([0, 0, 4]),
        [format!(
            "the config sets neither `{}` nor `{}`",
            KEYS[0], KEYS[1]
        )]
    );
    assert_eq!(said([60, 0, 0]), [product(60, 7, 56)]);
    assert_eq!(said([4, 0, 0]), [product(4, 0, 0)]);
    assert_eq!(
        said([-8, 1, 0]),
        ["`train_batch_size` is -8, but DeepSpeed expects a number above 0"]
    );
}

#[test]
fn a_partition_is_as_many_ranks_as_divide_all_of_them() {
    let sandbox = Sandbox::new();
    for (size, says) in [
        (1, ""),
        (4, ""),
        (8, ""),
        (3, "does not divide the number of ranks"),
        (16, ""),
    ] {
        let config = json!({"zero_optimization": {"stage": 3, "zero_hpz_partition_size": size}});
        let found = said(&[Rule::PartitionSize], &config, &sandbox);
        let is_it = found.first().map_or(says.is_empty(), |it| {
            !says.is_empty() && it.what.ends_with(says)
        });
        assert!(is_it, "{size}: {found:?}");
    }
}

#[test]
fn allocator_settings() {
    let mut sandbox = Sandbox::new();
    let mut wrong_item = |value: &str| {
        sandbox.var("PYTORCH_CUDA_ALLOC_CONF", value);
        let found = found(
            "--nproc-per-node 2 --deepspeed zero2 -- python train.py",
            &sandbox,
        );
        let what = found
            .into_iter()
            .find(|problem| problem.rule == Rule::AllocatorConf)?
            .what;
        Some(what.split('`').nth(1).unwrap().to_string())
    };
    let list = "roundup_power2_divisions:[256:1,512:2,>:4]";
    for good in [
        "",
        "expandable_segments:True",
        "a:1,",
        "a:1,,b:2",
        "a:1, b:2",
        "a:1,b:[2:3,4:5],c:0.9",
        list,
    ] {
        assert_eq!(wrong_item(good), None, "{good}");
    }
    for bad in ["x", "a:", "expandable_segments=True", ":1"] {
        assert_eq!(wrong_item(bad).as_deref(), Some(bad));
    }
    assert_eq!(wrong_item("a:1,b").as_deref(), Some("b"));
}

#[test]
fn comments_are_no_keys() {
    let config = json!({"train_batch_size": 8, "_comment": 1, "//": 1, "comment": 1, "use_dynamic_tiling": 1,
        "activation_checkpointing": {"#note": 1, "comment_x": 1}});
    let said = said(
        &[Rule::IgnoredKey, Rule::UnknownKey],
        &config,
        &Sandbox::new(),
    );
    let keys: Vec<&str> = said
        .iter()
        .map(|problem| problem.what.split('`').nth(1).unwrap())
        .collect();
    assert_eq!(
        keys,
        ["use_dynamic_tiling", "activation_checkpointing.comment_x"]
    );
}

#[test]
fn some_optimizers_survive_offload() {
    let sandbox = Sandbox::new();
    let is_replaced = |optim: &str| {
        let words = format!(
            "--nproc-per-node 2 --deepspeed zero2_offload -- swift sft --model m --optim {optim}"
        );
        found(&words, &sandbox)
            .iter()
            .any(|problem| problem.rule == Rule::OptimizerReplaced)
    };
    for good in ["adamw_torch", "adamw_torch_fused", "adagrad", "lion_32bit"] {
        assert!(!is_replaced(good), "{good}");
    }
    for bad in [
        "sgd",
        "adafactor",
        "adamw_8bit",
        "adamw_bnb_8bit",
        "muon",
        "rmsprop",
        "lion_8bit",
        "galore_adamw",
    ] {
        assert!(is_replaced(bad), "{bad}");
    }
}

#[test]
fn the_schedulers_are_recorded() {
    let config = json!({"train_batch_size": 8, "scheduler": {"type": "of_nobody"}});
    let said = said(&[Rule::SchedulerType], &config, &Sandbox::new());
    let help = said[0].help();
    let names: Vec<&str> = help.split_once("one of ").unwrap().1.split(", ").collect();
    assert_eq!(names.len(), 5, "{names:?}");
    for name in names {
        assert!(
            schema::parameters("scheduler", Some(name), schema::newest()).count() > 3,
            "{name}"
        );
    }
    assert!(schema::parameters("optimizer", Some("adamw"), schema::newest()).count() > 8);
}

#[test]
fn ranks_may_share_gpus_where_the_cpu_may_train() {
    let sandbox = Sandbox::new();
    for (script, command, severity) in [
        ("nccl", "--nproc-per-node 4 -- python", Severity::Error),
        ("gloo", "--nproc-per-node 4 -- python", Severity::Warning),
        (
            "nccl",
            "-- accelerate launch --num_processes 4",
            Severity::Warning,
        ),
    ] {
        sandbox.file(
            "plain.py",
            format!("import deepspeed\ndeepspeed.init_distributed('{script}')\n"),
        );
        let found = found(&format!("{command} plain.py"), &sandbox);
        let shared = found
            .iter()
            .find(|problem| problem.rule == Rule::RanksShareGpus);
        assert_eq!(
            shared.map(|problem| problem.severity),
            Some(severity),
            "{script}, {command}: {found:?}"
        );
    }
}

#[test]
fn a_gpu_that_is_not_there_is_told_with_those_that_are() {
    let mut sandbox = Sandbox::new();
    for (gpus, list, what, help) in [
        (
            1,
            "1",
            "there is no GPU 1 (the first is 0, the last 0), and torch sees only what is before it",
            "0",
        ),
        (
            2,
            "0,3",
            "there is no GPU 3 (the first is 0, the last 1), and torch sees only what is before it",
            "0,1",
        ),
        (
            4,
            "0,1,4",
            "there is no GPU 4 (the first is 0, the last 3), and torch sees only what is before it",
            "0,1,2,3",
        ),
        (
            12,
            "12",
            "there is no GPU 12 (the first is 0, the last 11), and torch sees only what is before it",
            "0,1,2,3,4,5,6,7",
        ),
    ] {
        sandbox.var("CUDA_VISIBLE_DEVICES", list);
        let host = Host {
            nvidia_gpus: Some(gpus),
            ..sandbox.host()
        };
        let found = found_on(
            &host,
            "--nproc-per-node 1 --deepspeed zero2 -- swift sft --model m",
        );
        let told = found
            .iter()
            .find(|problem| problem.rule == Rule::VisibleDevices)
            .unwrap();
        assert_eq!(
            (&*told.what, told.help()),
            (what, format!("export CUDA_VISIBLE_DEVICES={help}")),
            "{list}"
        );
    }
}

#[test]
fn gpus_by_their_names() {
    let lacks = |name: &str, list: &[&str]| list.iter().any(|model| is_model(name, model));
    for name in [
        "Tesla V100-SXM2-32GB",
        "Tesla T4",
        "NVIDIA GeForce RTX 2080 Ti",
        "NVIDIA TITAN V",
    ] {
        assert!(lacks(name, WITHOUT_BF16), "{name}");
    }
    for name in
        "A100-SXM4-80GB,H200,GeForce RTX 4090,T400,L4,A40,RTX 2000 Ada Generation".split(',')
    {
        let name = &format!("NVIDIA {name}");
        assert!(
            !lacks(name, WITHOUT_BF16) && !lacks(name, WITHOUT_FP16),
            "{name}"
        );
    }
    assert!(lacks("NVIDIA GeForce GTX 1080", WITHOUT_FP16));
    assert!(
        lacks("Tesla P100-PCIE-16GB", WITHOUT_FP16) && !lacks("Tesla P100-PCIE-16GB", WITHOUT_BF16)
    );
}

/// Of a loop around accelerate's `Accelerator` only the script knows the options; those of transformers' examples are judged.
#[test]
fn the_options_of_a_script_with_a_loop_of_its_own_are_not_judged() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "loop.py",
        "from accelerate import Accelerator\nAccelerator()\n",
    );
    for (script, is_judged) in [("loop.py", false), ("x.py", true)] {
        let words = format!(
            "--nproc-per-node 2 --deepspeed zero2 -- python {script} --model_name_or_path ./none"
        );
        let is_found = found(&words, &sandbox)
            .iter()
            .any(|problem| problem.rule == Rule::PathMissing);
        assert_eq!(is_found, is_judged, "{script}");
    }
}

#[test]
fn a_model_that_is_not_here_has_a_neighbour() {
    let sandbox = Sandbox::new();
    sandbox.file("qwen3-8b/config.json", "{}");
    for (model, help) in [
        ("qwen3-8", Some("did you mean `qwen3-8b`? --model qwen3-8b")),
        ("Qwen/qwen3-8", None),
        ("llama", None),
    ] {
        let found = found(
            &format!("--nproc-per-node 2 --deepspeed zero2 -- swift sft --model {model}"),
            &sandbox,
        );
        let told = found
            .iter()
            .find(|problem| problem.rule == Rule::ModelUnreadable);
        assert_eq!(told.map(Problem::help).as_deref(), help, "{model}");
    }
}

mod machine {
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use serde_json::json;

    use zlaunch::testing::check::limits::*;
    use zlaunch::testing::check::machine::*;
    use zlaunch::testing::machine::{Lock, Memory};
    use zlaunch::testing::python::Python;
    use zlaunch::testing::{Rule, Severity};

    use crate::invariants::fake::Sandbox;

    fn offload() -> Vec<(String, PathBuf)> {
        nvme_folders(&json!({"zero_optimization": {
            "stage": 3,
            "offload_optimizer": {"device": "cpu"},
            "offload_param": {"device": "nvme", "nvme_path": "/none/such"},
        }}))
    }

    #[test]
    fn a_config_asks_only_for_what_acts_in_its_stage() {
        assert_eq!(offload().len(), 1);
        let below = nvme_folders(
            &json!({"zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}}),
        );
        assert_eq!(below, []);
        let auto = json!({"zero_optimization": {"stage": "auto"}});
        assert_eq!(nvme_folders(&auto), []);
    }

    #[test]
    fn a_lock_is_stale_after_a_while_where_its_file_is_the_lock() {
        let lock = |age| Lock {
            path: PathBuf::from("/x/lock"),
            age: Duration::from_secs(age),
        };
        assert!(stale_locks(&[lock(60)], None).is_empty());
        let found = stale_locks(&[lock(60), lock(7200)], None);
        assert_eq!((found.len(), found[0].rule), (1, Rule::StaleLock));
        assert!(
            found[0].what.starts_with("this lock is 120 minutes old: "),
            "{}",
            found[0].what
        );
        let sandbox = Sandbox::new();
        for (version, waits) in [("2.13.0", true), ("2.14.0", false), ("2.15.0", false)] {
            sandbox.installed("torch", version);
            let python = Python::at(sandbox.python(), &sandbox.host());
            assert_eq!(
                !stale_locks(&[lock(7200)], Some(&python)).is_empty(),
                waits,
                "{version}"
            );
        }
    }

    #[test]
    fn too_little_is_an_error_where_that_is_certain() {
        let shm = &SHARED_MEMORY;
        let fatal = |fatal, needed| &*Box::leak(Box::new(Needed { fatal, ..needed }));
        for (needed, have, severity) in [
            (shm, Some(64 << 20), Some(Severity::Error)),
            (shm, Some(65 << 20), Some(Severity::Warning)),
            (shm, Some(16 << 30), None),
            (shm, None, None),
            (&OPEN_FILES, Some(256), Some(Severity::Error)),
            (&OPEN_FILES, Some(512), Some(Severity::Warning)),
            (&OPEN_FILES, Some(1024), None),
            (&LOCKED_MEMORY, Some(65536), Some(Severity::Warning)),
            (
                fatal(OLD_LOCKED_MEMORY, LOCKED_MEMORY),
                Some(65536),
                Some(Severity::Error),
            ),
            // More ranks than any limit of a machine was made for.
            (fatal(5000, PROCESSES), Some(4096), Some(Severity::Error)),
            (&PROCESSES, Some(4096), None),
        ] {
            let found = too_little(needed, have);
            let may = found
                .as_ref()
                .map(|problem| problem.what.contains(" may need "));
            assert_eq!(may, severity.map(|it| it == Severity::Warning), "{found:?}");
            assert_eq!(found.map(|problem| problem.severity), severity);
        }
        let small = too_little(shm, Some(64 << 20)).unwrap();
        assert!(
            small.what.starts_with("/dev/shm has 64 MiB: "),
            "{}",
            small.what
        );
    }

    #[test]
    fn a_compiler_that_is_missing_is_named() {
        assert!(no_compiler(true, true, false).is_none());
        for (compiler, ninja, names) in [
            (true, false, "no ninja on PATH"),
            (false, true, "no c++ on PATH"),
            (false, false, "no c++ and no ninja on PATH"),
        ] {
            let problem = no_compiler(compiler, ninja, true).unwrap();
            assert!(problem.what.starts_with(names), "{}", problem.what);
            assert_eq!(problem.help().contains("pip install ninja"), !ninja);
        }
    }

    #[test]
    fn network_file_systems_are_bad_for_locks_and_for_swapping() {
        let path = Path::new("/home/me/x");
        assert!(cache_on_nfs("torch_extensions", path, Some("nfs4"), "X").is_some());
        for kind in [Some("ext4"), Some("lustre"), None] {
            assert!(cache_on_nfs("torch_extensions", path, kind, "X").is_none());
        }
        assert!(
            shared_nvme("k", path, Some("lustre")).is_some()
                && shared_nvme("k", path, Some("xfs")).is_none()
        );
        assert!(config_may_be_local(path, 2, Some("ext4")).is_some());
        for kind in [Some("lustre"), Some("fuse.sshfs"), None] {
            assert!(config_may_be_local(path, 2, kind).is_none());
        }
    }

    #[test]
    fn host_memory_for_offloading() {
        let memory = Memory {
            total: Some(1 << 40),
            available: None,
            limit: Some(64 << 30),
        };
        let short = not_enough_host_memory(144_000_000_000, &memory);
        assert!(short.is_some_and(|problem| problem.what.contains("64 GiB")));
        assert!(not_enough_host_memory(16_000_000_000, &memory).is_none());
        assert!(not_enough_host_memory(u64::MAX, &Memory::default()).is_none());
    }
}
