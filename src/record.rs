//! The launch record: what was launched, from what, with which versions, on which machine, so that it can be looked up
//! and launched again. Secrets are never in it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use crate::cli::Launch;
use crate::error::{self, Problem};
use crate::host::Host;
use crate::plan::Plan;
use crate::said::Said;
use crate::trainer::Job;

/// Whose versions are worth knowing later.
const PACKAGES: &[&str] =
    &["torch", "transformers", "accelerate", "deepspeed", "ms_swift", "llamafactory", "axolotl", "trl", "peft"];

/// What stands in the place of a secret.
const HIDDEN: &str = "(not recorded)";

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
        let versions = PACKAGES.iter().filter_map(|package| {
            let version = job.python.as_ref()?.version(package)?;
            Some(((*package).to_string(), Value::from(version.0)))
        });
        let content = json!({
            "version": 1,
            "zlaunch": env!("CARGO_PKG_VERSION"),
            "host": host.hostname,
            "folder": host.cwd.to_string_lossy(),
            "words": launch.options.iter().chain(&launch.command).map(|word| word.to_string_lossy()).collect::<Vec<_>>(),
            "packages": versions.collect::<Map<_, _>>(),
            "plan": plan.json(),
        });
        let secrets = Secrets::of(host);
        let config = plan.config.as_ref().map(|config| secrets.hide_in(&config.text));
        Ok(Some(Record { folder: folder(asked, job, host)?, content: secrets.hide(content), config }))
    }

    /// The text of the file, written at that time.
    pub(crate) fn text(&self, now: SystemTime) -> String {
        let mut content = self.content.clone();
        content["time"] = timestamp(now).into();
        format!("{content:#}\n")
    }
}

fn folder(asked: &Said<PathBuf>, job: &Job, host: &Host) -> Result<PathBuf, Problem> {
    if asked.value.as_os_str() != "auto" {
        return Ok(host.absolute(&asked.value));
    }
    let output = job.args.text("output_dir").ok_or_else(|| error::no_output_folder(asked))?;
    Ok(host.absolute(&PathBuf::from(output.value)).join("zlaunch"))
}

/// What must not be seen: by the name it goes under, or as the value of such a variable wherever it turns up.
struct Secrets {
    values: Vec<String>,
}

impl Secrets {
    fn of(host: &Host) -> Self {
        // Shorter ones would take harmless words along.
        const SHORTEST: usize = 8;
        let named = host.env.iter().filter(|(name, _)| name.to_str().is_some_and(is_secret_variable));
        let values = named.filter_map(|(_, value)| value.to_str()).filter(|value| value.len() >= SHORTEST);
        Secrets { values: values.map(str::to_string).collect() }
    }

    fn hide(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.hide_in(&text)),
            Value::Array(items) => Value::Array(self.hide_words(items)),
            Value::Object(entries) => {
                let hidden = entries.into_iter().map(|(key, value)| {
                    let secret = value.is_string() && is_secret_variable(&key);
                    let value = if secret { Value::from(HIDDEN) } else { self.hide(value) };
                    (key, value)
                });
                Value::Object(hidden.collect())
            }
            other => other,
        }
    }

    /// `--hub_token X`, `--hub_token=X`, `HF_TOKEN=X`.
    fn hide_words(&self, items: Vec<Value>) -> Vec<Value> {
        let mut hidden = Vec::new();
        let mut next_is_secret = false;
        for item in items {
            let Value::String(word) = item else {
                hidden.push(self.hide(item));
                continue;
            };
            let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
            let named = is_secret_option(name);
            hidden.push(Value::from(match value {
                _ if next_is_secret => HIDDEN.to_string(),
                Some(_) if named => format!("{name}={HIDDEN}"),
                _ => self.hide_in(&word),
            }));
            next_is_secret = named && value.is_none() && name.starts_with("--");
        }
        hidden
    }

    fn hide_in(&self, text: &str) -> String {
        let text = self.values.iter().fold(text.to_string(), |text, secret| text.replace(secret, HIDDEN));
        without_credentials(&text)
    }
}

/// Rather one too many.
fn is_secret_variable(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"].iter().any(|word| name.contains(word))
        || name.split(['_', '-', '.']).any(|part| part.ends_with("KEY"))
}

/// `--max_tokens` and `--tokenizer` are harmless.
fn is_secret_option(name: &str) -> bool {
    let name = name.trim_start_matches('-').to_ascii_uppercase();
    let mut parts = name.split(['_', '-', '.']);
    parts.any(|part| ["TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "APIKEY", "CREDENTIALS"].contains(&part))
}

/// `https://user:password@host` → `https://host`.
fn without_credentials(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_string() };
    let end = rest.find(['/', ' ', '"', '\'']).unwrap_or(rest.len());
    let host = rest[..end].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}{}", &rest[host..end], without_credentials(&rest[end..]))
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
    content: Value,
    pub(crate) folder: PathBuf,
    pub(crate) words: Vec<OsString>,
}

impl Recorded {
    pub(crate) fn read(folder: &std::path::Path) -> Result<Self, Problem> {
        let path = folder.join(Record::FILE);
        let text = crate::json::read_text(&path)?;
        let bad = || error::not_a_record(&path);
        let content: Value = serde_json::from_str(&text).map_err(|_| bad())?;
        let words: Vec<String> = serde_json::from_value(content["words"].clone()).map_err(|_| bad())?;
        if let Some(at) = words.iter().position(|word| word.contains(HIDDEN)) {
            let name = words[at].split('=').next().filter(|name| *name != HIDDEN);
            return Err(error::secret_not_recorded(&path, name.or(at.checked_sub(1).map(|at| words[at].as_str()))));
        }
        let cwd = content["folder"].as_str().ok_or_else(bad)?.into();
        Ok(Recorded { folder: cwd, words: words.into_iter().map(OsString::from).collect(), content })
    }

    /// What is not as it was: one line for each.
    pub(crate) fn differences(&self, now: &Record) -> Vec<String> {
        let mut lines = Vec::new();
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
    fn secrets_by_name_and_by_value() {
        let env = [("HF_TOKEN", "hf_abcdefgh"), ("LANG", "C")].map(|(name, value)| (name.into(), value.into()));
        let secrets = Secrets::of(&Host { env: env.into(), ..Host::default() });
        let words = json!([
            "--hub_token",
            "x",
            "--wandb-api-key=abc",
            "WANDB_API_KEY=q",
            "--max_tokens",
            "512",
            "--tokenizer",
            "t",
            "https://me:pw@host/a?b https://h/",
            "say hf_abcdefgh",
            "--key",
            "--model"
        ]);
        let hidden = json!([
            "--hub_token",
            HIDDEN,
            "--wandb-api-key=(not recorded)",
            "WANDB_API_KEY=(not recorded)",
            "--max_tokens",
            "512",
            "--tokenizer",
            "t",
            "https://host/a?b https://h/",
            "say (not recorded)",
            "--key",
            HIDDEN
        ]);
        assert_eq!(secrets.hide(words), hidden);
        let entries = json!({"AWS_SECRET_ACCESS_KEY": "a", "OMP_NUM_THREADS": "4", "TOKENIZERS_PARALLELISM": "false"});
        let hidden = json!({"AWS_SECRET_ACCESS_KEY": HIDDEN, "OMP_NUM_THREADS": "4", "TOKENIZERS_PARALLELISM": HIDDEN});
        assert_eq!(secrets.hide(entries), hidden);
    }

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
