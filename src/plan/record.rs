//! The launch record: what was launched, from what, with which versions, on which machine, so that it can be looked up
//! and launched again. Secrets are never in it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::base::hash::fnv1a;
use crate::base::json;
use crate::host::Host;
use crate::plan::environment::Environment;
use crate::report::reading;
use crate::report::{self, Problem};

/// Version of the record's format.
pub(crate) const VERSION: u64 = 1;

/// Where the record goes and what it holds, except for the time.
pub(crate) struct Record {
    pub(crate) folder: PathBuf,
    pub(crate) content: Value,
    pub(crate) config: Option<String>,
}

impl Record {
    pub(crate) const FILE: &'static str = "launch.json";
    pub(crate) const CONFIG: &'static str = "config.json";
    /// Where `--record auto` writes it, in the trainer's output folder.
    pub(crate) const AUTO: &'static str = "zlaunch";

    /// The text of the file, written at that time.
    pub(crate) fn text(&self, now: SystemTime) -> String {
        let mut content = self.content.clone();
        content["time"] = timestamp(now).into();
        format!("{content:#}\n")
    }
}

/// A variable of zlaunch itself.
pub(crate) fn is_ours(name: &str) -> bool {
    name.starts_with("ZLAUNCH_")
}

/// A hash of the content. `None` for files that are not text, or larger than a config can be.
pub(crate) fn content_hash(path: &Path) -> Option<Value> {
    let text = reading::read_text(path).ok()?;
    Some(format!("{:016x}", fnv1a(text.as_bytes())).into())
}

/// What is in the place of a record and is none, or no part of one: it stays. A config is a record's if it is the recorded
/// one; who looks while another launch writes finds that out only under `exact`.
pub(crate) fn foreign(folder: &Path, exact: bool) -> Option<PathBuf> {
    let there = |name: &str| Some(folder.join(name)).filter(|path| fs::symlink_metadata(path).is_ok());
    let read = |path: &Path| json::parse_exactly(&reading::read_text(path).ok().filter(|_| !path.is_symlink())?).ok();
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
        // `--record auto` writes to a folder inside of the trainer's output.
        let inside = Some(place.join(Record::AUTO)).filter(|_| !place.join(Record::FILE).exists());
        let inside = inside.filter(|inside| inside.join(Record::FILE).exists());
        if inside.is_none() && !place.join(Record::FILE).exists() {
            return Err(report::no_record(place));
        }
        let place = inside.as_deref().unwrap_or(place);
        let path = place.join(Record::FILE);
        let text = reading::read_text(&path)?;
        let bad = || report::not_a_record(&path);
        let content = json::parse_exactly(&text).ok().filter(is_record).ok_or_else(bad)?;
        if content["version"] != VERSION {
            return Err(report::record_of_another_version(&path, &content["version"], VERSION));
        }
        let words: Vec<String> = serde_json::from_value(content["words"].clone()).map_err(|_| bad())?;
        if let Some(name) = content["hidden"][0].as_str() {
            return Err(report::secret_not_recorded(&path, name));
        }
        let folder = content["folder"].as_str().map(PathBuf::from).filter(|it| it.is_absolute()).ok_or_else(bad)?;
        let words = words.into_iter().map(OsString::from).collect();
        Ok(Recorded { place: place.to_path_buf(), folder, words, content })
    }

    /// The config that was launched with; null if there was none.
    pub(crate) fn config(&self) -> &Value {
        &self.content["plan"]["config"]
    }

    /// Restores zlaunch's variables as they were recorded, for this process and for those it starts.
    pub(crate) fn restore_variables(&self, host: &mut Host) -> Environment {
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
            // A replay must not overwrite the record, nor may the processes it starts.
            if name != "ZLAUNCH_RECORD" {
                environment.set(name, value, String::new());
            }
        }
        environment
    }

    fn sources(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.content["sources"].as_object().into_iter().flatten()
    }

    /// A file that the launch read is gone: points to the recorded config.
    pub(crate) fn missing_source(&self) -> Option<Problem> {
        let gone = self.sources().map(|(path, _)| Path::new(path)).find(|path| !path.exists())?;
        let config = Some(self.place.join(Record::CONFIG)).filter(|path| path.exists())?;
        Some(report::source_is_gone(gone, &config))
    }

    /// One line for each difference.
    pub(crate) fn differences(&self, now: &Record) -> Vec<String> {
        let mut lines = Vec::new();
        let config = self.place.join(Record::CONFIG);
        let text = reading::read_text(&config).ok();
        if text.and_then(|text| json::parse_exactly(&text).ok()).unwrap_or_default() != self.content["plan"]["config"] {
            lines.push(format!("{}: is not the config that {} has", config.display(), Record::FILE));
        }
        for part in ["zlaunch", "host", "packages"] {
            compare(part, &self.content[part], &now.content[part], &mut lines);
        }
        for (path, then) in self.sources() {
            match content_hash(Path::new(path)) {
                Some(now) if now == *then => {}
                Some(_) => lines.push(format!("{path}: has changed")),
                None => lines.push(format!("{path}: is gone")),
            }
        }
        // These are compared as part of the plan already.
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

/// Objects that are too long for a line are left out.
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
