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

pub(crate) fn is_standard(name: &str) -> bool {
    STANDARD_LIBRARY.lines().any(|module| module == name)
}

/// `folders` is `sys.path` without what the `.pth` files of `sites` add.
pub fn seek(dotted: &str, folders: &[PathBuf], sites: &[PathBuf]) -> Presence {
    let parts: Vec<&str> = dotted.split('.').collect();
    if parts.iter().any(|part| part.is_empty()) || is_standard(parts[0]) {
        return Presence::Unknown;
    }
    let added = sites.iter().flat_map(|site| added_by_pth(site));
    let folders: Vec<PathBuf> = folders.iter().cloned().chain(added).collect();
    if folders.iter().any(|folder| holds(folder, &parts)) {
        return Presence::There;
    }
    let may_hide = folders.iter().any(|folder| {
        // `sitecustomize` may do anything.
        let mut starters = ["sitecustomize", "usercustomize"].iter();
        folder.is_file()
            || starters.any(|name| holds(folder, &[name]))
            || looks_elsewhere(folder, &parts)
    });
    if may_hide || sites.iter().any(|site| may_add(site, parts[0])) {
        Presence::Unknown
    } else {
        Presence::Missing
    }
}

fn holds(folder: &Path, parts: &[&str]) -> bool {
    let Some((last, above)) = parts.split_last() else {
        return false;
    };
    let folder = above
        .iter()
        .fold(folder.to_path_buf(), |folder, part| folder.join(part));
    if folder.join(last).is_dir() || folder.join(format!("{last}.py")).is_file() {
        return true;
    }
    let mut compiled = names_in(&folder)
        .filter(|name| [".so", ".pyc"].iter().any(|ending| name.ends_with(ending)));
    compiled.any(|name| name.split('.').next() == Some(*last))
}

/// A `.pth` file of the folder runs code that may know this package, or names a file (an egg).
fn may_add(site: &Path, package: &str) -> bool {
    let mut files = names_in(site).filter(|name| {
        Path::new(name)
            .extension()
            .is_some_and(|ending| ending == "pth")
            && !HARMLESS.contains(&name.as_str())
    });
    files.any(|name| {
        let text = reading::read_text(&site.join(&name)).unwrap_or_default();
        text.lines()
            .map(str::trim)
            .any(|line| match line.strip_prefix("import ") {
                // A finder of setuptools has a mapping, which says what it knows.
                Some(code) => {
                    let finder = code.split(';').next().unwrap_or_default().trim();
                    let text =
                        reading::read_text(&site.join(format!("{finder}.py"))).unwrap_or_default();
                    let mapping = text.lines().find(|line| line.starts_with("MAPPING"));
                    mapping.is_none_or(|mapping| mapping.contains(&format!("'{package}")))
                }
                None => site.join(line).is_file() && !line.is_empty(),
            })
    })
}

/// One of the packages above the module may look for it in other folders.
fn looks_elsewhere(folder: &Path, parts: &[&str]) -> bool {
    (1..parts.len()).any(|depth| {
        let package = parts[..depth]
            .iter()
            .fold(folder.to_path_buf(), |folder, part| folder.join(part));
        let text = reading::read_text(&package.join("__init__.py")).unwrap_or_default();
        [
            "__path__",
            "pkgutil",
            "pkg_resources",
            "sys.modules",
            "meta_path",
        ]
        .iter()
        .any(|sign| text.contains(sign))
    })
}

/// The folders of packages: those of a virtual environment, and those of its base where it shares them.
pub(super) fn sites(program: &Path, user: Option<&Path>) -> Vec<PathBuf> {
    let Some(folder) = program.parent() else {
        return Vec::new();
    };
    let config = [folder, folder.parent().unwrap_or(folder)]
        .into_iter()
        .find_map(|prefix| Some((prefix, reading::text_if_any(&prefix.join("pyvenv.cfg"))?)));
    let version = version_of(program);
    let Some((prefix, config)) = config else {
        return base_sites(folder.parent().unwrap_or(folder), version.as_deref(), user);
    };
    let setting = |key: &str| {
        let mut pairs = config.lines().filter_map(|line| line.split_once('='));
        pairs
            .find(|(name, _)| name.trim() == key)
            .map(|(_, value)| value.trim().to_string())
    };
    let mut sites: Vec<_> = packages_below(prefix, version.as_deref())
        .into_iter()
        .collect();
    if setting("include-system-site-packages")
        .is_some_and(|value| value.eq_ignore_ascii_case("true"))
        && let Some(base) = setting("home")
            .as_deref()
            .map(Path::new)
            .and_then(Path::parent)
    {
        sites.extend(base_sites(base, version.as_deref(), user));
    }
    sites
}

/// The user's own, then those of the installation. Debian has two folders and calls them dist-packages.
fn base_sites(prefix: &Path, version: Option<&str>, user: Option<&Path>) -> Vec<PathBuf> {
    let mut sites = Vec::new();
    if let Some((user, version)) = user.zip(version) {
        sites.push(user.join("lib").join(version).join("site-packages"));
    }
    if prefix == Path::new("/usr") {
        if let Some(version) = version {
            sites.push(
                Path::new("/usr/local/lib")
                    .join(version)
                    .join("dist-packages"),
            );
        }
        sites.push(PathBuf::from("/usr/lib/python3/dist-packages"));
    }
    sites.extend(packages_below(prefix, version));
    sites.retain(|site| site.is_dir());
    sites
}

/// `<prefix>/lib/pythonX.Y/site-packages`.
fn packages_below(prefix: &Path, version: Option<&str>) -> Option<PathBuf> {
    let lib = prefix.join("lib");
    let site =
        |version: &str| Some(lib.join(version).join("site-packages")).filter(|site| site.is_dir());
    version.and_then(site).or_else(|| {
        let mut versions: Vec<String> = names_in(&lib)
            .filter(|name| name.starts_with("python3."))
            .collect();
        versions.sort();
        versions.iter().find_map(|version| site(version))
    })
}

/// `python3.11`, from the interpreter's own name or that of the file its links lead to.
pub(super) fn version_of(program: &Path) -> Option<String> {
    let named = |path: &Path| {
        path.file_name()?
            .to_str()
            .filter(|name| name.starts_with("python3."))
            .map(str::to_string)
    };
    named(program).or_else(|| named(&fs::canonicalize(program).ok()?))
}

pub(super) fn added_by_pth(site: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = names_in(site).map(|name| site.join(name)).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "pth"));
    files.sort();
    let texts: Vec<String> = files
        .iter()
        .filter_map(|file| reading::text_if_any(file))
        .collect();
    let lines = texts.iter().flat_map(|text| text.lines()).map(str::trim);
    let folders = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with("import"));
    folders
        .map(|line| site.join(line))
        .filter(|folder| folder.is_dir())
        .collect()
}

/// setuptools' editable installs map a package to its folder: `MAPPING = {'swift': '/src/swift'}`.
pub(super) fn mapped_by_finder(site: &Path, inside: &str) -> Option<PathBuf> {
    let (package, rest) = inside.split_once('/')?;
    let mut finders = names_in(site)
        .filter(|name| name.starts_with("__editable__") && name.ends_with("_finder.py"));
    finders.find_map(|finder| {
        let text = reading::text_if_any(&site.join(finder))?;
        let mapping = text.lines().find(|line| line.starts_with("MAPPING"))?;
        let folder = mapping
            .split(&format!("'{package}': '"))
            .nth(1)?
            .split('\'')
            .next()?;
        Some(Path::new(folder).join(rest)).filter(|path| path.is_file())
    })
}

/// Distributions are compared without regard to case and to the kind of dash.
pub(super) fn is_same(one: &str, two: &str) -> bool {
    let plain = |byte: u8| {
        if byte == b'-' || byte == b'.' {
            b'_'
        } else {
            byte.to_ascii_lowercase()
        }
    };
    one.len() == two.len()
        && one
            .bytes()
            .zip(two.bytes())
            .all(|(one, two)| plain(one) == plain(two))
}

/// The version in an egg-info, which old editable installs have beside their sources.
pub(super) fn egg_version(site: &Path, distribution: &str) -> Option<String> {
    let folders = added_by_pth(site).into_iter().chain([site.to_path_buf()]);
    let mut entries =
        folders.flat_map(|folder| names_in(&folder).map(move |name| (folder.join(&name), name)));
    entries.find_map(|(path, name)| {
        name.strip_suffix(".egg-info")?
            .split('-')
            .next()
            .filter(|egg| is_same(egg, distribution))?;
        let text = reading::text_if_any(&path.join("PKG-INFO"))?;
        let version = text
            .lines()
            .find_map(|line| line.strip_prefix("Version: "))?;
        Some(version.trim().to_string())
    })
}
