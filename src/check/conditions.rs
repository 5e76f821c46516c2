//! Evaluates the conditions of the tables.

use serde_json::Value;

use super::subject::Subject;
use super::tables::types::{Condition, DefaultArgument, KeyState};
use crate::base::python_value::number;
use crate::command::argv::hf_bool;
use crate::command::parser::Parser;
use crate::command::python::Presence;
use crate::config::schema;
use crate::ranks::launcher::Launcher;
use crate::ranks::topology::{Role, Topology};
use crate::report::reading;

impl Condition {
    /// Without a parser, no argument is known to be left out.
    pub(super) fn holds(&self, subject: &Subject, parser: Option<&Parser>) -> bool {
        let trainer = subject.job.trainer;
        let is_left_out = |name: &str| {
            subject.is_seen(name)
                && parser.is_some_and(|parser| parser.is_left_out(name, subject.job.args.words()))
        };
        match *self {
            Condition::Not(condition) => !condition.holds(subject, parser),
            Condition::Any(conditions) => conditions.iter().any(|it| it.holds(subject, parser)),

            Condition::True(name) => subject.argument(name).and_then(hf_bool) == Some(true),
            Condition::Given(name) => subject.argument(name).is_some_and(|value| value != "None"),
            Condition::LeftOut(name) => subject.given(name).is_none() && is_left_out(name),
            Condition::Is(name, value) => subject.argument(name) == Some(value),
            Condition::StartsWith(name, start) => subject
                .argument(name)
                .is_some_and(|value| value.starts_with(start)),
            Condition::Contains(name, part) => subject
                .argument(name)
                .is_some_and(|value| value.contains(part)),
            Condition::Differ(one, two) => {
                let value = |DefaultArgument { name, default }| {
                    subject
                        .argument(name)
                        .or_else(|| is_left_out(name).then_some(default))
                };
                value(one)
                    .zip(value(two))
                    .is_some_and(|(one, two)| one != two)
            }
            Condition::Unlisted { argument, files } => {
                subject.argument(argument).is_some_and(|value| {
                    let known = listed(subject, files);
                    !known.is_empty() && !known.iter().any(|known| known == value)
                })
            }
            Condition::MoreThanRanks(name) => {
                let size = subject
                    .argument(name)
                    .and_then(|size| size.parse::<u64>().ok());
                size.zip(subject.world())
                    .is_some_and(|(size, world)| size > world)
            }

            Condition::NotInstalled(modules) => subject.job.python.as_ref().is_some_and(|python| {
                subject.runs_here()
                    && modules
                        .iter()
                        .all(|module| python.seek(module, subject.host) == Presence::Missing)
            }),
            Condition::FileSays { files, text } => files
                .iter()
                .filter_map(|file| installed(subject, file))
                .any(|source| source.contains(text)),
            Condition::ScriptSays(text) => subject.script_says(text),
            Condition::Before("deepspeed", version) => subject.is_before(version),
            Condition::Before(package, version) => subject.has_before(package, version),

            Condition::UsesTransformers => subject.is_hf(),
            Condition::UsesAccelerate => trainer.uses_accelerate(),
            Condition::PlainDeepSpeed => subject.is_plain(),
            Condition::Sets(key) => trainer.sets(key),
            Condition::SetsWhatIsAbsent => trainer.sets_what_is_absent(),

            Condition::DeepSpeed => !subject.config.is_null(),
            Condition::Stage(stages) => subject.stage_is(stages),
            Condition::OptimizerOn(devices) => devices.contains(&subject.zero().optimizer),
            Condition::ParametersOn(devices) => devices.contains(&subject.zero().param),
            Condition::Key(key, ref state) => state.holds(subject.get(key)),
            Condition::PrecisionOn(section) => subject.has_precision(section),

            Condition::VariableSet(name) => subject.variable(name).is_some(),
            Condition::VariableIs(name, value) => subject.host.var(name) == Some(value),
            Condition::VariableGiven(name) => subject.host.nonempty_var(name).is_some(),
            Condition::VariablesDiffer(one, two) => {
                let values = subject.variable(one).zip(subject.variable(two));
                values.is_some_and(|(one, two)| one != two)
            }
            Condition::ByTorchrun => {
                let by = subject.launcher;
                trainer.launch.has_own_launcher
                    || matches!(by, Some(Launcher::Torchrun | Launcher::Accelerate))
            }
            Condition::HangupIgnored => subject.host.ignores_hangup,
            Condition::SeveralMachines => subject.topology.is_some_and(Topology::has_several_nodes),
            Condition::RankExists => subject
                .topology
                .is_some_and(|topology| matches!(topology.role, Role::Rank { .. })),
        }
    }

    /// The argument that a refusal with this as its first condition is about.
    pub(super) fn argument(&self) -> Option<&'static str> {
        match *self {
            Condition::True(name)
            | Condition::Given(name)
            | Condition::LeftOut(name)
            | Condition::Is(name, _)
            | Condition::StartsWith(name, _)
            | Condition::MoreThanRanks(name)
            | Condition::Unlisted { argument: name, .. } => Some(name),
            _ => None,
        }
    }
}

impl KeyState {
    fn holds(&self, value: Option<&Value>) -> bool {
        let Some(value) = value else {
            return matches!(self, KeyState::Missing | KeyState::MissingOrNull);
        };
        let real = schema::real(value);
        match *self {
            KeyState::Missing => false,
            KeyState::MissingOrNull => value.is_null(),
            KeyState::Auto => value == "auto",
            KeyState::HasValue => !value.is_null() && value != "auto",
            KeyState::Section => value.is_object(),
            KeyState::SectionInUse => value
                .as_object()
                .is_some_and(|section| section.values().any(schema::is_true)),
            KeyState::On => schema::truth(value) == Some(true),
            KeyState::Off => schema::truth(value) == Some(false),
            KeyState::Truthy => schema::is_true(value) && value != "auto",
            KeyState::Falsy => !schema::is_true(value),
            KeyState::Word(words) => value
                .as_str()
                .is_some_and(|text| words.iter().any(|word| word.eq_ignore_ascii_case(text))),
            KeyState::BeginsWith(start) => {
                value.as_str().is_some_and(|text| text.starts_with(start))
            }
            KeyState::Number => number(value).is_some(),
            KeyState::Whole => schema::whole(value).is_some(),
            KeyState::Odd => schema::whole(value).is_some_and(|number| number % 2.0 != 0.0),
            KeyState::Equals(wanted) => real.is_some_and(|number| (number - wanted).abs() == 0.0),
            KeyState::Above(least) => real.is_some_and(|number| number > least),
            KeyState::Below(most) => real.is_some_and(|number| number < most),
        }
    }
}

fn installed(subject: &Subject, file: &str) -> Option<String> {
    reading::text_if_any(&subject.job.installed_file(file)?)
}

/// The names that the first of these files that is installed assigns: `qwen2 = 'qwen2'`.
pub(super) fn listed(subject: &Subject, files: &[&str]) -> Vec<String> {
    let text = files
        .iter()
        .find_map(|file| installed(subject, file))
        .unwrap_or_default();
    text.split(" = '")
        .skip(1)
        .filter_map(|rest| rest.split('\'').next())
        .map(str::to_string)
        .collect()
}
