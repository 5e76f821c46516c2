//! DeepSpeed's runner for several machines: what it is given, so that words and variables arrive as they were said. The
//! real runner, pdsh, ssh and several MPIs run in `tests/real/engines/runner.py`.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::process::Command;

use crate::sandbox::{Sandbox, output};

const HOSTS: &[&str] = &["--hostfile", "hosts"];
const SCRIPT: &[&str] = &["python", "train it.py"];

fn several() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("hosts", "h0 slots=2\nh1 slots=2\n");
    sandbox.file("train it.py", "");
    sandbox
}

/// The words that arrive: `PDSHRunner.parse_user_args`, pdsh's `%%`, and a shell.
fn arrived(script: &[OsString]) -> Vec<Vec<u8>> {
    let mut line = b"for word in".to_vec();
    for (at, word) in script.iter().enumerate() {
        let mut word = word.as_bytes().to_vec();
        if at > 0 && word.contains(&b' ') {
            let parts: Vec<&[u8]> = word.split(|byte| *byte == b'"').collect();
            word = [b"\"", parts.join(&b"\\\""[..]).as_slice(), b"\""].concat();
        }
        line.extend([b" ".as_slice(), &word].concat());
    }
    let text = line.windows(2).any(|two| two[0] == b'%' && b"hnu".contains(&two[1]));
    assert!(!text || line.windows(3).any(|three| three.starts_with(b"%%")), "pdsh would replace something");
    let mut unfolded = Vec::new();
    let mut bytes = line.iter().peekable();
    while let Some(byte) = bytes.next() {
        if *byte == b'%' && bytes.peek() == Some(&&b'%') {
            bytes.next();
        }
        unfolded.push(*byte);
    }
    unfolded.extend(b"; do printf '%s\\000' \"$word\"; done");
    let output = output(Command::new("sh").arg("-c").arg(OsString::from_vec(unfolded)));
    assert!(output.status.success(), "{output:?}");
    output.stdout.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

#[test]
fn every_word_arrives_behind_the_shells() {
    let sandbox = several();
    let odd: &[&[u8]] = &[
        b"{\"a\":1}",
        b"{\"a\": 1}",
        b"$(touch x)",
        b"`touch x`",
        b"",
        b"it's",
        b" ",
        b"\"",
        b"\\",
        b"\\ \\\\",
        b"$HOME b",
        b"~",
        b"*",
        b"a;b",
        b"a&b",
        b">x",
        b"(",
        b"#",
        b"100%",
        b"%n %h",
        b"%%",
        b"two\nlines",
        b"a\tb",
        b"\xff",
        b"--x=$(id)",
        b"{a,b}",
        b"=ls",
    ];
    let words: Vec<OsString> = odd.iter().map(|word| OsString::from_vec(word.to_vec())).collect();
    let options = HOSTS.iter().chain(&["--"]).chain(SCRIPT).map(OsString::from);
    sandbox.run(options.chain(words.clone())).succeeded();
    let argv = sandbox.recorded();
    let at = argv.iter().position(|word| word == "--no_local_rank").unwrap() + 1;
    let said = [&[OsString::from("train it.py")], &words[..], &[OsString::new()]].concat();
    assert_eq!(arrived(&argv[at..]), said.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>());
}

#[test]
fn no_shell_no_quotes() {
    let sandbox = several();
    let command = [SCRIPT, &["$x", ""]].concat();
    for extra in
        ["openmpi", "mpich", "impi", "slurm", "mvapich"].map(|name| format!("--launcher-arg=--launcher={name}"))
    {
        sandbox.launch(&[HOSTS, &[&extra]].concat(), &command).succeeded();
        let argv = sandbox.recorded();
        assert!(argv.ends_with(&["train it.py", "$x", ""].map(OsString::from)), "{argv:?}");
        assert!(!sandbox.recorded_env().contains_key("DS_ENV_FILE"), "{extra}");
        let named = argv.iter().any(|word| word == "--launcher_args=-x OMP_NUM_THREADS");
        assert_eq!(named, extra.ends_with("openmpi"), "{argv:?}");
        if !extra.ends_with("slurm") {
            let colon = [SCRIPT, &[":"]].concat();
            sandbox.launch(&[HOSTS, &[&extra]].concat(), &colon).refused(&["after the word `:`"]);
        }
    }
    // What the runners cannot do, or leave to others.
    for (name, quoted, asks_mpi) in
        [("openmpi", true, true), ("mpich", true, false), ("mvapich", true, true), ("slurm", false, true)]
    {
        let extra = format!("--launcher-arg=--launcher={name}");
        let options = [HOSTS, &["--env", "PYTHONPATH=/a b", &extra]].concat();
        let stderr = sandbox.launch(&options, SCRIPT).stderr;
        assert_eq!(stderr.contains("arrives with the quotes"), quoted, "{name}: {stderr}");
        assert_eq!(stderr.contains("warning[ranks-by-mpi]"), asks_mpi, "{name}: {stderr}");
    }
    sandbox.installed("mpi4py", "4.0.0");
    let module = [HOSTS, &["--launcher-arg=--launcher=slurm"]].concat();
    sandbox.launch(&module, &["python", "-m", "mine"]).refused(&["starts scripts of Python only, not `mine`"]);
    assert!(!sandbox.launch(&module, SCRIPT).stderr.contains("ranks-by-mpi"));
    // On one machine, the runner starts the ranks without a shell.
    sandbox.launch(&[HOSTS, &["--include", "h0"]].concat(), &command).succeeded();
    assert!(sandbox.recorded().ends_with(&["train it.py", "$x", ""].map(OsString::from)));
}

#[test]
fn mpirun_is_told_which_variables_to_hand_on() {
    let sandbox = several();
    let options = |extra: &str| {
        let extra: Vec<String> = extra.split('|').map(|word| format!("--launcher-arg={word}")).collect();
        let extra: Vec<&str> = extra.iter().map(String::as_str).collect();
        sandbox.launch(&[HOSTS, &["--env", "A=1", "--env", "B=2"], &extra].concat(), SCRIPT).succeeded();
        let argv: Vec<String> = sandbox.recorded().into_iter().map(|word| word.into_string().unwrap()).collect();
        let at = |word: &str| argv.iter().position(|it| it == word).unwrap();
        argv[at("--no_local_rank") + 1..at("train it.py")].join("|")
    };
    let named = "-x OMP_NUM_THREADS -x A -x B";
    assert_eq!(options("--launcher|openmpi"), format!("--launcher|openmpi|--launcher_args={named}"));
    let own = "--launcher=openmpi|--launcher_args=-q|--force_multi";
    assert_eq!(options(own), own.replace("-q", &format!("-q {named}")));
    assert_eq!(options("--launcher|slurm"), "--launcher|slurm");
}

#[test]
fn values_are_quoted_and_secrets_are_in_a_file() {
    let mut sandbox = several();
    sandbox.var("MLFLOW_TRACKING_TOKEN", "of-mlflow").var("NCCL_ODD", "a \"b\"").var("PYTHONPATH", "/x y");
    sandbox.file(".deepspeed_env", "OWN=$HOME/x\nOWN_TOKEN=of-the-file\n");
    let options = [HOSTS, &["--env", "ODD=$a \"b\" %n", "--env", "ENDS= x ", "--env", "HF_TOKEN=of-a-flag"]].concat();
    sandbox.launch(&options, SCRIPT).succeeded();
    let text = fs::read_to_string(&sandbox.recorded_env()["DS_ENV_FILE"]).unwrap();
    for line in [
        "OWN=$HOME/x",
        r#"ODD=\$a \"b\" %%n"#,
        r#"NCCL_ODD=a \"b\""#,
        &format!("PYTHONPATH={}:/x y", sandbox.cwd().display()),
    ] {
        assert!(text.lines().any(|it| it == line), "{line}: {text}");
    }
    for (name, value) in [
        ("HF_TOKEN", "of-a-flag"),
        ("MLFLOW_TRACKING_TOKEN", "of-mlflow"),
        ("OWN_TOKEN", "of-the-file"),
        ("ENDS", " x "),
    ] {
        assert!(
            text.contains(&format!("{name}=$(sed -n 's/^{name}[=]//p' ")) && !text.contains(value),
            "{name}: {text}"
        );
    }
    // Before 0.15.2, DeepSpeed put no quotes around a value.
    sandbox.installed("deepspeed", "0.14.5");
    sandbox.launch(&options, SCRIPT).succeeded();
    let text = fs::read_to_string(&sandbox.recorded_env()["DS_ENV_FILE"]).unwrap();
    assert!(text.contains("ODD=\"\\$a \\\"b\\\" %%n\"\n") && text.contains("HF_TOKEN=\"$(sed"), "{text}");
}

#[test]
fn what_deepspeed_does_not_quote_is_refused() {
    let sandbox = several();
    for (options, place) in [
        (&["--master-addr", "$(id)"][..], "--master-addr"),
        (&["--launcher-arg=--venv_script=a; b"], "--venv_script"),
        (&["--launcher-arg=--enable_each_rank_log=a b"], "--enable_each_rank_log"),
    ] {
        sandbox.launch(&[HOSTS, options].concat(), SCRIPT).refused(&["shell of every machine", place]);
    }
    let folder = sandbox.path("cwd/a b");
    fs::create_dir(&folder).unwrap();
    let words = ["--hostfile", "../hosts", "--", "python", "x.py"];
    let output = output(sandbox.command(words).current_dir(&folder));
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("the folder you are in"), "{output:?}");
}

#[test]
fn a_command_of_deepspeed_is_kept_and_its_words_are_judged() {
    let sandbox = several();
    sandbox.file("one", "h0 slots=2\n");
    let judged = |line: &str, word: &str| {
        let command: Vec<&str> = line.split(' ').chain(["x.py", "--a", word]).collect();
        let run = sandbox.launch(&["-n"], &command);
        run.stderr.contains("through a shell on every machine")
    };
    for word in ["{\"a\":1}", "$x", "", "a;b", "$x y", "it's"] {
        assert!(judged("deepspeed --hostfile hosts", word), "{word}");
        assert!(!judged("deepspeed --hostfile one", word) && !judged("deepspeed --num_gpus 2", word), "{word}");
        assert!(!judged("deepspeed --hostfile hosts --launcher openmpi", word), "{word}");
    }
    for word in ["a", "{\"a\": 1}", "'{\"a\":1}'", "[1,2]", "a b"] {
        assert!(!judged("deepspeed --hostfile hosts", word), "{word}");
    }
}
