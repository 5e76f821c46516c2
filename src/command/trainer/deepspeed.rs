//! Scripts that call `deepspeed.initialize` themselves, with `--deepspeed_config FILE` as `DeepSpeed`'s
//! `add_config_arguments` defines it, or a `--deepspeed FILE` of their own. Nothing fills an "auto" after zlaunch.

use super::hf;
use crate::command::argv::{self, Args, OptionList};
use crate::command::front_end::{ArgumentTraits, AutoFiller, ConfigTraits, NoConfig, TakesConfig};
use crate::command::job::{Job, Trainer};
use crate::command::script::{ScriptKind, calls, keyword, script_kind, shown};
use crate::command::script_source::ScriptSource;
use crate::command::target::{ParsedCommand, Target};
use crate::host::Host;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "deepspeed",
    distribution: Some("deepspeed"),
    recognise,
    config: ConfigTraits {
        filler: Some(AutoFiller::Nobody),
        argument: |args| {
            let own_file = !args.is_given("deepspeed_config") && args.raw("deepspeed").is_some();
            if own_file {
                "deepspeed"
            } else {
                "deepspeed_config"
            }
        },
        ..hf::TRAINER.config
    },
    arguments: ArgumentTraits {
        fields: FIELDS,
        ..hf::TRAINER.arguments
    },
    ..hf::TRAINER
};

const FIELDS: &str = "deepspeed_config deepspeed? model_name_or_path";

/// Recognised by what the script calls, or by its arguments where that is not seen.
fn recognise(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    if matches!(command.target, Target::Program(_)) {
        return None;
    }
    let given = Args::read(
        command.args.clone(),
        &argv::fields(FIELDS).collect::<Vec<_>>(),
        OptionList::Open,
    );
    let named = ["deepspeed_config", "deepspeed"]
        .iter()
        .any(|name| given.raw(name).is_some());
    let source = command.source(host).map(|source| &**source);
    let asked = if named { None } else { source };
    let no_config = asked.and_then(makes_config);
    let is_raw = match source.map_or(ScriptKind::Unknown, script_kind) {
        _ if no_config.is_some() => true,
        ScriptKind::RawDeepSpeed => true,
        ScriptKind::Hf => false,
        ScriptKind::Unknown => given.is_given("deepspeed_config") || given.is_bare("deepspeed"),
    };
    let unusual = asked.filter(|it| {
        !it.mentions("add_config_arguments") && !it.mentions_option("deepspeed_config")
    });
    let own_option =
        unusual.and_then(|source| hf::config_options().find(|name| source.mentions_option(name)));
    let takes_config = own_option.map(|name| TakesConfig::Named(name.to_string()));
    is_raw.then(|| Job {
        takes_config,
        no_config,
        ..Job::of(trainer, command)
    })
}

/// The functions that make the config in DeepSpeed-Chat and Safe-RLHF.
const MAKERS: [&str; 2] = ["get_train_ds_config", "get_deepspeed_train_config"];

/// The script makes the config for `deepspeed.initialize` itself: DeepSpeed refuses `--deepspeed_config` beside it.
fn makes_config(source: &ScriptSource) -> Option<NoConfig> {
    let text = source.text.as_str();
    let maker = MAKERS
        .into_iter()
        .find(|maker| !calls(text, maker).is_empty());
    // The script may read a file that an option names all the same. `--deepspeed` is often a switch.
    let by_option = hf::config_options()
        .skip(1)
        .any(|name| source.mentions_option(name));
    if text.contains("args.deepspeed_config") || by_option && maker.is_none() {
        return None;
    }
    let started = calls(text, "deepspeed.initialize").into_iter();
    let mut configs = started
        .filter_map(|call| keyword(call, "config").or_else(|| keyword(call, "config_params")));
    let made = configs.find(|config| {
        let is = |value: &&str| {
            [" = ", "="]
                .iter()
                .any(|sign| text.contains(&format!("{config}{sign}{value}")))
        };
        config.starts_with(['{', '"', '\'']) || ["{"].iter().chain(&MAKERS).any(is)
    });
    let config = shown(made.or(maker)?);
    Some(NoConfig::new(
        format!("the script passes a config of its own to deepspeed.initialize: config={config}"),
        format!("drop it and use the script's own options, or change {config} in the script"),
    ))
}
