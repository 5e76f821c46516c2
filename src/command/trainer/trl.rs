//! TRL. `trl sft …` runs accelerate in-process on a script of its own; zlaunch runs that script under torchrun.
//! A command with `--accelerate_config` or options of accelerate is left alone.

use crate::{
    base::yaml::Dialect,
    command::{
        job::{Job, Trainer},
        run_file::{self, RunFile},
        tables::{ACCELERATE_OPTIONS, ALL_REFUSE_SINCE},
        target::ParsedCommand,
    },
    host::Host,
};

/// The scripts themselves ignore them.
pub fn ignores_unknown(job: &Job, _: &Host) -> bool {
    let is_sft = job
        .sub_command()
        .is_some_and(|command| command.name == "sft");
    let is_new = job
        .version()
        .is_some_and(|version| version.0 >= ALL_REFUSE_SINCE);
    !job.rewritten || !(is_sft || is_new)
}

pub fn recognise(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    let is_for_accelerate =
        |name: &str| ACCELERATE_OPTIONS.contains(&name.replace('-', "_").as_str());
    let mut job = Job::of_command(trainer, command, host)?;
    let words = job.words.iter().filter_map(|word| word.to_str());
    let mut names = words.filter_map(|word| word.strip_prefix("--")?.split('=').next());
    if trainer.is_console(&command.target) && names.any(is_for_accelerate) {
        return None;
    }
    // TRL takes these two words away, and leaves any other spelling to its parser.
    let mut words = job.words.clone();
    let at = words.iter().position(|word| word == "--config");
    if let Some(at) = at.filter(|at| at + 1 < words.len()) {
        let file = words.remove(at + 1);
        words.remove(at);
        if let Some(RunFile { mut entries, .. }) = job.read_run_file(&file, Dialect::PyYaml, host) {
            if entries.keys().any(|key| is_for_accelerate(key)) {
                return None;
            }
            // They win over the environment.
            let env = entries.shift_remove("env");
            job.variables = run_file::variables(env.as_ref(), "env in the run file");
            let mut stated = job.words_of(&entries, true);
            stated.extend(run_file::paths_of(&entries, "datasets"));
            words.splice(0..0, stated);
        }
        job.effective_words = Some(words);
    }
    Some(job)
}
