//! The place where a key of a config was written: the last `--set`, a `--patch` that changed it, or the template's file.
//! Only messages need it, so the files are read again for the first message.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::base::json::{self, Positions};
use crate::base::source::Sourced;
use crate::config::layers::Layers;
use crate::config::template::{Origin, Template};
use crate::host::Host;
use crate::report::{Place, reading};

pub(crate) struct Places<'a> {
    config: &'a Value,
    template: &'a Template,
    layers: &'a Layers,
    host: &'a Host,
    patch: OnceCell<Option<FilePositions>>,
    files: OnceCell<Vec<FilePositions>>,
}

type FilePositions = (PathBuf, Positions);

impl<'a> Places<'a> {
    /// `config`: with the layers, before "auto" was filled.
    pub(crate) fn new(
        config: &'a Value,
        template: &'a Template,
        layers: &'a Layers,
        host: &'a Host,
    ) -> Self {
        Places {
            config,
            template,
            layers,
            host,
            patch: OnceCell::new(),
            files: OnceCell::new(),
        }
    }

    pub(crate) fn of(&self, key: &str) -> Place {
        if let Some(sourced) = self.set_at(key) {
            let (name, value) = &sourced.value;
            let words = self
                .host
                .words
                .iter()
                .rev()
                .filter_map(|word| word.to_str());
            let mut words = words.map(|word| word.strip_prefix("--set=").unwrap_or(word));
            let typed = words.find(|word| {
                word.strip_prefix(name.as_str())
                    .is_some_and(|rest| rest.starts_with('='))
            });
            let shown = typed.map_or_else(|| format!("{name}={value}"), str::to_string);
            return Place::from(&Sourced::new(shown, sourced.from.clone()));
        }
        if let Some(patch) = self.layers.patch.last()
            && json::get(self.config, key) != json::get(&self.template.config, key)
        {
            let path = self.host.absolute(&patch.value);
            let file = self.patch.get_or_init(|| positions(&path)).as_ref();
            return file
                .and_then(|file| in_file(file, key))
                .unwrap_or_else(|| Place::key(patch.value.display(), key));
        }
        // In a chain of templates, the first file that has the key.
        let files = self
            .files
            .get_or_init(|| self.template.files().filter_map(positions).collect());
        let found = files.iter().find_map(|file| in_file(file, key));
        found.unwrap_or_else(|| match &self.template.origin {
            Origin::BuiltIn => Place::key(format_args!("template {}", self.template.name), key),
            origin => Place::key(origin, key),
        })
    }

    /// The last `--set` of the key itself or of a section around it.
    fn set_at(&self, key: &str) -> Option<&Sourced<(String, Value)>> {
        let is_inside = |key: &str, section: &str| {
            key.strip_prefix(section)
                .is_some_and(|rest| rest.starts_with('.'))
        };
        let mut sets = self.layers.set.iter().rev();
        let around = sets
            .clone()
            .find(|set| key == set.value.0 || is_inside(key, &set.value.0));
        if around.is_some() || json::get(&self.template.config, key).is_some() {
            return around;
        }
        // A section that only `--set` made.
        sets.find(|set| is_inside(&set.value.0, key))
    }
}

fn positions(path: &Path) -> Option<FilePositions> {
    Some((
        path.to_path_buf(),
        json::positions(&reading::read_text(path).ok()?)?,
    ))
}

fn in_file((path, positions): &FilePositions, key: &str) -> Option<Place> {
    positions.get(key).map(|at| Place::line(path, *at))
}

/// A value as it is written at a place: `1.0`, which was read as 1.
pub(crate) fn as_typed(value: &Value, place: &Place) -> String {
    if value.is_number()
        && let Some(typed) = typed_at(place)
        && json::parse(&typed).is_ok_and(|read| read == *value)
    {
        return typed;
    }
    value.to_string()
}

fn typed_at(place: &Place) -> Option<String> {
    match place {
        Place::Line { file, line, column } => {
            let text = reading::text_if_any(file)?;
            let line = text.lines().nth(line.checked_sub(1)?)?;
            let (_, written) = line.get(column.checked_sub(1)?..)?.split_once(':')?;
            Some(
                written
                    .trim_start()
                    .split([',', '}', ' ', '/'])
                    .next()?
                    .to_string(),
            )
        }
        Place::Option { value, .. } => Some(value.split_once('=')?.1.to_string()),
        _ => None,
    }
}
