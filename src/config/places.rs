//! The place where a key of a config was written: the last `--set`, a `--patch` that changed it, or the template's file.
//! Only messages need it, so the files are read again for the first message.

use std::{cell::OnceCell, path::PathBuf};

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
        Places {
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
        let is_made = json::get(&self.template.config, key).is_none();
        let is_in = |inner: &str, outer: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.layers.set.iter().rfind(|set| {
            let assigned = &set.value.key;
            is_in(key, assigned) || is_made && is_in(assigned, key)
        })
    }
}
