//! The place where a key of a config was written: the last `--set`, a `--patch` that changed it, or the template's file.
//! Only messages need it, so the files are read again for the first message.

use std::{cell::OnceCell, collections::BTreeMap, path::PathBuf};

use serde_json::Value;

use crate::{
    base::{
        json::{self, Positions},
        source::Sourced,
    },
    config::{
        layers::{Assignment, Layers},
        template::{Origin, Template},
    },
    host::Host,
    report::{Place, reading},
};

pub struct Places<'a> {
    config: &'a Value,
    template: &'a Template,
    layers: &'a Layers,
    /// Where the last `--set` of each key stands among all of them.
    sets: BTreeMap<&'a str, usize>,
    host: &'a Host,
    /// The files of the template, and the last patch.
    files: OnceCell<Vec<(PathBuf, Positions)>>,
}

impl<'a> Places<'a> {
    /// `config`: with the layers, before "auto" was filled.
    pub fn new(
        config: &'a Value,
        template: &'a Template,
        layers: &'a Layers,
        host: &'a Host,
    ) -> Self {
        let sets = layers.set.iter().zip(0..);
        Places {
            sets: sets.map(|(set, at)| (&*set.value.key, at)).collect(),
            config,
            template,
            layers,
            host,
            files: OnceCell::new(),
        }
    }

    pub fn of(&self, key: &str) -> Place {
        if let Some(set) = self.set_at(key) {
            let Assignment { key, typed, .. } = &set.value;
            return Place::from(&set.says(format!("{key}={typed}")));
        }
        let patch = self.layers.patch.last();
        let patch = patch.map(|patch| self.host.absolute(&patch.value));
        let files = self.files.get_or_init(|| {
            let paths = self.template.files().chain(patch.as_deref());
            let files = paths.filter_map(|path| {
                let text = reading::read_text(path).ok()?;
                Some((path.to_path_buf(), json::positions(&text)?))
            });
            files.collect()
        });
        let is_patched = json::get(self.config, key) != json::get(&self.template.config, key);
        let patch = patch.filter(|_| is_patched);
        let mut files = files
            .iter()
            .filter(|(path, _)| patch.as_ref().is_none_or(|patch| path == patch));
        let place = files.find_map(|(path, positions)| {
            let position = positions.get(key)?;
            Some(Place::line(path, *position))
        });
        place.unwrap_or_else(|| match (patch, &self.template.origin) {
            (Some(patch), _) => Place::key(patch.display(), key),
            (None, Origin::BuiltIn) => {
                Place::key(format_args!("template {}", self.template.name), key)
            }
            (None, origin) => Place::key(origin, key),
        })
    }

    /// The last `--set` of the key itself or of a section around it, or of a key in a section that only `--set` made.
    fn set_at(&self, key: &str) -> Option<&Sourced<Assignment>> {
        let dots = key.match_indices('.').map(|(at, _)| at);
        let sections = dots.chain([key.len()]).map(|end| &key[..end]);
        let around = sections.filter_map(|section| self.sets.get(section)).max();
        let inner = format!("{key}.");
        let inside = || {
            let sets = self.sets.range(&*inner..);
            let sets = sets.take_while(|(key, _)| key.starts_with(&inner));
            sets.map(|(_, at)| at).max()
        };
        let at = match around {
            None if json::get(&self.template.config, key).is_none() => inside(),
            _ => around,
        };
        self.layers.set.get(*at?)
    }
}

/// A value as it is written at a place: `1.0`, which was read as 1.
pub fn as_typed(value: &Value, place: &Place) -> String {
    let typed = typed_at(place)
        .filter(|typed| value.is_number() && json::parse(typed).is_ok_and(|read| read == *value));
    typed.unwrap_or_else(|| value.to_string())
}

fn typed_at(place: &Place) -> Option<String> {
    match place {
        Place::Line { file, line, column } => {
            let text = reading::text_if_any(file)?;
            let line = text.lines().nth(line.checked_sub(1)?)?;
            let (_, written) = line.get(column.checked_sub(1)?..)?.split_once(':')?;
            let mut words = written.trim_start().split([',', '}', ' ', '/']);
            words.next().map(str::to_string)
        }
        Place::Option { value, .. } => Some(value.split_once('=')?.1.to_string()),
        _ => None,
    }
}
