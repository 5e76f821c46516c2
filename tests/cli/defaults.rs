//! Arguments that are not given: the trainer takes its defaults, and a config that contradicts them is found before the launch.

use serde_json::Value;

use crate::sandbox::{Sandbox, plant};

const SCRIPT: &str = "from transformers import HfArgumentParser, Trainer, TrainingArguments\n\
                      parser = HfArgumentParser((ModelArguments, TrainingArguments))\n";

/// What `check` says about values against defaults: severity, key and the place of the default.
fn said(sandbox: &Sandbox, set: &[&str], command: &str) -> Vec<(String, String, String)> {
    let sets = set.iter().flat_map(|set| ["--set", set]);
    let words = [
        "check",
        "--format",
        "json",
        "--deepspeed",
        "zero2",
        "--nproc-per-node",
        "2",
    ]
    .into_iter()
    .chain(sets);
    let found = sandbox
        .run(words.chain(["--"]).chain(command.split(' ')))
        .stdout;
    let report: Value =
        serde_json::from_str(&found).unwrap_or_else(|_| panic!("{command}: {found}"));
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let found = report["diagnostics"].as_array().unwrap().iter();
    let found = found.filter(|it| it["rule"] == "mismatch" || it["rule"] == "default-mismatch");
    found
        .map(|it| {
            let key = text(&it["message"]).split('`').nth(1).unwrap().to_string();
            (
                text(&it["severity"]),
                key,
                text(it["where"].as_array().unwrap().last().unwrap()),
            )
        })
        .collect()
}

fn is_said(sandbox: &Sandbox, set: &str, command: &str, severity: &str, place: &str) {
    let key = set.split('=').next().unwrap();
    let expected = (severity.to_string(), key.to_string(), place.to_string());
    assert_eq!(
        said(sandbox, &[set], command),
        [expected],
        "{set} {command}"
    );
}

fn is_silent(sandbox: &Sandbox, set: &str, command: &str) {
    assert_eq!(said(sandbox, &[set], command), [], "{set} {command}");
}

/// Each was seen on the real trainers: `tests/real/parsers.py`.
#[test]
fn recorded_defaults_are_those_of_the_version_that_is_installed() {
    let sandbox = Sandbox::new();
    sandbox.installed("transformers", "5.19.0");
    sandbox.installed("ms_swift", "4.6.0");
    sandbox.installed("trl", "0.29.1");
    let swift = "swift sft --model a/b";
    is_said(
        &sandbox,
        "gradient_clipping=0.5",
        swift,
        "error",
        "--max_grad_norm (default of transformers 5.19.0)",
    );
    let micro = "--per_device_train_batch_size (default of ms-swift 4.6.0)";
    is_said(
        &sandbox,
        "train_micro_batch_size_per_gpu=4",
        swift,
        "error",
        micro,
    );
    is_silent(&sandbox, "gradient_clipping=1", swift);
    is_silent(&sandbox, "train_micro_batch_size_per_gpu=1", swift);
    // 16 samples, by two ranks of one sample or of three.
    is_silent(&sandbox, "gradient_accumulation_steps=8", swift);
    is_silent(
        &sandbox,
        "gradient_accumulation_steps=3",
        &format!("{swift} --per_device_train_batch_size 3"),
    );
    is_silent(
        &sandbox,
        "gradient_accumulation_steps=1",
        "swift rlhf --rlhf_type grpo --model a/b",
    );
    let steps = "--gradient_accumulation_steps (default of ms-swift 4.6.0)";
    is_said(
        &sandbox,
        "gradient_accumulation_steps=4",
        swift,
        "error",
        steps,
    );
    // The learning rate by the tuner.
    let rate = "--learning_rate (default of ms-swift 4.6.0)";
    is_silent(&sandbox, "optimizer.params.lr=1e-4", swift);
    is_said(&sandbox, "optimizer.params.lr=1e-5", swift, "error", rate);
    is_silent(
        &sandbox,
        "optimizer.params.lr=1e-5",
        &format!("{swift} --tuner_type full"),
    );
    // A file beside a checkpoint may have others; half precision comes from the model.
    is_silent(
        &sandbox,
        "gradient_clipping=0.5",
        &format!("{swift} --load_args true"),
    );
    is_silent(&sandbox, "fp16.enabled=true", swift);

    let trl = "trl sft --model_name_or_path a/b";
    is_silent(&sandbox, "optimizer.params.lr=2e-5", trl);
    is_said(
        &sandbox,
        "optimizer.params.lr=1e-5",
        trl,
        "error",
        "--learning_rate (default of trl 0.29.1)",
    );
    is_said(
        &sandbox,
        "bf16.enabled=false",
        trl,
        "error",
        "--bf16 (default of trl 0.29.1)",
    );
    is_silent(
        &sandbox,
        "bf16.enabled=false",
        &format!("{trl} --fp16 true"),
    );
    is_silent(&sandbox, "scheduler.params.warmup_num_steps=1", trl);
    is_said(
        &sandbox,
        "scheduler.params.warmup_num_steps=7",
        trl,
        "error",
        "--warmup_steps (default of transformers 5.19.0)",
    );
    sandbox.installed("transformers", "5.17.0");
    is_silent(&sandbox, "scheduler.params.warmup_num_steps=0", trl);
}

#[test]
fn what_is_not_recorded_is_not_claimed() {
    let sandbox = Sandbox::new();
    let swift = "swift sft --model a/b";
    sandbox.installed("transformers", "5.30.0");
    let newer = "--max_grad_norm (default of transformers 5.22.2; 5.30.0 is installed)";
    is_said(&sandbox, "gradient_clipping=0.5", swift, "warning", newer);
    sandbox.installed("transformers", "4.30.0");
    let older = "--max_grad_norm (default of transformers 4.36.2; 4.30.0 is installed)";
    is_said(&sandbox, "gradient_clipping=0.5", swift, "warning", older);
    sandbox.installed("transformers", "5.19.0");
    sandbox.installed("ms_swift", "2.6.1");
    is_said(
        &sandbox,
        "optimizer.params.weight_decay=0.5",
        swift,
        "warning",
        "--weight_decay (default of ms-swift 3.0.0; 2.6.1 is installed)",
    );
}

#[test]
fn a_run_file_gives_what_it_names_and_nothing_else() {
    let sandbox = Sandbox::new();
    sandbox.installed("transformers", "5.6.0");
    sandbox.installed("llamafactory", "0.9.5");
    sandbox.installed("axolotl", "0.19.0");
    let clipping = "gradient_clipping=0.5";
    let train = "llamafactory-cli train run.yaml";
    let place = "--max_grad_norm (default of transformers 5.6.0)";
    sandbox.file("run.yaml", "stage: sft\nmodel_name_or_path: a/b\n");
    is_said(&sandbox, clipping, train, "error", place);
    for text in [
        "max_grad_norm: 0.5\n",
        "max_grad_norm: '0.5'\n",
        "max_grad_norm: null\n",
        "stage: ppo\n",
    ] {
        sandbox.file("run.yaml", text);
        is_silent(&sandbox, clipping, train);
    }
    sandbox.file("run.yml", "base_model: a/b\nlearning_rate: 1e-5\n");
    is_said(&sandbox, clipping, "axolotl train run.yml", "error", place);
}

#[test]
fn a_script_that_leaves_a_default_alone_is_warned_about() {
    let sandbox = Sandbox::new();
    sandbox.installed("transformers", "5.19.0");
    sandbox.installed("trl", "0.29.1");
    sandbox.file("train.py", SCRIPT);
    let place = "--max_grad_norm (default of transformers 5.19.0)";
    for command in [
        "python train.py",
        "torchrun train.py",
        "deepspeed train.py",
        "python -u ./train.py --bf16",
    ] {
        is_said(&sandbox, "gradient_clipping=0.5", command, "warning", place);
        is_silent(&sandbox, "gradient_clipping=1.0", command);
    }
    is_said(
        &sandbox,
        "fp16.enabled=true",
        "python train.py",
        "warning",
        "--fp16 (default of transformers 5.19.0)",
    );
    let strict = sandbox.run([
        "check",
        "--strict",
        "--deepspeed",
        "zero2",
        "--set",
        "gradient_clipping=0.5",
        "--nproc-per-node",
        "2",
        "--",
        "python",
        "train.py",
    ]);
    assert_eq!(strict.status, Some(1), "{}", strict.stdout);

    sandbox.file(
        "train.py",
        "from trl import SFTConfig, SFTTrainer\nSFTTrainer(args=SFTConfig(output_dir='x'))\n",
    );
    is_silent(&sandbox, "optimizer.params.lr=2e-5", "python train.py");
    let rate = "--learning_rate (default of trl 0.29.1)";
    is_said(
        &sandbox,
        "optimizer.params.lr=1e-5",
        "python train.py",
        "warning",
        rate,
    );
    // Not known to be about transformers.
    for text in [
        "import torch\n",
        "from transformers import TrainingArguments\n",
        "from mine import TrainingArguments, Trainer\n",
    ] {
        sandbox.file("train.py", text);
        is_silent(&sandbox, "gradient_clipping=0.5", "python train.py");
    }
}

#[test]
fn a_script_that_sets_the_value_itself_is_believed() {
    let sandbox = Sandbox::new();
    let class = |field: &str| {
        format!(
            "from transformers import TrainingArguments, Trainer\n@dataclass\nclass Mine(TrainingArguments):\n    x: int = 1\n    {field}\n"
        )
    };
    sandbox.file("train.py", class("max_grad_norm: float = 0.5"));
    is_silent(&sandbox, "gradient_clipping=0.5", "python train.py");
    is_silent(&sandbox, "gradient_clipping=1.0", "python train.py");
    is_silent(
        &sandbox,
        "gradient_clipping=1.0",
        "python train.py --max_grad_norm 1.0",
    );
}

#[test]
fn the_default_of_its_class_counts_where_a_script_leaves_the_argument_alone() {
    const HEAD: &str = "from transformers import (\n    Trainer,\n    TrainingArguments,\n)\n";
    let sandbox = Sandbox::new();
    sandbox.installed("transformers", "5.19.0");
    let counts = |script: String| {
        sandbox.file("own.py", script);
        !said(&sandbox, &["gradient_clipping=0.5"], "python own.py").is_empty()
    };
    for script in [
        "",
        "parser = HfArgumentParser((ModelArguments, TrainingArguments))\n",
        "args = TrainingArguments(output_dir='x', learning_rate=lr)\nprint(args.max_grad_norm)\n",
        "# max_grad_norm=0.5\n\"\"\"--max_grad_norm 0.5\"\"\"\n",
        "@dataclass\nclass TrainingArguments(TrainingArguments):\n    cache: str = None\n",
        "import transformers\nclass Mine(transformers.TrainingArguments):\n    cache: str = None\nHfArgumentParser([Mine])\n",
        "parser = HfArgumentParser(TrainingArguments)\nparser.parse_json_file(json_file=os.path.abspath(sys.argv[1]))\n",
    ] {
        assert!(counts(format!("{HEAD}{script}")), "{script}");
    }
    for script in [
        "args = TrainingArguments('x', max_grad_norm=0.5)\n",
        "args = TrainingArguments('x', **config)\n",
        "args = TrainingArguments('x')\nargs.max_grad_norm = 0.5\n",
        "args = TrainingArguments('x')\nsetattr(args, name, value)\n",
        "args = TrainingArguments('x')\nargs = replace(args, max_grad_norm=0.5)\n",
        "parser.add_argument('--max_grad_norm', type=float, default=0.5)\nTrainingArguments('x')\n",
        "parser = HfArgumentParser(TrainingArguments)\nparser.parse_json_file('run.json')\n",
        "parser = HfArgumentParser(TrainingArguments)\nparser.parse_args_into_dataclasses(args=words)\n",
        "@dataclass\nclass Mine(TrainingArguments):\n    max_grad_norm: float = 0.5\n",
        "parser = HfArgumentParser((ModelArguments, MyTrainingArguments))\n",
        "class TrainingArguments:\n    pass\n",
    ] {
        assert!(!counts(format!("{HEAD}{script}")), "{script}");
    }
    assert!(!counts(
        "from transformers import TrainingArguments\n".to_string()
    ));
    assert!(!counts(
        "from arguments import TrainingArguments\nTrainer()\n".to_string()
    ));
}

/// What accelerate makes of its own settings is judged like a config: each was seen on accelerate 1.10 and 1.15.
#[test]
fn accelerates_own_settings_are_judged_like_a_config() {
    let sandbox = Sandbox::new();
    for (package, version) in [
        ("transformers", "5.19.0"),
        ("accelerate", "1.15.0"),
        ("deepspeed", "0.19.8"),
    ] {
        sandbox.installed(package, version);
    }
    let classes = "class C:\n    distributed_type: str\n    num_processes: int\n    mixed_precision: str\n    \
                   deepspeed_config: dict\n    def process(it):\n        del it[\"fp16\"]\n";
    let file = "accelerate/commands/config/config_args.py";
    plant(&sandbox.site().join(file), classes);
    sandbox.file("train.py", SCRIPT);
    let usual = "distributed_type: DEEPSPEED\nnum_processes: 2\n";
    let section = |line: &str| format!("{usual}deepspeed_config:\n  zero_stage: 2\n  {line}\n");
    for (yaml, args, said) in [
        (
            section("gradient_accumulation_steps: 2"),
            "--gradient_accumulation_steps 4",
            "error[mismatch]: `gradient_accumulation_steps` is 2",
        ),
        (
            section("gradient_accumulation_steps: 2"),
            "--gradient_accumulation_steps 2",
            "",
        ),
        (
            section("gradient_accumulation_steps: 2"),
            "",
            "warning[default-mismatch]: `gradient_accumulation_steps` is 2",
        ),
        (
            section("gradient_clipping: 0.5"),
            "--max_grad_norm 1.0",
            "error[mismatch]: `gradient_clipping` is 0.5",
        ),
        (
            section("offload_optimizer_device: gpu"),
            "",
            "error[wrong-value]: `zero_optimization.offload_optimizer.device` is \"gpu\"",
        ),
        (
            section("zero_stge: 3"),
            "",
            "warning[run-file]: accelerate does not read `zero_stge`",
        ),
        (format!("{usual}mixed_precision: bf16\n"), "--bf16 true", ""),
        (format!("{usual}mixed_precision: bf16\n"), "--fp16 true", ""),
        (
            format!("{usual}mixed_precision: bf16\n"),
            "--bf16 false",
            "error[mismatch]: `bf16.enabled` is true",
        ),
        (
            format!("{usual}mixed_precision: fp16\n"),
            "--fp16 false",
            "error[mismatch]: `fp16.enabled` is true",
        ),
        (
            format!("{usual}mixed_precision: 'no'\n"),
            "--bf16 false",
            "",
        ),
        (
            format!("{usual}zero_stage: 3\n"),
            "--bf16 false",
            "error[run-file]: accelerate has no key `zero_stage` here",
        ),
        // accelerate replaces it.
        (format!("{usual}fp16: false\n"), "--bf16 false", ""),
        (
            "distributed_type: [\n".to_string(),
            "",
            "error[run-file]: not YAML",
        ),
        (
            String::new(),
            "",
            "error[run-file]: accelerate's config file is empty",
        ),
    ] {
        sandbox.file("acc.yaml", &yaml);
        let words = format!(
            "check -- accelerate launch --config_file acc.yaml train.py --per_device_train_batch_size 1 {args}"
        );
        let found = sandbox.run(words.split_whitespace()).stdout;
        let lines: Vec<&str> = found
            .lines()
            .filter(|line| line.starts_with(['e', 'w']))
            .collect();
        assert_eq!(
            lines.len(),
            usize::from(!said.is_empty()),
            "{yaml}{args}: {found}"
        );
        assert!(
            lines.iter().all(|line| line.starts_with(said)),
            "{yaml}{args}: {found}"
        );
    }
    for (saves, is_told) in [("true", false), ("True", false), ("false", true)] {
        let section =
            format!("deepspeed_config:\n  zero_stage: 3\n  zero3_save_16bit_model: '{saves}'\n");
        sandbox.file("acc.yaml", format!("{usual}{section}"));
        let found = sandbox
            .run("check -- accelerate launch --config_file acc.yaml train.py".split(' '))
            .stdout;
        assert_eq!(
            found.contains("note[gathered-weights]"),
            is_told,
            "{saves}: {found}"
        );
    }
    let flags =
        "check -- accelerate launch --num_processes 2 --use_deepspeed --zero_stage 5 train.py";
    let missing = "check -- accelerate launch --config_file no.yaml train.py";
    for (words, said) in [
        (flags, "error[wrong-value]: `zero_optimization.stage` is 5"),
        (
            missing,
            "error[run-file]: accelerate's config file does not exist",
        ),
    ] {
        let found = sandbox.run(words.split_whitespace()).stdout;
        assert!(found.contains(said), "{words}: {found}");
    }
    // The config that the script takes is not filled by the launcher.
    sandbox.file(
        "own.json",
        r#"{"gradient_accumulation_steps": "auto", "zero_optimization": {"stage": 2}}"#,
    );
    let launcher =
        "check -- accelerate launch --num_processes 2 --gradient_accumulation_steps 2 train.py";
    let words = format!("{launcher} --deepspeed own.json --gradient_accumulation_steps 4");
    let found = sandbox.run(words.split_whitespace()).stdout;
    assert!(
        !found.contains("`gradient_accumulation_steps` is 2"),
        "{found}"
    );
}
