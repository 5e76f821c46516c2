//! Where a key of a config was written: the last `--set`, a `--patch` that changed it, or the template's file. Only needed
//! for messages, so the files are read again when the first one is made, and once.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::base::json::{self, Positions};
use crate::base::source::Sourced;
use crate::config::layers::Layers;
use crate::config::template::{Origin, Template};
use crate::host::Host;
use crate::report::reading;

/// The places of all keys.
pub(crate) struct Places<'a> {
    config: &'a Value,
    template: &'a Template,
    layers: &'a Layers,
    host: &'a Host,
    /// The number of the last `--set` of each key.
    set: OnceCell<HashMap<&'a str, usize>>,
    patch: OnceCell<Option<Positions>>,
    /// The files in the template's chain.
    files: OnceCell<Vec<(&'a Path, Positions)>>,
}

impl<'a> Places<'a> {
    /// `config`: with the layers, before "auto" was filled.
    pub(crate) fn new(config: &'a Value, template: &'a Template, layers: &'a Layers, host: &'a Host) -> Self {
        let (set, patch, files) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Places { config, template, layers, host, set, patch, files }
    }

    pub(crate) fn of(&self, key: &str) -> String {
        if let Some(sourced) = self.set_at(key) {
            return sourced.from.with(format!("{}={}", sourced.value.0, sourced.value.1));
        }
        let patched = || json::get(self.config, key) != json::get(&self.template.config, key);
        if let Some(patch) = self.layers.patch.last().filter(|_| patched()) {
            let path = self.host.absolute(&patch.value);
            let positions = self.patch.get_or_init(|| positions(&path)).as_ref();
            return positions
                .and_then(|positions| in_file(&path, positions, key))
                .unwrap_or_else(|| format!("{}, {key}", patch.value.display()));
        }
        // In a chain of templates, the first file that has the key.
        let found = self.files().iter().find_map(|(path, positions)| in_file(path, positions, key));
        found.unwrap_or_else(|| match &self.template.origin {
            Origin::BuiltIn => format!("template {}, {key}", self.template.name),
            origin => format!("{origin}, {key}"),
        })
    }

    /// The last `--set` of the key itself or of a section around it.
    fn set_at(&self, key: &str) -> Option<&Sourced<(String, Value)>> {
        let all = &self.layers.set;
        let set = self.set.get_or_init(|| all.iter().enumerate().map(|(at, it)| (it.value.0.as_str(), at)).collect());
        let ends = key.match_indices('.').map(|(at, _)| at).chain([key.len()]);
        ends.filter_map(|end| set.get(&key[..end])).max().map(|at| &all[*at])
    }

    fn files(&self) -> &[(&'a Path, Positions)] {
        self.files.get_or_init(|| {
            let files = self.template.origins.iter().filter_map(|origin| match origin {
                Origin::File(path) => Some(PathBuf::as_path(path)),
                _ => None,
            });
            files.filter_map(|path| Some((path, positions(path)?))).collect()
        })
    }
}

fn positions(path: &Path) -> Option<Positions> {
    json::positions(&reading::read_text(path).ok()?)
}

fn in_file(path: &Path, positions: &Positions, key: &str) -> Option<String> {
    positions.get(key).map(|(line, column)| format!("{}:{line}:{column}", path.display()))
}
