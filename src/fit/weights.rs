//! The size and shape of a model: from the headers of its checkpoint, its config.json, a number the user gave, or its name.

use serde_json::Value;

use super::architecture::{self, Weights};
use super::checkpoint::{self, Checkpoint};
use super::settings::TrainingArgs;
use crate::base::layout::plural;
use crate::base::size;
use crate::base::source::Sourced;
use crate::command::model::{self, Hub};
use crate::host::Host;
use crate::report::fix::{Fixes, give, run};
use crate::report::{self, Problem, Rule, reading};

#[derive(Clone, Debug)]
pub(crate) struct ModelLookup {
    pub(crate) hub: Hub,
    pub(crate) revision: Option<String>,
    /// The size of a model whose files are not here is taken from its name.
    pub(crate) trusts_names: bool,
}

/// With the shape of the typical dense model nearest in size.
fn of_size(params: u64, from: String) -> Weights {
    let all = include_str!("typical.txt").lines().filter_map(|line| {
        let config: Value = serde_json::from_str(line).ok()?;
        Some((
            config["name"].as_str()?.to_string(),
            architecture::read(&config, None)?,
        ))
    });
    let distance = |size: u64| {
        (
            size.max(params).div_ceil(size.min(params).max(1)),
            size.abs_diff(params),
        )
    };
    let (name, nearest) = all
        .min_by_key(|(_, model)| distance(model.params))
        .unwrap_or_default();
    Weights {
        assumed: vec![format!("the shape of {name}")],
        ..nearest.with_params(params, from)
    }
}

pub(crate) fn find(
    args: &TrainingArgs,
    lookup: &ModelLookup,
    host: &Host,
) -> Result<Weights, Problem> {
    let local = args
        .model
        .as_ref()
        .map(|name| of_local_model(name, lookup, host))
        .transpose()?
        .flatten();
    match (&args.params, local, &args.model) {
        (Some(params), Some(weights), _) => {
            Ok(weights.with_params(params.value, params.from.to_string()))
        }
        (Some(params), None, _) => Ok(of_size(params.value, params.from.to_string())),
        (None, Some(weights), _) => Ok(weights),
        (None, None, Some(name)) => match size_in_name(&name.value) {
            Some(size) if lookup.trusts_names => {
                Ok(of_size(size, "by its name; no files found".to_string()))
            }
            _ => {
                let what = format!(
                    "`{}` is neither a folder nor in the Hugging Face or ModelScope cache",
                    name.value
                );
                let download = Fixes::from("download it first (its config.json is enough)");
                let by_name = run(format!("zlaunch fit --model {} --gpu H100x8", name.value))
                    .remark("then --deepspeed NAME");
                let estimate = if lookup.trusts_names {
                    run("zlaunch fit --params 8B")
                } else {
                    by_name
                };
                Err(Problem::error(Rule::Fit, what)
                    .at(name)
                    .fix(download.or(estimate)))
            }
        },
        (None, None, None) => Err(report::nothing_to_fit()),
    }
}

/// `None` if the model's config.json is not on this machine.
fn of_local_model(
    name: &Sourced<String>,
    lookup: &ModelLookup,
    host: &Host,
) -> Result<Option<Weights>, Problem> {
    let Some(file) = model::config_file(&name.value, lookup.revision.as_deref(), lookup.hub, host)
    else {
        return Ok(None);
    };
    let config = reading::read(&file, host)?;
    let checkpoint = checkpoint::read(file.parent().unwrap_or(&file))?;
    let headers = checkpoint.filter(|checkpoint| !checkpoint.packed).map(
        |Checkpoint { params, files, .. }| {
            (
                params,
                format!(
                    "the headers of {}",
                    plural(files as u64, "safetensors file", "s")
                ),
            )
        },
    );
    let of_headers = headers.clone().map(|(params, from)| of_size(params, from));
    architecture::read(&config, headers)
        .or(of_headers)
        .map(Some)
        .ok_or_else(|| {
            let what = "the model's size cannot be computed from this config";
            Problem::error(Rule::Fit, what)
                .at(&file)
                .fix(give("--params", "8B"))
        })
}

/// `8B` of `Qwen/Qwen3-8B`, `0.5B` of `Qwen2.5-0.5B-Instruct`, the 30B of `30B-A3B`.
fn size_in_name(name: &str) -> Option<u64> {
    let words = name.rsplit('/').next()?.split(['-', '_']);
    words
        .filter(|word| word.ends_with(['B', 'b', 'M', 'm']))
        .find_map(|word| {
            let is_number = word.starts_with(|c: char| c.is_ascii_digit());
            size::parse_count(word).filter(|size| is_number && *size >= 1_000_000)
        })
}
