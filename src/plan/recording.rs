//! What of a plan is recorded.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::decision::Plan;
use crate::base::json;
use crate::base::shell::quoted;
use crate::base::source::Sourced;
use crate::base::vars;
use crate::command::trainer::{self, Job};
use crate::host::Host;
use crate::plan::inputs;
use crate::plan::record::{Record, VERSION, content_hash};
use crate::report::fix::{Fixes, drop_word, give};
use crate::report::secrets::Secrets;
use crate::report::{Place, Problem, Rule};
use crate::request::Launch;

/// Variables that change a training although zlaunch leaves them alone.
const RECORDED: &str = "ZLAUNCH_ PATH PYTHONPATH PYTHONHASHSEED PYTHONNOUSERSITE LD_ VIRTUAL_ENV CONDA_PREFIX \
    NPROC_PER_NODE NNODES NODE_RANK MASTER_ PET_ CUDA_ CUBLAS_ HIP_ ROCR_ ASCEND_ HCCL_ NCCL_ GLOO_ UCX_ FI_ OMP_ MKL_ \
    TORCH_ TORCHINDUCTOR_ TORCHDYNAMO_ PYTORCH_ TRITON_ HF_ HUGGINGFACE_ TRANSFORMERS_ TOKENIZERS_ MODELSCOPE_ \
    ACCELERATE_ DEEPSPEED_ DS_ WANDB_ SWIFT_ MAX_PIXELS VIDEO_ FPS_ USE_ OPTIM_TORCH";

impl Plan {
    /// `seen` is the environment as zlaunch found it.
    pub(super) fn record(
        &self,
        launch: &Launch,
        job: &Job,
        host: &Host,
        seen: &Host,
    ) -> Result<Option<Record>, Problem> {
        let Some(asked) = &launch.record else { return Ok(None) };
        let folder = folder(asked, job, host)?;
        let text = |word: &OsStr| {
            word.to_str().map(str::to_string).ok_or_else(|| {
                Problem::error(Rule::Record, "this is not UTF-8 text, so it cannot be recorded")
                    .at(word.to_string_lossy().into_owned())
                    .fix(Fixes::from("use plain text").or(drop_word(&asked.from)))
            })
        };
        let words = launch.options.iter().chain(&launch.command).map(|word| text(word));
        let words = words.collect::<Result<Vec<_>, _>>()?;
        let secrets = Secrets::of(host);
        let mut content = secrets.hide(json!({
            "version": VERSION,
            "zlaunch": env!("CARGO_PKG_VERSION"),
            "host": host.hostname,
            "folder": text(host.cwd.as_os_str())?,
            "packages": packages(job),
            "plan": self.json(),
        }));
        content["words"] = without_secrets(&words, &secrets).into();
        content["variables"] = variables(seen, &secrets, text)?.into();
        content["sources"] = sources(self, launch, job, host).into();
        let config = self.config.as_ref().map(|config| json::write(&secrets.hide(config.value.clone())));
        Ok(Some(Record { folder, content, config, script: self.script(&secrets, host) }))
    }

    /// The launch as a script that starts in its folder.
    fn script(&self, secrets: &Secrets, host: &Host) -> Vec<u8> {
        let script = self.shell(secrets);
        let rest = script.strip_prefix(b"#!/bin/sh\n").unwrap_or(&script);
        let folder = quoted(host.cwd.as_os_str());
        [Record::SCRIPT_START.as_bytes(), b"cd ", &folder, b" || exit\n", rest].concat()
    }
}

fn packages(job: &Job) -> Map<String, Value> {
    let Some(python) = &job.python else { return Map::new() };
    // As site-packages spells its folders.
    let versions = trainer::packages()
        .into_iter()
        .filter_map(|package| Some((package.replace('-', "_"), python.version_text(package)?.into())));
    let own = python.own_version().map(|version| ("python".to_string(), version.into()));
    own.into_iter().chain(versions).collect()
}

fn without_secrets(words: &[String], secrets: &Secrets) -> Vec<String> {
    let shown = secrets.hide_in_words(words.iter().map(OsStr::new));
    shown.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The variables that change a launch.
fn variables(
    seen: &Host,
    secrets: &Secrets,
    text: impl Fn(&OsStr) -> Result<String, Problem>,
) -> Result<Map<String, Value>, Problem> {
    let mut found = Map::new();
    for (name, value) in &seen.env {
        let Some(name) = name.to_str().filter(|name| vars::lists(RECORDED, name)) else { continue };
        let value = if name.starts_with("ZLAUNCH_") {
            // The variable of an option that may be repeated holds one value a line.
            let lines: Vec<String> = text(value)?.split('\n').map(str::to_string).collect();
            without_secrets(&lines, secrets).join("\n")
        } else {
            secrets.hide_value(name, value)
        };
        found.insert(name.to_string(), value.into());
    }
    Ok(found)
}

/// The files that were read or named, each with a hash of its content.
fn sources(plan: &Plan, launch: &Launch, job: &Job, host: &Host) -> Map<String, Value> {
    let template = plan.config.as_ref().map(|config| &config.template);
    let named = launch.options.iter().chain(&launch.command).filter_map(|word| {
        let text = word.to_str()?;
        Some(host.absolute(Path::new(text.split_once('=').map_or(text, |(_, value)| value))))
    });
    // Not what this launch writes itself.
    let out = launch.config_out.as_ref().map(|out| host.absolute(&out.value));
    let files =
        inputs::of(template, launch, job, host).into_iter().chain(named).filter(|path| Some(path) != out.as_ref());
    files.filter_map(|path| Some((path.to_str()?.to_string(), content_hash(&path)?))).collect()
}

fn folder(asked: &Sourced<PathBuf>, job: &Job, host: &Host) -> Result<PathBuf, Problem> {
    if asked.value.as_os_str().is_empty() {
        return Err(Problem::error(Rule::Record, "the name of the folder for the launch record is empty")
            .at(Place::option(asked.from.to_string(), "''"))
            .fix(give("--record", "DIR").remark("is the variable set that should name it?")));
    }
    if asked.value.as_os_str() != "auto" {
        return Ok(host.absolute(&asked.value));
    }
    let output = job.args.text("output_dir").ok_or_else(|| {
        Problem::error(Rule::Record, "the command has no `--output_dir` for the record to go to")
            .at(Place::option(asked.from.to_string(), "auto"))
            .fix(give("--record", "DIR"))
    })?;
    Ok(host.absolute(&PathBuf::from(output.value)).join(Record::AUTO))
}
