//! A model's config.json, offline: in a local folder, the Hugging Face cache or the ModelScope cache. Only the hidden size
//! is read here; `fit` reads the rest.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

pub use super::tables::hidden_sizes::*;
use crate::{
    base::vars,
    host::{Host, stays_below},
    report::reading,
};

/// The hub whose cache is searched first for a model that is no folder.
#[derive(Clone, Copy, PartialEq)]
pub enum Hub {
    HuggingFace,
    ModelScope,
}

impl Hub {
    pub fn cache(self, host: &Host) -> Option<PathBuf> {
        match self {
            Hub::HuggingFace => host
                .path(vars::HF_HUB_CACHE)
                .or_else(|| host.path(vars::HUGGINGFACE_HUB_CACHE))
                .or_else(|| Some(host.hf_home()?.join("hub"))),
            Hub::ModelScope => host
                .path(vars::MODELSCOPE_CACHE)
                .or_else(|| Some(host.home()?.join(".cache/modelscope"))),
        }
    }
}

/// The rules by which the hidden size is read from a model's config.
#[derive(Clone, Copy, PartialEq)]
pub enum HiddenSizeLookup {
    Transformers,
    /// ms-swift copies the text model's `hidden_size` to the top of the config first.
    MsSwift,
}

#[derive(Clone, PartialEq)]
pub struct HiddenSize {
    pub value: u64,
    pub file: PathBuf,
    /// It is at the top of the config, where accelerate looks too, and not only in a text model's section.
    pub at_top: bool,
}

fn recorded(mark: char, config: &Value) -> Option<&'static str> {
    let model_type = config.get("model_type")?.as_str()?;
    NAMES.lines().find_map(|line| {
        let (key, types) = line.split_once(' ')?;
        let key = key.strip_suffix(mark)?;
        types
            .split(' ')
            .any(|known| known == model_type)
            .then_some(key)
    })
}

pub fn hidden_size(
    name: &str,
    revision: Option<&str>,
    hub: Hub,
    lookup: HiddenSizeLookup,
    host: &Host,
) -> Result<HiddenSize, String> {
    let file = config_file(name, revision, hub, host).ok_or_else(|| {
        format!("{name} is neither a folder nor in the Hugging Face or ModelScope cache")
    })?;
    let config = reading::read(&file, host).map_err(|problem| problem.what)?;
    // The class in the model's own code may take it from elsewhere.
    if config
        .get("auto_map")
        .is_some_and(|map| map.get("AutoConfig").is_some())
    {
        return Err(format!(
            "{} names code of the model's own that reads it (auto_map)",
            file.display()
        ));
    }
    let (value, at_top) = read_hidden_size(&config, lookup)
        .ok_or_else(|| format!("{} names no hidden size", file.display()))?;
    Ok(HiddenSize {
        value,
        file,
        at_top,
    })
}

/// The size, and whether it is at the top of the config.
pub fn read_hidden_size(config: &Value, lookup: HiddenSizeLookup) -> Option<(u64, bool)> {
    let swift = lookup == HiddenSizeLookup::MsSwift;
    let section = |names: &[&str], of: &Value| {
        names
            .iter()
            .filter_map(|name| of.get(name))
            .find_map(|section| own_size(section, lookup))
    };
    let own = own_size(config, lookup);
    let inner = section(&TEXT_SECTIONS[..1], config);
    match (own, inner) {
        // Of two different ones, the model's class decides which one is kept.
        (Some(own), Some(inner)) if own != inner => None,
        // Such a class has a default at the top, which is found first.
        (None, Some(_)) if recorded(UNREAD, config).is_some() => None,
        (_, Some(inner)) => Some((inner, swift)),
        (Some(own), None) => Some((own, swift || recorded(MOVED, config).is_none())),
        (None, None) if swift => {
            let thinker = config.get("thinker_config");
            let deeper =
                section(&TEXT_SECTIONS[1..], config).or_else(|| section(TEXT_SECTIONS, thinker?));
            Some((deeper?, true))
        }
        (None, None) => None,
    }
}

/// `hidden_size`, or the name the class maps it to. ms-swift reads an attribute of exactly
/// this name, and writes None where there is none (`compat_zero3`).
fn own_size(config: &Value, lookup: HiddenSizeLookup) -> Option<u64> {
    if let Some(old) = recorded(PREFERRED, config)
        .and_then(|key| config.get(key))
        .filter(|old| !old.is_null())
    {
        return old.as_u64();
    }
    let size = config.get("hidden_size");
    let mapped = recorded(MAPPED, config);
    if lookup == HiddenSizeLookup::MsSwift && (size.is_none() || mapped.is_some()) {
        return None;
    }
    size.or_else(|| config.get(mapped?))?.as_u64()
}

/// The model's config.json, which has the model's other files beside it.
pub fn config_file(name: &str, revision: Option<&str>, hub: Hub, host: &Host) -> Option<PathBuf> {
    let local = host.absolute(Path::new(name));
    if local.is_dir() {
        return Some(local.join("config.json")).filter(|file| file.is_file());
    }
    // ORG/NAME or NAME, nothing that leaves the cache.
    let parts: Vec<&str> = name.split('/').collect();
    if parts.len() > 2
        || parts
            .iter()
            .any(|part| part.is_empty() || part.starts_with('.'))
    {
        return None;
    }
    let hugging_face = || in_hugging_face_cache(&parts, revision, host);
    let modelscope = || in_modelscope_cache(&parts, revision, host);
    // The trainer's own hub first; a model of the same name on the other one has the same shape.
    match hub {
        Hub::HuggingFace => hugging_face().or_else(modelscope),
        Hub::ModelScope => modelscope().or_else(hugging_face),
    }
}

fn in_hugging_face_cache(parts: &[&str], revision: Option<&str>, host: &Host) -> Option<PathBuf> {
    let model = Hub::HuggingFace
        .cache(host)?
        .join(format!("models--{}", parts.join("--")));
    let revision = revision.unwrap_or("main");
    let named = if stays_below(revision) {
        reading::text_if_any(&model.join("refs").join(revision))
    } else {
        None
    };
    let commit = named.as_deref().map_or(revision, str::trim);
    let snapshots = model.join("snapshots");
    let file = snapshots.join(commit).join("config.json");
    if stays_below(commit) && file.is_file() {
        return Some(file);
    }
    // No ref was recorded but only one snapshot is there: nothing else can be meant.
    let mut all = fs::read_dir(&snapshots).ok()?.filter_map(Result::ok);
    let file = all.next()?.path().join("config.json");
    (all.next().is_none() && revision == "main" && file.is_file()).then_some(file)
}

fn in_modelscope_cache(parts: &[&str], revision: Option<&str>, host: &Host) -> Option<PathBuf> {
    let [org, name] = parts else { return None };
    let base = Hub::ModelScope.cache(host).filter(|base| base.is_dir())?;
    let revision = revision
        .filter(|revision| *revision != "main" && stays_below(revision))
        .unwrap_or("master");
    let newest = base.join(format!("models/{org}--{name}/snapshots/{revision}"));
    let names = [name.replace('.', "___"), (*name).to_string()];
    let older = ["models", "hub/models", "", "hub"]
        .into_iter()
        .flat_map(|folder| {
            let folder = base.join(folder).join(org);
            names.each_ref().map(|name| folder.join(name))
        });
    [newest]
        .into_iter()
        .chain(older)
        .map(|folder| folder.join("config.json"))
        .find(|file| file.is_file())
}
