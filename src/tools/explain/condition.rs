//! What a condition in a package is about: variables, keys of the config, options; their values in this launch, and what would
//! make the condition false.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    sources::Said,
    tables::conditions::{COMMON, MOST},
};
use crate::{
    base::{json, recorded::Version},
    config::schema,
    host::Host,
};

enum Subject<'a> {
    Variable(&'a str),
    Key(&'static str),
    Option(&'a str),
}

/// What is asked of a subject.
enum Asked<'a> {
    Given,
    True,
    /// It is not there, or not true.
    Missing,
    Auto,
    Equal(&'a str),
    Unequal(&'a str),
    Other,
}

/// The values of this launch, and what to change.
pub fn read(
    said: &Said,
    version: Version,
    plan: &Value,
    host: &Host,
) -> (BTreeSet<String>, Vec<String>) {
    let (mut facts, mut changes) = (BTreeSet::new(), vec![]);
    for condition in &said.conditions {
        let mut own = vec![];
        for (subject, asked) in subjects(&condition.text, said, version) {
            facts.extend(subject.fact(plan, host));
            own.extend(subject.change(&asked, condition.holds));
        }
        if own.is_empty() {
            let text = &*condition.text;
            own.extend(
                COMMON
                    .iter()
                    .filter(|it| it.holds == condition.holds)
                    .find(|it| text.starts_with(it.begins) && text.contains(it.has))
                    .map_or_else(|| multiple(text), |it| Some(it.change.to_string())),
            );
        }
        // `a or b` is false if both are, so all must be known.
        let [ors, ands] = [" or ", " and "].map(|it| condition.text.matches(it).count());
        let (all, any) = if condition.holds {
            (ors, ands)
        } else {
            (ands, ors)
        };
        match own.len() {
            _ if all == 0 => changes.extend(own),
            known if any == 0 && known == all + 1 => changes.push(own.join(" and ")),
            _ => {}
        }
    }
    changes.dedup();
    changes.truncate(MOST);
    (facts, changes)
}

/// Of `a % b`: what must divide what.
fn multiple(condition: &str) -> Option<String> {
    let (number, divisor) = condition.split_once(" % ")?;
    let number = number.rsplit(' ').next()?.trim_start_matches('(');
    let divisor = divisor.split([' ', ')']).next()?;
    (!divisor.starts_with('(')).then(|| format!("`{number}` as a multiple of `{divisor}`"))
}

fn subjects<'a>(text: &'a str, said: &Said, version: Version) -> Vec<(Subject<'a>, Asked<'a>)> {
    let is_arguments = said.function == "__post_init__" && said.file.contains("arg");
    let found = text
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|name| name.len() > 3)
        .filter_map(|name| {
            let start = name.as_ptr() as usize - text.as_ptr() as usize;
            let (before, after) = (&text[..start], &text[start + name.len()..]);
            let is_quoted = before.ends_with(['"', '\'']);
            // Of DeepSpeed's config, and not of a model's.
            let is_deepspeed = said.file.contains("deepspeed") || text.contains("ds_config");
            let is_of_config =
                is_deepspeed && (text.contains("config") || before.ends_with("is_auto(\""));
            let is_read = if is_quoted {
                is_of_config
            } else {
                after.starts_with("()")
            };
            let subject =
                if is_quoted && name.starts_with(char::is_uppercase) && text.contains("environ") {
                    Subject::Variable(name)
                } else if before.ends_with("args.") || is_arguments && before.ends_with("self.") {
                    Subject::Option(name)
                } else {
                    Subject::Key(schema::named(name, version).find(|_| is_read)?.key)
                };
            Some((subject, asked(before, after)))
        });
    found.collect()
}

fn asked<'a>(before: &str, after: &'a str) -> Asked<'a> {
    let before = before.trim_end_matches(['"', '\'']);
    let after = after.trim_start_matches(['"', '\'', ']', '(', ')', ' ']);
    let operand = |operator| {
        Some(
            after
                .strip_prefix(operator)?
                .split([' ', ')'])
                .next()?
                .trim_matches(['"', '\'']),
        )
    };
    let begins = |words: &[&str]| words.iter().any(|it| after.starts_with(it));
    let word = before.rfind([' ', '(']).map_or(0, |it| it + 1);
    match (operand("== "), operand("!= ")) {
        _ if before.ends_with("is_auto(") => Asked::Auto,
        (Some(value), _) => Asked::Equal(value),
        (_, Some(value)) => Asked::Unequal(value),
        _ if begins(&["not in ", "is None"]) => Asked::Missing,
        _ if begins(&["in ", "is not None"]) || before.contains("len(") => Asked::Given,
        _ if after.starts_with(|c| "<>%+*/.,".contains(c)) => Asked::Other,
        _ if before[..word].ends_with("not ") => Asked::Missing,
        _ => Asked::True,
    }
}

impl Subject<'_> {
    fn fact(&self, plan: &Value, host: &Host) -> Option<String> {
        let (name, value) = match self {
            Subject::Variable(name) => {
                let planned = plan["env"]["set"][*name].as_str();
                (name, planned.or_else(|| host.var(name)).map(str::to_string))
            }
            Subject::Key(key) => {
                let config = plan.get("config").filter(|it| it.is_object())?;
                (key, json::get(config, key).map(Value::to_string))
            }
            Subject::Option(name) => {
                let mut words = plan["argv"]
                    .as_array()?
                    .iter()
                    .filter_map(Value::as_str)
                    .skip_while(|word| word.strip_prefix("--") != Some(name));
                (name, words.nth(1).map(str::to_string))
            }
        };
        Some(match value {
            Some(value) => format!("`{name}` is {value}"),
            None => format!("`{name}` is not set"),
        })
    }

    /// What makes it false, or true where it is asserted.
    fn change(&self, asked: &Asked, holds: bool) -> Option<String> {
        let set = |value: &str| match self {
            Subject::Variable(name) => format!("--env {name}={value}"),
            Subject::Key(key) => format!("--set {key}={value}"),
            Subject::Option(name) => format!("--{name} {value}"),
        };
        Some(match (asked, holds) {
            (Asked::Auto, true) => set("NUMBER") + " (an integer instead of \"auto\")",
            (Asked::Equal(value), false) | (Asked::Unequal(value), true) => set(value),
            (Asked::True, _) => set(if holds { "false" } else { "true" }),
            (Asked::Missing, true) | (Asked::Given, false) => match self {
                Subject::Variable(_) => set("1"),
                Subject::Key(key) => format!("`{key}` in the config"),
                Subject::Option(_) => set("VALUE"),
            },
            (Asked::Given, true) | (Asked::Missing, false) => match self {
                Subject::Variable(name) => format!("--unset-env {name}"),
                Subject::Key(key) => format!("--unset {key}"),
                Subject::Option(name) => format!("drop --{name}"),
            },
            _ => return None,
        })
    }
}
