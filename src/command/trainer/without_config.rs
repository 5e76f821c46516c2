//! Front ends that take no DeepSpeed config. `tables/without_config.rs` has them, how they are recognised, and what to do.

use crate::command::front_end::NoConfig;
use crate::command::job::{Job, Trainer};
use crate::command::tables::recognition::{Sign, Subject};
use crate::command::target::ParsedCommand;
use crate::host::Host;

pub(super) fn recognise(
    trainer: &'static Trainer,
    command: &ParsedCommand,
    host: &Host,
) -> Option<Job> {
    let script = command.source(host);
    let has = |sign: &Sign| match sign {
        Sign::Console(first) => {
            trainer.is_console(&command.target)
                && first.is_none_or(|first| command.args.first().is_some_and(|word| word == first))
        }
        Sign::Modules(modules) => modules.iter().any(|name| command.target.is_module(name)),
        Sign::Imports(modules) => script.is_some_and(|script| script.imports(modules)),
        Sign::Text { has, unless } => {
            script.is_some_and(|script| script.text.contains(has) && !script.text.contains(unless))
        }
    };
    let mut refusals = trainer.config.refusals.iter();
    let refusal = refusals.find(|refusal| refusal.signs.iter().any(has))?;
    let program = command.target.name();
    let subject = match (&refusal.subject, command.args.first()) {
        (Subject::Name(name), _) => (*name).to_string(),
        (Subject::Command, Some(first)) => format!("`{program} {}`", first.to_string_lossy()),
        _ => format!("`{program}`"),
    };
    let why = format!("{subject} {}", refusal.why);
    Some(Job {
        no_config: Some(NoConfig::new(why, refusal.help)),
        ..Job::of(trainer, command, host)
    })
}
