//! Fixes: what the user can change about a problem, as values. Every rendering of them is here: the text behind `help:`,
//! JSON, and the edits of `check --fix`.

use std::{collections::HashSet, ffi::OsStr, fmt, path::Path};

use serde::Serialize;
use serde_json::{Value, json};

use crate::base::{
    json::{Edit, text},
    shell,
    source::{Source, Sourced},
};

use Change::{
    CorrectSetting, Drop, Give, MoveToFront, Rename, RenameOption, Run, Say, Set, SetVariable,
    Unset, UnsetVariable,
};

/// The program that reads an option.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Owner {
    Zlaunch,
    Trainer,
    /// The launcher in the command: `torchrun`, `accelerate launch`.
    Launcher,
}

impl Owner {
    /// Of an argument in the command, the trainer.
    fn of(source: &Source) -> Self {
        match source {
            Source::Argument(_) | Source::Implied(_) | Source::Doubtful(_) => Owner::Trainer,
            _ => Owner::Zlaunch,
        }
    }
}

/// One thing to change.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A key of the config, and its value as `--set` takes it.
    Set(String, String),
    Unset(String),
    /// A key of the config, its new name, which may be in another section, and its value.
    Rename(String, String, String),
    /// In a run file an option has no dashes.
    Give {
        owner: Owner,
        option: String,
        value: String,
    },
    Drop {
        owner: Owner,
        word: String,
    },
    RenameOption {
        owner: Owner,
        option: String,
        to: String,
    },
    /// `--set` with a key, and what to write instead.
    CorrectSetting(String, String),
    /// An option of zlaunch that stands after the command.
    MoveToFront(String),
    SetVariable(String, String),
    UnsetVariable(String),
    /// A whole command line to run.
    Run(String),
    /// A sentence, of which nothing can be pasted.
    Say(String),
}

/// Changes that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    pub changes: Vec<Change>,
    /// Printed before the changes.
    lead: String,
    /// The word that a user meant, if the fix is for those who did.
    meant: Option<String>,
    /// Printed after them, in parentheses.
    remark: String,
    /// `check --fix` makes it without asking: it keeps what was meant, and nothing else can have been meant.
    is_safe: bool,
}

/// In order of preference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fixes(pub Vec<Fix>);

/// Functions that make a fix of one change.
macro_rules! changes {
    ($($function:ident $change:ident($($part:ident),*);)*) => {
        $(pub fn $function($($part: impl fmt::Display),*) -> Fix {
            $change($($part.to_string()),*).into()
        })*
    };
}

changes! {
    set Set(key, value);
    unset Unset(key);
    rename Rename(key, to, value);
    move_to_front MoveToFront(option);
    set_variable SetVariable(name, value);
    unset_variable UnsetVariable(name);
    run Run(line);
    say Say(text);
}

/// An option of zlaunch; [`Fix::of`] names another owner.
pub fn give(option: impl fmt::Display, value: impl fmt::Display) -> Fix {
    Fix::from(Give {
        owner: Owner::Zlaunch,
        option: option.to_string(),
        value: value.to_string(),
    })
}

/// An option of zlaunch; [`Fix::of`] names another owner.
pub fn drop_word(word: impl fmt::Display) -> Fix {
    Fix::from(Drop {
        owner: Owner::Zlaunch,
        word: word.to_string(),
    })
}

/// An option of zlaunch; [`Fix::of`] names another owner.
pub fn rename_option(option: impl fmt::Display, to: impl fmt::Display) -> Fix {
    Fix::from(RenameOption {
        owner: Owner::Zlaunch,
        option: option.to_string(),
        to: to.to_string(),
    })
}

/// Drops an option with its value, as it was spelled.
pub fn drop_given(given: &Sourced<impl fmt::Display>) -> Fix {
    drop_word(given.spelling()).of(Owner::of(&given.from))
}

pub fn set_json(key: impl fmt::Display, value: &Value) -> Fix {
    set(key, text(value))
}

/// The same option or variable with another value.
pub fn give_as(source: &Source, value: impl fmt::Display) -> Fix {
    match source {
        Source::Variable(name) => run(format_args!(
            "export {}",
            assignment(name, &value.to_string())
        )),
        Source::Operand(_) => give(value, ""),
        option => give(option, value).of(Owner::of(option)),
    }
}

/// The word that was probably meant, where there is nothing more to say than that.
pub fn meant(word: impl fmt::Display) -> Fix {
    say(format_args!("did you mean `{word}`?"))
}

impl From<Change> for Fix {
    fn from(change: Change) -> Self {
        Fix {
            changes: vec![change],
            lead: String::new(),
            meant: None,
            remark: String::new(),
            is_safe: false,
        }
    }
}

impl Fix {
    /// The options in it belong to this program.
    pub fn of(mut self, of: Owner) -> Self {
        for change in &mut self.changes {
            if let Give { owner, .. } | Drop { owner, .. } | RenameOption { owner, .. } = change {
                *owner = of;
            }
        }
        self
    }

    pub fn and(mut self, other: Fix) -> Self {
        self.changes.extend(other.changes);
        self.is_safe &= other.is_safe;
        self
    }

    /// True if all of it can be pasted at one place.
    pub fn is_of_one_program(&self) -> bool {
        self.changes.len() == 1 || self.changes.iter().all(Change::is_option_of_zlaunch)
    }

    /// False if it sets a key to two values, or removes what it sets: the first would be lost.
    pub fn keeps_what_it_sets(&self) -> bool {
        let keys = self.changes.iter().filter_map(|change| match change {
            Set(key, _) | Rename(_, key, _) => Some(key.as_str()),
            CorrectSetting(_, to) => Some(to.strip_prefix("--set ")?.split_once('=')?.0),
            _ => None,
        });
        let mut seen = HashSet::new();
        let is_removed = |key: &str| {
            self.changes
                .iter()
                .any(|change| matches!(change, Unset(gone) if key.starts_with(gone)))
        };
        keys.into_iter()
            .all(|key| seen.insert(key) && !is_removed(key))
    }

    /// It corrects a name or a value that was misspelt or stood in the wrong place, so that what was written counts.
    pub fn corrects_a_name(&self) -> bool {
        let is_variable = matches!(self.changes[..], [UnsetVariable(_), SetVariable(..)]);
        let is_moved = matches!(&self.changes[..], [Unset(_), others @ ..]
            if !others.is_empty() && others.iter().all(|change| matches!(change, Set(..))));
        let is_renamed = |change: &Change| {
            matches!(
                change,
                Rename(..) | RenameOption { .. } | CorrectSetting(..)
            )
        };
        self.meant.is_some() || is_variable || is_moved || self.changes.iter().any(is_renamed)
    }

    /// The right name.
    pub fn corrected(&self) -> Option<&str> {
        let renamed = self.changes.iter().find_map(|change| match change {
            Rename(_, to, _)
            | RenameOption { to, .. }
            | CorrectSetting(_, to)
            | SetVariable(to, _) => Some(to.as_str()),
            _ => None,
        });
        self.meant.as_deref().or(renamed)
    }

    pub fn is_advice(&self) -> bool {
        matches!(self.changes[..], [Say(_)])
    }

    /// It writes "auto" in place of a value.
    pub fn leaves_to_trainer(&self) -> bool {
        self.changes
            .iter()
            .all(|change| matches!(change, Set(_, value) if value == "auto"))
    }

    /// The key that was meant in a file that changes another one, where the file is to be corrected.
    pub fn in_a_layer(key: &str) -> Self {
        Fix {
            meant: Some(key.to_string()),
            ..meant(key)
        }
    }

    pub fn is_for_a_layer(&self) -> bool {
        self.meant.is_some() && self.is_advice()
    }

    pub fn drops(&self) -> bool {
        self.changes
            .iter()
            .any(|change| matches!(change, Drop { .. }))
    }

    /// Another fix, less preferred.
    pub fn or(self, other: impl Into<Fixes>) -> Fixes {
        Fixes::from(self).or(other)
    }

    /// True for a single command line without anything said about it.
    pub fn is_command(&self) -> bool {
        matches!(self.changes[..], [Run(_)]) && self.lead.is_empty() && self.remark.is_empty()
    }

    pub fn lead(self, lead: impl Into<String>) -> Self {
        Fix {
            lead: lead.into(),
            ..self
        }
    }

    /// The fix is for those who meant this word.
    pub fn meaning(self, word: impl fmt::Display) -> Self {
        let lead = format!("did you mean `{word}`?");
        self.correcting(word).lead(lead)
    }

    /// It writes this word in place of one that means the same and is not understood.
    pub fn correcting(self, word: impl fmt::Display) -> Self {
        Fix {
            meant: Some(word.to_string()),
            ..self
        }
    }

    pub fn remark(self, remark: impl Into<String>) -> Self {
        Fix {
            remark: remark.into(),
            ..self
        }
    }

    pub fn safe(self) -> Self {
        Fix {
            is_safe: true,
            ..self
        }
    }

    /// The edits of a config file. None if a part of the fix is not one.
    pub fn edits(&self) -> Vec<Edit> {
        let edits = self
            .changes
            .iter()
            .map(Change::edits)
            .collect::<Option<Vec<_>>>();
        edits.unwrap_or_default().into_iter().flatten().collect()
    }

    /// The line that makes the edits of `file`.
    fn command(&self, file: &Path) -> Option<String> {
        let edits = self.edits();
        let edit = match &edits[..] {
            [] => return None,
            [Edit::Rename(_, to)] => format!("did you mean `{to}`?"),
            _ => self.text(true) + ":",
        };
        let file = shell::text(&[file.into()]);
        Some(format!("{edit} zlaunch check --fix {file}"))
    }

    fn text(&self, in_file: bool) -> String {
        let is_one_line = self.changes.iter().all(Change::is_option_of_zlaunch);
        let changes: Vec<String> = self
            .changes
            .iter()
            .map(|change| change.text(in_file))
            .collect();
        let changes = changes.join(if is_one_line && !in_file {
            " "
        } else {
            ", and "
        });
        match (self.lead.as_str(), self.remark.as_str()) {
            ("", "") => changes,
            // What stands behind a line would be pasted with it.
            ("", remark) if matches!(self.changes[..], [Run(_)]) => format!("{remark}: {changes}"),
            ("", remark) => format!("{changes} ({remark})"),
            (lead, _) => format!("{lead} {changes}"),
        }
    }

    fn json(&self) -> Value {
        let mut fix = self.changes[0].json();
        if self.changes.len() > 1 {
            fix["and"] = self.changes[1..].iter().map(Change::json).collect();
        }
        let why = self.lead.clone() + &self.remark;
        if !why.is_empty() {
            fix["why"] = why.into();
        }
        if self.is_safe {
            fix["safe"] = json!(true);
        }
        fix
    }
}

impl Change {
    /// As it can be pasted before the command, or as it is done in a config file.
    fn text(&self, in_file: bool) -> String {
        match self {
            Set(key, value) if in_file => format!("set {key} to {value}"),
            Unset(key) if in_file => format!("remove {key}"),
            Rename(key, to, _) if in_file && key == to => format!("move {key} into its section"),
            Rename(key, to, _) if in_file => format!("rename {key} to {to}"),
            Set(key, value) => format!("--set {}", assignment(key, value)),
            Unset(key) => format!("--unset {key}"),
            Rename(key, to, value) => {
                // What is no other JSON needs no quotes.
                let value = match read(value) {
                    Value::String(text) if read(&text) == text => text,
                    _ => value.clone(),
                };
                format!("--unset {key} --set {}", assignment(to, &value))
            }
            Give { option, value, .. } if value.is_empty() => option.clone(),
            Give { option, value, .. } if option.starts_with('-') => {
                format!("{option} {}", pasted(value))
            }
            Give { option, value, .. } => format!("{option}: {value}"),
            Drop { word, .. } => format!("drop {word}"),
            RenameOption { to, .. } => format!("did you mean `{to}`?"),
            CorrectSetting(_, to) => to.clone(),
            MoveToFront(option) => {
                format!("put {option} before the command: it is an option of zlaunch")
            }
            SetVariable(name, value) => format!("--env {}", assignment(name, value)),
            UnsetVariable(name) => format!("--unset-env {name}"),
            Run(text) | Say(text) => text.clone(),
        }
    }

    fn json(&self) -> Value {
        let mut change = match self {
            Set(key, value) => json!({ "set": key, "value": read(value) }),
            Unset(key) => json!({ "unset": key }),
            Rename(key, to, value) => {
                json!({ "rename": key, "to": to, "value": read(value) })
            }
            Give { option, value, .. } => json!({ "give": option, "value": value }),
            Drop { word, .. } => json!({ "drop": word }),
            RenameOption { option, to, .. } | CorrectSetting(option, to) => {
                json!({ "rename": option, "to": to })
            }
            MoveToFront(option) => json!({ "move": option, "to": "before the command" }),
            SetVariable(name, value) => json!({ "set_env": name, "value": value }),
            UnsetVariable(name) => json!({ "unset_env": name }),
            Run(line) => json!({ "run": line }),
            Say(text) => json!({ "say": text }),
        };
        if let Give { owner, .. } | Drop { owner, .. } | RenameOption { owner, .. } = self
            && *owner != Owner::Zlaunch
        {
            change["owner"] = json!(owner);
        }
        change
    }

    /// Options of zlaunch stand beside each other before the command.
    fn is_option_of_zlaunch(&self) -> bool {
        match self {
            Give { owner, .. } => *owner == Owner::Zlaunch,
            Set(..) | Unset(_) | Rename(..) => true,
            other => matches!(other, SetVariable(..) | UnsetVariable(_)),
        }
    }

    fn edits(&self) -> Option<Vec<Edit>> {
        let json = |value: &str| match serde_json::from_str::<Value>(value) {
            Ok(_) => value.to_string(),
            Err(_) => Value::from(value).to_string(),
        };
        let section = |key: &str| key.rsplit_once('.').map(|(section, _)| section.to_string());
        Some(match self {
            Set(key, value) => vec![Edit::Set(key.clone(), json(value))],
            Unset(key) => vec![Edit::Remove(key.clone())],
            Rename(key, to, _) if key != to && section(key) == section(to) => {
                vec![Edit::Rename(
                    key.clone(),
                    to.rsplit('.').next().unwrap_or(to).to_string(),
                )]
            }
            Rename(key, to, value) => match to.strip_prefix(&format!("{key}.")) {
                // The value belongs into a section of that name: `"fp16": true`.
                Some(inner) => vec![Edit::Set(
                    key.clone(),
                    format!("{{{}: {}}}", Value::from(inner), json(value)),
                )],
                None => vec![Edit::Move(key.clone(), to.clone(), json(value))],
            },
            _ => return None,
        })
    }
}

fn assignment(name: &str, value: &str) -> String {
    pasted(&format!("{name}={value}"))
}

/// A word for a shell. A `$` in it is for the shell to expand: `/local/nvme/$USER-$$`.
fn pasted(word: &str) -> String {
    if let Some(rest) = word.strip_prefix("~/") {
        return format!("~/{}", pasted(rest));
    }
    let plain = word.replace('$', "");
    let is_plain = !plain.is_empty() && shell::quoted(OsStr::new(&plain)) == plain.as_bytes();
    if is_plain || word.contains('…') {
        word.to_string()
    } else {
        shell::text(&[word.into()])
    }
}

/// A value as `--set` reads it: JSON, else a text.
fn read(value: &str) -> Value {
    serde_json::from_str(value).unwrap_or_else(|_| Value::from(value))
}

impl Fixes {
    pub fn or(mut self, other: impl Into<Fixes>) -> Self {
        self.0.extend(other.into().0);
        self
    }

    /// One command line, and nothing else to say.
    pub fn is_command(&self) -> bool {
        matches!(&self.0[..], [fix] if fix.is_command())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The one that `check --fix` makes.
    pub fn safe(&self) -> Option<&Fix> {
        self.0.first().filter(|fix| fix.is_safe)
    }

    pub fn changes(&mut self) -> impl Iterator<Item = &mut Change> {
        self.0.iter_mut().flat_map(|fix| &mut fix.changes)
    }

    /// The option of zlaunch that stands after the command.
    pub fn moved(&self) -> Option<&str> {
        self.0
            .iter()
            .flat_map(|fix| &fix.changes)
            .find_map(|change| match change {
                MoveToFront(option) => Some(option.as_str()),
                _ => None,
            })
    }

    /// The text behind `help:`. `in_file`: the config is a file, which is edited instead of adding options.
    pub fn text(&self, in_file: bool, file: Option<&Path>) -> String {
        let mut all = String::new();
        for fix in &self.0 {
            if !all.is_empty() {
                all += ", or ";
            }
            let file = file.filter(|_| in_file && fix.is_safe);
            let command = file.and_then(|file| fix.command(file));
            all += &command.unwrap_or_else(|| fix.text(in_file));
        }
        all
    }

    pub fn json(&self) -> Value {
        self.0.iter().map(Fix::json).collect()
    }
}

impl From<Fix> for Fixes {
    fn from(fix: Fix) -> Self {
        Fixes(vec![fix])
    }
}

/// A sentence that is only said.
impl<T: fmt::Display> From<T> for Fixes {
    fn from(text: T) -> Self {
        say(text).into()
    }
}
