//! The packages and modules of an interpreter, found without starting it: site-packages, what `.pth` files and editable
//! installs add, and whether a module is on its path.

use std::fs;
use std::path::{Path, PathBuf};

use crate::host::names_in;
use crate::report::reading;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    There,
    Missing,
    /// It was not found, but code that runs at the start of Python may add it.
    Unknown,
}

const STANDARD_LIBRARY: &str = include_str!("../../recorded/python_stdlib.txt");

/// Files in site-packages that run code at the start but add no module.
const HARMLESS: &[&str] = &["distutils-precedence.pth", "_virtualenv.pth"];

/// Words in a package that looks for its modules in other folders.
const PATH_WORDS: &[&str] = &[
    "__path__",
    "pkgutil",
    "pkg_resources",
    "sys.modules",
    "meta_path",
];

pub(crate) fn is_standard(name: &str) -> bool {
    STANDARD_LIBRARY.lines().any(|module| module == name)
}

/// `folders` is `sys.path` without what the `.pth` files of `sites` add.
pub fn seek(dotted: &str, folders: &[PathBuf], sites: &[PathBuf]) -> Presence {
    let parts: Vec<&str> = dotted.split('.').collect();
    if parts.contains(&"") || is_standard(parts[0]) {
        return Presence::Unknown;
    }
    let added = sites.iter().flat_map(|site| added_by_pth(site));
    let folders: Vec<PathBuf> = folders.iter().cloned().chain(added).collect();
    if folders.iter().any(|folder| holds(folder, &parts)) {
        return Presence::There;
    }
    let may_hide = |folder: &PathBuf| {
        // An egg, or code that may do anything.
        folder.is_file()
            || holds(folder, &["sitecustomize"])
            || holds(folder, &["usercustomize"])
            || looks_elsewhere(folder, &parts)
    };
    let is_unknown =
        folders.iter().any(may_hide) || sites.iter().any(|site| may_add(site, parts[0]));
    if is_unknown {
        Presence::Unknown
    } else {
        Presence::Missing
    }
}

fn holds(folder: &Path, parts: &[&str]) -> bool {
    let inside = parts.join("/");
    let path = folder.join(&inside);
    if path.is_dir() || folder.join(inside + ".py").is_file() {
        return true;
    }
    let is_compiled = |name: &str| {
        let is_it = name.split('.').next() == parts.last().copied();
        is_it && matches!(name.rsplit('.').next(), Some("so" | "pyc"))
    };
    path.parent()
        .is_some_and(|folder| names_in(folder).any(|name| is_compiled(&name)))
}

/// A `.pth` file of the folder runs code that may know this package, or names a file (an egg).
fn may_add(site: &Path, package: &str) -> bool {
    pth_lines(site).iter().any(|line| {
        let Some(code) = line.strip_prefix("import ") else {
            return site.join(line).is_file();
        };
        // A finder of setuptools has a mapping, which says what it knows.
        let finder = code.split(';').next().unwrap_or_default().trim();
        let mapping = mapping(&site.join(format!("{finder}.py")));
        mapping.is_none_or(|mapping| mapping.contains(&format!("'{package}")))
    })
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
pub(super) fn sites(program: &Path, user: Option<&Path>) -> Vec<PathBuf> {
    let Some(folder) = program.parent() else {
        return Vec::new();
    };
    let above = folder.parent().unwrap_or(folder);
    let config = |prefix: &Path| reading::text_if_any(&prefix.join("pyvenv.cfg"));
    let version = version_of(program);
    let mut environments = [folder, above].into_iter();
    let Some((prefix, config)) = environments.find_map(|it| Some((it, config(it)?))) else {
        return base_sites(above, version.as_deref(), user);
    };
    let setting = |key: &str| {
        let mut pairs = config.lines().filter_map(|line| line.split_once('='));
        let (_, value) = pairs.find(|(name, _)| name.trim() == key)?;
        Some(value.trim())
    };
    let mut sites = Vec::from_iter(packages_below(prefix, version.as_deref()));
    let shares = setting("include-system-site-packages");
    if shares.is_some_and(|value| value.eq_ignore_ascii_case("true"))
        && let Some(base) = setting("home").and_then(|home| Path::new(home).parent())
    {
        sites.extend(base_sites(base, version.as_deref(), user));
    }
    sites
}

/// The user's own, then those of the installation. Debian has two folders and calls them dist-packages.
fn base_sites(prefix: &Path, version: Option<&str>, user: Option<&Path>) -> Vec<PathBuf> {
    let mut sites = Vec::new();
    if let Some((user, version)) = user.zip(version) {
        sites.push(user.join(format!("lib/{version}/site-packages")));
    }
    if prefix == Path::new("/usr") {
        let local = version.map(|version| format!("/usr/local/lib/{version}/dist-packages"));
        sites.extend(local.map(PathBuf::from));
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
    let versions = version.into_iter().chain(others.iter().map(String::as_str));
    let mut sites = versions.map(|version| lib.join(version).join("site-packages"));
    sites.find(|site| site.is_dir())
}

/// `python3.11`, from the interpreter's own name or that of the file its links lead to.
pub(super) fn version_of(program: &Path) -> Option<String> {
    let named = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        name.starts_with("python3.").then(|| name.to_string())
    };
    named(program).or_else(|| named(&fs::canonicalize(program).ok()?))
}

/// The lines of the `.pth` files of a folder, without comments.
fn pth_lines(site: &Path) -> Vec<String> {
    let mut files: Vec<String> = names_in(site)
        .filter(|name| name.rsplit('.').next() == Some("pth") && !HARMLESS.contains(&&**name))
        .collect();
    files.sort();
    let texts = files
        .iter()
        .filter_map(|file| reading::text_if_any(&site.join(file)));
    let text = texts.collect::<Vec<_>>().join("\n");
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_string)
        .collect()
}

pub(super) fn added_by_pth(site: &Path) -> Vec<PathBuf> {
    let lines = pth_lines(site).into_iter();
    let folders = lines.filter(|line| !line.starts_with("import"));
    folders
        .map(|line| site.join(line))
        .filter(|folder| folder.is_dir())
        .collect()
}

/// The line of an editable install's finder that maps packages to folders: `MAPPING = {'swift': '/src/swift'}`.
fn mapping(finder: &Path) -> Option<String> {
    let text = reading::text_if_any(finder)?;
    let line = text.lines().find(|line| line.starts_with("MAPPING"))?;
    Some(line.to_string())
}

pub(super) fn mapped_by_finder(site: &Path, inside: &str) -> Option<PathBuf> {
    let (package, rest) = inside.split_once('/')?;
    let mut finders = names_in(site)
        .filter(|name| name.starts_with("__editable__") && name.ends_with("_finder.py"));
    finders.find_map(|finder| {
        let mapping = mapping(&site.join(finder))?;
        let (_, behind) = mapping.split_once(&format!("'{package}': '"))?;
        let path = Path::new(behind.split('\'').next()?).join(rest);
        path.is_file().then_some(path)
    })
}

/// Distributions are compared without regard to case and to the kind of dash.
pub(super) fn is_same(one: &str, two: &str) -> bool {
    let plain = |name: &str| name.to_ascii_lowercase().replace(['-', '.'], "_");
    plain(one) == plain(two)
}

/// The version in an egg-info, which old editable installs have beside their sources.
pub(super) fn egg_version(site: &Path, distribution: &str) -> Option<String> {
    let mut folders = added_by_pth(site);
    folders.push(site.to_path_buf());
    folders.iter().find_map(|folder| {
        let mut eggs = names_in(folder).filter(|name| {
            let egg = name
                .strip_suffix(".egg-info")
                .and_then(|egg| egg.split('-').next());
            egg.is_some_and(|egg| is_same(egg, distribution))
        });
        let text = reading::text_if_any(&folder.join(eggs.next()?).join("PKG-INFO"))?;
        let mut versions = text
            .lines()
            .filter_map(|line| line.strip_prefix("Version: "));
        Some(versions.next()?.trim().to_string())
    })
}
