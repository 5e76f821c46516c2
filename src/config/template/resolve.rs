//! From a spec to a template with everything it extends merged in.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::document::{Document, RequiredKey};
use super::search::{Origin, Search, alias, built_in_text, is_name};
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

struct Link {
    name: String,
    origin: Origin,
    /// Position in the search order, for a template that extends its own name.
    at: Option<usize>,
}

impl Link {
    fn file(path: PathBuf, search: &Search) -> Self {
        let name = path.file_stem().map_or_else(
            || "config".to_string(),
            |stem| stem.to_string_lossy().into_owned(),
        );
        // A path outside the search order comes before all folders if it extends its own name.
        let at = search
            .folders
            .iter()
            .position(|folder| path.parent() == Some(folder));
        Link {
            name,
            origin: Origin::File(path),
            at,
        }
    }
}

pub fn resolve(
    spec: &Sourced<String>,
    search: &Search,
    host: &Host,
) -> Result<Template, Vec<Problem>> {
    let (first, notes) = first_link(spec, search, host)?;
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
fn first_link(
    spec: &Sourced<String>,
    search: &Search,
    host: &Host,
) -> Result<(Link, Vec<Problem>), Problem> {
    let word = spec.value.as_str();
    if word.trim_start().starts_with('{') {
        let piped = spec.from == Source::Input;
        let (name, origin) = if piped {
            ("piped", Origin::Piped)
        } else {
            ("inline", Origin::Inline)
        };
        return Ok((
            Link {
                name: name.to_string(),
                origin,
                at: None,
            },
            Vec::new(),
        ));
    }
    let path = host.absolute(Path::new(word));
    if word.contains('/')
        || Path::new(word)
            .extension()
            .is_some_and(|ending| ending == "json")
    {
        if path.exists() {
            return Ok((Link::file(path, search), Vec::new()));
        }
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        let name = if search.find(stem, 0).is_some() {
            Some(stem)
        } else {
            alias(stem)
        };
        let help = match name {
            Some(name) => {
                give_as(&spec.from, name).remark("the template of that name; or check the path")
            }
            None if word.starts_with("~/") => give_as(&spec.from, word)
                .remark("the shell expands `~` only at the start of a word"),
            None => reading::path_advice(&path),
        };
        return Err(Problem::error(
            Rule::Template,
            format!("the config `{word}` does not exist"),
        )
        .at(spec)
        .fix(help));
    }
    if is_name(word) {
        if let Some((at, origin)) = search.find_trusted(word, 0)? {
            return Ok((
                Link {
                    name: word.to_string(),
                    origin,
                    at: Some(at),
                },
                Vec::new(),
            ));
        }
        if let Some(new) = alias(word)
            && let Some((at, origin)) = search.find_trusted(new, 0)?
        {
            let note = Problem::warning(
                Rule::OldSpelling,
                format!("`{word}` is an alias of `{new}`"),
            )
            .at(spec)
            .fix(give("--deepspeed", new));
            return Ok((
                Link {
                    name: new.to_string(),
                    origin,
                    at: Some(at),
                },
                vec![note],
            ));
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
        Ok((Link::file(path, search), Vec::new()))
    } else {
        Err(search.unknown(spec))
    }
}

fn parent_link(
    link: &Link,
    parent: &str,
    spec: &Sourced<String>,
    search: &Search,
) -> Result<Link, Problem> {
    // A template may extend the next one of its own name.
    let is_itself = parent == link.name;
    let from = if is_itself {
        link.at.map_or(0, |at| at + 1)
    } else {
        0
    };
    if let Some((at, origin)) = search.find_trusted(parent, from)? {
        return Ok(Link {
            name: parent.to_string(),
            origin,
            at: Some(at),
        });
    }
    let lists = "`zlaunch templates` lists all of them";
    let (what, help) = if is_itself {
        let what =
            "the template extends itself: there is no other template of that name".to_string();
        (what, format!("name the one it builds on; {lists}"))
    } else {
        let bare = parent.strip_suffix(".json").unwrap_or(parent);
        let known = search.names();
        let nearest = nearest(
            bare,
            known
                .iter()
                .map(String::as_str)
                .filter(|name| *name != parent),
        );
        (
            format!("the template extends `{parent}`, which does not exist"),
            did_you_mean(nearest, lists),
        )
    };
    Err(Problem::error(Rule::Template, what)
        .at(Place::key(&link.origin, "$zlaunch.extends"))
        .at(spec)
        .fix(help))
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
    let (mut config, mut env, mut needs) =
        (Value::Null, Vec::<(String, String)>::new(), Vec::new());
    let (mut about, mut about_zh) = (None, None);
    for (link, document) in chain.iter().zip(documents).rev() {
        if config.is_null() {
            config = document.body;
        } else {
            patch::merge(&mut config, document.body);
        }
        if let Some(operations) = document.patch {
            patch::operate(
                &mut config,
                operations,
                Place::key(&link.origin, "$zlaunch.patch"),
            )?;
        }
        env.retain(|(name, _)| document.env.iter().all(|(new, _)| new != name));
        env.extend(document.env);
        needs.extend(document.needs);
        (about, about_zh) = (document.about, document.about_zh);
    }
    let (chain, origins): (Vec<_>, Vec<_>) = chain
        .into_iter()
        .map(|link| (link.name, link.origin))
        .unzip();
    let (name, origin) = (chain[0].clone(), origins[0].clone());
    Ok(Template {
        name,
        origin,
        chain,
        origins,
        about,
        about_zh,
        config,
        env,
        needs,
        notes,
    })
}

/// `zlaunch templates NAME --raw`: the file as it is.
pub(crate) fn raw(spec: &Sourced<String>, search: &Search, host: &Host) -> Result<String, Problem> {
    let (link, _) = first_link(spec, search, host)?;
    match &link.origin {
        Origin::File(path) => reading::read_text(path),
        Origin::BuiltIn => Ok(built_in_text(&link.name).to_string()),
        Origin::Inline | Origin::Piped => Ok(spec.value.clone()),
    }
}

/// Every template with what it is for, or why it cannot be used. Hidden ones are included.
pub(crate) fn list(search: &Search, host: &Host) -> Vec<Value> {
    let all = search.all();
    let rows = all.iter().enumerate().map(|(at, (name, origin))| {
        let hidden = all[..at].iter().any(|(earlier, _)| earlier == name);
        let spec = match origin {
            Origin::File(path) => path.display().to_string(),
            _ => name.clone(),
        };
        let about = match resolve(
            &Sourced::new(spec, Source::Operand("templates".to_string())),
            search,
            host,
        ) {
            _ if hidden && *origin == Origin::BuiltIn => String::new(),
            Ok(template) => template.about.unwrap_or_default(),
            Err(found) => {
                format!(
                    "cannot be used: {}",
                    found
                        .into_iter()
                        .map(|it| it.what)
                        .collect::<Vec<_>>()
                        .join("; ")
                )
            }
        };
        json!({"name": name, "origin": origin.to_string(), "hidden": hidden, "about": about})
    });
    rows.collect()
}

/// Each name with one sentence, and its origin unless it is built in.
pub(crate) fn listed(all: &[Value]) -> String {
    let width = terminal::width().map_or(110, |width| width.min(110));
    let mut table = TextTable::new(0);
    for row in all {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_string();
        let first = text("about")
            .split(". ")
            .next()
            .unwrap_or_default()
            .to_string();
        let hidden = if row["hidden"] == true {
            " (hidden by one above)"
        } else {
            ""
        };
        if row["origin"] == Origin::BuiltIn.to_string() && hidden.is_empty() {
            table
                .lines
                .push(Line::Wrapped(vec![text("name"), first], width));
            continue;
        }
        table.lines.push(Line::Row(vec![
            text("name"),
            format!("{}{hidden}", text("origin")),
        ]));
        if !first.is_empty() {
            table
                .lines
                .push(Line::Wrapped(vec![String::new(), first], width));
        }
    }
    table.to_string()
}
