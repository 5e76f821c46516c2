//! Scripts built on transformers' `Trainer`: `python train.py --deepspeed …`, any module, and whatever else
//! `HfArgumentParser` reads. The other front ends of the family start from this one.

use std::ffi::OsStr;

use crate::{
    base::{
        source::{Source, Sourced},
        yaml::Dialect,
    },
    command::{
        argv::Args,
        front_end::{NoConfig, Precision},
        job::{Job, Trainer},
        run_file::{self, RunFile},
        script::{ScriptSource, keyword, made_arguments, reads_own_file},
        tables::{
            HANDBOOK,
            front_end::{HalfPrecision, HandOver},
            training::Reference,
        },
        target::{ParsedCommand, Target},
    },
    host::Host,
};

/// Any Python program that no other front end has recognised.
pub fn recognise(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    if matches!(command.target, Target::Program(_)) {
        return None;
    }
    let mut job = Job::of(trainer, command, host);
    let source = command.source(host).map(|source| &**source);
    if let Some(source) = source {
        if source.mentions(HANDBOOK) && run_file::first(&command.args).is_some() {
            job.hand_over = HandOver::Joined;
        } else {
            job.config_option = config_option(source);
        }
        if source.text.contains("hydra.main") && job.config_option.is_none() {
            job.no_config = Some(NoConfig::new(
                "the script uses hydra, and zlaunch cannot see which key names the config",
                "set it in the command, in hydra's syntax: KEY.deepspeed=zero3",
            ));
        }
    }
    if let Some(file) = run_file::first(&command.args) {
        take_run_file(&mut job, file, source, host);
    }
    Some(job)
}

/// A JSON or YAML file that is the only argument holds all the others (`parse_json_file`), unless the script reads it
/// itself. If it cannot be read, it may be data of a script that is not transformers'.
fn take_run_file(job: &mut Job, file: &OsStr, source: Option<&ScriptSource>, host: &Host) {
    // The alignment handbook's parser takes `--name=value` behind it.
    let of_handbook = job.hand_over == HandOver::Joined;
    if !of_handbook && (job.words.len() > 1 || source.is_some_and(reads_own_file)) {
        return;
    }
    match RunFile::read(file, Dialect::PyYaml, host) {
        Ok(Some(run_file)) => {
            job.read_arguments(&run_file);
            job.run_file = Some(run_file).filter(|_| !of_handbook);
        }
        Err(problem) if source.is_some_and(|it| it.mentions("parse_json_file")) => {
            job.problems.push(problem);
        }
        _ => {}
    }
}

/// The option of `TrainingArguments(deepspeed=args.OPTION)`, if that has another name than usual.
fn config_option(source: &ScriptSource) -> Option<String> {
    let (_, name) = made_arguments(&source.text)
        .into_iter()
        .find_map(|call| keyword(call, "deepspeed"))?
        .split_once('.')?;
    let is_option = name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && source.mentions("ArgumentParser")
        && name != "deepspeed";
    is_option.then(|| name.to_string())
}

impl Reference {
    pub fn is_made(self, job: &Job) -> bool {
        match self {
            Reference::Always => true,
            Reference::BeforeTrl(version) => job.has_older("trl", version),
        }
    }
}

/// The flag or its `_full_eval`. Where the *other* precision is on, this one is off: transformers refuses both.
pub fn precision(args: &Args, half: HalfPrecision) -> Precision {
    let own = args.bool(half.name)?;
    let eval = args.bool(half.full_eval)?;
    let other = args.bool(half.other)?;
    for given in [&own, &eval].into_iter().flatten() {
        if given.value {
            return Ok(Some(given.clone()));
        }
    }
    Ok(own.or_else(|| {
        let other = other.filter(|other| other.value)?;
        let excluded = Source::Implied(Box::new([other.from.to_string(), "true".to_string()]));
        Some(Sourced::new(false, excluded))
    }))
}
