//! The text of a script, and of the modules of its own that it imports. Each file is read once, when it is first asked for.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::host::Host;
use crate::report::reading;

/// What is larger is no script.
const LARGEST: u64 = 512 << 10;
/// Of the modules that a script imports, directly or not, so many are read.
const MOST_MODULES: usize = 16;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ScriptSource {
    file: PathBuf,
    /// Where Python looks for the script's own modules first.
    folder: PathBuf,
    pub(crate) text: String,
    modules: OnceCell<Vec<ScriptFile>>,
}

/// One file of a script.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ScriptFile {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl ScriptSource {
    /// `python path`
    pub(crate) fn of_script(path: &OsStr, host: &Host) -> Option<Self> {
        let file = host.absolute(Path::new(path));
        let folder = file.parent()?.to_path_buf();
        Self::read(file, folder)
    }

    /// `python -m name`, of a module in the current folder.
    pub(crate) fn of_module(name: &OsStr, host: &Host) -> Option<Self> {
        let inside = name.to_str().filter(|name| !name.contains('/'))?.replace('.', "/");
        let files = [format!("{inside}.py"), format!("{inside}/__main__.py")];
        files.iter().find_map(|file| Self::read(host.cwd.join(file), host.cwd.clone()))
    }

    fn read(file: PathBuf, folder: PathBuf) -> Option<Self> {
        let text = text_of(&file)?;
        Some(ScriptSource { file, folder, text, modules: OnceCell::new() })
    }

    /// Its name without the folder.
    pub(crate) fn name(&self) -> &str {
        self.file.file_name().and_then(OsStr::to_str).unwrap_or_default()
    }

    /// Whether the script or one of its modules has this word.
    pub(crate) fn mentions(&self, word: &str) -> bool {
        self.text.contains(word) || self.modules().iter().any(|module| module.text.contains(word))
    }

    /// Whether one of them has the text `--name`, as it is given to a parser.
    pub(crate) fn mentions_option(&self, name: &str) -> bool {
        ['"', '\''].iter().any(|quote| self.mentions(&format!("{quote}--{name}{quote}")))
    }

    /// The modules that lie in the script's folder and are imported by it or by one of them.
    pub(crate) fn modules(&self) -> &[ScriptFile] {
        self.modules.get_or_init(|| {
            let mut paths: Vec<PathBuf> = self.imported(&self.text, &self.file);
            let mut found = Vec::new();
            let mut at = 0;
            while let Some(path) = paths.get(at).cloned().filter(|_| at < MOST_MODULES) {
                at += 1;
                let Some(text) = text_of(&path) else { continue };
                for more in self.imported(&text, &path) {
                    if more != self.file && !paths.contains(&more) {
                        paths.push(more);
                    }
                }
                let name = path.strip_prefix(&self.folder).unwrap_or(&path).display().to_string();
                found.push(ScriptFile { name, text });
            }
            found
        })
    }

    /// The files of the script's folder that a text imports.
    fn imported(&self, text: &str, file: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for (module, names) in imports(text) {
            let relative = module.bytes().take_while(|b| *b == b'.').count();
            let base = match relative {
                0 => self.folder.clone(),
                levels => file.ancestors().nth(levels).unwrap_or(&self.folder).to_path_buf(),
            };
            let inside = base.join(module[relative..].replace('.', "/"));
            let candidates = names.iter().map(|name| inside.join(name)).chain([inside.clone()]);
            for path in candidates {
                found.extend([path.with_extension("py"), path.join("__init__.py")].into_iter().find(|it| it.is_file()));
            }
        }
        found
    }
}

/// `import a.b as c`, `from a.b import c, d`: each module with the names that are taken from it.
pub(super) fn imports(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut found = Vec::new();
    let mut at = 0;
    for whole in text.split_inclusive('\n') {
        let (line, rest) = (whole.trim(), &text[at..]);
        at += whole.len();
        if let Some(from) = line.strip_prefix("from ") {
            let Some((module, names)) = from.split_once(" import") else { continue };
            // The names may go on over several lines, in parentheses.
            let names = match names.trim_start().strip_prefix('(') {
                Some(_) => rest.split_once('(').and_then(|(_, rest)| rest.split(')').next()).unwrap_or_default(),
                None => names,
            };
            let names = names.split(',').filter_map(|name| name.split_whitespace().next());
            found.push((module.trim(), names.filter(|name| is_name(name)).collect()));
        } else if let Some(modules) = line.strip_prefix("import ") {
            let modules = modules.split(',').filter_map(|module| module.split_whitespace().next());
            found.extend(modules.map(|module| (module, Vec::new())));
        }
    }
    found.retain(|(module, _)| module.split('.').all(|part| part.is_empty() || is_name(part)));
    found
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn text_of(path: &Path) -> Option<String> {
    let (file, _) = reading::open(path).ok()?.filter(|(_, size)| *size <= LARGEST)?;
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Sandbox;

    #[test]
    fn modules_of_the_scripts_own_folder_are_read() {
        let sandbox = Sandbox::bare();
        sandbox.file(
            "src/train.py",
            "import os, engine\nfrom pkg.build import (\n    one,\n    two as three,\n)\nfrom pkg import deep\nif True:\n    from late import x\n",
        );
        sandbox.file("src/engine.py", "import train\nfrom . import beside\n");
        sandbox.file("src/beside.py", "");
        sandbox.file("src/late/__init__.py", "from .inner import y\n");
        sandbox.file("src/late/inner.py", "import engine\n");
        sandbox.file("src/pkg/build.py", "from ..engine import z\n");
        sandbox.file("src/pkg/deep.py", "");
        sandbox.file("src/unused.py", "");
        let host = sandbox.host();
        let source = ScriptSource::of_script(OsStr::new("src/train.py"), &host).unwrap();
        let mut names: Vec<&str> = source.modules().iter().map(|module| module.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            ["beside.py", "engine.py", "late/__init__.py", "late/inner.py", "pkg/build.py", "pkg/deep.py"]
        );
        assert_eq!(source.name(), "train.py");
        let module = ScriptSource::of_module(OsStr::new("src.train"), &host).unwrap();
        assert!(module.modules().is_empty(), "Python looks in the current folder");
        assert!(ScriptSource::of_module(OsStr::new("no.such"), &host).is_none());
        let many: String = (0..40).map(|at| format!("import m{at}\n")).collect();
        (0..40).for_each(|at| drop(sandbox.file(&format!("m{at}.py"), "")));
        sandbox.file("many.py", many);
        let source = ScriptSource::of_script(OsStr::new("many.py"), &host).unwrap();
        assert_eq!(source.modules().len(), MOST_MODULES);
    }
}
