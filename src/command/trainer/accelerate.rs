//! Scripts with a loop of their own and accelerate's `Accelerator`, which finds the config in the variables that
//! `accelerate launch` sets, and fills "auto" when the script calls `prepare`.

use crate::command::front_end::NoConfig;
use crate::command::job::{Job, Trainer};
use crate::command::script::{ScriptSource, calls, keyword, shown};
use crate::command::target::ParsedCommand;
use crate::host::Host;

pub(super) fn recognise(
    trainer: &'static Trainer,
    command: &ParsedCommand,
    host: &Host,
) -> Option<Job> {
    let source = command.source(host)?;
    let text = source.text.as_str();
    let has_trainer = text.contains("TrainingArguments") || trains_with_hf(source);
    let by_argument = text.contains("\"--deepspeed") || text.contains("'--deepspeed");
    if !source.imports(&["accelerate"])
        || calls(text, "Accelerator").is_empty()
        || has_trainer
        || by_argument
    {
        return None;
    }
    let own = calls(text, "DeepSpeedPlugin")
        .into_iter()
        .find_map(|call| keyword(call, "hf_ds_config"));
    let no_config = own.map(|config| {
        NoConfig::new(
            format!("the script passes its own config to accelerate: DeepSpeedPlugin(hf_ds_config={})", shown(config)),
            "remove hf_ds_config from the script: zlaunch passes the config in ACCELERATE_DEEPSPEED_CONFIG_FILE",
        )
    });
    Some(Job {
        no_config,
        ..Job::of(trainer, command, host)
    })
}

fn trains_with_hf(source: &ScriptSource) -> bool {
    let text = source.text.as_str();
    source.imports(&["transformers", "trl"])
        && text.match_indices("Trainer(").any(|(end, _)| {
            let start = text[..end]
                .rfind(|c: char| !c.is_alphanumeric() && c != '_')
                .map_or(0, |at| at + 1);
            let name = &text[start..end];
            !text[..start].ends_with("class ") && !text.contains(&format!("class {name}Trainer"))
        })
}
