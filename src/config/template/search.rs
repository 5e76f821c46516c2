//! The places of templates: the built-in ones, the folders, the search order.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::base::shell;
use crate::base::source::Sourced;
use crate::config::tables::ALIASES;
use crate::host::trust::{Trust, open_to_others};
use crate::host::{Host, names_in};
use crate::report::fix::{Fixes, give, give_as, run};
use crate::report::{Place, Problem, Rule, nearest};

macro_rules! embedded {
    ($($name:literal)*) => {
        pub const BUILT_IN: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../../templates/", $name, ".json")))),*];
    };
}

embedded! {
    "zero0" "zero1" "zero2" "zero2_offload" "zero3" "zero3_offload"
    "hf_zero2" "hf_zero3" "zero3_lowmem" "zeropp" "zero3_nvme"
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    BuiltIn,
    File(PathBuf),
    Inline,
    Piped,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::BuiltIn => f.write_str("built in"),
            Origin::File(path) => write!(f, "{}", path.display()),
            Origin::Piped => f.write_str("a pipe"),
            Origin::Inline => f.write_str("the command line"),
        }
    }
}

/// A template by its name, and its place.
pub(super) struct Link {
    pub(super) name: String,
    pub(super) origin: Origin,
    /// Position in the search order, for a template that extends its own name.
    pub(super) at: Option<usize>,
}

/// The folders in search order; the built-in templates come last.
#[derive(Clone, Debug, Default)]
pub struct Search {
    pub(super) folders: Vec<PathBuf>,
}

fn of_site(host: &Host) -> impl Iterator<Item = PathBuf> {
    let folders = host
        .var_os("ZLAUNCH_TEMPLATE_DIR")
        .map(std::env::split_paths)
        .into_iter()
        .flatten();
    folders
        .filter(|path| !path.as_os_str().is_empty())
        .map(|path| host.absolute(&path))
}

impl Search {
    pub(crate) fn new(flags: Vec<PathBuf>, host: &Host) -> Self {
        let folders = flags
            .into_iter()
            .map(|path| host.absolute(&path))
            .chain(of_site(host))
            .chain(
                host.config_home()
                    .map(|home| home.join("zlaunch/templates")),
            )
            .chain([PathBuf::from("/etc/zlaunch/templates")]);
        Search {
            folders: folders.collect(),
        }
    }

    /// A site's list may name folders that are not everywhere, but one of them should be here.
    pub(crate) fn missing_site(host: &Host) -> Option<Problem> {
        if of_site(host).any(|folder| folder.is_dir()) {
            return None;
        }
        let first = of_site(host).next()?.display().to_string();
        let what = format!("there is no folder `{first}`, so templates come from elsewhere");
        let place = Place::variable("ZLAUNCH_TEMPLATE_DIR", first);
        Some(
            Problem::warning(Rule::TemplateDir, what)
                .at(place)
                .fix("correct the variable, or unset it"),
        )
    }

    /// The first file of that name from position `from` on. Position `folders.len()` is the built-in set.
    pub(super) fn find(&self, name: &str, from: usize) -> Option<Link> {
        let link = |at: usize, origin: Origin| Link {
            name: name.to_string(),
            origin,
            at: Some(at),
        };
        let paths = self.folders.iter().map(|folder| file_in(folder, name));
        let mut there = (0..)
            .zip(paths)
            .skip(from)
            .filter(|(_, path)| fs::symlink_metadata(path).is_ok());
        if let Some((at, path)) = there.next() {
            return Some(link(at, Origin::File(path)));
        }
        let built_in = self.folders.len();
        let is_built_in = from <= built_in && !built_in_text(name).is_empty();
        is_built_in.then(|| link(built_in, Origin::BuiltIn))
    }

    /// Like `find`, but refuses a file that any user of the machine could have written.
    pub(super) fn find_trusted(&self, name: &str, from: usize) -> Result<Option<Link>, Problem> {
        let found = self.find(name, from);
        // A folder that cannot be read may have the file.
        let last = found.as_ref().and_then(|link| link.at);
        let passed = self.folders.iter().take(last.unwrap_or(usize::MAX));
        for folder in passed.skip(from) {
            if let Err(why) = fs::symlink_metadata(file_in(folder, name))
                && why.kind() == ErrorKind::PermissionDenied
            {
                let what =
                    format!("`{name}` may be in a template folder that cannot be read: {why}");
                let chmod = run(shell::text(&["chmod".into(), "u+rx".into(), folder.into()]));
                return Err(Problem::error(Rule::TemplateDir, what)
                    .at(folder)
                    .fix(chmod.or("drop that folder")));
            }
        }
        if let Some(Link {
            origin: Origin::File(path),
            ..
        }) = &found
            && let Some(open) = writable_by_anyone(path)
        {
            let what = format!(
                "anyone could have written the template `{name}`: everyone can write to `{}`",
                open.display()
            );
            let chmod = run(shell::text(&["chmod".into(), "o-w".into(), open.into()]));
            let fixes = chmod.or(give("--deepspeed", path.display()).remark("the file itself"));
            return Err(Problem::error(Rule::Template, what).at(path).fix(fixes));
        }
        Ok(found)
    }

    /// Every template in search order, hidden ones included.
    pub(super) fn all(&self) -> Vec<Link> {
        let mut found = Vec::new();
        for folder in &self.folders {
            let mut files: Vec<String> = names_in(folder).collect();
            files.sort();
            let names = files.iter().filter_map(|file| file.strip_suffix(".json"));
            found.extend(names.filter(|name| is_name(name)).map(|name| Link {
                name: name.to_string(),
                origin: Origin::File(file_in(folder, name)),
                at: None,
            }));
        }
        found.extend(BUILT_IN.iter().map(|(name, _)| Link {
            name: (*name).to_string(),
            origin: Origin::BuiltIn,
            at: None,
        }));
        found
    }

    /// The folders that are there, in search order.
    pub(crate) fn in_words(&self) -> String {
        let there = self.folders.iter().filter(|folder| folder.is_dir());
        there
            .map(|folder| format!("{}, ", folder.display()))
            .collect::<String>()
            + "built in"
    }

    pub fn names(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let names = self.all().into_iter().map(|link| link.name);
        names.filter(|name| seen.insert(name.clone())).collect()
    }

    /// True if a word names a config by its form, or is a template's name.
    pub(crate) fn is_config(&self, word: &str) -> bool {
        word.trim_start().starts_with('{')
            || word == "-"
            || word.starts_with("/dev/fd/")
            || word.starts_with("/proc/self/fd/")
            || Path::new(word)
                .extension()
                .is_some_and(|ending| ending == "json")
            || self.knows(word)
    }

    /// True if it is a template's name or another spelling of one.
    pub(crate) fn knows(&self, name: &str) -> bool {
        is_name(name) && self.origin(alias(name).unwrap_or(name)).is_some()
    }

    pub(crate) fn origin(&self, name: &str) -> Option<Origin> {
        if !is_name(name) {
            return None;
        }
        let link = self.find(name, 0)?;
        Some(link.origin)
    }

    /// A word that is neither a template nor a file.
    pub(super) fn unknown(&self, spec: &Sourced<String>) -> Problem {
        let name = spec.value.as_str();
        let lists = "`zlaunch templates` lists all of them";
        let refused =
            |what: String, fixes: Fixes| Problem::error(Rule::Template, what).at(spec).fix(fixes);
        if name.is_empty() || name.starts_with('$') {
            let what = format!(
                "the name of the config is `{name}`: is a shell variable not set, or in single quotes?"
            );
            return refused(what, give("--deepspeed", "zero3").see(lists));
        }
        let what = format!("no DeepSpeed template is named `{name}`");
        let meant_template = |meant: &str| give_as(&spec.from, meant).meaning(meant).see(lists);
        let known = self.names();
        if let Some(StageName { stage, ending }) = StageName::read(name) {
            let meant = format!("zero{}{ending}", stage.min(3));
            let what = if stage > 3 {
                format!("{what}: ZeRO has the stages 0 to 3")
            } else {
                what
            };
            return refused(what, meant_template(&meant));
        }
        let known = known
            .iter()
            .map(String::as_str)
            .chain(ALIASES.iter().map(|alias| alias.old));
        refused(
            what,
            nearest(name, known).map_or_else(|| lists.into(), meant_template),
        )
    }
}

fn file_in(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.json"))
}

/// The file, or a folder above it, if every user of the machine can write to it.
fn writable_by_anyone(path: &Path) -> Option<PathBuf> {
    let is_open = |path: &&Path| fs::metadata(path).is_ok_and(|seen| seen.mode() & 0o002 != 0);
    let open = path.parent().into_iter().chain([path]).find(is_open);
    open.map(Path::to_path_buf)
        .or_else(|| open_to_others(path, Trust::Group))
}

pub(super) fn is_name(word: &str) -> bool {
    let mut bytes = word.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphanumeric())
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

/// A name such as `3`, `stage3`, `zero4` or `ZeRO-5_offload`, and the ending of the template that it means.
struct StageName {
    stage: u32,
    ending: &'static str,
}

impl StageName {
    fn read(name: &str) -> Option<Self> {
        let plain = name.to_ascii_lowercase().replace(['-', '_', ' ', '.'], "");
        let words = ["deepspeed", "ds", "zero", "z", "stage"].iter();
        let rest = words.fold(plain.as_str(), |rest, word| {
            rest.strip_prefix(word).unwrap_or(rest)
        });
        let stage = rest.chars().next()?.to_digit(10)?;
        let ending = match rest[1..].trim_end_matches("config") {
            "" => "",
            "offload" | "offloading" | "cpu" | "cpuoffload" => "_offload",
            _ => return None,
        };
        Some(StageName { stage, ending })
    }
}

pub(super) fn alias(old: &str) -> Option<&'static str> {
    let alias = ALIASES.iter().find(|alias| alias.old == old)?;
    Some(alias.template)
}

pub fn built_in_text(name: &str) -> &'static str {
    BUILT_IN
        .iter()
        .find(|(built_in, _)| *built_in == name)
        .map_or("", |(_, text)| *text)
}
