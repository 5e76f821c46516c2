//! Scripts with a loop of their own and accelerate's `Accelerator`, which finds the config in the variables that
//! `accelerate launch` sets, and fills "auto" when the script calls `prepare`.

use super::hf;
use crate::command::front_end::{
    ArgumentTraits, AutoFiller, ConfigTraits, HandOver, NoConfig, text_of,
};
use crate::command::job::{Job, Trainer};
use crate::command::script::{calls, imports, keyword, shown};
use crate::command::target::ParsedCommand;
use crate::host::Host;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "accelerate",
    distribution: Some("accelerate"),
    recognise,
    config: ConfigTraits {
        filler: Some(AutoFiller::Accelerate),
        hand_over: VARIABLES,
        ..hf::TRAINER.config
    },
    arguments: ArgumentTraits {
        fields: "",
        ..hf::UNRECORDED
    },
    ..hf::TRAINER
};

/// As `accelerate launch --use_deepspeed --deepspeed_config_file` sets them.
pub(super) const VARIABLES: HandOver = HandOver::Environment {
    config: "ACCELERATE_DEEPSPEED_CONFIG_FILE",
    switch: Some("ACCELERATE_USE_DEEPSPEED"),
};

fn recognise(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    let text = text_of(command, host).filter(|text| imports(text, &["accelerate"]))?;
    let has_trainer = text.contains("TrainingArguments") || trains_with_hf(text);
    let by_argument = text.contains("\"--deepspeed") || text.contains("'--deepspeed");
    if calls(text, "Accelerator").is_empty() || has_trainer || by_argument {
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
        ..Job::of(trainer, command)
    })
}

fn trains_with_hf(text: &str) -> bool {
    imports(text, &["transformers", "trl"])
        && text.match_indices("Trainer(").any(|(end, _)| {
            let start = text[..end]
                .rfind(|c: char| !c.is_alphanumeric() && c != '_')
                .map_or(0, |at| at + 1);
            let name = &text[start..end];
            !text[..start].ends_with("class ") && !text.contains(&format!("class {name}Trainer"))
        })
}
