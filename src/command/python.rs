//! The Python that owns a command, found without starting it: the shebang names the interpreter, its folder and
//! pyvenv.cfg the places of its packages, their dist-info the versions.

pub mod modules;

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::base::recorded::Version;
use crate::base::vars;
use crate::command::target::is_python;
use crate::host::{Host, names_in, stays_below};
use crate::report::reading;
pub(crate) use modules::{Presence, is_standard};
use modules::{added_by_pth, egg_version, is_same, mapped_by_finder, sites, version_of};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Python {
    /// Links are not followed: a link in a virtual environment *is* the environment.
    pub(crate) program: PathBuf,
    named: Vec<PathBuf>,
    sites: Vec<PathBuf>,
    /// The names of dist-info folders.
    installed: OnceCell<Vec<String>>,
}

impl Python {
    pub fn at(program: PathBuf, host: &Host) -> Self {
        Self::with_options(behind_pyenv(&program, host).unwrap_or(program), "", host)
    }

    /// `options` are those in the shebang, such as pipx's `-E`.
    fn with_options(program: PathBuf, options: &str, host: &Host) -> Self {
        let ignores = |letters: &[char]| {
            let mut words = options.split(' ').filter(|word| word.starts_with('-'));
            words.any(|word| word.contains(letters))
        };
        let mut named = Vec::new();
        if let Some(path) = host.nonempty_var(vars::PYTHONPATH)
            && !ignores(&['E', 'I'])
        {
            named.extend(path.split(':').map(|entry| host.cwd.join(entry)));
        }
        let user = if ignores(&['s', 'I']) || host.nonempty_var("PYTHONNOUSERSITE").is_some() {
            None
        } else if let Some(base) = host.nonempty_var("PYTHONUSERBASE") {
            Some(PathBuf::from(base))
        } else {
            host.home().map(|home| home.join(".local"))
        };
        Python {
            sites: sites(&program, user.as_deref()),
            program,
            named,
            installed: OnceCell::new(),
        }
    }

    pub fn of_script(script: &Path, host: &Host) -> Option<Self> {
        let found = interpreter(script, host)
            .or_else(|| interpreter(&behind_pyenv(script, host)?, host))?;
        Some(Self::with_options(found.program, &found.options, host))
    }

    pub(crate) fn on_path(host: &Host) -> Option<Self> {
        let program = ["python3", "python"]
            .iter()
            .find_map(|name| host.find_program(OsStr::new(name)))?;
        Some(Self::at(program, host))
    }

    /// `3.11`, by its name or that of the file its links lead to.
    pub(crate) fn own_version(&self) -> Option<String> {
        let name = version_of(&self.program)?;
        Some(name.trim_start_matches("python").to_string())
    }

    /// False where the folders of packages are not known.
    pub(crate) fn lacks(&self, inside: &str, distribution: &str) -> bool {
        let is_there = self.sites.iter().any(|site| site.join(inside).is_file());
        !self.sites.is_empty()
            && !is_there
            && self.version(distribution).is_none()
            && self.file(inside).is_none()
    }

    /// `inside` is like `swift/cli/sft.py`.
    pub fn file(&self, inside: &str) -> Option<PathBuf> {
        let in_folder = |folder: &PathBuf| {
            let path = folder.join(inside);
            path.is_file().then_some(path)
        };
        // Folders are listed only where the plain place has no such file: an editable install.
        let at_site = |site: &PathBuf| {
            in_folder(site).or_else(|| added_by_pth(site).iter().find_map(in_folder))
        };
        let mapped = |site: &PathBuf| mapped_by_finder(site, inside);
        let named = self.named.iter().find_map(in_folder);
        named
            .or_else(|| self.sites.iter().find_map(at_site))
            .or_else(|| self.sites.iter().find_map(mapped))
    }

    /// Looks for a module as `python -m` does from the current folder.
    pub(crate) fn seek(&self, module: &str, host: &Host) -> Presence {
        let Some(version) = version_of(&self.program) else {
            return Presence::Unknown;
        };
        // `sys.path` may have other folders than those that are known.
        if self.sites.is_empty() || host.nonempty_var("PYTHONHOME").is_some() {
            return Presence::Unknown;
        }
        let mut folders = vec![host.cwd.clone()];
        folders.extend(self.named.iter().chain(&self.sites).cloned());
        // Red Hat keeps compiled packages apart.
        let prefix = self.program.parent().and_then(Path::parent);
        for prefix in prefix.into_iter().chain([Path::new("/usr/local")]) {
            folders.push(prefix.join("lib64").join(&version).join("site-packages"));
        }
        modules::seek(module, &folders, &self.sites)
    }

    pub(crate) fn version(&self, distribution: &str) -> Option<Version> {
        self.version_text(distribution)
            .as_deref()
            .map(Version::parse)
    }

    /// As its metadata say it: `5.0.0rc1`, `2.9.0+cu128`.
    pub fn version_text(&self, distribution: &str) -> Option<String> {
        let installed = self.installed.get_or_init(|| {
            let folders = self.named.iter().chain(&self.sites);
            let names = folders.flat_map(|folder| names_in(folder));
            names.filter(|name| name.ends_with(".dist-info")).collect()
        });
        let in_name = |folder: &String| {
            let (name, version) = folder.strip_suffix(".dist-info")?.rsplit_once('-')?;
            is_same(name, distribution).then(|| version.to_string())
        };
        let in_egg = |site: &PathBuf| egg_version(site, distribution);
        let added = || self.sites.iter().flat_map(|site| added_by_pth(site));
        let found = installed.iter().find_map(in_name);
        found
            .or_else(|| self.sites.iter().find_map(in_egg))
            .or_else(|| {
                let mut names = added().flat_map(|folder| names_in(&folder));
                names.find_map(|name| in_name(&name))
            })
    }
}

fn head(script: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    reading::open(script)
        .ok()??
        .0
        .take(512)
        .read_to_end(&mut head)
        .ok()?;
    Some(head)
}

pub struct Interpreter {
    pub program: PathBuf,
    /// Those in the shebang.
    options: String,
}

pub fn interpreter(script: &Path, host: &Host) -> Option<Interpreter> {
    let head = head(script)?;
    let mut lines = head.strip_prefix(b"#!")?.split(|b| *b == b'\n');
    let mut words = lines.next()?.trim_ascii().splitn(2, |b| *b == b' ');
    let program = Path::new(OsStr::from_bytes(words.next()?));
    let rest = words.next().unwrap_or_default().trim_ascii();
    let mut options = String::new();
    let program = match program.file_name()?.to_str()? {
        "env" => {
            let words = rest.split(|b| *b == b' ');
            let mut words = words.filter(|word| !word.is_empty() && *word != b"-S");
            let word = OsStr::from_bytes(words.next()?);
            is_python(word).then(|| host.find_program(word))??
        }
        // pip writes `'''exec' "/path to/python" "$0" "$@"` where the interpreter's path is too long or has a space.
        "sh" => {
            let line = lines.next()?.strip_prefix(b"'''exec' ")?;
            trampoline(line.trim_ascii(), script)?
        }
        _ if is_python(program.as_os_str()) => {
            options = String::from_utf8_lossy(rest).into_owned();
            program.to_path_buf()
        }
        _ => return None,
    };
    Some(Interpreter { program, options })
}

fn trampoline(line: &[u8], script: &Path) -> Option<PathBuf> {
    // uv writes `"$(dirname -- "$(realpath -- "$0")")"/'python' "$0" "$@"` where the environment may move.
    if line.starts_with(b"\"$(") {
        let (_, behind) = std::str::from_utf8(line).ok()?.split_once("\"/")?;
        let name = behind.split(' ').next()?.trim_matches('\'');
        return Some(fs::canonicalize(script).ok()?.parent()?.join(name));
    }
    let path = match line.first()? {
        quote @ (b'"' | b'\'') => line[1..].split(|b| b == quote).next()?,
        _ => line.split(|b| *b == b' ').next()?,
    };
    Some(PathBuf::from(OsStr::from_bytes(path)))
}

/// The program behind a shim of pyenv. PYENV_VERSION, a `.python-version` file or the global setting names the version.
fn behind_pyenv(shim: &Path, host: &Host) -> Option<PathBuf> {
    let folder = shim.parent().filter(|folder| folder.ends_with("shims"))?;
    let root = folder.parent()?;
    if !String::from_utf8_lossy(&head(shim)?).contains("pyenv") {
        return None;
    }
    let first_word = |path: PathBuf| {
        let text = reading::text_if_any(&path)?;
        text.split_whitespace().next().map(str::to_string)
    };
    let chosen = host.nonempty_var("PYENV_VERSION");
    let chosen = chosen.and_then(|list| list.split(':').next());
    let mut files = host
        .cwd
        .ancestors()
        .map(|folder| folder.join(".python-version"));
    let version = chosen
        .map(str::to_string)
        .or_else(|| files.find_map(first_word))
        .or_else(|| first_word(root.join("version")))?;
    let program = root
        .join(format!("versions/{version}/bin"))
        .join(shim.file_name()?);
    // Others may be able to write a file in a folder above.
    (stays_below(&version) && program.is_file()).then_some(program)
}
