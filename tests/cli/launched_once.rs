//! A launcher is recognised however the command names it, so that no ranks are started by ranks.

use crate::sandbox::{Sandbox, argv};

const TAIL: &str = "--per_device_train_batch_size 2 --gradient_accumulation_steps 3";

/// How many programs that start ranks a plan has.
fn launchers(plan: &serde_json::Value) -> usize {
    let starts = [
        "torch.distributed",
        "torch/distributed",
        "bin/torchrun",
        "bin/deepspeed",
        "deepspeed.launcher",
        "accelerate",
    ];
    argv(plan)
        .iter()
        .filter(|word| starts.iter().any(|name| word.contains(name)))
        .count()
}

#[test]
fn by_an_interpreter_in_front_of_its_console_script_or_by_its_module() {
    let sandbox = Sandbox::new();
    let (bin, site) = (sandbox.bin(), sandbox.site());
    let (bin, site) = (bin.display(), site.display());
    for launcher in [
        format!("python {bin}/torchrun --nproc_per_node 2"),
        format!("python3 -u -X dev {bin}/torchrun --nproc_per_node 2"),
        format!("python {site}/torch/distributed/run.py --nproc_per_node 2"),
        "python -m torch.distributed.run --nproc_per_node 2".to_string(),
        "python -m torch.distributed.launch --use_env --nproc_per_node 2".to_string(),
        format!("python {bin}/deepspeed --num_gpus 2"),
        "python -m deepspeed.launcher.runner --num_gpus 2".to_string(),
        format!("python {bin}/accelerate launch --num_processes 2"),
        "python -m accelerate.commands.accelerate_cli launch --num_processes 2".to_string(),
        "python -m accelerate.commands.launch --num_processes 2".to_string(),
    ] {
        let command = format!("{launcher} x.py {TAIL}");
        let plan = sandbox.plan(
            &["--deepspeed", "zero2"],
            &command.split(' ').collect::<Vec<_>>(),
        );
        assert_eq!(launchers(&plan), 1, "{command}: {:?}", argv(&plan));
        assert_eq!(
            plan["topology"]["world_size"]["value"]
                .as_u64()
                .or(plan["topology"]["world_size"].as_u64()),
            Some(2),
            "{command}"
        );
    }
}

#[test]
fn by_the_module_behind_a_trainers_console_script() {
    let sandbox = Sandbox::new();
    sandbox.file("run.yaml", "model_name_or_path: m\n");
    let bin = sandbox.bin();
    let bin = bin.display();
    for (command, trainer) in [
        (format!("python {bin}/swift sft --model m"), "swift"),
        (
            "python -m swift.cli.main sft --model m".to_string(),
            "swift",
        ),
        (
            format!("python {bin}/llamafactory-cli train run.yaml"),
            "llamafactory",
        ),
        (
            "python -m llamafactory.cli train run.yaml".to_string(),
            "llamafactory",
        ),
        (
            format!("python {bin}/trl sft --model_name_or_path m"),
            "trl",
        ),
        (
            "python -m trl.cli sft --model_name_or_path m".to_string(),
            "trl",
        ),
        (
            "python -m trl.cli.main sft --model_name_or_path m".to_string(),
            "trl",
        ),
        (
            "python -m trl.commands.cli sft --model_name_or_path m".to_string(),
            "trl",
        ),
        (format!("python {bin}/axolotl train run.yaml"), "axolotl"),
        (
            "python -m axolotl.cli.main train run.yaml".to_string(),
            "axolotl",
        ),
        (format!("python {bin}/xtuner train config.py"), "xtuner"),
    ] {
        let plan = sandbox.plan(
            &["--nproc-per-node", "2"],
            &command.split(' ').collect::<Vec<_>>(),
        );
        assert_eq!(plan["trainer"]["name"], trainer, "{command}");
        let words = argv(&plan).join(" ");
        assert!(
            !words.contains("bin/") || words.matches("bin/").count() == 1,
            "{command}: {words}"
        );
        assert!(
            !words.contains("cli.main")
                && !words.contains("-m trl.c")
                && !words.contains("llamafactory.cli"),
            "{words}"
        );
    }
}

/// Their other uses train nothing: one process, as it stands.
#[test]
fn what_they_do_besides_launching_is_left_alone() {
    let sandbox = Sandbox::new();
    let bin = sandbox.bin();
    let bin = bin.display();
    for command in [
        format!("python {bin}/torchrun --help"),
        "python -m torch.distributed.run --help".to_string(),
        "python -m accelerate.commands.accelerate_cli env".to_string(),
        format!("python {bin}/accelerate test"),
        format!("python {bin}/swift export --model m"),
        "python -m swift.cli.main export --model m".to_string(),
        format!("python {bin}/trl env"),
        format!("python {bin}/trl sft --num_processes 2"),
        "python -m llamafactory.cli chat run.yaml".to_string(),
        "python -m swift.cli._megatron.main sft --model m".to_string(),
        "python -m deepspeed.launcher.launch --world_info=e30= x.py".to_string(),
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let plan = sandbox.plan(&[], &words);
        assert_eq!(argv(&plan)[1..], words[1..], "{command}");
        assert_eq!(plan["launcher"], "direct", "{command}");
    }
}

#[test]
fn the_interpreter_that_the_command_names_counts() {
    let sandbox = Sandbox::new();
    sandbox.executable("other/bin/swift", "#!/proc/nowhere/python\n");
    let swift = sandbox.path("other/bin/swift");
    let plan = sandbox.plan(
        &["--nproc-per-node", "2"],
        &["python", swift.to_str().unwrap(), "sft", "--model", "m"],
    );
    assert_eq!(
        argv(&plan)[0],
        sandbox.bin().join("python").to_str().unwrap()
    );
    assert!(
        argv(&plan)
            .iter()
            .any(|word| word.ends_with("site-packages/swift/cli/sft.py")),
        "{:?}",
        argv(&plan)
    );
}

#[test]
fn zlaunch_is_put_behind_the_program_not_behind_its_interpreter() {
    let sandbox = Sandbox::new();
    let swift = sandbox.bin().join("swift");
    let run = sandbox.launch(
        &["--deepspeed", "zero2"],
        &["python", swift.to_str().unwrap(), "export"],
    );
    run.refused(&[
        "takes a DeepSpeed config",
        "put zlaunch before the training command",
    ]);
}
