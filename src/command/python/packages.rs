//! The packages of an interpreter: site-packages, and what `.pth` files and editable installs add.

use std::fs;
use std::path::{Path, PathBuf};

use crate::host::names_in;
use crate::report::reading;

/// The folders of packages: those of a virtual environment, and those of its base where it shares them.
pub(super) fn sites(program: &Path, user: Option<&Path>) -> Vec<PathBuf> {
    let Some(folder) = program.parent() else { return Vec::new() };
    let config = [folder, folder.parent().unwrap_or(folder)]
        .into_iter()
        .find_map(|prefix| Some((prefix, reading::text_if_any(&prefix.join("pyvenv.cfg"))?)));
    let version = version_of(program);
    let Some((prefix, config)) = config else {
        return base_sites(folder.parent().unwrap_or(folder), version.as_deref(), user);
    };
    let setting = |key: &str| {
        let mut pairs = config.lines().filter_map(|line| line.split_once('='));
        pairs.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().to_string())
    };
    let mut sites: Vec<_> = packages_below(prefix, version.as_deref()).into_iter().collect();
    if setting("include-system-site-packages").is_some_and(|value| value.eq_ignore_ascii_case("true"))
        && let Some(base) = setting("home").as_deref().map(Path::new).and_then(Path::parent)
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
            sites.push(Path::new("/usr/local/lib").join(version).join("dist-packages"));
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
    let site = |version: &str| Some(lib.join(version).join("site-packages")).filter(|site| site.is_dir());
    version.and_then(site).or_else(|| {
        let mut versions: Vec<String> = names_in(&lib).filter(|name| name.starts_with("python3.")).collect();
        versions.sort();
        versions.iter().find_map(|version| site(version))
    })
}

/// `python3.11`, from the interpreter's own name or that of the file its links lead to.
pub(super) fn version_of(program: &Path) -> Option<String> {
    let named =
        |path: &Path| path.file_name()?.to_str().filter(|name| name.starts_with("python3.")).map(str::to_string);
    named(program).or_else(|| named(&fs::canonicalize(program).ok()?))
}

pub(super) fn added_by_pth(site: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = names_in(site).map(|name| site.join(name)).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "pth"));
    files.sort();
    let texts: Vec<String> = files.iter().filter_map(|file| reading::text_if_any(file)).collect();
    let lines = texts.iter().flat_map(|text| text.lines()).map(str::trim);
    let folders = lines.filter(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with("import"));
    folders.map(|line| site.join(line)).filter(|folder| folder.is_dir()).collect()
}

/// setuptools' editable installs map a package to its folder: `MAPPING = {'swift': '/src/swift'}`.
pub(super) fn mapped_by_finder(site: &Path, inside: &str) -> Option<PathBuf> {
    let (package, rest) = inside.split_once('/')?;
    let mut finders = names_in(site).filter(|name| name.starts_with("__editable__") && name.ends_with("_finder.py"));
    finders.find_map(|finder| {
        let text = reading::text_if_any(&site.join(finder))?;
        let mapping = text.lines().find(|line| line.starts_with("MAPPING"))?;
        let folder = mapping.split(&format!("'{package}': '")).nth(1)?.split('\'').next()?;
        Some(Path::new(folder).join(rest)).filter(|path| path.is_file())
    })
}

/// Distributions are compared without regard to case and to the kind of dash.
pub(super) fn is_same(one: &str, two: &str) -> bool {
    let plain = |byte: u8| if byte == b'-' || byte == b'.' { b'_' } else { byte.to_ascii_lowercase() };
    one.len() == two.len() && one.bytes().zip(two.bytes()).all(|(one, two)| plain(one) == plain(two))
}

/// The version in an egg-info, which old editable installs have beside their sources.
pub(super) fn egg_version(site: &Path, distribution: &str) -> Option<String> {
    let folders = added_by_pth(site).into_iter().chain([site.to_path_buf()]);
    let mut entries = folders.flat_map(|folder| names_in(&folder).map(move |name| (folder.join(&name), name)));
    entries.find_map(|(path, name)| {
        name.strip_suffix(".egg-info")?.split('-').next().filter(|egg| is_same(egg, distribution))?;
        let text = reading::text_if_any(&path.join("PKG-INFO"))?;
        let version = text.lines().find_map(|line| line.strip_prefix("Version: "))?;
        Some(version.trim().to_string())
    })
}
