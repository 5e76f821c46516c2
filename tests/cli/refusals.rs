//! What trainers refuse once their arguments are read: values that do not go together, numbers that are texts, models and
//! datasets that cannot be loaded. Each was seen on the real ones (`tests/real/truth.py`).

use std::{fmt, fs};

use serde_json::Value;

use zlaunch::testing::check::{Condition, Example, ExampleLaunch, REFUSALS, Refusal};

use crate::sandbox::{Sandbox, Share, plant, side_by_side};

const LLAMAFACTORY: &[(&str, &str)] = &[("transformers", "5.6.0"), ("llamafactory", "0.9.5")];
const LLAMAFACTORY_OLD: &[(&str, &str)] = &[("transformers", "4.52.4"), ("llamafactory", "0.9.3")];
const TRL: &[(&str, &str)] = &[("transformers", "5.19.0"), ("trl", "0.29.1")];
const SWIFT: &[(&str, &str)] = &[("transformers", "5.19.0"), ("ms_swift", "4.6.0")];

const RUN: &str =
    "model_name_or_path: a/b\nstage: sft\ndo_train: true\ndataset: tiny\ntemplate: qwen\n";

fn sandbox(packages: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    for (package, version) in packages {
        sandbox.installed(package, version);
    }
    sandbox.file(
        "data/dataset_info.json",
        r#"{"tiny": {"file_name": "t.jsonl"}, "far": {"hf_hub_url": "x/y"}, "lost": {"file_name": "no.jsonl"}}"#,
    );
    sandbox.file("data/t.jsonl", "{}\n");
    let models = "env/lib/python3.11/site-packages/transformers/models/auto/configuration_auto.py";
    sandbox.put(
        models,
        "(\"qwen2\", \"Qwen2Config\"), (\"new\", \"NewConfig\")",
    );
    sandbox
}

/// What `check` says that is no note: severity, rule and message.
fn said(sandbox: &Sandbox, command: &str, template: &str) -> Vec<String> {
    let words = [
        "check",
        "--format",
        "json",
        "--deepspeed",
        template,
        "--nproc-per-node",
        "2",
        "--",
    ];
    let found = sandbox
        .answer(words.into_iter().chain(command.split(' ')))
        .stdout;
    let report: Value =
        serde_json::from_str(&found).unwrap_or_else(|_| panic!("{command}: {found}"));
    let text = |it: &Value, key: &str| it[key].as_str().unwrap().to_string();
    let found = report["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["severity"] != "note");
    found
        .map(|it| {
            format!(
                "{}[{}] {}",
                text(it, "severity"),
                text(it, "rule"),
                text(it, "message")
            )
        })
        .collect()
}

#[track_caller]
fn one(found: &[String], start: &str, part: &str) {
    assert!(
        found.len() == 1 && found[0].starts_with(start) && found[0].contains(part),
        "{start} {part}: {found:#?}"
    );
}

/// What is said about a run file of LLaMA-Factory with these lines behind the usual ones.
fn of_file(packages: &[(&str, &str)], lines: &str, template: &str) -> Vec<String> {
    let sandbox = sandbox(packages);
    let replaced = |line: &&str| {
        !lines
            .split('\n')
            .any(|it| it.split(':').next() == line.split(':').next())
    };
    let kept: Vec<&str> = RUN.lines().filter(replaced).collect();
    sandbox.file("run.yaml", format!("{}\n{lines}\n", kept.join("\n")));
    said(&sandbox, "llamafactory-cli train run.yaml", template)
}

#[test]
fn numbers_that_yaml_reads_as_texts_are_told() {
    one(
        &of_file(LLAMAFACTORY, "learning_rate: '1e-4'", "zero2"),
        "error[text-for-number]",
        "`1e-4`",
    );
    one(
        &of_file(LLAMAFACTORY, "cutoff_len: long", "zero2"),
        "warning[text-for-number]",
        "`cutoff_len`",
    );
    // PyYAML, which reads the files of 0.9.3, wants a dot.
    one(
        &of_file(LLAMAFACTORY_OLD, "learning_rate: 1e-4", "zero2"),
        "error[text-for-number]",
        "`1e-4`",
    );
    for (packages, lines) in [
        (LLAMAFACTORY, "learning_rate: 1e-4"),
        (LLAMAFACTORY_OLD, "learning_rate: 1.0e-4"),
    ] {
        assert_eq!(
            of_file(packages, lines, "zero2"),
            Vec::<String>::new(),
            "{lines}"
        );
    }
}

#[test]
fn datasets_that_cannot_be_loaded() {
    let says = |lines: &str| of_file(LLAMAFACTORY, lines, "zero2");
    one(
        &says("dataset: tinny"),
        "error[dataset-unreadable]",
        "has no dataset `tinny`",
    );
    one(
        &says("dataset: tiny, other"),
        "error[dataset-unreadable]",
        "`other`",
    );
    one(
        &says("dataset: lost"),
        "error[dataset-unreadable]",
        "no.jsonl",
    );
    one(
        &says("dataset_dir: nowhere"),
        "error[dataset-unreadable]",
        "nowhere/dataset_info.json",
    );
    for fine in [
        "dataset: tiny,far",
        "dataset: any/thing\ndataset_dir: ONLINE",
    ] {
        assert_eq!(says(fine), Vec::<String>::new(), "{fine}");
    }
    let sandbox = sandbox(&[TRL[1], SWIFT[0], SWIFT[1]]);
    sandbox.file("some.jsonl", "{\"messages\": []}\n");
    let trl = |name: &str| {
        said(
            &sandbox,
            &format!("trl sft --model_name_or_path a/b --dataset_name {name}"),
            "zero2",
        )
    };
    one(&trl("some.jsonl"), "error[dataset-unreadable]", "is a file");
    one(
        &trl("no.jsonl"),
        "warning[dataset-unreadable]",
        "on the hub",
    );
    one(
        &trl("no/such/data.jsonl"),
        "error[path-missing]",
        "does not exist",
    );
    assert_eq!(
        [trl("data"), trl("org/data")].concat(),
        Vec::<String>::new()
    );
    let swift = |name: &str| {
        said(
            &sandbox,
            &format!("swift sft --model a/b --torch_dtype bfloat16 --dataset {name}"),
            "zero2",
        )
    };
    for fine in [
        "some.jsonl",
        "some.jsonl#5",
        "org/data:sub/set#5",
        "hf::org/data",
    ] {
        assert_eq!(swift(fine), Vec::<String>::new(), "{fine}");
    }
}

#[test]
fn models_that_cannot_be_loaded() {
    let sandbox = sandbox(&[TRL[0], TRL[1]]);
    sandbox.file("weightless/config.json", r#"{"model_type": "qwen2"}"#);
    sandbox.file("weightless/tokenizer.json", "{}");
    sandbox.file("file.jsonl", "{}\n");
    for (model, config) in [
        ("new", r#"{"model_type": "new"}"#),
        ("own", r#"{"model_type": "x", "auto_map": {}}"#),
    ] {
        sandbox.file(&format!("{model}/config.json"), config);
        sandbox.file(&format!("{model}/model.safetensors"), "");
    }
    let trl = |model: &str| {
        said(
            &sandbox,
            &format!("trl sft --model_name_or_path {model} --dataset_name c/d"),
            "zero2",
        )
    };
    one(&trl("weightless"), "error[weights-missing]", "no weights");
    sandbox.file("parts/config.json", r#"{"model_type": "qwen2"}"#);
    sandbox.file("parts/model-00001-of-00002.safetensors", "");
    assert_eq!(trl("parts"), Vec::<String>::new());
    sandbox.file("parts/model.safetensors.index.json", "{}");
    one(&trl("parts"), "error[weights-missing]", "1 of 2 files");
    sandbox.file("parts/model-00002-of-00002.safetensors", "");
    assert_eq!(trl("parts"), Vec::<String>::new());
    // Of two sets nobody knows which one is meant.
    sandbox.file("parts/model-00001-of-00004.safetensors", "");
    assert_eq!(trl("parts"), Vec::<String>::new());
    one(&trl("file.jsonl"), "error[model-unreadable]", "is a file");
    one(
        &trl("no/such/model"),
        "error[path-missing]",
        "does not exist",
    );
    for fine in ["new", "own", "org/name"] {
        assert_eq!(trl(fine), Vec::<String>::new(), "{fine}");
    }
}

/// Where the packages of the examples are installed, with the texts that the conditions of the row look for.
pub(crate) fn sandbox_of(refusal: &Refusal) -> Sandbox {
    let sandbox = sandbox(&[LLAMAFACTORY[1], TRL[0], TRL[1], SWIFT[1]]);
    sandbox.file(
        "data/trl.yaml",
        "model_name_or_path: a/b\ndataset_name: c/d\n",
    );
    for (file, text) in files(refusal) {
        plant(&sandbox.site().join(file), &text);
    }
    sandbox
}

/// The files that the conditions of the row look at: without one of them, nothing is said.
fn files(refusal: &Refusal) -> Vec<(&'static str, String)> {
    let file = |condition: &Condition| match *condition {
        Condition::FileSays { files, text } => Some((files[0], text.to_string())),
        Condition::NotNamedIn { files, .. } => Some((files[0], "it = 'known'\n".to_string())),
        Condition::ScriptSays(text) => Some(("trl/scripts/sft.py", text.to_string())),
        _ => None,
    };
    // Conditions may be about the same file.
    let mut all: Vec<(&str, String)> = Vec::new();
    for (name, text) in refusal.when.iter().filter_map(file) {
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known += &text,
            None => all.push((name, text)),
        }
    }
    all
}

/// The words of each example that is refused, with the argument that is named and the help.
fn refused(refusal: &Refusal) -> impl Iterator<Item = (RunExample, &'static str, &'static str)> {
    refusal
        .examples
        .iter()
        .filter_map(|example| match *example {
            Example::Refused {
                launch,
                with,
                argument,
                help,
            } => Some((RunExample { launch, with }, argument, help)),
            Example::Accepted(..) => None,
        })
}

fn accepted(refusal: &Refusal) -> impl Iterator<Item = RunExample> {
    refusal
        .examples
        .iter()
        .filter_map(|example| match *example {
            Example::Accepted(launch, with) => Some(RunExample { launch, with }),
            Example::Refused { .. } => None,
        })
}

/// Every example that is refused, with its row.
pub(crate) fn examples() -> impl Iterator<Item = (&'static Refusal, RunExample)> {
    REFUSALS
        .iter()
        .flat_map(|row| refused(row).map(move |(example, ..)| (row, example)))
}

/// A launch of the table with what it has besides.
pub(crate) struct RunExample {
    launch: ExampleLaunch,
    with: &'static str,
}

impl RunExample {
    pub(crate) fn words(&self, sandbox: &Sandbox) -> Vec<String> {
        let ExampleLaunch {
            config,
            command,
            run_file,
            swift,
        } = self.launch;
        sandbox.installed("ms_swift", swift);
        let words = ["check", "--format", "json", "--nproc-per-node", "2"]
            .into_iter()
            .chain(
                config
                    .into_iter()
                    .flat_map(|config| ["--deepspeed", config]),
            )
            .chain(["--"])
            .chain(command.split(' '));
        let more: Vec<&str> = match run_file {
            Some(entries) => {
                let more = if self.with.is_empty() { "" } else { ", " };
                sandbox.file("run.yaml", format!("{{{entries}{more}{}}}\n", self.with));
                vec!["run.yaml"]
            }
            None => self.with.split_whitespace().collect(),
        };
        words.chain(more).map(str::to_string).collect()
    }

    fn said(&self, sandbox: &Sandbox) -> Vec<String> {
        let found = sandbox.answer(self.words(sandbox)).stdout;
        let report: Value =
            serde_json::from_str(&found).unwrap_or_else(|_| panic!("{self}: {found}"));
        let is_about = |it: &&Value| {
            it["rule"]
                .as_str()
                .is_some_and(|rule| rule.starts_with("argument"))
        };
        let rows = report["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .filter(is_about);
        let text = |it: &Value, key: &str| it[key].as_str().unwrap().to_string();
        let line = |it| {
            let [severity, rule, what, help] =
                ["severity", "rule", "message", "help"].map(|key| text(it, key));
            format!("{severity}[{rule}] {what} / {help}")
        };
        rows.map(line).collect()
    }

    /// The program and its version, as a message calls it.
    fn program(&self) -> &'static str {
        match self.launch.command.split(' ').next().unwrap() {
            "swift" => "ms-swift 4.6.0",
            "trl" => "trl 0.29.1",
            _ => "llamafactory 0.9.5",
        }
    }
}

impl fmt::Display for RunExample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} {} {}",
            self.launch.config, self.launch.command, self.with
        )
    }
}

side_by_side!(every_row_of_the_table_says_what_its_example_shows);

fn every_row_of_the_table_says_what_its_example_shows(share: &Share) {
    let mut wrong = Vec::new();
    for row in share.of(REFUSALS.iter()) {
        let files = files(row);
        let (first, ..) = refused(row).next().unwrap();
        // One for each condition but the first; without its files nothing is said.
        let fine = accepted(row).count();
        assert!(
            fine > 0 && fine + files.len() >= row.when.len() - 1,
            "too few that are fine: {first}",
        );
        let sandbox = sandbox_of(row);
        let mut expect = |example: &RunExample, expected: &[String]| {
            let said = example.said(&sandbox);
            if said != expected {
                wrong.push(format!("{example}\n  says {said:#?}\n  not {expected:#?}"));
            }
        };
        for (example, argument, help) in refused(row) {
            let why = row.why;
            let said = if let Condition::LeftOut(_) = row.when[0] {
                let program = example.program();
                format!("error[argument-missing] {program} needs `{argument}`: {why} / {help}")
            } else {
                format!("error[argument] the trainer refuses `{argument}`: {why} / {help}")
            };
            expect(&example, &[said]);
        }
        for example in accepted(row) {
            expect(&example, &[]);
        }
        // Each module alone is enough.
        let modules = row.when.iter().filter_map(|condition| match condition {
            Condition::NotInstalled(modules) => Some(*modules),
            _ => None,
        });
        for module in modules.flatten().map(|name| sandbox.site().join(name)) {
            plant(&module.join("__init__.py"), "");
            expect(&first, &[]);
            fs::remove_dir_all(module).unwrap();
        }
        for (file, _) in files {
            fs::remove_file(sandbox.site().join(file)).unwrap();
            expect(&first, &[]);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A plan is for looking: what is left out can still be added.
#[test]
fn a_plan_only_warns_of_what_is_left_out() {
    let sandbox = sandbox(SWIFT);
    sandbox.put(
        "env/lib/python3.11/site-packages/swift/arguments/sft_args.py",
        "Please input the training dataset.",
    );
    let command = ["--", "swift", "sft", "--model", "a/b"];
    let looked = sandbox.run(
        ["-n", "--deepspeed", "zero2", "--nproc-per-node", "2"]
            .into_iter()
            .chain(command),
    );
    assert!(
        looked.stderr.starts_with("warning[argument-missing]: ")
            && looked.stdout.contains("\nruns\n"),
        "{looked:?}"
    );
}

/// A backslash with a space behind it ends the command there.
#[test]
fn a_word_that_is_only_a_space_is_told() {
    let sandbox = sandbox(SWIFT);
    let words = "check --deepspeed zero2 --nproc-per-node 2 -- swift sft --model a/b --torch_dtype bfloat16 --dataset c/d";
    let run = sandbox.run(words.split(' ').chain([" "]));
    assert!(
        run.stdout
            .contains("error[argument]: the command ends with a space after a `\\`"),
        "{run:?}"
    );
}

/// What is not in the cache cannot be loaded where the hub is not asked.
#[test]
fn models_of_the_hub_offline() {
    for (variable, value, said) in [
        ("HF_HUB_OFFLINE", "1", 1),
        ("TRANSFORMERS_OFFLINE", "true", 1),
        ("HF_HUB_OFFLINE", "0", 0),
        ("HF_HOME", "/x", 0),
    ] {
        let mut sandbox = sandbox(TRL);
        sandbox.var(variable, value);
        let found = self::said(
            &sandbox,
            "trl sft --model_name_or_path a/b --dataset_name c/d",
            "zero2",
        );
        assert_eq!(
            found
                .iter()
                .filter(|it| it.starts_with("error[model-unreadable]"))
                .count(),
            said,
            "{found:?}"
        );
    }
}

/// TRL takes the run file only from these two words.
#[test]
fn a_run_file_of_trl_is_two_words() {
    let sandbox = sandbox(TRL);
    sandbox.file("run.yaml", "model_name_or_path: a/b\ndataset_name: c/d\n");
    let found = |line: &str| self::said(&sandbox, line, "zero2");
    assert_eq!(found("trl sft --config run.yaml"), [""; 0]);
    for line in ["trl sft --config=run.yaml", "trl sft --conf run.yaml"] {
        let found = found(line);
        assert!(
            found
                .iter()
                .any(|it| it.starts_with("error[argument]") && it.contains("has no option `--con")),
            "{line}: {found:?}"
        );
    }
}
