//! Scripts that make their `TrainingArguments` (or TRL's `SFTConfig`, …) in code, as Unsloth's do, and name no config in them.
//! An argument would reach nobody: transformers finds the config in the variables that `accelerate launch` sets.

use std::ffi::OsStr;
use std::path::Path;

use super::{accelerate, hf};
use crate::command::front_end::{ArgumentTraits, ConfigTraits, NoConfig, Trainer};
use crate::command::job::Job;
use crate::command::run_file;
use crate::command::script::ArgumentFlow;
use crate::command::script::signs::{calls, imports, is_text, keyword, shown};
use crate::command::script_source::ScriptSource;
use crate::command::target::ParsedCommand;
use crate::host::Host;
use crate::report::reading;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "in_code",
    recognise,
    config: ConfigTraits { hand_over: accelerate::VARIABLES, ..hf::TRAINER.config },
    arguments: ArgumentTraits { inputs: &[], ..hf::TRAINER.arguments },
    ..hf::TRAINER
};

/// Classes of arguments that transformers, TRL and sentence-transformers have.
const CLASSES: &str = "TrainingArguments Seq2SeqTrainingArguments SFTConfig DPOConfig GRPOConfig KTOConfig ORPOConfig CPOConfig \
    RewardConfig RLOOConfig SentenceTransformerTrainingArguments SparseEncoderTrainingArguments \
    CrossEncoderTrainingArguments";

/// Packages that have a trainer which is transformers' own, or derives from it.
const PACKAGES: &[&str] = &["transformers", "trl", "unsloth", "sentence_transformers"];

fn recognise(command: &ParsedCommand, host: &Host) -> Option<Job> {
    let source = command.source(host).filter(|source| imports(&source.text, PACKAGES))?;
    let text = source.text.as_str();
    let made: Vec<&str> = CLASSES.split(' ').flat_map(|class| calls(text, class)).collect();
    let trains = text.contains("Trainer(");
    if made.is_empty() || !trains || command.args.iter().any(|word| names_config(word)) {
        return None;
    }
    let named = made.iter().find_map(|call| keyword(call, "deepspeed")).filter(|config| *config != "None");
    let no_config = match named {
        None if may_name_config(source, &made, command, host) => return None,
        None => None,
        Some(config) if is_text(config) || config.starts_with('{') => Some(NoConfig::new(
            format!("the script names its config itself: deepspeed={}", shown(config)),
            "leave that out there: zlaunch hands the config over in ACCELERATE_DEEPSPEED_CONFIG_FILE",
        )),
        // It comes from an argument of the script.
        Some(_) => return None,
    };
    // Its arguments are its own, whatever they are called.
    Some(Job { effective_words: Some(Vec::new()), no_config, ..Job::of(&TRAINER, command) })
}

/// Whether the script may take a config by an option, or find one in what it unpacks (`TrainingArguments(**settings)`).
fn may_name_config(source: &ScriptSource, made: &[&str], command: &ParsedCommand, host: &Host) -> bool {
    let unpacks = made.iter().any(|call| call.contains("**"));
    let flow = ArgumentFlow::read(source);
    let options: Option<Vec<bool>> = hf::config_options().map(|name| flow.has_option(name)).collect();
    match options {
        _ if flow.assigns("deepspeed") => true,
        Some(options) => options.contains(&true) || unpacks && settings_name_config(source, command, host),
        // Something else in it may be about DeepSpeed.
        None => unpacks || mentions_deepspeed(&source.text),
    }
}

/// Whether the script, or a file that the command names, has the word as a key.
fn settings_name_config(source: &ScriptSource, command: &ParsedCommand, host: &Host) -> bool {
    let files = command.args.iter().filter(|word| run_file::is_one(Path::new(word)));
    let mut texts = files.filter_map(|file| reading::text_if_any(&host.absolute(Path::new(file))));
    source.mentions("\"deepspeed\"") || source.mentions("'deepspeed'") || texts.any(|text| text.contains("deepspeed"))
}

fn mentions_deepspeed(text: &str) -> bool {
    text.lines().any(|line| line.contains("deepspeed") && !line.trim_start().starts_with('#'))
}

fn names_config(word: &OsStr) -> bool {
    word.to_str().is_some_and(|word| word.starts_with("--deepspeed"))
}

#[cfg(test)]
mod tests {
    use crate::fake::Sandbox;

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
            "from transformers import Trainer, TrainingArguments, HfArgumentParser\nHfArgumentParser(TrainingArguments)\nTrainer(args=TrainingArguments('o'))\n",
            "from transformers import Trainer, TrainingArguments\nTrainer(args=TrainingArguments('o', deepspeed=args.ds))\n",
            "from transformers import Trainer, TrainingArguments\nparse(TrainingArguments)\nTrainer()\n",
            "import elsewhere\nfrom transformers import Trainer, TrainingArguments\nTrainer(args=TrainingArguments(**elsewhere.cfg))\n",
        ] {
            assert_eq!(job(script, "").trainer.name, "hf", "{script}");
        }
        let named =
            job("from transformers import Trainer\nTrainer(args=TrainingArguments('o', deepspeed='ds.json'))\n", "");
        assert!(named.no_config.unwrap().why.contains("deepspeed='ds.json'"));
    }

    #[test]
    fn an_option_that_the_script_does_not_have_is_not_given() {
        const HEAD: &str = "from transformers import HfArgumentParser, Trainer, TrainingArguments\n";
        let sandbox = Sandbox::new();
        sandbox.put("cwd/plain.yaml", "learning_rate: 1.0e-5\n");
        sandbox.put("cwd/names.yaml", "deepspeed: ds.json\n");
        let trainer = |script: &str, words: &str| {
            sandbox.put("cwd/code.py", format!("{HEAD}{script}"));
            sandbox.job(&format!("python code.py {words}")).trainer.name
        };
        let argparse = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--config')\n";
        let click = "import click\n@click.option('--lr')\ndef main(lr):\n    Trainer(args=TrainingArguments('o'))\n";
        let own_class = "class Own:\n    lr: float = 1\nHfArgumentParser(Own)\nTrainer(args=TrainingArguments('o'))\n";
        let sentences = "from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments\nSentenceTransformerTrainer(args=SentenceTransformerTrainingArguments('o'))\n";
        let unpacked = format!("{argparse}Trainer(args=TrainingArguments(**load(a.config)))\n");
        for (script, words) in [
            (unpacked.as_str(), "--config plain.yaml"),
            (&format!("{argparse}Trainer(args=TrainingArguments('o', deepspeed=None))\n"), ""),
            (click, ""),
            (own_class, "--lr 1"),
            (sentences, ""),
        ] {
            assert_eq!(trainer(script, words), "in_code", "{script}");
        }
        for (script, words) in [
            (unpacked.as_str(), "--config names.yaml"),
            (&format!("{argparse}p.add_argument('--deepspeed')\nTrainer(args=TrainingArguments(**vars(a)))\n"), ""),
            (&format!("{argparse}Trainer(args=TrainingArguments(**{{'deepspeed': find()}}))\n"), ""),
            (&format!("{argparse}t = TrainingArguments('o')\nt.deepspeed = find()\nTrainer(args=t)\n"), ""),
            (
                "import fire\ndef main(deepspeed=None):\n    Trainer(args=TrainingArguments('o', deepspeed=deepspeed))\nfire.Fire(main)\n",
                "",
            ),
            (own_class.replace("lr: float", "deepspeed: str").as_str(), ""),
        ] {
            assert_eq!(trainer(script, words), "hf", "{script}");
        }
    }
}
