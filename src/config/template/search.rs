//! The places of templates: the built-in ones, the folders, the search order.

use std::{
    collections::BTreeSet,
    fmt, fs,
    io::ErrorKind,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::{
    base::{shell, source::Sourced, vars},
    config::tables::ALIASES,
    host::{Host, Trust, names_in, open_to_others},
    report::prelude::*,
};

macro_rules! embedded {
    ($($name:literal)*) => {
        pub const BUILT_IN: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../../templates/", $name, ".json")))),*];
    };
}

embedded! {
    "zero0" "zero1" "zero2" "zero2_offload" "zero3" "zero3_offload"
    "hf_zero2" "hf_zero3" "zero3_lowmem" "zeropp" "zero3_nvme"
}

#[derive(Clone, Default, PartialEq)]
pub enum Origin {
    #[default]
    BuiltIn,
    File(PathBuf),
    /// JSON itself, and where it was given.
    Text(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Origin::BuiltIn => f.write_str("built in"),
            Origin::File(path) => path.display().fmt(f),
            Origin::Text(place) => f.write_str(place),
        }
    }
}

/// A template by its name, and its place.
pub struct Link {
    pub name: String,
    pub origin: Origin,
    /// Position in the search order, for a template that extends its own name.
    pub at: Option<usize>,
}

/// The folders in search order; the built-in templates come last.
#[derive(Clone, Default)]
pub struct Search {
    pub folders: Vec<PathBuf>,
}

fn of_site(host: &Host) -> impl Iterator<Item = PathBuf> {
    host.var_os("ZLAUNCH_TEMPLATE_DIR")
        .into_iter()
        .flat_map(std::env::split_paths)
        .filter(|path| !path.as_os_str().is_empty())
        .map(|path| host.absolute(&path))
}

impl Search {
    pub fn new(flags: Vec<PathBuf>, host: &Host) -> Self {
        let flags = flags.into_iter().map(|path| host.absolute(&path));
        let home = host.xdg_folder(vars::XDG_CONFIG_HOME, ".config");
        let homes = home.map(|home| home.join("zlaunch/templates"));
        let everyones = PathBuf::from("/etc/zlaunch/templates");
        let folders = flags.chain(of_site(host)).chain(homes).chain([everyones]);
        Search {
            folders: folders.collect(),
        }
    }

    /// A site's list may name folders that are not everywhere, but one of them should be here.
    pub fn missing_site(host: &Host) -> Option<Problem> {
        if of_site(host).any(|folder| folder.is_dir()) {
            return None;
        }
        let first = of_site(host).next()?.display().to_string();
        let what = format!("there is no folder `{first}`, so templates come from elsewhere");
        let place = Place::variable("ZLAUNCH_TEMPLATE_DIR", first);
        Some(
            Rule::TemplateDir
                .warning(what)
                .at(place)
                .fix("correct the variable, or unset it"),
        )
    }

    /// The first template of that name from position `from` on. Position `folders.len()` is the built-in set. Refuses a file
    /// that any user of the machine could have written.
    pub fn find(&self, name: &str, from: usize) -> Result<Option<Link>, Problem> {
        let link = |at: usize, origin: Origin| {
            Ok(Some(Link {
                name: name.to_string(),
                origin,
                at: Some(at),
            }))
        };
        for (at, folder) in self.folders.iter().enumerate().skip(from) {
            let path = file_in(folder, name);
            match fs::symlink_metadata(&path) {
                Ok(_) => match writable_by_anyone(&path) {
                    Some(open) => return Err(could_be_anyones(name, &path, &open)),
                    None => return link(at, Origin::File(path)),
                },
                // A folder that cannot be read may have the file.
                Err(why) if why.kind() == ErrorKind::PermissionDenied => {
                    let fixes = chmod("u+rx", folder).or("drop that folder");
                    return Err(Rule::TemplateDir
                        .error(format!(
                            "`{name}` may be in a template folder that cannot be read: {why}"
                        ))
                        .at(folder)
                        .fix(fixes));
                }
                Err(_) => {}
            }
        }
        let built_in = self.folders.len();
        if from <= built_in && !built_in_text(name).is_empty() {
            link(built_in, Origin::BuiltIn)
        } else {
            Ok(None)
        }
    }

    /// Every template in search order, hidden ones included.
    pub fn all(&self) -> Vec<Link> {
        let mut found = vec![];
        let mut add = |name: &str, origin: Origin, at: usize| {
            found.push(Link {
                name: name.to_string(),
                origin,
                at: Some(at),
            });
        };
        for (at, folder) in self.folders.iter().enumerate() {
            let mut files: Vec<String> = names_in(folder).collect();
            files.sort();
            for name in files
                .iter()
                .filter_map(|file| file.strip_suffix(".json"))
                .filter(|name| is_name(name))
            {
                add(name, Origin::File(file_in(folder, name)), at);
            }
        }
        for (name, _) in BUILT_IN {
            add(name, Origin::BuiltIn, self.folders.len());
        }
        found
    }

    /// The folders that are there, in search order.
    pub fn in_words(&self) -> String {
        self.folders
            .iter()
            .filter(|folder| folder.is_dir())
            .map(|folder| format!("{}, ", folder.display()))
            .collect::<String>()
            + "built in"
    }

    pub fn names(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        self.all()
            .into_iter()
            .map(|link| link.name)
            .filter(|name| seen.insert(name.clone()))
            .collect()
    }

    /// True if a word names a config by its form, or is a template's name.
    pub fn is_config(&self, word: &str) -> bool {
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
    pub fn knows(&self, name: &str) -> bool {
        self.origin(alias(name).unwrap_or(name)).is_some()
    }

    pub fn origin(&self, name: &str) -> Option<Origin> {
        Some(is_name(name).then(|| self.find(name, 0).ok()?)??.origin)
    }

    /// A word that is neither a template nor a file.
    pub fn unknown(&self, spec: &Sourced<String>) -> Problem {
        let name = spec.value.as_str();
        let lists = "`zlaunch templates` lists all of them";
        let mut what = format!("no DeepSpeed template is named `{name}`");
        let meaning = |meant: &str| give_as(&spec.from, meant).meaning(meant).or(lists);
        if name.starts_with('$') {
            what = format!(
                "the name of the config is `{name}`: is a shell variable not set, or in single quotes?"
            );
        }
        // `zero4`: ZeRO has the stages 0 to 3. `zero3_cpu` is `zero3_offload`.
        let meant = name
            .replace(|c| ('4'..='9').contains(&c), "3")
            .replace('-', "_")
            .replace("cpu", "offload")
            .replace("offload_offload", "offload");
        let names = self.names();
        let known = names.iter().map(String::as_str);
        let fixes = nearest(&meant, known).map_or_else(|| lists.into(), meaning);
        Rule::Template.error(what).at(spec).fix(fixes)
    }
}

fn could_be_anyones(name: &str, path: &Path, open: &Path) -> Problem {
    let itself = give("--deepspeed", path.display()).remark("the file itself");
    let fixes = chmod("o-w", open).or(itself);
    Rule::Template
        .error(format!(
            "anyone could have written the template `{name}`: everyone can write to `{}`",
            open.display()
        ))
        .at(path)
        .fix(fixes)
}

fn chmod(mode: &str, path: &Path) -> Fix {
    run(shell::text(&["chmod".into(), mode.into(), path.into()]))
}

fn file_in(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.json"))
}

/// The file, or a folder above it, if every user of the machine can write to it.
fn writable_by_anyone(path: &Path) -> Option<PathBuf> {
    let is_open = |path: &&Path| fs::metadata(path).is_ok_and(|seen| seen.mode() & 0o002 != 0);
    path.parent()
        .into_iter()
        .chain([path])
        .find(is_open)
        .map(Path::to_path_buf)
        .or_else(|| open_to_others(path, Trust::Group))
}

pub fn is_name(word: &str) -> bool {
    let mut bytes = word.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphanumeric())
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

pub fn alias(old: &str) -> Option<&'static str> {
    Some(ALIASES.iter().find(|alias| alias.old == old)?.template)
}

pub fn built_in_text(name: &str) -> &'static str {
    BUILT_IN
        .iter()
        .find(|(built_in, _)| *built_in == name)
        .map_or("", |(_, text)| *text)
}
