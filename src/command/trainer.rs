//! The list of front ends, and which of them a command is. Each front end is one file in `trainer/`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::base::source::Sourced;
use crate::base::vars;
use crate::command::argv::Args;
use crate::command::job::{Job, Trainer};
use crate::command::parser::DASHES_SINCE;
use crate::command::python::Python;
use crate::command::target::{ParsedCommand, Target, base_name};
use crate::host::{Host, is_shim};
use crate::report::fix::{Fixes, meant, run};
use crate::report::{self, NOT_EXECUTABLE, NOT_FOUND, Place, Problem, Rule};
pub use tables::ALL;
use tables::SWIFT;

mod accelerate;
mod axolotl;
mod deepspeed;
mod hf;
mod in_code;
mod lightning;
mod llamafactory;
mod nested;
mod swift;
pub(crate) mod tables;
mod trl;
mod without_config;
mod xtuner;

pub(crate) const EXAMPLE: [&str; 2] = [SWIFT.launch.consoles[0], SWIFT.launch.commands[0]];

pub(crate) const PASSTHROUGH: &str = tables::PASSTHROUGH.name;

/// Asks the front ends, or only the one that the user named, what the command is.
pub fn recognise(
    command: &ParsedCommand,
    named: Option<&Sourced<&'static Trainer>>,
    host: &Host,
) -> Job {
    // A console script starts ranks itself: where its own front end refuses the command, it runs as it stands.
    let console = ALL
        .iter()
        .find(|trainer| trainer.is_console(&command.target));
    let mut asked = ALL.iter().filter(|trainer| match (named, console) {
        (Some(named), _) => named.value.name == trainer.name,
        (None, Some(own)) => [own.name, PASSTHROUGH].contains(&trainer.name),
        (None, None) => true,
    });
    let recognised = asked.find_map(|trainer| (trainer.recognise)(trainer, command, host));
    let is_recognised = recognised.is_some();
    let mut job = recognised.unwrap_or_else(|| {
        Job::of(
            named.map_or(passthrough(), |named| named.value),
            command,
            host,
        )
    });
    let trainer = job.trainer;
    if job.python.is_none() {
        (job.python, job.blocker) = interpreter(command, host);
    }
    let options = trainer.options(&job.target);
    let read = |words: &[OsString]| {
        let args = Args::read(words.to_vec(), options);
        let python = if trainer.is_hf() && args.has_dashes() {
            job.python.as_ref()
        } else {
            None
        };
        let transformers = python.and_then(|python| python.version("transformers"));
        // Before 4.46, transformers' own parser has no names with dashes.
        if transformers.is_some_and(|found| found.is_before(DASHES_SINCE)) {
            args.without_dashes()
        } else {
            args
        }
    };
    let given = read(&job.words);
    job.args = match &job.effective_words {
        Some(words) => read(words),
        None => given.clone(),
    };
    job.given = given;
    job.rewritten = job.target != command.target;
    job.is_named = named.is_some();
    if !job.rewritten {
        job.source = command.source.get().cloned().flatten();
        // `--trainer` names it, so an unknown program probably runs that trainer's console script.
        let is_program = matches!(job.target, Target::Program(_)) && !is_recognised;
        job.starts_ranks = console.is_some() || is_program && !trainer.launch.consoles.is_empty();
    }
    job
}

pub(crate) const fn passthrough() -> &'static Trainer {
    &tables::PASSTHROUGH
}

pub(crate) fn is_console(word: &OsStr) -> bool {
    of_console(base_name(word)).is_some()
}

pub(crate) fn commands_of(console: &str) -> &'static [&'static str] {
    of_console(console).map_or(&[], |trainer| trainer.launch.commands)
}

/// The console scripts that train by a sub-command, each with those sub-commands.
pub(crate) fn training_commands() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let rows = ALL
        .iter()
        .map(|trainer| &trainer.launch)
        .filter(|launch| !launch.commands.is_empty());
    rows.flat_map(|launch| {
        launch
            .consoles
            .iter()
            .map(|console| (*console, launch.commands))
    })
}

pub(crate) fn is_console_module(word: &OsStr) -> bool {
    ALL.iter().any(|trainer| {
        trainer
            .launch
            .console_modules
            .iter()
            .any(|module| word == *module)
    })
}

fn of_console(name: &str) -> Option<&'static Trainer> {
    ALL.iter()
        .copied()
        .find(|trainer| trainer.launch.consoles.contains(&name))
}

/// By the names pip knows.
pub(crate) fn packages() -> Vec<&'static str> {
    let mut packages = vec!["torch", "transformers", "accelerate", "deepspeed"];
    for package in ALL.iter().filter_map(|trainer| trainer.distribution) {
        if !packages.contains(&package) {
            packages.push(package);
        }
    }
    packages.push("peft");
    packages
}

/// The interpreter that the command names, or that of the program it starts with; or the problem that it is missing.
fn interpreter(command: &ParsedCommand, host: &Host) -> (Option<Python>, Option<Problem>) {
    let Some(word) = command.python.as_ref().or(command.owner.as_ref()) else {
        return (None, None);
    };
    let bare_script = matches!(&command.target, Target::Script { path, .. } if path == word);
    let path = if bare_script {
        Some(host.absolute(Path::new(word)))
    } else {
        host.find_program(word)
    };
    match path {
        Some(program) if command.python.is_some() => (Some(Python::at(program, host)), None),
        // Any other script (a pyenv shim, a shell wrapper) runs the active interpreter.
        Some(path) => (
            Python::of_script(&path, host).or_else(|| Python::on_path(host)),
            None,
        ),
        None => (None, Some(not_found(word, host))),
    }
}

pub(crate) fn not_found(word: &OsStr, host: &Host) -> Problem {
    let name = word.to_string_lossy();
    if name.contains('/') {
        return no_such_program(&name, host.absolute(Path::new(word)).exists());
    }
    let folders = host
        .var_os(vars::PATH)
        .map(std::env::split_paths)
        .into_iter()
        .flatten();
    if let Some(file) = folders
        .map(|folder| folder.join(word))
        .find(|file| file.is_file() && !is_shim(file))
    {
        return no_such_program(&file.to_string_lossy(), true);
    }
    let package = match &*name {
        "torchrun" => Some("torch"),
        "deepspeed" => Some("deepspeed"),
        _ => of_console(&name).and_then(|trainer| trainer.distribution),
    };
    let activate = format!("activate the environment that has `{name}`");
    // The program of a trainer or a launcher that a misspelt name is close to.
    let consoles = ALL
        .iter()
        .flat_map(|trainer| trainer.launch.consoles)
        .copied();
    let python3 = host.find_program("python3".as_ref()).map(|_| "python3");
    let known = consoles
        .chain(["torchrun", "deepspeed", "accelerate", "python"])
        .chain(python3);
    let help = match (
        report::nearest(&name, known.filter(|known| *known != name)),
        package,
    ) {
        (Some(near), _) => meant(near).into(),
        (None, Some(package)) => Fixes::from(activate).or(run(format!("pip install {package}"))),
        (None, None) => Fixes::from(activate),
    };
    // The first folders tell which environment is active; modules add dozens.
    let path = host
        .var_os(vars::PATH)
        .unwrap_or_default()
        .to_string_lossy();
    let first = path
        .match_indices(':')
        .nth(3)
        .map_or(path.to_string(), |(at, _)| format!("{}:…", &path[..at]));
    let place = Place::variable(vars::PATH, first);
    Problem::error(Rule::NotFound, format!("`{name}` is not on PATH"))
        .at(place)
        .fix(help)
        .status(NOT_FOUND)
}

fn no_such_program(path: &str, exists: bool) -> Problem {
    if exists {
        return Problem::error(
            Rule::NotFound,
            format!("`{path}` is not a file that can be executed"),
        )
        .at(path)
        .fix(run(format!("chmod +x {path}")).remark("check the path; a script must be executable"))
        .status(NOT_EXECUTABLE);
    }
    Problem::error(Rule::NotFound, format!("`{path}` does not exist"))
        .at(path)
        .fix("check the path")
        .status(NOT_FOUND)
}
