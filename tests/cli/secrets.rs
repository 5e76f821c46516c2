//! What nobody may read in a plan, a script, a report or an error.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use crate::sandbox::{Run, SWIFT, Sandbox};

const RANKS: &[&str] = &["--nproc-per-node", "2"];

/// The script of a launch, which says nothing of these.
fn script(sandbox: &Sandbox, options: &[&str], command: &[&str], secrets: &[&str]) -> String {
    let run = sandbox.printed_script(options, command);
    silent(&run, secrets);
    run.stdout
}

fn silent(run: &Run, secrets: &[&str]) {
    for secret in secrets {
        assert!(!run.stdout.contains(secret) && !run.stderr.contains(secret), "{secret}: {run:?}");
    }
}

#[test]
fn a_script_for_several_machines_writes_their_variables() {
    let sandbox = Sandbox::new();
    sandbox.file("hosts", "h0 slots=2\nh1 slots=2\n");
    let options = ["--hostfile", "hosts", "--env", "HF_TOKEN=abc abcabc", "--env", "NCCL_DEBUG=INFO"];
    let command = ["python", "x.py"];
    sandbox.launch(&options, &command).succeeded();
    let argv = sandbox.recorded();
    let carried = sandbox.recorded_env()["DS_ENV_FILE"].clone();
    let text = std::fs::read_to_string(&carried).unwrap();
    std::fs::remove_file(&carried).unwrap();
    // The arguments of pdsh and DeepSpeed's log have the value of each line, so a secret is in a file of its own.
    let (_, apart) = text.split_once("HF_TOKEN=$(sed -n 's/^HF_TOKEN[=]//p' ").unwrap();
    let apart = apart.split_once(' ').unwrap().0;
    assert_eq!(std::fs::read_to_string(apart).unwrap(), "HF_TOKEN=abc abcabc\n");
    assert_eq!(std::fs::metadata(apart).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::remove_file(apart).unwrap();
    let script = script(&sandbox, &options, &command, &["abcabc"]);
    sandbox.forget_execution();
    assert_ne!(sandbox.script(&script).status, Some(0), "{script}");
    assert!(!sandbox.executed());
    sandbox.script_with(&script, &[("HF_TOKEN", "abc abcabc")]).succeeded();
    assert_eq!(sandbox.recorded(), argv);
    assert_eq!(std::fs::read_to_string(&carried).unwrap(), text);
    assert_eq!(std::fs::read_to_string(apart).unwrap(), "HF_TOKEN=abc abcabc\n");
}

#[test]
fn a_script_never_takes_another_value_for_one_it_asks_for() {
    let mut sandbox = Sandbox::new();
    sandbox.var("HF_TOKEN", "oldoldold").var("WANDB_API_KEY", "envvalue1").var("OLD_TOKEN", "older1");
    let more = ["--env", "HF_TOKEN=newnewnew", "--env", "OUR_TOKEN=ours-1", "--unset-env", "OLD_TOKEN"];
    let options: Vec<&str> = RANKS.iter().chain(&more).copied().collect();
    let words = "--wandb_api_key argvalue1 --old oldoldold --key2 envvalue1 --a https://u:pw1@h --b https://u:pw2@h \
        --2_token startsso --our_token ours-1 --x_token ours-1 --old_token older1 ZLAUNCH_TOKEN=abcde \
        --num_key_value_heads 8 --calculate_per_token_loss true --primary_key id";
    let command: Vec<&str> = ["python", "x.py"].into_iter().chain(words.split_whitespace()).collect();
    sandbox.launch(&options, &command).succeeded();
    let (argv, token) = (sandbox.recorded(), sandbox.recorded_env()["HF_TOKEN"].clone());
    let secrets = ["oldoldold", "newnewnew", "envvalue1", "argvalue1", "pw1", "pw2", "startsso", "ours-1", "older1"];
    let script = script(&sandbox, &options, &command, &secrets);
    assert_ne!(sandbox.script(&script).status, Some(0), "{script}");
    // The host's own variables are there; the others are asked for under names of their own.
    let given = [
        ("HF_TOKEN_2", "newnewnew"),
        ("WANDB_API_KEY_2", "argvalue1"),
        ("HF_TOKEN_3", "oldoldold"),
        ("CREDENTIALS", "u:pw1"),
        ("CREDENTIALS_2", "u:pw2"),
        ("_2_TOKEN", "startsso"),
        // The same value has one name.
        ("OUR_TOKEN", "ours-1"),
        ("OLD_TOKEN_2", "older1"),
        ("TOKEN", "abcde"),
    ];
    sandbox.script_with(&script, &given).succeeded();
    assert_eq!(sandbox.recorded(), argv, "{script}");
    assert_eq!((sandbox.recorded_env()["HF_TOKEN"].as_str(), token.as_str()), ("newnewnew", "newnewnew"));
}

#[test]
fn a_config_in_the_words_is_not_repeated_in_a_warning() {
    let sandbox = Sandbox::new();
    let config = r#"{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 1},
        "comet": {"enabled": true, "api_key" : "S3cretValue42"}}"#;
    let own: Vec<&str> = SWIFT.iter().chain(&["--deepspeed", "zero2"]).copied().collect();
    for command in [own.as_slice(), &["sh", "x"]] {
        let run = sandbox.run(["-n", "--deepspeed", config].iter().chain(RANKS).chain(&["--"]).chain(command));
        assert!(run.stderr.contains("(secret)"), "{run:?}");
        silent(&run, &["S3cretValue42"]);
    }
}

#[test]
fn an_error_about_a_value_does_not_repeat_it() {
    let sandbox = Sandbox::new();
    sandbox.file("mine.json", r#"{"comet": {"api_key": ["S3cr"]}}"#);
    for options in [&["--deepspeed", "zero2", "--set", r#"comet.api_key=["S3cr"]"#][..], &["--deepspeed", "mine.json"]]
    {
        let run = sandbox.launch(&options.iter().chain(RANKS).copied().collect::<Vec<_>>(), SWIFT);
        assert!(run.stderr.contains("`comet.api_key` is [\"(secret)\"]"), "{run:?}");
        silent(&run, &["S3cr\""]);
    }
}

#[test]
fn variables_of_a_template_are_not_shown() {
    let sandbox = Sandbox::new();
    let text = r#"{"$zlaunch": {"extends": "zero2", "env": {"WANDB_NOTES": "api_key=SEKRET-1", "NCCL_DEBUG": "b"}}}"#;
    sandbox.put("home/.config/zlaunch/templates/tt.json", text);
    for verb in ["templates", "explain"] {
        let run = sandbox.run([verb, "tt"]);
        silent(&run, &["SEKRET"]);
        assert!(format!("{run:?}").contains("api_key=(secret)"), "{run:?}");
    }
}

#[test]
fn secrets_that_are_not_utf8_are_hidden_too() {
    let sandbox = Sandbox::new();
    let word = OsStr::from_bytes(b"--hub_token=S3cr\xff").to_os_string();
    for format in ["text", "json", "shell"] {
        let words = ["-n", "--format", format, "--nproc-per-node", "2", "--", "python", "x.py"].map(OsString::from);
        silent(&sandbox.run(words.into_iter().chain([word.clone()])), &["S3cr"]);
    }
}
