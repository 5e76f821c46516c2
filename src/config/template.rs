//! Templates: names, search order, `extends`, the embedded files. A spec (name, path or inline JSON) becomes a config
//! with its chain of origins; nothing here knows what the config's keys mean.

mod document;
mod list;

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::base::json;
use crate::base::layout;
use crate::base::source::Sourced;
use crate::config::patch;
use crate::host::Host;
use crate::report::reading;
use crate::report::secrets::Secrets;
use crate::report::{self, Problem};

use document::Document;
pub(crate) use document::Need;
pub(crate) use list::list;

macro_rules! embedded {
    ($($name:literal)*) => {
        /// The files of `templates/`, in the order they are listed.
        const BUILT_IN: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../templates/", $name, ".json")))),*];
    };
}

embedded! {
    "zero0" "zero1" "zero2" "zero2_offload" "zero3" "zero3_offload"
    "hf_zero2" "hf_zero3" "zero3_lowmem" "zeropp" "zero3_nvme"
}

/// Spellings of older releases and of other projects, and what they mean here.
const ALIASES: &[(&str, &str)] = &[
    ("default-zero2", "zero2"),
    ("default-zero3", "zero3"),
    ("zero2-offload", "zero2_offload"),
    ("zero3-offload", "zero3_offload"),
    ("z0", "zero0"),
    ("z1", "zero1"),
    ("z2", "zero2"),
    ("z2_offload", "zero2_offload"),
    ("z3", "zero3"),
    ("z3_offload", "zero3_offload"),
    ("ds_z0_config", "zero0"),
    ("ds_z2_config", "zero2"),
    ("ds_z2_offload_config", "zero2_offload"),
    ("ds_z3_config", "zero3"),
    ("ds_z3_offload_config", "zero3_offload"),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    BuiltIn,
    File(PathBuf),
    Inline,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::BuiltIn => f.write_str("built in"),
            Origin::File(path) => write!(f, "{}", path.display()),
            Origin::Inline => f.write_str("the command line"),
        }
    }
}

/// A template with everything it extends already merged in.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    /// Names from this one down to the one that extends nothing.
    pub(crate) chain: Vec<String>,
    /// Where each of them is.
    pub(crate) origins: Vec<Origin>,
    pub(crate) about: Option<String>,
    /// The same in Chinese.
    pub(crate) about_zh: Option<String>,
    pub(crate) config: Value,
    pub(crate) env: Vec<(String, String)>,
    /// Keys that only the user can know.
    pub(crate) needs: Vec<Need>,
    /// What is worth saying about how it was found.
    pub(crate) notes: Vec<Problem>,
}

impl Template {
    /// What the config itself does not show: where it comes from, what it is for, what it sets.
    pub(crate) fn summary(&self, secrets: &Secrets) -> String {
        let mut text = format!("{} ({})\n", self.chain.join(" → "), self.origin);
        text += &self.about.as_ref().map(|about| layout::wrapped(about, 2, 110)).unwrap_or_default();
        for (name, value) in &self.env {
            text += &format!("  sets {}\n", secrets.setting(name, value));
        }
        text
    }
}

/// Where templates are looked for, in order; the built-in ones come last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    folders: Vec<PathBuf>,
}

impl Search {
    pub(crate) fn new(flags: Vec<PathBuf>, host: &Host) -> Self {
        let variable = host.raw("ZLAUNCH_TEMPLATE_DIR").map(std::env::split_paths).into_iter().flatten();
        let folders = flags
            .into_iter()
            .chain(variable.filter(|path| !path.as_os_str().is_empty()))
            .map(|path| host.absolute(&path))
            .chain(host.config_home().map(|home| home.join("zlaunch/templates")))
            .chain([PathBuf::from("/etc/zlaunch/templates")]);
        Search { folders: folders.collect() }
    }

    /// The first file of that name from position `from` on. Position `folders.len()` is the built-in set.
    fn find(&self, name: &str, from: usize) -> Option<(usize, Origin)> {
        let folders = self.folders.iter().enumerate().skip(from);
        for (at, folder) in folders {
            let path = folder.join(format!("{name}.json"));
            if fs::symlink_metadata(&path).is_ok() {
                return Some((at, Origin::File(path)));
            }
        }
        let known = from <= self.folders.len() && BUILT_IN.iter().any(|(built_in, _)| *built_in == name);
        known.then_some((self.folders.len(), Origin::BuiltIn))
    }

    /// The same, unless anybody could have put it there: it decides for whoever says the name.
    fn find_trusted(&self, name: &str, from: usize) -> Result<Option<(usize, Origin)>, Problem> {
        let found = self.find(name, from);
        if let Some((_, Origin::File(path))) = &found {
            let by_all = |path: &&Path| fs::metadata(path).is_ok_and(|seen| seen.mode() & 0o002 != 0);
            if let Some(open) = path.parent().into_iter().chain([path.as_path()]).find(by_all) {
                return Err(report::anybody_could_write(name, path, open));
            }
        }
        Ok(found)
    }

    /// Every (name, origin) in search order, hidden ones included.
    fn all(&self) -> Vec<(String, Origin)> {
        let mut found = Vec::new();
        for folder in &self.folders {
            let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
            let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
            paths.sort();
            for path in paths.into_iter().filter(|path| path.extension().is_some_and(|it| it == "json")) {
                let stem = path.file_stem().and_then(|stem| stem.to_str()).filter(|stem| is_name(stem));
                if let Some(name) = stem.map(str::to_string) {
                    found.push((name, Origin::File(path)));
                }
            }
        }
        found.extend(BUILT_IN.iter().map(|(name, _)| ((*name).to_string(), Origin::BuiltIn)));
        found
    }

    /// The folders that are there, in search order.
    pub(crate) fn in_words(&self) -> String {
        let there = self.folders.iter().filter(|folder| folder.is_dir()).map(|folder| folder.display().to_string());
        there.chain(["built in".to_string()]).collect::<Vec<_>>().join(", ")
    }

    /// Every name once, in search order.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (name, _) in self.all() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Whether it is a template's name or another spelling of one.
    pub(crate) fn knows(&self, name: &str) -> bool {
        is_name(name) && self.find(alias(name).unwrap_or(name), 0).is_some()
    }

    fn unknown(&self, spec: &Sourced<String>, name: &str) -> Problem {
        let known: Vec<String> = self.all().into_iter().map(|(name, _)| name).collect();
        let known = known.iter().map(String::as_str).chain(ALIASES.iter().map(|(old, _)| *old));
        report::unknown_template(spec, report::nearest(name, known))
    }
}

/// What a spec says it is, by its form alone.
enum Form<'a> {
    Inline,
    Path(&'a Path),
    Name,
    Neither,
}

fn form(spec: &str) -> Form<'_> {
    if spec.trim_start().starts_with('{') {
        return Form::Inline;
    }
    if spec.contains('/') || Path::new(spec).extension().is_some_and(|it| it == "json") {
        return Form::Path(Path::new(spec));
    }
    if is_name(spec) { Form::Name } else { Form::Neither }
}

fn is_name(word: &str) -> bool {
    let mut bytes = word.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphanumeric())
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

/// One file of a chain.
struct Link {
    name: String,
    origin: Origin,
    /// Position in the search order, for a template that extends its own name.
    at: Option<usize>,
}

pub(crate) fn resolve(spec: &Sourced<String>, search: &Search, host: &Host) -> Result<Template, Vec<Problem>> {
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
        Form::Inline => {
            let link = Link { name: "inline".to_string(), origin: Origin::Inline, at: None };
            Ok((link, Some(spec.value.clone()), Vec::new()))
        }
        Form::Path(path) => {
            let path = host.absolute(path);
            if !path.exists() {
                let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
                let template = search.find(stem, 0).map(|_| stem).or_else(|| alias(stem));
                return Err(report::missing_config(spec, template));
            }
            Ok((file(path), None, Vec::new()))
        }
        Form::Name => {
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
        Form::Neither => {
            let path = host.absolute(Path::new(&spec.value));
            if path.is_file() { Ok((file(path), None, Vec::new())) } else { Err(search.unknown(spec, &spec.value)) }
        }
    }
}

fn alias(old: &str) -> Option<&'static str> {
    ALIASES.iter().find(|(name, _)| *name == old).map(|(_, new)| *new)
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
            // With json_repair, which guesses.
            fault.problem("the command line").help(format!("{wanted} (ms-swift alone would repair some of it)"))
        })?,
        (Origin::File(path), None) => reading::read(path)?,
        (_, None) => json::parse_strict(built_in_text(&link.name)).map_err(|fault| fault.problem(&link.name))?,
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
        for (name, value) in document.env {
            env.retain(|(known, _)| *known != name);
            env.push((name, value));
        }
        needs.extend(document.needs);
        (about, about_zh) = (document.about, document.about_zh);
    }
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

fn built_in_text(name: &str) -> &'static str {
    BUILT_IN.iter().find(|(built_in, _)| *built_in == name).map_or("", |(_, text)| *text)
}

/// Every built-in template with its sentence.
#[cfg(test)]
pub(crate) fn built_in_abouts(key: &str) -> Vec<(&'static str, String)> {
    let about = |text| json::parse(text).ok()?.get("$zlaunch")?.get(key)?.as_str().map(str::to_string);
    BUILT_IN.iter().map(|(name, text)| (*name, about(text).unwrap_or_default())).collect()
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
    use super::*;
    use crate::base::source::Source;

    fn named(name: &str) -> Template {
        let spec = Sourced::new(name.to_string(), Source::Flag("--deepspeed".to_string()));
        resolve(&spec, &Search::default(), &Host::default()).unwrap()
    }

    #[test]
    fn the_embedded_list_is_the_folder() {
        let mut files: Vec<String> = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/templates"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let mut embedded: Vec<_> = BUILT_IN.iter().map(|(name, _)| format!("{name}.json")).collect();
        embedded.sort();
        assert_eq!(files, embedded);
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
        assert!(matches!(form("zero3"), Form::Name));
        assert!(matches!(form(" {\"a\": 1}"), Form::Inline));
        assert!(matches!(form("./x"), Form::Path(_)));
        assert!(matches!(form("x.json"), Form::Path(_)));
        for odd in ["", "-x", ".x", "a b", "zéro"] {
            assert!(matches!(form(odd), Form::Neither), "{odd}");
        }
    }
}
