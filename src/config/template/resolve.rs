//! From a spec to a template with everything it extends merged in.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::document::{Document, RequiredKey};
use super::search::{Origin, Search, alias, built_in_text, is_name};
use crate::base::json;
use crate::base::layout;
use crate::base::source::{Source, Sourced};
use crate::config::patch;
use crate::host::Host;
use crate::report::reading;
use crate::report::secrets::Secrets;
use crate::report::{self, Problem};

/// A template with everything it extends already merged in.
#[derive(Debug)]
pub struct Template {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    /// Names from this one down to the one that extends nothing.
    pub(crate) chain: Vec<String>,
    /// Where each of them is.
    pub(crate) origins: Vec<Origin>,
    pub(crate) about: Option<String>,
    /// The same in Chinese.
    pub(crate) about_zh: Option<String>,
    pub config: Value,
    pub env: Vec<(String, String)>,
    /// Keys that only the user can know.
    pub(crate) needs: Vec<RequiredKey>,
    /// Notes about how it was found.
    pub(crate) notes: Vec<Problem>,
}

impl Template {
    /// What the config itself does not show: where it comes from, what it is for, what it sets.
    pub(crate) fn summary(&self, secrets: &Secrets) -> String {
        let width = report::width_of_stderr().map_or(110, |width| width.min(110));
        let mut text = format!("{} ({})\n", self.chain.join(" → "), self.origin);
        text += &self.about.as_ref().map(|about| layout::wrapped(about, 2, width)).unwrap_or_default();
        for (name, value) in &self.env {
            text += &format!("  sets {}\n", secrets.setting(name, value));
        }
        text
    }
}

/// What a spec is, by its form alone.
enum SpecForm<'a> {
    Inline,
    Path(&'a Path),
    Name,
    Neither,
}

fn form(spec: &str) -> SpecForm<'_> {
    if spec.trim_start().starts_with('{') {
        return SpecForm::Inline;
    }
    if spec.contains('/') || Path::new(spec).extension().is_some_and(|it| it == "json") {
        return SpecForm::Path(Path::new(spec));
    }
    if is_name(spec) { SpecForm::Name } else { SpecForm::Neither }
}

/// One file of a chain.
struct Link {
    name: String,
    origin: Origin,
    /// Position in the search order, for a template that extends its own name.
    at: Option<usize>,
}

pub fn resolve(spec: &Sourced<String>, search: &Search, host: &Host) -> Result<Template, Vec<Problem>> {
    let (first, inline, notes) = first_link(spec, search, host)?;
    let mut documents = Vec::new();
    let mut chain: Vec<Link> = vec![first];
    let mut text = inline;
    while let Some(link) = chain.last() {
        let document = load(link, text.take())?;
        let next = match &document.extends {
            Some(parent) => Some(parent_link(link, parent, spec, search)?),
            None => None,
        };
        documents.push(document);
        let Some(next) = next else { break };
        let known = chain.iter().any(|link| link.name == next.name && link.origin == next.origin);
        chain.push(next);
        if known {
            let names: Vec<_> = chain.iter().map(|link| link.name.as_str()).collect();
            return Err(vec![report::template_cycle(&chain[0].origin, &names)]);
        }
    }
    Ok(merge(chain, documents, notes)?)
}

fn first_link(
    spec: &Sourced<String>,
    search: &Search,
    host: &Host,
) -> Result<(Link, Option<String>, Vec<Problem>), Problem> {
    let file = |path: PathBuf| {
        let name = path.file_stem().map_or_else(|| "config".to_string(), |stem| stem.to_string_lossy().into_owned());
        // A path outside the search order stands before all folders, should it extend its own name.
        let at = search.folders.iter().position(|folder| path.parent() == Some(folder));
        Link { name, origin: Origin::File(path), at }
    };
    match form(&spec.value) {
        SpecForm::Inline => {
            let (name, origin) = match spec.from {
                Source::Input => ("piped", Origin::Piped),
                _ => ("inline", Origin::Inline),
            };
            let link = Link { name: name.to_string(), origin, at: None };
            Ok((link, Some(spec.value.clone()), Vec::new()))
        }
        SpecForm::Path(path) => {
            let path = host.absolute(path);
            if !path.exists() {
                let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
                let template = search.find(stem, 0).map(|_| stem).or_else(|| alias(stem));
                return Err(report::missing_config(spec, template));
            }
            Ok((file(path), None, Vec::new()))
        }
        SpecForm::Name => {
            let name = spec.value.as_str();
            if let Some((at, origin)) = search.find_trusted(name, 0)? {
                return Ok((Link { name: name.to_string(), origin, at: Some(at) }, None, Vec::new()));
            }
            let alias = alias(name).map(|new| Ok((new, search.find_trusted(new, 0)?))).transpose()?;
            if let Some((new, Some((at, origin)))) = alias {
                let note = report::old_spelling(spec, new);
                return Ok((Link { name: new.to_string(), origin, at: Some(at) }, None, vec![note]));
            }
            // The trainers accept any path, also one without a slash or an ending.
            let path = host.absolute(Path::new(name));
            if path.is_file() {
                return Ok((file(path), None, Vec::new()));
            }
            Err(search.unknown(spec, name))
        }
        SpecForm::Neither => {
            let path = host.absolute(Path::new(&spec.value));
            if path.is_file() { Ok((file(path), None, Vec::new())) } else { Err(search.unknown(spec, &spec.value)) }
        }
    }
}

fn parent_link(link: &Link, parent: &str, spec: &Sourced<String>, search: &Search) -> Result<Link, Problem> {
    let from = link.at.filter(|_| parent == link.name).map_or(0, |at| at + 1);
    match search.find_trusted(parent, from)? {
        Some((at, origin)) => Ok(Link { name: parent.to_string(), origin, at: Some(at) }),
        None => {
            let known = search.all();
            let nearest = report::nearest(parent, known.iter().map(|(name, _)| name.as_str())).map(str::to_string);
            Err(report::unknown_parent(&link.origin, spec, parent, nearest.as_deref()))
        }
    }
}

/// The file, the inline text or the embedded template.
fn load(link: &Link, inline: Option<String>) -> Result<Document, Vec<Problem>> {
    let value = match (&link.origin, inline) {
        (_, Some(text)) => json::parse(&text).map_err(|fault| {
            let wanted = "strict JSON is wanted: double quotes, true, false, null, every bracket closed";
            // It uses json_repair, which guesses.
            fault.problem("the command line").help(format!("{wanted} (ms-swift alone would repair some of it)"))
        })?,
        (Origin::File(path), None) => reading::read(path)?,
        (_, None) => json::parse(built_in_text(&link.name)).map_err(|fault| fault.problem(&link.name))?,
    };
    Document::new(value, &link.origin)
}

/// From the root of the chain up: body as a merge patch, then the operations.
fn merge(chain: Vec<Link>, documents: Vec<Document>, notes: Vec<Problem>) -> Result<Template, Problem> {
    let mut config = Value::Null;
    let mut env: Vec<(String, String)> = Vec::new();
    let mut needs = Vec::new();
    let (mut about, mut about_zh) = (None, None);
    for (link, document) in chain.iter().zip(documents).rev() {
        if config.is_null() {
            config = document.body;
        } else {
            patch::merge(&mut config, document.body);
        }
        if let Some(operations) = document.patch {
            patch::operate(&mut config, operations, &format!("{}, $zlaunch.patch", link.origin))?;
        }
        env.extend(document.env);
        needs.extend(document.needs);
        (about, about_zh) = (document.about, document.about_zh);
    }
    // The last one of each name.
    let mut seen = BTreeSet::new();
    let mut is_last: Vec<bool> = env.iter().rev().map(|(name, _)| seen.insert(name)).collect();
    env = env.iter().filter(|_| is_last.pop() == Some(true)).cloned().collect();
    let names = chain.iter().map(|link| link.name.clone()).collect();
    let origins = chain.iter().map(|link| link.origin.clone()).collect();
    let Some(first) = chain.into_iter().next() else { return Err(report::not_an_object(&Origin::Inline)) };
    Ok(Template {
        name: first.name,
        origin: first.origin,
        chain: names,
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
    let (link, inline, _) = first_link(spec, search, host)?;
    match (&link.origin, inline) {
        (Origin::File(path), _) => reading::read_text(path),
        (_, Some(text)) => Ok(text),
        (_, None) => Ok(built_in_text(&link.name).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::search::{ALIASES, BUILT_IN};
    use super::*;

    fn named(name: &str) -> Template {
        let spec = Sourced::new(name.to_string(), Source::Flag("--deepspeed".to_string()));
        resolve(&spec, &Search::default(), &Host::default()).unwrap()
    }

    #[test]
    fn aliases_lead_to_built_in_templates() {
        for (old, new) in ALIASES {
            assert!(!built_in_text(new).is_empty(), "{old} -> {new}");
            let template = named(old);
            assert_eq!((template.name.as_str(), template.notes.len()), (*new, 1));
        }
    }

    #[test]
    fn a_chain_resolves_to_the_bottom() {
        let template = named("zero3_nvme");
        assert_eq!(template.chain, ["zero3_nvme", "zero3_offload", "zero3"]);
        assert_eq!(json::get(&template.config, "zero_optimization.offload_param.device"), Some(&Value::from("nvme")));
        assert_eq!(json::get(&template.config, "zero_optimization.offload_param.pin_memory"), Some(&Value::from(true)));
        assert_eq!(json::get(&template.config, "zero_optimization.zero_quantized_weights"), None);
        assert_eq!(template.needs.len(), 2);
    }

    #[test]
    fn every_built_in_template_says_what_it_is() {
        for (name, _) in BUILT_IN {
            let template = named(name);
            assert!(template.about.is_some_and(|about| about.len() > 20), "{name}");
            assert!(template.about_zh.is_some_and(|about| !about.is_ascii()), "{name}");
            assert!(template.config.get("$zlaunch").is_none(), "{name}");
        }
    }

    #[test]
    fn forms_of_a_spec() {
        assert!(matches!(form("zero3"), SpecForm::Name));
        assert!(matches!(form(" {\"a\": 1}"), SpecForm::Inline));
        assert!(matches!(form("./x"), SpecForm::Path(_)));
        assert!(matches!(form("x.json"), SpecForm::Path(_)));
        for odd in ["", "-x", ".x", "a b", "zéro"] {
            assert!(matches!(form(odd), SpecForm::Neither), "{odd}");
        }
    }
}
