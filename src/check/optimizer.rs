//! The `optimizer` and `scheduler` sections, and which optimizer really runs.

use serde_json::Value;

use super::findings::Findings;
use super::subject::Subject;
use super::tables::names::{
    OPTIMIZERS, Optimizer, SCHEDULERS, TORCH_OPTIMIZERS, TORCH_SCHEDULERS, TorchOptimizer,
};
use super::values::number_in;
use crate::base::recorded::Version;
use crate::config::schema::{self, KeySpec};
use crate::report::fix::{Fix, rename, say, set, set_json, unset};
use crate::report::{Severity, nearest};

/// The first release whose classes are not in the tables.
const NEXT_TORCH: [u32; 3] = [2, 16, 0];
const CLIPPING: &str = "optimizer.params.max_grad_norm";

pub(super) fn unknown_optimizer(subject: &Subject, found: &mut Findings) {
    let key = "optimizer.type";
    let Some(name) = named(subject).filter(|it| !is_own(subject, it) && !is_torch(subject, it))
    else {
        return;
    };
    let lower = name.to_ascii_lowercase();
    if let Some(known) = OPTIMIZERS.iter().find(|known| known.name == lower) {
        let deepspeed = subject.deepspeed();
        let what = if subject.is_before(known.since) {
            let since = Version(known.since);
            format!("{deepspeed} has no optimizer `{name}`: it was added in {since}")
        } else {
            format!("{deepspeed} no longer has the optimizer `{name}`")
        };
        found.key(&[key], what, set(key, "AdamW"));
        return;
    }
    let what = format!("neither DeepSpeed nor torch.optim has an optimizer `{name}`");
    let own = OPTIMIZERS.iter().filter(|known| known.is_in(subject));
    let own: Vec<&str> = own.map(|known| known.name).collect();
    let torch = TORCH_OPTIMIZERS.iter().map(|torch| torch.name);
    let torch = torch.filter(|torch| *torch != name);
    let near = nearest(&name, own.iter().copied().chain(torch));
    let fix = near.map_or(set(key, "AdamW"), |near| set_meant(key, near));
    // torch may have a newer class of that name.
    let is_wrong = torch_class(&name).is_some()
        || nearest(&name, own.iter().copied()).is_some()
        || subject.has_before("torch", NEXT_TORCH);
    found.key(&[key], what, fix).severity = Severity::error_if(is_wrong);
}

pub(super) fn optimizer_parameters(subject: &Subject, found: &mut Findings) {
    let Some(name) = named(subject) else { return };
    if let Some(norm) = subject.get(CLIPPING) {
        let what = "DeepSpeed refuses `max_grad_norm` as a parameter of the optimizer";
        let fix = rename(CLIPPING, "gradient_clipping", norm);
        found.key(&[CLIPPING], what, fix);
    }
    let by_torch = subject
        .get("optimizer.params.torch_adam")
        .is_some_and(schema::is_true);
    let known: Vec<KeySpec> =
        schema::parameters("optimizer", Some(&name), subject.version()).collect();
    if !known.is_empty() && !by_torch {
        let whose = format!("DeepSpeed's {name}");
        parameters(subject, "optimizer", &whose, &known, found);
    }
}

pub(super) fn untested_optimizer(subject: &Subject, found: &mut Findings) {
    let allows = "zero_allow_untested_optimizer";
    if let Some(name) = named(subject)
        && (["lamb", "musgd"].contains(&name.as_str()) || is_torch(subject, &name))
        && subject.stage_is(&[1, 2, 3])
        && !subject.get(allows).is_some_and(schema::is_true)
    {
        let what = format!("`{name}` is not tested with ZeRO: DeepSpeed refuses it");
        found.key(&["optimizer.type"], what, set(allows, true));
    }
}

/// It fails even if the section is empty or null. A later release may fix it.
pub(super) fn section_for_swift(subject: &Subject, found: &mut Findings) {
    let Some(refused) = &subject.job.trainer.config.refuses_optimizer else {
        return;
    };
    let version = subject.job.version();
    if subject.get("optimizer").is_none()
        || version.is_some_and(|version| version.is_before(refused.start))
    {
        return;
    }
    let what = "ms-swift 4.2.0 to 4.6.0 fails with an `optimizer` section, once model and data are loaded: 'DummyOptim' \
                object has no attribute 'param_groups'";
    let is_certain = version.is_some_and(|version| version.is_before(refused.end));
    found.key(&["optimizer"], what, unset("optimizer")).severity = Severity::error_if(is_certain);
}

pub(super) fn unknown_scheduler(subject: &Subject, found: &mut Findings) {
    let key = "scheduler.type";
    let Some(name) = subject.text(key).filter(|name| !SCHEDULERS.contains(name)) else {
        return;
    };
    if TORCH_SCHEDULERS.contains(&name) {
        if subject.stage_is(&[1, 2, 3]) {
            let what = format!("torch's `{name}` needs an optimizer of torch, and ZeRO's is none");
            found.key(&[key], what, unset("scheduler"));
        }
        return;
    }
    let near = nearest(name, SCHEDULERS.iter().copied());
    let fixes = match near {
        Some(near) => missing_parameters(subject, near)
            .fold(set_meant(key, near), |fix, entry| {
                fix.and(set_parameter(subject, &entry))
            })
            .into(),
        None => unset("scheduler").see(format!("one of {}", SCHEDULERS.join(", "))),
    };
    let what = format!("neither DeepSpeed nor torch.optim.lr_scheduler has a scheduler `{name}`");
    let is_certain = near.is_some() || subject.has_before("torch", NEXT_TORCH);
    found.key(&[key], what, fixes).severity = Severity::error_if(is_certain);
}

pub(super) fn scheduler_parameters(subject: &Subject, found: &mut Findings) {
    let key = "scheduler.type";
    let Some(name) = subject.text(key).filter(|name| SCHEDULERS.contains(name)) else {
        return;
    };
    let known: Vec<KeySpec> =
        schema::parameters("scheduler", Some(name), subject.version()).collect();
    parameters(subject, "scheduler", name, &known, found);
    for entry in missing_parameters(subject, name) {
        let what = format!("{name} needs `{}`", entry.name());
        found.key(&[key], what, set_parameter(subject, &entry));
    }
    let key = "scheduler.params.warmup_num_steps";
    let steps = subject.get(key).filter(|steps| **steps != "auto");
    if let Some(steps) = steps.filter(|steps| steps.as_i64().is_none_or(|steps| steps <= 0))
        && known.iter().any(|entry| entry.name() == "warmup_num_steps")
        && !subject.is_before([0, 19, 3])
    {
        let what = format!("`{key}` is {steps}, but {name} expects a whole number above 0");
        found.key(&[key], what, set(key, 100));
    }
}

/// DeepSpeed's own names in lower case, others as they are written.
fn named(subject: &Subject) -> Option<String> {
    let name = subject.text("optimizer.type")?;
    let lower = name.to_ascii_lowercase();
    Some(if is_own(subject, &lower) {
        lower
    } else {
        name.to_string()
    })
}

impl Optimizer {
    fn is_in(&self, subject: &Subject) -> bool {
        !subject.is_before(self.since) && subject.is_before(self.until)
    }
}

fn is_own(subject: &Subject, name: &str) -> bool {
    OPTIMIZERS
        .iter()
        .any(|known| known.name == name && known.is_in(subject))
}

fn torch_class(name: &str) -> Option<&'static TorchOptimizer> {
    TORCH_OPTIMIZERS.iter().find(|torch| torch.name == name)
}

/// An unknown torch may have every class.
fn is_torch(subject: &Subject, name: &str) -> bool {
    torch_class(name).is_some_and(|class| !subject.has_before("torch", class.since))
}

fn set_meant(key: &str, near: &str) -> Fix {
    set(key, near).meaning(near).safe()
}

/// Reports unknown parameters of a section, a number in place of a list, and text that an optimizer would
/// calculate with, which transformers compares before.
fn parameters(
    subject: &Subject,
    section: &str,
    whose: &str,
    known: &[KeySpec],
    found: &mut Findings,
) {
    let Some(params) = subject
        .get(&format!("{section}.params"))
        .and_then(Value::as_object)
    else {
        return;
    };
    for (given, value) in params {
        let key = format!("{section}.params.{given}");
        let is_no_list = |entry: &KeySpec| {
            entry.default.starts_with('[') && value != "auto" && entry.is_odd(value)
        };
        let is_text = value.is_string() && value != "auto";
        let calculates = section == "optimizer" && !subject.is_hf();
        if let Some(own) = known.iter().find(|entry| entry.name() == given) {
            let is_number = own.default.parse::<f64>().is_ok();
            if is_no_list(own) || is_text && calculates && is_number {
                let what = format!("`{key}` is {value}, but {whose} expects {}", own.wanted());
                let fix = match number_in(value, own) {
                    Some(number) => set_json(&key, &number).safe(),
                    None => set(&key, own.default),
                };
                found.key(&[&key], what, fix);
            }
        } else if key != CLIPPING {
            let near = nearest(given, known.iter().map(KeySpec::name));
            let near = near.filter(|near| !params.contains_key(*near));
            let fix = match known.iter().find(|entry| near == Some(entry.name())) {
                Some(list) if is_no_list(list) => {
                    say(format_args!("write `{}: {}`", list.name(), list.default))
                }
                Some(near) => rename(
                    &key,
                    format_args!("{section}.params.{}", near.name()),
                    value,
                )
                .meaning(near.name())
                .safe(),
                None => unset(&key),
            };
            found.key(&[&key], format!("{whose} takes no `{given}`"), fix);
        }
    }
}

/// The parameters that a scheduler cannot do without and that are missing.
fn missing_parameters(subject: &Subject, name: &str) -> impl Iterator<Item = KeySpec> {
    let params = subject.get("scheduler.params").and_then(Value::as_object);
    let is_missing =
        move |entry: &KeySpec| params.is_none_or(|params| !params.contains_key(entry.name()));
    schema::parameters("scheduler", Some(name), subject.version())
        .filter(|entry| entry.default == "required")
        .filter(is_missing)
}

fn set_parameter(subject: &Subject, entry: &KeySpec) -> Fix {
    let value = if subject.is_hf() { "auto" } else { "1000" };
    set(format_args!("scheduler.params.{}", entry.name()), value)
}
