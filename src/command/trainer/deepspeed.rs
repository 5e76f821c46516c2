//! Scripts that call `deepspeed.initialize` themselves, with `--deepspeed_config FILE` as `DeepSpeed`'s
//! `add_config_arguments` defines it, or a `--deepspeed FILE` of their own. Nothing fills an "auto" after zlaunch.

use crate::command::argv::{Args, OptionList};
use crate::command::front_end::NoConfig;
use crate::command::job::{Job, Trainer};
use crate::command::script::{ScriptKind, ScriptSource, calls, keyword, script_kind, shown};
use crate::command::tables::CONFIG_OPTIONS;
use crate::command::target::{ParsedCommand, Target};
use crate::host::Host;

pub(super) fn config_argument(args: &Args) -> &'static str {
    let own_file = !args.is_given("deepspeed_config") && args.raw("deepspeed").is_some();
    if own_file {
        "deepspeed"
    } else {
        "deepspeed_config"
    }
}

/// Recognised by what the script calls, or by its arguments where that is not seen.
pub(super) fn recognise(
    trainer: &'static Trainer,
    command: &ParsedCommand,
    host: &Host,
) -> Option<Job> {
    if matches!(command.target, Target::Program(_)) {
        return None;
    }
    let given = Args::read(command.args.clone(), OptionList::Open);
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
    let own_option = unusual.and_then(|source| {
        CONFIG_OPTIONS
            .iter()
            .find(|name| source.mentions_option(name))
    });
    is_raw.then(|| Job {
        config_option: own_option.map(ToString::to_string),
        no_config,
        ..Job::of(trainer, command, host)
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
    let by_option = CONFIG_OPTIONS[1..]
        .iter()
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
