//! Fixes: what the user can change about a problem, as values. Every rendering of them is here: the text behind `help:`,
//! JSON, and the edits of `check --fix`.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::base::json::Edit;
use crate::base::shell;
use crate::base::source::Source;

/// One thing to change. As JSON it has the names of these fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Change {
    /// A key of the config gets a value, written as `--set` takes it.
    #[rustfmt::skip]
    Set { set: String, #[serde(serialize_with = "as_json")] value: String },
    Unset {
        unset: String,
    },
    /// A key of the config gets another name, which may be in another section, and keeps its value.
    #[rustfmt::skip]
    Rename { rename: String, to: String, #[serde(serialize_with = "as_json")] value: String },
    /// An option of zlaunch, of the trainer or of the launcher. In a run file it has no dashes.
    Give {
        give: String,
        value: String,
    },
    Drop {
        drop: String,
    },
    RenameOption {
        rename: String,
        to: String,
    },
    /// An option of zlaunch that stands after the command.
    Move {
        r#move: String,
        to: &'static str,
    },
    SetVariable {
        set_env: String,
        value: String,
    },
    UnsetVariable {
        unset_env: String,
    },
    /// A whole command line.
    Run {
        run: String,
    },
    /// Nothing can be pasted.
    Say {
        say: String,
    },
    /// What helps to choose: a list of names, or the command that prints it.
    See {
        #[serde(rename = "say")]
        see: String,
    },
}

/// Changes that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fix {
    pub(crate) changes: Vec<Change>,
    /// Printed before the changes if it ends with `?` or `:`, else in parentheses after them.
    remark: String,
    /// `check --fix` makes it without asking: it keeps what was meant, and nothing else can have been meant.
    is_safe: bool,
}

/// In order of preference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fixes(pub(crate) Vec<Fix>);

pub(crate) fn set(key: impl Into<String>, value: impl fmt::Display) -> Fix {
    Change::Set { set: key.into(), value: value.to_string() }.into()
}

/// Sets a key to a JSON value.
pub(crate) fn set_json(key: impl Into<String>, value: &Value) -> Fix {
    set(key, value.as_str().map_or_else(|| value.to_string(), str::to_string))
}

pub(crate) fn unset(key: impl Into<String>) -> Fix {
    Change::Unset { unset: key.into() }.into()
}

pub(crate) fn rename(key: impl Into<String>, to: impl Into<String>, value: impl Into<String>) -> Fix {
    Change::Rename { rename: key.into(), to: to.into(), value: value.into() }.into()
}

pub(crate) fn give(option: impl Into<String>, value: impl fmt::Display) -> Fix {
    Change::Give { give: option.into(), value: value.to_string() }.into()
}

/// The same option or variable with another value.
pub(crate) fn give_as(source: &Source, value: impl fmt::Display) -> Fix {
    match source {
        Source::Variable(name) => run(format!("export {}", pasted(&format!("{name}={value}")))),
        Source::Operand(_) => give(value.to_string(), ""),
        option => give(option.to_string(), value),
    }
}

pub(crate) fn drop_word(word: impl fmt::Display) -> Fix {
    Change::Drop { drop: word.to_string() }.into()
}

pub(crate) fn rename_option(option: impl Into<String>, to: impl Into<String>) -> Fix {
    Change::RenameOption { rename: option.into(), to: to.into() }.into()
}

/// An option of zlaunch that stands after the command.
pub(crate) fn move_to_front(option: impl Into<String>) -> Fix {
    Change::Move { r#move: option.into(), to: "before the command" }.into()
}

pub(crate) fn set_variable(name: impl Into<String>, value: impl fmt::Display) -> Fix {
    Change::SetVariable { set_env: name.into(), value: value.to_string() }.into()
}

pub(crate) fn unset_variable(name: impl Into<String>) -> Fix {
    Change::UnsetVariable { unset_env: name.into() }.into()
}

pub(crate) fn run(line: impl Into<String>) -> Fix {
    Change::Run { run: line.into() }.into()
}

pub(crate) fn say(text: impl Into<String>) -> Fix {
    Change::Say { say: text.into() }.into()
}

/// The word that was probably meant, where there is nothing more to say than that.
pub(crate) fn meant(word: impl fmt::Display) -> Fix {
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
        self.or(Fix::from(Change::See { see: text.into() }))
    }

    /// "did you mean `stage`?", "it is inferred".
    pub(crate) fn remark(self, remark: impl Into<String>) -> Self {
        Fix { remark: remark.into(), ..self }
    }

    pub(crate) fn safe(self) -> Self {
        Fix { is_safe: true, ..self }
    }

    /// The edits of a config file. None where a part of the fix is not one.
    pub(crate) fn edits(&self) -> Vec<Edit> {
        let edits = self.changes.iter().map(Change::edits).collect::<Option<Vec<_>>>();
        edits.unwrap_or_default().into_iter().flatten().collect()
    }

    /// As text about the config file that `check` was given.
    fn text_in(&self, file: Option<&Path>) -> String {
        let edits = self.edits();
        let Some(file) = file.filter(|_| self.is_safe && !edits.is_empty()) else {
            return self.text(Change::text_in_file);
        };
        let edit = match &edits[..] {
            [Edit::Rename(_, to)] => format!("did you mean `{to}`?"),
            [Edit::Set(_, to)] => format!("write {to}:"),
            [Edit::Remove(_)] => "remove it:".to_string(),
            _ => self.text(Change::text_in_file) + ":",
        };
        format!("{edit} {}", shell::text(&["zlaunch".into(), "check".into(), "--fix".into(), file.into()]))
    }

    fn text(&self, text: fn(&Change) -> String) -> String {
        let is_one_line = self.changes.iter().all(Change::is_option_of_zlaunch);
        let changes: Vec<String> = self.changes.iter().map(text).collect();
        let changes = changes.join(if is_one_line { " " } else { ", and " });
        match self.remark.as_str() {
            "" => changes,
            remark if remark.ends_with(['?', ':']) => format!("{remark} {changes}"),
            remark => format!("{changes} ({remark})"),
        }
    }

    fn json(&self) -> Value {
        let mut fix = json!(self.changes[0]);
        if self.changes.len() > 1 {
            fix["and"] = json!(self.changes[1..]);
        }
        if !self.remark.is_empty() {
            fix["why"] = json!(self.remark);
        }
        if self.is_safe {
            fix["safe"] = json!(true);
        }
        fix
    }
}

impl Change {
    /// As it can be pasted before the command.
    fn text(&self) -> String {
        match self {
            Change::Set { set, value } => format!("--set {}", pasted(&format!("{set}={value}"))),
            Change::Unset { unset } => format!("--unset {unset}"),
            Change::Rename { rename, to, value } => {
                format!("--unset {rename} --set {}", pasted(&format!("{to}={value}")))
            }
            Change::Give { give, value } if value.is_empty() => give.clone(),
            Change::Give { give, value } if give.starts_with('-') => format!("{give} {}", pasted(value)),
            Change::Give { give, value } => format!("{give}: {value}"),
            Change::Drop { drop } => format!("drop {drop}"),
            Change::RenameOption { to, .. } => format!("did you mean `{to}`?"),
            Change::Move { r#move: option, to } => format!("put {option} {to}: it is an option of zlaunch"),
            Change::SetVariable { set_env, value } => format!("--env {}", pasted(&format!("{set_env}={value}"))),
            Change::UnsetVariable { unset_env } => format!("--unset-env {unset_env}"),
            Change::Run { run: text } | Change::Say { say: text } | Change::See { see: text } => text.clone(),
        }
    }

    fn text_in_file(&self) -> String {
        match self {
            Change::Set { set, value } => format!("set {set} to {value}"),
            Change::Unset { unset } => format!("remove {unset}"),
            Change::Rename { rename, to, .. } => format!("rename {rename} to {to}"),
            other => other.text(),
        }
    }

    /// Can stand beside others before the command. Trainers spell their options with underscores, zlaunch does not.
    fn is_option_of_zlaunch(&self) -> bool {
        match self {
            Change::Give { give, .. } => give.starts_with('-') && !give.contains('_'),
            Change::Set { .. } | Change::Unset { .. } | Change::Rename { .. } | Change::SetVariable { .. } => true,
            other => matches!(other, Change::UnsetVariable { .. }),
        }
    }

    fn edits(&self) -> Option<Vec<Edit>> {
        let json = |value: &str| read(value).to_string();
        let section = |key: &str| key.rsplit_once('.').map(|(section, _)| section.to_string());
        match self {
            Change::Set { set, value } => Some(vec![Edit::Set(set.clone(), json(value))]),
            Change::Unset { unset } => Some(vec![Edit::Remove(unset.clone())]),
            Change::Rename { rename, to, .. } if section(rename) == section(to) => {
                Some(vec![Edit::Rename(rename.clone(), to.rsplit('.').next().unwrap_or(to).to_string())])
            }
            Change::Rename { rename, to, value } => match to.strip_prefix(&format!("{rename}.")) {
                // The value belongs into a section of that name: `"fp16": true`.
                Some(inner) => Some(vec![Edit::Set(rename.clone(), json!({ inner: read(value) }).to_string())]),
                None => Some(vec![Edit::Remove(rename.clone()), Edit::Set(to.clone(), json(value))]),
            },
            _ => None,
        }
    }
}

/// A word for a shell. A `$` in it is for the shell to expand: `/local/nvme/$USER-$$`.
fn pasted(word: &str) -> String {
    if let Some(rest) = word.strip_prefix("~/") {
        return format!("~/{}", pasted(rest));
    }
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
fn read(value: &str) -> Value {
    serde_json::from_str(value).unwrap_or_else(|_| Value::from(value))
}

fn as_json<S: Serializer>(value: &str, serializer: S) -> Result<S::Ok, S::Error> {
    read(value).serialize(serializer)
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
        self.0.first().filter(|fix| fix.is_safe)
    }

    /// The option of zlaunch that stands after the command.
    pub(crate) fn moved(&self) -> Option<&str> {
        self.0.iter().flat_map(|fix| &fix.changes).find_map(|change| match change {
            Change::Move { r#move: option, .. } => Some(option.as_str()),
            _ => None,
        })
    }

    /// The text behind `help:`.
    pub(crate) fn text(&self) -> String {
        self.joined(|fix| fix.text(Change::text))
    }

    /// The text behind `help:` where the config is a file, which is edited instead of adding options.
    pub(crate) fn text_in(&self, file: Option<&Path>) -> String {
        self.joined(|fix| fix.text_in(file))
    }

    fn joined(&self, text: impl Fn(&Fix) -> String) -> String {
        let mut all = String::new();
        for fix in &self.0 {
            let is_hint = matches!(fix.changes[..], [Change::See { .. }]);
            let separator = if is_hint { "; " } else { ", or " };
            all += if all.is_empty() { "" } else { separator };
            all += &text(fix);
        }
        all
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
