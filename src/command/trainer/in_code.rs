//! Scripts that make their `TrainingArguments` (or TRL's `SFTConfig`, …) in code, as Unsloth's do, and name no config there.
//! An argument would reach nothing: transformers finds the config in the variables that `accelerate launch` sets.

use std::path::Path;

use crate::command::front_end::NoConfig;
use crate::command::job::{Job, Trainer};
use crate::command::run_file;
use crate::command::script::{ArgumentFlow, ScriptSource, is_text, keyword, made_arguments, shown};
use crate::command::tables::{CONFIG_OPTIONS, HF_PACKAGES};
use crate::command::target::ParsedCommand;
use crate::host::Host;
use crate::report::reading;

pub(super) fn recognise(
    trainer: &'static Trainer,
    command: &ParsedCommand,
    host: &Host,
) -> Option<Job> {
    let source = command
        .source(host)
        .filter(|source| source.imports(HF_PACKAGES))?;
    let text = source.text.as_str();
    let made = made_arguments(text);
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
        ..Job::of(trainer, command, host)
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
    let options: Option<Vec<bool>> = CONFIG_OPTIONS
        .iter()
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
