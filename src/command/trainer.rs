//! The list of front ends, and which of them a command is. What is special about each is in `trainer/`.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use crate::{
    base::{source::Sourced, vars},
    command::{
        argv::Args,
        job::{Job, Trainer},
        python::Python,
        run_file,
        tables::{FIRST_PACKAGES, OTHER_PROGRAMS, front_end::RunFilePlace},
        target::{ParsedCommand, Target, base_name, is_script},
    },
    host::{Host, is_shim},
    report::{NOT_EXECUTABLE, NOT_FOUND, prelude::*},
};
pub use tables::ALL;

mod axolotl;
mod hf;
mod llamafactory;
mod scripts;
mod swift;
pub mod tables;
mod trl;

pub const PASSTHROUGH: &str = tables::PASSTHROUGH.name;

/// Asks the front ends, or only the one that the user named, what the command is.
pub fn recognise(
    command: &ParsedCommand,
    named: Option<&Sourced<&'static Trainer>>,
    host: &Host,
) -> Job {
    // A console script starts ranks itself: where its own front end refuses the command, it runs as it stands.
    let console = ALL
        .iter()
        .copied()
        .find(|trainer| trainer.is_console(&command.target));
    let only = named.map(|named| named.value).or(console);
    let asked = only.as_ref().map_or(ALL, std::slice::from_ref);
    let recognise = |trainer: &&'static Trainer| (trainer.recognise)(trainer, command, host);
    let recognised = asked.iter().find_map(recognise);
    let is_recognised = recognised.is_some();
    let mut job = recognised.unwrap_or_else(|| {
        Job::of(
            named.map_or(passthrough(), |named| named.value),
            command,
            host,
        )
    });
    if job.python.is_none()
        && let Some(word) = &command.owner
    {
        // A script that names no interpreter, such as a shell wrapper, runs the active one.
        if is_script(word) || host.find_program(word).is_some() {
            job.python = Python::on_path(host);
        } else {
            job.blocker = Some(not_found(word, host));
        }
    }
    let options = job.options();
    let read = |words: &[OsString]| Args::read(words.to_vec(), options);
    let given = read(&job.words);
    let effective = job.effective_words.as_deref().map(read);
    job.args = effective.unwrap_or_else(|| given.clone());
    job.given = given;
    job.rewritten = job.target != command.target;
    job.is_named = named.is_some();
    if !job.rewritten {
        job.source = command.source.get().cloned().flatten();
        // `--trainer` names it, so an unknown program probably runs that trainer's console script.
        let is_program = matches!(job.target, Target::Program(_)) && !is_recognised;
        let has_console = !job.trainer.launch.consoles.is_empty();
        job.starts_ranks = console.is_some() || is_program && has_console;
    }
    job
}

pub const fn passthrough() -> &'static Trainer {
    &tables::PASSTHROUGH
}

pub fn is_console(word: &OsStr) -> bool {
    of_console(base_name(word)).is_some()
}

/// The command that was probably meant by a sub-command that does not train: `swift rlhf --rlhf_type dpo` by `swift dpo`.
pub fn meant_command(console: &str, word: &str) -> Option<String> {
    let launch = &of_console(console)?.launch;
    if let Some(argument) = launch.kinds.iter().find(|kind| kind.values.contains(&word)) {
        return Some(format!("{console} {} {word}", argument.before));
    }
    // `ppo` is no slip of `dpo`.
    let mut kinds = ALL.iter().flat_map(|trainer| trainer.launch.kinds);
    let is_slip = !kinds.any(|kind| kind.values.contains(&word));
    let near = nearest(word, launch.commands.iter().map(|it| it.name))?;
    is_slip.then(|| format!("{console} {near}"))
}

/// The command with its run file where the trainer takes one: `axolotl train ax.yaml` for `axolotl ax.yaml`.
pub fn with_run_file(console: &str, command: &[OsString]) -> Option<String> {
    let Trainer {
        launch, arguments, ..
    } = of_console(console)?;
    let usual = launch.commands.first()?.name;
    let words: Vec<&str> = command.iter().filter_map(|word| word.to_str()).collect();
    let is_file = |word: &str| run_file::is_one(Path::new(word));
    let right = match (arguments.run_file, &words[1..]) {
        (RunFilePlace::First { .. }, [file, ..]) if is_file(file) => format!("{usual} {file}"),
        (RunFilePlace::Option(option), [file, ..]) if is_file(file) => {
            format!("{usual} {option} {file}")
        }
        (RunFilePlace::First { .. }, [name, "--config", file, ..]) => format!("{name} {file}"),
        _ => return None,
    };
    Some(format!("{console} {right}"))
}

/// The packages whose parsers were recorded.
pub fn distributions() -> impl Iterator<Item = &'static str> {
    ALL.iter().filter_map(|trainer| trainer.distribution)
}

pub fn of_console(name: &str) -> Option<&'static Trainer> {
    ALL.iter()
        .copied()
        .find(|trainer| trainer.launch.consoles.contains(&name))
}

/// By the names pip knows.
pub fn packages() -> Vec<&'static str> {
    let mut packages = FIRST_PACKAGES.to_vec();
    for package in distributions() {
        if !packages.contains(&package) {
            packages.push(package);
        }
    }
    packages.push("peft");
    packages
}

pub fn not_found(word: &OsStr, host: &Host) -> Problem {
    let name = word.to_string_lossy();
    if name.contains('/') {
        return no_such_program(&name, host.absolute(Path::new(word)).exists());
    }
    let path = host.var_os(vars::PATH).unwrap_or_default();
    if let Some(file) = std::env::split_paths(path)
        .map(|folder| folder.join(word))
        .find(|file| file.is_file() && !is_shim(file))
    {
        return no_such_program(&file.to_string_lossy(), true);
    }
    let activate = format!("activate the environment that has `{name}`");
    // The program of a trainer or a launcher that a misspelt name is close to.
    let known = ALL
        .iter()
        .flat_map(|trainer| trainer.launch.consoles)
        .copied()
        .chain(OTHER_PROGRAMS)
        .filter(|known| *known != name);
    let help = if name.parse::<f64>().is_ok() {
        say("the option before it takes no further value")
    } else {
        nearest(&name, known).map_or_else(|| say(activate), meant)
    };
    Rule::NotFound
        .error(format!("`{name}` is not on PATH"))
        .at(&*name)
        .fix(help)
        .status(NOT_FOUND)
}

fn no_such_program(path: &str, exists: bool) -> Problem {
    if exists {
        let fix = run(format!("chmod +x {path}"));
        return Rule::NotFound
            .error(format!("`{path}` is not a file that can be executed"))
            .at(path)
            .fix(fix.remark("check the path; a script must be executable"))
            .status(NOT_EXECUTABLE);
    }
    Rule::NotFound
        .error(format!("`{path}` does not exist"))
        .at(path)
        .fix("check the path")
        .status(NOT_FOUND)
}
