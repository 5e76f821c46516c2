//! Arguments that a trainer's parser takes and the trainer then refuses: the blocks of `refusals.txt`, and what
//! those of other tables have in common with them.

use serde_json::Value;

use super::subject::Subject;
use crate::base::rows;
use crate::command::argv::hf_bool;
use crate::command::job::Trainer;
use crate::command::parser::Parser;
use crate::command::python::Presence;
use crate::config::schema;
use crate::config::zero::Device;
use crate::report::fix::{Fix, Fixes, Owner, drop_word, give, run, say, set, unset};
use crate::report::{nearest, reading};

const TABLE: &str = include_str!("refusals.txt");

/// Blocks of this name are for every trainer that uses transformers.
pub(super) const TRANSFORMERS: &str = "transformers";

/// One block of this table or of another in this folder, parsed on demand: most are about what is not given.
#[derive(Clone, Copy, Default)]
pub(super) struct Block {
    /// Its first line: the trainers, a rule or a key.
    pub(super) name: &'static str,
    lines: &'static str,
}

pub(super) fn all(trainer: &Trainer) -> impl Iterator<Item = Block> {
    let blocks = rows::blocks(TABLE).map(Block::of);
    blocks.filter(|block| {
        block
            .name
            .split(' ')
            .any(|name| name == TRANSFORMERS || name == trainer.name)
    })
}

impl Block {
    pub(super) fn of(text: &'static str) -> Self {
        let (name, lines) = text.split_once('\n').unwrap_or((text, ""));
        Block { name, lines }
    }

    fn fields(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.lines
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(name, text)| (name, text.trim_start()))
    }

    /// All must hold, as `refusals.txt` explains them.
    fn conditions(self) -> impl Iterator<Item = Condition> {
        let conditions = self
            .fields()
            .take_while(|(name, _)| matches!(*name, "if" | "and"));
        conditions.map(|(_, text)| Condition::of(text))
    }

    pub(super) fn text(self, field: &str) -> &'static str {
        self.fields()
            .find(|(name, _)| *name == field)
            .map_or("", |(_, text)| text)
    }

    pub(super) fn needed(self) -> Option<&'static str> {
        match self.conditions().next()?.words {
            ["no", name, ""] => Some(name),
            _ => None,
        }
    }

    /// Without a parser, no argument is known to be left out.
    pub(super) fn holds(self, subject: &Subject, parser: Option<&Parser>) -> bool {
        self.conditions()
            .all(|condition| condition.holds(subject, parser))
    }

    /// The nearest of the listed values, or the fixes of the table.
    pub(super) fn fixes(self, subject: &Subject, option: &str, value: &str) -> Fixes {
        if let Some(first) = self.conditions().next()
            && let [_, "unlisted", files] = first.words
            && let Some(near) = nearest(value, listed(subject, files).iter().map(String::as_str))
        {
            return give(option, near).of(Owner::Trainer).into();
        }
        let fixes = self.fields().filter(|(name, _)| *name == "fix");
        let filled = fixes.map(|(_, text)| {
            // `{NAME|DEFAULT}` is the value of an argument.
            let (start, hole) = text
                .trim_end_matches('}')
                .split_once('{')
                .unwrap_or((text, ""));
            let (name, default) = hole.split_once('|').unwrap_or_default();
            let given = subject
                .job
                .args
                .list(name)
                .and_then(|(_, values)| Some(values.first()?.to_string_lossy()));
            fix(&format!("{start}{}", given.as_deref().unwrap_or(default)))
        });
        Fixes(filled.collect())
    }

    /// Those of a table in which ` and ` stands between changes that belong together.
    pub(super) fn joined_fixes(self) -> Fixes {
        let fixes = self.fields().filter(|(name, _)| *name == "fix");
        Fixes(
            fixes
                .filter_map(|(_, text)| text.split(" and ").map(fix).reduce(Fix::and))
                .collect(),
        )
    }

    /// The refused option and its value.
    pub(super) fn refuses(self, subject: &Subject, parser: &Parser) -> Option<(String, String)> {
        let (option, values) = subject
            .job
            .args
            .list(self.conditions().next()?.given_argument()?)?;
        let value = values
            .first()
            .map_or_else(String::new, |value| value.to_string_lossy().into_owned());
        self.holds(subject, Some(parser)).then_some((option, value))
    }
}

/// `give --bf16 true`, `set zero_optimization.stage 2`.
fn fix(text: &str) -> Fix {
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    match (kind, rest.split_once(' ')) {
        ("give", Some(("--deepspeed", value))) => give("--deepspeed", value),
        ("give", Some((option, value))) => give(option, value).of(Owner::Trainer),
        ("set", Some((key, value))) => set(key, value),
        ("unset", _) => unset(rest),
        ("swap", Some((dropped, given))) => drop_word(dropped)
            .of(Owner::Trainer)
            .and(fix(&format!("give {given}"))),
        ("drop", _) => drop_word(rest).of(Owner::Trainer),
        ("run", _) => run(rest),
        _ => say(rest),
    }
}

fn installed(subject: &Subject, file: &str) -> Option<String> {
    reading::text_if_any(&subject.job.installed_file(file)?)
}

/// The names that the first of these files that is there assigns: `qwen2 = 'qwen2'`.
fn listed(subject: &Subject, files: &str) -> Vec<String> {
    let text = files
        .split('|')
        .find_map(|file| installed(subject, file))
        .unwrap_or_default();
    text.split(" = '")
        .skip(1)
        .filter_map(|rest| rest.split('\'').next())
        .map(str::to_string)
        .collect()
}

struct Condition {
    text: &'static str,
    words: [&'static str; 3],
}

impl Condition {
    fn of(text: &'static str) -> Self {
        let mut words = text.splitn(3, ' ');
        Condition {
            text,
            words: [(); 3].map(|()| words.next().unwrap_or_default()),
        }
    }

    fn given_argument(&self) -> Option<&'static str> {
        match self.words {
            [_, "says", _]
            | [
                "no" | "missing" | "without" | "not" | "stage" | "deepspeed" | "unequal",
                ..,
            ] => None,
            ["ranks", "<", name] | ["given", name, ""] | [name, "unlisted", _] => Some(name),
            _ => Some(self.text.split('=').next().unwrap_or(self.text)),
        }
    }

    fn holds(&self, subject: &Subject, parser: Option<&Parser>) -> bool {
        let is_left_out =
            |name| parser.is_some_and(|parser| parser.is_left_out(name, subject.job.args.words()));
        let given = |name: &str| {
            subject
                .job
                .args
                .list(name)
                .map(|(_, values)| values.first()?.to_str())
        };
        // It may get a value from something that zlaunch does not see.
        let seen = |name: &str| !subject.job.unread.iter().any(|unread| unread == name);
        let value = |name| {
            given(name)
                .map(|it| it.unwrap_or("true"))
                .filter(|text| seen(name) && !text.contains('$'))
        };
        match self.words {
            ["script", "says", text] => subject.script_says(text),
            [files, "says", text] => files
                .split('|')
                .filter_map(|file| installed(subject, file))
                .any(|source| source.contains(text)),
            [name, "unlisted", files] => value(name).is_some_and(|value| {
                let known = listed(subject, files);
                !known.is_empty() && !known.iter().any(|known| known == value)
            }),
            ["ranks", "<", name] => {
                let size = value(name).and_then(|size| size.parse::<u64>().ok());
                size.zip(subject.world())
                    .is_some_and(|(size, world)| world < size)
            }
            ["no", name, _] => given(name).is_none() && seen(name) && is_left_out(name),
            ["missing", modules, _] => subject.job.python.as_ref().is_some_and(|python| {
                let mut found = modules
                    .split('|')
                    .map(|module| python.seek(module, subject.host));
                subject.runs_here() && found.all(|presence| presence == Presence::Missing)
            }),
            ["without", key, _] => subject.get(key).is_none(),
            ["given", name, _] => value(name).is_some_and(|value| value != "None"),
            ["not", ..] => !Condition::of(&self.text["not ".len()..]).holds(subject, parser),
            ["unequal", one, two] => {
                let default =
                    |(name, default)| value(name).or_else(|| is_left_out(name).then_some(default));
                let [one, two] =
                    [one, two].map(|given: &str| given.split_once('|').and_then(default));
                one.is_some() && two.is_some() && one != two
            }
            ["stage", ..] => subject
                .zero()
                .stage
                .is_some_and(|it| self.text.contains(&it.to_string())),
            ["uses", "transformers", _] => subject.is_hf(),
            ["sets", key, _] => subject.job.trainer.sets(key),
            ["on", one, two] => [one, two]
                .iter()
                .all(|key| key.is_empty() || subject.is_on(key) == Some(true)),
            ["off", key, _] => subject.is_on(key) == Some(false),
            ["true", key, _] => subject.get(key).is_some_and(schema::is_true),
            ["several", key, _] => subject.whole(key).is_some_and(|size| size > 1.0),
            ["any", key, _] => subject
                .get(key)
                .and_then(Value::as_object)
                .is_some_and(|it| it.values().any(schema::is_true)),
            [what, "on", devices] => {
                let (optimizer, param) = (subject.zero().optimizer, subject.zero().param);
                let is_on =
                    |device: Device| devices.split(' ').any(|name| name == device.to_string());
                (what == "parameters" || is_on(optimizer)) && (what == "optimizer" || is_on(param))
            }
            ["deepspeed", ..] => !subject.config.is_null(),
            _ => match self.text.split_once('=') {
                Some((name, wanted)) => value(name).is_some_and(|value| {
                    wanted
                        .strip_suffix('*')
                        .map_or(value == wanted, |start| value.starts_with(start))
                }),
                None => value(self.text).and_then(hf_bool) == Some(true),
            },
        }
    }
}
