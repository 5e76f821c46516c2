//! What the commands of each front end are taken for, and what its ranks run.

use std::ffi::OsString;

use zlaunch::testing::command_tables::recognition::{Example, Sign};
use zlaunch::testing::target::{ParsedCommand, Target};
use zlaunch::testing::trainer;
use zlaunch::testing::{Job, Ranks};

use crate::invariants::fake::Sandbox;

impl Sandbox {
    /// One more trainer: its console script, its version, and these files in site-packages.
    fn with_trainer(console: &str, package: &str, version: &str, files: &[&str]) -> Self {
        let sandbox = Sandbox::new();
        sandbox.console_script(console);
        sandbox.installed(package, version);
        for file in files {
            sandbox.put(&format!("env/lib/python3.11/site-packages/{file}"), "");
        }
        sandbox
    }

    /// What a command line (words without spaces) is taken for.
    fn job(&self, line: &str) -> Job {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        trainer::recognise(&ParsedCommand::parse(&words), None, &self.host())
    }

    /// The trainer, and what each rank runs with the config `CONFIG`; `SITE` stands for site-packages.
    fn rank(&self, line: &str) -> (&'static str, String) {
        let job = self.job(line);
        let module = matches!(job.target, Target::Module { .. }).then(|| "-m".into());
        let target = module.into_iter().chain([job.target.word().to_os_string()]);
        let words: Vec<OsString> = target
            .chain(job.rank_args(Some("CONFIG".as_ref())))
            .collect();
        let line = words.join(" ".as_ref()).into_string().unwrap();
        (
            job.trainer.name,
            line.replace(self.site().to_str().unwrap(), "SITE"),
        )
    }
}

#[test]
fn sub_commands_are_the_files_behind_them() {
    let files = [
        "swift/cli/sft.py",
        "swift/cli/pt.py",
        "swift/cli/rlhf.py",
        "swift/cli/infer.py",
    ];
    // A version that was not recorded is taken for the nearest that was.
    for version in ["4.6.0", "3.0.0", "2.6.1"] {
        let swift = Sandbox::with_trainer("swift", "ms_swift", version, &files);
        for name in ["sft", "pt", "rlhf", "infer"] {
            let (trainer, rank) = swift.rank(&format!("swift {name} --x 1"));
            assert_eq!(
                (trainer, rank),
                (
                    "swift",
                    format!("SITE/swift/cli/{name}.py --x 1 --deepspeed CONFIG")
                )
            );
        }
        assert_eq!(swift.job("swift export --x 1").trainer.name, "command");
    }
}

#[test]
fn the_script_is_where_the_version_has_it() {
    for (version, folder) in [
        ("1.16.0", "trl/scripts"),
        ("0.12.2", "trl/commands/scripts"),
    ] {
        let trl = Sandbox::with_trainer("trl", "trl", version, &[&format!("{folder}/sft.py")]);
        let expected = format!("SITE/{folder}/sft.py --bf16 true --deepspeed CONFIG");
        assert_eq!(trl.rank("trl sft --bf16 true"), ("trl", expected));
    }
}

fn lightning(script: &str, words: &str) -> Job {
    let sandbox = Sandbox::new();
    sandbox.put("cwd/lit.py", script);
    sandbox.job(&format!("python lit.py{words}"))
}

#[test]
fn a_strategy_that_may_be_deepspeeds_takes_a_config() {
    for (script, words) in [
        (
            "import lightning as L\nL.Trainer(strategy=\"deepspeed_stage_3\")\n",
            "",
        ),
        (
            "from pytorch_lightning import Trainer\nTrainer(strategy=args.strategy)\n",
            "",
        ),
        (
            "from lightning.pytorch.strategies import DeepSpeedStrategy\nTrainer(strategy=DeepSpeedStrategy())\n",
            "",
        ),
        (
            "from lightning.fabric import Fabric\nFabric(strategy='deepspeed')\n",
            "",
        ),
        (
            "from lightning.pytorch.cli import LightningCLI\nLightningCLI(Model)\n",
            " fit --config c.yaml",
        ),
        (
            "import lightning as L\nL.Trainer()\n",
            " --strategy=deepspeed_stage_2",
        ),
        (
            "import pytorch_lightning as pl\npl.Trainer.from_argparse_args(args)\n",
            " --gpus 2",
        ),
    ] {
        let job = lightning(script, words);
        assert_eq!(
            (job.trainer.name, job.no_config),
            ("lightning", None),
            "{script}"
        );
    }
}

#[test]
fn the_script_says_how_many_ranks() {
    let ranks = |script: &str| {
        lightning(script, "")
            .variables
            .first()
            .map(|variable| variable.value.clone())
    };
    assert_eq!(
        ranks("import lightning as L\nL.Trainer(devices=4, num_nodes=1)\n").as_deref(),
        Some("4")
    );
    for other in [
        "devices=-1",
        "devices='auto'",
        "devices=args.gpus",
        "devices=4, num_nodes=2",
        "",
    ] {
        assert_eq!(
            ranks(&format!("import lightning as L\nL.Trainer({other})\n")),
            None,
            "{other}"
        );
    }
}

#[test]
fn others_are_told_what_to_write() {
    for (script, says) in [
        (
            "import lightning as L\nL.Trainer(strategy=\"ddp\")\n",
            "strategy=\"ddp\"",
        ),
        (
            "import lightning as L\nL.Trainer(devices=2)\n",
            "its default strategy",
        ),
        (
            "import lightning as L\nL.Trainer(strategy=DeepSpeedStrategy(config=\"c.json\"))\n",
            "config=\"c.json\"",
        ),
    ] {
        let why = lightning(script, "").no_config.unwrap().why;
        assert!(why.contains(says), "{why}");
    }
    for script in [
        "import lightning\nfrom transformers import Trainer, TrainingArguments\nTrainer(args=TrainingArguments('o'))\n",
        "from pytorch_lightning import seed_everything\nseed_everything(1)\n",
    ] {
        assert_ne!(lightning(script, "").trainer.name, "lightning", "{script}");
    }
}

#[test]
fn a_config_that_is_made_in_code_cannot_be_replaced() {
    let sandbox = Sandbox::new();
    for (script, config) in [
        (
            "c = get_train_ds_config(offload=args.offload)\ndeepspeed.initialize(model=m, args=args, config=c)\n",
            "change c",
        ),
        (
            "ds = {'fp16': {}}\ndeepspeed.initialize(\n    model=m,\n    config=ds,\n)\n",
            "change ds in the script",
        ),
        (
            "deepspeed.initialize(model=m, config_params='ds.json')\n",
            "change 'ds.json' in the script",
        ),
        (
            "deepspeed.initialize(model=m, config={\n    'a': 1})\n",
            "change { … in the script",
        ),
    ] {
        sandbox.put("cwd/chat.py", script);
        let job = sandbox.job("python chat.py --deepspeed");
        assert_eq!(job.trainer.name, "deepspeed");
        assert!(job.no_config.unwrap().help.contains(config), "{script}");
    }
    for script in [
        "deepspeed.initialize(args=args, model=m)\n",
        "ds = {}\nif args.deepspeed_config:\n    ds = load(args.deepspeed_config)\ndeepspeed.initialize(model=m, config=ds)\n",
        "deepspeed.initialize(model=m, config=args.deepspeed_config)\n",
        "p.add_argument('--ds_config')\nds = {}\nds.update(load(a.ds_config))\ndeepspeed.initialize(config=ds)\n",
        "ds = json.load(open(args.deepspeed))\ndeepspeed.initialize(model=m, config=ds)\n",
    ] {
        sandbox.put("cwd/chat.py", script);
        let job = sandbox.job("python chat.py");
        assert!(
            job.trainer.name == "deepspeed" && job.no_config.is_none(),
            "{script}"
        );
    }
}

fn xtuner() -> Sandbox {
    let files = [
        "xtuner/tools/train.py",
        "xtuner/configs/deepspeed/deepspeed_zero2.json",
    ];
    Sandbox::with_trainer("xtuner", "xtuner", "0.2.0", &files)
}

#[test]
fn the_file_behind_train_is_run() {
    let xtuner = xtuner();
    for command in ["xtuner train", "python -m xtuner.tools.train"] {
        let (trainer, rank) = xtuner.rank(&format!(
            "{command} c.py --deepspeed deepspeed_zero2 --seed 1"
        ));
        assert_eq!(trainer, "xtuner", "{command}");
        assert!(
            rank.ends_with("train.py c.py --deepspeed CONFIG --seed 1") || command.contains("-m"),
            "{rank}"
        );
    }
    for command in ["xtuner test c.py", "xtuner", "xtuner list-cfg"] {
        assert_eq!(xtuner.job(command).trainer.name, "command", "{command}");
    }
}

#[test]
fn ranks_are_told_who_started_them() {
    let xtuner = xtuner();
    let told = |line: &str, ranks| {
        xtuner
            .job(line)
            .starter_option(ranks)
            .map_or(Vec::new(), |words| words.to_vec())
    };
    for (given, ranks, expected) in [
        ("", Ranks::Single, ""),
        ("", Ranks::Launched, "pytorch"),
        ("", Ranks::Existing, "pytorch"),
        (" --launcher slurm", Ranks::Launched, ""),
        (" --launcher slurm", Ranks::Existing, ""),
        (" --launcher=mpi", Ranks::Existing, ""),
    ] {
        let expected: &[&str] = if expected.is_empty() {
            &[]
        } else {
            &["--launcher", expected]
        };
        assert_eq!(
            told(&format!("xtuner train c.py{given}"), ranks),
            expected,
            "{given} {ranks:?}"
        );
    }
}

#[test]
fn commands_without_a_config_are_recognised_by_their_examples() {
    let sandbox = Sandbox::new();
    let rows = trainer::ALL.iter().flat_map(|trainer| {
        trainer
            .config
            .refusals
            .iter()
            .map(move |row| (trainer, row))
    });
    let mut seen = 0;
    for (trainer, row) in rows {
        for example in row.examples {
            let (command, script) = match example {
                Example::Command(command) => (*command, ""),
                Example::Script(text) => ("python script.py", *text),
            };
            sandbox.put("cwd/script.py", script);
            let job = sandbox.job(command);
            assert_eq!(job.trainer.name, trainer.name, "{command} {script}");
            let said = job.no_config.unwrap();
            assert!(
                said.why.ends_with(row.why) && said.help == row.help,
                "{command} {script}: {said:?}"
            );
            seen += 1;
        }
        let names = row.signs.iter().flat_map(|sign| match sign {
            Sign::Console(first) => [trainer.launch.consoles, first.as_slice()].concat(),
            Sign::Modules(names) | Sign::Imports(names) => names.to_vec(),
            Sign::Text { has, .. } => vec![*has],
        });
        for name in names {
            let has = |example: &Example| {
                let (Example::Command(text) | Example::Script(text)) = example;
                text.contains(name) || text.contains(&name.replace('.', "/"))
            };
            assert!(
                row.examples.iter().any(has),
                "{}: there is no example of {name}",
                trainer.name
            );
        }
    }
    assert!(seen > 20, "{seen}");
    assert_eq!(
        sandbox.job("python -m openrlhf.cli.serve_rm").trainer.name,
        "hf"
    );
    assert!(sandbox.job("fabric consolidate x").no_config.is_none());
    let why = |line: &str| sandbox.job(line).no_config.unwrap().why;
    assert!(why("lightning run model x.py").starts_with("`lightning run` starts its ranks itself"));
    assert!(why("ray job submit x").starts_with("`ray job` starts its workers"));
}

#[test]
fn every_command_of_trl_has_a_class() {
    let trl = trainer::ALL
        .iter()
        .find(|known| known.name == "trl")
        .unwrap();
    for command in trl.launch.commands {
        let (Some(parsed), Some(defaults)) = (command.parsed, command.defaults) else {
            panic!("{}", command.name)
        };
        assert_eq!(parsed.name, command.name);
        let parts = parsed.row("^").unwrap();
        assert!(parts.contains(defaults.name), "{}", command.name);
        for module in command.modules {
            assert!(module.ends_with(&format!(".{}", command.name)), "{module}");
        }
    }
}

#[test]
fn own_loops_are_told_from_trainers() {
    let sandbox = Sandbox::new();
    for (script, trainer) in [
        (
            "from accelerate import Accelerator\nacc = Accelerator()\n",
            "accelerate",
        ),
        (
            "import accelerate\nacc = accelerate.Accelerator(mixed_precision='bf16')\n",
            "accelerate",
        ),
        (
            "import transformers\nfrom accelerate import Accelerator\nclass Trainer:\n    pass\nAccelerator()\nTrainer()\n",
            "accelerate",
        ),
        (
            "from transformers import AutoModel\nfrom accelerate import Accelerator\nclass BaseTrainer(ABC):\n    a = Accelerator()\nclass Supervised(BaseTrainer):\n    pass\nBaseTrainer()\n",
            "accelerate",
        ),
        (
            "from accelerate import Accelerator\nfrom trl import SFTTrainer\nAccelerator()\nSFTTrainer()\n",
            "hf",
        ),
        (
            "from accelerate import Accelerator\np.add_argument('--deepspeed_config')\nAccelerator()\n",
            "hf",
        ),
        (
            "from accelerate import PartialState\nPartialState()\n",
            "hf",
        ),
    ] {
        sandbox.put("cwd/loop.py", script);
        assert_eq!(
            sandbox.job("python loop.py").trainer.name,
            trainer,
            "{script}"
        );
    }
    sandbox.put(
        "cwd/loop.py",
        "from accelerate import Accelerator\nAccelerator(deepspeed_plugin=DeepSpeedPlugin(hf_ds_config='c.json'))\n",
    );
    assert!(
        sandbox
            .job("python loop.py")
            .no_config
            .unwrap()
            .why
            .contains("hf_ds_config='c.json'")
    );
}

/// Seen in the sources of 0.8.0 to 0.9.5: `read_args`, before that `_parse_args`.
#[test]
fn a_run_file_takes_arguments_behind_it_since_0_9_3() {
    let factory = |version: &str| {
        let sandbox = Sandbox::with_trainer(
            "llamafactory-cli",
            "llamafactory",
            version,
            &["llamafactory/launcher.py"],
        );
        sandbox.file("x.yaml", "learning_rate: 1e-5\nmax_steps: 3\n");
        sandbox
    };
    let rank = |version: &str| factory(version).rank("llamafactory-cli train x.yaml").1;
    assert_eq!(
        rank("0.9.3"),
        "SITE/llamafactory/launcher.py x.yaml deepspeed=CONFIG"
    );
    assert_eq!(rank("0.9.2"), "SITE/llamafactory/launcher.py CONFIG");
    let job = |version: &str, more: &str| {
        factory(version).job(&format!("llamafactory-cli train x.yaml{more}"))
    };
    // OmegaConf reads it as a number, PyYAML as text.
    let rate = |version: &str| {
        job(version, "")
            .args
            .text("learning_rate")
            .map(|rate| rate.value)
    };
    assert_eq!((rate("0.9.4").is_some(), rate("0.9.3")), (true, None));
}

#[test]
fn what_accelerate_refuses_is_nobodys() {
    let source = |trainer: &str, key: &str| {
        let trainer = trainer::ALL
            .iter()
            .find(|known| known.name == trainer)
            .unwrap();
        trainer.source_of_auto(key).unwrap_or_default()
    };
    assert_eq!(source("accelerate", "optimizer.params.betas"), "");
    assert_eq!(
        source("accelerate", "train_micro_batch_size_per_gpu"),
        "accelerate reads it from the dataloader"
    );
    assert_eq!(
        source("accelerate", "gradient_clipping"),
        "accelerate sets 1.0"
    );
    // The first row that names a key counts.
    let [gathers, overlaps] = ["stage3_gather_16bit_weights_on_model_save", "overlap_comm"]
        .map(|key| source("accelerate", &format!("zero_optimization.{key}")));
    assert_eq!(
        (gathers, overlaps),
        (
            "accelerate sets false",
            "accelerate reads it from its DeepSpeedPlugin"
        )
    );
    assert_eq!(
        source("lightning", "zero_optimization.overlap_comm"),
        "DeepSpeed uses its default"
    );
    assert_eq!(
        (
            source("xtuner", "train_batch_size"),
            source("hf", "train_batch_size")
        ),
        ("", "")
    );
}

#[test]
fn texts_for_numbers_are_not_read() {
    let factory = Sandbox::with_trainer(
        "llamafactory-cli",
        "llamafactory",
        "0.9.3",
        &["llamafactory/launcher.py"],
    );
    let entries = r#"{"learning_rate": "1e-5", "max_steps": 3, "model_name_or_path": "a/b", "bf16": true, "x": "${y}",
        "max_grad_norm": false, "per_device_train_batch_size": true, "fp16": 0.5}"#;
    factory.file("x.yaml", entries);
    let job = factory.job("llamafactory-cli train x.yaml");
    assert_eq!(
        job.args.words(),
        [
            "--max_steps=3",
            "--model_name_or_path=a/b",
            "--bf16=True",
            "--x=${y}"
        ]
    );
}

/// Where axolotl is installed, if its version is known.
fn axolotl(version: Option<&str>) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("x.yml", "base_model: m\n");
    if let Some(version) = version {
        sandbox.installed("axolotl", version);
    }
    sandbox
}

/// What `axolotl train` with these words passes to its module; `None` where that is left to axolotl.
fn passed_on(line: &str, version: Option<&str>) -> Option<String> {
    let (trainer, rank) = axolotl(version).rank(&format!("axolotl train {line}"));
    let words = rank
        .strip_prefix("-m axolotl.cli.train ")
        .and_then(|words| words.strip_suffix(" --deepspeed=CONFIG"));
    assert_eq!(words.is_some(), trainer == "axolotl", "{rank}");
    words.map(str::to_string)
}

#[test]
fn options_are_passed_to_the_module_as_axolotl_passes_them() {
    // Seen on the real one: what its module was started with.
    let seen = [
        (
            "x.yml --max-steps 5 --no-shard --dpo-norm-loss --micro-batch-size=4 --debug --no-debug-text-only",
            "x.yml --max-steps=5 --shard=False --dpo-norm-loss=True --micro-batch-size=4 --debug=True --debug-text-only=False",
        ),
        (
            "x.yml --adapter lora --bf16=true",
            "x.yml --adapter=lora --bf16=true",
        ),
    ];
    for (line, passed) in seen {
        assert_eq!(passed_on(line, None).as_deref(), Some(passed), "{line}");
    }
    for line in [
        "x.yml --nproc_per_node 2",
        "x.yml --launcher torchrun",
        "x.yml --use-ray",
        "x.yml -- --num_processes 2",
        "x.yml y",
        "x.yml --fp16 true",
        "x.yml --max_steps 5",
    ] {
        assert_eq!(passed_on(line, None), None, "{line}");
    }
    // In the words of transformers, for the one who fills in the config.
    for line in [
        "axolotl train x.yml --micro-batch-size=4",
        "python -m axolotl.cli.train x.yml --micro_batch_size 4",
    ] {
        let batch = axolotl(None)
            .job(line)
            .args
            .text("per_device_train_batch_size");
        assert_eq!(
            batch.map(|batch| batch.value).as_deref(),
            Some("4"),
            "{line}"
        );
    }
}

#[test]
fn options_are_those_of_the_installed_version() {
    // `Optional[bool]` was a value up to 0.14, and is a switch since. Before 0.12.2, which is the first that is recorded,
    // that one counts.
    for (version, line, passed) in [
        (
            "0.9.2",
            "x.yml --fp16 true --no-shard",
            Some("x.yml --fp16=true --shard=False"),
        ),
        (
            "0.12.2",
            "x.yml --fp16 true --no-shard",
            Some("x.yml --fp16=true --shard=False"),
        ),
        ("0.12.2", "x.yml --num-processes 4", None),
        ("0.14.0", "x.yml --trl x", Some("x.yml --trl=x")),
        ("0.15.0", "x.yml --fp16", Some("x.yml --fp16=True")),
        ("0.15.0", "x.yml --trl x", None),
        ("0.13.0.dev0", "x.yml --center-rewards-coefficient 1", None),
        (
            "0.13.1",
            "x.yml --center-rewards-coefficient 1",
            Some("x.yml --center-rewards-coefficient=1"),
        ),
    ] {
        assert_eq!(
            passed_on(line, Some(version)).as_deref(),
            passed,
            "{version} {line}"
        );
    }
}
