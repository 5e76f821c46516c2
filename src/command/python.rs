//! The Python that owns a command, found without starting it: the shebang names the interpreter, its folder and
//! pyvenv.cfg the places of its packages, their dist-info the versions.

use std::{
    cell::OnceCell,
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    io::Read,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use crate::{
    base::{recorded::Version, vars},
    command::tables::{HARMLESS, PATH_WORDS},
    host::{Host, names_in, stays_below},
    report::reading,
};

const STANDARD_LIBRARY: &str = include_str!("../recorded/python_stdlib.txt");

#[derive(Clone, PartialEq)]
pub struct Python {
    /// Links are not followed: a link in a virtual environment *is* the environment.
    pub program: PathBuf,
    named: Vec<PathBuf>,
    sites: Vec<PathBuf>,
    packages: OnceCell<Packages>,
    /// Those in the folders that `.pth` files add.
    added_packages: OnceCell<Packages>,
}

/// The folders with metadata, by the plain names of the distributions.
type Packages = BTreeMap<String, PathBuf>;

impl Python {
    pub fn at(program: PathBuf, host: &Host) -> Self {
        let program = behind_pyenv(&program, host).unwrap_or(program);
        let path = host.nonempty_var(vars::PYTHONPATH);
        let entries = path.into_iter().flat_map(|path| path.split(':'));
        let user = host
            .nonempty_var("PYTHONUSERBASE")
            .map(PathBuf::from)
            .or_else(|| Some(host.home()?.join(".local")));
        let has_user = host.nonempty_var("PYTHONNOUSERSITE").is_none();
        Python {
            sites: sites(&program, user.as_deref().filter(|_| has_user)),
            program,
            named: entries.map(|entry| host.cwd.join(entry)).collect(),
            packages: OnceCell::new(),
            added_packages: OnceCell::new(),
        }
    }

    /// That of the program that a word of a command names: an interpreter, or a script with one in its first line.
    pub fn of_program(word: &OsStr, host: &Host) -> Option<Self> {
        let program = if is_script(word) {
            host.absolute(Path::new(word))
        } else {
            host.find_program(word)?
        };
        if is_python(word) {
            Some(Self::at(program, host))
        } else {
            Self::of_script(&program, host)
        }
    }

    pub fn of_script(script: &Path, host: &Host) -> Option<Self> {
        let behind = behind_pyenv(script, host);
        let script = behind.as_deref().unwrap_or(script);
        let head = head(script)?;
        let mut lines = head.strip_prefix(b"#!")?.split(|b| *b == b'\n');
        let mut words = lines.next()?.trim_ascii().splitn(2, |b| *b == b' ');
        let program = Path::new(OsStr::from_bytes(words.next()?));
        let rest = words.next().unwrap_or_default().trim_ascii();
        let program = match program.file_name()?.to_str()? {
            "env" => {
                let words = rest.split(|b| *b == b' ');
                let mut words = words.filter(|word| !word.is_empty() && *word != b"-S");
                let word = OsStr::from_bytes(words.next()?);
                host.find_program(word).filter(|_| is_python(word))?
            }
            // pip writes `'''exec' "/path to/python" "$0" "$@"` where the interpreter's path is too long or has a space.
            "sh" => trampoline(
                lines.next()?.strip_prefix(b"'''exec' ")?.trim_ascii(),
                script,
            )?,
            _ if is_python(program.as_os_str()) => program.to_path_buf(),
            _ => return None,
        };
        Some(Self::at(program, host))
    }

    pub fn on_path(host: &Host) -> Option<Self> {
        let program = ["python3", "python"]
            .iter()
            .find_map(|name| host.find_program(OsStr::new(name)))?;
        Some(Self::at(program, host))
    }

    /// `3.11`, by its name or that of the file its links lead to.
    pub fn own_version(&self) -> Option<String> {
        Some(
            version_of(&self.program)?
                .trim_start_matches("python")
                .to_string(),
        )
    }

    /// False where the folders of packages are not known.
    pub fn lacks(&self, inside: &str, distribution: &str) -> bool {
        !self.sites.is_empty()
            && self.file(inside).is_none()
            && self.version_text(distribution).is_none()
    }

    /// `inside` is like `swift/cli/sft.py`.
    pub fn file(&self, inside: &str) -> Option<PathBuf> {
        let in_folder = |folder: &PathBuf| Some(folder.join(inside)).filter(|path| path.is_file());
        // Folders are listed only where the plain place has no such file: an editable install.
        let at_site = |site: &PathBuf| {
            in_folder(site).or_else(|| added_by_pth(site).iter().find_map(in_folder))
        };
        let mut named = self.named.iter();
        let mut sites = self.sites.iter();
        named
            .find_map(in_folder)
            .or_else(|| sites.find_map(at_site))
            .or_else(|| mapped_by_finder(&self.sites, inside))
    }

    /// That of a package, such as `swift`.
    pub fn folder(&self, package: &str) -> Option<PathBuf> {
        self.sites
            .iter()
            .map(|site| site.join(package))
            .find(|folder| folder.is_dir())
            .or_else(|| {
                Some(
                    self.file(&format!("{package}/__init__.py"))?
                        .parent()?
                        .to_path_buf(),
                )
            })
    }

    /// True if `python -m` is sure not to find a module from the current folder.
    pub fn lacks_module(&self, module: &str, host: &Host) -> bool {
        let Some(version) = version_of(&self.program) else {
            return false;
        };
        // `sys.path` may have other folders than those that are known.
        if self.sites.is_empty() || host.nonempty_var("PYTHONHOME").is_some() {
            return false;
        }
        let mut folders = vec![host.cwd.clone()];
        folders.extend(self.named.iter().chain(&self.sites).cloned());
        // Red Hat keeps compiled packages apart.
        let prefix = self.program.parent().and_then(Path::parent);
        for prefix in prefix.into_iter().chain([Path::new("/usr/local")]) {
            folders.push(prefix.join("lib64").join(&version).join("site-packages"));
        }
        is_missing(module, &folders, &self.sites)
    }

    pub fn version(&self, distribution: &str) -> Option<Version> {
        self.version_text(distribution)
            .as_deref()
            .map(Version::parse)
    }

    /// As its metadata say it: `5.0.0rc1`, `2.9.0+cu128`.
    pub fn version_text(&self, distribution: &str) -> Option<String> {
        let name = plain(distribution);
        let folders = self.named.iter().chain(&self.sites);
        let own = self.packages.get_or_init(|| packages_in(folders.cloned()));
        let version = |packages: &Packages| version_in(packages.get(&name)?);
        version(own).or_else(|| {
            let added = self.sites.iter().flat_map(|site| added_by_pth(site));
            version(self.added_packages.get_or_init(|| packages_in(added)))
        })
    }
}

/// Enough of a script for its first lines.
fn head(script: &Path) -> Option<Vec<u8>> {
    let mut head = vec![];
    let (file, _) = reading::open(script).ok()??;
    file.take(512).read_to_end(&mut head).ok()?;
    Some(head)
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
        reading::text_if_any(&path)?
            .split_whitespace()
            .next()
            .map(str::to_string)
    };
    let mut files = host
        .cwd
        .ancestors()
        .map(|folder| folder.join(".python-version"));
    let version = match host.nonempty_var("PYENV_VERSION") {
        Some(list) => list.split(':').next()?.to_string(),
        None => files
            .find_map(first_word)
            .or_else(|| first_word(root.join("version")))?,
    };
    let program = root
        .join(format!("versions/{version}/bin"))
        .join(shim.file_name()?);
    // Others may be able to write a file in a folder above.
    (stays_below(&version) && program.is_file()).then_some(program)
}

/// `python`, `/usr/bin/python3.11`.
pub fn is_python(word: &OsStr) -> bool {
    let name = Path::new(word).file_name().and_then(OsStr::to_str);
    name.and_then(|name| name.strip_prefix("python"))
        .is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

/// `train.py`
pub fn is_script(word: &OsStr) -> bool {
    Path::new(word)
        .extension()
        .is_some_and(|ending| ending == "py")
}

pub fn is_standard(name: &str) -> bool {
    STANDARD_LIBRARY.lines().any(|module| module == name)
}

/// `folders` is `sys.path` without what the `.pth` files of `sites` add. False where code that runs at the start of Python
/// may add the module.
pub fn is_missing(dotted: &str, folders: &[PathBuf], sites: &[PathBuf]) -> bool {
    let parts: Vec<&str> = dotted.split('.').collect();
    if parts.contains(&"") || is_standard(parts[0]) {
        return false;
    }
    let added = sites.iter().flat_map(|site| added_by_pth(site));
    let mut folders = folders.iter().cloned().chain(added);
    // Whatever code may add, a package that is there says itself where its modules are.
    let is_package = |folder: &PathBuf| folder.join(parts[0]).join("__init__.py").is_file();
    if let Some(folder) = folders.clone().find(is_package) {
        return !holds(&folder, &parts) && !looks_elsewhere(&folder, &parts);
    }
    let may_hold = |folder: PathBuf| {
        // An egg, or code that may do anything.
        folder.is_file()
            || holds(&folder, &parts)
            || holds(&folder, &["sitecustomize"])
            || holds(&folder, &["usercustomize"])
            || looks_elsewhere(&folder, &parts)
    };
    // A `.pth` file runs code, which may know any package, or names a file (an egg).
    !folders.any(may_hold)
        && !sites.iter().any(|site| {
            pth_lines(site)
                .iter()
                .any(|line| line.starts_with("import") || site.join(line).is_file())
        })
}

fn holds(folder: &Path, parts: &[&str]) -> bool {
    let path = folder.join(parts.join("/"));
    // `fast.cpython-311-x86_64-linux-gnu.so`
    let is_it = |name: &str| {
        let ending = name.rsplit('.').next();
        name.split('.').next() == parts.last().copied()
            && matches!(ending, Some("py" | "so" | "pyc"))
    };
    let folder = path.parent().unwrap_or(folder);
    path.is_dir() || names_in(folder).any(|name| is_it(&name))
}

/// One of the packages above the module may look for it in other folders.
fn looks_elsewhere(folder: &Path, parts: &[&str]) -> bool {
    (1..parts.len()).any(|depth| {
        let package = folder.join(parts[..depth].join("/"));
        let text = reading::text_if_any(&package.join("__init__.py")).unwrap_or_default();
        PATH_WORDS.iter().any(|word| text.contains(word))
    })
}

/// The folders of packages: those of a virtual environment, and those of its base where it shares them.
fn sites(program: &Path, user: Option<&Path>) -> Vec<PathBuf> {
    let version = version_of(program);
    let version = version.as_deref();
    let mut above = program.ancestors().skip(1).take(2);
    let config = |prefix: &Path| reading::text_if_any(&prefix.join("pyvenv.cfg"));
    let Some((prefix, config)) = above.find_map(|prefix| Some((prefix, config(prefix)?))) else {
        let prefix = program.ancestors().nth(2);
        return prefix.map_or(vec![], |prefix| base_sites(prefix, version, user));
    };
    let setting = |key: &str| {
        let (_, value) = config
            .lines()
            .filter_map(|line| line.split_once('='))
            .find(|(name, _)| name.trim() == key)?;
        Some(value.trim())
    };
    let mut sites = Vec::from_iter(packages_below(prefix, version));
    if setting("include-system-site-packages") == Some("true")
        && let Some(base) = setting("home").and_then(|home| Path::new(home).parent())
    {
        sites.extend(base_sites(base, version, user));
    }
    sites
}

/// The user's own, then those of the installation. Debian has two folders and calls them dist-packages.
fn base_sites(prefix: &Path, version: Option<&str>, user: Option<&Path>) -> Vec<PathBuf> {
    let mut sites = vec![];
    if let Some((user, version)) = user.zip(version) {
        sites.push(user.join(format!("lib/{version}/site-packages")));
    }
    if prefix == Path::new("/usr") {
        sites.extend(
            version
                .map(|version| format!("/usr/local/lib/{version}/dist-packages"))
                .map(PathBuf::from),
        );
        sites.push(PathBuf::from("/usr/lib/python3/dist-packages"));
    }
    sites.extend(packages_below(prefix, version));
    sites.retain(|site| site.is_dir());
    sites
}

/// `<prefix>/lib/pythonX.Y/site-packages`, of this version or of the first that is there.
fn packages_below(prefix: &Path, version: Option<&str>) -> Option<PathBuf> {
    let lib = prefix.join("lib");
    let mut others: Vec<String> = names_in(&lib)
        .filter(|name| name.starts_with("python3."))
        .collect();
    others.sort();
    version
        .into_iter()
        .chain(others.iter().map(String::as_str))
        .map(|version| lib.join(version).join("site-packages"))
        .find(|site| site.is_dir())
}

/// `python3.11`, from the interpreter's own name or that of the file its links lead to.
fn version_of(program: &Path) -> Option<String> {
    let named = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        name.starts_with("python3.").then(|| name.to_string())
    };
    named(program).or_else(|| named(&fs::canonicalize(program).ok()?))
}

/// The lines of the `.pth` files of a folder, without comments.
fn pth_lines(site: &Path) -> Vec<String> {
    let files = names_in(site).filter(|name| name.rsplit('.').next() == Some("pth"));
    let files = files.filter(|name| !HARMLESS.contains(&name.as_str()));
    let texts = files.filter_map(|file| reading::text_if_any(&site.join(file)));
    texts
        .collect::<Vec<_>>()
        .join("\n")
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_string)
        .collect()
}

fn added_by_pth(site: &Path) -> Vec<PathBuf> {
    pth_lines(site)
        .into_iter()
        .filter(|line| !line.starts_with("import"))
        .map(|line| site.join(line))
        .filter(|folder| folder.is_dir())
        .collect()
}

/// The line of an editable install's finder that maps packages to folders: `MAPPING = {'swift': '/src/swift'}`.
fn mapping(finder: &Path) -> Option<String> {
    Some(
        reading::text_if_any(finder)?
            .lines()
            .find(|line| line.starts_with("MAPPING"))?
            .to_string(),
    )
}

fn mapped_by_finder(sites: &[PathBuf], inside: &str) -> Option<PathBuf> {
    let (package, rest) = inside.split_once('/')?;
    sites
        .iter()
        .flat_map(|site| {
            names_in(site)
                .filter(|name| name.starts_with("__editable__"))
                .map(|name| site.join(name))
        })
        .find_map(|finder| {
            let mapping = mapping(&finder)?;
            let (_, behind) = mapping.split_once(&format!("'{package}': '"))?;
            let path = Path::new(behind.split('\'').next()?).join(rest);
            path.is_file().then_some(path)
        })
}

/// Distributions are compared without regard to case and to the kind of dash.
fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace(['-', '.'], "_")
}

/// The first of a name counts.
fn packages_in(folders: impl Iterator<Item = PathBuf>) -> Packages {
    let mut packages = Packages::new();
    for folder in folders {
        for info in names_in(&folder).filter(|name| name.ends_with("-info")) {
            let (name, _) = info.rsplit_once('.').unwrap_or_default();
            let name = name.split('-').next().unwrap_or(name);
            packages
                .entry(plain(name))
                .or_insert_with(|| folder.join(&info));
        }
    }
    packages
}

/// The version that metadata say: in the name of a dist-info, or in an egg-info, which old editable installs have beside
/// their sources.
fn version_in(info: &Path) -> Option<String> {
    let (name, kind) = info.file_name()?.to_str()?.rsplit_once('.')?;
    if kind == "dist-info" {
        let (_, version) = name.split_once('-').unwrap_or_default();
        return Some(version.to_string());
    }
    Some(
        reading::text_if_any(&info.join("PKG-INFO"))?
            .lines()
            .find_map(|line| line.strip_prefix("Version: "))?
            .trim()
            .to_string(),
    )
}
