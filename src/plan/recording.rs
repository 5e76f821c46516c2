//! What of a plan is recorded.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::decision::Plan;
use crate::base::json;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::command::trainer::{self, Job};
use crate::host::Host;
use crate::plan::inputs;
use crate::plan::record::{Record, VERSION, content_hash, foreign, is_ours};
use crate::report::secrets::Secrets;
use crate::report::{self, Problem};
use crate::request::Launch;

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
        // A replay compares and writes nothing.
        if let Some(file) = foreign(&folder, false).filter(|_| asked.from != Source::Default) {
            return Err(report::not_of_a_record(&file));
        }
        let text =
            |word: &OsStr| word.to_str().map(str::to_string).ok_or_else(|| report::cannot_be_recorded(asked, word));
        let words = launch.options.iter().chain(&launch.command).map(|word| text(word));
        let words = words.collect::<Result<Vec<_>, _>>()?;
        let secrets = Secrets::of(host);
        let mut hidden = Vec::new();
        let (variables, content) = (
            variables(seen, &secrets, &mut hidden, text)?,
            json!({
                "version": VERSION,
                "zlaunch": env!("CARGO_PKG_VERSION"),
                "host": host.hostname,
                "folder": text(host.cwd.as_os_str())?,
                "packages": packages(job),
                "plan": self.json(),
            }),
        );
        let mut content = secrets.hide(content);
        content["words"] = hide_words(&words, &secrets, &mut hidden);
        content["variables"] = variables.into();
        content["hidden"] = hidden.into();
        content["sources"] = sources(self, launch, job, host).into();
        let config = self.config.as_ref().map(|config| json::write(&secrets.hide(config.value.clone())));
        Ok(Some(Record { folder, content, config }))
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

/// The words without secrets. The names of what was hidden are added to `hidden`.
fn hide_words(words: &[String], secrets: &Secrets, hidden: &mut Vec<String>) -> Value {
    let shown = secrets.hide_in_words(words.iter().map(OsStr::new));
    let shown: Vec<String> = shown.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    for at in (0..words.len()).filter(|at| shown[*at] != words[*at]) {
        let own = shown[at].split_once('=').map(|(name, _)| name);
        let name = own.or(at.checked_sub(1).map(|before| shown[before].as_str()));
        hidden.push(name.unwrap_or("a word").to_string());
    }
    shown.into()
}

/// The variables that change a launch. Those of zlaunch are needed for a replay, so they must be kept exactly.
fn variables(
    seen: &Host,
    secrets: &Secrets,
    hidden: &mut Vec<String>,
    text: impl Fn(&OsStr) -> Result<String, Problem>,
) -> Result<Map<String, Value>, Problem> {
    let mut found = Map::new();
    for (name, value) in &seen.env {
        let Some(name) = name.to_str().filter(|name| vars::changes_a_training(name)) else { continue };
        let value = if is_ours(name) {
            // A repeatable option's variable holds one value a line.
            let lines: Vec<String> = text(value)?.split('\n').map(str::to_string).collect();
            let count = hidden.len();
            let lines = hide_words(&lines, secrets, hidden);
            if hidden.len() > count {
                hidden.truncate(count);
                hidden.push(name.to_string());
            }
            lines.as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
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
        return Err(report::no_record_folder(asked));
    }
    if asked.value.as_os_str() != "auto" {
        return Ok(host.absolute(&asked.value));
    }
    let output = job.args.text("output_dir").ok_or_else(|| report::no_output_folder(asked))?;
    Ok(host.absolute(&PathBuf::from(output.value)).join(Record::AUTO))
}
