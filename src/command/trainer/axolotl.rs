//! axolotl. `axolotl train x.yml --k v` execs accelerate on a module of its own; zlaunch runs that module under torchrun. A
//! command with arguments for its launcher (any that it does not know itself), or with another launcher, is left alone.

use std::{ffi::OsString, ops::Range};

use serde_json::{Map, Value};

use crate::{
    base::{recorded::Version, yaml::Dialect},
    command::{
        argument_class::ArgumentClass,
        argv::split_joined,
        front_end::Variable,
        job::{Job, Trainer},
        python::Python,
        run_file::{self, RunFile},
        tables::{AXOLOTL_MODULE, AXOLOTL_NAMES, AXOLOTL_VARIABLES},
        target::{ParsedCommand, Target},
    },
    host::Host,
};

pub const COMMAND: ArgumentClass = ArgumentClass {
    distribution: "axolotl",
    name: "train",
};

pub fn recognise(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    let mut job = Job::of(trainer, command, host);
    if trainer.is_console(&command.target) {
        let (mode, rest) = command.args.split_first()?;
        let file = run_file::first(rest)?;
        // axolotl downloads a config that is a URL.
        if mode != "train" || file.to_string_lossy().contains("://") {
            return None;
        }
        job.words = vec![file.clone()];
        job.words.extend(options(&job, &rest[1..])?);
        job.variables = variables(job.python.as_ref(), job.version(), host);
        // By name, as axolotl itself does: the current folder is then on `sys.path`.
        job.target = Target::module(AXOLOTL_MODULE);
    } else if !command.target.is_module(AXOLOTL_MODULE) {
        return None;
    }
    if let Some(file) = run_file::first(&job.words).cloned()
        && let Some(RunFile { entries, .. }) = job.read_run_file(&file, Dialect::PyYaml, host)
    {
        let mut words = run_file::paths_of(&entries, "datasets");
        words.extend(job.words_of(&renamed(entries), true));
        words.extend(job.words[1..].iter().map(renamed_option));
        job.effective_words = Some(words);
    }
    Some(job)
}

/// The options that `axolotl train` passes to its module. `None`: some words are for its launcher.
fn options(job: &Job, words: &[OsString]) -> Option<Vec<OsString>> {
    let kind = |name: &str| {
        // Its options have dashes only.
        let own = Some(name.replace('-', "_")).filter(|_| !name.contains('_'))?;
        COMMAND.written_type(&own, job.version())
    };
    let is_switch = |name: &&str| kind(name) == Some("switch");
    let mut joined = vec![];
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let text = word.to_str()?.strip_prefix("--")?;
        let (name, value) = split_joined(text);
        let off = name.strip_prefix("no-").filter(is_switch);
        let (key, value) = match (kind(name), value) {
            (Some("str"), Some(value)) => (name, value.into()),
            (Some("str"), None) => (name, rest.next()?.clone()),
            (Some("switch"), None) => (name, "True".into()),
            (None, None) => (off?, "False".into()),
            _ => return None,
        };
        let mut word = OsString::from(format!("--{key}="));
        word.push(value);
        joined.push(word);
    }
    Some(joined)
}

fn renamed(entries: Map<String, Value>) -> Map<String, Value> {
    entries
        .into_iter()
        .filter(|(key, value)| match key.as_str() {
            // `bf16: auto` depends on the GPU, and `full` casts the whole model: neither says whether mixed precision is on.
            "bf16" | "fp16" => value.is_boolean(),
            // axolotl makes two of one.
            "warmup_steps" => *value != 1,
            _ => true,
        })
        .map(|(key, value)| (hf_name(&key).unwrap_or(&key).to_string(), value))
        .collect()
}

fn renamed_option(word: &OsString) -> OsString {
    let text = word.to_str().unwrap_or_default();
    let name = text.split('=').next().unwrap_or_default();
    let own = name.trim_start_matches("--").replace('-', "_");
    match hf_name(&own) {
        Some(hf) => format!("--{hf}{}", &text[name.len()..]).into(),
        None => word.clone(),
    }
}

fn hf_name(own: &str) -> Option<&'static str> {
    Some(AXOLOTL_NAMES.iter().find(|row| row.own == own)?.hf)
}

fn variables(python: Option<&Python>, version: Option<Version>, host: &Host) -> Vec<Variable> {
    let version = version.map_or([u32::MAX - 1; 3], |version| version.0);
    let torch = python.and_then(|python| python.version("torch"));
    let has_torch = |range: &Range<[u32; 3]>| torch.is_some_and(|torch| range.contains(&torch.0));
    AXOLOTL_VARIABLES
        .iter()
        .filter(|row| {
            row.axolotl.contains(&version)
                && row.torch.as_ref().is_none_or(has_torch)
                && host.var_os(row.name).is_none()
        })
        .map(|row| Variable::new(row.name, row.value, "as axolotl sets it"))
        .collect()
}
