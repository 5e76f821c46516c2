//! The launch record: what was launched, from what, with which versions, on which machine, so that it can be looked up
//! and launched again. Secrets are never in it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use crate::cli::Launch;
use crate::environment::Environment;
use crate::error::{self, Problem};
use crate::hash::fnv1a;
use crate::host::Host;
use crate::inputs;
use crate::json;
use crate::plan::Plan;
use crate::said::{Said, Source};
use crate::secrets::Secrets;
use crate::trainer::{self, Job};
use crate::vars;

/// Which fields a record has, and what they mean.
const VERSION: u64 = 1;

/// Where the record goes, and what is in it but the time.
pub(crate) struct Record {
    pub(crate) folder: PathBuf,
    pub(crate) content: Value,
    pub(crate) config: Option<String>,
}

impl Record {
    pub(crate) const FILE: &'static str = "launch.json";
    pub(crate) const CONFIG: &'static str = "config.json";

    /// `seen` is the environment before anything was laid over it.
    pub(crate) fn new(
        plan: &Plan,
        launch: &Launch,
        job: &Job,
        host: &Host,
        seen: &Host,
    ) -> Result<Option<Self>, Problem> {
        let Some(asked) = &launch.record else { return Ok(None) };
        let folder = folder(asked, job, host)?;
        // A replay only compares.
        if let Some(file) = foreign(&folder, false).filter(|_| asked.from != Source::Default) {
            return Err(error::not_of_a_record(&file));
        }
        let text =
            |word: &OsStr| word.to_str().map(str::to_string).ok_or_else(|| error::cannot_be_recorded(asked, word));
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
                "plan": plan.json(),
            }),
        );
        let mut content = secrets.hide(content);
        content["words"] = hide_words(&words, &secrets, &mut hidden);
        content["variables"] = variables.into();
        content["hidden"] = hidden.into();
        content["sources"] = sources(plan, launch, job, host).into();
        let config = plan.config.as_ref().map(|config| json::write(&secrets.hide(config.value.clone())));
        Ok(Some(Record { folder, content, config }))
    }

    /// The text of the file, written at that time.
    pub(crate) fn text(&self, now: SystemTime) -> String {
        let mut content = self.content.clone();
        content["time"] = timestamp(now).into();
        format!("{content:#}\n")
    }
}

fn packages(job: &Job) -> Map<String, Value> {
    let Some(python) = &job.python else { return Map::new() };
    // Spelled as the folders of site-packages are.
    let versions = trainer::packages()
        .into_iter()
        .filter_map(|package| Some((package.replace('-', "_"), python.version(package)?.0.into())));
    let own = python.own_version().map(|version| ("python".to_string(), version.into()));
    own.into_iter().chain(versions).collect()
}

/// The words without their secrets, and the names of what is not there.
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

/// The variables that change what is launched. Ours are launched with again, so that they must be as they were.
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
            // Those of options that may be said often hold one a line.
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

/// A variable of zlaunch itself.
fn is_ours(name: &str) -> bool {
    name.starts_with("ZLAUNCH_")
}

/// The files that were read or named, each with a mark of its content.
fn sources(plan: &Plan, launch: &Launch, job: &Job, host: &Host) -> Map<String, Value> {
    let template = plan.config.as_ref().map(|config| &config.template);
    let named = launch.options.iter().chain(&launch.command).filter_map(|word| {
        let text = word.to_str()?;
        Some(host.absolute(Path::new(text.split_once('=').map_or(text, |(_, value)| value))))
    });
    // What this launch writes is none.
    let out = launch.config_out.as_ref().map(|out| host.absolute(&out.value));
    let files =
        inputs::of(template, launch, job, host).into_iter().chain(named).filter(|path| Some(path) != out.as_ref());
    files.filter_map(|path| Some((path.to_str()?.to_string(), mark(&path)?))).collect()
}

/// Tells one content from another; nothing of a file that is no text, or too large for a config.
fn mark(path: &Path) -> Option<Value> {
    let text = json::read_text(path).ok()?;
    Some(format!("{:016x}", fnv1a(text.as_bytes())).into())
}

fn folder(asked: &Said<PathBuf>, job: &Job, host: &Host) -> Result<PathBuf, Problem> {
    if asked.value.as_os_str().is_empty() {
        return Err(error::no_record_folder(asked));
    }
    if asked.value.as_os_str() != "auto" {
        return Ok(host.absolute(&asked.value));
    }
    let output = job.args.text("output_dir").ok_or_else(|| error::no_output_folder(asked))?;
    Ok(host.absolute(&PathBuf::from(output.value)).join("zlaunch"))
}

/// What is in the place of a record and is none, or no part of one: it stays. A config is a record's if it is the recorded
/// one; who looks while another launch writes finds that out only under `exact`.
pub(crate) fn foreign(folder: &Path, exact: bool) -> Option<PathBuf> {
    let there = |name: &str| Some(folder.join(name)).filter(|path| fs::symlink_metadata(path).is_ok());
    let read = |path: &Path| json::parse_exactly(&json::read_text(path).ok().filter(|_| !path.is_symlink())?).ok();
    let Some(file) = there(Record::FILE) else { return there(Record::CONFIG) };
    let Some(content) = read(&file).filter(is_record) else { return Some(file) };
    there(Record::CONFIG).filter(|path| exact && read(path).as_ref() != Some(&content["plan"]["config"]))
}

fn is_record(content: &Value) -> bool {
    content["zlaunch"].is_string() && content["words"].is_array() && content["plan"].is_object()
}

/// UTC, to the second.
fn timestamp(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

/// Year, month and day of a day counted from 1970, by whole years and months.
fn date(days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut left = days;
    let mut year = 1970;
    while left >= 365 + u64::from(leap(year)) {
        left -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    (year, month, left + 1)
}

/// A record that was read back.
pub(crate) struct Recorded {
    /// Where it is.
    place: PathBuf,
    content: Value,
    /// Where it was launched.
    pub(crate) folder: PathBuf,
    pub(crate) words: Vec<OsString>,
}

impl Recorded {
    pub(crate) fn read(place: &Path) -> Result<Self, Problem> {
        let path = place.join(Record::FILE);
        let text = json::read_text(&path)?;
        let bad = || error::not_a_record(&path);
        let content = json::parse_exactly(&text).ok().filter(is_record).ok_or_else(bad)?;
        if content["version"] != VERSION {
            return Err(error::record_of_another_version(&path, &content["version"], VERSION));
        }
        let words: Vec<String> = serde_json::from_value(content["words"].clone()).map_err(|_| bad())?;
        if let Some(name) = content["hidden"][0].as_str() {
            return Err(error::secret_not_recorded(&path, name));
        }
        let folder = content["folder"].as_str().map(PathBuf::from).filter(|it| it.is_absolute()).ok_or_else(bad)?;
        let words = words.into_iter().map(OsString::from).collect();
        Ok(Recorded { place: place.to_path_buf(), folder, words, content })
    }

    /// Our variables as they were; today's are forgotten. The environment of the launch tells them to who comes after.
    pub(crate) fn bring_back(&self, host: &mut Host) -> Environment {
        let mut environment = Environment::default();
        let names = host.env.keys().filter_map(|name| name.to_str());
        environment.unset = names.filter(|name| is_ours(name)).map(str::to_string).collect();
        for name in &environment.unset {
            host.env.remove(OsStr::new(name));
        }
        let recorded = self.content["variables"].as_object().into_iter().flatten();
        for (name, value) in recorded.filter(|(name, _)| is_ours(name)) {
            let value = value.as_str().unwrap_or_default();
            host.env.insert(name.into(), value.into());
            // The old record stays as it is, whoever comes after.
            if name != "ZLAUNCH_RECORD" {
                environment.set(name, value, String::new());
            }
        }
        environment
    }

    fn sources(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.content["sources"].as_object().into_iter().flatten()
    }

    /// Where something that was read is gone, the config itself is still there.
    pub(crate) fn gone(&self) -> Option<Problem> {
        let gone = self.sources().map(|(path, _)| Path::new(path)).find(|path| !path.exists())?;
        let config = Some(self.place.join(Record::CONFIG)).filter(|path| path.exists())?;
        Some(error::source_is_gone(gone, &config))
    }

    /// What is not as it was: one line for each.
    pub(crate) fn differences(&self, now: &Record) -> Vec<String> {
        let mut lines = Vec::new();
        let config = self.place.join(Record::CONFIG);
        let text = json::read_text(&config).ok();
        if text.and_then(|text| json::parse_exactly(&text).ok()).unwrap_or_default() != self.content["plan"]["config"] {
            lines.push(format!("{}: is not the config that {} has", config.display(), Record::FILE));
        }
        for part in ["zlaunch", "host", "packages"] {
            compare(part, &self.content[part], &now.content[part], &mut lines);
        }
        for (path, then) in self.sources() {
            match mark(Path::new(path)) {
                Some(now) if now == *then => {}
                Some(_) => lines.push(format!("{path}: has changed")),
                None => lines.push(format!("{path}: is gone")),
            }
        }
        // What decides something here is told as a part of the plan.
        let told =
            |name: &str| [&self.content, &now.content].iter().any(|it| it["plan"]["env"]["kept"][name].is_string());
        for part in ["topology", "config", "env", "argv"] {
            compare(part, &self.content["plan"][part], &now.content["plan"][part], &mut lines);
        }
        let untold = |content: &Value| {
            let all = content["variables"].as_object().into_iter().flatten();
            all.filter(|(name, _)| !told(name)).map(|(name, value)| (name.clone(), value.clone())).collect::<Value>()
        };
        compare("variables", &untold(&self.content), &untold(&now.content), &mut lines);
        lines
    }
}

fn compare(place: &str, then: &Value, now: &Value, lines: &mut Vec<String>) {
    match (then, now) {
        (Value::Object(one), Value::Object(two)) => {
            let new = two.keys().filter(|key| !one.contains_key(*key));
            for key in one.keys().chain(new) {
                compare(&format!("{place}.{key}"), &then[key], &now[key], lines);
            }
        }
        _ if then != now => lines.push(format!("{place}: {} then, {} now", short(then), short(now))),
        _ => {}
    }
}

/// A whole config is no part of a line.
fn short(value: &Value) -> String {
    let text = value.to_string();
    if value.is_object() && text.len() > 100 { "{…}".to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_date() {
        // date -u -d @N +%FT%TZ
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_827_696, "2000-02-29T12:34:56Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (1_794_720_000, "2026-11-15T05:20:00Z"),
        ] {
            assert_eq!(timestamp(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
