//! TRL. `trl sft …` runs accelerate in-process on a script of its own; we run that script under torchrun. With
//! `--accelerate_config` the launch is accelerate's business and the command is left alone.

use std::ffi::OsString;

use super::{Recognised, Trainer, Variable, hf, run_file};
use crate::argv::{Args, Field, OptionList, Takes};
use crate::host::Host;
use crate::target::Parts;
use crate::vars;
use crate::yaml::{Dialect, python_str};

pub(crate) const TRAINER: Trainer = Trainer {
    name: "trl",
    distribution: Some("trl"),
    recognise,
    // TRL turns bf16 on unless fp16 is given: silence says nothing.
    fp16: |args| hf::precision(args, "fp16", "fp16_full_eval", "bf16"),
    ..hf::TRAINER
};

const COMMANDS: &[&str] = &["sft", "dpo", "grpo", "kto", "reward", "rloo"];
const CONFIG: &[Field] = &[("config", Takes::One)];

/// Options of `accelerate launch`, which the outer program passes on to it.
const ACCELERATE: &[&str] = &[
    "--accelerate_config",
    "--num_processes",
    "--config_file",
    "--num_machines",
    "--main_process_port",
    "--use_deepspeed",
];

fn recognise(parts: &Parts, host: &Host) -> Option<Recognised> {
    let mut recognised = if parts.target.is_console("trl") {
        let (command, rest) = parts.args.split_first()?;
        let command = COMMANDS.iter().find(|name| command == **name)?;
        let to_accelerate = |word: &OsString| {
            ACCELERATE.iter().any(|flag| word.to_str().and_then(|word| word.split('=').next()) == Some(flag))
        };
        if rest.iter().any(to_accelerate) {
            return None;
        }
        Recognised::behind_console(parts, &format!("trl.scripts.{command}"), rest.to_vec(), host)
    } else {
        COMMANDS.iter().find(|name| parts.target.is_module(&format!("trl.scripts.{name}")))?;
        Recognised::unchanged(parts)
    };
    if let Some(file) = Args::read(recognised.args.clone(), CONFIG, OptionList::Open).raw("config") {
        match run_file::read(file.value, Dialect::PyYaml, host) {
            Ok(mut entries) => {
                recognised.variables = variables(entries.shift_remove("env").as_ref());
                let words = run_file::typed_words(&entries, &[]);
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
