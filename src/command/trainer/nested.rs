//! Scripts whose options have sections: hydra's `training.deepspeed=zero3`, tyro's `--training.deepspeed zero3`. The config
//! replaces that value. The other options are not read: only the script knows what they mean.

use super::hf;
use crate::command::front_end::{ConfigTraits, HandOver};
use crate::command::job::{Job, Trainer};
use crate::command::section_option;
use crate::command::target::Target;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "nested",
    recognise: |trainer, command, _| {
        let option = section_option::find(&command.args, "deepspeed")?;
        if ["null", "None", ""].contains(&option.value)
            || matches!(command.target, Target::Program(_))
        {
            return None;
        }
        Some(Job {
            effective_words: Some(Vec::new()),
            ..Job::of(trainer, command)
        })
    },
    config: ConfigTraits {
        hand_over: HandOver::Nested,
        ..hf::TRAINER.config
    },
    ..hf::TRAINER
};
