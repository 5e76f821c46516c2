//! axolotl. `axolotl train x.yml --k v` execs accelerate on a module of its own; we run that module under torchrun. With
//! launcher arguments behind `--`, or another launcher, the command is left alone.

use std::ffi::OsString;

use serde_json::{Map, Value};

use super::{HandOver, Recognised, Trainer, Variable, hf, run_file};
use crate::host::Host;
use crate::python::Python;
use crate::target::Parts;
use crate::vars;
use crate::yaml::Dialect;

pub(crate) const TRAINER: Trainer =
    Trainer { name: "axolotl", distribution: Some("axolotl"), hand_over: HandOver::Joined, recognise, ..hf::TRAINER };

const MODULE: &str = "axolotl.cli.train";

/// Its own names for what transformers calls otherwise.
const NAMES: &[(&str, &str)] =
    &[("micro_batch_size", "per_device_train_batch_size"), ("base_model", "model_name_or_path")];

fn recognise(parts: &Parts, host: &Host) -> Option<Recognised> {
    let console = parts.target.is_console("axolotl");
    let mut recognised = if console {
        let (_, rest) = parts.args.split_first().filter(|(command, _)| *command == "train")?;
        // A config that is no local file, or options that speak of the launch, are its own business.
        let local =
            rest.first().is_some_and(|file| run_file::is_first(rest) && !file.to_string_lossy().contains("://"));
        if !local || rest.iter().any(speaks_of_the_launch) {
            return None;
        }
        Recognised::behind_console(parts, MODULE, joined(rest), host)
    } else {
        parts.target.is_module(MODULE).then(|| Recognised::unchanged(parts))?
    };
    if console {
        recognised.variables = variables(recognised.python.as_ref(), host);
    }
    if run_file::is_first(&recognised.args) {
        match run_file::read(&recognised.args[0], Dialect::PyYaml, host) {
            Ok(entries) => {
                let words = run_file::typed_words(&renamed(entries.unwrap_or_default()), &[]);
                let flags = recognised.args[1..].iter().map(renamed_flag);
                recognised.read = Some(words.into_iter().chain(flags).collect());
            }
            Err(problem) => recognised.problems.push(problem),
        }
    }
    Some(recognised)
}

fn speaks_of_the_launch(word: &OsString) -> bool {
    const OWN: &[&str] =
        &["--", "--launcher", "--cloud", "--sweep", "--num-processes", "--main-process-port", "--use-ray"];
    let name = word.to_str().and_then(|word| word.split('=').next()).unwrap_or_default();
    OWN.contains(&name) || OWN.contains(&name.replace('_', "-").as_str())
}

/// `--key value` as the outer program hands it on: `--key-with-dashes=value`.
fn joined(words: &[OsString]) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let text = word.to_str().unwrap_or_default();
        let value = words.get(at + 1).filter(|value| !value.as_encoded_bytes().starts_with(b"--"));
        match (text.strip_prefix("--"), value) {
            (Some(name), Some(value)) if !name.contains('=') => {
                let mut word = OsString::from(format!("--{}=", name.replace('_', "-")));
                word.push(value);
                joined.push(word);
                at += 1;
            }
            _ => joined.push(word.clone()),
        }
        at += 1;
    }
    joined
}

fn renamed(entries: Map<String, Value>) -> Map<String, Value> {
    // `bf16: auto` asks the GPU, `full` casts the whole model: neither is an answer here.
    let answer = |key: &str, value: &Value| !["bf16", "fp16"].contains(&key) || value.is_boolean();
    let entries = entries.into_iter().filter(|(key, value)| answer(key, value));
    entries.map(|(key, value)| (name_of(&key).unwrap_or(&key).to_string(), value)).collect()
}

fn renamed_flag(word: &OsString) -> OsString {
    let text = word.to_str().and_then(|word| word.strip_prefix("--")?.split_once('='));
    let renamed = text.and_then(|(name, value)| Some(format!("--{}={value}", name_of(&name.replace('-', "_"))?)));
    renamed.map_or_else(|| word.clone(), OsString::from)
}

fn name_of(own: &str) -> Option<&'static str> {
    NAMES.iter().find(|(name, _)| *name == own).map(|(_, hf)| *hf)
}

/// What the console script exports before it launches.
fn variables(python: Option<&Python>, host: &Host) -> Vec<Variable> {
    let torch = python.and_then(|python| python.version("torch"));
    let from = |version| torch.as_ref().is_some_and(|torch| !torch.is_before(version));
    let allocator = if from([2, 9, 0]) {
        Some((vars::PYTORCH_ALLOC_CONF, "expandable_segments:True"))
    } else if from([2, 2, 0]) {
        Some((vars::PYTORCH_CUDA_ALLOC_CONF, "expandable_segments:True,roundup_power2_divisions:16"))
    } else {
        None
    };
    let allocator = allocator.filter(|(name, _)| host.raw(name).is_none());
    let check = "XFORMERS_IGNORE_FLASH_VERSION_CHECK";
    let check = host.raw(check).is_none().then_some((check, "1"));
    let set = allocator.into_iter().chain(check);
    set.map(|(name, value)| Variable {
        name: name.to_string(),
        value: value.to_string(),
        why: "as axolotl sets it".to_string(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_joined_as_the_outer_program_does() {
        let words =
            ["x.yml", "--micro_batch_size", "4", "--bf16=true", "--debug", "--adapter", "lora"].map(OsString::from);
        assert_eq!(
            joined(&words),
            ["x.yml", "--micro-batch-size=4", "--bf16=true", "--debug", "--adapter=lora"].map(OsString::from)
        );
        assert_eq!(renamed_flag(&"--micro-batch-size=4".into()), "--per_device_train_batch_size=4");
    }
}
