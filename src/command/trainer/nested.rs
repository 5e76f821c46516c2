//! Scripts whose options have sections. The config replaces a value such as that of `training.deepspeed=zero3`. The other
//! options are not read: only the script knows what they mean.

use crate::command::job::{Job, Trainer};
use crate::command::section_option;
use crate::command::target::{ParsedCommand, Target};
use crate::host::Host;

pub(super) fn recognise(
    trainer: &'static Trainer,
    command: &ParsedCommand,
    host: &Host,
) -> Option<Job> {
    let option = section_option::find(&command.args, "deepspeed")?;
    if ["null", "None", ""].contains(&option.value) || matches!(command.target, Target::Program(_))
    {
        return None;
    }
    Some(Job {
        effective_words: Some(Vec::new()),
        ..Job::of(trainer, command, host)
    })
}
