//! Judgements about the config that was asked for: whether the script uses it, and whether the trainer has another one of
//! that name.

use std::path::PathBuf;

use crate::base::bytes::fnv1a;
use crate::base::json;
use crate::base::source::Sourced;
use crate::command::script::cannot_use_config;
use crate::command::shipped;
use crate::config::layers::Layers;
use crate::config::template::{Origin, Template};
use crate::report::fix::{drop_given, give};
use crate::report::{Place, Problem, Rule, reading};
use crate::request::understood::UnderstoodLaunch;

/// Warns if the script cannot use a config: it trains, without DeepSpeed.
pub(super) fn unused(understood: &UnderstoodLaunch, spec: &Sourced<String>) -> Option<Problem> {
    let job = &understood.job;
    job.source
        .as_ref()
        .filter(|source| understood.takes_config() && cannot_use_config(source))?;
    let script = job.target.name();
    let what = format!("nothing in `{script}` uses DeepSpeed, so the config has no effect");
    let fixes = drop_given(spec).remark("to train without DeepSpeed");
    let fixes = fixes
        .or("call deepspeed.initialize in the script, or use transformers' Trainer or accelerate");
    Some(
        Problem::warning(Rule::ConfigUnused, what)
            .at(spec)
            .at(script)
            .fix(fixes),
    )
}

/// Warns if our config reaches the script by an option that its parser does not have.
pub(super) fn refused_option(understood: &UnderstoodLaunch) -> Option<Problem> {
    let UnderstoodLaunch { launch, job, .. } = understood;
    let is_ours = understood.takes_config() && !understood.launcher_takes_config();
    let reads = if is_ours {
        job.refuses_config_option()?
    } else {
        return None;
    };
    let (script, option) = (job.target.name(), job.config_argument());
    let what =
        format!("`{script}` has no option `--{option}`, and {reads} refuses unknown options");
    let help = "--trainer in_code passes the config to transformers' Trainer without an option, --trainer accelerate to a loop \
                with Accelerator()";
    Some(
        Problem::warning(Rule::NoSuchOption, what)
            .at(launch.deepspeed.as_ref()?)
            .fix(help),
    )
}

/// Layers without a config are an error if flags ask for them. Variables may be set for a whole site.
pub(super) fn without_config(layers: &Layers, out: Option<&Sourced<PathBuf>>) -> Option<Problem> {
    let Layers { patch, unset, set } = layers;
    let given = patch
        .iter()
        .chain(out)
        .map(|sourced| sourced.clone().map(|path| path.display().to_string()))
        .chain(unset.iter().cloned())
        .chain(
            set.iter()
                .map(|sourced| sourced.clone().map(|(key, _)| key)),
        );
    let flags: Vec<Place> = given
        .filter(|sourced| sourced.from.is_flag())
        .map(|flag| Place::from(&flag))
        .collect();
    if flags.is_empty() {
        return None;
    }
    let problem = Problem::error(Rule::NoConfig, "there is no DeepSpeed config to change");
    Some(
        flags
            .into_iter()
            .fold(problem.fix(give("--deepspeed", "zero2")), Problem::at),
    )
}

/// Warns if `--deepspeed` names a template of ours, and the trainer ships a different config of that name.
pub(super) fn differs_from_shipped(
    understood: &UnderstoodLaunch,
    spec: &Sourced<String>,
    template: &Template,
) -> Option<Problem> {
    const SHOWN: usize = 3;
    if template.origin != Origin::BuiltIn {
        return None;
    }
    let (config, file) = understood.job.own_config_of_name(&template.name)?;
    let text = reading::text_if_any(&file)?;
    // Usually the file is the recorded one, which is equal.
    if config.hash == Some(fnv1a(text.as_bytes())) {
        return None;
    }
    let keys = json::differing(&template.config, &json::parse(&text).ok()?);
    let keys = Some(keys).filter(|keys| !keys.is_empty())?;
    let (name, trainer) = (&template.name, trainer(understood));
    let more = if keys.len() > SHOWN {
        format!(" and {} more", keys.len() - SHOWN)
    } else {
        String::new()
    };
    let keys = keys
        .iter()
        .take(SHOWN)
        .map(|key| format!("`{key}`"))
        .collect::<Vec<_>>()
        .join(", ");
    let what = format!(
        "zlaunch's `{name}` is used, which differs from the one that comes with {trainer}: {keys}{more}"
    );
    let fix = give("--deepspeed", file.display()).remark(format!("to use {trainer}'s own"));
    Some(
        Problem::warning(Rule::OwnConfigDiffers, what)
            .at(spec)
            .at(file.as_path())
            .fix(fix),
    )
}

/// Warns if the trainer's own argument names a config that only other versions of the trainer ship.
pub(super) fn not_shipped(understood: &UnderstoodLaunch, own: &Sourced<String>) -> Option<Problem> {
    let UnderstoodLaunch {
        job, launch, host, ..
    } = understood;
    let word = &own.value;
    if !job.ships_config(word) || launch.search.origin(word) != Some(Origin::BuiltIn) {
        return None;
    }
    let (distribution, version) = (job.trainer.distribution?, job.version()?);
    let is_known = shipped::by_word(distribution, Some(version), word).is_some();
    if is_known || job.own_file(word, host).is_some() {
        return None;
    }
    let trainer = trainer(understood);
    let what = format!("{trainer} has no config `{word}`: zlaunch's template of that name is used");
    Some(Problem::warning(Rule::OwnConfigDiffers, what).at(own))
}

fn trainer(understood: &UnderstoodLaunch) -> String {
    let name = understood
        .job
        .trainer
        .distribution
        .unwrap_or(understood.job.trainer.name);
    understood
        .job
        .version_text()
        .map_or_else(|| name.to_string(), |version| format!("{name} {version}"))
}
