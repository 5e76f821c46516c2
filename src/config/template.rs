//! Templates: a name, a path or inline JSON becomes a config with everything it extends merged in. Nothing here knows the
//! keys.

pub mod document;
pub mod search;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Serialize;
use serde_json::Value;

use crate::{
    base::{
        json::{self, text},
        layout::{self, Line, TextTable},
        source::{Source, Sourced},
    },
    config::patch,
    host::{Host, terminal},
    report::{Language, did_you_mean, prelude::*, secrets::Secrets},
};

use document::Document;
pub use document::{HEADER_KEY, RequiredKey, SCHEMA_LINE};
pub use search::Origin;
pub use search::Search;
use search::{Link, alias, built_in_text, is_name};

#[derive(Default)]
pub struct Template {
    pub name: String,
    pub origin: Origin,
    /// Names from this one down to the one that extends nothing.
    pub chain: Vec<String>,
    pub origins: Vec<Origin>,
    pub about: Option<String>,
    pub about_zh: Option<String>,
    pub config: Value,
    pub env: Vec<(String, String)>,
    pub needs: BTreeMap<String, RequiredKey>,
    pub notes: Problems,
}

const EXTENDS: &str = "$zlaunch.extends";

impl Template {
    pub fn about_in(&self, language: Language) -> String {
        self.about_zh
            .as_ref()
            .filter(|_| language == Language::Chinese)
            .or(self.about.as_ref())
            .cloned()
            .unwrap_or_default()
    }

    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.origins.iter().filter_map(|origin| match origin {
            Origin::File(path) => Some(path.as_path()),
            _ => None,
        })
    }

    /// Its origin, its purpose and its variables, which the config itself does not show.
    pub fn summary(&self, secrets: &Secrets) -> String {
        let width = terminal::width_of_stderr().map_or(110, |width| width.min(110));
        let mut text = format!("{} ({})\n", self.chain.join(" → "), self.origin);
        if let Some(about) = &self.about {
            text += &layout::wrapped(about, 2, width);
        }
        for (name, value) in &self.env {
            text += &format!("  sets {}\n", secrets.setting(name, value));
        }
        text
    }
}

/// A template by its path. Outside of the search order, it comes before all folders if it extends its own name.
fn file_link(path: PathBuf, search: &Search) -> Link {
    let stem = path.file_stem().unwrap_or_else(|| "config".as_ref());
    let mut folders = search.folders.iter();
    Link {
        name: stem.to_string_lossy().into_owned(),
        at: folders.position(|folder| path.parent() == Some(folder)),
        origin: Origin::File(path),
    }
}

pub fn resolve(spec: &Sourced<String>, search: &Search, host: &Host) -> Result<Template, Problems> {
    let first = first_link(spec, search, host)?;
    let mut notes = vec![];
    if alias(&spec.value) == Some(&first.name) {
        notes.push(
            Rule::OldSpelling
                .warning(format!("`{}` is an alias of `{}`", spec.value, first.name))
                .at(spec)
                .fix(give("--deepspeed", &first.name)),
        );
    }
    Ok(Template {
        notes,
        ..resolve_link(first, spec, search, host)?
    })
}

fn resolve_link(
    first: Link,
    spec: &Sourced<String>,
    search: &Search,
    host: &Host,
) -> Result<Template, Problems> {
    let mut chain: Vec<(Link, Document)> = vec![];
    let mut next = Some(first);
    while let Some(link) = next {
        let is_again = chain
            .iter()
            .any(|(known, _)| known.name == link.name && known.origin == link.origin);
        if is_again {
            let names: Vec<&str> = chain
                .iter()
                .map(|(known, _)| known.name.as_str())
                .chain([link.name.as_str()])
                .collect();
            let what = format!(
                "templates extend each other in a circle: {}",
                names.join(" → ")
            );
            return Err(Rule::Template
                .error(what)
                .at(Place::key(&chain[0].0.origin, EXTENDS))
                .fix("one of them must extend another template, or none")
                .into());
        }
        let document = load(&link, &spec.value, host)?;
        let parent = document.extends.as_ref();
        next = parent
            .map(|parent| parent_link(&link, parent, spec, search))
            .transpose()?;
        chain.push((link, document));
    }
    Ok(merge(chain)?)
}

/// The spec is JSON itself, a path, or a name, by its form.
fn first_link(spec: &Sourced<String>, search: &Search, host: &Host) -> Result<Link, Problem> {
    let word = spec.value.as_str();
    if word.trim_start().starts_with('{') {
        let (name, place) = match spec.from {
            Source::Input => ("piped", "a pipe"),
            _ => ("inline", "the command line"),
        };
        return Ok(Link {
            name: name.to_string(),
            origin: Origin::Text(place),
            at: None,
        });
    }
    let path = host.absolute(Path::new(word));
    let is_json = path.extension().is_some_and(|ending| ending == "json");
    if word.contains('/') || is_json {
        return if path.exists() {
            Ok(file_link(path, search))
        } else {
            Err(missing_file(spec, &path, search))
        };
    }
    if is_name(word) {
        for name in [word].into_iter().chain(alias(word)) {
            if let Some(found) = search.find(name, 0)? {
                return Ok(found);
            }
        }
    }
    // The trainers accept any path, also one without a slash or an ending.
    if path.is_file() {
        Ok(file_link(path, search))
    } else {
        Err(search.unknown(spec))
    }
}

fn missing_file(spec: &Sourced<String>, path: &Path, search: &Search) -> Problem {
    let word = spec.value.as_str();
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let name = stem.map(|stem| alias(stem).unwrap_or(stem));
    let help = match name.filter(|name| search.knows(name)) {
        Some(name) => {
            give_as(&spec.from, name).remark("the template of that name; or check the path")
        }
        None if word.starts_with("~/") => {
            give_as(&spec.from, word).remark("the shell expands `~` only at the start of a word")
        }
        None => reading::path_advice(path),
    };
    Rule::Template
        .error(format!("the config `{word}` does not exist"))
        .at(spec)
        .fix(help)
}

fn parent_link(
    link: &Link,
    parent: &str,
    spec: &Sourced<String>,
    search: &Search,
) -> Result<Link, Problem> {
    // A template may extend the next one of its own name.
    let from = link
        .at
        .filter(|_| parent == link.name)
        .map_or(0, |at| at + 1);
    if let Some(found) = search.find(parent, from)? {
        return Ok(found);
    }
    let lists = "`zlaunch templates` lists all of them";
    let bare = parent.strip_suffix(".json").unwrap_or(parent);
    let names = search.names();
    let known = names.iter().map(String::as_str);
    let near = nearest(bare, known.filter(|name| *name != parent));
    Err(Rule::Template
        .error(format!(
            "the template extends `{parent}`, and there is no other of that name"
        ))
        .fix(did_you_mean(near, lists))
        .at(Place::key(&link.origin, EXTENDS))
        .at(spec))
}

/// `inline`: the text of a spec that is JSON itself.
fn load(link: &Link, inline: &str, host: &Host) -> Result<Document, Problems> {
    let value = match &link.origin {
        Origin::File(path) => reading::read(path, host)?,
        Origin::BuiltIn => json::parse_built_in(built_in_text(&link.name)),
        Origin::Text(_) => json::parse(inline).map_err(|fault| {
            let unquoted = "put single quotes around it: the shell removed the double quotes";
            let help = if inline.contains('"') {
                fault.help
            } else {
                unquoted
            };
            let help = format!("{help} (ms-swift itself would repair some of it)");
            fault.problem("the command line").fix(help)
        })?,
    };
    Document::new(value, &link.origin)
}

/// From the root of the chain up: body as a merge patch, then the operations.
fn merge(chain: Vec<(Link, Document)>) -> Result<Template, Problem> {
    let mut template = Template::default();
    for (link, document) in chain.into_iter().rev() {
        if template.config.is_null() {
            template.config = document.body;
        } else {
            json::merge(&mut template.config, &document.body);
        }
        if let Some(operations) = document.patch {
            let place = Place::key(&link.origin, "$zlaunch.patch");
            patch::operate(&mut template.config, operations, place)?;
        }
        for (name, value) in document.env {
            template.env.retain(|(known, _)| *known != name);
            template.env.push((name, text(&value)));
        }
        template.needs.extend(document.needs);
        template.about = document.about;
        template.about_zh = document.about_zh;
        template.name.clone_from(&link.name);
        template.origin.clone_from(&link.origin);
        template.chain.insert(0, link.name);
        template.origins.insert(0, link.origin);
    }
    Ok(template)
}

/// `zlaunch templates NAME --raw`: the file as it is.
pub fn raw(spec: &Sourced<String>, search: &Search, host: &Host) -> Result<String, Problem> {
    let link = first_link(spec, search, host)?;
    match &link.origin {
        Origin::File(path) => reading::read_text(path),
        Origin::BuiltIn => Ok(built_in_text(&link.name).to_string()),
        Origin::Text(_) => Ok(spec.value.clone()),
    }
}

#[derive(Serialize)]
pub struct ListedTemplate {
    name: String,
    origin: String,
    hidden: bool,
    about: String,
}

/// Every template with what it is for, or why it cannot be used. Hidden ones are included.
pub fn list(search: &Search, host: &Host) -> Vec<ListedTemplate> {
    let language = Language::of(host);
    let mut rows: Vec<ListedTemplate> = vec![];
    let spec = Sourced::new(String::new(), Source::Operand("templates".to_string()));
    for link in search.all() {
        let Link { name, origin, .. } = &link;
        rows.push(ListedTemplate {
            hidden: rows.iter().any(|earlier| earlier.name == *name),
            name: name.clone(),
            origin: origin.to_string(),
            about: match resolve_link(link, &spec, search, host) {
                Ok(template) => template.about_in(language),
                Err(found) => {
                    let whys: Vec<String> = found.into_iter().map(|problem| problem.what).collect();
                    format!("cannot be used: {}", whys.join("; "))
                }
            },
        });
    }
    rows
}

/// Each name with one sentence, and its origin unless it is built in.
pub fn listed(all: Vec<ListedTemplate>) -> String {
    let width = terminal::width().map_or(110, |width| width.min(110));
    let mut table = TextTable::new(0).fitted(Some(width));
    for row in all {
        let mut about = row.about.split(". ").next().unwrap_or_default().to_string();
        if row.hidden {
            about += " (hidden by one above)";
        }
        if row.origin != Origin::BuiltIn.to_string() {
            about += &format!(" ({})", row.origin);
        }
        table.lines.push(Line::Row(vec![row.name, about]));
    }
    table.to_string()
}
