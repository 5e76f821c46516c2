//! What a script does with its arguments: they count where nothing changes them on the way to the trainer. Each of these was
//! seen on the real packages: `tests/real/scripts.py`.

use serde_json::Value;

use crate::sandbox::{Sandbox, argv};

const HEAD: &str = "import sys\nfrom dataclasses import dataclass, field\nfrom transformers import AutoConfig, AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments\n";
const PARSED: &str =
    "args, = HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()\n";
const RATE: &[&str] = &[
    "--set",
    "optimizer.type=AdamW",
    "--set",
    "optimizer.params.lr=auto",
];

fn plan(sandbox: &Sandbox, options: &[&str], script: &str, words: &str) -> Value {
    sandbox.file("own.py", script);
    let command = format!("python own.py {words}");
    let command: Vec<&str> = command.split_whitespace().collect();
    sandbox.plan(
        &[&["--nproc-per-node", "2", "--deepspeed", "zero3"], options].concat(),
        &command,
    )
}

/// Why a key is left to the trainer; nothing where it is filled.
fn left(plan: &Value, key: &str) -> Option<String> {
    let left = plan["left_auto"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["key"] == key)?;
    Some(left["why"].as_str().unwrap().to_string())
}

fn argparse(options: &str, handed: &str) -> String {
    format!(
        "import argparse\nfrom transformers import Trainer, TrainingArguments\nparser = argparse.ArgumentParser()\n{options}\na = parser.parse_args()\nargs = TrainingArguments('out', {handed})\n"
    )
}

#[test]
fn a_value_is_filled_where_nothing_changes_it() {
    let sandbox = Sandbox::new();
    let words = "--learning_rate 1e-5";
    for script in [
        format!("{HEAD}{PARSED}print(args.learning_rate)\n"),
        String::new(),
    ] {
        let plan = plan(&sandbox, RATE, &script, words);
        assert_eq!(
            plan["config"]["optimizer"]["params"]["lr"], 1e-5,
            "{script}"
        );
    }
}

#[test]
fn what_is_doubtful_stays_auto_with_the_reason() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "changes.py",
        "def prepare(it):\n    it.learning_rate *= 4\n",
    );
    let option = "parser.add_argument('--learning_rate', type=float)";
    for (script, why) in [
        (
            format!("{HEAD}{PARSED}args.learning_rate *= 4\n"),
            "own.py:5 may set learning_rate",
        ),
        (
            format!("{HEAD}{PARSED}a.b, args.learning_rate = 1, 2\n"),
            "own.py:5 may set learning_rate",
        ),
        (
            format!("{HEAD}{PARSED}args = replace(args, learning_rate=2)\n"),
            "own.py:5 may set learning_rate",
        ),
        (
            format!("{HEAD}{PARSED}setattr(args, 'learning_rate', 2)\n"),
            "own.py:5 may set any argument",
        ),
        (
            format!("{HEAD}{PARSED}for k, v in more: setattr(args, k, v)\n"),
            "own.py:5 may set any argument",
        ),
        (
            format!("{HEAD}{PARSED}sys.argv.remove('x')\n"),
            "own.py:5 may set any argument",
        ),
        (
            format!("{HEAD}import changes\n{PARSED}changes.prepare(args)\n"),
            "changes.py:2 may set learning_rate",
        ),
        (
            format!(
                "{HEAD}@dataclass\nclass Mine(TrainingArguments):\n    def __post_init__(self):\n        self.learning_rate = 2\na, = HfArgumentParser(Mine).parse_args_into_dataclasses()\n"
            ),
            "own.py:7 may set learning_rate",
        ),
        (
            argparse(option, "learning_rate=a.learning_rate"),
            "own.py reads its arguments with argparse",
        ),
        (
            format!(
                "{HEAD}class Mine(TrainingArguments):\n    learning_rate: str = '1'\nHfArgumentParser(Mine)\n"
            ),
            "own.py:5 may set learning_rate",
        ),
        (
            format!("{HEAD}HfArgumentParser(Own)\n"),
            "own.py does not show what becomes of --learning_rate",
        ),
        (
            format!("{HEAD}{PARSED}args = TrainingArguments('out')\n"),
            "own.py:5 sets its arguments in code",
        ),
        (
            "import fire\nfire.Fire(main)\n".to_string(),
            "own.py reads its arguments with fire",
        ),
        (
            "from somewhere import main\nmain()\n".to_string(),
            "zlaunch cannot see how own.py reads its arguments",
        ),
        (
            format!("{HEAD}args = TrainingArguments('out')\n"),
            "own.py:4 sets its arguments in code",
        ),
    ] {
        let plan = plan(&sandbox, RATE, &script, "--learning_rate 1e-5");
        assert_eq!(
            left(&plan, "optimizer.params.lr").as_deref(),
            Some(why),
            "{script}"
        );
    }
}

#[test]
fn a_contradiction_in_a_script_that_changes_it_is_a_warning() {
    let sandbox = Sandbox::new();
    let said = |script: &str| {
        sandbox.file("own.py", script);
        let words = [
            "check",
            "--deepspeed",
            "zero2",
            "--set",
            "gradient_clipping=0.5",
            "--nproc-per-node",
            "2",
            "--",
        ];
        sandbox.run(
            words
                .iter()
                .chain(&["python", "own.py", "--max_grad_norm", "1.0"]),
        )
    };
    let changed = said(&format!("{HEAD}{PARSED}args.max_grad_norm = 0.5\n"));
    assert!(
        changed
            .stdout
            .contains("warning[doubtful-mismatch]: `gradient_clipping` is 0.5"),
        "{changed:?}"
    );
    assert!(
        changed.stdout.contains("own.py:5 may set max_grad_norm") && changed.status == Some(0),
        "{changed:?}"
    );
    let kept = said(&format!("{HEAD}{PARSED}"));
    assert!(
        kept.stdout.contains("error[mismatch]: `gradient_clipping`") && kept.status == Some(1),
        "{kept:?}"
    );
}

#[test]
fn switches_are_read_as_the_script_declares_them() {
    let sandbox = Sandbox::new();
    let bf16 = |script: &str, words: &str| {
        plan(&sandbox, &[], script, words)["config"]["bf16"]["enabled"].take()
    };
    assert_eq!(
        bf16(
            &argparse("parser.add_argument('--bf16', type=bool)", "bf16=a.bf16"),
            "--bf16 False"
        ),
        "auto"
    );
    assert_eq!(bf16(&format!("{HEAD}{PARSED}"), "--bf16"), true);
    let on = "@dataclass\nclass Mine(TrainingArguments):\n    bf16: bool = True\nargs, = HfArgumentParser((Mine,)).parse_args_into_dataclasses()\n";
    assert_eq!(bf16(&format!("{HEAD}{on}"), "--bf16 --no_bf16"), "auto");
    let fire = plan(
        &sandbox,
        &[],
        "import fire\nfire.Fire(main)\n",
        "--per_device_train_batch_size 0x2 --max_grad_norm None",
    );
    assert_eq!(
        left(&fire, "gradient_clipping").as_deref(),
        Some("own.py reads its arguments with fire")
    );
}

#[test]
fn buckets_are_those_of_the_model_that_is_loaded() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "m/config.json",
        r#"{"model_type": "llama", "hidden_size": 64}"#,
    );
    sandbox.file(
        "remote/config.json",
        r#"{"model_type": "own", "hidden_size": 64, "auto_map": {"AutoConfig": "c.C"}}"#,
    );
    let parsed = "model_args, args = HfArgumentParser((ModelArguments, TrainingArguments)).parse_args_into_dataclasses()\n";
    let left_for = |load: &str, model: &str| {
        let script = format!("{HEAD}{parsed}{load}\n");
        left(
            &plan(
                &sandbox,
                &[],
                &script,
                &format!("--model_name_or_path {model}"),
            ),
            "zero_optimization.reduce_bucket_size",
        )
    };
    let load = "AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path)";
    assert_eq!(left_for(load, "m"), None);
    for (load, model, why) in [
        (load, "remote", "auto_map"),
        (
            "model_args.model_name_or_path = find()",
            "m",
            "own.py:5 may set model_name_or_path",
        ),
        (
            "config.hidden_size = 5",
            "m",
            "own.py:5 may set hidden_size",
        ),
    ] {
        let found = left_for(load, model).unwrap();
        assert!(
            found.starts_with("needs the model's hidden_size: ") && found.contains(why),
            "{load}: {found}"
        );
    }
}

#[test]
fn a_run_file_is_left_alone_or_keeps_its_types() {
    let sandbox = Sandbox::new();
    let given = |script: &str, words: &str| {
        sandbox.file("own.py", script);
        let options = ["--nproc-per-node", "2", "--deepspeed", "zero3"];
        sandbox
            .launch(
                &options,
                &format!("python own.py {words}")
                    .split(' ')
                    .collect::<Vec<_>>(),
            )
            .succeeded();
        let words = sandbox.recorded();
        let at = words.iter().position(|word| word == "own.py").unwrap();
        words[at + 1..]
            .iter()
            .map(|word| word.to_str().unwrap().to_string())
            .collect::<Vec<_>>()
    };
    let reads =
        format!("{HEAD}args, = HfArgumentParser(TrainingArguments).parse_yaml_file(sys.argv[1])\n");
    let text = "# a run\nlearning_rate: 5.0e-7  # small\nseed: 0x2A\nnote: |\n  two\n  lines\n";
    for old in [
        "",
        "deepspeed: zero2\n",
        "deepspeed:\n  zero_optimization: {stage: 2}\n",
    ] {
        sandbox.file("r.yaml", format!("{old}{text}"));
        let words = given(&reads, "r.yaml");
        let copy = std::fs::read_to_string(&words[0]).unwrap();
        assert!(
            copy.contains("\"learning_rate\": 5.0e-07, \"seed\": 42, \"note\": \"two\\nlines\\n\"")
                && copy.contains("\"deepspeed\": \"/")
                && copy.matches("deepspeed").count() == 1,
            "{copy}"
        );
    }
    sandbox.file("flow.yaml", "{learning_rate: 5.0e-7, list: [1.0e-9, 2]}\n");
    let copy = std::fs::read_to_string(&given(&reads, "flow.yaml")[0]).unwrap();
    assert!(
        copy.contains("\"learning_rate\": 5.0e-07, \"list\": [1.0e-09, 2]"),
        "{copy}"
    );

    // A YAML of the script's own stays what it is.
    sandbox.file("own.yaml", "lr: 2e-5\n");
    let own = argparse(
        "parser.add_argument('config')\nparser.add_argument('--deepspeed')",
        "deepspeed=a.deepspeed",
    );
    let words = given(&own, "own.yaml");
    assert_eq!(
        (&*words[0], &*words[1], words.len()),
        ("own.yaml", "--deepspeed", 3)
    );
    // The alignment handbook's parser takes one word.
    let words = given(
        "from alignment import H4ArgumentParser\n",
        "r.yaml --seed=1",
    );
    assert!(
        words[..2] == ["r.yaml", "--seed=1"] && words[2].starts_with("--deepspeed=/"),
        "{words:?}"
    );
}

#[test]
fn a_script_is_given_the_config_by_its_own_name() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "engine.py",
        "import deepspeed\ndef start(c):\n    return deepspeed.initialize(config=c)\n",
    );
    let batch = [
        "--set",
        "train_micro_batch_size_per_gpu=1",
        "--set",
        "gradient_accumulation_steps=1",
        "--set",
        "gradient_clipping=1",
        "--set",
        "fp16.enabled=false",
        "--set",
        "bf16.enabled=true",
    ];
    let sizes = [
        "--set",
        "zero_optimization.reduce_bucket_size=1000",
        "--set",
        "zero_optimization.stage3_prefetch_bucket_size=1000",
        "--set",
        "zero_optimization.stage3_param_persistence_threshold=10",
    ];
    let plain = [batch.as_slice(), sizes.as_slice()].concat();
    for (script, options, trainer, word) in [
        (
            &*argparse(
                "parser.add_argument('--ds_config')",
                "deepspeed=a.ds_config",
            ),
            &[][..],
            "hf",
            "--ds_config",
        ),
        (
            "import engine\nparser.add_argument(\"--deepspeed\")\n",
            &plain,
            "deepspeed",
            "--deepspeed",
        ),
        (
            "import engine\nparser.add_argument('--deepspeed_config')\n",
            &plain,
            "deepspeed",
            "--deepspeed_config",
        ),
    ] {
        let plan = plan(&sandbox, options, script, "");
        let path = plan["config_path"].as_str().unwrap();
        let argv: Vec<String> = argv(&plan)
            .iter()
            .map(|word| word.replace(path, "CONFIG"))
            .collect();
        assert_eq!(plan["trainer"]["name"], trainer, "{script}");
        assert!(argv.iter().any(|it| it == word), "{word}: {argv:?}");
    }
    // The trainer of this one is transformers', whatever its option is called.
    let script = argparse(
        "parser.add_argument('--deepspeed_config')",
        "deepspeed=a.deepspeed_config",
    );
    assert_eq!(
        plan(&sandbox, &[], &script, "--deepspeed_config zero2")["trainer"]["name"],
        "hf"
    );
    sandbox.file(
        "own.py",
        "import hydra\nfrom hydra import main\n@hydra.main()\ndef f(cfg):\n    pass\n",
    );
    sandbox
        .launch(
            &["--nproc-per-node", "2", "--deepspeed", "zero3"],
            &["python", "own.py"],
        )
        .refused(&["zlaunch cannot see which key", "KEY.deepspeed=zero3"]);
}

#[test]
fn an_option_that_the_parser_would_refuse_is_told() {
    let sandbox = Sandbox::new();
    let warned = |script: &str| {
        let plan = plan(&sandbox, &[], script, "--lr 1");
        let found = plan["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .find(|it| it["rule"] == "no-such-option")
            .cloned();
        found.map(|it| it["message"].as_str().unwrap().to_string())
    };
    let options = "import argparse\nfrom elsewhere import Trainer\nparser = argparse.ArgumentParser()\nparser.add_argument('--lr')\n";
    let says = "`own.py` has no option `--deepspeed`, and argparse refuses unknown options";
    assert_eq!(
        warned(&format!("{options}Trainer(parser.parse_args())\n")).as_deref(),
        Some(says)
    );
    for more in [
        "parser.add_argument('--deepspeed')\n",
        "more(parser)\n",
        "for name in NAMES:\n    parser.add_argument(f'--{name}')\n",
        "parser.add_argument(*names)\n",
        "parser.add_argument('--' + name)\n",
        "parser.parse_known_args()\n",
    ] {
        assert_eq!(warned(&format!("{options}{more}")), None, "{more}");
    }
}

/// hydra and tyro know options with sections; transformers' parser does not.
#[test]
fn a_section_that_the_parser_of_the_script_refuses() {
    let sandbox = Sandbox::new();
    let parses = "HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n";
    sandbox.file(
        "own.py",
        format!("from transformers import HfArgumentParser, TrainingArguments\n{parses}"),
    );
    let command = [
        "python",
        "own.py",
        "--output_dir",
        "x",
        "--training.deepspeed",
        "zero2",
    ];
    sandbox
        .launch(&["--nproc-per-node", "1"], &command)
        .refused(&["has an option `--training.deepspeed`"]);
}

#[test]
fn arguments_made_in_code_take_the_config_by_variables() {
    const HEAD: &str = "from transformers import HfArgumentParser, Trainer, TrainingArguments\n";
    let sandbox = Sandbox::new();
    sandbox.file("plain.yaml", "learning_rate: 1.0e-5\n");
    sandbox.file("names.yaml", "deepspeed: ds.json\n");
    let trainer = |script: &str, words: &str| {
        plan(&sandbox, &[], &format!("{HEAD}{script}"), words)["trainer"]["name"]
            .as_str()
            .unwrap()
            .to_string()
    };
    let argparse = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--config')\n";
    let own_class = "class Own:\n    lr: float = 1\nHfArgumentParser(Own)\nTrainer(args=TrainingArguments('o'))\n";
    let unpacked = format!("{argparse}Trainer(args=TrainingArguments(**load(a.config)))\n");
    for (script, words) in [
        (
            "from trl import SFTTrainer, SFTConfig\nSFTTrainer(\n    args = SFTConfig(output_dir = 'o'),\n)\n",
            "--lr 1",
        ),
        ("Trainer(args=TrainingArguments(args.out))\n", ""),
        (&*unpacked, "--config plain.yaml"),
        (
            &format!("{argparse}Trainer(args=TrainingArguments('o', deepspeed=None))\n"),
            "",
        ),
        (
            "import click\n@click.option('--lr')\ndef main(lr):\n    Trainer(args=TrainingArguments('o'))\n",
            "",
        ),
        (own_class, "--lr 1"),
        (
            "from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments\nSentenceTransformerTrainer(args=SentenceTransformerTrainingArguments('o'))\n",
            "",
        ),
    ] {
        assert_eq!(trainer(script, words), "in_code", "{script}");
    }
    for (script, words) in [
        (
            "HfArgumentParser(TrainingArguments)\nTrainer(args=TrainingArguments('o'))\n",
            "",
        ),
        (
            "Trainer(args=TrainingArguments('o', deepspeed=args.ds))\n",
            "",
        ),
        ("parse(TrainingArguments)\nTrainer()\n", ""),
        (
            "import elsewhere\nTrainer(args=TrainingArguments(**elsewhere.cfg))\n",
            "",
        ),
        (&*unpacked, "--config names.yaml"),
        (
            &format!(
                "{argparse}p.add_argument('--deepspeed')\nTrainer(args=TrainingArguments(**vars(a)))\n"
            ),
            "",
        ),
        (
            &format!("{argparse}Trainer(args=TrainingArguments(**{{'deepspeed': find()}}))\n"),
            "",
        ),
        (
            &format!(
                "{argparse}t = TrainingArguments('o')\nt.deepspeed = find()\nTrainer(args=t)\n"
            ),
            "",
        ),
        (
            "import fire\ndef main(deepspeed=None):\n    Trainer(args=TrainingArguments('o', deepspeed=deepspeed))\nfire.Fire(main)\n",
            "",
        ),
        (&own_class.replace("lr: float", "deepspeed: str"), ""),
    ] {
        assert_eq!(trainer(script, words), "hf", "{script}");
    }
    sandbox.file(
        "own.py",
        format!("{HEAD}Trainer(args=TrainingArguments('o', deepspeed='ds.json'))\n"),
    );
    sandbox
        .launch(
            &["--nproc-per-node", "2", "--deepspeed", "zero3"],
            &["python", "own.py"],
        )
        .refused(&["the script sets its own config: deepspeed='ds.json'"]);
}
