//! Scripts whose options have sections: hydra's `training.deepspeed=zero3`, tyro's `--training.deepspeed zero3`. The config
//! takes the place of that value. What the script makes of its other options is not known, so they are not read.

use super::hf;
use crate::command::front_end::{ConfigTraits, HandOver};
use crate::command::job::{Job, Trainer};
use crate::command::nested;
use crate::command::target::{ParsedCommand, Target};

pub(crate) const TRAINER: Trainer = Trainer {
    name: "nested",
    recognise: |command, _| recognise(command),
    config: ConfigTraits { hand_over: HandOver::Nested, ..hf::TRAINER.config },
    arguments: hf::UNRECORDED,
    ..hf::TRAINER
};

fn recognise(command: &ParsedCommand) -> Option<Job> {
    let option =
        nested::find(&command.args, "deepspeed").filter(|option| !["null", "None", ""].contains(&option.value));
    option.filter(|_| !matches!(command.target, Target::Program(_)))?;
    Some(Job { effective_words: Some(Vec::new()), ..Job::of(&TRAINER, command) })
}
