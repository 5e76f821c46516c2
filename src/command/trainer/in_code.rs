//! Scripts that make their `TrainingArguments` (or TRL's `SFTConfig`, …) in code, as Unsloth's do, and name no config there.
//! An argument would reach nothing: transformers finds the config in the variables that `accelerate launch` sets.

use std::path::Path;

use super::{accelerate, hf};
use crate::command::front_end::{ArgumentTraits, ConfigTraits, NoConfig};
use crate::command::job::{Job, Trainer};
use crate::command::run_file;
use crate::command::script::{ArgumentFlow, calls, imports, is_text, keyword, shown};
use crate::command::script_source::ScriptSource;
use crate::command::target::ParsedCommand;
use crate::host::Host;
use crate::report::reading;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "in_code",
    recognise,
    config: ConfigTraits {
        hand_over: accelerate::VARIABLES,
        ..hf::TRAINER.config
    },
    arguments: ArgumentTraits {
        inputs: &[],
        ..hf::TRAINER.arguments
    },
    ..hf::TRAINER
};

const CLASSES: &str = "TrainingArguments Seq2SeqTrainingArguments SFTConfig DPOConfig GRPOConfig KTOConfig ORPOConfig CPOConfig \
    RewardConfig RLOOConfig SentenceTransformerTrainingArguments SparseEncoderTrainingArguments \
    CrossEncoderTrainingArguments";

/// Packages whose trainer is transformers' own or derives from it.
pub(crate) const PACKAGES: &[&str] = &["transformers", "trl", "unsloth", "sentence_transformers"];

fn recognise(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    let source = command
        .source(host)
        .filter(|source| imports(&source.text, PACKAGES))?;
    let text = source.text.as_str();
    let made: Vec<&str> = CLASSES
        .split(' ')
        .flat_map(|class| calls(text, class))
        .collect();
    let mut words = command.args.iter().map(|word| word.to_string_lossy());
    if made.is_empty()
        || !text.contains("Trainer(")
        || words.any(|word| word.starts_with("--deepspeed"))
    {
        return None;
    }
    let named = made
        .iter()
        .find_map(|call| keyword(call, "deepspeed"))
        .filter(|config| *config != "None");
    let no_config = match named {
        None if may_name_config(source, &made, command, host) => return None,
        None => None,
        Some(config) if is_text(config) || config.starts_with('{') => Some(NoConfig::new(
            format!(
                "the script sets its own config: deepspeed={}",
                shown(config)
            ),
            "remove it from the script: zlaunch passes the config in ACCELERATE_DEEPSPEED_CONFIG_FILE",
        )),
        // It comes from an argument of the script.
        Some(_) => return None,
    };
    // Its arguments mean what the script makes of them, so none is read.
    Some(Job {
        effective_words: Some(Vec::new()),
        no_config,
        ..Job::of(trainer, command)
    })
}

/// The script may take a config by an option, or find one in what it unpacks (`TrainingArguments(**settings)`).
fn may_name_config(
    source: &ScriptSource,
    made: &[&str],
    command: &ParsedCommand,
    host: &Host,
) -> bool {
    let unpacks = made.iter().any(|call| call.contains("**"));
    let flow = ArgumentFlow::read(source);
    let options: Option<Vec<bool>> = hf::config_options()
        .map(|name| flow.has_option(name))
        .collect();
    match options {
        _ if flow.set_at("deepspeed").is_some() => true,
        Some(options) => {
            // The script, or a file that the command names, has the key `deepspeed`.
            let files = command
                .args
                .iter()
                .filter(|word| run_file::is_one(Path::new(word)));
            let mut texts =
                files.filter_map(|file| reading::text_if_any(&host.absolute(Path::new(file))));
            let mut keys = ["\"deepspeed\"", "'deepspeed'"].iter();
            options.contains(&true)
                || unpacks
                    && (keys.any(|key| source.mentions(key))
                        || texts.any(|text| text.contains("deepspeed")))
        }
        // The parser is not seen, so any line that mentions DeepSpeed may be about a config.
        None => {
            unpacks
                || source
                    .text
                    .lines()
                    .any(|line| line.contains("deepspeed") && !line.trim_start().starts_with('#'))
        }
    }
}
