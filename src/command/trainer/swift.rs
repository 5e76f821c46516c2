//! ms-swift. `swift sft …` starts torchrun on a file of its own; zlaunch runs that file directly, so that nothing is
//! launched twice. Sub-commands that swift itself runs as one process are passed through.

use std::{ffi::OsStr, ops::Range, path::Path};

use serde_json::Value;

use crate::{
    base::{
        recorded::Version,
        source::{Source, Sourced},
        yaml::Dialect,
    },
    command::{
        argv::Args,
        front_end::{Precision, Variable},
        job::{Job, Trainer},
        run_file::{self, RunFile},
        tables::front_end::HalfPrecision,
        target::ParsedCommand,
    },
    host::Host,
};

pub fn recognise(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    let mut job = Job::of_command(trainer, command, host)?;
    // Before 4.1 a JSON file may hold all arguments, and no other file any.
    if let [file] = &job.words[..]
        && job.is_before([4, 1, 0])
        && Path::new(file)
            .extension()
            .is_some_and(|ending| ending == "json")
        && let Ok(Some(run_file)) = RunFile::read(file, Dialect::PyYaml, host)
    {
        job.read_arguments(&run_file);
        job.run_file = Some(run_file);
    }
    if !trainer.is_console(&command.target) {
        return Some(job);
    }
    // swift's own launcher reads a run file, and the file behind it does not: the words in it take its place.
    if let Some(file) = run_file::first(&job.words).cloned()
        && !job.is_before([4, 1, 0])
    {
        insert_run_file(&mut job, 0..1, &file, false, host);
    }
    // `--config x.yaml` of ms-swift 3.10 to 4.0 put the words of the file last, so they win over the command line.
    if let Some((at, file)) = job
        .words
        .iter()
        .position(|word| word == "--config")
        .and_then(|at| Some((at, job.words.get(at + 1)?.clone())))
        && job.is_before([4, 1, 0])
        && !job.is_before([3, 10, 0])
    {
        insert_run_file(&mut job, at..at + 2, &file, true, host);
    }
    // With `--use_ray`, Ray starts the ranks.
    let args = Args::read(job.words.clone(), &[]);
    (!is_on(&args, "use_ray")).then_some(job)
}

fn is_on(args: &Args, name: &str) -> bool {
    args.bool(name)
        .ok()
        .flatten()
        .is_some_and(|sourced| sourced.value)
}

/// Replaces the words at `place`, which name a run file, by the words in it, there or at the end.
fn insert_run_file(job: &mut Job, place: Range<usize>, file: &OsStr, at_end: bool, host: &Host) {
    match RunFile::read(file, Dialect::PyYaml, host) {
        // swift passes the word on, and its parser refuses it.
        Ok(None) => {}
        Ok(Some(RunFile { mut entries, .. })) => {
            job.variables
                .extend(variables(entries.shift_remove("ENV").as_ref(), file, host));
            job.words.drain(place.clone());
            let at = if at_end { job.words.len() } else { place.start };
            job.words.splice(at..at, run_file::words(&entries));
        }
        Err(problem) => job.problems.push(problem),
    }
}

/// The variables of the `ENV` block, and the one that tells the trainer which file it is.
fn variables(block: Option<&Value>, file: &OsStr, host: &Host) -> Vec<Variable> {
    let why = format!("ENV in {}", file.to_string_lossy());
    let mut variables = run_file::variables(block, &why);
    variables.retain(|variable| host.var_os(&variable.name).is_none());
    let name = file.to_string_lossy();
    variables.push(Variable::new("SWIFT_CONFIG_FILE", name, "as swift sets it"));
    variables
}

pub fn ignores_unknown(job: &Job, _: &Host) -> bool {
    is_on(&job.args, "ignore_args_error")
}

/// With `--load_args`, a file beside a checkpoint has defaults too.
pub fn has_recorded_defaults(args: &Args) -> bool {
    !args.is_given("load_args") || matches!(args.bool("load_args"), Ok(Some(loads)) if !loads.value)
}

/// The tuner decides `learning_rate`, and there are as many accumulation steps as make 16 samples.
pub fn computed(
    argument: &str,
    args: &Args,
    version: Version,
    world_size: Option<u64>,
) -> Option<String> {
    match argument {
        "learning_rate" => {
            // The names of the option in 4 and 3.
            let tuner = args.text("tuner_type").or_else(|| args.text("train_type"));
            let trains_all = tuner.is_some_and(|tuner| tuner.value == "full");
            Some(if trains_all { "1e-5" } else { "1e-4" }.to_string())
        }
        "gradient_accumulation_steps" => {
            if args
                .text("rlhf_type")
                .is_some_and(|rlhf| rlhf.value == "grpo")
            {
                return (!version.is_before([3, 7, 0])).then(|| "1".to_string());
            }
            let micro = args
                .int("per_device_train_batch_size")
                .ok()?
                .map_or(1, |micro| micro.value);
            let samples = u64::try_from(micro)
                .ok()?
                .checked_mul(world_size?)
                .filter(|samples| *samples > 0)?;
            Some(16_u64.div_ceil(samples).to_string())
        }
        _ => None,
    }
}

/// `--fp16`/`--bf16` if given, else the dtype decides; float32 trains in fp16 (`_init_mixed_precision`). Without
/// either, swift looks at its model registry and at the GPU.
pub fn precision(args: &Args, half: HalfPrecision) -> Precision {
    if let Some(eval) = args.bool(half.full_eval)?
        && eval.value
    {
        return Ok(Some(eval));
    }
    Ok(args.bool(half.name)?.or_else(|| {
        let dtype = args
            .text("torch_dtype")
            .filter(|dtype| dtype.value != "None")?;
        let on = half.swift_dtypes.contains(&&*dtype.value);
        Some(Sourced::new(
            on,
            Source::Implied(Box::new([dtype.from.to_string(), dtype.value])),
        ))
    }))
}
