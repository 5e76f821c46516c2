//! TRL. `trl sft …` runs accelerate in-process on a script of its own; we run that script under torchrun. With
//! `--accelerate_config` the launch is accelerate's business and the command is left alone.

use super::{Defaults, Recognised, Trainer, Variable, hf, run_file};
use crate::base::vars;
use crate::base::yaml::{Dialect, python_str};
use crate::command::argv::{Args, Field, OptionList, Takes};
use crate::command::target::Parts;
use crate::host::Host;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "trl",
    consoles: &["trl"],
    distribution: Some("trl"),
    recognise,
    // Read from the sources of 0.29.
    defaults: Defaults { seq_len: Some(1024), lora_rank: 16, checkpointing: true, ..hf::DEFAULTS },
    ..hf::TRAINER
};

const COMMANDS: &[&str] = &["sft", "dpo", "grpo", "kto", "reward", "rloo"];
const CONFIG: &[Field] = &[("config", Takes::One)];

/// Options of `accelerate launch` that TRL's own parser does not know, and so passes on to it.
const ACCELERATE: &[&str] = &[
    "accelerate_config",
    "config_file",
    "num_processes",
    "num_machines",
    "machine_rank",
    "main_process_ip",
    "main_process_port",
    "mixed_precision",
    "use_deepspeed",
    "deepspeed_config_file",
    "zero_stage",
    "use_fsdp",
    "multi_gpu",
    "gpu_ids",
    "cpu",
    "dynamo_backend",
    "num_cpu_threads_per_process",
];

fn recognise(parts: &Parts, host: &Host) -> Option<Recognised> {
    let mut recognised = if parts.target.is_console("trl") {
        let (command, rest) = parts.args.split_first()?;
        let command = COMMANDS.iter().find(|name| command == **name)?;
        let names = rest.iter().filter_map(|word| word.to_str()?.strip_prefix("--")?.split('=').next());
        if names.map(|name| name.replace('-', "_")).any(|name| ACCELERATE.contains(&name.as_str())) {
            return None;
        }
        Recognised::behind_console(parts, &format!("trl.scripts.{command}"), rest.to_vec(), host)
    } else {
        COMMANDS.iter().find(|name| parts.target.is_module(&format!("trl.scripts.{name}")))?;
        Recognised::unchanged(parts)
    };
    if let Some(file) = Args::read(recognised.args.clone(), CONFIG, OptionList::Open).raw("config") {
        match run_file::read(file.value, Dialect::PyYaml, host) {
            Ok(entries) => {
                let mut entries = entries.unwrap_or_default();
                if entries.keys().any(|key| ACCELERATE.contains(&key.as_str())) {
                    return None;
                }
                recognised.variables = variables(entries.shift_remove("env").as_ref());
                let words = run_file::typed_words(&entries, true);
                recognised.read = Some(words.into_iter().chain(recognised.args.iter().cloned()).collect());
            }
            Err(problem) => recognised.problems.push(problem),
        }
    }
    Some(recognised)
}

/// The file's `env` block overwrites what is set.
fn variables(block: Option<&serde_json::Value>) -> Vec<Variable> {
    let entries = block.and_then(|block| block.as_object()).into_iter().flatten();
    let named = entries.filter(|(name, _)| vars::is_name(name));
    named
        .map(|(name, value)| Variable {
            name: name.clone(),
            value: python_str(value),
            why: "env in the run file".to_string(),
        })
        .collect()
}
