//! From a spec to a template with everything it extends merged in.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::document::{Document, RequiredKey};
use super::search::{Link, Origin, Search, alias, built_in_text, is_name};
use crate::base::json;
use crate::base::layout::{self, Line, TextTable};
use crate::base::source::{Source, Sourced};
use crate::config::patch;
use crate::host::{Host, terminal};
use crate::report::fix::{give, give_as};
use crate::report::secrets::Secrets;
use crate::report::{Place, Problem, Rule, did_you_mean, nearest, reading};

#[derive(Debug)]
pub struct Template {
    pub name: String,
    pub(crate) origin: Origin,
    /// Names from this one down to the one that extends nothing.
    pub chain: Vec<String>,
    pub(crate) origins: Vec<Origin>,
    pub about: Option<String>,
    pub about_zh: Option<String>,
    pub config: Value,
    pub env: Vec<(String, String)>,
    pub needs: Vec<RequiredKey>,
    pub notes: Vec<Problem>,
}

impl Template {
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.origins.iter().filter_map(|origin| match origin {
            Origin::File(path) => Some(path.as_path()),
            _ => None,
        })
    }

    /// Its origin, its purpose and its variables, which the config itself does not show.
    pub(crate) fn summary(&self, secrets: &Secrets) -> String {
        let width = terminal::width_of_stderr().map_or(110, |width| width.min(110));
        let mut text = format!("{} ({})\n", self.chain.join(" → "), self.origin);
        text += &self
            .about
            .as_ref()
            .map(|about| layout::wrapped(about, 2, width))
            .unwrap_or_default();
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

pub fn resolve(
    spec: &Sourced<String>,
    search: &Search,
    host: &Host,
) -> Result<Template, Vec<Problem>> {
    let first = first_link(spec, search, host)?;
    let mut notes = Vec::new();
    if alias(&spec.value) == Some(&first.name) {
        let what = format!("`{}` is an alias of `{}`", spec.value, first.name);
        let note = Problem::warning(Rule::OldSpelling, what).at(spec);
        notes.push(note.fix(give("--deepspeed", &first.name)));
    }
    let mut documents = Vec::new();
    let mut chain: Vec<Link> = vec![first];
    while let Some(link) = chain.last() {
        let document = load(link, &spec.value, host)?;
        let parent = document.extends.clone();
        documents.push(document);
        let Some(parent) = parent else { break };
        let next = parent_link(link, &parent, spec, search)?;
        let known = chain
            .iter()
            .any(|link| link.name == next.name && link.origin == next.origin);
        chain.push(next);
        if known {
            let names: Vec<_> = chain.iter().map(|link| link.name.as_str()).collect();
            let what = format!(
                "templates extend each other in a circle: {}",
                names.join(" → ")
            );
            let problem = Problem::error(Rule::Template, what)
                .at(Place::key(&chain[0].origin, "$zlaunch.extends"));
            return Err(vec![
                problem.fix("one of them must extend another template, or none"),
            ]);
        }
    }
    Ok(merge(chain, documents, notes)?)
}

/// The spec is JSON itself, a path, or a name, by its form.
fn first_link(spec: &Sourced<String>, search: &Search, host: &Host) -> Result<Link, Problem> {
    let word = spec.value.as_str();
    if word.trim_start().starts_with('{') {
        let (name, origin) = if spec.from == Source::Input {
            ("piped", Origin::Piped)
        } else {
            ("inline", Origin::Inline)
        };
        return Ok(Link {
            name: name.to_string(),
            origin,
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
            if let Some(found) = search.find_trusted(name, 0)? {
                return Ok(found);
            }
        }
    }
    if path.is_dir() {
        return Err(Problem {
            what: format!("`{word}` is a folder, not a config"),
            ..search.unknown(spec)
        });
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
    let stem = stem.unwrap_or_default();
    let name = if search.find(stem, 0).is_some() {
        Some(stem)
    } else {
        alias(stem)
    };
    let help = match name {
        Some(name) => {
            give_as(&spec.from, name).remark("the template of that name; or check the path")
        }
        None if word.starts_with("~/") => {
            give_as(&spec.from, word).remark("the shell expands `~` only at the start of a word")
        }
        None => reading::path_advice(path),
    };
    let what = format!("the config `{word}` does not exist");
    Problem::error(Rule::Template, what).at(spec).fix(help)
}

fn parent_link(
    link: &Link,
    parent: &str,
    spec: &Sourced<String>,
    search: &Search,
) -> Result<Link, Problem> {
    // A template may extend the next one of its own name.
    let is_itself = parent == link.name;
    let from = match link.at {
        Some(at) if is_itself => at + 1,
        _ => 0,
    };
    if let Some(found) = search.find_trusted(parent, from)? {
        return Ok(found);
    }
    let lists = "`zlaunch templates` lists all of them";
    let problem = if is_itself {
        let what = "the template extends itself: there is no other template of that name";
        Problem::error(Rule::Template, what).fix(format!("name the one it builds on; {lists}"))
    } else {
        let bare = parent.strip_suffix(".json").unwrap_or(parent);
        let names = search.names();
        let known = names.iter().map(String::as_str);
        let near = nearest(bare, known.filter(|name| *name != parent));
        let what = format!("the template extends `{parent}`, which does not exist");
        Problem::error(Rule::Template, what).fix(did_you_mean(near, lists))
    };
    Err(problem
        .at(Place::key(&link.origin, "$zlaunch.extends"))
        .at(spec))
}

/// `inline`: the text of a spec that is JSON itself.
fn load(link: &Link, inline: &str, host: &Host) -> Result<Document, Vec<Problem>> {
    let value = match &link.origin {
        Origin::File(path) => reading::read(path, host)?,
        Origin::BuiltIn => json::parse_built_in(built_in_text(&link.name)),
        Origin::Inline | Origin::Piped => json::parse(inline).map_err(|fault| {
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
fn merge(
    chain: Vec<Link>,
    documents: Vec<Document>,
    notes: Vec<Problem>,
) -> Result<Template, Problem> {
    let mut template = Template {
        name: chain[0].name.clone(),
        origin: chain[0].origin.clone(),
        chain: Vec::new(),
        origins: Vec::new(),
        about: None,
        about_zh: None,
        config: Value::Null,
        env: Vec::new(),
        needs: Vec::new(),
        notes,
    };
    for (link, document) in chain.iter().zip(documents).rev() {
        if template.config.is_null() {
            template.config = document.body;
        } else {
            patch::merge(&mut template.config, &document.body);
        }
        if let Some(operations) = document.patch {
            let place = Place::key(&link.origin, "$zlaunch.patch");
            patch::operate(&mut template.config, operations, place)?;
        }
        let is_set = |name: &String| document.env.iter().any(|(new, _)| new == name);
        template.env.retain(|(name, _)| !is_set(name));
        template.env.extend(document.env);
        template.needs.extend(document.needs);
        template.about = document.about;
        template.about_zh = document.about_zh;
    }
    for link in chain {
        template.chain.push(link.name);
        template.origins.push(link.origin);
    }
    Ok(template)
}

/// `zlaunch templates NAME --raw`: the file as it is.
pub(crate) fn raw(spec: &Sourced<String>, search: &Search, host: &Host) -> Result<String, Problem> {
    let link = first_link(spec, search, host)?;
    match &link.origin {
        Origin::File(path) => reading::read_text(path),
        Origin::BuiltIn => Ok(built_in_text(&link.name).to_string()),
        Origin::Inline | Origin::Piped => Ok(spec.value.clone()),
    }
}

#[derive(Serialize)]
pub(crate) struct ListedTemplate {
    name: String,
    origin: String,
    hidden: bool,
    about: String,
}

/// Every template with what it is for, or why it cannot be used. Hidden ones are included.
pub(crate) fn list(search: &Search, host: &Host) -> Vec<ListedTemplate> {
    let all = search.all();
    let rows = all
        .iter()
        .enumerate()
        .map(|(at, Link { name, origin, .. })| {
            let hidden = all[..at].iter().any(|earlier| earlier.name == *name);
            let spec = match origin {
                Origin::File(path) => path.display().to_string(),
                _ => name.clone(),
            };
            let spec = Sourced::new(spec, Source::Operand("templates".to_string()));
            let about = match resolve(&spec, search, host) {
                _ if hidden && *origin == Origin::BuiltIn => String::new(),
                Ok(template) => template.about.unwrap_or_default(),
                Err(found) => {
                    let whys: Vec<String> = found.into_iter().map(|problem| problem.what).collect();
                    format!("cannot be used: {}", whys.join("; "))
                }
            };
            ListedTemplate {
                name: name.clone(),
                origin: origin.to_string(),
                hidden,
                about,
            }
        });
    rows.collect()
}

/// Each name with one sentence, and its origin unless it is built in.
pub(crate) fn listed(all: Vec<ListedTemplate>) -> String {
    let width = terminal::width().map_or(110, |width| width.min(110));
    let mut table = TextTable::new(0);
    for row in all {
        let first = row.about.split(". ").next().unwrap_or_default().to_string();
        if row.origin == Origin::BuiltIn.to_string() && !row.hidden {
            let cells = vec![row.name, first];
            table.lines.push(Line::Wrapped(cells, width));
            continue;
        }
        let hidden = if row.hidden {
            " (hidden by one above)"
        } else {
            ""
        };
        let cells = vec![row.name, format!("{}{hidden}", row.origin)];
        table.lines.push(Line::Row(cells));
        if !first.is_empty() {
            let cells = vec![String::new(), first];
            table.lines.push(Line::Wrapped(cells, width));
        }
    }
    table.to_string()
}
