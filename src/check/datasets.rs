//! Datasets that a trainer cannot load: what it reads of them before it trains is read here too. Only where the ranks run
//! on this machine.

use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::findings::{Check, Findings};
use super::subject::Subject;
use crate::command::inputs::is_missing;
use crate::report::{Rule, Severity, When, nearest, reading};

pub(super) const RULES: &[Check] =
    &[Check::code(Rule::DatasetUnreadable, Severity::Error, When::Start, |subject, found| {
        match subject.job.trainer.name {
            "llamafactory" if subject.runs_here() => of_llamafactory(subject, found),
            "trl" if subject.runs_here() => of_trl(subject, found),
            "swift" if subject.runs_here() => of_swift(subject, found),
            _ => {}
        }
    })
    .doc(
        "LLaMA-Factory's dataset_info.json has no such dataset; TRL gets a file, where it wants a folder; a data file \
         has nothing in it, or is not there (a warning)",
    )];

const INFO: &str = "dataset_info.json";
/// Entries of it that name something to download.
const ELSEWHERE: &[&str] = &["hf_hub_url", "ms_hub_url", "om_hub_url", "script_url", "cloud_file_name"];
/// How data files end.
const ENDINGS: &[&str] = &["jsonl", "json", "csv", "parquet", "txt", "arrow"];

fn value<'a>(subject: &'a Subject, name: &str) -> Option<&'a str> {
    subject.job.args.list(name)?.1.first()?.to_str()
}

/// Every dataset is an entry of `dataset_info.json` in `dataset_dir`.
fn of_llamafactory(subject: &Subject, found: &mut Findings) {
    let unread = subject.job.unread.iter().any(|name| name == "dataset_dir");
    let folder = value(subject, "dataset_dir").unwrap_or("data");
    // Data that are tokenized already are read instead.
    let is_tokenized = value(subject, "tokenized_path").is_some_and(|path| subject.host.cwd.join(path).exists());
    if unread || folder == "ONLINE" || folder.starts_with("REMOTE:") || is_tokenized {
        return;
    }
    let names = ["dataset", "eval_dataset"].into_iter().filter_map(|name| value(subject, name));
    let names: Vec<&str> = names.flat_map(|names| names.split(',')).map(str::trim).collect();
    let folder = subject.host.cwd.join(folder);
    if names.is_empty() || folder.to_string_lossy().contains('$') || names.iter().any(|name| name.contains('$')) {
        return;
    }
    let file = folder.join(INFO);
    let place = |name: &str| subject.job.place_in_run_file(name, subject.host).unwrap_or_else(|| name.to_string());
    let info = reading::text_if_any(&file).and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let Some(info) = info.as_ref().and_then(Value::as_object) else {
        let what = format!("`{}` is not there or is no JSON, so no dataset is known", file.display());
        return found.at(&[place(names[0])], what, "dataset_dir: FOLDER".to_string());
    };
    for name in names {
        let Some(entry) = info.get(name) else {
            let near = nearest(name, info.keys().map(String::as_str));
            let help =
                near.map_or_else(|| format!("add it to {}", file.display()), |near| format!("did you mean `{near}`?"));
            found.at(&[place(name)], format!("{INFO} has no dataset `{name}`"), help);
            continue;
        };
        let local = entry["file_name"].as_str().filter(|_| !ELSEWHERE.iter().any(|key| entry.get(key).is_some()));
        if let Some(data) = local.map(|local| folder.join(local)).filter(|data| is_missing(data)) {
            let what = format!("the dataset `{name}` is in `{}`, which does not exist", data.display());
            found.at(&[place(name)], what, format!("mend its file_name in {}", file.display()));
        }
    }
}

/// `load_dataset` takes a name of the hub or a folder. A file is neither.
fn of_trl(subject: &Subject, found: &mut Findings) {
    let Some(name) = value(subject, "dataset_name").filter(|name| !name.contains('$')) else { return };
    if subject.job.args.list("datasets").is_some_and(|(_, values)| !values.is_empty()) {
        return;
    }
    let path = subject.host.cwd.join(name);
    let place = format!("--dataset_name {name}");
    if path.is_file() && !is_called(&path, &["py"]) {
        let folder = path.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
        let what = format!("`{name}` is a file, and TRL wants the folder that has the data, or a name of the hub");
        found.at(&[place], what, format!("--dataset_name {folder}"));
    } else {
        tell_missing(name, &path, place, found);
    }
}

fn of_swift(subject: &Subject, found: &mut Findings) {
    let args = &subject.job.args;
    let Some((option, values)) = args.list("dataset") else { return };
    let plugins = ["external_plugins", "custom_register_path", "custom_dataset_info"];
    if plugins.iter().any(|name| args.list(name).is_some()) {
        return;
    }
    for value in values.iter().filter_map(|value| value.to_str()) {
        let name = value.split('#').next().unwrap_or(value);
        // Names of the hub have no such ending. Before 3.0 commas stood between several.
        if !is_called(Path::new(name), ENDINGS) || name.contains("::") || name.contains(',') {
            continue;
        }
        let path = subject.host.absolute(Path::new(name));
        let place = format!("{option} {value}");
        if values.len() == 1 && std::fs::metadata(&path).is_ok_and(|it| it.is_file() && it.len() == 0) {
            found.at(&[place], format!("`{name}` has nothing in it"), "name a file with data".to_string());
        } else if is_called(&path, &["jsonl"]) && starts_with_no_json(&path) {
            let what = format!("the first line of `{name}` is no JSON");
            found.at_with_severity(Severity::Warning, &[place], what, "one JSON object a line".to_string());
        } else {
            tell_missing(name, &path, place, found);
        }
    }
}

/// Whether the first line of a small file is no JSON, and nor is all of it.
fn starts_with_no_json(path: &Path) -> bool {
    const MOST: u64 = 64 << 10;
    let Ok(Some((mut file, _))) = reading::open(path).map(|it| it.filter(|(_, size)| *size <= MOST)) else {
        return false;
    };
    let mut text = String::new();
    let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let first = |text: &str| text.lines().find(|line| !line.trim().is_empty()).map(str::to_string);
    file.read_to_string(&mut text).is_ok()
        // Python takes NaN.
        && first(&text).is_some_and(|line| !is_json(&line) && !is_json(&text) && !text.contains("NaN"))
}

/// A file without a folder in front of it could be a name of the hub, though none ends like that.
fn tell_missing(name: &str, path: &Path, place: String, found: &mut Findings) {
    if !name.contains('/') && is_called(path, ENDINGS) && is_missing(path) {
        let what = format!("there is no file `{name}` here, so the trainer looks for it on the hub");
        found.at_with_severity(Severity::Warning, &[place], what, "check the path".to_string());
    }
}

fn is_called(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|it| endings.iter().any(|ending| it == *ending))
}
