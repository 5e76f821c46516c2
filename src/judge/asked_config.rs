//! Judgements about the config that was asked for: whether the script uses it, and whether the trainer has another one of
//! that name.

use crate::{
    base::{json, source::Sourced},
    command::script::cannot_use_config,
    config::{
        layers::Layers,
        template::{Origin, Template},
    },
    ranks::{launcher::Launcher, topology::is_set},
    report::prelude::*,
    request::{Launch, understood::UnderstoodLaunch},
};

/// Warns if the script cannot use a config: it trains, without DeepSpeed.
pub fn unused(understood: &UnderstoodLaunch, spec: &Sourced<String>) -> Option<Problem> {
    let job = &understood.job;
    let source = job.source.as_ref()?;
    if !understood.takes_config() || !cannot_use_config(source) {
        return None;
    }
    let script = job.target.name();
    let help =
        "call deepspeed.initialize in the script, or use transformers' Trainer or accelerate";
    let fix = drop_given(spec).remark("to train without DeepSpeed");
    Some(
        Rule::ConfigUnused
            .warning(format!(
                "nothing in `{script}` uses DeepSpeed, so the config has no effect"
            ))
            .at(spec)
            .at(script)
            .fix(fix.or(help)),
    )
}

/// Warns if our config reaches the script by an option that its parser does not have.
pub fn refused_option(understood: &UnderstoodLaunch) -> Option<Problem> {
    let UnderstoodLaunch { launch, job, .. } = understood;
    if !understood.takes_config() || understood.launcher_takes_config() {
        return None;
    }
    let reads = job.refuses_config_option()?;
    let (script, option) = (job.target.name(), job.config_argument());
    let help = "--trainer in_code passes the config to transformers' Trainer without an option, --trainer accelerate to a loop \
                with Accelerator()";
    Some(
        Rule::NoSuchOption
            .warning(format!(
                "`{script}` has no option `--{option}`, and {reads} refuses unknown options"
            ))
            .at(launch.deepspeed.as_ref()?)
            .fix(help),
    )
}

/// Layers without a config are an error if flags ask for them. Variables may be set for a whole site.
pub fn without_config(launch: &Launch) -> Option<Problem> {
    let Layers { patch, unset, set } = &launch.layers;
    let paths = patch.iter().chain(&launch.config_out).map(|it| &it.from);
    let keys = unset
        .iter()
        .map(|it| &it.from)
        .chain(set.iter().map(|it| &it.from));
    let mut flags = paths.chain(keys).filter(|from| from.is_flag()).peekable();
    flags.peek()?;
    let problem = Rule::NoConfig.error("there is no DeepSpeed config to change");
    Some(flags.fold(problem.fix(give("--deepspeed", "NAME")), Problem::at))
}

/// Warns if DeepSpeed's launcher starts a script whose arguments are those of transformers, and none of them is a config.
pub fn trains_without(understood: &UnderstoodLaunch) -> Option<Problem> {
    let UnderstoodLaunch { job, host, .. } = understood;
    let launcher = understood.existing_launcher.as_ref()?;
    let by_deepspeed = launcher.spec.launcher == Launcher::Deepspeed;
    let is_read = job.run_file.is_none() && job.flow()?.parser().is_some();
    let is_used =
        job.source.as_ref()?.mentions("deepspeed") || is_set("ACCELERATE_USE_DEEPSPEED", host);
    if !by_deepspeed || !is_read || is_used {
        return None;
    }
    let name = &launcher.name;
    let fixes = give("--deepspeed", "NAME").or("start it with torchrun if that is meant");
    Some(
        Rule::NoConfig
            .warning(format!(
                "`{name}` starts the ranks, but they train without DeepSpeed: there is no config"
            ))
            .at(job.target.name())
            .fix(fixes),
    )
}

/// Warns if `--deepspeed` names a template of ours, and the trainer ships a different config of that name.
pub fn differs_from_shipped(
    understood: &UnderstoodLaunch,
    spec: &Sourced<String>,
    template: &Template,
) -> Option<Problem> {
    let UnderstoodLaunch { job, host, .. } = understood;
    if template.origin != Origin::BuiltIn || !job.ships_config(&template.name) {
        return None;
    }
    let file = job.own_file(&template.name, host)?;
    let text = reading::text_if_any(&file)?;
    let keys = json::differing(&template.config, &json::parse(&text).ok()?);
    if keys.is_empty() {
        return None;
    }
    let (name, trainer) = (&template.name, trainer(understood));
    let what = format!(
        "zlaunch's `{name}` is used, which differs from the one that comes with {trainer}: `{}`",
        keys.join("`, `")
    );
    let fix = give("--deepspeed", file.display()).remark(format!("to use {trainer}'s own"));
    Some(
        Rule::OwnConfigDiffers
            .warning(what)
            .at(spec)
            .at(&file)
            .fix(fix),
    )
}

/// Warns if the trainer's own argument names a config that only other versions of the trainer ship.
pub fn not_shipped(understood: &UnderstoodLaunch, own: &Sourced<String>) -> Option<Problem> {
    let UnderstoodLaunch {
        job, launch, host, ..
    } = understood;
    let word = &own.value;
    if !job.ships_config(word) || launch.search.origin(word) != Some(Origin::BuiltIn) {
        return None;
    }
    job.version()?;
    if job.shipped_config(word).is_some() || job.own_file(word, host).is_some() {
        return None;
    }
    let trainer = trainer(understood);
    let what = format!("{trainer} has no config `{word}`: zlaunch's template of that name is used");
    Some(Rule::OwnConfigDiffers.warning(what).at(own))
}

fn trainer(understood: &UnderstoodLaunch) -> String {
    let job = &understood.job;
    let name = job.trainer.distribution.unwrap_or(job.trainer.name);
    let version = job.version_text().unwrap_or_default();
    format!("{name} {version}").trim_end().to_string()
}
