//! How many parameters, and of what shape: from the headers of a checkpoint, from config.json, from a number that was
//! said, from a name.

use serde_json::{Value, json};

use super::architecture::{self, Shape};
use super::checkpoint;
use super::training::TrainingArgs;
use crate::base::source::Sourced;
use crate::command::model::{self, Hub};
use crate::host::Host;
use crate::report::reading;
use crate::report::{self, Problem};

#[derive(Clone, Debug)]
pub(crate) struct Weights {
    pub(crate) params: u64,
    /// Those a quantised model keeps in 16 bits.
    pub(crate) unquantised: u64,
    pub(crate) shape: Shape,
    /// Where the number comes from.
    pub(crate) from: String,
    /// What was assumed to get it.
    pub(crate) assumed: Vec<String>,
}

impl Weights {
    /// The same shape with a number that is better known.
    fn with_params(self, params: u64, from: String) -> Self {
        Weights { params, unquantised: self.unquantised.min(params), from, ..self }
    }
}

/// Where a name that is no folder is looked up.
#[derive(Clone, Debug)]
pub(crate) struct Lookup {
    pub(crate) hub: Hub,
    pub(crate) revision: Option<String>,
    /// A number in the name of a model that is not here may stand for its size.
    pub(crate) trusts_names: bool,
}

/// Dense models people know, for a number of parameters without a model: name, hidden, layers, inner, heads, kv heads.
const TYPICAL: &[(&str, u64, u64, u64, u64, u64)] = &[
    ("Qwen2.5-0.5B", 896, 24, 4864, 14, 2),
    ("Qwen2.5-1.5B", 1536, 28, 8960, 12, 2),
    ("Qwen2.5-3B", 2048, 36, 11008, 16, 2),
    ("Qwen3-8B", 4096, 36, 12288, 32, 8),
    ("Qwen2.5-14B", 5120, 48, 13824, 40, 8),
    ("Qwen2.5-32B", 5120, 64, 27648, 40, 8),
    ("Qwen2.5-72B", 8192, 80, 29568, 64, 8),
    ("Llama-3.1-405B", 16384, 126, 53248, 128, 8),
];

/// The one nearest in size.
fn typical(params: u64) -> (&'static str, Weights) {
    let all = TYPICAL.iter().filter_map(|&(name, hidden, layers, inner, heads, shared)| {
        let config = json!({
            "model_type": "qwen2", "hidden_size": hidden, "num_hidden_layers": layers, "intermediate_size": inner,
            "num_attention_heads": heads, "num_key_value_heads": shared, "tie_word_embeddings": hidden < 2560,
        });
        Some((name, architecture::read(&config)?))
    });
    let far = |one: u64| if one > params { one.div_ceil(params.max(1)) } else { params.div_ceil(one.max(1)) };
    let exact = |one: u64| (far(one), one.abs_diff(params));
    let (name, model) = all.min_by_key(|(_, model)| exact(model.params)).unwrap_or(("", nothing()));
    let unquantised = model.unquantised.min(params);
    (name, Weights { params, unquantised, shape: model.shape, from: String::new(), assumed: Vec::new() })
}

fn nothing() -> architecture::Model {
    architecture::Model {
        shape: Shape::default(),
        params: 0,
        unquantised: 0,
        kind: String::new(),
        known: false,
        is_part: false,
    }
}

fn by_number(params: u64, from: String) -> Weights {
    let (name, weights) = typical(params);
    Weights { from, assumed: vec![format!("the shape of {name}")], ..weights }
}

pub(crate) fn find(sourced: &TrainingArgs, lookup: &Lookup, host: &Host) -> Result<Weights, Problem> {
    let found = sourced.model.as_ref().map(|name| here(name, lookup, host)).transpose()?.flatten();
    match (&sourced.params, found) {
        (Some(params), Some(weights)) => Ok(weights.with_params(params.value, params.from.to_string())),
        (Some(params), None) => Ok(by_number(params.value, params.from.to_string())),
        (None, Some(weights)) => Ok(weights),
        (None, None) => match &sourced.model {
            Some(name) => {
                let size = size_in_name(&name.value).filter(|_| lookup.trusts_names);
                size.map(|size| by_number(size, "its name; nothing of it is here".to_string()))
                    .ok_or_else(|| report::model_is_not_here(name))
            }
            None => Err(report::nothing_to_fit()),
        },
    }
}

/// A model whose files are on this machine.
fn here(name: &Sourced<String>, lookup: &Lookup, host: &Host) -> Result<Option<Weights>, Problem> {
    let Some(file) = model::config_file(&name.value, lookup.revision.as_deref(), lookup.hub, host) else {
        return Ok(None);
    };
    let config = reading::read(&file)?;
    let counted = architecture::read(&config);
    let folder = file.parent().unwrap_or(&file);
    let headers = checkpoint::read(folder)?.filter(|headers| !headers.packed);
    match (headers, counted) {
        (Some(headers), counted) => {
            let plural = if headers.files == 1 { "file" } else { "files" };
            let from = format!("the headers of {} safetensors {plural}", headers.files);
            let weights = match counted {
                Some(counted) => of_config(counted, &config),
                None => by_number(headers.params, String::new()),
            };
            let assumed = weights.assumed.into_iter().filter(|it| !it.contains("language model")).collect();
            Ok(Some(Weights { assumed, ..weights }.with_params(headers.params, from)))
        }
        (None, Some(counted)) => Ok(Some(of_config(counted, &config))),
        (None, None) => Err(report::cannot_count(&file)),
    }
}

fn of_config(model: architecture::Model, config: &Value) -> Weights {
    let mut assumed = Vec::new();
    if !model.known {
        assumed.push(format!("the architecture `{}` counts like llama", model.kind));
    }
    if model.is_part {
        let whole = config.get("model_type").and_then(Value::as_str).unwrap_or("this model");
        assumed.push(format!("only the language model of {whole} is counted"));
    }
    let (params, unquantised) = (model.params, model.unquantised);
    Weights { params, unquantised, shape: model.shape, from: "config.json".to_string(), assumed }
}

/// `8B` of `Qwen/Qwen3-8B`, `0.5B` of `Qwen2.5-0.5B-Instruct`, the 30B of `30B-A3B`.
fn size_in_name(name: &str) -> Option<u64> {
    let words = name.rsplit('/').next()?.split(['-', '_']);
    words.filter(|word| word.ends_with(['B', 'b', 'M', 'm'])).find_map(|word| {
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        parameters(word).filter(|size| is_number && *size >= 1_000_000)
    })
}

/// `8B`, `1.7b`, `350M`, `8e9`, `8000000000`.
pub(crate) fn parameters(text: &str) -> Option<u64> {
    let (number, unit) = match text.strip_suffix(['B', 'b']) {
        Some(number) => (number, 1e9),
        None => match text.strip_suffix(['M', 'm']) {
            Some(number) => (number, 1e6),
            None => match text.strip_suffix(['T', 't']) {
                Some(number) => (number, 1e12),
                None => (text, 1.0),
            },
        },
    };
    whole(number.parse::<f64>().ok()? * unit)
}

/// `80GiB`, `80G` (the same), `80GB` (a little less), `81559MiB`, bytes.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    const UNITS: &[(&str, f64)] = &[
        ("KIB", 1024.0),
        ("MIB", 1_048_576.0),
        ("GIB", 1_073_741_824.0),
        ("TIB", 1_099_511_627_776.0),
        ("KB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("TB", 1e12),
        ("K", 1024.0),
        ("M", 1_048_576.0),
        ("G", 1_073_741_824.0),
        ("T", 1_099_511_627_776.0),
        ("B", 1.0),
        ("", 1.0),
    ];
    let upper = text.trim().to_ascii_uppercase();
    let (number, unit) = UNITS.iter().find_map(|(name, unit)| Some((upper.strip_suffix(name)?, unit)))?;
    whole(number.trim_end().parse::<f64>().ok()? * unit)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "what is out of range was refused")]
fn whole(number: f64) -> Option<u64> {
    (number.is_finite() && (1.0..1e18).contains(&number)).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_people_write_them() {
        for (text, size) in
            [("8B", 8_000_000_000), ("1.7b", 1_700_000_000), ("350M", 350_000_000), ("8e9", 8_000_000_000), ("5", 5)]
        {
            assert_eq!(parameters(text), Some(size), "{text}");
        }
        for (text, size) in [
            ("80GiB", 80 << 30),
            ("80G", 80 << 30),
            ("44GB", 44_000_000_000),
            ("1.5 TiB", 3 << 39),
            ("81559MiB", 81559 << 20),
            ("85899345920", 80 << 30),
        ] {
            assert_eq!(bytes(text), Some(size), "{text}");
        }
        for text in ["", "B", "GiB", "x8B", "-1B", "0", "nan", "inf", "1e30"] {
            assert_eq!((parameters(text), bytes(text)), (None, None), "{text}");
        }
    }

    #[test]
    fn names_that_tell_their_size() {
        for (name, size) in [
            ("Qwen/Qwen3-8B", Some(8_000_000_000)),
            ("Qwen/Qwen2.5-0.5B-Instruct", Some(500_000_000)),
            ("Qwen/Qwen3-30B-A3B", Some(30_000_000_000)),
            ("meta-llama/Llama-2-7b-hf", Some(7_000_000_000)),
            ("HuggingFaceTB/SmolLM-135M", Some(135_000_000)),
            ("openai-community/gpt2", None),
            ("deepseek-ai/DeepSeek-V3", None),
        ] {
            assert_eq!(size_in_name(name), size, "{name}");
        }
    }
}
