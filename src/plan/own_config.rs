//! Where a trainer brings DeepSpeed configs of its own under the names of ours: what is said if they are not the same.

use crate::base::bytes::fnv1a;
use crate::base::json;
use crate::base::source::Sourced;
use crate::command::shipped;
use crate::config::template::{Origin, Template};
use crate::report::{self, Problem, reading};
use crate::request::understood::UnderstoodLaunch;

/// Our own `--deepspeed` names a template of ours, and the trainer's own of that name differs.
pub(super) fn difference(
    understood: &UnderstoodLaunch<'_>,
    spec: &Sourced<String>,
    template: &Template,
) -> Option<Problem> {
    let job = &understood.job;
    if template.origin != Origin::BuiltIn {
        return None;
    }
    let (config, file) = job.own_config_of_name(&template.name)?;
    let text = reading::text_if_any(&file)?;
    // The usual case needs no second look.
    if config.hash == Some(fnv1a(text.as_bytes())) {
        return None;
    }
    let keys = json::differing(&template.config, &json::parse(&text).ok()?);
    (!keys.is_empty()).then(|| report::own_config_differs(spec, &template.name, &trainer(understood), &file, &keys))
}

/// The trainer's own argument names a config that only other versions of the trainer bring.
pub(super) fn unknown_word(understood: &UnderstoodLaunch<'_>, own: &Sourced<String>) -> Option<Problem> {
    let UnderstoodLaunch { job, launch, host, .. } = understood;
    let word = &own.value;
    if !job.ships_config(word) || !launch.search.is_built_in(word) {
        return None;
    }
    let (distribution, version) = (job.trainer.distribution?, job.version()?);
    let is_known = shipped::by_word(distribution, Some(version), word).is_some();
    if is_known || job.own_file(word, host).is_some() {
        return None;
    }
    Some(report::trainer_has_no_config(own, &trainer(understood)))
}

/// `ms-swift 3.0.0`
fn trainer(understood: &UnderstoodLaunch<'_>) -> String {
    let name = understood.job.trainer.distribution.unwrap_or(understood.job.trainer.name);
    understood.job.version_text().map_or_else(|| name.to_string(), |version| format!("{name} {version}"))
}
