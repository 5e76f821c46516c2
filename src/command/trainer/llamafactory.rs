//! LLaMA-Factory. `llamafactory-cli train x.yaml k=v` starts torchrun on its own launcher module (and splits arguments
//! with spaces on the way); zlaunch runs that module directly, without the word `train`.

use serde_json::{Value, json};

use crate::{
    base::{
        vars,
        yaml::{Dialect, scalar},
    },
    command::{
        allocator::EXPANDABLE,
        argv::{Args, hf_bool},
        front_end::Variable,
        job::{Job, Trainer},
        run_file,
        target::ParsedCommand,
    },
    host::Host,
    report::prelude::*,
};

pub fn ignores_unknown(_: &Job, host: &Host) -> bool {
    is_switched_on(vars::ALLOW_EXTRA_ARGS, host)
}

/// The trainer of its PPO does not compare the config with the arguments.
pub fn has_recorded_defaults(args: &Args) -> bool {
    args.text("stage").is_none_or(|stage| stage.value != "ppo")
}

pub fn recognise(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    let is_console = trainer.is_console(&command.target);
    // Ray starts the ranks then.
    if is_console && is_switched_on(vars::USE_RAY, host) {
        return None;
    }
    let mut job = Job::of_command(trainer, command, host)?;
    if is_console {
        job.variables = variables(&job, host);
    }
    let Some(file) = run_file::first(&job.words).cloned() else {
        return Some(job);
    };
    // To PyYAML `1e-5` is a text.
    let dialect = if job.is_before([0, 9, 4]) {
        Dialect::PyYaml
    } else {
        Dialect::OmegaConf
    };
    let behind: Vec<String> = job.words[1..]
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    if let Some(run_file) = job.read_run_file(&file, dialect, host) {
        let mut entries = Value::Object(run_file.entries.clone());
        let mut others = vec![];
        for word in &behind {
            match word.split_once('=') {
                Some((key, value)) if !key.starts_with('-') && !key.ends_with(' ') => {
                    // `a.b=1` reaches into a section.
                    let place = key.split('.').fold(&mut entries, |section, part| {
                        if !section.is_object() {
                            *section = json!({});
                        }
                        &mut section[part]
                    });
                    *place = scalar(value, Dialect::OmegaConf);
                }
                _ => others.push(word.as_str()),
            }
        }
        if !others.is_empty() {
            job.problems.push(not_assigned(&others.join(" "), host));
        }
        let entries = entries.as_object();
        job.effective_words = entries.map(|entries| job.words_of(entries, false));
        // Up to 0.9.2 a run file is the only argument, and the trainer refuses more.
        if job.is_before([0, 9, 3]) && behind.is_empty() {
            job.run_file = Some(run_file);
        }
    }
    Some(job)
}

/// Every word after a run file becomes a key, with its dashes.
fn not_assigned(given: &str, host: &Host) -> Problem {
    let joined = given.replace(" = ", "=");
    let fix = match joined.trim_start_matches('-').split_once([' ', ':', '=']) {
        Some((name, value)) if !value.contains(' ') => {
            rename_option(given, format!("{}={value}", name.replace('-', "_"))).of(Owner::Trainer)
        }
        _ => say("write NAME=VALUE, without dashes"),
    };
    let problem = Rule::Argument
        .error(format!(
            "LLaMA-Factory reads `name=value` after a run file, not `{given}`"
        ))
        .at(given)
        .fix(fix);
    if is_switched_on(vars::ALLOW_EXTRA_ARGS, host) {
        problem.into_warning()
    } else {
        problem
    }
}

fn is_switched_on(name: &str, host: &Host) -> bool {
    host.var(name).and_then(hf_bool) == Some(true)
}

/// `OPTIM_TORCH` (on unless switched off) sets two.
fn variables(job: &Job, host: &Host) -> Vec<Variable> {
    let mut variables = vec![];
    if host.var(vars::OPTIM_TORCH).and_then(hf_bool) != Some(false) && !job.is_before([0, 9, 3]) {
        let why = "as llamafactory-cli sets it (OPTIM_TORCH=0 does not)";
        variables.push(Variable::new(
            vars::PYTORCH_CUDA_ALLOC_CONF,
            EXPANDABLE,
            why,
        ));
        variables.push(Variable::new("TORCH_NCCL_AVOID_RECORD_STREAMS", "1", why));
    }
    variables
}
