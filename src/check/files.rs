//! Scripts, modules, models and datasets of the command that are missing or cannot be loaded.

use std::path::Path;

use serde_json::{Map, Value};

use super::findings::Findings;
use super::subject::Subject;
use super::tables::names::{DATA, DOWNLOADED, REGISTERED_BY, WEIGHTS};
use crate::base::source::Sourced;
use crate::command::front_end::Datasets;
use crate::command::input_paths::{self, is_missing};
use crate::command::model::Hub;
use crate::command::python::Presence;
use crate::command::target::Target;
use crate::command::trainer;
use crate::ranks::topology::Topology;
use crate::report::fix::{Owner, give, give_as, rename_option, run, say, unset_variable};
use crate::report::{Place, Severity, nearest, reading};

/// A folder with this file is an adapter; the model is elsewhere.
const ADAPTER: &str = "adapter_config.json";
const INFO: &str = "dataset_info.json";
const NAME_FOLDER: &str = "name the folder that has the model's config.json";

pub(super) fn missing_script(subject: &Subject, found: &mut Findings) {
    let (Target::Script { path, .. }, false) = (&subject.job.target, subject.job.rewritten) else {
        return;
    };
    let word = path.to_string_lossy();
    let path = subject.host.cwd.join(path);
    let can_run = |name: &str| path.join(name).is_file();
    if is_missing(&path) {
        let what = format!("`{word}` does not exist");
        let problem = found.at([Place::from(&path)], what, reading::path_advice(&path));
        // If the ranks exist already, Python reports it at once.
        let ranks_exist = subject.topology.is_some_and(Topology::ranks_exist);
        problem.severity = Severity::error_if(!ranks_exist);
    } else if path.is_dir() && !can_run("__main__.py") && !can_run("__main__.pyc") {
        let what = format!("`{word}` is a folder without `__main__.py`, which Python cannot run");
        let help = format!("name a script in it: {word}/train.py");
        found.at([Place::from(&path)], what, help);
    }
}

pub(super) fn missing_module(subject: &Subject, found: &mut Findings) {
    let job = subject.job;
    let (Target::Module { name, .. }, Some(python), false) =
        (&job.target, &job.python, job.rewritten)
    else {
        return;
    };
    let Some(name) = name.to_str() else { return };
    let is_missing = |name: &str| python.seek(name, subject.host) == Presence::Missing;
    let place = Place::option("-m", name);
    if is_missing(name) {
        let what = format!("{} has no module `{name}`", python.program.display());
        let fix = match name.strip_suffix(".py") {
            Some(module) => give("-m", module).of(Owner::Trainer).remark("without .py"),
            None => say(
                "check the name; `-m` looks in the current folder, PYTHONPATH and the installed packages",
            ),
        };
        found.at([place], what, fix);
        return;
    }
    let path = name.replace('.', "/");
    let has = |file: &str| python.file(&format!("{path}{file}")).is_some();
    let is_script = job.source.is_some() || has(".py") || has("/__main__.py");
    if !is_script && (has("/__init__.py") || is_missing(&format!("{name}.__main__"))) {
        let what =
            format!("`{name}` is a package without `__main__.py`, which `python -m` cannot run");
        let fix = if trainer::is_console(name.as_ref()) {
            rename_option(format_args!("python -m {name}"), name).of(Owner::Trainer)
        } else {
            say("name the module in it that trains")
        };
        found.at([place], what, fix);
    }
}

pub(super) fn missing_paths(subject: &Subject, found: &mut Findings) {
    let inputs = subject.job.trainer.arguments.inputs;
    for missing in input_paths::missing(inputs, &subject.job.args, subject.host) {
        let value = &missing.value;
        let in_file = subject.job.place_in_run_file(value, subject.host);
        let place = in_file.unwrap_or_else(|| Place::option(&missing.option, value));
        let (what, fix) = match missing.expanded {
            Some(expanded) => (
                format!("the `~` in `{value}` is not expanded"),
                give(missing.option, expanded.display()).of(Owner::Trainer),
            ),
            None => (
                format!("`{value}` does not exist"),
                reading::path_advice(&missing.path),
            ),
        };
        let doubt = if missing.certain {
            ""
        } else {
            ": the run fails if the script reads it"
        };
        found.at([place], what + doubt, fix).severity = Severity::error_if(missing.certain);
    }
}

pub(super) fn missing_weights(subject: &Subject, found: &mut Findings) {
    let loads = subject.job.trainer.model.needs_weights
        && subject.job.args.list("train_from_scratch").is_none();
    let (Some(folder), true) = (subject.model_folder(), loads) else {
        return;
    };
    let has = |name: &str| folder.join(name).is_file();
    // A folder with config.json alone may be made for planning.
    let has_tokenizer = has("tokenizer.json") || has("tokenizer_config.json");
    if !has_tokenizer || !has("config.json") || has(ADAPTER) || has("model.safetensors") {
        return;
    }
    let Ok(files) = std::fs::read_dir(&folder) else {
        return;
    };
    let mut files = files.flatten().take(10_000).map(|file| file.path());
    if !files.any(|file| is_called(&file, WEIGHTS)) {
        let what = format!("`{}` has a tokenizer but no weights", folder.display());
        let help = "download the model again, including its *.safetensors";
        found.at([Place::from(&folder)], what, help);
    }
}

pub(super) fn unreadable_datasets(subject: &Subject, found: &mut Findings) {
    match subject.job.trainer.arguments.datasets {
        Datasets::Unknown => {}
        Datasets::Listed => listed_datasets(subject, found),
        Datasets::Folders => dataset_folder(subject, found),
        Datasets::Files => dataset_files(subject, found),
    }
}

pub(super) fn unreadable_model(subject: &Subject, found: &mut Findings) {
    let Some(model) = subject.job.args.text(subject.job.trainer.model.argument) else {
        return;
    };
    let value = &model.value;
    let place = Place::from(&model);
    let severity = Severity::error_if(!subject.job.trainer.launch.consoles.is_empty());
    let path = subject.host.cwd.join(value);
    let file = path.join("config.json");
    if path.is_file() {
        let what = format!("the model `{value}` is a file, not a folder");
        found.at([place], what, NAME_FOLDER).severity = severity;
    } else if !path.is_dir() {
        model_elsewhere(subject, &model, severity, found);
    } else if let Some(text) = reading::text_if_any(&file) {
        // Python takes NaN, too.
        let is_json = serde_json::from_str::<Value>(&text).is_ok();
        if !is_json && !text.contains("NaN") && !text.contains("Infinity") {
            let what = format!("the config.json of the model `{value}` is not JSON");
            let help = "download it again, or fix the file";
            found.at([Place::from(&file)], what, help).severity = severity;
        }
    } else if !path.join(ADAPTER).is_file() {
        let what = format!("the folder `{value}` has no config.json, so it is not a model");
        found.at([place], what, NAME_FOLDER).severity = Severity::Warning;
    }
}

/// The model is not in a folder here: the hub has it, or its name is misspelt.
fn model_elsewhere(
    subject: &Subject,
    model: &Sourced<String>,
    severity: Severity,
    found: &mut Findings,
) {
    let value = &model.value;
    let cwd = &subject.host.cwd;
    let place = Place::from(model);
    if !value.contains(['/', '$'])
        && let Some(near) = reading::nearest_in(cwd, value, Path::is_dir)
    {
        let what =
            format!("there is no folder `{value}`, so the trainer looks for this model on the hub");
        let fix = give_as(&model.from, &near).meaning(near);
        found.at([place], what, fix).severity = Severity::Warning;
    } else if let Some(variable) = keeps_from_download(subject, value) {
        let what = format!(
            "`{value}` is not in the Hugging Face cache, and {variable} prevents the download"
        );
        let download = run(format!("hf download {value}"));
        let fixes = download
            .remark("on a machine with network access")
            .or(unset_variable(variable));
        let set = Place::variable(variable, subject.host.var(variable).unwrap_or_default());
        found.at([place, set], what, fixes).severity = severity;
    }
}

/// The variable that forbids the download, if the model must be downloaded.
fn keeps_from_download(subject: &Subject, model: &str) -> Option<&'static str> {
    let Subject { job, host, .. } = subject;
    let is_name = model.split('/').count() == 2
        && !model.starts_with(['.', '/', '~'])
        && !model.contains('$');
    // The first that is not empty counts.
    let mut variables = ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"].into_iter();
    let variable = variables.find(|name| host.nonempty_var(name).is_some())?;
    let is_offline =
        ["1", "ON", "YES", "TRUE"].contains(&host.var(variable)?.to_uppercase().as_str());
    let cached = format!("models--{}", model.replace('/', "--"));
    let is_needed = is_name
        && is_offline
        && job.args.list("cache_dir").is_none()
        && (job.trainer.model.hub)(&job.args, host) == Hub::HuggingFace
        && Hub::HuggingFace
            .cache(host)
            .is_some_and(|cache| !cache.join(cached).exists());
    is_needed.then_some(variable)
}

fn value<'a>(subject: &Subject<'a>, name: &str) -> Option<&'a str> {
    subject.given(name)?.value
}

/// Every dataset is an entry of `dataset_info.json` in `dataset_dir`.
fn listed_datasets(subject: &Subject, found: &mut Findings) {
    let cwd = &subject.host.cwd;
    let folder = value(subject, "dataset_dir").unwrap_or("data");
    let lists = ["dataset", "eval_dataset"].map(|name| value(subject, name).unwrap_or_default());
    let names = lists.iter().flat_map(|names| names.split(','));
    let names = names.map(str::trim).filter(|name| !name.is_empty());
    let names: Vec<&str> = names.collect();
    // Tokenized data are read instead.
    let is_tokenized = value(subject, "tokenized_path").is_some_and(|path| cwd.join(path).exists());
    let is_remote = folder == "ONLINE" || folder.starts_with("REMOTE:");
    let is_seen = subject.is_seen("dataset_dir") && !folder.contains('$');
    if names.is_empty() || is_tokenized || is_remote || !is_seen || lists.concat().contains('$') {
        return;
    }
    let folder = cwd.join(folder);
    let file = folder.join(INFO);
    let shown = file.display();
    let place = |name: &str| {
        let in_file = subject.job.place_in_run_file(name, subject.host);
        [in_file.unwrap_or_else(|| Place::from(name))]
    };
    let info = reading::text_if_any(&file)
        .and_then(|text| serde_json::from_str::<Map<String, Value>>(&text).ok());
    let Some(info) = info else {
        let what = format!("`{shown}` is missing or not JSON, so the trainer knows no datasets");
        let fix = give("dataset_dir", "FOLDER").of(Owner::Trainer);
        found.at(place(names[0]), what, fix);
        return;
    };
    for name in names {
        let Some(entry) = info.get(name) else {
            let fix = match nearest(name, info.keys().map(String::as_str)) {
                Some(near) => rename_option(name, near).of(Owner::Trainer),
                None => say(format_args!("add it to {shown}")),
            };
            let what = format!("{INFO} has no dataset `{name}`");
            found.at(place(name), what, fix);
            continue;
        };
        let is_here = !DOWNLOADED.iter().any(|key| entry.get(key).is_some());
        let data = entry["file_name"].as_str().map(|local| folder.join(local));
        if let Some(data) = data.filter(|data| is_here && is_missing(data)) {
            let data = data.display();
            let what = format!("the dataset `{name}` is in `{data}`, which does not exist");
            found.at(place(name), what, format!("fix its file_name in {shown}"));
        }
    }
}

/// `load_dataset` takes a name of the hub or a folder. A file is neither.
fn dataset_folder(subject: &Subject, found: &mut Findings) {
    let Some(name) = value(subject, "dataset_name").filter(|name| !name.contains('$')) else {
        return;
    };
    if value(subject, "datasets").is_some() {
        return;
    }
    let path = subject.host.cwd.join(name);
    let place = Place::option("--dataset_name", name);
    if path.is_file() && !is_called(&path, &["py"]) {
        let what = format!(
            "`{name}` is a file, but TRL needs the folder with the data, or a dataset on the hub"
        );
        let folder = path.parent().unwrap_or(&path).display();
        let fix = give("--dataset_name", folder).of(Owner::Trainer);
        found.at([place], what, fix);
    } else {
        report_missing(name, &path, place, found);
    }
}

fn dataset_files(subject: &Subject, found: &mut Findings) {
    let args = &subject.job.args;
    let registers = |name: &&str| args.list(name).is_some();
    let Some((option, values)) = args.list("dataset") else {
        return;
    };
    if REGISTERED_BY.iter().any(registers) {
        return;
    }
    for value in values.iter().filter_map(|value| value.to_str()) {
        let name = value.split('#').next().unwrap_or(value);
        // Names on the hub have no such ending. Before 3.0, commas separated datasets.
        if !is_called(Path::new(name), DATA) || name.contains("::") || name.contains(',') {
            continue;
        }
        let path = subject.host.absolute(Path::new(name));
        let place = Place::option(&option, value);
        let is_empty = std::fs::metadata(&path).is_ok_and(|it| it.is_file() && it.len() == 0);
        if values.len() == 1 && is_empty {
            let what = format!("`{name}` is empty");
            found.at([place], what, "name a file with data");
        } else {
            report_missing(name, &path, place, found);
        }
    }
}

fn report_missing(name: &str, path: &Path, place: Place, found: &mut Findings) {
    if !name.contains('/') && is_called(path, DATA) && is_missing(path) {
        let what =
            format!("there is no file `{name}` here, so the trainer looks for it on the hub");
        found.at([place], what, reading::path_advice(path)).severity = Severity::Warning;
    }
}

fn is_called(path: &Path, endings: &[&str]) -> bool {
    path.extension()
        .is_some_and(|extension| endings.iter().any(|ending| extension == *ending))
}
