//! The size and shape of a model: from the headers of its checkpoint, its config.json, a number the user gave, or its name.

use serde_json::json;

use super::architecture::{self, KnownSize, Weights};
use super::checkpoint;
use super::tables::typical::TYPICAL;
use crate::base::layout::plural;
use crate::base::size;
use crate::base::source::Sourced;
use crate::command::model::{self, Hub};
use crate::host::Host;
use crate::report::fix::{Fixes, give, run};
use crate::report::{self, Problem, Rule, reading};

pub(super) struct ModelLookup {
    pub(super) hub: Hub,
    pub(super) revision: Option<String>,
    /// The size of a model whose files are not here is taken from its name.
    pub(super) trusts_names: bool,
}

/// With the shape of the typical dense model nearest in size.
fn of_size(known: KnownSize) -> Weights {
    let models = TYPICAL.iter().filter_map(|model| {
        let config = json!({
            "model_type": "qwen2", "hidden_size": model.hidden, "num_hidden_layers": model.layers,
            "intermediate_size": model.inner, "num_attention_heads": model.heads,
            "num_key_value_heads": model.key_value_heads, "tie_word_embeddings": model.tied,
        });
        let assumed = vec![format!("the shape of {}", model.name)];
        Some(Weights {
            assumed,
            ..architecture::read(&config, None)?
        })
    });
    let distance = |model: &Weights| {
        let larger = model.params.max(known.params);
        let smaller = model.params.min(known.params);
        (larger.div_ceil(smaller.max(1)), larger - smaller)
    };
    let nearest = models.min_by_key(distance);
    nearest.unwrap_or_default().with_params(known)
}

pub(super) fn find(
    model: Option<&Sourced<String>>,
    params: Option<&Sourced<u64>>,
    lookup: &ModelLookup,
    host: &Host,
) -> Result<Weights, Problem> {
    let local = match model {
        Some(name) => of_local_model(name, lookup, host)?,
        None => None,
    };
    let known = params.map(|params| KnownSize {
        params: params.value,
        from: params.from.to_string(),
    });
    match (local, known, model) {
        (Some(weights), Some(known), _) => Ok(weights.with_params(known)),
        (Some(weights), None, _) => Ok(weights),
        (None, Some(known), _) => Ok(of_size(known)),
        (None, None, Some(name)) => by_name(name, lookup),
        (None, None, None) => Err(report::nothing_to_fit()),
    }
}

/// A model whose files are not on this machine.
fn by_name(name: &Sourced<String>, lookup: &ModelLookup) -> Result<Weights, Problem> {
    if lookup.trusts_names
        && let Some(params) = size_in_name(&name.value)
    {
        let from = "by its name; no files found".to_string();
        return Ok(of_size(KnownSize { params, from }));
    }
    let what = format!(
        "`{}` is neither a folder nor in the Hugging Face or ModelScope cache",
        name.value
    );
    let estimate = if lookup.trusts_names {
        run("zlaunch fit --params 8B")
    } else {
        run(format!("zlaunch fit --model {} --gpu H100x8", name.value))
            .remark("then --deepspeed NAME")
    };
    let download = Fixes::from("download it first (its config.json is enough)");
    Err(Problem::error(Rule::Fit, what)
        .at(name)
        .fix(download.or(estimate)))
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
    let by_headers = || {
        let counted = checkpoint
            .as_ref()
            .filter(|checkpoint| !checkpoint.packed)?;
        let files = plural(counted.files as u64, "safetensors file", "s");
        Some(KnownSize {
            params: counted.params,
            from: format!("the headers of {files}"),
        })
    };
    architecture::read(&config, by_headers())
        .or_else(|| by_headers().map(of_size))
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
