//! What a person sees: the help, the line of a launch, suggestions, configs from a pipe.

use crate::sandbox::{self, Run, SWIFT, Sandbox, free_port, without_colours};

/// What a terminal with so many columns shows, with and without colours.
fn on_terminal(sandbox: &Sandbox, columns: u16, words: &[&str]) -> (String, String) {
    let shown = sandbox::on_terminal(sandbox.command(words), columns);
    let plain = without_colours(&shown);
    (shown, plain)
}

#[test]
fn lines_are_as_wide_as_the_terminal() {
    let sandbox = Sandbox::new();
    let config = r#"{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpuu"}, "overlap_com": true}, "fp16": {"enabled": true}, "bf16": {"enabled": true}}"#;
    sandbox.file("bad.json", config);
    let plan = [
        &[
            "-n",
            "--deepspeed",
            "zero3",
            "--nproc-per-node",
            "2",
            "--unset",
            "steps_per_print",
            "--",
        ],
        SWIFT,
    ]
    .concat();
    let verbose = [
        &["-v", "--deepspeed", "zero3", "--nproc-per-node", "2", "--"],
        SWIFT,
    ]
    .concat();
    let doctor = [&["doctor", "--deepspeed", "zero3_offload", "--"], SWIFT].concat();
    let moved = [&["--model", "x", "--deepspeed", "zero3", "--"], SWIFT].concat();
    let mut pages: Vec<&[&str]> = vec![&plan, &verbose, &doctor, &moved];
    pages.extend([
        &["-h"][..],
        &["--help"],
        &["templates"],
        &["templates", "zero3_nvme"],
        &["explain"],
        &["doctor"],
    ]);
    pages.extend([&["explain", "device"][..], &["check", "bad.json"]]);
    for words in pages {
        for width in [70, 80, 120] {
            let (_, plain) = on_terminal(&sandbox, width, words);
            // A single word cannot be broken.
            let long = plain.lines().find(|line| {
                line.chars().count() > width.into() && line.split_whitespace().count() > 2
            });
            assert_eq!(long, None, "{words:?} on {width} columns");
            assert!(plain.lines().count() > 3, "{words:?}: {plain}");
        }
    }
    // A command is still one that can be pasted.
    let (_, plain) = on_terminal(&sandbox, 70, &moved);
    let (_, help) = plain.split_once("help: ").unwrap();
    assert!(
        help.trim_end()
            .lines()
            .rev()
            .skip(1)
            .all(|line| line.ends_with(" \\")),
        "{plain}"
    );
}

#[test]
fn colours_are_for_terminals() {
    let mut sandbox = Sandbox::new();
    sandbox.file("bad.json", r#"{"zero_optimization": {"stage": 7}}"#);
    let pages: &[&[&str]] = &[&["doctor"], &["check", "bad.json"], &["-h"]];
    for words in pages {
        assert!(
            on_terminal(&sandbox, 100, words).0.contains("\x1b["),
            "{words:?}"
        );
        assert!(!sandbox.run(*words).stdout.contains('\x1b'), "{words:?}");
    }
    sandbox.var("NO_COLOR", "1");
    for words in pages {
        assert!(
            !on_terminal(&sandbox, 100, words).0.contains('\x1b'),
            "{words:?}"
        );
    }
}

#[test]
fn configs_are_compared_by_key() {
    let sandbox = Sandbox::new();
    let diff = |words: &[&str]| {
        let run = sandbox.run([&["diff"], words].concat());
        run.succeeded();
        run.stdout
    };
    let text = diff(&["zero2", "zero3"]);
    let row = |key: &str| {
        let line = text
            .lines()
            .find(|line| line.split(' ').nth(1) == Some(key));
        line.unwrap_or_default()
            .split_whitespace()
            .map(str::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        row("zero_optimization.stage"),
        "~ zero_optimization.stage 2 3"
    );
    assert_eq!(
        row("zero_optimization.sub_group_size"),
        "= zero_optimization.sub_group_size (1000000000) 1000000000"
    );
    let threshold = "zero_optimization.stage3_param_persistence_threshold";
    assert_eq!(row(threshold), format!("+ {threshold} (100000) \"auto\""));
    sandbox.file("a.json", sandbox.run(["templates", "zero2"]).stdout);
    assert_eq!(
        diff(&["a.json", "zero2"]),
        "a.json and zero2 are the same: 22 keys\n"
    );
    // What a launch would use, and what one has used.
    let options = [
        "--nproc-per-node",
        "2",
        "--set",
        "steps_per_print=7",
        "--deepspeed",
        "zero2",
    ];
    let json = diff(&[&["zero2"], &options[..], &["--format", "json", "--"], SWIFT].concat());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let of = |key: &str| {
        json["differences"]
            .as_array()
            .unwrap()
            .iter()
            .find(|it| it["key"] == key)
            .unwrap()
            .clone()
    };
    assert_eq!(of("steps_per_print")["b"], 7);
    assert_eq!(of("gradient_accumulation_steps")["kind"], "different");
    sandbox
        .launch(
            &[&options[..], &["--record", "out/zlaunch"]].concat(),
            SWIFT,
        )
        .succeeded();
    for record in ["out/zlaunch", "out/zlaunch/config.json"] {
        assert!(
            diff(&["zero2", record]).contains("~ steps_per_print"),
            "{record}"
        );
    }
    sandbox.file("secret.json", r#"{"comet": {"api_key": "hunter2"}}"#);
    let text =
        diff(&["secret.json", "zero2"]) + &diff(&["secret.json", "zero2", "--format", "json"]);
    assert!(
        text.contains("comet.api_key") && !text.contains("hunter2"),
        "{text}"
    );
    sandbox
        .run(["diff", "zero2"])
        .refused(&["needs two configs"]);
    sandbox
        .run(["diff", "zero2", "zero9"])
        .refused(&["did you mean `zero3`?"]);
    sandbox.run(["diff", "a", "b"]).refused(&["`a`", "`b`"]);
}

#[test]
fn a_plan_marks_what_differs_from_its_template() {
    let sandbox = Sandbox::new();
    let options = ["--nproc-per-node", "2", "--deepspeed", "zero2"];
    let layers = [
        "--set",
        "zero_optimization.overlap_comm=true",
        "--unset",
        "steps_per_print",
        "--set",
        "zz=1",
    ];
    let plan = sandbox
        .run(
            [
                &["-n", "--allow", "ignored-key"],
                &options[..],
                &layers,
                &["--"],
                SWIFT,
            ]
            .concat(),
        )
        .stdout;
    for line in [
        "~ zero_optimization.overlap_comm = true  false in the template",
        "- steps_per_print",
        "+ zz = 1",
    ] {
        assert!(plan.contains(&format!("\n  {line}")), "{line}: {plan}");
    }
    let plan = sandbox
        .run([&["-n"], &options[..], &["--"], SWIFT].concat())
        .stdout;
    assert!(!plan.contains("differs from"), "{plan}");
}

/// A program that a shell runs in the sandbox, where `zlaunch` is on PATH.
fn shell(sandbox: &Sandbox, script: &str) -> Run {
    Run::of(
        sandbox
            .inside("bash")
            .args(["-c", script])
            .env("zlaunch", env!("CARGO_BIN_EXE_zlaunch")),
    )
}

#[test]
fn the_overview_is_one_screen_and_names_every_command() {
    let sandbox = Sandbox::new();
    let (short, whole) = (sandbox.run(["-h"]), sandbox.run(["--help"]));
    let lines = |run: &Run| run.stdout.lines().count();
    assert!(
        lines(&short) <= 45 && lines(&whole) > 45,
        "{} and {}",
        lines(&short),
        lines(&whole)
    );
    let usage = whole
        .stdout
        .lines()
        .filter_map(|line| line.trim().strip_prefix("zlaunch "));
    for name in usage
        .filter_map(|line| line.split(' ').next())
        .filter(|name| !name.starts_with(['-', '[']))
    {
        assert!(
            short.stdout.contains(&format!("\n  {name} ")),
            "{name}: {}",
            short.stdout
        );
        let page = sandbox.run(["help", name]);
        assert_eq!(page.stdout, sandbox.run([name, "-h"]).stdout, "{name}");
        assert!((6..=55).contains(&lines(&page)), "{name}: {}", page.stdout);
        assert!(
            page.stdout.contains(&format!("Usage: zlaunch {name}")),
            "{name}: {}",
            page.stdout
        );
    }
    assert_eq!(sandbox.run(["help"]).stdout, short.stdout);
    assert_eq!(sandbox.run(["-nh"]).stdout, short.stdout);
    // Nothing was asked for, and nothing was done.
    let bare = sandbox.run(Vec::<&str>::new());
    assert_eq!((bare.status, bare.stdout), (Some(125), short.stdout));
    sandbox
        .run(["help", "chek"])
        .refused(&["unexpected argument `chek`"]);
}

#[test]
fn a_report_shows_its_own_options_and_takes_all_of_a_launch() {
    let sandbox = Sandbox::new();
    for name in ["check", "doctor"] {
        let page = sandbox.run([name, "--help"]).stdout;
        assert!(
            page.contains("--trainer") && !page.contains("--config-out"),
            "{name}: {page}"
        );
        let run = sandbox.run(
            [
                &[name, "--config-out", "x.json", "--deepspeed", "zero2", "--"],
                SWIFT,
            ]
            .concat(),
        );
        assert_ne!(run.status, Some(125), "{run:?}");
    }
}

#[test]
fn a_launch_says_what_it_is_in_one_line() {
    let mut sandbox = Sandbox::new();
    let said = |sandbox: &Sandbox, options: &[&str], command: &[&str]| {
        sandbox.launch(options, command).headline
    };
    let zero2 = &["--deepspeed", "zero2", "--nproc-per-node", "2"];
    assert_eq!(
        said(&sandbox, zero2, SWIFT),
        "zlaunch: zero2 · 2 ranks on this machine · torchrun\n"
    );
    assert_eq!(said(&sandbox, &[zero2, &["-q"][..]].concat(), SWIFT), "");
    assert_eq!(said(&sandbox, &[zero2, &["-n"][..]].concat(), SWIFT), "");
    let one = &["--deepspeed", "zero2", "--nproc-per-node", "1"];
    assert_eq!(
        said(&sandbox, one, SWIFT),
        "zlaunch: zero2 · 1 rank on this machine\n"
    );
    let (port, _kept) = free_port();
    let two = [
        "--nnodes",
        "2",
        "--master-addr",
        "10.0.0.1",
        "--master-port",
        &port,
        "--node-rank",
    ];
    let first = said(&sandbox, &[zero2, &two[..], &["0"]].concat(), SWIFT);
    assert_eq!(first, "zlaunch: zero2 · 4 ranks on 2 machines · torchrun\n");
    assert_eq!(
        said(&sandbox, &[zero2, &two[..], &["1"]].concat(), SWIFT),
        ""
    );
    let plain = said(&sandbox, &["--nproc-per-node", "2"], SWIFT);
    assert_eq!(
        plain,
        "zlaunch: no DeepSpeed config · 2 ranks on this machine · torchrun\n"
    );
    // What zlaunch only passes on is not announced.
    assert_eq!(said(&sandbox, &[], &["true"]), "");
    for (rank, line) in [
        ("0", "zlaunch: zero2 · rank 0 of 2, already started\n"),
        ("1", ""),
    ] {
        let there = [
            ("MASTER_ADDR", "localhost"),
            ("MASTER_PORT", &port),
            ("WORLD_SIZE", "2"),
        ];
        sandbox
            .vars(&there)
            .vars(&[("RANK", rank), ("LOCAL_RANK", rank)]);
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
    let run = shell(
        &sandbox,
        "$zlaunch -q --nproc-per-node 2 --deepspeed - -- nice swift sft < c.json",
    );
    run.succeeded();
    let written = crate::sandbox::read_json(sandbox.cached_config());
    assert_eq!(written["zero_optimization"]["stage"], 1);
    for (script, words) in [
        (
            "echo '{' | $zlaunch -n --deepspeed - -- swift sft",
            ["not JSON", "/dev/stdin:2:1"],
        ),
        (
            "echo '[]' | $zlaunch -n --deepspeed - -- swift sft",
            ["object", "/dev/stdin"],
        ),
        (
            "mkfifo p; timeout 5 $zlaunch -n --deepspeed ./p -- swift sft",
            ["p", "file"],
        ),
    ] {
        shell(&sandbox, script).refused(&words);
    }
    assert_eq!(shell(&sandbox, "$zlaunch check - < c.json").status, Some(0));
    assert_eq!(
        shell(
            &sandbox,
            "echo '{\"zero_optimization\": {\"stage\": 7}}' | $zlaunch check -"
        )
        .status,
        Some(1)
    );
}

/// The help is in Chinese where that is the language, within the width of the terminal.
#[test]
fn the_help_is_in_chinese_too() {
    let mut sandbox = Sandbox::new();
    sandbox.var("ZLAUNCH_LANG", "zh");
    let short = sandbox.run(["-h"]).stdout;
    assert!(
        short.contains("用法： zlaunch [OPTIONS]") && short.contains("只打印计划，什么也不做"),
        "{short}"
    );
    let check = sandbox.run(["check", "--help"]).stdout;
    assert!(
        check.contains("把警告当作错误") && check.contains("zlaunch check ds_config.json"),
        "{check}"
    );
    sandbox.var("ZLAUNCH_LANG", "en");
    assert!(!sandbox.run(["help", "check"]).stdout.contains("选项"));
}

#[test]
fn fit_leaves_columns_out_on_a_narrow_terminal_and_says_so() {
    let sandbox = Sandbox::new();
    let words = ["fit", "--params", "8B", "--gpu", "H100x8"];
    let [narrow, wide] = [80, 160].map(|columns| on_terminal(&sandbox, columns, &words).1);
    let said = "fullest moment; a wider terminal also shows its parts\n";
    assert!(
        narrow.contains(said) && !narrow.contains("  grads  "),
        "{narrow}"
    );
    assert!(
        wide.contains("not there then\n") && wide.contains("  grads  "),
        "{wide}"
    );
}

/// The variables that many programs read decide, of which NO_COLOR is the stronger; else the terminal.
#[test]
fn colours_can_be_chosen() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "bad.json",
        r#"{"train_batch_size": 8, "zero_optimization": {"stage": 7}}"#,
    );
    for (variables, is_coloured) in [
        (&[][..], false),
        (&[("CLICOLOR_FORCE", "1")], true),
        (&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
    ] {
        let words = ["check", "bad.json"];
        let run = Run::of(sandbox.command(words).envs(variables.iter().copied()));
        assert_eq!(
            run.stdout.contains("\x1b[31merror[wrong-value]"),
            is_coloured,
            "{variables:?}: {run:?}"
        );
    }
}
