//! The files and folders that arguments name and that are not there.

use std::path::{Path, PathBuf};

use crate::{
    command::{
        argv::{Args, hf_bool},
        tables::{FOLDERS, Input, LAST_CHECKPOINT, Reads},
    },
    host::Host,
};

pub struct MissingInput {
    pub option: String,
    pub value: String,
    pub path: PathBuf,
    /// The trainer ends because of it.
    pub certain: bool,
    /// The path with the home folder in it, where only the `~` is wrong.
    pub expanded: Option<PathBuf>,
}

/// The paths that arguments name and that are not there.
pub fn missing(inputs: &[Input], args: &Args, host: &Host) -> Vec<MissingInput> {
    // With these, ms-swift runs the user's code, which may register a dataset by any name.
    let registers = ["external_plugins", "custom_register_path"]
        .iter()
        .any(|name| args.list(name).is_some());
    let mut found = vec![];
    for input in inputs {
        let separator = if input.reads == Reads::Commas {
            ','
        } else {
            '\0'
        };
        for name in input.names {
            let Some((option, values)) = args.list(name) else {
                continue;
            };
            for value in values
                .into_iter()
                .filter_map(|value| value.to_str())
                .flat_map(|value| value.split(separator))
            {
                let Some(path) = input.missing_path(name, value, host) else {
                    continue;
                };
                let home = host.absolute(Path::new(value));
                let is_tilde = value.starts_with('~') && home != path && !is_missing(&home);
                found.push(MissingInput {
                    option: option.clone(),
                    value: value.to_string(),
                    path,
                    certain: input.certain && !(input.reads == Reads::SwiftDataset && registers),
                    expanded: is_tilde.then_some(home),
                });
            }
        }
    }
    found
}

impl Input {
    /// The path where the trainer looks for the value, if nothing is there.
    fn missing_path(&self, name: &str, value: &str, host: &Host) -> Option<PathBuf> {
        // No hub has checkpoints. `true` means the last one, and scripts have other words for it.
        let is_last = hf_bool(value).is_some() || LAST_CHECKPOINT.contains(&value);
        let is_checkpoint = name == "resume_from_checkpoint" && !is_last;
        let is_file = (self.reads == Reads::File || is_checkpoint) && !value.contains(['$', '{']);
        let value = value.trim();
        if !is_file && !is_path(value) {
            return None;
        }
        let is_plain = matches!(self.reads, Reads::Plain | Reads::Commas);
        let at = |value: &str| {
            if is_plain {
                host.cwd.join(value)
            } else {
                host.absolute(Path::new(value))
            }
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

/// A name of a hub has one `/` at most.
fn is_path(value: &str) -> bool {
    let first = value.split('/').next();
    let starts = value.contains('/') && matches!(first, Some("" | "." | ".." | "~"));
    let is_deep = value
        .split([':', '#'])
        .next()
        .unwrap_or_default()
        .matches('/')
        .count()
        > 1;
    (starts || FOLDERS.contains(&value) || is_deep)
        && !value.contains("://")
        && !value.contains(['$', '*', '?', '{', '['])
}

/// A path that may not be looked at is not missing.
pub fn is_missing(path: &Path) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    std::fs::metadata(path).is_err_and(|why| matches!(why.kind(), NotFound | NotADirectory))
}
