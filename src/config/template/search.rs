//! Where templates are: the built-in ones, the folders, the search order.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::base::shell;
use crate::base::source::Sourced;
use crate::host::Host;
use crate::host::trust::{Trust, open_to_others};
use crate::report::fix::{Fixes, give, give_as, run};
use crate::report::{Place, Problem, Rule, nearest};

macro_rules! embedded {
    ($($name:literal)*) => {
        /// The files of `templates/`, in the order they are listed.
        pub const BUILT_IN: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../../templates/", $name, ".json")))),*];
    };
}

embedded! {
    "zero0" "zero1" "zero2" "zero2_offload" "zero3" "zero3_offload"
    "hf_zero2" "hf_zero3" "zero3_lowmem" "zeropp" "zero3_nvme"
}

/// Spellings of older releases and of other projects, and what they mean here.
pub fn aliases() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("aliases.txt").lines().skip(1).filter_map(|line| line.split_once(' '))
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

/// Where templates are looked for, in order; the built-in ones come last.
#[derive(Clone, Debug, Default)]
pub struct Search {
    pub(super) folders: Vec<PathBuf>,
}

/// The folders of ZLAUNCH_TEMPLATE_DIR.
fn of_site(host: &Host) -> impl Iterator<Item = PathBuf> {
    let folders = host.var_os("ZLAUNCH_TEMPLATE_DIR").map(std::env::split_paths).into_iter().flatten();
    folders.filter(|path| !path.as_os_str().is_empty()).map(|path| host.absolute(&path))
}

impl Search {
    pub(crate) fn new(flags: Vec<PathBuf>, host: &Host) -> Self {
        let folders = flags
            .into_iter()
            .map(|path| host.absolute(&path))
            .chain(of_site(host))
            .chain(host.config_home().map(|home| home.join("zlaunch/templates")))
            .chain([PathBuf::from("/etc/zlaunch/templates")]);
        Search { folders: folders.collect() }
    }

    /// A site's list may name folders that are not everywhere, but one of them should be here.
    pub(crate) fn missing_site(host: &Host) -> Option<Problem> {
        let first = of_site(host).next()?;
        let what = format!("there is no folder `{}`, so templates come from elsewhere", first.display());
        let problem = Problem::warning(Rule::TemplateDir, what)
            .at(Place::variable("ZLAUNCH_TEMPLATE_DIR", first.display().to_string()))
            .fix("correct the variable, or unset it");
        (!of_site(host).any(|folder| folder.is_dir())).then_some(problem)
    }

    /// The first file of that name from position `from` on. Position `folders.len()` is the built-in set.
    pub(super) fn find(&self, name: &str, from: usize) -> Option<(usize, Origin)> {
        let file = format!("{name}.json");
        let folders = self.folders.iter().enumerate().skip(from);
        for (at, folder) in folders {
            let path = folder.join(&file);
            if fs::symlink_metadata(&path).is_ok() {
                return Some((at, Origin::File(path)));
            }
        }
        let known = from <= self.folders.len() && BUILT_IN.iter().any(|(built_in, _)| *built_in == name);
        known.then_some((self.folders.len(), Origin::BuiltIn))
    }

    /// The first file of that name, unless it is one that any user of the machine could have written.
    pub(super) fn find_trusted(&self, name: &str, from: usize) -> Result<Option<(usize, Origin)>, Problem> {
        let found = self.find(name, from);
        // One that cannot be looked into may have it.
        let last = found.as_ref().map_or(self.folders.len(), |(at, _)| *at);
        for folder in &self.folders[from.min(last)..last] {
            let seen = fs::symlink_metadata(folder.join(format!("{name}.json")));
            if let Some(why) = seen.err().filter(|why| why.kind() == ErrorKind::PermissionDenied) {
                let what = format!("`{name}` may be in a template folder that cannot be read: {why}");
                let chmod = run(shell::text(&["chmod".into(), "u+rx".into(), folder.into()]));
                return Err(Problem::error(Rule::TemplateDir, what).at(folder).fix(chmod.or("drop that folder")));
            }
        }
        if let Some((_, Origin::File(path))) = &found {
            let by_all = |path: &&Path| fs::metadata(path).is_ok_and(|seen| seen.mode() & 0o002 != 0);
            let open = path.parent().into_iter().chain([path.as_path()]).find(by_all).map(Path::to_path_buf);
            if let Some(open) = open.or_else(|| open_to_others(path, Trust::Group)) {
                let shown = open.display();
                let what = format!("anyone could have written the template `{name}`: everyone can write to `{shown}`");
                let chmod = run(shell::text(&["chmod".into(), "o-w".into(), open.clone().into()]));
                let fixes = chmod.or(give("--deepspeed", path.display()).remark("the file itself"));
                return Err(Problem::error(Rule::Template, what).at(path).fix(fixes));
            }
        }
        Ok(found)
    }

    /// Every (name, origin) in search order, hidden ones included.
    pub(super) fn all(&self) -> Vec<(String, Origin)> {
        let mut found = Vec::new();
        for folder in &self.folders {
            let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
            let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
            paths.sort();
            for path in paths.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "json")) {
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
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (name, _) in self.all() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Whether a word names a config by its form, or is a template's name.
    pub(crate) fn is_config(&self, word: &str) -> bool {
        word.trim_start().starts_with('{')
            || word == "-"
            || word.starts_with("/dev/fd/")
            || word.starts_with("/proc/self/fd/")
            || Path::new(word).extension().is_some_and(|ending| ending == "json")
            || self.knows(word)
    }

    /// Whether it is a template's name or another spelling of one.
    pub(crate) fn knows(&self, name: &str) -> bool {
        is_name(name) && self.find(alias(name).unwrap_or(name), 0).is_some()
    }

    /// Whether one of the folders has a template of that name.
    pub(crate) fn is_adjusted(&self, name: &str) -> bool {
        is_name(name) && matches!(self.find(name, 0), Some((_, Origin::File(_))))
    }

    /// Whether the name means a built-in template.
    pub(crate) fn is_built_in(&self, name: &str) -> bool {
        is_name(name) && matches!(self.find(name, 0), Some((_, Origin::BuiltIn)))
    }

    /// A word that is neither a template nor a file.
    pub(super) fn unknown(&self, spec: &Sourced<String>) -> Problem {
        let name = spec.value.as_str();
        let lists = "`zlaunch templates` lists all of them";
        let refused = |what: String, fixes: Fixes| Problem::error(Rule::Template, what).at(spec).fix(fixes);
        if name.is_empty() {
            let what = "the name of the config is empty: is a shell variable not set?".to_string();
            return refused(what, give("--deepspeed", "zero3").see(lists));
        }
        let what = format!("no DeepSpeed template is named `{name}`");
        let meant_template =
            |meant: &str| give_as(&spec.from, meant).remark(format!("did you mean `{meant}`?")).see(lists);
        let known: Vec<String> = self.all().into_iter().map(|(name, _)| name).collect();
        if let Some((stage, meant)) = stage_meant(name).filter(|(_, meant)| known.contains(meant)) {
            let what = if stage > 3 { format!("{what}: ZeRO has the stages 0 to 3") } else { what };
            return refused(what, meant_template(&meant));
        }
        let known = known.iter().map(String::as_str).chain(aliases().map(|(old, _)| old));
        refused(what, nearest(name, known).map_or_else(|| lists.into(), meant_template))
    }
}

pub(super) fn is_name(word: &str) -> bool {
    let mut bytes = word.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphanumeric())
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

/// The stage that a name speaks of, and the template of that stage, or of the last one there is: `3`, `stage3`, `zero4`,
/// `ZeRO-5_offload`.
fn stage_meant(name: &str) -> Option<(u32, String)> {
    let name = name.to_ascii_lowercase().replace(['-', '_', ' ', '.'], "");
    let name = name.trim_start_matches("deepspeed").trim_start_matches("ds");
    let name = name.strip_prefix("zero").or_else(|| name.strip_prefix('z')).unwrap_or(name);
    let name = name.strip_prefix("stage").unwrap_or(name);
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    let (stage, rest) = (name[..digits].parse::<u32>().ok()?, &name[digits..]);
    // A digit too many: `zero22`.
    let stage = if digits > 1 { name[..1].parse().ok().filter(|first| *first <= 3)? } else { stage };
    let ending = match rest {
        "" | "config" => "",
        "offload" | "offloading" | "cpu" | "cpuoffload" | "offloadconfig" => "_offload",
        _ => return None,
    };
    Some((stage, format!("zero{}{ending}", stage.min(3))))
}

pub(super) fn alias(old: &str) -> Option<&'static str> {
    aliases().find(|(name, _)| *name == old).map(|(_, new)| new)
}

pub fn built_in_text(name: &str) -> &'static str {
    BUILT_IN.iter().find(|(built_in, _)| *built_in == name).map_or("", |(_, text)| *text)
}
