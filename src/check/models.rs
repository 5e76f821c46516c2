//! Local models that the trainer cannot load. Only where the ranks run on this machine.

use std::path::Path;

use serde_json::{Map, Value};

use super::findings::{Check, Findings};
use super::subject::Subject;
use crate::report::{Rule, Severity, When, reading};

pub(super) const RULES: &[Check] = &[
    Check::code(Rule::ModelUnreadable, Severity::Error, When::Start, model_unreadable).doc(
        "the model is a file, or a folder with a config.json that is not JSON (a warning for a script), or with \
             none at all (a warning)",
    ),
    Check::code(Rule::ModelUnknown, Severity::Error, When::Start, model_unknown).doc(
        "the config.json of the model names a model_type that the installed transformers does not have, or none \
             (a warning for scripts and ms-swift)",
    ),
    Check::code(Rule::WeightsMissing, Severity::Error, When::Start, weights_missing)
        .doc("the folder of the model has a tokenizer and no weights (LLaMA-Factory, ms-swift and TRL)"),
];

fn model_unreadable(subject: &Subject, found: &mut Findings) {
    let Some(model) = subject.job.args.text(subject.job.trainer.model.argument).filter(|_| subject.runs_here()) else {
        return;
    };
    let is_script = subject.job.trainer.launch.consoles.is_empty();
    let severity = if is_script { Severity::Warning } else { Severity::Error };
    let Some(folder) = subject.model_folder() else {
        if !subject.host.cwd.join(&model.value).is_file() {
            return;
        }
        let what = format!("the model `{}` is a file, and not a folder with a model in it", model.value);
        let help = "name the folder that has the model's config.json".to_string();
        return found.at_with_severity(severity, &[model.place()], what, help);
    };
    if folder.join("adapter_config.json").is_file() {
        return;
    }
    let file = folder.join("config.json");
    let (place, value) = (file.display().to_string(), &model.value);
    let Some(text) = reading::text_if_any(&file) else {
        let help = "name the folder that has the model's config.json".to_string();
        let what = format!("the folder `{value}` has no config.json, so no model is known by it");
        return found.at_with_severity(Severity::Warning, &[model.place()], what, help);
    };
    // Python takes NaN, too.
    if serde_json::from_str::<Value>(&text).is_err() && !text.contains("NaN") && !text.contains("Infinity") {
        let what = format!("the config.json of the model `{value}` is not JSON");
        found.at_with_severity(severity, &[place], what, "download it again, or mend the file".to_string());
    }
}

/// Types that every version of transformers has which zlaunch knows: no need to look.
const EVERYWHERE: &[&str] = &[
    "qwen2",
    "qwen2_moe",
    "llama",
    "mistral",
    "mixtral",
    "gemma",
    "gemma2",
    "phi",
    "phi3",
    "gpt2",
    "gpt_neox",
    "bert",
    "t5",
    "opt",
    "bloom",
    "falcon",
];
/// Where transformers lists its types.
const LISTS: &[&str] = &["transformers/models/auto/configuration_auto.py", "transformers/models/auto/auto_mappings.py"];

/// The config.json of a model that transformers must know by its type: code beside it would bring its own.
fn config<'a>(subject: &'a Subject) -> Option<(&'a Path, Map<String, Value>)> {
    let folder =
        subject.model_folder().filter(|folder| subject.runs_here() && !folder.join("adapter_config.json").is_file())?;
    let text = reading::text_if_any(&folder.join("config.json"))?;
    match serde_json::from_str(&text) {
        Ok(Value::Object(config)) if !config.contains_key("auto_map") => Some((folder, config)),
        _ => None,
    }
}

fn model_unknown(subject: &Subject, found: &mut Findings) {
    let Some((folder, config)) = config(subject) else { return };
    let named = config.get("model_type").and_then(Value::as_str);
    if named.is_some_and(|named| EVERYWHERE.contains(&named)) {
        return;
    }
    let Some(python) = &subject.job.python else { return };
    let lists: Vec<String> = LISTS.iter().filter_map(|list| reading::text_if_any(&python.file(list)?)).collect();
    let known = |named: &str| lists.iter().any(|list| list.contains(&format!("\"{named}\"")));
    if !known("qwen2") || named.is_some_and(known) {
        return;
    }
    // Before 5, a type in the name of the model did.
    let path = subject.job.args.text(subject.job.trainer.model.argument).map_or_else(String::new, |model| model.value);
    let in_name = || {
        lists
            .iter()
            .flat_map(|list| list.split("(\""))
            .any(|rest| rest.split('"').next().is_some_and(|it| !it.is_empty() && path.contains(it)))
    };
    let version = subject.package("transformers").map_or_else(String::new, |version| format!(" {version}"));
    let (what, help) = match named {
        Some(named) => (
            format!("transformers{version} has no model of type `{named}`"),
            "pip install --upgrade transformers, or mend its config.json".to_string(),
        ),
        None if in_name() => return,
        None => ("the config.json of the model has no `model_type`".to_string(), "mend the file".to_string()),
    };
    let certain = matches!(subject.job.trainer.name, "llamafactory" | "trl");
    let severity = if certain { Severity::Error } else { Severity::Warning };
    found.at_with_severity(severity, &[folder.join("config.json").display().to_string()], what, help);
}

/// How files with weights end, in every format.
const WEIGHTS: &[&str] = &["safetensors", "bin", "pt", "pth", "gguf", "h5", "msgpack", "index"];

fn weights_missing(subject: &Subject, found: &mut Findings) {
    let loads = matches!(subject.job.trainer.name, "llamafactory" | "trl" | "swift")
        && subject.job.args.list("train_from_scratch").is_none();
    let Some(folder) = subject.model_folder().filter(|_| loads && subject.runs_here()) else { return };
    let usual = ["model.safetensors", "model.safetensors.index.json"].iter().any(|name| folder.join(name).exists());
    // Nobody waits for the listing of a folder with millions of files.
    let has_weights = || match std::fs::read_dir(folder) {
        Ok(files) => files.flatten().take(10_000).any(|file| ends_with(&file.path(), WEIGHTS)),
        Err(_) => true,
    };
    // A config.json alone may be there for the plan, and the model come later.
    let has_tokenizer = || ["tokenizer.json", "tokenizer_config.json"].iter().any(|name| folder.join(name).is_file());
    if usual
        || !has_tokenizer()
        || !folder.join("config.json").is_file()
        || folder.join("adapter_config.json").is_file()
        || has_weights()
    {
        return;
    }
    let what = format!("`{}` has a tokenizer and no weights", folder.display());
    found.at(
        &[folder.display().to_string()],
        what,
        "download the model again, without leaving out its *.safetensors".to_string(),
    );
}

fn ends_with(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|it| endings.iter().any(|ending| it == *ending))
}
