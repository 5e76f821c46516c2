//! What people type who come from other programs, or mistype: the answer says what was meant, and is right when it is pasted.

use crate::sandbox::{Run, SWIFT, Sandbox};

/// The words, and what the help is or begins with.
const MISTAKES: &[(&str, &str)] = &[
    // Options of torchrun, deepspeed and accelerate.
    (
        "--num_processes 2 -- swift sft",
        "did you mean `--nproc-per-node 2`?",
    ),
    (
        "--nproc=2 -- swift sft",
        "did you mean `--nproc-per-node 2`?",
    ),
    (
        "--num-machines 2 -- swift sft",
        "did you mean `--nnodes 2`?",
    ),
    (
        "--main_process_port 1 -- swift sft",
        "did you mean `--master-port 1`?",
    ),
    ("--standalone -- swift sft", "drop --standalone"),
    ("--rdzv_backend c10d -- swift sft", "drop --rdzv_backend"),
    (
        "--max_restarts 3 -- swift sft",
        "did you mean `--launcher-arg --max_restarts=3`?",
    ),
    ("--use_deepspeed -- swift sft", "drop --use_deepspeed"),
    (
        "--config ds.json -- swift sft",
        "did you mean `--deepspeed ds.json`?",
    ),
    (
        "--hosts n1,n2 -- swift sft",
        "`--hostfile FILE` names the machines, with a line `NAME slots=N` for each",
    ),
    ("--nnodes 1:4 -- swift sft", "--nnodes 4"),
    ("--unset-env A=B -- swift sft", "--unset-env A"),
    (
        "generate --train-batch-size 100",
        "it is --micro-batch times --grad-accum times --world-size: give those",
    ),
    (
        "generate --zero 3 --micro-batch 1",
        "did you mean `--stage 3`?",
    ),
    (
        "--gpu_ids 0,1 -- swift sft",
        "did you mean `--env CUDA_VISIBLE_DEVICES=0,1`?",
    ),
    (
        "--offload_optimizer_device cpu -- swift sft",
        "did you mean `--set zero_optimization.offload_optimizer.device=cpu`?",
    ),
    (
        "-np 8 --deepspeed zero2 -- swift sft",
        "did you mean `--nproc-per-node 8`?",
    ),
    ("-N 2 -- swift sft", "did you mean `--nnodes 2`?"),
    (
        "--ds zero2 -- swift sft",
        "did you mean `--deepspeed zero2`?",
    ),
    // Stages and templates.
    (
        "--deepspeed zero3_cpu -- swift sft",
        "did you mean `zero3_offload`?",
    ),
    (
        "--deepspeed zero2-cpu-offload -- swift sft",
        "did you mean `zero2_offload`?",
    ),
    ("--zero2 -- swift sft", "did you mean `--deepspeed zero2`?"),
    (
        "--stage 3 -- swift sft",
        "did you mean `--deepspeed zero3`?",
    ),
    ("--deepspeed zero4 -- swift sft", "did you mean `zero3`?"),
    ("--deepspeed stage3 -- swift sft", "did you mean `zero3`?"),
    ("--deepspeed 2 -- swift sft", "did you mean `zero2`?"),
    (
        "--deepspeed ZeRO-7-offload -- swift sft",
        "did you mean `zero3_offload`?",
    ),
    (
        "zero3 --nproc-per-node 2 -- swift sft",
        "zlaunch --deepspeed zero3 --nproc-per-node 2 -- swift sft",
    ),
    (
        "zero3 --nproc-per-node 2 -n swift sft",
        "zlaunch --deepspeed zero3 --nproc-per-node 2 -n swift sft",
    ),
    // Misspelt, misplaced, with a wrong value.
    (
        "--deepsped zero2 -- swift sft",
        "did you mean `--deepspeed zero2`?",
    ),
    ("--versoin", "did you mean `--version`?"),
    ("chekc ds.json", "zlaunch check ds.json"),
    ("swfit sft", "did you mean `swift`?"),
    ("init", "zlaunch generate"),
    (
        "shims list --format json",
        "`zlaunch shims --help` lists the options",
    ),
    (
        "--seed 42 --model x -- swift sft",
        "zlaunch -- swift sft --seed 42 --model x",
    ),
    ("--seed=42 swift sft", "zlaunch swift sft --seed=42"),
    (
        "check --model x -- swift sft",
        "zlaunch check -- swift sft --model x",
    ),
    ("check", "zlaunch check ds_config.json\n"),
    (
        "--dry-run=true -- swift sft",
        "give it alone, or leave it out",
    ),
    ("--nproc-per-node -1 -- swift sft", "--nproc-per-node N"),
    (
        "--nproc-per-node all -- swift sft",
        "--nproc-per-node gpu\n",
    ),
    ("--nproc-per-node 8.0 -- swift sft", "--nproc-per-node 8\n"),
    ("--nproc-per-node two -- swift sft", "--nproc-per-node 2\n"),
    (
        "--deepspeed zero2 --set fp16.enabled:true -- swift sft",
        "--set fp16.enabled=true\n",
    ),
    (
        "--env NCCL_DEBUG:INFO -- swift sft",
        "--env NCCL_DEBUG=INFO\n",
    ),
    ("-- zlaunch swift sft", "zlaunch swift sft\n"),
    (
        "--deepspeed zero2 -- zlaunch --nproc-per-node 2 -- swift sft",
        "zlaunch --deepspeed zero2 --nproc-per-node 2 -- swift sft\n",
    ),
    // Run files.
    (
        "--deepspeed zero2 -- axolotl ax.yaml",
        "did you mean `axolotl train ax.yaml`?",
    ),
    (
        "--deepspeed zero2 -- axolotl train --config ax.yaml",
        "did you mean `axolotl train ax.yaml`?",
    ),
    (
        "--deepspeed zero2 -- trl run.yaml",
        "did you mean `trl sft --config run.yaml`?",
    ),
    (
        "--deepspeed zero2 -- swift export --model a/b",
        "`swift` takes one for sft, pt, rlhf, or drop --deepspeed zero2\n",
    ),
    (
        "--deepspeed zero2 --set zero_optimization.stage 3 -- swift sft",
        "did you mean `--set zero_optimization.stage=3`?",
    ),
    (
        "--deepspeed zero2 --set bf16.enabled true --set gradient_clipping 1 -- swift sft",
        "did you mean `--set bf16.enabled=true`?",
    ),
    (
        "--env NCCL_DEBUG INFO swift sft",
        "did you mean `--env NCCL_DEBUG=INFO`?",
    ),
    ("--env NCCL_DEBUG -- swift sft", "--env NAME=VALUE"),
    (
        "--nproc-per-node 2 --deepspeed zero2 --set zero_optimization[overlap_comm]=false -- swift sft",
        "--set zero_optimization.overlap_comm=false",
    ),
    (
        "--nproc-per-node 2 --deepspeed hf_zero2 --set optimizer.params.weight_decay=false -- swift sft",
        "zlaunch --nproc-per-node 2 --deepspeed hf_zero2 --set optimizer.params.weight_decay=0 -- swift sft --weight_decay 0, or",
    ),
    (
        "--nproc-per-node 2 --deepspeed zero2 --set gradient_clipping=none -- swift sft",
        "zlaunch --nproc-per-node 2 --deepspeed zero2 --set gradient_clipping=0 -- swift sft --max_grad_norm 0, or",
    ),
    (
        "fit Qwen/Qwen3-8B --gpus 4",
        "zlaunch fit --model Qwen/Qwen3-8B --gpus 4",
    ),
    (
        "--nproc-per-node 2 --deepspeed zero2 --unset bf16.enabled=true -- swift sft",
        "did you mean `bf16.enabled`? --unset bf16.enabled",
    ),
    ("--allow mismatch -- swift sft", "one of "),
    (
        "--deepspeed $DS -- swift sft",
        "`zlaunch templates` lists all of them",
    ),
    ("--launcher slurm -- swift sft", "did you mean `srun`?"),
    ("--launcher mpirun -- swift sft", "one of auto, "),
    ("--trainer huggingface -- swift sft", "did you mean `hf`?"),
    ("--trainer ms-swift -- swift sft", "did you mean `swift`?"),
    (
        "swift sft --nproc-per-node 2 --model x",
        "zlaunch --nproc-per-node 2 -- swift sft --model x",
    ),
    (
        "-deepspeed zero3 -- swift sft",
        "did you mean `--deepspeed zero3`?",
    ),
    (
        "-host-memory 100GB -- swift sft",
        "did you mean `--host-memory 100GB`?",
    ),
    ("--node 2 -- swift sft", "did you mean `--nnodes 2`?"),
    (
        "--deepspeed zero3",
        "zlaunch --deepspeed zero3 -- swift sft ",
    ),
    (
        "--nproc-per-node 2 --deepspeed= -- swift sft",
        "is a shell variable not set?",
    ),
    (
        "--nproc-per-node 2 --deepspeed zero3 -- swift stf",
        "did you mean `swift sft`?",
    ),
    (
        "--deepspeed zero2 --set {\"a\":{\"b\":3}} -- swift sft",
        "--set KEY=VALUE",
    ),
    ("--template-dir nowhere -- swift sft", "check the path"),
    (
        "swift sft --max_grad_norm x --deepspeed zero2",
        "--max_grad_norm NUMBER",
    ),
    (
        "--nproc-per-node 2 4 -- swift sft",
        "the option before it takes no further value",
    ),
    (
        "--nproc-per-node 2 --deepspeed zero2 --launcher-arg log-dir=x -- swift sft",
        "did you mean `--launcher-arg=--log-dir=x`?",
    ),
    // What was typed is not replaced by an example.
    (
        "swift sft --lora_rank 16， --deepspeed zero2",
        "--lora_rank 16\n",
    ),
    (
        "swift sft --learning_rate 10^-4 --deepspeed zero2",
        "--learning_rate NUMBER\n",
    ),
    (
        "--nproc-per-node 2 --deepspeed hf_zero2 --set scheduler.params.warmup_ratio=0.1 -- swift sft",
        "zlaunch --nproc-per-node 2 --deepspeed hf_zero2 --set scheduler.params.warmup_num_steps=auto -- swift sft --warmup_ratio 0.1",
    ),
    (
        "--nnodes 2 --node-rank 0 --master-addr n1:29400 -- swift sft",
        "--master-addr n1 --master-port 29400",
    ),
    (
        "--nnodes 2 --node-rank 0 --master-addr tcp://n1 -- swift sft",
        "--master-addr n1 --master-port 29500",
    ),
    (
        "--include 0,1 --deepspeed zero2 -- swift sft",
        "--include localhost:0,1",
    ),
    (
        "--nproc-per-node 2 --deepspeed {stage:2} -- swift sft",
        "put single quotes around it: ",
    ),
    (
        "--nproc-per-node 2 --deepspeed=~/ds.json -- swift sft",
        "--deepspeed ~/ds.json (the shell",
    ),
    // Sub-commands.
    ("zero3", "zlaunch templates zero3"),
    ("version", "zlaunch --version"),
    ("run swift sft", "zlaunch swift sft"),
    (
        "rehearse --nnodes 2 ds.json swift sft",
        "zlaunch rehearse --nnodes 2 --deepspeed ds.json swift sft",
    ),
    ("fit", "zlaunch fit --params 8B --gpu H100x8, or "),
    ("fit --params 8 --gpus 8", "--params 8B"),
    (
        "fit --params 8B --gpus 8 --batch-size 4",
        "did you mean `--micro-batch 4`?",
    ),
    (
        "fit --params 8B --gpus 8 --max_length 4096",
        "did you mean `--seq-len 4096`?",
    ),
    ("fit --gpu 8 --params 8B", "did you mean `--gpus`?"),
    (
        "fit zero3 --params 8B --gpu H100x8",
        "zlaunch fit --deepspeed zero3 --params 8B --gpu H100x8",
    ),
    ("fit --params 8B --gpus 8x", "--gpus N"),
    (
        "generate --micro-batch 1 --gpus 8",
        "did you mean `--world-size 8`?",
    ),
    (
        "fit --params 8B --gpus 8xH100",
        "did you mean `--gpu 8xH100`?",
    ),
    (
        "fit --params 8B --gpus 8 --gpu-mem 80GB",
        "did you mean `--gpu-memory 80GB`?",
    ),
    (
        "fit --params 8B --gpus 8 --zero 3",
        "did you mean `--deepspeed zero3`?",
    ),
    ("fit --params 8B --gpu H100 --seq-len 4k", "--seq-len 4096"),
    (
        "diff zero2 zero3.json",
        "zero3 (the template of that name; or check the path)",
    ),
    ("shims uninstall", "did you mean `remove`?"),
    ("completions powershell", "one of bash, zsh, fish\n"),
    (
        "diff zero1 zero2 -- swift sft",
        "zlaunch diff [OPTIONS] A B|A -- COMMAND [ARGS]...",
    ),
    ("diff zero1 zero2 zero3", "zlaunch diff [OPTIONS] A B"),
    ("diff . zero2", "name the folder that --record wrote to"),
    (
        "--rdzv-endpoint=n1:29400 -- swift sft",
        "drop --rdzv-endpoint",
    ),
    ("--gpu H100x8 -- swift sft", "drop --gpu"),
    (
        "-s gradient_clipping=1 -- swift sft",
        "did you mean `--set gradient_clipping=1`?",
    ),
    ("-e X=1 -- swift sft", "did you mean `--env X=1`?"),
    ("--set-env X=1 -- swift sft", "did you mean `--env X=1`?"),
    (
        "--port 29501 -- swift sft",
        "did you mean `--master-port 29501`?",
    ),
    (
        "--master n1 -- swift sft",
        "did you mean `--master-addr n1`?",
    ),
    (
        "--world-size 8 -- swift sft",
        "`--nnodes` and `--nproc-per-node` say how many",
    ),
    (
        "--nnodes 2 --node-rank first -- swift sft",
        "write it as in `0`",
    ),
    ("--gpu-memory 24gigs -- swift sft", "write it as in `80GiB`"),
    ("fit --size 8B --gpus 8", "did you mean `--params 8B`?"),
    ("fit --params 70Bn --gpus 8", "write it as in `8B`"),
    ("fit --params 8B --gpus A100x", "did you mean `--gpu A100`?"),
    ("fit --params 8B", "--gpus N\n"),
    ("dry-run -- swift sft", "zlaunch --dry-run -- swift sft"),
    (
        "--machine_rank 1 -- swift sft",
        "did you mean `--node-rank 1`?",
    ),
    (
        "--main_process_ip n1 -- swift sft",
        "did you mean `--master-addr n1`?",
    ),
    (
        "check --ds_config ds.json -- swift sft",
        "did you mean `--deepspeed ds.json`?",
    ),
    (
        "--num_processes -- swift sft",
        "did you mean `--nproc-per-node`?",
    ),
    ("--num_processes", "did you mean `--nproc-per-node`?"),
    ("-nnodes=2 -- swift sft", "did you mean `--nnodes 2`?"),
    (
        "fit 8B --gpu H100x8",
        "zlaunch fit --params 8B --gpu H100x8",
    ),
    (
        "fit --finetuning_type lora --params 8B --gpus 8",
        "did you mean `--tuner lora`?",
    ),
    (
        "generate --gradient_accumulation_steps 2",
        "did you mean `--grad-accum 2`?",
    ),
    ("new", "zlaunch generate"),
    (
        "ls",
        "zlaunch templates, or to run the program `ls`: zlaunch -- ls",
    ),
    ("status", "zlaunch doctor"),
    (
        "--nnodes 1 check -- swift sft",
        "zlaunch check --nnodes 1 -- swift sft",
    ),
    ("--nnodes 1 schema", "zlaunch schema"),
    ("zero3 swift sft", "zlaunch --deepspeed zero3 swift sft"),
    (
        "zero3 --nnodes=1 swift sft",
        "zlaunch --deepspeed zero3 --nnodes=1 swift sft",
    ),
    ("fit zero3", "zlaunch fit --deepspeed zero3"),
    ("ds.json", "zlaunch check ds.json"),
    ("ds.json swift sft", "zlaunch --deepspeed ds.json swift sft"),
    ("train swift sft", "zlaunch swift sft"),
    (
        "check --strict true --nproc-per-node 2 -- swift sft",
        "zlaunch check --strict --nproc-per-node 2 -- swift sft, or",
    ),
    (
        "--master-addr  -- swift sft",
        "is a shell variable not set?",
    ),
    ("--rank 1 -- swift sft", "each machine has a `--node-rank`"),
];

/// Neither of two configs is dropped in silence.
#[test]
fn an_option_with_two_values_is_told() {
    let sandbox = Sandbox::new();
    let run = sandbox.launch(
        &[
            "-n",
            "--deepspeed",
            "zero2",
            "--nproc-per-node",
            "2",
            "--deepspeed=zero3",
        ],
        SWIFT,
    );
    assert!(
        run.stderr
            .contains("warning[given-twice]: `--deepspeed` is set twice; `zero3` is used"),
        "{run:?}"
    );
    let twice = sandbox.launch(
        &[
            "-n",
            "--deepspeed",
            "zero3",
            "--nproc-per-node",
            "2",
            "--deepspeed=zero3",
        ],
        SWIFT,
    );
    assert!(!twice.stderr.contains("given-twice"), "{twice:?}");
}

#[test]
fn what_was_meant_is_said() {
    let sandbox = Sandbox::new();
    for (words, help) in MISTAKES {
        let run = sandbox.run(words.split(' '));
        assert!(matches!(run.status, Some(125 | 127)), "{words}: {run:?}");
        assert!(
            run.stderr.contains(&format!("  help: {help}")),
            "{words}: {}",
            run.stderr
        );
    }
}

/// Lines that nothing is suggested for, and a part of what is said instead.
const NOT_GUESSED: &[(&str, &str)] = &[
    // The trainer's own options, and those that nobody knows.
    (
        "check --seed 42 -- swift sft",
        "the trainer's options go after its command",
    ),
    (
        "--photosynthesis -- swift sft",
        "the trainer's options go after its command",
    ),
    ("--photosynthesis", "`zlaunch --help` lists the options"),
    (
        "schema --photosynthesis",
        "`zlaunch schema --help` lists the options\n",
    ),
    // Of one sub-command alone.
    (
        "--max_length 4096 -- swift sft",
        "the trainer's options go after its command",
    ),
    (
        "schema --num_processes 2",
        "`zlaunch schema --help` lists the options\n",
    ),
    (
        "--la -- swift sft",
        "the trainer's options go after its command",
    ),
    // A word of the command that is no sub-command, although it is near to one.
    ("swfit", "is not on PATH"),
    ("--nnodes 1 chekc", "`chekc` is not on PATH"),
    ("no-such-program swift", "`no-such-program` is not on PATH"),
    ("run", "`run` is not on PATH"),
    ("generate zero3", "unexpected argument `zero3`"),
];

#[test]
fn what_nobody_meant_is_not_suggested() {
    let sandbox = Sandbox::new();
    for (words, told) in NOT_GUESSED {
        let run = sandbox.run(words.split(' '));
        assert!(matches!(run.status, Some(125 | 127)), "{words}: {run:?}");
        assert!(run.stderr.contains(told), "{words}: {}", run.stderr);
        assert!(
            !run.stderr.contains("did you mean `--") && !run.stderr.contains("sub-command"),
            "{words}: {}",
            run.stderr
        );
    }
}

/// A program that does not train is run where the line says that it is one, and is not mistaken for a word of ours.
#[test]
fn programs_are_run_where_they_are_meant() {
    let mut sandbox = Sandbox::new();
    let ran = |words: &str| sandbox.run(words.split(' ')).status == Some(0);
    for words in ["-- true", "/bin/true", "env true", "nice true"] {
        assert!(ran(words), "{words}");
    }
    // One in the current folder, where that is on PATH.
    sandbox.executable("cwd/mine", "#!/bin/sh\n");
    let cwd = sandbox.cwd();
    sandbox.search(&[cwd.to_str().unwrap()]);
    assert_eq!(sandbox.run(["mine"]).status, Some(0));
    for words in ["true", "-n true", "--deepspeed zero2 true"] {
        let run = sandbox.run(words.split(' '));
        run.refused(&[
            "`true` is not a sub-command, nor a training command",
            "-- true",
        ]);
    }
}

/// Whole lines that are to be pasted are understood.
#[test]
fn what_was_meant_can_be_pasted() {
    let sandbox = Sandbox::new();
    for (words, help) in MISTAKES {
        let whole = help
            .strip_prefix("zlaunch ")
            .filter(|line| !line.contains(['[', ',']));
        if let Some(line) = whole {
            let run = sandbox.run(line.split(' '));
            assert!(
                !run.stderr.contains("has no option") && !run.stderr.contains("is not understood"),
                "{words}: {run:?}"
            );
        }
    }
}

#[test]
fn a_space_behind_a_backslash_is_told() {
    let sandbox = Sandbox::new();
    sandbox
        .run(["-n", "--deepspeed", "zero3", " "])
        .refused(&["remove the space after the last `\\`"]);
}

#[test]
fn files_that_are_almost_right() {
    let sandbox = Sandbox::new();
    for (name, text, words, help) in [
        (
            "hosts",
            "n1:8\n",
            "--hostfile hosts --deepspeed zero2 -- swift sft",
            "n1 slots=N, with a number above 0",
        ),
        (
            "hosts",
            "n1 slot=4\n",
            "--hostfile hosts --deepspeed zero2 -- swift sft",
            "n1 slots=N, with a number above 0",
        ),
        (
            "hosts",
            "n1\n",
            "--hostfile hosts --deepspeed zero2 -- swift sft",
            "n1 slots=N, with a number above 0",
        ),
        (
            "hosts",
            "n1 slots=8;n2 slots=8\n",
            "--hostfile hosts --deepspeed zero2 -- swift sft",
            "n1 slots=N, with a number above 0",
        ),
        (
            "ours.json",
            r#"{"zero_optimization": {"reduce_bucket_size": 500_000_000}}"#,
            "--deepspeed ours.json -- swift sft",
            "write all its digits without the `_`",
        ),
        (
            "ours.json",
            r#"{"zero_optimization": {"reduce_bucket_size": 2 * 1000}}"#,
            "--deepspeed ours.json -- swift sft",
            "write the result",
        ),
        (
            "ours.json",
            r#"{"$zlaunch": {"extends": "zero2.json"}}"#,
            "--deepspeed ours.json -- swift sft",
            "did you mean `zero2`?",
        ),
        (
            "ours.json",
            r#"{"extends": "zero2", "gradient_clipping": 1.0}"#,
            "--deepspeed ours.json -- swift sft",
            "\"$zlaunch\": {\"about\": ",
        ),
        (
            "ours.json",
            r#"{"zlaunch": {"extends": "zero2"}}"#,
            "--deepspeed ours.json -- swift sft",
            "\"$zlaunch\": {\"about\": ",
        ),
        (
            "ours.json",
            r#""zero_optimization": {"stage": 2}"#,
            "--deepspeed ours.json -- swift sft",
            "add { before it",
        ),
    ] {
        sandbox.file(name, text);
        sandbox
            .run(words.split(' '))
            .refused(&[&format!("  help: {help}")]);
    }
}

#[test]
fn help_is_asked_for_in_any_order() {
    let sandbox = Sandbox::new();
    let page = sandbox.run(["fit", "--help"]).stdout;
    for words in [
        ["--help", "fit"],
        ["-h", "fit"],
        ["help", "fit"],
        ["fit", "-h"],
    ] {
        assert_eq!(sandbox.run(words).stdout, page, "{words:?}");
    }
}

/// One wrong option does not hide what is wrong about the config and the command.
#[test]
fn all_mistakes_are_told_at_once() {
    let sandbox = Sandbox::new();
    for (options, what) in [
        ("--nproc-per-nod 2", "has no option `--nproc-per-nod`"),
        ("--nproc-per-node x", "`x` is not a number of ranks"),
        ("--lr 1", "has no option `--lr`"),
        ("--launcher nobody", "`nobody`"),
    ] {
        for check in ["", "check "] {
            let line = format!("{check}{options} --deepspeed zer3 -- swift sft --max_grad_norm x");
            let run = sandbox.run(line.split(' '));
            run.refused(&[
                what,
                "no DeepSpeed template is named `zer3`",
                "refuses `--max_grad_norm x`",
            ]);
        }
    }
    // But nothing that may follow from it.
    let run = sandbox.run([
        "--template-dir",
        "nowhere",
        "--deepspeed",
        "ours",
        "--",
        "swift",
        "sft",
    ]);
    assert_eq!(run.stderr.matches("error").count(), 1, "{run:?}");
    let run = sandbox.run([
        "--nproc-per-node",
        "x",
        "--deepspeed",
        "zero2",
        "--",
        "swift",
        "sft",
    ]);
    assert_eq!(run.stderr.matches("error").count(), 1, "{run:?}");
}

#[test]
fn a_key_that_set_wrote_is_not_unset() {
    let sandbox = Sandbox::new();
    let check = |set: &str| -> Run {
        let words = [
            "check",
            "--nproc-per-node",
            "2",
            "--deepspeed",
            "zero2",
            "--set",
            set,
            "--",
            "swift",
            "sft",
        ];
        sandbox.run(words)
    };
    for (set, help) in [
        (
            "stage=3",
            "it belongs in `zero_optimization.stage`: --set zero_optimization.stage=3\n",
        ),
        (
            "zero_optimization.overlap_com=true",
            "did you mean `overlap_comm`? --set zero_optimization.overlap_comm=true\n",
        ),
        ("zero_optimization.stage=4", "write one of 0, 1, 2, 3\n"),
        ("zero_optimization=2", "--set zero_optimization.stage=2\n"),
        ("fp16=true", "--set fp16.enabled=true\n"),
        (
            "zero_optimization.offload_optimizer=cpu",
            "--set zero_optimization.offload_optimizer.device=cpu\n",
        ),
        ("nothing=1", "drop --set nothing=1\n"),
        ("nothing.stage=1", "drop --set nothing.stage=1\n"),
        (
            "zero_optimization.reduce_bucket_size=1.5",
            "write a whole number above 0\n",
        ),
        (
            "zero.stage=3",
            "did you mean `zero_optimization`? --set zero_optimization.stage=3\n",
        ),
        ("bf16=True", "--set bf16.enabled=true\n"),
        (
            "reduce_bucket_size=200M",
            "it belongs in `zero_optimization.reduce_bucket_size`: --set zero_optimization.reduce_bucket_size=200000000\n",
        ),
        (
            "zero_optimization.reduce_buckt_size=2e8",
            "did you mean `reduce_bucket_size`? --set zero_optimization.reduce_bucket_size=200000000\n",
        ),
    ] {
        let run = check(set);
        assert!(
            run.stdout.contains(&format!("  help: {help}")),
            "{set}: {}",
            run.stdout
        );
    }
}

#[test]
fn numbers_between_quotes_are_not_guessed_anew() {
    let sandbox = Sandbox::new();
    let two = ["--nproc-per-node", "2", "--deepspeed", "zero2"];
    for (key, given) in [
        ("train_micro_batch_size_per_gpu", "4"),
        ("zero_optimization.reduce_bucket_size", "5e8"),
    ] {
        sandbox.file("train.py", "import deepspeed\n");
        let set = format!("{key}=\"{given}\"");
        let run = sandbox.run(
            [
                &["check"][..],
                &two,
                &["--set", &set, "--", "python", "train.py"],
            ]
            .concat(),
        );
        assert!(
            !run.stdout.contains(&format!("--set {key}=1")),
            "{}",
            run.stdout
        );
    }
    let set = ["--set", "train_micro_batch_size_per_gpu=\"4\""];
    let run = sandbox.launch(&[&two[..], &set].concat(), &["swift", "sft"]);
    run.refused(&[
        "--set train_micro_batch_size_per_gpu=4 -- swift sft --per_device_train_batch_size 4",
    ]);
}

#[test]
fn an_option_behind_the_command_is_pointed_out() {
    let sandbox = Sandbox::new();
    let two = ["--deepspeed", "zero2", "--nproc-per-node", "2"];
    let ours = sandbox.launch(&two, &["swift", "sft", "--nnodes", "1"]);
    ours.refused(&["help: zlaunch --deepspeed zero2 --nproc-per-node 2 --nnodes 1 -- swift sft\n"]);
    // That the number of GPUs is unknown follows from the mistake.
    let unknown = sandbox.run([
        "swift",
        "sft",
        "--deepspeed",
        "zero2",
        "--nproc-per-node",
        "2",
    ]);
    assert!(!unknown.stderr.contains("GPUs"), "{unknown:?}");
    // A script of one's own may have it.
    sandbox.file("train.py", "import deepspeed\nparser.add_argument('-n')\n");
    assert_eq!(
        sandbox.launch(&two, &["python", "train.py", "-n"]).stderr,
        ""
    );
}

#[test]
fn other_names_of_commands_lead_to_ours() {
    let sandbox = Sandbox::new();
    sandbox.file("ds.json", "{}");
    sandbox
        .run(["fix", "ds.json"])
        .refused(&["  help: zlaunch check --fix ds.json\n"]);
    let dpo = ["swift", "dpo", "--model", "a/b"];
    sandbox
        .launch(&["--nproc-per-node", "2", "--deepspeed", "zero2"], &dpo)
        .refused(&[
            "`swift` has no sub-command `dpo`",
            "`swift rlhf --rlhf_type dpo`",
        ]);
    sandbox
        .launch(
            &["--nproc-per-node", "2", "--deepspeed", "zero2"],
            &["swift", "fine_tune"],
        )
        .refused(&["`swift sft`"]);
}

#[test]
fn a_dry_run_behind_the_command_is_told() {
    let sandbox = Sandbox::new();
    let run = sandbox.launch(&["--nproc-per-node", "2"], &["python", "train.py", "-n"]);
    for part in [
        "warning[after-the-command]: `-n` comes after the command",
        "help: zlaunch -n --nproc-per-node 2 -- python train.py\n",
    ] {
        assert!(run.stderr.contains(part), "{run:?}");
    }
    sandbox.file("train.py", "parser.add_argument(\"-n\")");
    let run = sandbox.launch(&["--nproc-per-node", "2"], &["python", "train.py", "-n"]);
    assert!(!run.stderr.contains("after-the-command"), "{run:?}");
}
