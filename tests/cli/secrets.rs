//! What nobody may read in a plan, a script, a report or an error.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

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
        assert!(
            !run.stdout.contains(secret) && !run.stderr.contains(secret),
            "{secret}: {run:?}"
        );
    }
}

#[test]
fn a_script_for_several_machines_writes_their_variables() {
    let sandbox = Sandbox::new();
    sandbox.file("hosts", "h0 slots=2\nh1 slots=2\n");
    let options = ["--hostfile", "hosts", "--env", "NCCL_DEBUG=INFO"];
    let command = ["python", "x.py"];
    sandbox.launch(&options, &command).succeeded();
    let argv = sandbox.recorded();
    let carried = sandbox.recorded_env()["DS_ENV_FILE"].clone();
    let text = std::fs::read_to_string(&carried).unwrap();
    std::fs::remove_file(&carried).unwrap();
    let script = script(&sandbox, &options, &command, &[]);
    sandbox.script(&script).succeeded();
    assert_eq!(sandbox.recorded(), argv);
    assert_eq!(std::fs::read_to_string(&carried).unwrap(), text);
}

#[test]
fn a_script_never_takes_another_value_for_one_it_asks_for() {
    let mut sandbox = Sandbox::new();
    sandbox
        .var("HF_TOKEN", "oldoldold")
        .var("WANDB_API_KEY", "envvalue1")
        .var("OLD_TOKEN", "older1");
    let more = [
        "--env",
        "HF_TOKEN=newnewnew",
        "--env",
        "OUR_TOKEN=ours-1",
        "--unset-env",
        "OLD_TOKEN",
    ];
    let options: Vec<&str> = RANKS.iter().chain(&more).copied().collect();
    let words = "--wandb_api_key argvalue1 --old oldoldold --key2 envvalue1 --a https://u:pw1@h --b https://u:pw2@h \
        --2_token startsso --our_token ours-1 --x_token ours-1 --old_token older1 ZLAUNCH_TOKEN=abcde \
        --num_key_value_heads 8 --calculate_per_token_loss true --primary_key id";
    let command: Vec<&str> = ["python", "x.py"]
        .into_iter()
        .chain(words.split_whitespace())
        .collect();
    sandbox.launch(&options, &command).succeeded();
    let (argv, token) = (
        sandbox.recorded(),
        sandbox.recorded_env()["HF_TOKEN"].clone(),
    );
    let secrets = [
        "oldoldold",
        "newnewnew",
        "envvalue1",
        "argvalue1",
        "pw1",
        "pw2",
        "startsso",
        "ours-1",
        "older1",
    ];
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
    assert_eq!(
        (sandbox.recorded_env()["HF_TOKEN"].as_str(), token.as_str()),
        ("newnewnew", "newnewnew")
    );
}

#[test]
fn a_config_in_the_words_is_not_repeated_in_a_warning() {
    let sandbox = Sandbox::new();
    let config = r#"{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 1},
        "comet": {"enabled": true, "api_key" : "S3cretValue42"}}"#;
    let own: Vec<&str> = SWIFT
        .iter()
        .chain(&["--deepspeed", "zero2"])
        .copied()
        .collect();
    for command in [own.as_slice(), &["sh", "x"]] {
        let run = sandbox.run(
            ["-n", "--deepspeed", config]
                .iter()
                .chain(RANKS)
                .chain(&["--"])
                .chain(command),
        );
        assert!(run.stderr.contains("***"), "{run:?}");
        silent(&run, &["S3cretValue42"]);
    }
}

#[test]
fn an_error_about_a_value_does_not_repeat_it() {
    let sandbox = Sandbox::new();
    sandbox.file("mine.json", r#"{"comet": {"api_key": ["S3cr"]}}"#);
    for options in [
        &["--deepspeed", "zero2", "--set", r#"comet.api_key=["S3cr"]"#][..],
        &["--deepspeed", "mine.json"],
    ] {
        let run = sandbox.launch(
            &options.iter().chain(RANKS).copied().collect::<Vec<_>>(),
            SWIFT,
        );
        assert!(
            run.stderr.contains("`comet.api_key` is [\"***\"]"),
            "{run:?}"
        );
        silent(&run, &["S3cr\""]);
    }
}

#[test]
fn variables_of_a_template_are_not_shown() {
    let sandbox = Sandbox::new();
    let text = r#"{"$zlaunch": {"extends": "zero2", "env": {"WANDB_NOTES": "api_key=SEKRET-1", "NCCL_DEBUG": "b"}}}"#;
    sandbox.put("home/.config/zlaunch/templates/tt.json", text);
    let run = sandbox.run(["templates", "tt"]);
    silent(&run, &["SEKRET"]);
    assert!(format!("{run:?}").contains("api_key=***"), "{run:?}");
}

#[test]
fn secrets_that_are_not_utf8_are_hidden_too() {
    let sandbox = Sandbox::new();
    let word = OsStr::from_bytes(b"--hub_token=S3cr\xff").to_os_string();
    for format in ["text", "json", "shell"] {
        let words = [
            "-n",
            "--format",
            format,
            "--nproc-per-node",
            "2",
            "--",
            "python",
            "x.py",
        ]
        .map(OsString::from);
        silent(
            &sandbox.run(words.into_iter().chain([word.clone()])),
            &["S3cr"],
        );
    }
}

/// Words of a command, by the kinds of secrets in them. `|` stands between words, `§` for a secret.
const IN_WORDS: &[&str] = &[
    // Options.
    "--hub_token|§",
    "--hub-token=§",
    "--token|§",
    "-token|§",
    "--api_key|§",
    "--api-key=§",
    "--apiKey=§",
    "--wandb_api_key|'§'",
    "--password|§",
    "--password=§ and §",
    "--passwd=\"§\"",
    "--auth|§",
    "--auth=§",
    "--pat|§",
    "--basic-auth|user:§",
    "--jwt|§",
    "--sas=§",
    "--client_secret|§",
    "--private-key|§",
    "--credentials|§",
    "--db-pwd|§",
    "--webhook|https://hooks.example.com/§",
    "--api_keys|§|§|§",
    "--tokens=§,§",
    "--key|sk-0123456789§",
    // Settings.
    "HF_TOKEN=§",
    "EXTRA_TOKEN=§",
    "+hub_token=§",
    "trainer.hub_token=§",
    "--opt=trainer.hub_token=§",
    "--export=ALL,HF_TOKEN=§,B=c",
    "a=b,token=§,c=d",
    "AccountName=x;AccountKey=§;Suffix=y",
    // JSON and YAML.
    r#"--kwargs|{"api_key": "§"}"#,
    r#"--kwargs={"a": {"token": "§"}, "b": "c"}"#,
    r#"--kwargs|{"passwords": ["§", {"x": "§"}]}"#,
    r#"--kwargs|{"args": ["--hub_token", "§"], "url": "https://me:§@host"}"#,
    r#"--kwargs|{"a": "{\"api_key\": \"§\"}"}"#,
    r#"--kwargs|{"a": "{\"api_key\": \"\\\"§\"}"}"#,
    r#"--kwargs|{"api_key": "\u0041§\n\"quoted\""}"#,
    r#"--kwargs|{"api_key": "§", "broken": }"#,
    "--kwargs|{'api_key': '§', 'b': 'c'}",
    "--kwargs|{api_key: §, b: c}",
    r#"--api_keys=["§", "§"]"#,
    // Headers.
    "-H|Authorization: Bearer §",
    "-HAuthorization: Basic §",
    "--header|Cookie: a=b; session=§",
    "--header=X-Api-Key: §",
    "--say|use Bearer § now",
    // Addresses.
    "--url|https://me:§@host/x",
    "--url=postgres://me:§@db:5432/x",
    "--url|https://0123456789abcdef§@host",
    "--url|https://host/x?a=b&access_token=§&c=d",
    "--url|https://host/x?sp=r&sig=§%3D",
    "--url|https://host/x?X-Amz-Credential=§%2F20&X-Amz-Signature=§",
    "--url|https://host/x?OSSAccessKeyId=LTAI§&Signature=§",
    "--url|https://host/x?Key-Pair-Id=K§",
    // Tokens that are known by how they begin.
    "--say|hf_0123456789abcdef§",
    "--say|(ghp_0123456789abcdef§)",
    "--say|x=nvapi-0123456789abcdef§",
    // Commands in a word.
    "--cmd|curl --token § https://host",
    "--cmd|HF_TOKEN='§' python y.py",
    "--cmd|env A=b HF_TOKEN=\"§ §\" python y.py",
    "--cmd|sh -c 'x --hub_token \"§\"'",
    "--cmd|curl -H \"Authorization: Bearer §\" https://host; echo $X",
    "--cmd|x --password 'it'\\''s §'",
    "-c|login(token='§')",
    // Values that a shell, JSON or a terminal would change.
    "--password|§\n§",
    "--password|it's \"§\" $HOME `id` \\",
    "--password|$§",
    "--password|é§ü",
    "--password|\u{1b}[31m§",
    "--password|7",
];

const IN_OPTIONS: &[&str] = &[
    "--env|EXTRA_TOKEN=§",
    "--env|NEW_TOKEN=a '§'",
    "--env=WANDB_API_KEY=§",
    "--env|NCCL_NET=https://me:§@host",
    "--env|NCCL_SOCKET_IFNAME=https://me:§@other",
    "--set|comet.api_key=§",
    r#"--set|mine={"api_key": "§", "enabled": false}"#,
];

const IN_VARIABLES: &[&str] = &[
    "HF_TOKEN=§",
    "MY_PAT=§",
    "NCCL_SECRET=§",
    "NCCL_SOCKET_IFNAME=https://me:§@proxy",
    "SSH_KEY=-----BEGIN KEY-----\n§\n-----END KEY-----",
    "SENTRY_DSN=https://§@sentry/1",
    "HF_ENDPOINT=https://me:§@mirror",
    "ZLAUNCH_ENV=A_TOKEN=§ and §\nNCCL_DEBUG=INFO",
    "PYTHONPATH=/a?token=§",
];

const IN_CONFIG: &str = r#"{
    "train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2},
    "comet": {"api_key": "§", "experiment_key": "§"}, "csv_monitor": {"output_path": "https://me:§@host"},
    "own": {"password": 90210§, "api_keys": ["§"], "cmd": "x --hub_token §", "args": ["--token", "§"], "pw": "x"}
}"#;

const IN_RUN_FILE: &str = "hub_token: § # a comment\nmodel_kwargs: {api_key: '§', a: b}\nswanlab_token: |\n  §\n  §\n\
    system: \"use https://me:§@host\"\npassword: >-\n  §\n  §\nlearning_rate: [1]\n";

/// What is no secret.
const OPEN: &str = "--max_new_tokens|512|--eos_token|<s>|--primary_key|id|MONKEY=of-the-zoo|--tokenizer|my-tokenizer|\
    --image_token_id|151655|--keyword|plain-word";

/// Puts a secret of its own in the place of each `§`.
fn planted(text: &str, secrets: &mut Vec<String>) -> String {
    let mut parts = text.split('§');
    let mut planted = parts.next().unwrap_or_default().to_string();
    for part in parts {
        // A number for JSON, which has no letters.
        let number = if planted.ends_with("90210") {
            ""
        } else {
            "Pl4nt"
        };
        secrets.push(format!("{number}{}07", 1000 + secrets.len()));
        planted += &format!("{}{part}", secrets[secrets.len() - 1]);
    }
    planted
}

fn planted_words(texts: &[&str], secrets: &mut Vec<String>) -> Vec<String> {
    texts
        .iter()
        .flat_map(|text| {
            planted(text, secrets)
                .split('|')
                .map(str::to_string)
                .collect::<Vec<_>>()
        })
        .collect()
}

/// The secrets that any of these runs and files show.
fn shown(texts: &[(String, String)], secrets: &[String]) -> Vec<String> {
    let found = texts.iter().flat_map(|(name, text)| {
        secrets
            .iter()
            .filter(|secret| text.contains(*secret))
            .map(move |secret| format!("{secret} in {name}"))
    });
    found.collect()
}

/// Everything that zlaunch prints and records about a launch.
fn everything(sandbox: &Sandbox, options: &[String], command: &[String]) -> Vec<(String, String)> {
    let words = |first: &[&str]| -> Vec<String> {
        let first = first.iter().map(ToString::to_string);
        first
            .chain(options.iter().cloned())
            .chain(["--".to_string()])
            .chain(command.iter().cloned())
            .collect()
    };
    let mut texts = Vec::new();
    sandbox.run(words(&["--record", "rec"])).succeeded();
    for verb in [
        &["-n", "--format", "text"][..],
        &["-n", "--format", "json"],
        &["-n", "--format", "shell"],
        &["-v"],
        &["check"],
        &["check", "--format", "json"],
        &["doctor"],
        &["doctor", "--format", "json"],
        &["diff", "rec"],
        &["diff", "zero3", "--format", "json"],
        &["diff", "rec", "--nproc-per-node", "4"],
        &["-n", "--nproc-per-node", "many"],
    ] {
        let run = sandbox.run(words(verb));
        assert!(!run.stderr.contains("panicked"), "{run:?}");
        texts.push((verb.join(" "), run.stdout + &run.stderr + &run.headline));
    }
    for name in ["launch.json", "launch.sh", "config.json"] {
        texts.push((
            name.to_string(),
            std::fs::read_to_string(sandbox.cwd().join("rec").join(name)).unwrap(),
        ));
    }
    texts
}

#[test]
fn no_secret_of_any_kind_is_shown() {
    let mut sandbox = Sandbox::new();
    let mut secrets = Vec::new();
    for text in IN_VARIABLES {
        let text = planted(text, &mut secrets);
        let (name, value) = text.split_once('=').unwrap();
        sandbox.var(name, value);
    }
    sandbox.file("mine.json", planted(IN_CONFIG, &mut secrets));
    let mut options = planted_words(
        &["--nproc-per-node|2|--deepspeed|mine.json|--allow|ignored-key"],
        &mut secrets,
    );
    options.extend(planted_words(IN_OPTIONS, &mut secrets));
    let mut command = planted_words(&["python|train.py", OPEN], &mut secrets);
    command.extend(planted_words(IN_WORDS, &mut secrets));
    assert!(secrets.len() > 100);
    let texts = everything(&sandbox, &options, &command);
    assert_eq!(shown(&texts, &secrets), [""; 0]);
    for (name, text) in texts
        .iter()
        .filter(|(name, _)| name.starts_with("-n --format") || name.starts_with("launch"))
    {
        for word in OPEN.split('|') {
            assert!(text.contains(word), "{word} is not in {name}");
        }
    }
}

#[test]
fn no_secret_of_a_run_file_is_shown() {
    let sandbox = Sandbox::new();
    let mut secrets = Vec::new();
    sandbox.file("run.yaml", planted(IN_RUN_FILE, &mut secrets));
    sandbox.file(
        "broken.yaml",
        planted("hub_token: §: §\nmodel: [\n", &mut secrets),
    );
    sandbox.file(
        "run.json",
        planted(
            r#"{"hub_token": "§", "a": ["--token", "§"], "password": "x y"}"#,
            &mut secrets,
        ),
    );
    sandbox.file(
        "broken.json",
        planted(r#"{"api_key": "§", "hub_token": §}"#, &mut secrets),
    );
    sandbox.file(
        "acc.yaml",
        planted("hub_token: §\nfoo: bar\nnum_processes: 2\n", &mut secrets),
    );
    sandbox.put(
        "home/.config/zlaunch/templates/tt.json",
        planted(
            r#"{"$zlaunch": {"extends": "zero2", "env":
        {"WANDB_NOTES": "api_key=§", "A_KEY": "§"}}, "comet": {"api_key": ["§"]}, "password": 90210§}"#,
            &mut secrets,
        ),
    );
    let mut texts = Vec::new();
    for command in [
        "--deepspeed zero2 -- swift sft run.yaml",
        "--deepspeed zero2 -- swift sft broken.yaml",
        "--deepspeed zero2 -- swift sft run.json",
        "--deepspeed zero2 -- llamafactory-cli train run.yaml",
        "--deepspeed zero2 -- trl sft --config run.yaml",
        "--deepspeed broken.json -- swift sft",
        "--deepspeed tt -- swift sft",
        "-- accelerate launch --config_file acc.yaml train.py",
        "--patch broken.json --deepspeed zero2 -- python x.py",
    ] {
        for verb in [
            "-n",
            "-n --format json",
            "-n --format shell",
            "check",
            "doctor",
        ] {
            let run = sandbox.run(format!("{verb} --nproc-per-node 2 {command}").split(' '));
            assert!(!run.stderr.contains("panicked"), "{run:?}");
            texts.push((format!("{verb} {command}"), run.stdout + &run.stderr));
        }
    }
    for words in [
        "templates tt",
        "explain tt",
        "diff tt zero2",
        "diff tt zero2 --format json",
        "check broken.json",
    ] {
        let run = sandbox.run(words.split(' '));
        texts.push((words.to_string(), run.stdout + &run.stderr));
    }
    assert_eq!(shown(&texts, &secrets), [""; 0]);
}
