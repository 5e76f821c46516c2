//! The size and shape of a model: from the headers of its checkpoint, its config.json, a number the user gave, or its name.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    io::{self, ErrorKind, Read},
    path::Path,
};

use serde_json::{Map, Value};

use super::{
    architecture::{self, KnownSize, Weights},
    tables::{
        typical::TYPICAL,
        usual::{GUESSED_SIZE, LONGEST_HEADER, PACKED, VARIANTS},
    },
};
use crate::{
    base::{layout::plural, shell, size, source::Sourced},
    command::model::{self, Hub},
    host::Host,
    report::{self, prelude::*},
};

/// Finds models on this machine.
pub struct ModelLookup<'a> {
    pub hub: Hub,
    pub revision: Option<String>,
    /// The size of a model whose files are not here is taken from its name.
    pub trusts_names: bool,
    pub host: &'a Host,
}

impl ModelLookup<'_> {
    pub fn find(
        &self,
        model: Option<&Sourced<String>>,
        params: Option<&Sourced<u64>>,
    ) -> Result<Weights, Problem> {
        let local = model.map(|name| self.local(name)).transpose()?.flatten();
        let known = params.map(|params| KnownSize {
            params: params.value,
            from: params.from.to_string(),
        });
        match (known, local, model) {
            (Some(known), local, _) => Ok(of_size(known, local)),
            (None, Some(mut weights), _) => {
                if !weights.params_are_known {
                    weights.uncounted.get_or_insert(GUESSED_SIZE.to_string());
                }
                Ok(weights)
            }
            (None, None, Some(name)) => self.by_name(name),
            (None, None, None) => Err(report::nothing_to_fit()),
        }
    }

    /// `None` if the model's config.json is not on this machine.
    fn local(&self, name: &Sourced<String>) -> Result<Option<Weights>, Problem> {
        let revision = self.revision.as_deref();
        let Some(file) = model::config_file(&name.value, revision, self.hub, self.host) else {
            return Ok(None);
        };
        let config = reading::read(&file, self.host)?;
        let counted = count_by_headers(&file)?;
        let by_config = architecture::read(&config);
        let weights = match counted {
            Some(counted) => Some(of_size(counted, by_config)),
            None => by_config,
        };
        if weights.is_none() {
            return Err(Rule::Fit
                .error("the model's size cannot be computed from this config")
                .at(&file)
                .fix(give("--params", "SIZE")));
        }
        Ok(weights)
    }

    /// A model whose files are not on this machine.
    fn by_name(&self, name: &Sourced<String>) -> Result<Weights, Problem> {
        let model = &name.value;
        let is_on_hub =
            model.matches('/').count() == 1 && shell::quoted(OsStr::new(model)) == model.as_bytes();
        let download = match self.hub {
            Hub::HuggingFace => "hf download",
            Hub::ModelScope => "modelscope download --model",
        };
        let download = is_on_hub.then(|| format!("{download} {model} config.json"));
        if self.trusts_names
            && let Some(weights) = published(model)
        {
            return Ok(weights);
        }
        if self.trusts_names
            && let Some(params) = size_in_name(model)
        {
            let from = "by its name; no files found".to_string();
            let more = download.as_deref().unwrap_or("--params NUMBER");
            return Ok(Weights {
                // The 17B of Llama-4-Scout-17B-16E are those that a token meets, of 109.
                uncounted: Some(format!("a number in a name is no count: {more}")),
                ..of_size(KnownSize { params, from }, None)
            });
        }
        let params = say("give the number of its parameters: zlaunch fit --params NUMBER");
        let fixes = match download {
            Some(line) => run(line).or(params),
            None => params.into(),
        };
        Err(Rule::Fit
            .error(format!(
                "`{model}` is neither a folder nor in the Hugging Face or ModelScope cache"
            ))
            .at(name)
            .fix(fixes))
    }
}

/// Without a shape, with that of the typical dense model nearest in size.
fn of_size(known: KnownSize, shape: Option<Weights>) -> Weights {
    let nearest = TYPICAL
        .iter()
        .filter_map(|model| {
            let assumed = vec![format!("the shape of {}", model.name)];
            Some(Weights {
                assumed,
                ..model.architecture.typical()?
            })
        })
        .min_by_key(|model| model.params.abs_diff(known.params));
    shape.or(nearest).unwrap_or_default().with_params(known)
}

/// Public models with their sizes, as their config.json says them.
const PUBLISHED: &str = include_str!("../recorded/parameter-counts.jsonl");

/// A model that is known by its name: `Qwen3-8B-Base` is as large as Qwen3-8B.
fn published(name: &str) -> Option<Weights> {
    let last = |name: &str| name.rsplit('/').next().unwrap_or(name).to_lowercase();
    let wanted = last(name);
    let is_variant = |word: &str| {
        let is_date = word.len() == 4 && word.parse::<u16>().is_ok();
        is_date || VARIANTS.contains(&word)
    };
    let model = PUBLISHED
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find(|model| {
            let known = last(model["name"].as_str().unwrap_or_default());
            wanted.strip_prefix(&known).is_some_and(|rest| {
                let mut words = rest.split('-');
                words.next() == Some("") && words.all(is_variant)
            })
        })?;
    Some(Weights {
        from: "as published; no files found".to_string(),
        ..architecture::read(&model["config"])?
    })
}

/// `8B` of `Qwen/Qwen3-8B`, `0.5B` of `Qwen2.5-0.5B-Instruct`, the 30B of `30B-A3B`.
fn size_in_name(name: &str) -> Option<u64> {
    name.rsplit('/').next()?.split(['-', '_']).find_map(|word| {
        let is_size =
            word.starts_with(|c: char| c.is_ascii_digit()) && word.ends_with(['B', 'b', 'M', 'm']);
        size::parse_count(word).filter(|size| is_size && *size >= 1_000_000)
    })
}

/// The exact number of parameters in the safetensors files beside a config.json: `model.safetensors`, or those that an index
/// names. Only the headers are read, a few hundred kilobytes of a checkpoint of any size. `None` if the files are not there, or
/// if the weights are quantised so that several share one stored number.
fn count_by_headers(config: &Path) -> Result<Option<KnownSize>, Problem> {
    let mut files = BTreeSet::from(["model.safetensors".to_string()]);
    let index = config.with_file_name("model.safetensors.index.json");
    if index.is_file() {
        let index = read(&index, false)?;
        let names = index
            .get("weight_map")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::values);
        files = names
            .filter_map(Value::as_str)
            .map(str::to_string)
            .collect();
    }
    let mut params: u64 = 0;
    let mut is_packed = false;
    for name in &files {
        // An index cannot point outside of its folder.
        let path = config.with_file_name(Path::new(name).file_name().unwrap_or_default());
        // An index is often downloaded before its files.
        if !path.exists() {
            return Ok(None);
        }
        for (name, tensor) in &read(&path, true)? {
            is_packed |= PACKED.contains(&tensor["dtype"].as_str().unwrap_or_default());
            // The scales of fp8 weights are not parameters.
            if let Some(sizes) = tensor["shape"].as_array()
                && !name.ends_with("_scale_inv")
            {
                let sizes = sizes.iter().filter_map(Value::as_u64);
                params = params.saturating_add(sizes.fold(1, u64::saturating_mul));
            }
        }
    }
    let files = plural(files.len() as u64, "safetensors file", "s");
    Ok((!is_packed && params > 0).then(|| KnownSize {
        params,
        from: format!("the headers of {files}"),
    }))
}

/// Reads JSON from a file of a checkpoint. `has_length`: the length of the JSON stands before it, and the weights behind it.
fn read(path: &Path, has_length: bool) -> Result<Map<String, Value>, Problem> {
    let read = || {
        let (mut file, mut length) = reading::open(path)?.ok_or(ErrorKind::InvalidData)?;
        if has_length {
            let mut bytes = [0; 8];
            file.read_exact(&mut bytes)?;
            length = u64::from_le_bytes(bytes);
        }
        let mut text = vec![];
        file.take(length.min(LONGEST_HEADER))
            .read_to_end(&mut text)?;
        io::Result::Ok(serde_json::from_slice(&text)?)
    };
    read().map_err(|why| {
        Rule::Checkpoint
            .error(format!("the checkpoint cannot be read: {why}"))
            .at(path)
            .fix("download it again; a file of a few bytes is a Git LFS pointer")
    })
}
