//! The launch record: what was launched, from what, with which versions, on which machine, so that it can be looked up
//! and launched again. Secrets are never in it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use crate::cli::Launch;
use crate::error::{self, Problem};
use crate::host::Host;
use crate::json;
use crate::plan::Plan;
use crate::said::{Said, Source};
use crate::secrets::{HIDDEN, Secrets};
use crate::trainer::Job;

/// Whose versions are worth knowing later.
const PACKAGES: &[&str] =
    &["torch", "transformers", "accelerate", "deepspeed", "ms_swift", "llamafactory", "axolotl", "trl", "peft"];

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

    pub(crate) fn new(plan: &Plan, launch: &Launch, job: &Job, host: &Host) -> Result<Option<Self>, Problem> {
        let Some(asked) = &launch.record else { return Ok(None) };
        let folder = folder(asked, job, host)?;
        // A replay only compares.
        if let Some(file) = foreign(&folder, false).filter(|_| asked.from != Source::Default) {
            return Err(error::not_of_a_record(&file));
        }
        let versions = PACKAGES.iter().filter_map(|package| {
            let version = job.python.as_ref()?.version(package)?;
            Some(((*package).to_string(), Value::from(version.0)))
        });
        let content = json!({
            "version": VERSION,
            "zlaunch": env!("CARGO_PKG_VERSION"),
            "host": host.hostname,
            "folder": host.cwd.to_string_lossy(),
            "words": launch.options.iter().chain(&launch.command).map(|word| word.to_string_lossy()).collect::<Vec<_>>(),
            "packages": versions.collect::<Map<_, _>>(),
            "plan": plan.json(),
        });
        let secrets = Secrets::of(host);
        let config = plan.config.as_ref().map(|config| json::write(&secrets.hide(config.value.clone())));
        Ok(Some(Record { folder, content: secrets.hide(content), config }))
    }

    /// The text of the file, written at that time.
    pub(crate) fn text(&self, now: SystemTime) -> String {
        let mut content = self.content.clone();
        content["time"] = timestamp(now).into();
        format!("{content:#}\n")
    }
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
        if let Some(at) = words.iter().position(|word| word.contains(HIDDEN)) {
            let name = words[at].split('=').next().filter(|name| *name != HIDDEN);
            return Err(error::secret_not_recorded(&path, name.or(at.checked_sub(1).map(|at| words[at].as_str()))));
        }
        let folder = content["folder"].as_str().map(PathBuf::from).filter(|it| it.is_absolute()).ok_or_else(bad)?;
        let words = words.into_iter().map(OsString::from).collect();
        Ok(Recorded { place: place.to_path_buf(), folder, words, content })
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
        for part in ["topology", "config", "env", "argv"] {
            compare(part, &self.content["plan"][part], &now.content["plan"][part], &mut lines);
        }
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
        _ if then != now => lines.push(format!("{place}: {then} then, {now} now")),
        _ => {}
    }
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
