//! Arguments that name something to read: a model, a dataset, a checkpoint. The real trainers showed how each is read.

use std::path::{Path, PathBuf};

use crate::command::argv::{Args, hf_bool};
use crate::host::Host;

/// Arguments that are read in one way.
pub struct Input {
    names: &'static str,
    reads: Reads,
    /// Some scripts do not read them.
    perhaps: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// `~` is a folder of that name.
    Plain,
    Home,
    /// Like `Home`, or `FOLDER:SUBFOLDER`.
    SwiftModel,
    /// Like `Home`, or `PATH:SUBSET#SAMPLES`.
    SwiftDataset,
    /// Several, with commas between them.
    Commas,
    /// Like `Home`, and always a file, however it is written.
    File,
}

pub struct MissingInput {
    pub(crate) option: String,
    pub value: String,
    pub(crate) path: PathBuf,
    /// The trainer ends because of it.
    pub(crate) certain: bool,
    /// The path with the home folder in it, where only the `~` is wrong.
    pub(crate) expanded: Option<PathBuf>,
}

impl Input {
    pub const fn new(names: &'static str, reads: Reads) -> Self {
        Input {
            names,
            reads,
            perhaps: false,
        }
    }

    pub(crate) const fn perhaps(names: &'static str) -> Self {
        Input {
            names,
            reads: Reads::Plain,
            perhaps: true,
        }
    }

    fn missing(&self, name: &str, args: &Args, host: &Host) -> Vec<MissingInput> {
        let Some((option, values)) = args.list(name) else {
            return Vec::new();
        };
        let may_be_registered =
            self.reads == Reads::SwiftDataset && PLUGINS.iter().any(|it| args.list(it).is_some());
        let certain = !self.perhaps && !may_be_registered;
        let values = values.into_iter().filter_map(|value| value.to_str());
        let values = values.flat_map(|value| {
            value.split(if self.reads == Reads::Commas {
                ','
            } else {
                '\0'
            })
        });
        let missing = values.filter_map(|value| {
            let path = self.missing_path(name, value, host)?;
            let expanded = value
                .starts_with('~')
                .then(|| host.absolute(Path::new(value)));
            let expanded = expanded.filter(|expanded| *expanded != path && !is_missing(expanded));
            Some(MissingInput {
                option: option.clone(),
                value: value.to_string(),
                path,
                certain,
                expanded,
            })
        });
        missing.collect()
    }

    /// The path where the trainer looks for the value, if nothing is there.
    fn missing_path(&self, name: &str, value: &str, host: &Host) -> Option<PathBuf> {
        // No hub has checkpoints. `true` means the last one, and scripts have other words for it.
        let is_last = hf_bool(value).is_some() || ["latest", "last", "auto"].contains(&value);
        let is_checkpoint = name == "resume_from_checkpoint" && !is_last;
        let is_file = (self.reads == Reads::File || is_checkpoint) && !value.contains(['$', '{']);
        let value = Some(value.trim()).filter(|value| is_file || is_path(value))?;
        let at = |value: &str| match self.reads {
            Reads::Home | Reads::SwiftModel | Reads::SwiftDataset | Reads::File => {
                host.absolute(Path::new(value))
            }
            Reads::Plain | Reads::Commas => host.cwd.join(value),
        };
        let subfolder = value.replacen(':', "/", 1);
        let whole = value.rsplit_once('#').map_or(value, |(whole, _)| whole);
        let without_subset = whole.split(':').next().unwrap_or(whole);
        let forms: &[&str] = match self.reads {
            Reads::SwiftModel => &[value, &subfolder],
            Reads::SwiftDataset => &[value, whole, without_subset],
            _ => &[value],
        };
        forms
            .iter()
            .all(|form| is_missing(&at(form)))
            .then(|| at(forms[forms.len() - 1]))
    }
}

/// With these, ms-swift runs the user's code, which may register a dataset by any name.
const PLUGINS: &[&str] = &["external_plugins", "custom_register_path"];

pub fn missing(inputs: &[Input], args: &Args, host: &Host) -> Vec<MissingInput> {
    let names_path = args
        .words()
        .iter()
        .filter_map(|word| word.to_str())
        .any(|word| {
            let value = if word.starts_with('-') {
                word.split_once('=').map_or(word, |pair| pair.1)
            } else {
                word
            };
            is_path(value)
                || value.as_bytes().ends_with(b".py")
                || word.starts_with("--resume_from")
        });
    if !names_path {
        return Vec::new();
    }
    let named = inputs
        .iter()
        .flat_map(|input| input.names.split(' ').map(move |name| (input, name)));
    named
        .flat_map(|(input, name)| input.missing(name, args, host))
        .collect()
}

/// A name of a hub has one `/` at most.
fn is_path(value: &str) -> bool {
    let starts = ["/", "./", "../", "~/"]
        .iter()
        .any(|start| value.starts_with(start));
    let is_deep = value
        .split([':', '#'])
        .next()
        .is_some_and(|name| name.split('/').count() > 2);
    (starts || ["~", ".", ".."].contains(&value) || is_deep)
        && !value.contains("://")
        && !value.contains(['$', '*', '?', '{', '['])
}

/// A path that may not be looked at is not missing.
pub(crate) fn is_missing(path: &Path) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    std::fs::metadata(path).is_err_and(|why| matches!(why.kind(), NotFound | NotADirectory))
}
