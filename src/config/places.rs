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
    patch: OnceCell<Vec<FilePositions>>,
    files: OnceCell<Vec<FilePositions>>,
}

struct FilePositions {
    path: PathBuf,
    positions: Positions,
}

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
        if let Some(set) = self.set_at(key) {
            let (name, value) = &set.value;
            let start = format!("{name}=");
            let words = self.host.words.iter().filter_map(|word| word.to_str());
            let mut words = words.map(|word| word.strip_prefix("--set=").unwrap_or(word));
            let typed = words.rfind(|word| word.starts_with(&start));
            let shown = typed.map_or_else(|| format!("{start}{value}"), str::to_string);
            return Place::from(&Sourced::new(shown, set.from.clone()));
        }
        if let Some(patch) = self.layers.patch.last()
            && json::get(self.config, key) != json::get(&self.template.config, key)
        {
            let path = self.host.absolute(&patch.value);
            let file = self.patch.get_or_init(|| positions([path.as_path()]));
            return find(file, key).unwrap_or_else(|| Place::key(patch.value.display(), key));
        }
        let files = self.files.get_or_init(|| positions(self.template.files()));
        find(files, key).unwrap_or_else(|| match &self.template.origin {
            Origin::BuiltIn => Place::key(format_args!("template {}", self.template.name), key),
            origin => Place::key(origin, key),
        })
    }

    /// The last `--set` of the key itself or of a section around it, or of a key in a section that only `--set` made.
    fn set_at(&self, key: &str) -> Option<&Sourced<(String, Value)>> {
        let is_inside = |key: &str, section: &str| {
            let rest = key.strip_prefix(section);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let mut sets = self.layers.set.iter();
        let around = sets.clone().rfind(|set| is_inside(key, &set.value.0));
        if around.is_some() || json::get(&self.template.config, key).is_some() {
            return around;
        }
        sets.rfind(|set| is_inside(&set.value.0, key))
    }
}

fn positions<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Vec<FilePositions> {
    let files = paths.into_iter().filter_map(|path| {
        Some(FilePositions {
            path: path.to_path_buf(),
            positions: json::positions(&reading::read_text(path).ok()?)?,
        })
    });
    files.collect()
}

/// The place in the first file that has the key.
fn find(files: &[FilePositions], key: &str) -> Option<Place> {
    files.iter().find_map(|file| {
        let at = file.positions.get(key)?;
        Some(Place::line(&file.path, *at))
    })
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
