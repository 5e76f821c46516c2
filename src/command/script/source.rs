//! The text of a script, and of the modules of its own folder that it imports.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::tokens::{imports, tokens};
use crate::host::Host;
use crate::report::reading;

/// A larger file is no script.
const LARGEST: u64 = 512 << 10;
pub const MOST_MODULES: usize = 16;

#[derive(Debug, PartialEq, Eq)]
pub struct ScriptSource {
    file: PathBuf,
    /// Python looks here for modules first.
    folder: PathBuf,
    pub(crate) text: String,
    imports: OnceCell<Vec<String>>,
    modules: OnceCell<Vec<ScriptFile>>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct ScriptFile {
    pub name: String,
    pub(crate) text: String,
}

impl ScriptSource {
    pub fn of_script(path: &OsStr, host: &Host) -> Option<Self> {
        let file = host.absolute(Path::new(path));
        let folder = file.parent()?.to_path_buf();
        Self::read(file, folder)
    }

    /// `python -m name`, of a module in the current folder.
    pub fn of_module(name: &OsStr, host: &Host) -> Option<Self> {
        let name = name.to_str().filter(|name| !name.contains('/'))?;
        let inside = name.replace('.', "/");
        let files = [format!("{inside}.py"), format!("{inside}/__main__.py")];
        files
            .iter()
            .find_map(|file| Self::read(host.cwd.join(file), host.cwd.clone()))
    }

    fn read(file: PathBuf, folder: PathBuf) -> Option<Self> {
        let text = text_of(&file)?;
        Some(ScriptSource {
            file,
            folder,
            text,
            imports: OnceCell::new(),
            modules: OnceCell::new(),
        })
    }

    pub fn name(&self) -> &str {
        let name = self.file.file_name().and_then(OsStr::to_str);
        name.unwrap_or_default()
    }

    /// The imports of the script itself, as dotted names.
    pub(super) fn imported(&self) -> &[String] {
        self.imports.get_or_init(|| imports(&tokens(&self.text)))
    }

    /// True if the script imports one of these modules, or something below one.
    pub fn imports(&self, modules: &[&str]) -> bool {
        self.imported().iter().any(|name| {
            let mut behind = modules
                .iter()
                .filter_map(|module| name.strip_prefix(module));
            behind.any(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    pub(crate) fn mentions(&self, word: &str) -> bool {
        let mut modules = self.modules().iter();
        self.text.contains(word) || modules.any(|module| module.text.contains(word))
    }

    pub(crate) fn mentions_option(&self, name: &str) -> bool {
        self.mentions(&format!("\"--{name}\"")) || self.mentions(&format!("'--{name}'"))
    }

    /// True for a module or package beside the script.
    pub(super) fn has_beside(&self, name: &str) -> bool {
        let path = self.folder.join(name);
        path.is_dir() || path.with_extension("py").is_file()
    }

    pub fn modules(&self) -> &[ScriptFile] {
        self.modules.get_or_init(|| {
            let mut paths = self.files_of(self.imported(), &self.file);
            let mut found = Vec::new();
            for at in 0..MOST_MODULES {
                let Some(path) = paths.get(at).cloned() else {
                    break;
                };
                let Some(text) = text_of(&path) else { continue };
                for more in self.files_of(&imports(&tokens(&text)), &path) {
                    if more != self.file && !paths.contains(&more) {
                        paths.push(more);
                    }
                }
                let inside = path.strip_prefix(&self.folder).unwrap_or(&path);
                let name = inside.display().to_string();
                found.push(ScriptFile { name, text });
            }
            found
        })
    }

    /// The files of the modules that a file imports, as far as they are the script's own.
    fn files_of(&self, imports: &[String], importer: &Path) -> Vec<PathBuf> {
        let files = imports.iter().filter_map(|name| {
            let absolute = name.trim_start_matches('.');
            let folder = match name.len() - absolute.len() {
                0 => &self.folder,
                levels => importer.ancestors().nth(levels)?,
            };
            let path = folder.join(absolute.replace('.', "/"));
            [path.with_extension("py"), path.join("__init__.py")]
                .into_iter()
                .find(|path| path.is_file())
        });
        files.collect()
    }
}

fn text_of(path: &Path) -> Option<String> {
    let (file, size) = reading::open(path).ok()??;
    if size > LARGEST {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
