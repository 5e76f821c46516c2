//! The trainer's own arguments. What is refused here was seen to be refused by the real parsers: `tests/real/parsers.py`
//! asks them about every option.

use serde_json::Value;

use crate::sandbox::Sandbox;

const SCRIPT: &str = "from dataclasses import dataclass\n\
    from transformers import HfArgumentParser, Trainer, TrainingArguments\n\
    @dataclass\n\
    class ModelArguments:\n\
    \u{20}   model_name_or_path: str\n\
    \u{20}   max_length: int = 512\n\
    parser = HfArgumentParser((ModelArguments, TrainingArguments))\n\
    model, args = parser.parse_args_into_dataclasses()\n\
    Trainer(args=args)\n";

/// What `check` says about arguments: severity and place. `␣` is a space in a word.
fn said(sandbox: &Sandbox, command: &str) -> Vec<(String, String)> {
    let words = [
        "check",
        "--format",
        "json",
        "--deepspeed",
        "zero2",
        "--nproc-per-node",
        "2",
        "--",
    ];
    let command: Vec<String> = command
        .split(' ')
        .map(|word| word.replace('␣', " "))
        .collect();
    let found = sandbox
        .run(words.into_iter().chain(command.iter().map(String::as_str)))
        .stdout;
    let report: Value =
        serde_json::from_str(&found).unwrap_or_else(|_| panic!("{command:?}: {found}"));
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let found = report["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["rule"] == "argument");
    found
        .map(|it| (text(&it["severity"]), text(&it["where"][0])))
        .collect()
}

fn refused(sandbox: &Sandbox, command: &str, arguments: &str) {
    let expected = ("error".to_string(), arguments.to_string());
    assert_eq!(
        said(sandbox, &format!("{command} {arguments}")),
        [expected],
        "{command} {arguments}"
    );
}

fn warned(sandbox: &Sandbox, command: &str, arguments: &str) {
    let expected = ("warning".to_string(), arguments.to_string());
    assert_eq!(
        said(sandbox, &format!("{command} {arguments}")),
        [expected],
        "{command} {arguments}"
    );
}

fn accepted(sandbox: &Sandbox, command: &str, arguments: &str) {
    assert_eq!(
        said(sandbox, &format!("{command} {arguments}")),
        [],
        "{command} {arguments}"
    );
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for (package, version) in [
        ("transformers", "5.19.0"),
        ("ms_swift", "4.6.0"),
        ("trl", "0.29.1"),
        ("llamafactory", "0.9.5"),
    ] {
        sandbox.installed(package, version);
    }
    sandbox.file("train.py", SCRIPT);
    sandbox
}

#[test]
fn values_of_another_type_and_choices_that_are_none() {
    let sandbox = sandbox();
    let swift = "swift sft --model a/b";
    for wrong in [
        "--max_steps abc",
        "--num_train_epochs two",
        "--adam_beta1 x",
        "--logging_steps 0.5",
        "--freeze_llm maybe",
        "--torch_dtype int8",
        "--optim adamx",
        "--lr_scheduler_type cosin",
        "--save_strategy sometimes",
        "--hub_strategy x",
        "--debug x",
        "--max_steps",
        "--max-step x",
        "--nosuch",
    ] {
        refused(&sandbox, swift, wrong);
    }
    for right in [
        "--max_steps 1_000",
        "--max_steps $STEPS",
        "--freeze_llm No",
        "--freeze_llm",
        "--torch_dtype None",
        "--optim adamw_torch",
        "--lr_scheduler_type cosine",
        "--debug underflow_overflow",
        "--system=a",
        "--no_remove_unused_columns",
        "--ignore_args_error true --nosuch 1",
    ] {
        accepted(&sandbox, swift, right);
    }
    let trl = "trl sft --model_name_or_path a/b --dataset_name c/d";
    for wrong in [
        "--dtype float8",
        "--gradient_checkpointing perhaps",
        "--lr",
        "--per_device",
        "--report_to nonsense",
    ] {
        refused(&sandbox, trl, wrong);
    }
    // `Optional[bool]` of TRL, `bool` of transformers.
    refused(&sandbox, trl, "--bf16");
    accepted(
        &sandbox,
        "python train.py --model_name_or_path a/b",
        "--bf16",
    );
    // `trl` passes it on to accelerate, which refuses it. The script of the command would ignore it.
    let found = said(&sandbox, &format!("{trl} --accelerator_option 3"));
    assert_eq!(
        found,
        [("error".to_string(), "--accelerator_option".to_string())]
    );
}

#[test]
fn names_follow_the_version() {
    let sandbox = sandbox();
    let script = "python train.py --model_name_or_path a/b --max_length 3";
    for gone in [
        "--warmup_ratio",
        "--no_cuda",
        "--overwrite_output_dir",
        "--evaluation_strategy",
        "--group_by_length",
    ] {
        refused(&sandbox, script, gone);
    }
    accepted(&sandbox, script, "--eval_strategy no");
    sandbox.installed("transformers", "4.40.2");
    accepted(
        &sandbox,
        script,
        "--warmup_ratio 0.1 --no_cuda --evaluation_strategy no",
    );
    refused(&sandbox, script, "--eval_strategy");
    assert_eq!(
        said(&sandbox, &format!("{script} --eval_strategy no")).len(),
        1
    );
    // Between 4.40.2 and 4.41.2, which has it.
    sandbox.installed("transformers", "4.41.0");
    accepted(&sandbox, script, "--eval_strategy no");
    // Newer than what is recorded, or not known.
    sandbox.installed("transformers", "5.99.0");
    warned(&sandbox, script, "--optim adamx");
    sandbox.installed("transformers", "4.30.0");
    warned(&sandbox, script, "--optim adamx");
    warned(&sandbox, script, "--nosuch");
}

#[test]
fn a_script_is_judged_as_far_as_it_can_be_read() {
    let sandbox = sandbox();
    let script = "python train.py --model_name_or_path a/b";
    for wrong in ["--optim adamx", "--nosuch", "--predict_with_generate"] {
        refused(&sandbox, script, wrong);
    }
    warned(&sandbox, script, "--parallelism_config {}");
    accepted(&sandbox, script, "--max_len 3");
    let with = |old: &str, new: &str| sandbox.file("train.py", SCRIPT.replace(old, new));
    with("TrainingArguments", "Seq2SeqTrainingArguments");
    accepted(&sandbox, script, "--predict_with_generate");
    // A field of its own counts before that of transformers.
    with("max_length: int = 512", "optim: str = 'adamx'");
    accepted(&sandbox, script, "--optim adamx");
    // A class from elsewhere may have any option, but not one of transformers' again.
    with(
        "from dataclasses import dataclass\n",
        "from elsewhere import More\n",
    );
    with("(ModelArguments, ", "(ModelArguments, More, ");
    accepted(&sandbox, script, "--nosuch");
    refused(&sandbox, script, "--optim adamx");
    warned(&sandbox, script, "--no_cuda");
    for tolerant in ["(return_remaining_strings=True)", "(args=words)"] {
        with("dataclasses()\n", &format!("dataclasses{tolerant}\n"));
        accepted(&sandbox, script, "--nosuch 3");
    }
    for other in ["H4ArgumentParser", "argparse.ArgumentParser"] {
        with("HfArgumentParser((", &format!("{other}(("));
        accepted(&sandbox, script, "--nosuch 3 --optim adamx");
    }
}

#[test]
fn a_mapping_is_not_read_like_words() {
    let sandbox = sandbox();
    let run = |more: &str| {
        sandbox.file(
            "run.yaml",
            format!("stage: sft\nmodel_name_or_path: a/b\n{more}\n"),
        )
    };
    for (wrong, place) in [
        ("lr: 1", "run.yaml:3:1"),
        ("optim: adamx", "run.yaml:3:8"),
        ("report_to: nonsense", "run.yaml:3:12"),
    ] {
        run(wrong);
        let expected = ("error".to_string(), place.to_string());
        assert_eq!(
            said(&sandbox, "llamafactory-cli train run.yaml"),
            [expected],
            "{wrong}"
        );
    }
    for right in [
        "learning_rate: 1",
        "dataset: [a, b]",
        "report_to: wandb",
        "optim: ${optim}",
    ] {
        run(right);
        accepted(&sandbox, "llamafactory-cli train", "run.yaml");
    }
}

/// OmegaConf makes a key of every word.
#[test]
fn after_a_run_file_of_llamafactory_options_have_no_dashes() {
    let mut sandbox = sandbox();
    sandbox.file(
        "run.yaml",
        "stage: sft\nmodel_name_or_path: a/b\nmax_grad_norm: 0.5\n",
    );
    accepted(
        &sandbox,
        "llamafactory-cli train",
        "run.yaml learning_rate=1e-4",
    );
    let line = "llamafactory-cli train run.yaml --learning_rate 1e-4 --bf16 --seed=3";
    assert_eq!(
        said(&sandbox, "llamafactory-cli train run.yaml seed␣=␣3"),
        [("error".to_string(), "seed = 3".to_string())]
    );
    let given = "--learning_rate 1e-4 --bf16 --seed=3".to_string();
    assert_eq!(said(&sandbox, line), [("error".to_string(), given.clone())]);
    let words = [
        "--nproc-per-node",
        "2",
        "--deepspeed",
        "zero2",
        "--set",
        "gradient_clipping=1",
        "--",
    ];
    let command: Vec<&str> = line.split(' ').collect();
    sandbox.launch(&words[..6], &command).refused(&[
        "help: write NAME=VALUE, without dashes",
        "`gradient_clipping` is 1 in the config",
        "--> run.yaml:3:1",
    ]);
    sandbox.file(
        "run.yaml",
        "stage: sft\nmodel_name_or_path: a/b\nfp16: true\nbf16: true\n",
    );
    sandbox
        .launch(&words[..4], &command[..3])
        .refused(&["--> run.yaml:3:1", "help: fp16: false, or bf16: false"]);
    sandbox.file("run.yaml", "stage: sft\nmodel_name_or_path: a/b\n");
    let clips = [&words[..5], &["gradient_clipping=0.7"]].concat();
    sandbox
        .launch(&clips, &command[..3])
        .refused(&["help: max_grad_norm: 0.7 (for the trainer), or --set gradient_clipping=auto"]);
    sandbox.var("ALLOW_EXTRA_ARGS", "1");
    assert_eq!(said(&sandbox, line), [("warning".to_string(), given)]);
}

#[test]
fn what_transformers_refuses_holds_for_a_script_that_leaves_its_arguments_alone() {
    let sandbox = sandbox();
    let script = "python train.py --model_name_or_path a/b --save_strategy steps";
    refused(&sandbox, script, "--load_best_model_at_end");
    accepted(&sandbox, script, "--load_best_model_at_end false");
    sandbox.file(
        "train.py",
        SCRIPT.replace("max_length: int = 512", "def __post_init__(self): pass"),
    );
    accepted(&sandbox, script, "--load_best_model_at_end");
}

#[test]
fn what_is_abbreviated_is_not_missing() {
    let sandbox = sandbox();
    sandbox.put(
        "env/lib/python3.11/site-packages/trl/scripts/sft.py",
        "model_args.model_name_or_path\n",
    );
    for (arguments, is_missing) in [
        ("", true),
        (" --model_name a/b", false),
        (" --model-name a/b", false),
        // It is refused as it stands.
        (" --model_nam_or_path a/b", false),
    ] {
        let command = format!(
            "check --deepspeed zero2 --nproc-per-node 2 -- trl sft --dataset_name c/d{arguments}"
        );
        let found = sandbox.run(command.split(' ')).stdout;
        assert_eq!(
            found.contains("error[argument-missing]"),
            is_missing,
            "{command}: {found}"
        );
    }
}

/// zlaunch starts the module itself, so nobody else would say it.
#[test]
fn what_the_command_of_the_trainer_refuses_is_refused() {
    let sandbox = sandbox();
    let only = |command: &str| {
        let found = said(&sandbox, command);
        assert_eq!(found.len(), 1, "{command}: {found:?}");
        found[0].clone()
    };
    let error = |place: &str| ("error".to_string(), place.to_string());
    assert_eq!(
        only("swift sft NPROC_PER_NODE=2 --model a/b --dataset c/d"),
        error("NPROC_PER_NODE=2")
    );
    assert_eq!(
        only("swift sft --dataset c/d --model a/b ␣--tuner_type full").0,
        "error".to_string()
    );
    sandbox.file(
        "run.yaml",
        "model_name_or_path: a/b\ndataset_name: c/d\nlerning_rate: 1e-4\n",
    );
    assert_eq!(only("trl sft --config run.yaml"), error("run.yaml:3:1"));
    // The module itself ignores it.
    let module = "python -m trl.scripts.sft --config run.yaml";
    assert_ne!(only(module).0, "error");
    sandbox.file(
        "run.yaml",
        "model_name_or_path: a/b\ndataset_name: c/d\nlearning_rate: 1e-4\n",
    );
    assert_eq!(said(&sandbox, "trl sft --config run.yaml"), []);
}

#[test]
fn accelerate_takes_one_kind_of_training() {
    let sandbox = sandbox();
    sandbox.file("t.py", "import accelerate\n");
    for switch in ["--multi_gpu", "--cpu", "--tpu", "--use_fsdp"] {
        let found = said(&sandbox, &format!("accelerate launch {switch} t.py"));
        assert_eq!(found, [("error".to_string(), switch.to_string())]);
    }
    // The script takes the config, and accelerate starts ranks without it.
    sandbox.file(
        "own.py",
        "from transformers import HfArgumentParser, Trainer, TrainingArguments\n\
         args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(None, args).train()\n",
    );
    let own = "accelerate launch --multi_gpu own.py --output_dir o --deepspeed zero2";
    assert_eq!(said(&sandbox, own), []);
    for switch in ["--use_deepspeed", "--same_network"] {
        let found = said(&sandbox, &format!("accelerate launch {switch} t.py"));
        assert_eq!(found, [], "{switch}");
    }
}

#[test]
fn a_fix_does_not_hide_the_mistake() {
    let sandbox = sandbox();
    sandbox.file("data.jsonl", "{}\n");
    for (command, help) in [
        (
            "swift sft --model a/b --dataset data.jsonl --gradient_accumulation_steps -1",
            "  help: write a whole number above 0\n",
        ),
        // Only a config can leave it to the trainer. No number need not be the default.
        (
            "swift sft --model a/b --dataset data.jsonl --learning_rate auto",
            "  help: drop --learning_rate auto\n",
        ),
        (
            "swift sft --model a/b --dataset data.jsonl --save_total_limit None",
            "  help: --save_total_limit NUMBER\n",
        ),
        (
            "swift sft --model a/b --dataset data.jsonl --max_grad_norm none",
            "  help: --max_grad_norm NUMBER\n",
        ),
        (
            "swift rlhf --rlhf_type DPO --model a/b --dataset data.jsonl",
            "  help: --rlhf_type dpo\n",
        ),
        // A word with a meaning of its own is no slip.
        (
            "swift rlhf --rlhf_type gspo --model a/b --dataset data.jsonl",
            "  help: choose one of them\n",
        ),
        (
            "swift sft --model a/b --dataset data.jsonl --report_to swanlb",
            "  help: --report_to swanlab\n",
        ),
        (
            "swift sft --model a/b --dataset data.jsonl --eval_strategy evry",
            "  help: choose one of them\n",
        ),
        (
            "swift sft --model a/b --dataset data.jsonl --bf16:true",
            "  help: did you mean `--bf16 true`?\n",
        ),
        (
            "swift sft --model a/b --dataset data.jsonl --warmup_ratio 5 %",
            "  help: did you mean `--warmup_ratio 0.05`?\n",
        ),
        (
            "swift sft --model a/b --dataset data.jsonl --learning_rate 5e_5",
            "  help: --learning_rate 5e-5\n",
        ),
        (
            "swift sft --model a/b --dataset data.jsonl --save_steps 2,000",
            "  help: --save_steps 2000\n",
        ),
        (
            "swift sft --model a/b --dataset data.jsonl --weight_decay 0,001",
            "  help: --weight_decay 0.001\n",
        ),
        // Only one of the two would count.
        (
            "swift sft --model a/b --dataset data.jsonl --per_device_train_batch_size 2 --train_batch_size 64",
            "  help: correct its name, or leave it out\n",
        ),
        ("swift sft --model a/b --dataset data.jsnol", "did you mean"),
        (
            "swift sft --model a/b --dataset data.jsonl --val_dataset dta.jsonl",
            "  --> --val_dataset dta.jsonl\n  help: did you mean `",
        ),
        // The product of both is wrong because of it.
        (
            "swift sft --model a/b --dataset data.jsonl --per_device_train_batch_size 0 --gradient_accumulation_steps 2",
            "  help: write a whole number above 0\n\n1 error,",
        ),
        (
            "swift sft --model a/b --dataset data.jsonl --output_dir out packing true",
            "  help: did you mean `--packing`?\n",
        ),
        (
            "swift sft --model a/b --dataset data.jsonl --save_steps 100 200",
            "  help: give one value\n",
        ),
        (
            "trl sft --model_name_or_path a/b --dataset_name data.jsonl",
            "  help: put the file into a folder of its own, and name that folder\n",
        ),
    ] {
        let line = format!("check --nproc-per-node 2 --deepspeed zero2 -- {command}");
        let run = sandbox.run(line.split(' '));
        assert!(run.stdout.contains(help), "{line}: {run:?}");
    }
}

#[test]
fn an_option_that_nobody_has_is_not_moved() {
    let sandbox = sandbox();
    sandbox.file(
        "lf.yaml",
        "model_name_or_path: a/b\nstage: sft\ndataset: c\ntemplate: qwen\noutput_dir: o\ncutoff_len: 4k\nwarmup_ratio: 5%\n",
    );
    let swift = "-- swift sft --model a/b --dataset c/d";
    for (words, help) in [
        (
            format!("--nproc-per-node 2 --wobble 3 {swift}"),
            "help: correct its name, or leave it out\n",
        ),
        (
            format!("--nproc-per-node 2 --bf16 true {swift}"),
            "dataset c/d --bf16 true\n",
        ),
        (
            "-- torchrun --nproc_per_node 4,4 train.py".to_string(),
            "help: --nproc_per_node N\n",
        ),
        (
            "-- torchrun --nproc_per_node 4 --master_port 70000 train.py".to_string(),
            "help: --master_port PORT\n",
        ),
        (
            "--nproc-per-node 2 --set optimizer.type=Sophia -- python train.py".to_string(),
            "help: use one of adagrad, adam, adamw,",
        ),
        (
            "--nproc-per-node 2 -- llamafactory-cli train lf.yaml".to_string(),
            "help: cutoff_len: 4096\n",
        ),
        (
            "--nproc-per-node 2 -- llamafactory-cli train lf.yaml".to_string(),
            "help: warmup_ratio: 0.05\n",
        ),
    ] {
        let line = format!("check --deepspeed zero2 {words}");
        let run = sandbox.run(line.split(' '));
        assert!(
            (run.stdout.clone() + &run.stderr).contains(help),
            "{line}: {run:?}"
        );
    }
}

#[test]
fn what_was_meant_by_an_option_is_kept() {
    let sandbox = sandbox();
    sandbox.file("run.yaml", "model_name_or_path: a/b\ndataset_name: c/d\n");
    let script = "python train.py --model_name_or_path a/b --max_length 3";
    let swift = "swift sft --model a/b --dataset c/d";
    for (command, help) in [
        (
            format!("{script} --zero_stage 3"),
            "did you mean `--deepspeed zero3`?",
        ),
        (
            format!("{swift} --deepspeed_stage 3"),
            "did you mean `--deepspeed zero3`?",
        ),
        (
            format!("{swift} --offload true"),
            "the DeepSpeed config decides this",
        ),
        (format!("{swift} --lora_dim 16"), "`--lora_rank`"),
        (
            format!("{swift} --use_lora true"),
            "did you mean `--tuner_type lora`?",
        ),
        (
            format!("{swift} --flash_attn true"),
            "did you mean `--attn_impl flash_attn`?",
        ),
        (
            format!("{swift} --flash_attn sdpa"),
            "did you mean `--attn_impl`?",
        ),
        (
            format!("{swift} --num_train_epochs 2.5epochs"),
            "--num_train_epochs NUMBER\n",
        ),
        (
            format!("{swift} --torch_dtype float"),
            "--torch_dtype float32",
        ),
        (
            format!("{swift} --learning_rate 2 e-5"),
            "did you mean `--learning_rate 2e-5`?",
        ),
        (
            format!("{swift} --system You are"),
            "did you mean `--system 'You are'`?",
        ),
        (
            format!("{swift} --optim adamw_6bit"),
            "help: choose one of them\n",
        ),
        (
            format!("{swift} --load_in_4bit true"),
            "`--quant_bits 4 --quant_method bnb`",
        ),
        (
            format!("{swift} --stage sft"),
            "correct its name, or leave it out",
        ),
        (
            format!("{swift} --wobble 3"),
            "correct its name, or leave it out",
        ),
        (
            format!("{script} --group_by_length"),
            "`--train_sampling_strategy group_by_length`",
        ),
        (format!("{script} --optim adamw_hf"), "--optim adamw_torch"),
        (
            format!("{script} --lr_scheduler_type linear_warmup"),
            "--lr_scheduler_type linear",
        ),
        (
            format!("{script} learning_rate=1e-5"),
            "did you mean `--learning_rate 1e-5`?",
        ),
        (
            format!("{swift} learning_rate=1e-5"),
            "did you mean `--learning_rate 1e-5`?",
        ),
        (format!("{swift} —-bf16 true"), "did you mean `--bf16`?"),
        (format!("{swift} -–bf16 true"), "did you mean `--bf16`?"),
        (
            format!("{swift} --learning_rate \"5e-6\""),
            "--learning_rate 5e-6\n",
        ),
        (
            format!("accelerate launch {}", &script[7..]) + " --mixed_precision bf16",
            "put --mixed_precision bf16 before the script: it is an option of `accelerate launch`",
        ),
        (
            format!("deepspeed {}", &script[7..]) + " --include localhost:0,1",
            "put --include localhost:0,1 before the script: it is an option of `deepspeed`",
        ),
        (
            format!("torchrun {}", &script[7..]) + " --nnodes 1",
            "put --nnodes 1 before the script: it is an option of `torchrun`",
        ),
        (
            format!("{swift} --learning_rate = 1e-5"),
            "did you mean `--learning_rate 1e-5`?",
        ),
        (
            format!("{swift} --learning_rate 1e-5,"),
            "--learning_rate 1e-5\n",
        ),
        (
            format!("{swift} --warmup_ratio 5%"),
            "--warmup_ratio 0.05\n",
        ),
        (
            "swift sft --config sw.yaml".to_string(),
            "did you mean `swift sft sw.yaml`?",
        ),
        (
            "swift sft --seed 1 --config sw.yaml".to_string(),
            "a run file comes first: `swift sft sw.yaml …`",
        ),
        (
            "swift rlhf --rlhf_type dpo --model a/b --dataset c/d --dpo_beta 0.1".to_string(),
            "did you mean `--beta`?",
        ),
    ] {
        let line = format!("check --nproc-per-node 2 -- {command}");
        let run = sandbox.run(line.split(' '));
        assert!(run.stdout.contains(help), "{line}: {run:?}");
        assert!(!run.stdout.contains("help: drop"), "{line}: {run:?}");
    }
}
