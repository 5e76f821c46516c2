//! The target of a command: `python [options] script`, `python -m module`, `script.py` or any other program.

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::rc::Rc;

use crate::command::script::source::ScriptSource;
use crate::host::Host;

#[derive(Clone, Debug, PartialEq, Eq)]
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
            options: Vec::new(),
            path: path.into(),
        }
    }

    pub fn module(name: impl Into<OsString>) -> Self {
        Target::Module {
            options: Vec::new(),
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

    pub(crate) fn name(&self) -> &str {
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedCommand {
    pub target: Target,
    pub args: Vec<OsString>,
    pub python: Option<OsString>,
    /// The program whose first line names the interpreter, if the command does not.
    pub(crate) owner: Option<OsString>,
    /// Read when the first front end asks for it.
    pub(super) source: OnceCell<Option<Rc<ScriptSource>>>,
}

impl ParsedCommand {
    pub(crate) fn new(
        target: Target,
        args: &[OsString],
        python: Option<OsString>,
        owner: Option<OsString>,
    ) -> Self {
        ParsedCommand {
            target,
            args: args.to_vec(),
            python,
            owner,
            source: OnceCell::new(),
        }
    }

    pub fn parse(words: &[OsString]) -> Self {
        let Some((first, rest)) = words.split_first() else {
            return Self::new(Target::Program(OsString::new()), &[], None, None);
        };
        if let Some((target, used)) = is_python(first).then(|| of_python(rest)).flatten() {
            return Self::new(target, &rest[used..], Some(first.clone()), None);
        }
        let target = if is_script(first) {
            Target::script(first)
        } else {
            Target::Program(first.clone())
        };
        Self::new(target, rest, None, Some(first.clone()))
    }

    pub(crate) fn source(&self, host: &Host) -> Option<&Rc<ScriptSource>> {
        let source = self.source.get_or_init(|| match &self.target {
            Target::Script { path, .. } => ScriptSource::of_script(path, host).map(Rc::new),
            Target::Module { name, .. } => ScriptSource::of_module(name, host).map(Rc::new),
            Target::Program(_) => None,
        });
        source.as_ref()
    }
}

/// The target in the words after `python`, and the number of words up to its end.
pub(crate) fn of_python(words: &[OsString]) -> Option<(Target, usize)> {
    let mut at = 0;
    loop {
        let text = words.get(at)?.to_str()?;
        let options = words[..at].to_vec();
        let module = |name: &OsStr| Target::Module {
            options: options.clone(),
            name: name.to_os_string(),
        };
        match text {
            "-W" | "-X" => at += 2,
            "-m" => return Some((module(words.get(at + 1)?), at + 2)),
            "-c" | "-" => return None,
            _ if text.starts_with("-m") => return Some((module(text[2..].as_ref()), at + 1)),
            _ if text.starts_with('-') => at += 1,
            _ => {
                let path = words[at].clone();
                return Some((Target::Script { options, path }, at + 1));
            }
        }
    }
}

/// The last part of a path: `swift` of `/opt/env/bin/swift`.
pub(crate) fn base_name(word: &OsStr) -> &str {
    Path::new(word)
        .file_name()
        .and_then(OsStr::to_str)
        .unwrap_or_default()
}

pub fn is_python(word: &OsStr) -> bool {
    let version = base_name(word).strip_prefix("python");
    version.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

pub(crate) fn is_script(word: &OsStr) -> bool {
    Path::new(word)
        .extension()
        .is_some_and(|ending| ending == "py")
}
