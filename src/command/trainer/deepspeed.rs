//! Scripts that call `deepspeed.initialize` themselves, with `--deepspeed_config FILE` as `DeepSpeed`'s
//! `add_config_arguments` defines it, or a `--deepspeed FILE` of their own. Nobody fills an "auto" after us.

use super::hf;
use crate::command::argv::{self, Args, OptionList};
use crate::command::front_end::{ArgumentTraits, AutoFiller, ConfigTraits, TakesConfig};
use crate::command::job::{Job, Trainer};
use crate::command::script::{ScriptKind, script_kind};
use crate::command::script_source::ScriptSource;
use crate::command::target::{ParsedCommand, Target};
use crate::host::Host;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "deepspeed",
    distribution: Some("deepspeed"),
    recognise,
    config: ConfigTraits { filler: Some(AutoFiller::Nobody), argument: config_argument, ..hf::TRAINER.config },
    arguments: ArgumentTraits { fields: FIELDS, ..hf::TRAINER.arguments },
    ..hf::TRAINER
};

const FIELDS: &str = "deepspeed_config deepspeed? model_name_or_path";

const CONFIG_ARGUMENTS: [&str; 2] = ["deepspeed_config", "deepspeed"];

fn config_argument(args: &Args) -> &'static str {
    let own_file = !args.is_given("deepspeed_config") && args.raw("deepspeed").is_some();
    if own_file { "deepspeed" } else { "deepspeed_config" }
}

/// By what the script calls; where that is not seen, by its arguments.
fn recognise(command: &ParsedCommand, host: &Host) -> Option<Job> {
    if matches!(command.target, Target::Program(_)) {
        return None;
    }
    let given = Args::read(command.args.clone(), &argv::fields(FIELDS).collect::<Vec<_>>(), OptionList::Open);
    let plain = match command.source(host).map_or(ScriptKind::Unknown, |source| script_kind(source)) {
        ScriptKind::RawDeepSpeed => true,
        ScriptKind::Hf => false,
        ScriptKind::Unknown => given.is_given("deepspeed_config") || given.is_bare("deepspeed"),
    };
    plain.then(|| {
        let mut job = Job::of(&TRAINER, command);
        let named = CONFIG_ARGUMENTS.iter().any(|name| given.raw(name).is_some());
        job.takes_config = command.source(host).filter(|_| !named).and_then(|source| own_option(source));
        job
    })
}

/// The option of its own by which the script takes a config, where it does not use DeepSpeed's.
fn own_option(source: &ScriptSource) -> Option<TakesConfig> {
    if source.mentions("add_config_arguments") || source.mentions_option("deepspeed_config") {
        return None;
    }
    hf::config_options().find(|name| source.mentions_option(name)).map(|name| TakesConfig::Named(name.to_string()))
}
