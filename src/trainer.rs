//! Front ends. A front end is one file in `trainer/` that says how its command is recognised, what each rank must run
//! so that nothing is launched twice, how its arguments are spelled and how the config is handed over.

pub(crate) mod argv;
mod command;
mod deepspeed;
mod hf;
mod swift;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::error::{self, Problem};
use crate::host::Host;
use crate::launcher::{self, Wrapped};
use crate::python::Python;
use crate::said::Said;
use crate::vars;
use argv::{Args, Field, OptionList};

/// Every front end, in the order they are asked; the last one takes anything.
pub(crate) const ALL: &[&Trainer] = &[&swift::TRAINER, &deepspeed::TRAINER, &hf::TRAINER, &command::TRAINER];

/// Who fills what is still "auto" after us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// transformers and accelerate do.
    Hf,
    /// Nobody does: the script calls `deepspeed.initialize` itself.
    Plain,
    /// Not known to use a config at all.
    Opaque,
}

/// Whether half precision is on, as far as the arguments say.
pub(crate) type Precision = Result<Option<(bool, String)>, Problem>;

pub(crate) struct Trainer {
    pub(crate) name: &'static str,
    pub(crate) family: Family,
    /// The package whose version is the trainer's.
    pub(crate) distribution: Option<&'static str>,
    /// The argument that names the config.
    pub(crate) config_argument: &'static str,
    /// The argument that names the model, and the one for its revision.
    pub(crate) model_argument: &'static str,
    /// Arguments that are read, besides `COMMON`.
    pub(crate) fields: &'static [Field],
    /// All of its options.
    pub(crate) options: fn(&Target) -> OptionList,
    /// Recognises a command and says what each rank runs.
    pub(crate) recognise: fn(&Target, &[OsString], &Host) -> Option<Recognised>,
    /// It refuses `DeepSpeed` when a process sees several GPUs, so each rank must have exactly one.
    pub(crate) one_gpu_per_rank: bool,
    /// What `fp16.enabled` becomes.
    pub(crate) fp16: fn(&Args) -> Precision,
    /// What `bf16.enabled` becomes.
    pub(crate) bf16: fn(&Args) -> Precision,
}

/// Names of transformers' `TrainingArguments` that every HF front end shares.
const COMMON: &[Field] = {
    use argv::Takes::{One, Optional};
    &[
        ("per_device_train_batch_size", One),
        ("gradient_accumulation_steps", One),
        ("learning_rate", One),
        ("weight_decay", One),
        ("adam_beta1", One),
        ("adam_beta2", One),
        ("adam_epsilon", One),
        ("max_grad_norm", One),
        ("max_steps", One),
        ("warmup_steps", One),
        ("auto_find_batch_size", Optional),
        ("parallelism_config", One),
        ("fp16", Optional),
        ("bf16", Optional),
        ("fp16_full_eval", Optional),
        ("bf16_full_eval", Optional),
        ("deepspeed", One),
        ("model_revision", One),
    ]
};

/// What a rank runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// `python [options] path`
    Script { options: Vec<OsString>, path: OsString },
    /// `python [options] -m name`
    Module { options: Vec<OsString>, name: OsString },
    /// Any other program, by the word that names it.
    Program(OsString),
}

impl Target {
    pub(crate) fn script(path: impl Into<OsString>) -> Self {
        Target::Script { options: Vec::new(), path: path.into() }
    }

    /// The script, module or program, without its folder.
    pub(crate) fn name(&self) -> &str {
        match self {
            Target::Program(word) | Target::Script { path: word, .. } | Target::Module { name: word, .. } => {
                base_name(word)
            }
        }
    }

    pub(crate) fn module(name: impl Into<OsString>) -> Self {
        Target::Module { options: Vec::new(), name: name.into() }
    }
}

/// What a front end made of a command.
pub(crate) struct Recognised {
    pub(crate) target: Target,
    pub(crate) args: Vec<OsString>,
    /// The interpreter, where the front end found a better one than the command's own.
    pub(crate) python: Option<Python>,
}

/// The user's command, understood.
pub(crate) struct Job {
    pub(crate) trainer: &'static Trainer,
    pub(crate) target: Target,
    pub(crate) args: Args,
    pub(crate) python: Option<Python>,
    /// The launcher the command itself starts with.
    pub(crate) wrapped: Option<Wrapped>,
    /// Why it cannot be started here, though it can be planned.
    pub(crate) blocker: Option<Problem>,
}

impl Job {
    pub(crate) fn version(&self) -> Option<String> {
        self.python.as_ref()?.version(self.trainer.distribution?)
    }
}

pub(crate) fn understand(command: &[OsString], forced: Option<&Said<&'static Trainer>>, host: &Host) -> Job {
    let (wrapped, words) = launcher::unwrap(command);
    let (target, args, python_word) = match &wrapped {
        Some(wrapped) => (wrapped.target(words), words.get(1..).unwrap_or_default().to_vec(), None),
        None => take_apart(words),
    };
    let mut blocker = None;
    let mut python = owner(wrapped.as_ref(), &target, python_word.as_deref(), host, &mut blocker);
    let mut asked = ALL.iter().filter(|trainer| forced.is_none_or(|forced| forced.value.name == trainer.name));
    let found = asked.find_map(|trainer| Some((*trainer, (trainer.recognise)(&target, &args, host)?)));
    let (trainer, recognised) = found.unwrap_or_else(|| {
        let trainer = forced.map_or(&command::TRAINER, |forced| forced.value);
        (trainer, Recognised { target: target.clone(), args: args.clone(), python: None })
    });
    if recognised.python.is_some() {
        python = recognised.python;
        blocker = None;
    }
    let fields: Vec<Field> = trainer.fields.iter().chain(COMMON).copied().collect();
    let args = Args::read(recognised.args, &fields, (trainer.options)(&recognised.target));
    Job { trainer, target: recognised.target, args, python, wrapped, blocker }
}

/// `python [options] script args`, `script.py args` or `program args`.
fn take_apart(words: &[OsString]) -> (Target, Vec<OsString>, Option<OsString>) {
    let Some((first, rest)) = words.split_first() else { return (Target::Program(OsString::new()), Vec::new(), None) };
    let rest_from = |at: usize| rest.get(at..).unwrap_or_default().to_vec();
    if is_python(first) {
        let count = python_options(rest);
        let options = rest[..count].to_vec();
        let python = Some(first.clone());
        match (rest.get(count), rest.get(count + 1)) {
            (Some(word), Some(name)) if word == "-m" => {
                return (Target::Module { options, name: name.clone() }, rest_from(count + 2), python);
            }
            (Some(path), _) if !path.as_encoded_bytes().starts_with(b"-") => {
                return (Target::Script { options, path: path.clone() }, rest_from(count + 1), python);
            }
            _ => {}
        }
    } else if is_script(first) {
        return (Target::script(first), rest.to_vec(), None);
    }
    (Target::Program(first.clone()), rest.to_vec(), None)
}

/// The interpreter that owns the command: the one named, the console script's, the wrapping launcher's.
fn owner(
    wrapped: Option<&Wrapped>,
    target: &Target,
    word: Option<&OsStr>,
    host: &Host,
    blocker: &mut Option<Problem>,
) -> Option<Python> {
    if let Some(word) = word.or(wrapped.and_then(Wrapped::python)) {
        let found = host.find_program(word).map(Python::at);
        if found.is_none() {
            *blocker = Some(not_found(word, host));
        }
        return found;
    }
    let console = match (target, wrapped) {
        (Target::Program(word), _) => word.as_os_str(),
        (_, Some(wrapped)) => wrapped.program(),
        _ => return Python::on_path(host),
    };
    match host.find_program(console) {
        Some(path) => Python::of_script(&path, host),
        None => {
            *blocker = Some(not_found(console, host));
            None
        }
    }
}

fn not_found(word: &OsStr, host: &Host) -> Problem {
    let name = word.to_string_lossy();
    if name.contains('/') {
        return error::no_such_program(&name, host.absolute(Path::new(word)).exists());
    }
    error::not_on_path(&name, host.raw(vars::PATH).unwrap_or_default())
}

/// The last part of a path: `swift` of `/opt/env/bin/swift`.
pub(crate) fn base_name(word: &OsStr) -> &str {
    Path::new(word).file_name().and_then(OsStr::to_str).unwrap_or_default()
}

pub(crate) fn is_python(word: &OsStr) -> bool {
    let version = base_name(word).strip_prefix("python");
    version.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

pub(crate) fn is_script(word: &OsStr) -> bool {
    Path::new(word).extension().is_some_and(|it| it == "py")
}

/// The one argument, if it is a file that holds all the others (`HfArgumentParser.parse_json_file`).
pub(crate) fn only_run_file(args: &Args) -> Option<&OsStr> {
    match args.words() {
        [word] if !word.as_encoded_bytes().starts_with(b"-") => {
            let ending = Path::new(word).extension()?.to_str()?;
            ["json", "yaml", "yml"].contains(&ending).then_some(word.as_os_str())
        }
        _ => None,
    }
}

/// How many words after `python` are its own options (`-m` and `-c` end them).
fn python_options(words: &[OsString]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at).and_then(|word| word.to_str()) {
        match word {
            "-W" | "-X" => at += 2,
            "-m" | "-c" | "-" => break,
            _ if word.starts_with('-') => at += 1,
            _ => break,
        }
    }
    at.min(words.len())
}

/// The text of a script the user named, if it is one that can be looked at cheaply.
fn script_text(path: &OsStr, host: &Host) -> Option<String> {
    const MOST: u64 = 512 << 10;
    let path: PathBuf = host.absolute(Path::new(path));
    std::fs::metadata(&path).ok().filter(|seen| seen.is_file() && seen.len() <= MOST)?;
    std::fs::read(&path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn one_file_per_front_end() {
        let mut files: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/trainer"))
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_string())
            .filter(|stem| stem != "argv")
            .collect();
        files.sort();
        let mut names: Vec<_> = ALL.iter().map(|trainer| trainer.name.to_string()).collect();
        names.sort();
        assert_eq!(files, names);
    }

    #[test]
    fn commands_are_taken_apart() {
        let (target, args, python) = take_apart(&words("python3.11 -u -X dev -m pkg.train --a 1"));
        let options = words("-u -X dev");
        assert_eq!((target, args), (Target::Module { options, name: "pkg.train".into() }, words("--a 1")));
        assert_eq!(python, Some("python3.11".into()));
        assert_eq!(take_apart(&words("python x.py --a")).0, Target::script("x.py"));
        assert_eq!(take_apart(&words("./x.py --a")).0, Target::script("./x.py"));
        assert_eq!(take_apart(&words("python -c pass")).0, Target::Program("python".into()));
        assert_eq!(take_apart(&words("bash run.sh")).0, Target::Program("bash".into()));
        assert!(!is_python(OsStr::new("python-config")) && is_python(OsStr::new("/usr/bin/python3")));
    }
}
