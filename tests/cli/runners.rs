//! DeepSpeed's runner for several machines: words and variables arrive as they were said, or are refused. The
//! real runner, pdsh, ssh and several MPIs run in `tests/real/engines/runner.py`.

use std::ffi::OsString;
use std::fs;

use crate::sandbox::{Sandbox, output};

const HOSTS: &[&str] = &["--hostfile", "hosts"];
const SCRIPT: &[&str] = &["python", "train.py"];

fn several() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("hosts", "h0 slots=2\nh1 slots=2\n");
    sandbox.file("train.py", "");
    sandbox
}

#[test]
fn plain_words_pass_and_what_a_shell_would_change_is_refused() {
    let sandbox = several();
    let words = [
        "--a=b",
        "two words",
        "{\"a\": 1}",
        "it's here",
        "[1,2]",
        "数据",
        "a@b:c,d+e",
        "!x",
        "^a",
        "-",
        "100 (a)",
    ];
    sandbox
        .launch(HOSTS, &[SCRIPT, &words].concat())
        .succeeded();
    assert!(
        sandbox.recorded().ends_with(&words.map(OsString::from)),
        "{:?}",
        sandbox.recorded()
    );
    let odd = [
        "{\"a\":1}",
        "$(touch x)",
        "`touch x`",
        "",
        "it's",
        "\"",
        "\\",
        "\\ \\",
        "$HOME b",
        "~",
        "*",
        "a?",
        "a;b",
        "a&b",
    ];
    for word in odd.iter().chain(&[
        "a|b",
        ">x",
        "<x",
        "(",
        ")",
        "#",
        "100%",
        "%n %h",
        "two\nlines",
        "a\tb",
        "{a,b}",
        "=ls",
    ]) {
        let run = sandbox.launch(
            &[HOSTS, &["-n"]].concat(),
            &[SCRIPT, &["--a", word]].concat(),
        );
        run.refused(&[
            "would be read by the shell on every machine",
            "--> the command",
            "drop --hostfile",
        ]);
    }
    // DeepSpeed quotes no script, whatever is in it.
    sandbox
        .launch(HOSTS, &["python", "train it.py"])
        .refused(&["`train it.py` would be read by the shell"]);
    // On one machine, the runner starts the ranks without a shell.
    sandbox
        .launch(
            &[HOSTS, &["--include", "h0"]].concat(),
            &[SCRIPT, &odd].concat(),
        )
        .succeeded();
    assert!(sandbox.recorded().ends_with(&odd.map(OsString::from)));
}

#[test]
fn a_choice_among_the_machines_is_judged() {
    let sandbox = several();
    for (options, says, help) in [
        (
            "--include h0 --exclude h1",
            "`--include` cannot be used with `--exclude`",
            "drop one of them",
        ),
        (
            "--include h0:0-1",
            "`h0` has no GPU `0-1`",
            "--include h0:0,1",
        ),
        ("--include h0:2", "`h0` has no GPU `2`", "it has 0,1"),
    ] {
        let options: Vec<&str> = HOSTS.iter().copied().chain(options.split(' ')).collect();
        sandbox
            .launch(&options, SCRIPT)
            .refused(&[says, &format!("  help: {help}\n")]);
    }
}

#[test]
fn only_pdsh_reaches_the_machines() {
    let sandbox = several();
    for name in ["openmpi", "mpich", "impi", "slurm", "mvapich"] {
        let extra = format!("--launcher-arg=--launcher={name}");
        sandbox
            .launch(&[HOSTS, &[&extra]].concat(), SCRIPT)
            .refused(&["through pdsh only", "mpirun or srun in front"]);
        // One machine is not reached through anything.
        sandbox
            .launch(&[HOSTS, &["--include", "h0", &extra]].concat(), SCRIPT)
            .succeeded();
    }
    sandbox
        .launch(
            &[HOSTS, &["--launcher-arg=--launcher=PDSH"]].concat(),
            SCRIPT,
        )
        .succeeded();
    assert!(sandbox.recorded_env().contains_key("DS_ENV_FILE"));
    sandbox
        .launch(&[HOSTS, &["--launcher-arg=--no_ssh"]].concat(), SCRIPT)
        .succeeded();
    assert!(!sandbox.recorded_env().contains_key("DS_ENV_FILE"));
}

#[test]
fn secrets_and_values_that_a_shell_would_change_are_refused() {
    let mut sandbox = several();
    sandbox.file(".deepspeed_env", "OWN=$HOME/x\n");
    let launch = |sandbox: &Sandbox, more: &[&str]| sandbox.launch(&[HOSTS, more].concat(), SCRIPT);
    launch(&sandbox, &["--env", "NCCL_IB_HCA=^mlx5_0"]).succeeded();
    let text = fs::read_to_string(&sandbox.recorded_env()["DS_ENV_FILE"]).unwrap();
    for line in ["OWN=$HOME/x", "NCCL_IB_HCA=^mlx5_0"] {
        assert!(text.lines().any(|it| it == line), "{line}: {text}");
    }
    for (setting, why) in [
        ("ODD=$a \"b\" %n", "ODD: the shells of the machines"),
        ("ENDS= x ", "ENDS: the shells of the machines"),
        ("HF_TOKEN=of-a-flag", "HF_TOKEN: every user of a machine"),
    ] {
        let run = launch(&sandbox, &["--env", setting]);
        run.refused(&[why, "set it on the machines"]);
        assert!(!run.stderr.contains("of-a-flag"), "{run:?}");
    }
    // The runner would hand it on by itself.
    sandbox.var("MLFLOW_TRACKING_TOKEN", "of-mlflow");
    launch(&sandbox, &[]).refused(&["MLFLOW_TRACKING_TOKEN: every user of a machine"]);
}

#[test]
fn what_deepspeed_does_not_quote_is_refused() {
    let sandbox = several();
    sandbox
        .launch(&[HOSTS, &["--master-addr", "$(id)"]].concat(), SCRIPT)
        .refused(&["shell on every machine", "--master-addr"]);
    let folder = sandbox.path("cwd/a b");
    fs::create_dir(&folder).unwrap();
    let words = ["--hostfile", "../hosts", "--", "python", "x.py"];
    let output = output(sandbox.command(words).current_dir(&folder));
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("the current folder"),
        "{output:?}"
    );
}
