//! Front ends that take the config in another way than by an argument, and those that take none.

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, argv};

const LOOP: &str = "from accelerate import Accelerator\nacc = Accelerator()\n";
const IN_CODE: &str =
    "from transformers import Trainer, TrainingArguments\nTrainer(args=TrainingArguments('out'))\n";
const LIGHTNING: &str = "import lightning as L\nL.Trainer(strategy='deepspeed_stage_3')\n";
const RAY: &str = "import ray\nray.init()\n";

fn with_script(name: &str, text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file(name, text);
    sandbox
}

fn variables<'a>(plan: &'a Value, names: &[&str]) -> Vec<&'a Value> {
    names
        .iter()
        .map(|name| &plan["env"]["set"][*name])
        .collect()
}

const ACCELERATE: &[&str] = &[
    "ACCELERATE_USE_DEEPSPEED",
    "ACCELERATE_DEEPSPEED_CONFIG_FILE",
];

#[test]
fn own_loops_and_arguments_in_code_find_the_config_in_variables() {
    for (name, text, trainer) in [
        ("loop.py", LOOP, "accelerate"),
        ("code.py", IN_CODE, "in_code"),
    ] {
        let sandbox = with_script(name, text);
        for launcher in ["", "torchrun --nproc_per_node 2 "] {
            let line = format!(
                "{launcher}{} {name} --per_device_train_batch_size 2",
                if launcher.is_empty() { "python" } else { "" }
            );
            let words: Vec<&str> = line.split_whitespace().collect();
            let options = if launcher.is_empty() {
                &["--deepspeed", "zero3", "--nproc-per-node", "2"][..]
            } else {
                &["--deepspeed", "zero3"]
            };
            let plan = sandbox.plan(options, &words);
            assert_eq!(plan["trainer"]["name"], trainer, "{line}");
            assert_eq!(
                variables(&plan, ACCELERATE),
                [&json!("true"), &plan["config_path"]],
                "{line}"
            );
            assert!(
                argv(&plan)
                    .join(" ")
                    .ends_with(&format!("{name} --per_device_train_batch_size 2")),
                "no argument is added: {line}"
            );
            // Only the script knows what its options mean.
            assert_eq!(
                plan["config"]["train_micro_batch_size_per_gpu"], "auto",
                "{line}"
            );
        }
        // `accelerate launch` hands it over itself.
        let plan = sandbox.plan(
            &["--deepspeed", "zero3"],
            &[
                "accelerate",
                "launch",
                "--num_processes",
                "2",
                "--max_restarts",
                "1",
                name,
            ],
        );
        assert_eq!(variables(&plan, ACCELERATE), [&Value::Null, &Value::Null]);
        // Without a config nothing is set.
        let plan = sandbox.plan(&["--nproc-per-node", "2"], &["python", name]);
        assert_eq!(
            (variables(&plan, ACCELERATE), &plan["config"]),
            (vec![&Value::Null, &Value::Null], &Value::Null)
        );
    }
    let command = ["python", "loop.py", "--train_file", "none.json"];
    with_script("loop.py", LOOP)
        .launch(&["--nproc-per-node", "2"], &command)
        .succeeded();
}

#[test]
fn a_config_that_the_variables_name_already_is_resolved() {
    let mut sandbox = with_script("loop.py", LOOP);
    sandbox
        .var("ACCELERATE_USE_DEEPSPEED", "true")
        .var("ACCELERATE_DEEPSPEED_CONFIG_FILE", "zero2");
    let plan = sandbox.plan(&["--nproc-per-node", "2"], &["python", "loop.py"]);
    assert_eq!(plan["template"]["name"], "zero2");
    assert_eq!(variables(&plan, ACCELERATE)[1], &plan["config_path"]);
    sandbox.var("ACCELERATE_USE_DEEPSPEED", "false");
    assert!(sandbox.plan(&["--nproc-per-node", "2"], &["python", "loop.py"])["config"].is_null());
}

#[test]
fn an_auto_that_accelerate_refuses_is_refused() {
    let config = r#"{"zero_optimization": {"stage": 2}, "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto"}}}"#;
    let sandbox = with_script("loop.py", LOOP);
    let run = sandbox.launch(
        &["--deepspeed", config, "--nproc-per-node", "2"],
        &["python", "loop.py"],
    );
    run.refused(&["optimizer.params.betas"]);
}

#[test]
fn lightning_gets_a_config_without_the_keys_that_it_sets() {
    let sandbox = with_script("lit.py", LIGHTNING);
    let plan = sandbox.plan(
        &["--deepspeed", "zero3", "--nproc-per-node", "2"],
        &["python", "lit.py"],
    );
    assert_eq!(
        variables(&plan, &["PL_DEEPSPEED_CONFIG_PATH"]),
        [&plan["config_path"]]
    );
    let text = plan["config"].to_string();
    assert!(
        !text.contains("auto")
            && !text.contains("gradient_accumulation_steps")
            && !text.contains("fp16"),
        "{text}"
    );
    assert_eq!(plan["config"]["zero_optimization"]["stage"], 3);
    sandbox.file(
        "lit.py",
        "import lightning as L\nL.Trainer(strategy='ddp')\n",
    );
    let ddp = sandbox.launch(
        &["--deepspeed", "zero3", "--nproc-per-node", "2"],
        &["python", "lit.py"],
    );
    ddp.refused(&["strategy='ddp'", "strategy=\"deepspeed\""]);
    assert_eq!(
        sandbox.plan(&["--nproc-per-node", "2"], &["python", "lit.py"])["launcher"],
        "torchrun"
    );
}

#[test]
fn those_that_make_their_own_config_are_ranks_and_take_none() {
    let sandbox = with_script(
        "chat.py",
        "p.add_argument('--zero_stage')\nds = get_train_ds_config(args)\ndeepspeed.initialize(args=args, config=ds)\n",
    );
    for (command, trainer, help) in [
        (
            "python -m openrlhf.cli.train_sft --zero_stage 3",
            "openrlhf",
            "--ds.zero_stage 3; --ds.adam_offload",
        ),
        (
            "deepspeed --num_gpus 2 --module openrlhf.cli.train_dpo --ds.zero_stage 2",
            "openrlhf",
            "--ds.zero_stage 3",
        ),
        ("python -m verl.trainer.sft_trainer", "verl", "drop it"),
        (
            "python chat.py --zero_stage 2 --deepspeed",
            "deepspeed",
            "the script's own options",
        ),
        (
            "deepspeed --num_gpus 2 chat.py --deepspeed",
            "deepspeed",
            "the script's own options",
        ),
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let ranks: &[&str] = if words[0] == "python" {
            &["--nproc-per-node", "2"]
        } else {
            &[]
        };
        let plan = sandbox.plan(ranks, &words);
        assert_eq!(
            (&plan["trainer"]["name"], &plan["config"]),
            (&trainer.into(), &Value::Null),
            "{command}"
        );
        assert_eq!(plan["topology"]["world_size"], 2, "{command}");
        let asked = sandbox.launch(&[&["--deepspeed", "zero3"], ranks].concat(), &words);
        asked.refused(&["--deepspeed zero3", help]);
    }
}

#[test]
fn drivers_of_ray_are_executed_once() {
    let sandbox = with_script("grpo.py", RAY);
    for command in [
        "python grpo.py",
        "python -m verl.trainer.main_ppo a.b=1",
        "python -m openrlhf.cli.train_ppo_ray",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let plan = sandbox.plan(&["--nproc-per-node", "8"], &words);
        let rule = &plan["diagnostics"][0]["rule"];
        assert_eq!(
            (&plan["trainer"]["name"], &plan["launcher"]),
            (&"ray".into(), &"direct".into()),
            "{command}"
        );
        assert_eq!(
            (argv(&plan)[1..].join(" "), rule),
            (words[1..].join(" "), &"ranks-without-effect".into())
        );
        sandbox
            .launch(&["--deepspeed", "zero3"], &words)
            .refused(&["--deepspeed zero3"]);
    }
    // Who knows better says so.
    let plan = sandbox.plan(
        &["--trainer", "hf", "--nproc-per-node", "2"],
        &["python", "grpo.py"],
    );
    assert_eq!(plan["launcher"], "torchrun");
}

#[test]
fn trls_scripts_are_trls_however_they_are_named() {
    let sandbox = Sandbox::new();
    for command in [
        "trl sft",
        "python -m trl.scripts.sft",
        "python trl/scripts/sft.py",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let plan = sandbox.plan(&["--nproc-per-node", "2", "--deepspeed", "zero2"], &words);
        assert_eq!(plan["trainer"]["name"], "trl", "{command}");
    }
}
