//! The table of engines: the names of their variables, the sentences of the documents about them, and the values that the two
//! machines of a job find in them. `engines.txt` says how it is written.

use std::collections::BTreeSet;

use crate::base::rows;
use crate::base::vars::{Does, Var, of_no_engine};

#[derive(Clone, Copy)]
pub struct Block {
    /// `NAME: ANSWER`.
    pub head: &'static str,
    /// The lines below. The first has the prefixes.
    pub body: &'static str,
}

#[derive(Clone, Copy)]
pub struct Variable {
    pub roles: &'static str,
    /// `NAME=VALUE`, `?NAME=VALUE` or `NAME`.
    pub setting: &'static str,
}

/// Words at the beginning of lines that are about no variable.
pub const FIELDS: [&str; 9] = [
    "prefixes",
    "about",
    "proxies",
    "proxy-option",
    "manual",
    "inside",
    "set-by",
    "pods",
    "untold",
];

const TABLE: &str = include_str!("engines.txt");

/// In the order the engines are asked.
pub fn all() -> impl Iterator<Item = Block> {
    blocks(TABLE)
}

/// The blocks of a text that is written like the table.
pub fn blocks(text: &'static str) -> impl Iterator<Item = Block> {
    rows::blocks(text).map(|text| {
        let (head, body) = text.split_once('\n').unwrap_or((text, ""));
        Block { head, body }
    })
}

/// Every variable that zlaunch reads or sets. One of several engines stands in the row of the first.
pub fn all_variables() -> Vec<Var> {
    let mut all = of_no_engine();
    let mut seen: BTreeSet<&str> = all.iter().flat_map(Var::names).collect();
    for (about, names) in documented() {
        let new: Vec<&str> = names.filter(|name| seen.insert(name)).collect();
        if !new.is_empty() {
            all.push(Var {
                names: new,
                does: Does::Reads,
                about,
            });
        }
    }
    all
}

/// The sentences of the documents, each with the variables it is about.
fn documented() -> impl Iterator<Item = (&'static str, impl Iterator<Item = &'static str>)> {
    let parts = all().flat_map(|block| block.body.split("\nabout ").skip(1));
    parts.filter_map(|part| {
        let (sentence, variables) = part.split_once('\n')?;
        Some((
            sentence.trim_start(),
            variables
                .lines()
                .filter_map(Variable::of)
                .map(Variable::name),
        ))
    })
}

impl Block {
    pub fn name(&self) -> &'static str {
        self.head
            .split_once(": ")
            .map_or(self.head, |(name, _)| name)
    }

    /// The variables that show this engine begin with one of these.
    pub fn env_prefixes(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.field("prefixes")
            .unwrap_or_default()
            .split_ascii_whitespace()
    }

    /// The rest of the line that begins with this word.
    pub fn field(&self, field: &str) -> Option<&'static str> {
        let mut lines = self.body.lines();
        lines
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(' '))
            .map(str::trim_start)
    }

    pub fn variables(&self) -> impl Iterator<Item = Variable> + use<> {
        self.body.lines().filter_map(Variable::of)
    }

    pub fn names(&self, role: &str) -> impl Iterator<Item = &'static str> {
        self.variables()
            .filter(move |variable| variable.is(role))
            .map(Variable::name)
    }

    /// Empty: there is none.
    pub fn name_of(&self, role: &str) -> &'static str {
        self.names(role).next().unwrap_or_default()
    }
}

impl Variable {
    fn of(line: &'static str) -> Option<Self> {
        let has_word = line.starts_with(|first: char| first.is_ascii_lowercase());
        let (roles, setting) = if has_word {
            line.split_once(' ')?
        } else {
            ("", line)
        };
        if setting.is_empty() || line.starts_with('#') || FIELDS.contains(&roles) {
            return None;
        }
        Some(Variable {
            roles,
            setting: setting.trim_start(),
        })
    }

    pub fn is(self, role: &str) -> bool {
        self.roles.split(',').any(|known| known == role)
    }

    pub fn name(self) -> &'static str {
        self.setting
            .split('=')
            .next()
            .unwrap_or_default()
            .trim_start_matches('?')
    }

    /// By itself it shows a larger job.
    pub fn shows_a_job(self) -> bool {
        !self.setting.starts_with('?') && !["port", "gpus", "job"].contains(&self.roles)
    }
}
