//! The text of a script, and of the modules of its own folder that it imports.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

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
        let inside = name
            .to_str()
            .filter(|name| !name.contains('/'))?
            .replace('.', "/");
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
            modules: OnceCell::new(),
        })
    }

    pub fn name(&self) -> &str {
        self.file
            .file_name()
            .and_then(OsStr::to_str)
            .unwrap_or_default()
    }

    pub(crate) fn mentions(&self, word: &str) -> bool {
        self.text.contains(word)
            || self
                .modules()
                .iter()
                .any(|module| module.text.contains(word))
    }

    /// A module or package beside the script.
    pub(super) fn has_beside(&self, name: &str) -> bool {
        let path = self.folder.join(name);
        path.is_dir() || path.with_extension("py").is_file()
    }

    pub(crate) fn mentions_option(&self, name: &str) -> bool {
        ['"', '\'']
            .iter()
            .any(|quote| self.mentions(&format!("{quote}--{name}{quote}")))
    }

    pub fn modules(&self) -> &[ScriptFile] {
        self.modules.get_or_init(|| {
            let (mut paths, mut found) = (self.imported(&self.text, &self.file), Vec::new());
            for at in 0..MOST_MODULES {
                let Some(path) = paths.get(at).cloned() else {
                    break;
                };
                let Some(text) = text_of(&path) else { continue };
                for more in self.imported(&text, &path) {
                    if more != self.file && !paths.contains(&more) {
                        paths.push(more);
                    }
                }
                let name = path
                    .strip_prefix(&self.folder)
                    .unwrap_or(&path)
                    .display()
                    .to_string();
                found.push(ScriptFile { name, text });
            }
            found
        })
    }

    fn imported(&self, text: &str, file: &Path) -> Vec<PathBuf> {
        let files = imports(text).into_iter().filter_map(|name| {
            let levels = name.bytes().take_while(|byte| *byte == b'.').count();
            let base = if levels == 0 {
                None
            } else {
                file.ancestors().nth(levels)
            }
            .unwrap_or(&self.folder);
            let path = base.join(name[levels..].replace('.', "/"));
            [path.with_extension("py"), path.join("__init__.py")]
                .into_iter()
                .find(|path| path.is_file())
        });
        files.collect()
    }
}

/// The imports as dotted names: `a.b` for `import a.b as c`, `a.b.c` and `a.b` for `from a.b import c`.
pub(super) fn imports(text: &str) -> Vec<String> {
    let is_dotted = |name: &str| {
        name.chars()
            .all(|c| c.is_alphanumeric() || c == '_' || c == '.')
    };
    let words = |list: &str| -> Vec<String> {
        let first = list
            .split([',', '(', ')'])
            .filter_map(|words| words.split_whitespace().next());
        first
            .filter(|name| is_dotted(name))
            .map(str::to_string)
            .collect()
    };
    let mut found = Vec::new();
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if let Some(modules) = line.strip_prefix("import ") {
            found.extend(words(modules));
        } else if let Some((module, names)) = line
            .strip_prefix("from ")
            .and_then(|from| from.split_once(" import"))
        {
            let mut names = names.to_string();
            while names.contains('(') && !names.contains(')') {
                let Some(line) = lines.next() else { break };
                names.extend([",", line.split('#').next().unwrap_or_default()]);
            }
            let dot = if module.ends_with('.') { "" } else { "." };
            found.extend(
                words(&names)
                    .iter()
                    .map(|name| format!("{module}{dot}{name}")),
            );
            found.push(module.to_string());
        }
    }
    found.retain(|name| is_dotted(name));
    found
}

fn text_of(path: &Path) -> Option<String> {
    let (file, _) = reading::open(path)
        .ok()?
        .filter(|(_, size)| *size <= LARGEST)?;
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
