//! Reads the text of a training script: the modules it imports, what it hands to a call, which options it has, and
//! how its arguments reach the trainer. The script is not run.

pub mod flow;
pub mod tokens;

use std::{
    cell::OnceCell,
    ffi::OsStr,
    io::Read,
    path::{Path, PathBuf},
};

use crate::{
    command::{
        python::is_standard,
        tables::{
            ARGUMENT_CLASSES, CLASS_PARSERS, CONFIG_USES, FILE_PARSERS, OTHER_PARSERS,
            WITHOUT_DEEPSPEED,
        },
    },
    host::Host,
    report::reading,
};
use tokens::{Token, imports, tokens};

/// A larger file is no script.
const LARGEST: u64 = 512 << 10;
pub const MOST_MODULES: usize = 16;

#[derive(PartialEq)]
pub struct ScriptSource {
    file: PathBuf,
    /// Python looks here for modules first.
    folder: PathBuf,
    pub text: String,
    imports: OnceCell<Vec<String>>,
    modules: OnceCell<Vec<ScriptFile>>,
}

#[derive(PartialEq)]
pub struct ScriptFile {
    pub name: String,
    pub text: String,
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
        [format!("{inside}.py"), format!("{inside}/__main__.py")]
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
        self.file
            .file_name()
            .and_then(OsStr::to_str)
            .unwrap_or_default()
    }

    /// The imports of the script itself, as dotted names.
    pub fn imported(&self) -> &[String] {
        self.imports.get_or_init(|| imports(&tokens(&self.text)))
    }

    /// True if the script imports one of these modules, or something below one.
    pub fn imports(&self, modules: &[&str]) -> bool {
        self.imported().iter().any(|name| {
            modules
                .iter()
                .filter_map(|module| name.strip_prefix(module))
                .any(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    pub fn mentions(&self, word: &str) -> bool {
        let mut modules = self.modules().iter();
        self.text.contains(word) || modules.any(|module| module.text.contains(word))
    }

    pub fn mentions_option(&self, name: &str) -> bool {
        self.mentions(&format!("\"--{name}\"")) || self.mentions(&format!("'--{name}'"))
    }

    /// True for a module or package beside the script.
    pub fn has_beside(&self, name: &str) -> bool {
        let path = self.folder.join(name);
        path.is_dir() || path.with_extension("py").is_file()
    }

    pub fn modules(&self) -> &[ScriptFile] {
        self.modules.get_or_init(|| {
            let mut paths = self.files_of(self.imported(), &self.file);
            let mut found = vec![];
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
    let mut bytes = vec![];
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The text between the parentheses of every call of this name, which may be a dotted one.
pub fn calls<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    // Most scripts have none, and need not be split into tokens.
    if !text.contains(name) {
        return vec![];
    }
    let tokens = tokens(text);
    let last = name.rsplit('.').next().unwrap_or(name);
    let named = tokens::calls(&tokens, |token| token.is(last))
        .filter(|call| text[..tokens[call.start - 1].at].trim_end().ends_with(name));
    let end = |at: usize| tokens.get(at).map_or(text.len(), |token| token.at);
    named
        .map(|call| text[tokens[call.start - 1].at + 1..end(call.end)].trim())
        .collect()
}

/// The value that a call gives to a keyword.
pub fn keyword<'a>(call: &'a str, name: &str) -> Option<&'a str> {
    let tokens = tokens(call);
    let value = tokens
        .split(|token| token.depth == 0 && token.is(","))
        .find_map(|argument| match argument {
            [key, equals, value @ ..] if key.is(name) && equals.is("=") => Some(value),
            _ => None,
        })?;
    let first = value.first()?;
    let last = value.last()?;
    Some(&call[first.at..last.at + last.text.len()])
}

/// The calls that make the arguments of transformers' trainer in code.
pub fn made_arguments(text: &str) -> Vec<&str> {
    ARGUMENT_CLASSES
        .iter()
        .flat_map(|class| calls(text, class))
        .collect()
}

/// The first line of a value, for a message.
pub fn shown(value: &str) -> String {
    value.split_once('\n').map_or_else(
        || value.to_string(),
        |(line, _)| format!("{} …", line.trim_end()),
    )
}

pub fn is_text(value: &str) -> bool {
    value.starts_with(['"', '\''])
}

/// Of several modules, the first of these kinds counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScriptKind {
    Hf,
    /// It calls `deepspeed.initialize`, and no Trainer is seen.
    RawDeepSpeed,
    Unknown,
}

/// By the script itself; where it shows nothing, by its own modules.
pub fn script_kind(source: &ScriptSource) -> ScriptKind {
    let own = of_text(&source.text);
    if own != ScriptKind::Unknown {
        return own;
    }
    source
        .modules()
        .iter()
        .map(|module| of_text(&module.text))
        .min()
        .unwrap_or(own)
}

pub fn of_text(text: &str) -> ScriptKind {
    let tokens = tokens(text);
    let is_trainer = |name: &str| name.ends_with("Trainer") || name.ends_with("TrainingArguments");
    let is_hf = imports(&tokens).iter().any(|name| {
        is_trainer(name) && (name.starts_with("transformers.") || name.starts_with("trl."))
    });
    let names_hf = tokens.iter().zip(0..).any(|(token, at)| {
        let of_transformers =
            matches!(&tokens[..at], [.., module, dot] if module.is("transformers") && dot.is("."));
        token.is("TrainingArguments")
            || is_hf_parser(token)
            || of_transformers && is_trainer(token.text)
    });
    if is_hf || names_hf {
        ScriptKind::Hf
    } else if calls_deepspeed(&tokens) {
        ScriptKind::RawDeepSpeed
    } else {
        ScriptKind::Unknown
    }
}

pub fn is_hf_parser(token: &Token) -> bool {
    token.is_one_of(CLASS_PARSERS)
}

/// `deepspeed.initialize(…)`, also by another name of the module, and DeepSpeed's own arguments.
fn calls_deepspeed(tokens: &[Token]) -> bool {
    let alias = tokens
        .windows(3)
        .find(|words| words[0].is("deepspeed") && words[1].is("as"))
        .map_or("deepspeed", |words| words[2].text);
    let imported = tokens.iter().any(|token| token.is("deepspeed"));
    let starts = |token: &Token| token.is_one_of(&["initialize", "add_config_arguments"]);
    tokens::calls(tokens, starts).any(|call| match &tokens[..call.start - 2] {
        [.., module, dot] if dot.is(".") => module.is_one_of(&["deepspeed", alias]),
        _ => imported,
    })
}

/// Nothing in the script and its own modules can use a DeepSpeed config. False where some of it is not seen.
pub fn cannot_use_config(source: &ScriptSource) -> bool {
    let is_plain = |name: &String| {
        let top = name.split('.').next().unwrap_or_default();
        WITHOUT_DEEPSPEED.contains(&top) || is_standard(top) || source.has_beside(top)
    };
    let uses = |text: &str| {
        text.lines()
            .filter_map(|line| line.split('#').next())
            .any(|line| CONFIG_USES.iter().any(|sign| line.contains(sign)))
            || !imports(&tokens(text)).iter().all(is_plain)
    };
    let modules = source.modules();
    modules.len() < MOST_MODULES
        && !uses(&source.text)
        && !modules.iter().any(|module| uses(&module.text))
}

/// A JSON or YAML file in front of the arguments is for the script itself, and not for transformers' parser.
pub fn reads_own_file(source: &ScriptSource) -> bool {
    let has = |signs: &[&str]| signs.iter().any(|sign| source.mentions(sign));
    !has(FILE_PARSERS) && has(OTHER_PARSERS)
}
