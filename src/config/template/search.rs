//! The places of templates: the built-in ones, the folders, the search order.

use std::collections::BTreeSet;
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
        pub const BUILT_IN: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../../templates/", $name, ".json")))),*];
    };
}

embedded! {
    "zero0" "zero1" "zero2" "zero2_offload" "zero3" "zero3_offload"
    "hf_zero2" "hf_zero3" "zero3_lowmem" "zeropp" "zero3_nvme"
}

/// Spellings of older releases and of other projects, and what they mean here.
pub fn aliases() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("aliases.txt")
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(' '))
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
    pub(super) fn find(&self, name: &str, from: usize) -> Option<(usize, Origin)> {
        let file = format!("{name}.json");
        let paths = self
            .folders
            .iter()
            .map(|folder| folder.join(&file))
            .enumerate()
            .skip(from);
        let mut there = paths.filter(|(_, path)| fs::symlink_metadata(path).is_ok());
        let is_built_in =
            from <= self.folders.len() && BUILT_IN.iter().any(|(built_in, _)| *built_in == name);
        let built_in = is_built_in.then_some((self.folders.len(), Origin::BuiltIn));
        there
            .next()
            .map(|(at, path)| (at, Origin::File(path)))
            .or(built_in)
    }

    /// Like `find`, but refuses a file that any user of the machine could have written.
    pub(super) fn find_trusted(
        &self,
        name: &str,
        from: usize,
    ) -> Result<Option<(usize, Origin)>, Problem> {
        let found = self.find(name, from);
        // A folder that cannot be read may have the file.
        let last = found.as_ref().map_or(self.folders.len(), |(at, _)| *at);
        for folder in &self.folders[from.min(last)..last] {
            let seen = fs::symlink_metadata(folder.join(format!("{name}.json")));
            if let Some(why) = seen
                .err()
                .filter(|why| why.kind() == ErrorKind::PermissionDenied)
            {
                let what =
                    format!("`{name}` may be in a template folder that cannot be read: {why}");
                let chmod = run(shell::text(&["chmod".into(), "u+rx".into(), folder.into()]));
                return Err(Problem::error(Rule::TemplateDir, what)
                    .at(folder)
                    .fix(chmod.or("drop that folder")));
            }
        }
        if let Some((_, Origin::File(path))) = &found {
            let mut paths = path.parent().into_iter().chain([path.as_path()]);
            let open =
                paths.find(|path| fs::metadata(path).is_ok_and(|seen| seen.mode() & 0o002 != 0));
            if let Some(open) = open
                .map(Path::to_path_buf)
                .or_else(|| open_to_others(path, Trust::Group))
            {
                let shown = open.display();
                let what = format!(
                    "anyone could have written the template `{name}`: everyone can write to `{shown}`"
                );
                let chmod = run(shell::text(&[
                    "chmod".into(),
                    "o-w".into(),
                    open.clone().into(),
                ]));
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
            let entries = fs::read_dir(folder)
                .into_iter()
                .flatten()
                .filter_map(Result::ok);
            let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
            paths.sort();
            for path in paths
                .into_iter()
                .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
            {
                let stem = path
                    .file_stem()
                    .and_then(|stem| stem.to_str())
                    .filter(|stem| is_name(stem));
                if let Some(name) = stem.map(str::to_string) {
                    found.push((name, Origin::File(path)));
                }
            }
        }
        found.extend(
            BUILT_IN
                .iter()
                .map(|(name, _)| ((*name).to_string(), Origin::BuiltIn)),
        );
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
        self.all()
            .into_iter()
            .map(|(name, _)| name)
            .filter(|name| seen.insert(name.clone()))
            .collect()
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
        if is_name(name) {
            self.find(name, 0).map(|(_, origin)| origin)
        } else {
            None
        }
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
        if let Some((stage, meant)) = stage_meant(name)
            && known.contains(&meant)
        {
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
            .chain(aliases().map(|(old, _)| old));
        refused(
            what,
            nearest(name, known).map_or_else(|| lists.into(), meant_template),
        )
    }
}

pub(super) fn is_name(word: &str) -> bool {
    let mut bytes = word.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphanumeric())
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

/// The stage in a name such as `3`, `stage3`, `zero4` or `ZeRO-5_offload`, and the template of that stage or of stage 3.
fn stage_meant(name: &str) -> Option<(u32, String)> {
    let name = name.to_ascii_lowercase().replace(['-', '_', ' ', '.'], "");
    let name = name
        .trim_start_matches("deepspeed")
        .trim_start_matches("ds");
    let name = name
        .strip_prefix("zero")
        .or_else(|| name.strip_prefix('z'))
        .unwrap_or(name);
    let name = name.strip_prefix("stage").unwrap_or(name);
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    let (stage, rest) = (name[..digits].parse::<u32>().ok()?, &name[digits..]);
    // A digit too many: `zero22`.
    let stage = if digits > 1 {
        name[..1].parse().ok().filter(|first| *first <= 3)?
    } else {
        stage
    };
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
    BUILT_IN
        .iter()
        .find(|(built_in, _)| *built_in == name)
        .map_or("", |(_, text)| *text)
}
