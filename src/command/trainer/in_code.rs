//! Scripts that make their `TrainingArguments` (or TRL's `SFTConfig`, …) in code, as Unsloth's do, and name no config in them.
//! An argument would reach nobody: transformers finds the config in the variables that `accelerate launch` sets.

use std::ffi::OsStr;

use super::{accelerate, hf};
use crate::command::front_end::{NoConfig, RankCommand, Trainer, Usage, text_of};
use crate::command::script::signs::{calls, imports, is_text, keyword};
use crate::command::target::ParsedCommand;
use crate::host::Host;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "in_code",
    usage: &[Usage {
        commands: &["python unsloth_sft.py …"],
        runs: "torchrun on a script that makes its `TrainingArguments` in code, as Unsloth's examples do, with the config in the variables that `accelerate launch` sets; transformers fills \"auto\" from what is in the code (seen on transformers 5.19.0)",
        runs_zh: "torchrun 运行在代码里写好 `TrainingArguments` 的脚本（Unsloth 的例子就是这样），配置放在 `accelerate launch` 会设的变量里；\"auto\" 由 transformers 按代码里的值填写（在 transformers 5.19.0 上验证过）",
    }],
    hand_over: accelerate::VARIABLES,
    inputs: &[],
    recognise,
    ..hf::TRAINER
};

/// Classes of arguments that transformers and TRL have.
const CLASSES: &[&str] = &[
    "TrainingArguments",
    "Seq2SeqTrainingArguments",
    "SFTConfig",
    "DPOConfig",
    "GRPOConfig",
    "KTOConfig",
    "ORPOConfig",
    "CPOConfig",
    "RewardConfig",
    "RLOOConfig",
];

fn recognise(command: &ParsedCommand, host: &Host) -> Option<RankCommand> {
    let text = text_of(command, host).filter(|text| imports(text, &["transformers", "trl", "unsloth"]))?;
    let made: Vec<&str> = CLASSES.iter().flat_map(|class| calls(text, class)).collect();
    // What a parser makes, or what is unpacked, may name a config.
    let parsed = ["HfArgumentParser", "TrlParser", "H4ArgumentParser"].iter().any(|parser| text.contains(parser));
    let trains = text.contains("Trainer(");
    if made.is_empty() || parsed || !trains || made.iter().any(|call| call.contains("**")) {
        return None;
    }
    let no_config = match made.iter().find_map(|call| keyword(call, "deepspeed")) {
        // Something else in it may be about DeepSpeed, or the user means it to be.
        None if mentions_deepspeed(text) || command.args.iter().any(|word| names_config(word)) => return None,
        None => None,
        Some(config) if is_text(config) || config.starts_with('{') => Some(NoConfig::new(
            format!("the script names its config itself: deepspeed={config}"),
            "leave that out there: zlaunch hands the config over in ACCELERATE_DEEPSPEED_CONFIG_FILE",
        )),
        // It comes from an argument of the script.
        Some(_) => return None,
    };
    // Its arguments are its own, whatever they are called.
    Some(RankCommand { effective_args: Some(Vec::new()), no_config, ..RankCommand::unchanged(command) })
}

fn mentions_deepspeed(text: &str) -> bool {
    text.lines().any(|line| line.contains("deepspeed") && !line.trim_start().starts_with('#'))
}

fn names_config(word: &OsStr) -> bool {
    word.to_str().is_some_and(|word| word.starts_with("--deepspeed"))
}

#[cfg(test)]
mod tests {
    use crate::laws::fake::Sandbox;

    #[test]
    fn arguments_in_code_take_the_config_by_variables() {
        let sandbox = Sandbox::new();
        let job = |script: &str, words: &str| {
            sandbox.put("cwd/code.py", script);
            sandbox.job(&format!("python code.py{words}"))
        };
        let unsloth = "from unsloth import FastLanguageModel\nfrom trl import SFTTrainer, SFTConfig\ntrainer = SFTTrainer(\n    args = SFTConfig(output_dir = 'o'),\n)\n";
        let plain = "from transformers import Trainer, TrainingArguments\nTrainer(args=TrainingArguments(args.out))\n";
        for script in [unsloth, plain] {
            let job = job(script, " --learning_rate 1");
            assert_eq!((job.trainer.name, job.no_config.is_none()), ("in_code", true), "{script}");
            assert!(!job.args.is_given("learning_rate"), "its own");
        }
        for script in [
            "from transformers import Trainer, TrainingArguments, HfArgumentParser\nTrainer(args=TrainingArguments('o'))\n",
            "from transformers import Trainer, TrainingArguments\nTrainer(args=TrainingArguments(**cfg))\n",
            "from transformers import Trainer, TrainingArguments\nTrainer(args=TrainingArguments('o', deepspeed=args.ds))\n",
            "from transformers import Trainer, TrainingArguments\nparse(TrainingArguments)\nTrainer()\n",
        ] {
            assert_eq!(job(script, "").trainer.name, "hf", "{script}");
        }
        let named =
            job("from transformers import Trainer\nTrainer(args=TrainingArguments('o', deepspeed='ds.json'))\n", "");
        assert!(named.no_config.unwrap().why.contains("deepspeed='ds.json'"));
    }
}
