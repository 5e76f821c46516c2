//! Fixes: what the user can change about a problem, as values. Every rendering of them is here: the text behind `help:`,
//! JSON, and the edits of `check --fix`.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;

use serde_json::{Value, json};

use crate::base::json::Edit;
use crate::base::shell;
use crate::base::source::Source;

/// One thing to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A key of the config gets a value, written as `--set` takes it.
    Set {
        key: String,
        value: String,
    },
    Unset {
        key: String,
    },
    /// A key of the config gets another name, which may be in another section, and keeps its value.
    Rename {
        key: String,
        to: String,
        value: String,
    },
    /// An option of zlaunch, of the trainer or of the launcher. In a run file it is spelled without dashes.
    Give {
        option: String,
        value: String,
    },
    Drop {
        word: String,
    },
    RenameOption {
        option: String,
        to: String,
    },
    /// An option of zlaunch that stands behind the command.
    Move {
        option: String,
    },
    SetVariable {
        name: String,
        value: String,
    },
    UnsetVariable {
        name: String,
    },
    /// A whole command line.
    Run {
        line: String,
    },
    /// Nothing can be pasted.
    Say {
        text: String,
    },
    /// What helps to choose: a list of names, or the command that prints it.
    See {
        text: String,
    },
}

/// Changes that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fix {
    pub(crate) changes: Vec<Change>,
    /// Printed before the changes if it ends with `?` or `:`, else in parentheses after them.
    remark: String,
    /// `check --fix` makes it without asking: it keeps what was meant, and nothing else can have been meant.
    pub(crate) is_safe: bool,
}

/// In order of preference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fixes(pub(crate) Vec<Fix>);

pub(crate) fn set(key: impl Into<String>, value: impl ToString) -> Fix {
    Change::Set { key: key.into(), value: value.to_string() }.into()
}

/// Sets a key to a JSON value.
pub(crate) fn set_json(key: impl Into<String>, value: &Value) -> Fix {
    set(key, value.as_str().map_or_else(|| Cow::from(value.to_string()), Cow::from))
}

pub(crate) fn unset(key: impl Into<String>) -> Fix {
    Change::Unset { key: key.into() }.into()
}

pub(crate) fn rename(key: impl Into<String>, to: impl Into<String>, value: impl Into<String>) -> Fix {
    Change::Rename { key: key.into(), to: to.into(), value: value.into() }.into()
}

pub(crate) fn give(option: impl Into<String>, value: impl ToString) -> Fix {
    Change::Give { option: option.into(), value: value.to_string() }.into()
}

/// The same option or variable with another value.
pub(crate) fn give_as(source: &Source, value: impl ToString) -> Fix {
    match source {
        Source::Variable(name) => {
            run(format!("export {}", shell::text(&[format!("{name}={}", value.to_string()).into()])))
        }
        option => give(option.to_string(), value),
    }
}

pub(crate) fn drop_word(word: impl ToString) -> Fix {
    Change::Drop { word: word.to_string() }.into()
}

pub(crate) fn rename_option(option: impl Into<String>, to: impl Into<String>) -> Fix {
    Change::RenameOption { option: option.into(), to: to.into() }.into()
}

pub(crate) fn set_variable(name: impl Into<String>, value: impl ToString) -> Fix {
    Change::SetVariable { name: name.into(), value: value.to_string() }.into()
}

pub(crate) fn unset_variable(name: impl Into<String>) -> Fix {
    Change::UnsetVariable { name: name.into() }.into()
}

pub(crate) fn run(line: impl Into<String>) -> Fix {
    Change::Run { line: line.into() }.into()
}

pub(crate) fn say(text: impl Into<String>) -> Fix {
    Change::Say { text: text.into() }.into()
}

/// The word that was probably meant, where there is nothing more to say than that.
pub(crate) fn meant(word: impl std::fmt::Display) -> Fix {
    say(format!("did you mean `{word}`?"))
}

impl From<Change> for Fix {
    fn from(change: Change) -> Self {
        Fix { changes: vec![change], remark: String::new(), is_safe: false }
    }
}

impl Fix {
    /// Belongs to the same fix.
    pub(crate) fn and(mut self, other: Fix) -> Self {
        self.changes.extend(other.changes);
        self
    }

    /// Another fix, less preferred.
    pub(crate) fn or(self, other: impl Into<Fixes>) -> Fixes {
        Fixes::from(self).or(other)
    }

    /// With what helps to choose another one.
    pub(crate) fn see(self, text: impl Into<String>) -> Fixes {
        self.or(Fix::from(Change::See { text: text.into() }))
    }

    /// "did you mean `stage`?", "it is inferred".
    pub(crate) fn remark(self, remark: impl Into<String>) -> Self {
        Fix { remark: remark.into(), ..self }
    }

    pub(crate) fn safe(self) -> Self {
        Fix { is_safe: true, ..self }
    }

    pub(crate) fn safe_if(self, is_safe: bool) -> Self {
        Fix { is_safe, ..self }
    }

    /// As text that can be pasted behind `zlaunch`, in front of the command.
    fn text(&self) -> String {
        self.joined(&self.changes.iter().map(Change::text).collect::<Vec<_>>())
    }

    /// As text about the config file that `check` was given.
    fn text_in(&self, file: Option<&Path>) -> String {
        let text = || self.joined(&self.changes.iter().map(Change::text_in_file).collect::<Vec<_>>());
        let (edits, Some(file)) = (self.edits(), file.filter(|_| self.is_safe)) else { return text() };
        let edit = match &edits[..] {
            [] => return text(),
            [Edit::Rename(_, to)] => format!("did you mean `{to}`?"),
            [Edit::Set(_, to)] => format!("write {to}:"),
            [Edit::Remove(_)] => "remove it:".to_string(),
            _ => text() + ":",
        };
        format!("{edit} {}", shell::text(&["zlaunch".into(), "check".into(), "--fix".into(), file.into()]))
    }

    fn joined(&self, changes: &[String]) -> String {
        let is_one_line = self.changes.iter().all(Change::is_option_of_zlaunch);
        let changes = changes.join(if is_one_line { " " } else { ", and " });
        match self.remark.as_str() {
            "" => changes,
            remark if remark.ends_with(['?', ':']) => format!("{remark} {changes}"),
            remark => format!("{changes} ({remark})"),
        }
    }

    fn json(&self) -> Value {
        let mut changes: Vec<Value> = self.changes.iter().map(Change::json).collect();
        let mut fix = changes.remove(0);
        if !changes.is_empty() {
            fix["and"] = changes.into();
        }
        if !self.remark.is_empty() {
            fix["why"] = self.remark.as_str().into();
        }
        if self.is_safe {
            fix["safe"] = true.into();
        }
        fix
    }

    /// The edits of a config file. None where a part of the fix is not one.
    pub(crate) fn edits(&self) -> Vec<Edit> {
        let edits = self.changes.iter().map(Change::edits).collect::<Option<Vec<_>>>();
        edits.unwrap_or_default().into_iter().flatten().collect()
    }
}

impl Change {
    fn text(&self) -> String {
        let word = |text: String| pasted(&text);
        match self {
            Change::Set { key, value } => format!("--set {}", word(format!("{key}={value}"))),
            Change::Unset { key } => format!("--unset {key}"),
            Change::Rename { key, to, value } => format!("--unset {key} --set {}", word(format!("{to}={value}"))),
            Change::Give { option, value } if value.is_empty() => option.clone(),
            Change::Give { option, value } if option.starts_with('-') => format!("{option} {}", pasted(value)),
            Change::Give { option, value } => format!("{option}: {value}"),
            Change::Drop { word } => format!("drop {word}"),
            Change::RenameOption { to, .. } => format!("did you mean `{to}`?"),
            Change::Move { option } => format!("put {option} before the command: it is an option of zlaunch"),
            Change::SetVariable { name, value } => format!("--env {}", word(format!("{name}={value}"))),
            Change::UnsetVariable { name } => format!("--unset-env {name}"),
            Change::Run { line } => line.clone(),
            Change::Say { text } | Change::See { text } => text.clone(),
        }
    }

    /// Can stand beside others before the command. Trainers spell their options with underscores, zlaunch does not.
    fn is_option_of_zlaunch(&self) -> bool {
        match self {
            Change::Give { option, .. } => option.starts_with('-') && !option.contains('_'),
            Change::Set { .. } | Change::Unset { .. } | Change::Rename { .. } => true,
            Change::SetVariable { .. } | Change::UnsetVariable { .. } => true,
            _ => false,
        }
    }

    fn text_in_file(&self) -> String {
        match self {
            Change::Set { key, value } => format!("set {key} to {value}"),
            Change::Unset { key } => format!("remove {key}"),
            Change::Rename { key, to, .. } => format!("rename {key} to {to}"),
            other => other.text(),
        }
    }

    fn json(&self) -> Value {
        match self {
            Change::Set { key, value } => json!({"set": key, "value": as_json(value)}),
            Change::Unset { key } => json!({"unset": key}),
            Change::Rename { key, to, value } => json!({"rename": key, "to": to, "value": as_json(value)}),
            Change::Give { option, value } => json!({"give": option, "value": value}),
            Change::Drop { word } => json!({"drop": word}),
            Change::RenameOption { option, to } => json!({"rename": option, "to": to}),
            Change::Move { option } => json!({"move": option, "to": "before the command"}),
            Change::SetVariable { name, value } => json!({"set_env": name, "value": value}),
            Change::UnsetVariable { name } => json!({"unset_env": name}),
            Change::Run { line } => json!({"run": line}),
            Change::Say { text } | Change::See { text } => json!({"say": text}),
        }
    }

    fn edits(&self) -> Option<Vec<Edit>> {
        let section = |key: &str| key.rsplit_once('.').map(|(section, _)| section.to_string());
        match self {
            Change::Set { key, value } => Some(vec![Edit::Set(key.clone(), as_json(value).to_string())]),
            Change::Unset { key } => Some(vec![Edit::Remove(key.clone())]),
            Change::Rename { key, to, .. } if section(key) == section(to) => {
                Some(vec![Edit::Rename(key.clone(), to.rsplit('.').next().unwrap_or(to).to_string())])
            }
            // The value belongs into a section of that name: `"fp16": true`.
            Change::Rename { key, to, value } if to.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')) => {
                let inside = json!({ &to[key.len() + 1..]: as_json(value) });
                Some(vec![Edit::Set(key.clone(), inside.to_string())])
            }
            Change::Rename { key, to, value } => {
                Some(vec![Edit::Remove(key.clone()), Edit::Set(to.clone(), as_json(value).to_string())])
            }
            _ => None,
        }
    }
}

/// A word for a shell. A `$` in it is for the shell to expand: `/local/nvme/$USER-$$`.
fn pasted(word: &str) -> String {
    let plain = word.replace('$', "");
    let is_plain = !plain.is_empty() && shell::quoted(OsStr::new(&plain)) == plain.as_bytes();
    match word.contains('$') {
        true if is_plain => word.to_string(),
        true => format!("\"{word}\""),
        false if word.contains('…') => word.to_string(),
        false => shell::text(&[word.into()]),
    }
}

/// A value as `--set` reads it: JSON, else a text.
fn as_json(value: &str) -> Value {
    serde_json::from_str(value).unwrap_or_else(|_| Value::from(value))
}

impl Fixes {
    pub(crate) fn or(mut self, other: impl Into<Fixes>) -> Self {
        self.0.extend(other.into().0);
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The one that `check --fix` makes.
    pub(crate) fn safe(&self) -> Option<&Fix> {
        self.0.first().filter(|fix| fix.is_safe && !fix.edits().is_empty())
    }

    /// The text behind `help:`.
    pub(crate) fn text(&self) -> String {
        self.joined(Fix::text)
    }

    /// The text behind `help:` where the config is a file, which is edited instead of adding options.
    pub(crate) fn text_in(&self, file: Option<&Path>) -> String {
        self.joined(|fix| fix.text_in(file))
    }

    fn joined(&self, text: impl Fn(&Fix) -> String) -> String {
        let mut all = String::new();
        for fix in &self.0 {
            let is_hint = matches!(fix.changes[..], [Change::See { .. }]);
            all += if all.is_empty() {
                ""
            } else if is_hint {
                "; "
            } else {
                ", or "
            };
            all += &text(fix);
        }
        all
    }

    /// The option of zlaunch that stands behind the command.
    pub(crate) fn moved(&self) -> Option<&str> {
        self.0.iter().flat_map(|fix| &fix.changes).find_map(|change| match change {
            Change::Move { option } => Some(option.as_str()),
            _ => None,
        })
    }

    pub(crate) fn json(&self) -> Value {
        self.0.iter().map(Fix::json).collect()
    }
}

impl From<Fix> for Fixes {
    fn from(fix: Fix) -> Self {
        Fixes(vec![fix])
    }
}

impl From<&str> for Fixes {
    fn from(text: &str) -> Self {
        say(text).into()
    }
}

impl From<String> for Fixes {
    fn from(text: String) -> Self {
        say(text).into()
    }
}
