//! What a person sees: the help, the line of a launch, suggestions, configs from a pipe.

use crate::sandbox::{Run, SWIFT, Sandbox};

/// A program that a shell runs in the sandbox, where `zlaunch` is on PATH.
fn shell(sandbox: &Sandbox, script: &str) -> Run {
    Run::of(sandbox.inside("bash").args(["-c", script]).env("zlaunch", env!("CARGO_BIN_EXE_zlaunch")))
}

#[test]
fn the_overview_is_one_screen_and_names_every_command() {
    let sandbox = Sandbox::new();
    let (short, whole) = (sandbox.run(["-h"]), sandbox.run(["--help"]));
    let lines = |run: &Run| run.stdout.lines().count();
    assert!(lines(&short) <= 45 && lines(&whole) > 45, "{} and {}", lines(&short), lines(&whole));
    let usage = whole.stdout.lines().filter_map(|line| line.trim().strip_prefix("zlaunch "));
    for name in usage.filter_map(|line| line.split(' ').next()).filter(|name| !name.starts_with(['-', '['])) {
        assert!(short.stdout.contains(&format!("\n  {name} ")), "{name}: {}", short.stdout);
        let page = sandbox.run(["help", name]);
        assert_eq!(page.stdout, sandbox.run([name, "-h"]).stdout, "{name}");
        assert!((6..=55).contains(&lines(&page)), "{name}: {}", page.stdout);
        assert!(page.stdout.contains(&format!("Usage: zlaunch {name}")), "{name}: {}", page.stdout);
    }
    assert_eq!(sandbox.run(["help"]).stdout, short.stdout);
    assert_eq!(sandbox.run(["-nh"]).stdout, short.stdout);
    // Nothing was asked for, and nothing was done.
    let bare = sandbox.run(Vec::<&str>::new());
    assert_eq!((bare.status, bare.stdout), (Some(125), short.stdout));
    sandbox.run(["help", "chek"]).refused(&["did you mean `check`"]);
}

#[test]
fn a_report_shows_its_own_options_and_takes_all_of_a_launch() {
    let sandbox = Sandbox::new();
    for name in ["check", "doctor"] {
        let page = sandbox.run([name, "--help"]).stdout;
        assert!(page.contains("--trainer") && !page.contains("--config-out"), "{name}: {page}");
        let run = sandbox.run([&[name, "--config-out", "x.json", "--deepspeed", "zero2", "--"], SWIFT].concat());
        assert_ne!(run.status, Some(125), "{run:?}");
    }
}

#[test]
fn a_launch_says_what_it_is_in_one_line() {
    let mut sandbox = Sandbox::new();
    let said = |sandbox: &Sandbox, options: &[&str], command: &[&str]| sandbox.launch(options, command).headline;
    let zero2 = &["--deepspeed", "zero2", "--nproc-per-node", "2"];
    assert_eq!(said(&sandbox, zero2, SWIFT), "zlaunch: zero2 · 2 ranks on this machine · torchrun\n");
    assert_eq!(said(&sandbox, &[zero2, &["-q"][..]].concat(), SWIFT), "");
    assert_eq!(said(&sandbox, &[zero2, &["-n"][..]].concat(), SWIFT), "");
    let one = &["--deepspeed", "zero2", "--nproc-per-node", "1"];
    assert_eq!(said(&sandbox, one, SWIFT), "zlaunch: zero2 · 1 rank on this machine\n");
    let two = ["--nnodes", "2", "--master-addr", "10.0.0.1", "--master-port", "29500", "--node-rank"];
    let first = said(&sandbox, &[zero2, &two[..], &["0"]].concat(), SWIFT);
    assert_eq!(first, "zlaunch: zero2 · 4 ranks on 2 machines · torchrun\n");
    assert_eq!(said(&sandbox, &[zero2, &two[..], &["1"]].concat(), SWIFT), "");
    let plain = said(&sandbox, &["--nproc-per-node", "2"], SWIFT);
    assert_eq!(plain, "zlaunch: no DeepSpeed config · 2 ranks on this machine · torchrun\n");
    // What zlaunch only passes on is not announced.
    assert_eq!(said(&sandbox, &[], &["true"]), "");
    for (rank, line) in [("0", "zlaunch: zero2 · rank 0 of 2, already started\n"), ("1", "")] {
        let there = [("MASTER_ADDR", "localhost"), ("MASTER_PORT", "29500"), ("WORLD_SIZE", "2")];
        sandbox.vars(&there).vars(&[("RANK", rank), ("LOCAL_RANK", rank)]);
        assert_eq!(said(&sandbox, &["--deepspeed", "zero2"], SWIFT), line);
    }
}

#[test]
fn a_config_comes_through_a_pipe() {
    let sandbox = Sandbox::new();
    let config = r#"// with a comment
        {"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 1}}"#;
    sandbox.file("c.json", config);
    let plan = "$zlaunch -n --format json --nproc-per-node 2 --deepspeed";
    for script in [
        format!("cat c.json | {plan} - -- swift sft"),
        format!("{plan} - -- swift sft < c.json"),
        format!("cat c.json | {plan}=- -- swift sft"),
        format!("{plan} <(cat c.json) -- swift sft"),
        format!("cat c.json | {plan} /dev/stdin -- swift sft"),
    ] {
        let plan = shell(&sandbox, &script).json();
        assert_eq!(plan["config"]["zero_optimization"]["stage"], 1, "{script}");
        assert_eq!(plan["template"]["origin"], "a pipe", "{script}");
    }
    // Behind a prefix zlaunch runs again, and the pipe is empty by then.
    let run = shell(&sandbox, "$zlaunch -q --nproc-per-node 2 --deepspeed - -- nice swift sft < c.json");
    run.succeeded();
    let written = crate::sandbox::read_json(sandbox.cached_config());
    assert_eq!(written["zero_optimization"]["stage"], 1);
    for (script, words) in [
        ("echo '{' | $zlaunch -n --deepspeed - -- swift sft", ["not JSON", "standard input:2:1"]),
        ("echo '[]' | $zlaunch -n --deepspeed - -- swift sft", ["object", "standard input"]),
        ("mkfifo p; timeout 5 $zlaunch -n --deepspeed ./p -- swift sft", ["p", "file"]),
    ] {
        shell(&sandbox, script).refused(&words);
    }
    assert_eq!(shell(&sandbox, "$zlaunch check - < c.json").status, Some(0));
    assert_eq!(shell(&sandbox, "echo '{\"zero_optimization\": {\"stage\": 7}}' | $zlaunch check -").status, Some(1));
}

#[test]
fn what_was_meant_is_said() {
    let sandbox = Sandbox::new();
    let two = ["--nproc-per-node", "2"];
    for (words, told) in [
        ("--num_processes 2 -- swift sft", "did you mean `--nproc-per-node`?"),
        ("--num-machines 2 -- swift sft", "did you mean `--nnodes`?"),
        ("--main_process_port 1 -- swift sft", "did you mean `--master-port`?"),
        ("--nproc 2 -- swift sft", "did you mean `--nproc-per-node`?"),
        ("--deepsped zero2 -- swift sft", "did you mean `--deepspeed`?"),
        ("--zero2 -- swift sft", "did you mean `--deepspeed zero2`?"),
        ("--seed 42 --model x -- swift sft", "help: zlaunch -- swift sft --seed 42 --model x\n"),
        ("--seed=42 swift sft", "help: zlaunch swift sft --seed=42\n"),
        ("check --model x -- swift sft", "help: zlaunch check -- swift sft --model x\n"),
        ("fit --gpu 8 --params 8B", "--gpus 8 --gpu-memory 80GiB"),
        ("generate --micro 2", "did you mean `--micro-batch`?"),
        ("--deepspeed zero4 -- swift sft", "did you mean `zero3`?"),
        ("--deepspeed stage3 -- swift sft", "did you mean `zero3`?"),
        ("--deepspeed 2 -- swift sft", "did you mean `zero2`?"),
        ("--deepspeed ZeRO-7-offload -- swift sft", "did you mean `zero3_offload`?"),
        ("--dry-run=true -- swift sft", "help: --dry-run\n"),
        ("--dry-run=json -- swift sft", "help: --dry-run --format json\n"),
        ("--strict=false -- swift sft", "help: leave --strict out\n"),
    ] {
        let run = sandbox.run(words.split(' '));
        run.refused(&[told]);
        assert!(!run.stderr.contains("`--nnodes`") || told.contains("nnodes"), "{words}: {}", run.stderr);
    }
    for (key, given) in [("train_micro_batch_size_per_gpu", "4"), ("zero_optimization.reduce_bucket_size", "5e8")] {
        sandbox.file("train.py", "import deepspeed\n");
        let set = format!("{key}=\"{given}\"");
        let run = sandbox
            .run([&["check"][..], &two, &["--deepspeed", "zero2", "--set", &set, "--", "python", "train.py"]].concat());
        assert!(!run.stdout.contains(&format!("--set {key}=1")), "{}", run.stdout);
    }
    let behind = sandbox.launch(&["--deepspeed", "zero2", "--nproc-per-node", "2"], &["swift", "sft", "-n"]);
    assert!(
        behind.stderr.contains("help: zlaunch -n --deepspeed zero2 --nproc-per-node 2 -- swift sft\n"),
        "{behind:?}"
    );
    let ours = sandbox.launch(&["--deepspeed", "zero2", "--nproc-per-node", "2"], &["swift", "sft", "--nnodes", "1"]);
    ours.refused(&["--nnodes is an option of zlaunch: put it in front of the command"]);
    // A script of one's own may have it.
    sandbox.file("train.py", "import deepspeed\nparser.add_argument('-n')\n");
    assert_eq!(
        sandbox.launch(&["--deepspeed", "zero2", "--nproc-per-node", "2"], &["python", "train.py", "-n"]).stderr,
        ""
    );
}

#[test]
fn a_record_in_the_output_of_the_trainer_is_found() {
    let sandbox = Sandbox::new();
    let command = [SWIFT, &["--output_dir", "out"]].concat();
    sandbox.launch(&["--deepspeed", "zero2", "--nproc-per-node", "2", "--record", "auto"], &command).succeeded();
    let run = sandbox.run(["replay", "-n", "out"]);
    assert_eq!((run.status, run.stdout.as_str()), (Some(0), "nothing differs\n"), "{run:?}");
}
