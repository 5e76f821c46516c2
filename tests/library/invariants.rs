//! What must hold whatever comes in: bytes become texts, words, files and variables, and no invariant may break on them. A
//! panic is a finding. `properties.rs` draws such bytes for `cargo test`, the fuzzer in `tests/fuzz`, whose library this
//! file is, looks for new ones.
#![expect(clippy::missing_panics_doc, reason = "that is what they are for")]
#![expect(clippy::expect_used, reason = "a broken invariant is reported")]

#[path = "../fake.rs"]
pub(crate) mod fake;

use std::any::Any;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use serde_json::{Value, json};

use zlaunch::testing::cli::{self, Asked, TOOLS};
use zlaunch::testing::source::{Source, Sourced};
use zlaunch::testing::yaml::Dialect;
use zlaunch::testing::{
    Format, Host, Judged, Launch, explain, fit, json as our_json, layers, patch, secrets::Secrets,
    template,
};

use fake::Sandbox;

impl Sandbox {
    /// A machine with 8 CPUs and 2 GPUs, in this folder and with these variables.
    pub(crate) fn host(&self) -> Host {
        let (env, cwd, hostname) = (self.variables().clone(), self.cwd(), "h0".to_string());
        Host {
            env,
            cwd,
            hostname,
            cpus: 8,
            nvidia_gpus: Some(2),
            ..Host::default()
        }
    }
}

/// A machine of which only the environment is known.
pub fn host(variables: &[(&str, &str)]) -> Host {
    Host {
        env: variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        ..Host::default()
    }
}

/// JSON with comments: what is written is read as the same, and every key that is there has a place.
pub fn json(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let value = match zlaunch::testing::json::parse(text) {
        Ok(value) => value,
        Err(fault) => return assert!(fault.line > 0 && fault.column > 0, "{fault:?}"),
    };
    let written = zlaunch::testing::json::write(&value);
    assert_eq!(
        zlaunch::testing::json::parse(&written).as_ref(),
        Ok(&value),
        "read, written and read again"
    );
    assert_eq!(
        zlaunch::testing::json::parse_exactly(&written).as_ref(),
        Ok(&value),
        "what is written is strict"
    );
    let positions = zlaunch::testing::json::positions(text).unwrap_or_default();
    // An empty name at the start cannot be told from the top.
    for key in zlaunch::testing::json::leaves(&value, |_| true)
        .iter()
        .filter(|key| !key.is_empty() && !key.starts_with('.'))
    {
        assert!(positions.contains_key(key), "{key:?} has no place");
    }
}

/// A config and a patch, with a zero between them.
pub fn layers(data: &[u8]) {
    let mut documents = data
        .splitn(2, |b| *b == 0)
        .map(|part| zlaunch::testing::json::parse(std::str::from_utf8(part).ok()?).ok());
    let (Some(Some(config)), Some(Some(change))) = (documents.next(), documents.next()) else {
        return;
    };
    let merged = |config: &Value, change: &Value| {
        let mut config = config.clone();
        our_json::merge(&mut config, change);
        config
    };
    if change.is_array() {
        let mut after = config;
        if patch::operate(&mut after, change, "fuzz").is_ok() {
            assert!(
                after.to_string().len() <= patch::LARGEST,
                "it grew without end"
            );
        }
        return;
    }
    let once = merged(&config, &change);
    assert_eq!(
        once.to_string(),
        merged(&once, &change).to_string(),
        "a merge patch applied twice"
    );
    if config.is_object() {
        assert_eq!(
            merged(&config, &json!({})).to_string(),
            config.to_string(),
            "the empty patch"
        );
    }
}

/// YAML as both readers read it; what is turned into words and JSON again is readable.
pub fn yaml(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for dialect in [Dialect::PyYaml, Dialect::OmegaConf] {
        match zlaunch::testing::yaml::parse(text, dialect) {
            Ok(value) => {
                zlaunch::testing::yaml::python_str(&value);
                let json = zlaunch::testing::yaml::python_json(&value);
                assert_eq!(
                    serde_json::from_str::<Value>(&json).ok().as_ref(),
                    Some(&value),
                    "{json}"
                );
            }
            Err(fault) => assert!(fault.line > 0 && fault.column > 0, "{fault:?}"),
        }
    }
}

/// The first byte says who names the machines, the rest is what it says.
pub fn hosts(data: &[u8]) {
    const IN_JOB: &[(&str, &str)] = &[
        ("SLURM_JOB_ID", "1"),
        ("SLURM_JOB_NUM_NODES", "2"),
        ("SLURM_NNODES", "2"),
        ("SLURM_NODEID", "0"),
    ];
    const LISTS: &[&str] = &[
        "SLURM_JOB_NODELIST",
        "SLURM_STEP_NODELIST",
        "SLURM_TASKS_PER_NODE",
        "SLURM_JOB_CPUS_PER_NODE",
        "CUDA_VISIBLE_DEVICES",
        "SM_HOSTS",
        "PBS_NODEFILE",
        "LSB_DJOB_RANKFILE",
    ];
    const OPTIONS: &[&str] = &["--hostfile", "--include", "--exclude", "--master-addr"];
    let Some((who, text)) = data.split_first().filter(|_| !data.contains(&0)) else {
        return;
    };
    let mut host = host_with(text);
    let file = host.cwd.join("in");
    let mut words = ["--deepspeed", "zero2", "--nproc-per-node", "2"]
        .map(OsString::from)
        .to_vec();
    let value = |name: &str| {
        let in_file = name.to_ascii_lowercase().ends_with("file");
        if in_file {
            file.clone().into()
        } else {
            OsString::from_vec(text.to_vec())
        }
    };
    let who = usize::from(*who) % (LISTS.len() + OPTIONS.len());
    match LISTS.get(who) {
        Some(name) => {
            let job = IN_JOB
                .iter()
                .filter(|_| name.starts_with("SLURM") || name.starts_with("CUDA"));
            host.env
                .extend(job.map(|(name, value)| (name.into(), value.into())));
            host.env
                .extend(["PBS_JOBID", "LSB_JOBID"].map(|name| (name.into(), "1".into())));
            host.env.insert(name.into(), value(name));
        }
        None => words.extend([
            OPTIONS[who - LISTS.len()].into(),
            value(OPTIONS[who - LISTS.len()]),
        ]),
    }
    words.extend(["--", "python", "train.py"].map(OsString::from));
    requested(&words, &host);
}

/// Lines: `$NAME=VALUE` is a variable, any other line a word; behind a line `%%` comes the content of the files `in.json`,
/// `in.yaml` and `in`.
pub fn plan(data: &[u8]) {
    if data.contains(&0) {
        return;
    }
    let (lines, content) = match data.windows(4).position(|it| it == b"\n%%\n") {
        Some(at) => (&data[..at], &data[at + 4..]),
        None => (data, &[][..]),
    };
    let mut host = host_with(content);
    let mut words = Vec::new();
    for line in lines.split(|b| *b == b'\n') {
        let equals = line
            .iter()
            .position(|b| *b == b'=')
            .filter(|at| *at > 1 && line[0] == b'$');
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        match equals {
            Some(at) => drop(host.env.insert(text(&line[1..at]), text(&line[at + 1..]))),
            None => words.push(text(line)),
        }
    }
    requested(&words, &host);
}

/// Whatever these words ask for, decided as far as nothing is written or started.
fn requested(words: &[OsString], host: &Host) {
    let argv: Vec<OsString> = std::iter::once("zlaunch".into())
        .chain(words.iter().cloned())
        .collect();
    let request = match cli::parse(&argv, host, &TOOLS) {
        Err(refused) => return assert!(!refused.problems.is_empty(), "refused without a word"),
        Ok(Asked::Text(..)) => return,
        Ok(Asked::Request(request)) => request,
    };
    let any: &dyn Any = &*request;
    if let Some(request) = any.downcast_ref::<fit::FitRequest>() {
        drop(fit::answer(request, host).map(|it| (it.json(), it.text(Some(70)), it.svg())));
    } else if let Some(launch) = request
        .into_launch()
        .filter(|launch| !launch.command.is_empty())
    {
        planned(*launch, host);
    } else if let [tool, word] = words {
        let (word, search) = (
            word.to_string_lossy().into_owned(),
            template::Search::default(),
        );
        match tool.to_str() {
            Some("explain") => drop(explain::Explainer::new(&search, host).all_meanings(&word)),
            Some("templates") => drop(template::resolve(
                &Sourced::new(word, Source::Default),
                &search,
                host,
            )),
            _ => {}
        }
    }
}

/// Planning twice is the same; a fill changes only an "auto"; the resolved config resolves to itself.
fn planned(mut launch: Launch, host: &Host) {
    let accepted = || Judged::new(&launch, host).accepted();
    let first = match (accepted(), accepted()) {
        (Ok((first, problems)), Ok((again, judged_again))) => {
            assert_eq!(problems, judged_again, "judged twice");
            for format in [Format::Text, Format::Json, Format::Shell] {
                let secrets = Secrets::of(host);
                let [first, again] =
                    [&first, &again].map(|plan| plan.render(&problems, format, &secrets));
                assert!(first == again, "planned twice");
            }
            first
        }
        (Err(first), Err(again)) => return assert_eq!(first, again, "refused twice"),
        _ => panic!("planned once, refused once"),
    };
    let Some(resolved) = first.config else {
        return;
    };
    let seen = host.with(&launch.environment.set, &launch.environment.unset);
    let before = layers::with_layers(&resolved.layered.template, &launch.layers, &seen)
        .expect("it was planned");
    only_auto_changed(&before, resolved.value(), "");
    // A variable that a template brings may decide a fill.
    if !resolved.layered.template.env.is_empty() {
        return;
    }
    launch.deepspeed = Some(Sourced::new(
        resolved.file.text.clone(),
        Source::Flag("--deepspeed".to_string()),
    ));
    launch.layers = layers::Layers::default();
    (launch.strict, launch.config_out) = (false, None);
    match Judged::new(&launch, host).accepted() {
        // HF fills 3.0 where it says so; what is read and integral is an integer.
        Ok((again, _)) => {
            let read =
                |text: &str| zlaunch::testing::json::parse(text).map(|value| value.to_string());
            assert_eq!(
                read(&again.config.expect("it has one").file.text),
                read(&resolved.file.text),
                "resolved again"
            );
        }
        Err(problems) => panic!("the resolved config is refused: {problems:?}"),
    }
}

fn only_auto_changed(before: &Value, after: &Value, key: &str) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (name, value) in before {
                match after.get(name) {
                    Some(after) => only_auto_changed(value, after, name),
                    // DeepSpeed infers it.
                    None => assert!(
                        name == "train_batch_size" && value == "auto",
                        "{name} is gone"
                    ),
                }
            }
            assert!(
                after.keys().all(|name| before.contains_key(name)),
                "a key was added below {key:?}"
            );
        }
        _ if before == "auto" => {}
        _ => assert_eq!(before, after, "{key}"),
    }
}

thread_local! {
    /// Made once in each thread, so that no two tests write its files at the same time.
    pub(crate) static SANDBOX: Sandbox = sandbox();
}

fn sandbox() -> Sandbox {
    const MODEL: &str = r#"{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "vocab_size": 100, "intermediate_size": 128}"#;
    let mut sandbox = Sandbox::new();
    sandbox.file("m/config.json", MODEL);
    sandbox.file("train.py", "import transformers\n");
    sandbox.file("plain.py", "import deepspeed\ndeepspeed.initialize()\n");
    let template = r#"{"$zlaunch": {"extends": "zero3"}, "train_batch_size": 8}"#;
    sandbox.put("home/.config/zlaunch/templates/mine.json", template);
    // Nothing of the real machine.
    let path = sandbox.bin();
    sandbox.var("PATH", path);
    sandbox
}

/// The machine, with this content in the files `in.json`, `in.yaml` and `in`.
fn host_with(content: &[u8]) -> Host {
    SANDBOX.with(|sandbox| {
        for name in ["in.json", "in.yaml", "in"] {
            sandbox.file(name, content);
        }
        sandbox.host()
    })
}
