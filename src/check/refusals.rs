//! What a trainer refuses once its arguments are read, though its parser took them: the rows of `refusals.txt`, which says
//! how it is written.

use super::subject::Subject;
use crate::base::rows;
use crate::command::argv::hf_bool;
use crate::command::job::Trainer;
use crate::command::python::Presence;
use crate::report::fix::{Fix, Fixes, drop_word, give, run, say};
use crate::report::{nearest, reading};

const TABLE: &str = include_str!("refusals.txt");

/// Who refuses what all that use it refuse.
const TRANSFORMERS: &str = "transformers";

/// One block of the table. Its lines are read when they are asked for: most blocks are about arguments that are not given.
#[derive(Clone, Copy)]
pub(super) struct Refusal {
    trainer: &'static str,
    lines: &'static str,
}

enum Condition {
    On(&'static str),
    Given(&'static str),
    Is(&'static str, &'static str),
    /// The installed file, or the first of them that is there, does not list the value.
    Unlisted(&'static str, &'static str),
    LeftOut(&'static str),
    /// None of these modules is installed.
    Missing(&'static str),
    WithoutKey(&'static str),
    FewerRanks(&'static str),
    Deepspeed,
    Zero3(bool),
    Says(&'static str, &'static str),
}

/// Everything that a trainer may refuse.
pub(super) fn all(trainer: &Trainer) -> impl Iterator<Item = Refusal> {
    let is_of = |block: &&str, name: &str| block.strip_prefix(name).is_some_and(|rest| rest.starts_with('\n'));
    let blocks = rows::blocks(TABLE).filter(move |block| is_of(block, TRANSFORMERS) || is_of(block, trainer.name));
    blocks.filter_map(|block| block.split_once('\n')).map(|(trainer, lines)| Refusal { trainer, lines })
}

impl Refusal {
    fn fields(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.lines.lines().filter_map(|line| line.split_once(' ')).map(|(name, text)| (name, text.trim_start()))
    }

    fn field(self, name: &str) -> &'static str {
        self.fields().find(|(field, _)| *field == name).map_or("", |(_, text)| text)
    }

    /// All must hold.
    fn conditions(self) -> impl Iterator<Item = Condition> {
        let conditions = self.fields().take_while(|(name, _)| matches!(*name, "if" | "and"));
        conditions.map(|(_, text)| Condition::read(text))
    }

    pub(super) fn why(self) -> &'static str {
        self.field("why")
    }

    /// Whether the parser must have the arguments of transformers.
    pub(super) fn is_of_transformers(self) -> bool {
        self.trainer == TRANSFORMERS
    }

    /// The argument that must not be left out.
    pub(super) fn needed(self) -> Option<&'static str> {
        self.conditions().next().and_then(|first| if let Condition::LeftOut(name) = first { Some(name) } else { None })
    }

    /// Whether this is what the trainer will see. `is_left_out`: whether no abbreviation may mean an argument.
    pub(super) fn holds(self, subject: &Subject, is_left_out: impl Fn(&str) -> bool) -> bool {
        self.conditions().all(|condition| condition.holds(subject, &is_left_out))
    }

    /// Those of the table; where the values are listed, the nearest one.
    pub(super) fn fixes(self, subject: &Subject, option: &str, value: &str) -> Fixes {
        let known = match self.conditions().next() {
            Some(Condition::Unlisted(_, files)) => listed(subject, files),
            _ => Vec::new(),
        };
        if let Some(near) = nearest(value, known.iter().map(String::as_str)) {
            return give(option, near).into();
        }
        let fixes = self.fields().filter(|(name, _)| *name == "fix").filter_map(|(_, text)| text.split_once(' '));
        Fixes(fixes.map(|(kind, text)| fix(kind, text)).collect())
    }

    /// The argument as it is given and its value, if it is refused.
    pub(super) fn refuses(self, subject: &Subject) -> Option<(String, String)> {
        let (option, values) = subject.job.args.list(self.conditions().next()?.given_argument()?)?;
        let value = values.first().map_or_else(String::new, |value| value.to_string_lossy().into_owned());
        self.holds(subject, |_| true).then_some((option, value))
    }
}

fn fix(kind: &str, text: &str) -> Fix {
    match (kind, text.split_once(' ')) {
        ("give", Some((option, value))) => give(option, value),
        ("drop", _) => drop_word(text),
        ("run", _) => run(text),
        _ => say(text),
    }
}

/// The names that the first of these files that is there assigns: `qwen2 = 'qwen2'`.
fn listed(subject: &Subject, files: &str) -> Vec<String> {
    let text = files.split('|').find_map(|file| reading::text_if_any(&subject.job.installed_file(file)?));
    let text = text.unwrap_or_default();
    text.split(" = '").skip(1).filter_map(|rest| rest.split('\'').next()).map(str::to_string).collect()
}

impl Condition {
    fn read(text: &'static str) -> Self {
        let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
        match (first, rest.split_once(' ').unwrap_or((rest, ""))) {
            (files, ("says", said)) => Condition::Says(files, said),
            (name, ("unlisted", files)) => Condition::Unlisted(name, files),
            ("ranks", ("<", name)) => Condition::FewerRanks(name),
            ("no", (name, _)) => Condition::LeftOut(name),
            ("missing", (modules, _)) => Condition::Missing(modules),
            ("without", (key, _)) => Condition::WithoutKey(key),
            ("given", (name, _)) => Condition::Given(name),
            ("not", ("zero3", _)) => Condition::Zero3(false),
            ("zero3", _) => Condition::Zero3(true),
            ("deepspeed", _) => Condition::Deepspeed,
            _ => text.split_once('=').map_or(Condition::On(text), |(name, value)| Condition::Is(name, value)),
        }
    }

    fn given_argument(&self) -> Option<&'static str> {
        match self {
            Condition::On(name)
            | Condition::Given(name)
            | Condition::Is(name, _)
            | Condition::Unlisted(name, _)
            | Condition::FewerRanks(name) => Some(name),
            _ => None,
        }
    }

    fn holds(&self, subject: &Subject, is_left_out: impl Fn(&str) -> bool) -> bool {
        let given = |name: &str| subject.job.args.list(name).map(|(_, values)| values.first()?.to_str());
        // Something that is not seen may put a value there.
        let seen = |name: &str| !subject.job.unread.iter().any(|unread| unread == name);
        let value =
            |name| given(name).map(|value| value.unwrap_or("true")).filter(|text| seen(name) && !text.contains('$'));
        match self {
            Condition::On(name) => value(name).and_then(hf_bool) == Some(true),
            Condition::Given(name) => value(name).is_some_and(|value| value != "None"),
            Condition::Unlisted(name, files) => value(name).is_some_and(|value| {
                let known = listed(subject, files);
                !known.is_empty() && !known.iter().any(|known| known == value)
            }),
            Condition::Is(name, wanted) => value(name).is_some_and(|value| match wanted.strip_suffix('*') {
                Some(start) => value.starts_with(start),
                None => value == *wanted,
            }),
            Condition::LeftOut(name) => given(name).is_none() && seen(name) && is_left_out(name),
            Condition::Missing(modules) => subject.job.python.as_ref().is_some_and(|python| {
                let is_missing = |module| python.seek(module, subject.host) == Presence::Missing;
                subject.runs_here() && modules.split('|').all(is_missing)
            }),
            Condition::WithoutKey(key) => subject.get(key).is_none(),
            Condition::FewerRanks(name) => {
                let size = value(name).and_then(|size| size.parse::<u64>().ok());
                size.zip(subject.world()).is_some_and(|(size, world)| world < size)
            }
            Condition::Deepspeed => !subject.config.is_null(),
            Condition::Zero3(wanted) => subject.stage_is(&[3]) == *wanted,
            Condition::Says("script", text) => subject.script_says(text),
            Condition::Says(files, text) => files.split('|').any(|file| subject.installed_says(file, text)),
        }
    }
}
