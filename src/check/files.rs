//! Scripts, modules, models and datasets of the command that are missing or cannot be loaded.

use std::path::Path;

use serde_json::{Map, Value};

use super::{
    rows::Findings,
    subject::Subject,
    tables::names::{
        ADAPTER_CONFIG, DATA, DATASET_INFO, DIVIDES_OTHERWISE, DOWNLOADED, NAME_MODEL_FOLDER,
        OFFLINE_VARIABLES, OFFLINE_WORDS, REGISTERED_BY, WEIGHTS,
    },
};
use crate::{
    command::{
        input_paths::{self, is_missing},
        model::{self, Hub},
        tables::front_end::Datasets,
        target::Target,
    },
    host::names_in,
    ranks::topology::Topology,
    report::prelude::*,
};

pub fn missing_script(subject: &Subject, found: &mut Findings) {
    let Target::Script { path, .. } = &subject.job.target else {
        return;
    };
    let file = subject.host.cwd.join(path);
    if !subject.job.rewritten && is_missing(&file) {
        let what = format!("`{}` does not exist", path.to_string_lossy());
        // If the ranks exist already, Python reports it at once.
        let ranks_exist = subject.topology.is_some_and(Topology::ranks_exist);
        found
            .at([Place::from(&file)], what, reading::path_advice(&file))
            .error_if(!ranks_exist);
    }
}

pub fn missing_module(subject: &Subject, found: &mut Findings) {
    let job = subject.job;
    if let (Target::Module { name, .. }, Some(python)) = (&job.target, &job.python)
        && let Some(name) = name.to_str()
        && !job.rewritten
        && python.lacks_module(name, subject.host)
    {
        let what = format!("{} has no module `{name}`", python.program.display());
        let help = "check the name; `-m` looks in the current folder, PYTHONPATH and the installed packages";
        found.at([Place::option("-m", name)], what, help);
    }
}

pub fn missing_paths(subject: &Subject, found: &mut Findings) {
    let inputs = subject.job.trainer.arguments.inputs;
    for missing in input_paths::missing(inputs, &subject.job.args, subject.host) {
        let value = &missing.value;
        let place = subject.place_of(value, Place::option(&missing.option, value));
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
        found.at([place], what, fix).error_if(missing.certain);
    }
}

pub fn missing_weights(subject: &Subject, found: &mut Findings) {
    let Subject { job, host, .. } = subject;
    let Some(model) = job.args.text(job.trainer.model.argument) else {
        return;
    };
    let folder = host.cwd.join(model.value);
    let has = |name: &str| folder.join(name).is_file();
    // A folder with config.json alone may be made for planning.
    let has_tokenizer = has("tokenizer.json") || has("tokenizer_config.json");
    let loads_it = job.trainer.model.needs_weights && job.args.list("train_from_scratch").is_none();
    if !loads_it || !has("config.json") || has(ADAPTER_CONFIG) {
        return;
    }
    let names: Vec<String> = names_in(&folder).collect();
    let has_weights = names.iter().any(|name| is_called(Path::new(name), WEIGHTS));
    let is_split = has("model.safetensors.index.json") && !has("model.safetensors");
    // 4 of `model-00001-of-00004.safetensors`.
    let parts_of = |name: &String| {
        let parts = name.strip_prefix("model-")?.strip_suffix(".safetensors")?;
        parts.split_once("-of-")?.1.parse().ok()
    };
    let mut parts: Vec<usize> = names.iter().filter_map(parts_of).collect();
    let there = parts.len();
    parts.dedup();
    let lacks = match parts[..] {
        [all] if is_split && there < all => format!("{there} of {all} files of weights"),
        _ if has_tokenizer && !has_weights => "a tokenizer but no weights".to_string(),
        _ => return,
    };
    let what = format!("`{}` has {lacks}", folder.display());
    let help = "download the model again, including its *.safetensors";
    found.at([Place::from(&folder)], what, help);
}

pub fn unreadable_datasets(subject: &Subject, found: &mut Findings) {
    match subject.job.trainer.arguments.datasets {
        Datasets::Unknown => {}
        Datasets::Listed => listed_datasets(subject, found),
        Datasets::Folders => dataset_folder(subject, found),
        Datasets::Files => dataset_files(subject, found),
    }
}

pub fn unreadable_model(subject: &Subject, found: &mut Findings) {
    let Some(model) = subject.job.args.text(subject.job.trainer.model.argument) else {
        return;
    };
    let value = &model.value;
    let cwd = &subject.host.cwd;
    let path = cwd.join(value);
    let has = |name: &&str| path.join(name).is_file();
    let is_console = !subject.job.trainer.launch.consoles.is_empty();
    let place = Place::from(&model);
    if path.is_file() {
        let what = format!("the model `{value}` is a file, not a folder");
        found
            .at([place], what, NAME_MODEL_FOLDER)
            .error_if(is_console);
    } else if path.is_dir() {
        if !["config.json", ADAPTER_CONFIG].iter().any(has) {
            let what = format!("the folder `{value}` has no config.json, so it is not a model");
            found.at([place], what, NAME_MODEL_FOLDER).error_if(false);
        }
    } else if !value.contains(['/', '$'])
        && let Some(near) = reading::nearest_in(cwd, value, Path::is_dir)
    {
        let what =
            format!("there is no folder `{value}`, so the trainer looks for this model on the hub");
        found
            .at([place], what, give_as(&model.from, &near).meaning(near))
            .error_if(false);
    } else if let Some(variable) = keeps_from_download(subject, value) {
        let offline = subject.host.var(variable).unwrap_or_default();
        let what = format!(
            "`{value}` is not in the Hugging Face cache, and {variable} prevents the download"
        );
        let download =
            run(format!("hf download {value}")).remark("on a machine with network access");
        let places = [place, Place::variable(variable, offline)];
        found
            .at(places, what, download.or(unset_variable(variable)))
            .error_if(is_console);
    }
}

/// The variable that forbids the download, if the model must be downloaded.
fn keeps_from_download(subject: &Subject, model: &str) -> Option<&'static str> {
    let Subject { job, host, .. } = subject;
    let is_name = !model.starts_with(['.', '/', '~']) && !model.contains('$');
    let is_on = |name: &&str| {
        let value = host.nonempty_var(name).unwrap_or_default().to_uppercase();
        OFFLINE_WORDS.contains(&&*value)
    };
    let variable = OFFLINE_VARIABLES.iter().copied().find(is_on)?;
    let is_needed = is_name
        && job.args.list("cache_dir").is_none()
        && job.hub(host) == Hub::HuggingFace
        && model::config_file(model, None, Hub::HuggingFace, host).is_none();
    is_needed.then_some(variable)
}

/// Each rank has written its part of the optimizer's states.
pub fn checkpoint_ranks(subject: &Subject, found: &mut Findings) {
    let checkpoint = value(subject, "resume_from_checkpoint");
    let Some((checkpoint, ranks)) = checkpoint.zip(subject.world()) else {
        return;
    };
    let folder = subject.host.cwd.join(checkpoint);
    let place = Place::option("--resume_from_checkpoint", checkpoint);
    let Some(tag) = reading::text_if_any(&folder.join("latest")) else {
        let is_whole = |name: String| name.starts_with("global_step") || name == "latest_universal";
        let is_weights =
            folder.join("trainer_state.json").is_file() && !names_in(&folder).any(is_whole);
        if is_weights && subject.is_hf() && value(subject, "resume_only_model").is_none() {
            let what = "the checkpoint has the states of no rank (global_step…), as --save_only_model leaves it: DeepSpeed refuses to resume from it";
            found.at(
                [place],
                what,
                "give it as the model, and start with a new optimizer",
            );
        }
        return;
    };
    let is_part = |name: &String| {
        name.contains("zero_pp_rank_") && name.ends_with("_mp_rank_00_optim_states.pt")
    };
    let parts = names_in(&folder.join(tag.trim())).filter(is_part).count() as u64;
    let is_divided = DIVIDES_OTHERWISE
        .iter()
        .any(|key| subject.get(key).is_some());
    if parts > 0 && parts != ranks && !is_divided {
        let what =
            format!("{parts} ranks wrote the checkpoint, and DeepSpeed refuses it on {ranks}");
        let help = format!("use {parts} ranks, or convert it with DeepSpeed's ds_to_universal.py");
        found.at([place], what, help);
    }
}

fn value<'a>(subject: &Subject<'a>, name: &str) -> Option<&'a str> {
    subject.given(name)?.value
}

/// Every dataset is an entry of `dataset_info.json` in `dataset_dir`.
fn listed_datasets(subject: &Subject, found: &mut Findings) {
    let cwd = &subject.host.cwd;
    let folder = value(subject, "dataset_dir").unwrap_or("data");
    let lists = ["dataset", "eval_dataset"].map(|name| value(subject, name).unwrap_or_default());
    let names: Vec<&str> = lists
        .iter()
        .flat_map(|names| names.split(','))
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .collect();
    // Tokenized data are read instead.
    let is_tokenized = value(subject, "tokenized_path").is_some_and(|path| cwd.join(path).exists());
    let is_remote = folder == "ONLINE" || folder.starts_with("REMOTE:");
    let is_open =
        !subject.is_seen("dataset_dir") || [folder, &lists.concat()].concat().contains('$');
    if names.is_empty() || is_tokenized || is_remote || is_open {
        return;
    }
    let folder = cwd.join(folder);
    let file = folder.join(DATASET_INFO);
    let shown = file.display();
    let place = |name: &str| [subject.place_of(name, Place::from(name))];
    let info = reading::text_if_any(&file)
        .and_then(|text| serde_json::from_str::<Map<String, Value>>(&text).ok());
    let Some(info) = info else {
        let what = format!("`{shown}` is missing or not JSON, so the trainer knows no datasets");
        found.at(
            place(names[0]),
            what,
            give("dataset_dir", "FOLDER").of(Owner::Trainer),
        );
        return;
    };
    for name in names {
        let Some(entry) = info.get(name) else {
            let fix = match nearest(name, info.keys().map(String::as_str)) {
                Some(near) => rename_option(name, near).of(Owner::Trainer),
                None => say(format_args!("add it to {shown}")),
            };
            found.at(
                place(name),
                format!("{DATASET_INFO} has no dataset `{name}`"),
                fix,
            );
            continue;
        };
        let is_downloaded = DOWNLOADED.iter().any(|key| entry.get(key).is_some());
        if let Some(local) = entry["file_name"].as_str()
            && !is_downloaded
            && is_missing(&folder.join(local))
        {
            let data = folder.join(local);
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
    let path = subject.host.cwd.join(name);
    let place = Place::option("--dataset_name", name);
    if value(subject, "datasets").is_some() {
        return;
    }
    if path.is_file() && !is_called(&path, &["py"]) {
        let what = format!(
            "`{name}` is a file, but TRL needs the folder with the data, or a dataset on the hub"
        );
        found.at(
            [place],
            what,
            "put the file into a folder of its own, and name that folder",
        );
    } else {
        report_missing(name, &path, place, found);
    }
}

fn dataset_files(subject: &Subject, found: &mut Findings) {
    let args = &subject.job.args;
    if REGISTERED_BY.iter().any(|name| args.list(name).is_some()) {
        return;
    }
    for name in ["dataset", "val_dataset"] {
        let Some((option, values)) = args.list(name) else {
            continue;
        };
        for value in values.iter().filter_map(|value| value.to_str()) {
            let name = value.split('#').next().unwrap_or(value);
            // Before 3.0, commas separated datasets.
            if !name.contains("::") && !name.contains(',') {
                let path = subject.host.absolute(Path::new(name));
                report_missing(name, &path, Place::option(&option, value), found);
            }
        }
    }
}

fn report_missing(name: &str, path: &Path, place: Place, found: &mut Findings) {
    // Names on the hub have no such ending.
    let is_data = |file: &Path| is_called(file, DATA);
    let is_misspelt = || {
        let folder = path.parent().filter(|_| name.contains('.'));
        folder.and_then(|folder| reading::nearest_in(folder, name, is_data))
    };
    if !name.contains('/') && is_missing(path) && (is_data(path) || is_misspelt().is_some()) {
        let what =
            format!("there is no file `{name}` here, so the trainer looks for it on the hub");
        found.at([place], what, reading::path_advice(path)).severity = Severity::Warning;
    }
}

fn is_called(path: &Path, endings: &[&str]) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| endings.contains(&ending))
}
