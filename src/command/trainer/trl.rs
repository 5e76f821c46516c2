//! TRL. `trl sft …` runs accelerate in-process on a script of its own; zlaunch runs that script under torchrun.
//! A command with `--accelerate_config` or options of accelerate is left alone.

use crate::base::yaml::Dialect;
use crate::command::argument_class::ArgumentClass;
use crate::command::argv::{Args, OptionList};
use crate::command::job::{Job, Trainer};
use crate::command::run_file::{self, RunFile};
use crate::command::tables::{ACCELERATE_OPTIONS, TRL_COMMANDS, TrlCommand};
use crate::command::target::{ParsedCommand, Target};
use crate::host::Host;

pub(super) fn config_argument(_: &Args) -> &'static str {
    "deepspeed"
}

pub(super) fn parsed_class(target: &Target, _: &Host) -> Option<ArgumentClass> {
    Some(ArgumentClass {
        distribution: "trl",
        name: command_of(target)?.name,
    })
}

pub(super) fn class_of_defaults(_: &Args, target: &Target) -> Option<ArgumentClass> {
    ArgumentClass::find("trl", command_of(target)?.class)
}

pub(super) fn has_reference(_: &Args, target: &Target) -> bool {
    command_of(target).is_some_and(|command| matches!(command.name, "dpo" | "kto"))
}

/// The packages of the scripts of its commands: since 0.13, and before.
const FOLDERS: [&str; 2] = ["trl.scripts", "trl.commands.scripts"];

pub(super) fn recognise(
    trainer: &'static Trainer,
    command: &ParsedCommand,
    host: &Host,
) -> Option<Job> {
    let is_for_accelerate =
        |name: &str| ACCELERATE_OPTIONS.contains(&name.replace('-', "_").as_str());
    let mut job = TRL_COMMANDS.iter().find_map(|TrlCommand { name, .. }| {
        let [module, older] = FOLDERS.map(|folder| format!("{folder}.{name}"));
        Job::of_command(trainer, command, name, &[&module, &older], host)
    })?;
    let words = job.words.iter().filter_map(|word| word.to_str());
    let mut names = words.filter_map(|word| word.strip_prefix("--")?.split('=').next());
    if trainer.is_console(&command.target) && names.any(is_for_accelerate) {
        return None;
    }
    if let Some(file) = Args::read(job.words.clone(), OptionList::Open).raw("config")
        && let Some(RunFile { mut entries, .. }) =
            job.read_run_file(file.value, Dialect::PyYaml, host)
    {
        if entries.keys().any(|key| is_for_accelerate(key)) {
            return None;
        }
        // They win over the environment.
        let env = entries.shift_remove("env");
        job.variables = run_file::variables(env.as_ref(), "env in the run file");
        let mut words = job.words_of(&entries, true);
        words.extend(run_file::paths_of(&entries, "datasets"));
        words.extend_from_slice(&job.words);
        job.effective_words = Some(words);
    }
    Some(job)
}

fn command_of(target: &Target) -> Option<&'static TrlCommand> {
    let is = |name: &str, folder: &str| target.is_module(&format!("{folder}.{name}"));
    let mut commands = TRL_COMMANDS.iter();
    commands.find(|command| FOLDERS.iter().any(|folder| is(command.name, folder)))
}
