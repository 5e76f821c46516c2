//! The launch record: what was launched, from what, with which versions, on which machine, so that it can be looked up,
//! launched again by its script, and compared with another launch. Secrets are never in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::base::bytes::fnv1a;
use crate::base::json;
use crate::report::fix::run;
use crate::report::reading;
use crate::report::{Problem, Rule};

/// Version of the record's format.
pub(crate) const VERSION: u64 = 1;

/// Where the record goes and what it holds, except for the time.
pub(crate) struct Record {
    pub(crate) folder: PathBuf,
    pub(crate) content: Value,
    pub(crate) config: Option<String>,
    pub(crate) script: Vec<u8>,
}

impl Record {
    pub(crate) const FILE: &'static str = "launch.json";
    pub(crate) const CONFIG: &'static str = "config.json";
    pub(crate) const SCRIPT: &'static str = "launch.sh";
    /// How the script starts, so that no other `launch.sh` is taken for one.
    pub(crate) const SCRIPT_START: &'static str =
        "#!/bin/sh\n# A launch that zlaunch recorded: launch.json says more.\n";
    /// Where `--record auto` writes it, in the trainer's output folder.
    pub(crate) const AUTO: &'static str = "zlaunch";

    /// The text of the file, written at that time.
    pub(crate) fn text(&self, now: SystemTime) -> String {
        let mut content = self.content.clone();
        content["time"] = timestamp(now).into();
        format!("{content:#}\n")
    }
}

/// A hash of the content. `None` for files that are not text, or larger than a config can be.
pub(crate) fn content_hash(path: &Path) -> Option<Value> {
    let text = reading::read_text(path).ok()?;
    Some(format!("{:016x}", fnv1a(text.as_bytes())).into())
}

/// What is in the place of a record and is none, or no part of one: it stays. A config is a record's if it is the recorded
/// one.
pub(crate) fn foreign(folder: &Path) -> Option<PathBuf> {
    let there = |name: &str| Some(folder.join(name)).filter(|path| fs::symlink_metadata(path).is_ok());
    let read = |path: &Path| reading::read_text(path).ok().filter(|_| !path.is_symlink());
    let parse = |path: &Path| json::parse_exactly(&read(path)?).ok();
    let record = match there(Record::FILE) {
        Some(file) => match parse(&file).filter(is_record) {
            Some(content) => content,
            None => return Some(file),
        },
        None => Value::Null,
    };
    let is_config = |path: &Path| record.is_object() && parse(path).as_ref() == Some(&record["plan"]["config"]);
    let is_script = |path: &Path| read(path).is_some_and(|text| text.starts_with(Record::SCRIPT_START));
    let config = there(Record::CONFIG).filter(|path| !is_config(path));
    config.or_else(|| there(Record::SCRIPT).filter(|path| !is_script(path)))
}

fn is_record(content: &Value) -> bool {
    content["zlaunch"].is_string() && content["words"].is_array() && content["plan"].is_object()
}

/// UTC, to the second.
pub fn timestamp(time: SystemTime) -> String {
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

/// The content of a record in a folder.
pub(crate) fn read(folder: &Path) -> Result<Value, Problem> {
    // `--record auto` writes to a folder inside of the trainer's output.
    let path = [folder.to_path_buf(), folder.join(Record::AUTO)].map(|folder| folder.join(Record::FILE));
    let path = path.into_iter().find(|path| path.exists()).ok_or_else(|| {
        Problem::error(Rule::Record, "there is no launch record in this folder")
            .at(&*folder)
            .fix("name the folder that --record wrote to; for --record auto, the trainer's output_dir")
    })?;
    let content = json::parse_exactly(&reading::read_text(&path)?).ok().filter(is_record).ok_or_else(|| {
        Problem::error(Rule::Record, "this is not a launch record")
            .at(&*path)
            .fix(run("zlaunch --record DIR -- COMMAND").remark("to write one"))
    })?;
    let version = &content["version"];
    if *version != VERSION {
        let what = format!("this record has version {version}, but this zlaunch reads version {VERSION}");
        return Err(Problem::error(Rule::Record, what)
            .at(&*path)
            .fix("compare it with the zlaunch that wrote it: its version is in `zlaunch`"));
    }
    Ok(content)
}

/// A value that is not the same in two records.
pub(crate) struct Difference {
    /// `packages.deepspeed`.
    pub(crate) key: String,
    pub(crate) values: [Value; 2],
}

/// What differs between two records, but for their configs.
pub(crate) fn differences(then: &Value, now: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    for part in ["zlaunch", "host", "packages", "sources"] {
        compare(part, [&then[part], &now[part]], &mut found);
    }
    for part in ["topology", "env", "argv"] {
        compare(part, [&then["plan"][part], &now["plan"][part]], &mut found);
    }
    // Those that a plan shows are compared as part of it.
    let is_told = |name: &str| [then, now].iter().any(|content| content["plan"]["env"]["kept"][name].is_string());
    let variables = [then, now].map(|content| {
        let all = content["variables"].as_object().into_iter().flatten();
        all.filter(|(name, _)| !is_told(name)).map(|(name, value)| (name.clone(), value.clone())).collect::<Value>()
    });
    compare("variables", variables.each_ref(), &mut found);
    found
}

fn compare(key: &str, [then, now]: [&Value; 2], found: &mut Vec<Difference>) {
    match (then, now) {
        (Value::Object(one), Value::Object(two)) => {
            let new = two.keys().filter(|name| !one.contains_key(*name));
            for name in one.keys().chain(new) {
                compare(&format!("{key}.{name}"), [&then[name], &now[name]], found);
            }
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            for (at, pair) in one.iter().zip(two).enumerate() {
                compare(&format!("{key}[{at}]"), pair.into(), found);
            }
        }
        _ if then != now => found.push(Difference { key: key.to_string(), values: [then.clone(), now.clone()] }),
        _ => {}
    }
}
