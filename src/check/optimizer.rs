//! The `optimizer` and `scheduler` sections, and which optimizer really runs.

use serde_json::Value;

use super::findings::{Check, Findings};
use super::subject::{OFFLOAD, Subject};
use super::values::number_in;
use crate::base::recorded::Version;
use crate::config::schema::{self, KeySpec};
use crate::report::fix::{Fix, Owner, drop_word, give_as, rename, say, set, set_json, unset};
use crate::report::{Place, Rule, Severity, When, nearest, reading};

pub(super) const RULES: &[Check] = &[
    Check::code(
        Rule::OptimizerType,
        Severity::Error,
        When::Start,
        |subject, found| {
            let Some(name) =
                named(subject).filter(|it| !is_own(subject, it) && !is_torch(subject, it))
            else {
                return;
            };
            let key = "optimizer.type";
            let replaced = set(key, "AdamW");
            if let Some((_, since, _)) = release(&name.to_ascii_lowercase()) {
                let deepspeed = subject.deepspeed();
                let what = if subject.is_before(*since) {
                    format!(
                        "{deepspeed} has no optimizer `{name}`: it was added in {}",
                        Version(*since)
                    )
                } else {
                    format!("{deepspeed} no longer has the optimizer `{name}`")
                };
                found.key(&[key], what, replaced);
                return;
            }
            let what = format!("neither DeepSpeed nor torch.optim has an optimizer `{name}`");
            let own = || {
                OPTIMIZERS
                    .iter()
                    .flat_map(|row| row.0.split(' '))
                    .filter(|own| is_own(subject, own))
            };
            let torch = TORCH
                .iter()
                .flat_map(|(names, _)| names.split(' '))
                .filter(|torch| *torch != name);
            let fix =
                nearest(&name, own().chain(torch)).map_or(replaced, |near| set_meant(key, near));
            // torch may have a newer class of that name.
            let is_wrong = torch_since(&name).is_some()
                || nearest(&name, own()).is_some()
                || torch_lacks(subject, "torch/optim/__init__.py", &name);
            found.key(&[key], what, fix).severity = Severity::error_if(is_wrong);
        },
    ),
    Check::code(
        Rule::OptimizerParameter,
        Severity::Error,
        When::Start,
        |subject, found| {
            let Some(name) = named(subject) else { return };
            let key = "optimizer.params.max_grad_norm";
            if let Some(norm) = subject.get(key) {
                let what = "DeepSpeed refuses `max_grad_norm` as a parameter of the optimizer";
                found.key(
                    &[key],
                    what,
                    rename(key, "gradient_clipping", norm.to_string()),
                );
            }
            let by_torch = subject
                .get("optimizer.params.torch_adam")
                .is_some_and(schema::is_true);
            let known: Vec<KeySpec> =
                schema::parameters("optimizer", Some(&name), subject.version()).collect();
            if !known.is_empty() && !by_torch {
                parameters(
                    subject,
                    "optimizer",
                    &format!("DeepSpeed's {name}"),
                    &known,
                    found,
                );
            }
        },
    ),
    Check::code(
        Rule::UntestedOptimizer,
        Severity::Error,
        When::Start,
        |subject, found| {
            let is_allowed = subject
                .get("zero_allow_untested_optimizer")
                .is_some_and(schema::is_true);
            if let Some(name) = named(subject)
                && (matches!(name.as_str(), "lamb" | "musgd") || is_torch(subject, &name))
                && subject.stage_is(&[1, 2, 3])
                && !is_allowed
            {
                let what = format!("`{name}` is not tested with ZeRO: DeepSpeed refuses it");
                found.key(
                    &["optimizer.type"],
                    what,
                    set("zero_allow_untested_optimizer", true),
                );
            }
        },
    ),
    Check::code(
        Rule::OptimizerReplaced,
        Severity::Warning,
        When::Silent,
        |subject, found| {
            let (Some(sourced), true) = (subject.job.args.text("optim"), subject.is_hf()) else {
                return;
            };
            if subject.get("optimizer").is_some_and(Value::is_object) {
                let what = format!(
                    "the config has an `optimizer` section: {} has no effect",
                    sourced.spelling()
                );
                let places = [Place::from(&sourced), (subject.place)("optimizer")];
                found.at(
                    places,
                    what,
                    unset("optimizer").or(drop_word(&sourced.from).of(Owner::Trainer)),
                );
                return;
            }
            // accelerate's CPU Adam is an AdamW; Adagrad and 32-bit Lion have CPU versions.
            let (device, value) = (subject.zero().optimizer, sourced.value.as_str());
            let is_adamw = value.starts_with("adamw")
                && !["8bit", "4bit", "bnb_"]
                    .iter()
                    .any(|sign| value.contains(sign));
            let survives = [
                "adagrad",
                "lion_32bit",
                "paged_lion_32bit",
                "paged_adamw_32bit",
            ]
            .contains(&value);
            if forces_own(subject) && !is_adamw && !survives {
                let what = format!(
                    "the optimizer is on {device}: accelerate silently replaces `{value}` with DeepSpeed's CPU Adam"
                );
                let fixes = give_as(&sourced.from, "adamw_torch").or(set(OFFLOAD, "none"));
                found.at(
                    [Place::from(&sourced), (subject.place)(OFFLOAD)],
                    what,
                    fixes,
                );
            }
        },
    ),
    // It fails even if the section is empty or null. A later release may fix it.
    Check::code(
        Rule::SwiftOptimizer,
        Severity::Error,
        When::Start,
        |subject, found| {
            let Some([since, until]) = subject.job.trainer.config.refuses_optimizer else {
                return;
            };
            let version = subject.job.version();
            if subject.get("optimizer").is_none()
                || version.is_some_and(|version| version.is_before(since))
            {
                return;
            }
            let what = "ms-swift 4.2.0 to 4.6.0 fails with an `optimizer` section, once model and data are loaded: 'DummyOptim' \
                    object has no attribute 'param_groups'";
            let is_certain = version.is_some_and(|version| version.is_before(until));
            found.key(&["optimizer"], what, unset("optimizer")).severity =
                Severity::error_if(is_certain);
        },
    ),
    Check::row(
        Rule::TrainerOptimizer,
        Severity::Warning,
        When::Start,
        |subject| subject.job.trainer.sets("optimizer.params.lr") && forces_own(subject),
    ),
    Check::row(
        Rule::ClientOptimizer,
        Severity::Note,
        When::Start,
        |subject| subject.is_plain() && forces_own(subject) && subject.get("optimizer").is_none(),
    ),
    Check::row(Rule::NoOptimizer, Severity::Note, When::Start, |subject| {
        subject.is_plain() && subject.stage_is(&[1, 2]) && named(subject).is_none()
    }),
    Check::row(Rule::AdamIsAdamw, Severity::Note, When::Silent, |subject| {
        named(subject).as_deref() == Some("adam")
            && subject.get("optimizer.params.adam_w_mode").is_none()
    }),
    Check::code(
        Rule::SchedulerType,
        Severity::Error,
        When::Start,
        |subject, found| {
            let Some(name) = subject
                .text("scheduler.type")
                .filter(|name| !SCHEDULERS.contains(name))
            else {
                return;
            };
            let key = "scheduler.type";
            if TORCH_SCHEDULERS.lines().any(|torch| torch == name) {
                if subject.stage_is(&[1, 2, 3]) {
                    let what =
                        format!("torch's `{name}` needs an optimizer of torch, and ZeRO's is none");
                    found.key(&[key], what, unset("scheduler"));
                }
                return;
            }
            let near = nearest(name, SCHEDULERS.iter().copied());
            let fixes = match near {
                Some(near) => required(subject, near)
                    .fold(set_meant(key, near), |fix, (_, more)| fix.and(more))
                    .into(),
                None => unset("scheduler").see(format!("one of {}", SCHEDULERS.join(", "))),
            };
            let what =
                format!("neither DeepSpeed nor torch.optim.lr_scheduler has a scheduler `{name}`");
            let is_certain =
                near.is_some() || torch_lacks(subject, "torch/optim/lr_scheduler.py", name);
            found.key(&[key], what, fixes).severity = Severity::error_if(is_certain);
        },
    ),
    Check::code(
        Rule::SchedulerParameter,
        Severity::Error,
        When::Start,
        |subject, found| {
            let Some(name) = subject
                .text("scheduler.type")
                .filter(|name| SCHEDULERS.contains(name))
            else {
                return;
            };
            let known: Vec<KeySpec> =
                schema::parameters("scheduler", Some(name), subject.version()).collect();
            parameters(subject, "scheduler", name, &known, found);
            for (wanted, fix) in required(subject, name) {
                found.key(&["scheduler.type"], format!("{name} needs `{wanted}`"), fix);
            }
            let key = "scheduler.params.warmup_num_steps";
            if let Some(steps) = subject.get(key).filter(|steps| **steps != "auto")
                && (!schema::is_whole(steps) || steps.as_u64().is_none_or(|steps| steps == 0))
                && known.iter().any(|entry| entry.name() == "warmup_num_steps")
                && !subject.is_before([0, 19, 3])
            {
                let what = format!("`{key}` is {steps}, but {name} expects a whole number above 0");
                found.key(&[key], what, set(key, 100));
            }
        },
    ),
    Check::row(
        Rule::LogarithmicWarmup,
        Severity::Note,
        When::Silent,
        |subject| {
            let warms_up = subject
                .text("scheduler.type")
                .is_some_and(|name| name.starts_with("Warmup"));
            warms_up && subject.get("scheduler.params.warmup_type").is_none()
        },
    ),
    // For transformers the section is an optimizer, for DeepSpeed it is not.
    Check::row(
        Rule::OptimizerWithoutType,
        Severity::Error,
        When::Start,
        |subject| {
            let section = subject.get("optimizer").and_then(Value::as_object);
            let nameless =
                section.is_some_and(|section| section.get("type").is_none_or(Value::is_null));
            let refused = subject.stage_is(&[1, 2])
                || subject.stage_is(&[3]) && subject.is_before([0, 19, 8]);
            nameless && subject.is_hf() && refused
        },
    ),
];

const EVER: [u32; 3] = [u32::MAX; 3];
/// DeepSpeed's optimizers in lower case, their first release and the first release without them.
const OPTIMIZERS: &[(&str, [u32; 3], [u32; 3])] = &[
    (
        "adagrad adam adamw lamb muadam muadamw musgd lion",
        [0; 3],
        EVER,
    ),
    ("muon", [0, 17, 6], EVER),
    ("onebitadam onebitlamb zerooneadam", [0; 3], [0, 19, 7]),
];
/// Classes of `torch.optim` and their first release. Newer releases may have more.
const TORCH: &[(&str, [u32; 3])] = &[
    (
        "ASGD Adadelta Adagrad Adam AdamW Adamax LBFGS NAdam RAdam RMSprop Rprop SGD SparseAdam",
        [0; 3],
    ),
    ("Adafactor", [2, 5, 0]),
    ("Muon", [2, 9, 0]),
];
/// DeepSpeed's schedulers, in every release.
const SCHEDULERS: &[&str] = &[
    "LRRangeTest",
    "OneCycle",
    "WarmupLR",
    "WarmupDecayLR",
    "WarmupCosineLR",
];

/// Classes of `torch.optim.lr_scheduler`, up to torch 2.15.
const TORCH_SCHEDULERS: &str = include_str!("torch_schedulers.txt");

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

/// In host memory DeepSpeed insists on its own optimizer.
fn forces_own(subject: &Subject) -> bool {
    subject.offloads_optimizer()
        && subject
            .get("zero_force_ds_cpu_optimizer")
            .is_none_or(schema::is_true)
}

fn release(name: &str) -> Option<&'static (&'static str, [u32; 3], [u32; 3])> {
    OPTIMIZERS
        .iter()
        .find(|(names, ..)| names.split(' ').any(|known| known == name))
}

fn is_own(subject: &Subject, name: &str) -> bool {
    release(name)
        .is_some_and(|(_, since, until)| !subject.is_before(*since) && subject.is_before(*until))
}

fn torch_since(name: &str) -> Option<[u32; 3]> {
    TORCH
        .iter()
        .find(|(names, _)| names.split(' ').any(|known| known == name))
        .map(|(_, since)| *since)
}

/// An unknown torch may have every class.
fn is_torch(subject: &Subject, name: &str) -> bool {
    torch_since(name).is_some_and(|since| !subject.has_before("torch", since))
}

fn set_meant(key: &str, near: &str) -> Fix {
    set(key, near).meaning(near).safe()
}

/// Reports unknown parameters of a section, a number in place of a list, and text that an optimizer would
/// calculate with. transformers compares the latter before.
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
        let is_no_list = |entry: &&KeySpec| {
            entry.default.starts_with('[') && value != "auto" && entry.is_odd(value)
        };
        let own = known.iter().find(|entry| entry.name() == given);
        let text = value
            .as_str()
            .filter(|text| *text != "auto" && section == "optimizer" && !subject.is_hf());
        if let Some(own) = own
            .filter(|own| is_no_list(own) || text.is_some() && own.default.parse::<f64>().is_ok())
        {
            let what = format!("`{key}` is {value}, but {whose} expects {}", own.wanted());
            let fix = match number_in(value, own) {
                Some(number) => set_json(&key, &number).safe(),
                None => set(&key, own.default),
            };
            found.key(&[&key], what, fix);
        }
        // `max_grad_norm` has a problem of its own.
        if own.is_some() || key == "optimizer.params.max_grad_norm" {
            continue;
        }
        let near = nearest(given, known.iter().map(KeySpec::name))
            .filter(|near| !params.contains_key(*near));
        let list = known
            .iter()
            .find(|entry| near == Some(entry.name()))
            .filter(is_no_list);
        let fix = match (near, list) {
            (Some(near), Some(list)) => say(format_args!("write `{near}: {}`", list.default)),
            (Some(near), _) => rename(&key, format_args!("{section}.params.{near}"), value)
                .meaning(near)
                .safe(),
            _ => unset(&key),
        };
        found.key(&[&key], format!("{whose} takes no `{given}`"), fix);
    }
}

/// torch has no such class: its source says so, or it is one of the releases whose classes are listed here.
fn torch_lacks(subject: &Subject, file: &str, class: &str) -> bool {
    match subject
        .job
        .installed_file(file)
        .and_then(|file| reading::text_if_any(&file))
    {
        Some(text) => !text.contains(class),
        None => subject.has_before("torch", [2, 16, 0]),
    }
}

/// The parameters that a scheduler cannot do without and that are missing, each with its fix.
fn required(subject: &Subject, name: &str) -> impl Iterator<Item = (&'static str, Fix)> {
    let params = subject.get("scheduler.params").and_then(Value::as_object);
    let value = if subject.is_hf() { "auto" } else { "1000" };
    let entries = schema::parameters("scheduler", Some(name), subject.version());
    let required = entries.filter(|entry| entry.default == "required");
    let missing = required
        .filter(move |entry| params.is_none_or(|params| !params.contains_key(entry.name())));
    missing.map(move |entry| {
        (
            entry.name(),
            set(format_args!("scheduler.params.{}", entry.name()), value),
        )
    })
}
