//! The target of a command: `python [options] script`, `python -m module`, `script.py` or any other program.

use std::{
    cell::OnceCell,
    ffi::{OsStr, OsString},
    path::Path,
    rc::Rc,
};

pub use crate::command::python::is_python;
pub use crate::command::python::is_script;
use crate::{command::script::ScriptSource, host::Host};

#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// `python [options] path`
    Script {
        options: Vec<OsString>,
        path: OsString,
    },
    /// `python [options] -m name`
    Module {
        options: Vec<OsString>,
        name: OsString,
    },
    /// Any other program.
    Program(OsString),
}

impl Target {
    pub fn script(path: impl Into<OsString>) -> Self {
        Target::Script {
            options: vec![],
            path: path.into(),
        }
    }

    pub fn module(name: impl Into<OsString>) -> Self {
        Target::Module {
            options: vec![],
            name: name.into(),
        }
    }

    pub fn word(&self) -> &OsStr {
        match self {
            Target::Program(word)
            | Target::Script { path: word, .. }
            | Target::Module { name: word, .. } => word,
        }
    }

    pub fn name(&self) -> &str {
        base_name(self.word())
    }

    /// By name or by file: `swift.cli.sft` or `…/swift/cli/sft.py`.
    pub fn is_module(&self, dotted: &str) -> bool {
        match self {
            Target::Module { name, .. } => name == dotted,
            Target::Script { path, .. } => {
                Path::new(path).ends_with(dotted.replace('.', "/") + ".py")
            }
            Target::Program(_) => false,
        }
    }

    /// With or without `python`.
    pub fn is_console(&self, name: &str) -> bool {
        !matches!(self, Target::Module { .. }) && self.name() == name
    }
}

#[derive(Clone, PartialEq)]
pub struct ParsedCommand {
    pub target: Target,
    pub args: Vec<OsString>,
    /// The interpreter, or the program whose first line names it.
    pub owner: Option<OsString>,
    /// Read when the first front end asks for it.
    pub source: OnceCell<Option<Rc<ScriptSource>>>,
}

impl ParsedCommand {
    pub fn new(target: Target, args: &[OsString], owner: Option<OsString>) -> Self {
        ParsedCommand {
            target,
            args: args.to_vec(),
            owner,
            source: OnceCell::new(),
        }
    }

    pub fn parse(words: &[OsString]) -> Self {
        let Some((first, rest)) = words.split_first() else {
            return Self::new(Target::Program(OsString::new()), &[], None);
        };
        let (target, used) = match of_python(rest).filter(|_| is_python(first)) {
            Some(found) => found,
            None if is_script(first) => (Target::script(first), 0),
            None => (Target::Program(first.clone()), 0),
        };
        Self::new(target, &rest[used..], Some(first.clone()))
    }

    pub fn source(&self, host: &Host) -> Option<&Rc<ScriptSource>> {
        self.source
            .get_or_init(|| match &self.target {
                Target::Script { path, .. } => ScriptSource::of_script(path, host).map(Rc::new),
                Target::Module { name, .. } => ScriptSource::of_module(name, host).map(Rc::new),
                Target::Program(_) => None,
            })
            .as_ref()
    }
}

/// The target in the words after `python`, and the number of words up to its end.
pub fn of_python(words: &[OsString]) -> Option<(Target, usize)> {
    let mut at = 0;
    loop {
        let word = words.get(at)?;
        let text = word.to_str()?;
        let options = words[..at].to_vec();
        let (name, end) = match text.strip_prefix("-m") {
            Some("") => (words.get(at + 1)?.clone(), at + 2),
            Some(name) => (name.into(), at + 1),
            None if text == "-c" || text == "-" => return None,
            None if text.starts_with('-') => {
                at += if text == "-W" || text == "-X" { 2 } else { 1 };
                continue;
            }
            None => {
                let path = word.clone();
                return Some((Target::Script { options, path }, at + 1));
            }
        };
        return Some((Target::Module { options, name }, end));
    }
}

/// The last part of a path: `swift` of `/opt/env/bin/swift`.
pub fn base_name(word: &OsStr) -> &str {
    Path::new(word)
        .file_name()
        .and_then(OsStr::to_str)
        .unwrap_or_default()
}
