//! Looks for a module on an interpreter's path without starting it.

use std::path::{Path, PathBuf};

use super::packages::added_by_pth;
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
    // `sitecustomize` may do anything.
    let runs_code = |folder: &Path| ["sitecustomize", "usercustomize"].iter().any(|name| holds(folder, &[name]));
    let may_hide = |folder: &PathBuf| folder.is_file() || runs_code(folder) || looks_elsewhere(folder, &parts);
    if folders.iter().any(may_hide) || sites.iter().any(|site| may_add(site, parts[0])) {
        return Presence::Unknown;
    }
    Presence::Missing
}

fn holds(folder: &Path, parts: &[&str]) -> bool {
    let Some((last, above)) = parts.split_last() else { return false };
    let folder = above.iter().fold(folder.to_path_buf(), |folder, part| folder.join(part));
    if folder.join(last).is_dir() || folder.join(format!("{last}.py")).is_file() {
        return true;
    }
    let compiled = |name: &str| [".so", ".pyc"].iter().any(|ending| name.ends_with(ending));
    names_in(&folder).any(|name| compiled(&name) && name.split('.').next() == Some(*last))
}

/// A `.pth` file of the folder runs code that may know this package, or names a file (an egg).
fn may_add(site: &Path, package: &str) -> bool {
    let mut files = names_in(site).filter(|name| {
        Path::new(name).extension().is_some_and(|ending| ending == "pth") && !HARMLESS.contains(&name.as_str())
    });
    files.any(|name| {
        let text = reading::read_text(&site.join(&name)).unwrap_or_default();
        text.lines().map(str::trim).any(|line| match line.strip_prefix("import ") {
            // A finder of setuptools has a mapping, which says what it knows.
            Some(code) => {
                let finder = code.split(';').next().unwrap_or_default().trim();
                let text = reading::read_text(&site.join(format!("{finder}.py"))).unwrap_or_default();
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
        let package = parts[..depth].iter().fold(folder.to_path_buf(), |folder, part| folder.join(part));
        let text = reading::read_text(&package.join("__init__.py")).unwrap_or_default();
        ["__path__", "pkgutil", "pkg_resources", "sys.modules", "meta_path"].iter().any(|sign| text.contains(sign))
    })
}
