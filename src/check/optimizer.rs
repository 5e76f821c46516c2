//! The `optimizer` and `scheduler` sections, and which optimizer really runs.

use serde_json::Value;

use super::{
    keys::{unless_there, value_meant},
    rows::Findings,
    subject::Subject,
    tables::{
        names::{
            HF_SCHEDULERS, NEXT_TORCH, OPTIMIZER_CLIPPING, OPTIMIZERS, SCHEDULERS,
            TORCH_OPTIMIZERS, TORCH_SCHEDULERS, WARMUP_STEPS,
        },
        types::Remedy,
    },
};
use crate::{
    config::schema::{self, KeySpec},
    report::{
        fix::{rename, set_json},
        prelude::*,
    },
};

pub fn unknown_optimizer(subject: &Subject, found: &mut Findings) {
    let key = "optimizer.type";
    let Some(name) = subject.text(key) else {
        return;
    };
    let has_older = |version| subject.job.has_older("torch", version);
    let class = TORCH_OPTIMIZERS.iter().find(|class| class.name == name);
    if OPTIMIZERS.iter().any(|own| own.eq_ignore_ascii_case(name))
        || class.is_some_and(|class| !has_older(class.since))
    {
        return;
    }
    let others = TORCH_OPTIMIZERS
        .iter()
        .map(|class| class.name)
        .filter(|other| *other != name);
    let near = nearest(name, OPTIMIZERS.iter().copied().chain(others));
    let all = || say(format_args!("use one of {}", OPTIMIZERS.join(", ")));
    let fix = near.map_or_else(all, |near| set_meant(key, near));
    // torch may have a newer class of that name.
    let is_wrong = class.is_some() || near.is_some() || has_older(NEXT_TORCH);
    let what = format!("neither DeepSpeed nor torch.optim has an optimizer `{name}`");
    found.key(&[key], what, fix).error_if(is_wrong);
}

pub fn optimizer_parameters(subject: &Subject, found: &mut Findings) {
    let Some(name) = subject.text("optimizer.type") else {
        return;
    };
    if let Some(norm) = subject.get(OPTIMIZER_CLIPPING) {
        let what = "DeepSpeed refuses `max_grad_norm` as a parameter of the optimizer";
        let fix = rename(OPTIMIZER_CLIPPING, "gradient_clipping", norm);
        found.key(&[OPTIMIZER_CLIPPING], what, fix);
    }
    let by_torch = subject.get("optimizer.params.torch_adam");
    if !by_torch.is_some_and(schema::is_true) {
        parameters(subject, "optimizer", &name.to_ascii_lowercase(), found);
    }
}

pub fn unknown_scheduler(subject: &Subject, found: &mut Findings) {
    let key = "scheduler.type";
    let is_known = |name: &&str| [SCHEDULERS, TORCH_SCHEDULERS].concat().contains(name);
    let Some(name) = subject.text(key).filter(|name| !is_known(name)) else {
        return;
    };
    let near = nearest(name, SCHEDULERS.iter().copied());
    let of_trainer = subject.is_hf() && HF_SCHEDULERS.contains(&name);
    let fixes = match near {
        // transformers makes the scheduler that the config does not have.
        _ if of_trainer && !subject.job.args.is_given("lr_scheduler_type") => {
            give("--lr_scheduler_type", name)
                .of(Owner::Trainer)
                .and(Remedy::GiveParameters("scheduler").fix(subject))
                .remark("the trainer makes this scheduler")
                .into()
        }
        Some(near) => missing_parameters(subject, near)
            .filter(|_| subject.is_hf())
            .fold(set_meant(key, near), |fix, entry| {
                fix.and(set_parameter(subject, &entry))
            })
            .into(),
        None => Fixes::from(format!("use one of {}", SCHEDULERS.join(", "))),
    };
    let what = format!("neither DeepSpeed nor torch.optim.lr_scheduler has a scheduler `{name}`");
    let is_certain = near.is_some() || subject.job.has_older("torch", NEXT_TORCH);
    found.key(&[key], what, fixes).error_if(is_certain);
}

pub fn scheduler_parameters(subject: &Subject, found: &mut Findings) {
    let key = "scheduler.type";
    let Some(name) = subject.text(key).filter(|name| SCHEDULERS.contains(name)) else {
        return;
    };
    parameters(subject, "scheduler", name, found);
    for entry in missing_parameters(subject, name) {
        let what = format!("{name} needs `{}`", entry.name());
        found.key(&[key], what, set_parameter(subject, &entry));
    }
}

fn set_meant(key: &str, near: &str) -> Fix {
    set(key, near).meaning(near).safe()
}

/// Reports unknown parameters of a section, a number in place of a list, and text that an optimizer would
/// calculate with, which transformers compares before.
fn parameters(subject: &Subject, section: &str, name: &str, found: &mut Findings) {
    let known: Vec<KeySpec> = schema::parameters(section, Some(name), subject.version()).collect();
    let section = format!("{section}.params");
    for (given, value) in subject
        .get(&section)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter(|_| !known.is_empty())
    {
        let key = format!("{section}.{given}");
        let is_no_list = |entry: &KeySpec| entry.default.starts_with('[') && entry.is_odd(value);
        if let Some(own) = known.iter().find(|entry| entry.name() == given) {
            let is_no_number = !value.is_number()
                && own.default.parse::<f64>().is_ok()
                && section == "optimizer.params"
                && !subject.is_hf();
            if value != "auto" && (is_no_list(own) || is_no_number) {
                let what = format!(
                    "`{key}` is {value}, but DeepSpeed's {name} expects {}",
                    own.wanted()
                );
                let fix = match value_meant(value, own) {
                    Some(meant) => set_json(&key, &meant).safe(),
                    None if is_no_number => say("write a number"),
                    None => say(format_args!("write a list, as {}", own.default)),
                };
                found.key(&[&key], what, fix);
            }
        } else if key != OPTIMIZER_CLIPPING {
            let fitting = known.iter().filter(|entry| !is_no_list(entry));
            let fix = match schema::nearest_name(given, fitting.map(KeySpec::name)) {
                // The trainer knows how many steps that is.
                _ if given == "warmup_ratio" && subject.is_hf() => unset(&key)
                    .and(set(WARMUP_STEPS, "auto"))
                    .and(give("--warmup_ratio", value).of(Owner::Trainer)),
                Some(near) => {
                    let right = format!("{section}.{near}");
                    unless_there(&right, subject, &key)
                        .unwrap_or_else(|| rename(&key, &right, value).meaning(near).safe())
                }
                None => unset(&key),
            };
            found.key(
                &[&key],
                format!("DeepSpeed's {name} takes no `{given}`"),
                fix,
            );
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
    let key = format!("scheduler.params.{}", entry.name());
    if subject.is_hf() {
        set(key, "auto")
    } else {
        say(format_args!("set {key} to what your training needs"))
    }
}
