//! Front ends. A front end is one file in `trainer/` that says how its command is recognised, what each rank must run
//! so that nothing is launched twice, how its arguments are spelled and how the config is handed over.

mod axolotl;
mod command;
mod deepspeed;
mod hf;
mod llamafactory;
mod megatron;
mod run_file;
mod swift;
mod trl;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use serde_json::{Map, Value};

use crate::base::options::SUBCOMMANDS;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::command::argv::{self, Args, Field, OptionList, Unread};
use crate::command::model::Hub;
use crate::command::python::{Python, Version};
use crate::command::target::{Parts, Target, base_name};
use crate::host::{Host, is_shim};
use crate::report::{self, Problem};

/// Every front end, in the order they are asked; the last one takes anything.
pub(crate) const ALL: &[&Trainer] = &[
    &swift::TRAINER,
    &megatron::TRAINER,
    &llamafactory::TRAINER,
    &axolotl::TRAINER,
    &trl::TRAINER,
    &deepspeed::TRAINER,
    &hf::TRAINER,
    &command::TRAINER,
];

/// The front end that takes a command as it is.
pub(crate) const ANY_COMMAND: &str = command::TRAINER.name;

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

/// How the config reaches the trainer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandOver {
    /// `--name PATH`, in place of the one that is there.
    Argument,
    /// `--name=PATH` (axolotl's inner parser).
    Joined,
    /// `name=PATH` behind a run file, else like `Argument` (LLaMA-Factory).
    Dotted,
}

/// Whether half precision is on, as far as the arguments say, and who says so.
pub(crate) type Precision = Result<Option<(bool, String)>, Unread>;

#[expect(clippy::struct_excessive_bools, reason = "facts of a table, not a state")]
pub(crate) struct Trainer {
    pub(crate) name: &'static str,
    pub(crate) family: Family,
    /// Its console scripts, the usual one first. They start ranks themselves: never to be run by a launcher as they are.
    pub(crate) consoles: &'static [&'static str],
    /// The package whose version is the trainer's, by the name pip knows.
    pub(crate) distribution: Option<&'static str>,
    /// The argument that names the config.
    pub(crate) config_argument: fn(&Args) -> &'static str,
    pub(crate) hand_over: HandOver,
    /// The argument that names the model.
    pub(crate) model_argument: &'static str,
    /// Where a model that is no folder is looked up.
    pub(crate) hub: fn(&Args, &Host) -> Hub,
    /// It copies the hidden size of a text model to the top of the config, from wherever it stands.
    pub(crate) lifts_hidden_size: bool,
    /// A config on the command line may be JSON in base64, as accelerate and DeepSpeed read it.
    pub(crate) reads_base64: bool,
    /// It refuses DeepSpeed when a process sees several GPUs, so each rank must have exactly one.
    pub(crate) one_gpu_per_rank: bool,
    /// Its console script starts the ranks itself, from NPROC_PER_NODE and its kin.
    pub(crate) launches_itself: bool,
    /// Arguments that are read, besides `COMMON`.
    pub(crate) fields: &'static [Field],
    /// All of its options.
    pub(crate) options: fn(&Target) -> OptionList,
    /// What the trainer refuses that its own arguments alone show.
    pub(crate) refusals: fn(&Args, &Target, Option<&Python>) -> Vec<Problem>,
    /// Recognises a command and says what each rank runs.
    pub(crate) recognise: fn(&Parts, &Host) -> Option<Recognised>,
    /// What `fp16.enabled` and `bf16.enabled` become, and why not where they stay "auto".
    pub(crate) fp16: fn(&Args) -> Precision,
    pub(crate) bf16: fn(&Args) -> Precision,
    pub(crate) precision_unknown: Option<&'static str>,
    pub(crate) defaults: Defaults,
}

/// What a front end does when nothing is said, as far as it takes memory.
pub(crate) struct Defaults {
    pub(crate) micro_batch: u64,
    pub(crate) seq_len: Option<u64>,
    pub(crate) lora: bool,
    pub(crate) lora_rank: u64,
    pub(crate) checkpointing: bool,
    /// LoRA drops some of its inputs.
    pub(crate) dropout: bool,
}

/// Names of transformers' `TrainingArguments` that every HF front end shares.
const COMMON: &[Field] = {
    use crate::command::argv::Takes::{One, Optional};
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
        ("warmup_ratio", One),
        ("auto_find_batch_size", Optional),
        ("parallelism_config", One),
        ("fp16", Optional),
        ("bf16", Optional),
        ("half_precision_backend", One),
        ("fp16_backend", One),
        ("fp16_full_eval", Optional),
        ("bf16_full_eval", Optional),
        ("deepspeed", One),
        ("output_dir", One),
        ("model_revision", One),
        ("optim", One),
        ("fsdp", One),
        ("save_only_model", Optional),
        ("load_best_model_at_end", Optional),
        ("tuner_type", One),
        ("train_type", One),
        ("finetuning_type", One),
    ]
};

/// What a front end made of a command.
pub(crate) struct Recognised {
    pub(crate) target: Target,
    /// The arguments each rank gets.
    pub(crate) args: Vec<OsString>,
    /// The arguments as the trainer will read them, where a run file holds some.
    pub(crate) read: Option<Vec<OsString>>,
    /// The run file that holds all arguments, where it must be written anew to name the config.
    pub(crate) run_file: Option<Map<String, Value>>,
    /// The interpreter, where the front end found a better one than the command's own.
    pub(crate) python: Option<Python>,
    /// Variables the front end's own launcher would set.
    pub(crate) variables: Vec<Variable>,
    pub(crate) problems: Vec<Problem>,
}

/// A variable a front end brings, after it was weighed against the user's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) why: String,
}

impl Recognised {
    fn new(target: Target, args: Vec<OsString>) -> Self {
        Recognised {
            target,
            args,
            read: None,
            run_file: None,
            python: None,
            variables: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// The command as it stands.
    fn unchanged(parts: &Parts) -> Self {
        Self::new(parts.target.clone(), parts.args.clone())
    }

    /// A module of the package the console script belongs to; its file, where that can be seen.
    fn behind_console(parts: &Parts, module: &str, args: Vec<OsString>, host: &Host) -> Self {
        let word = match &parts.target {
            Target::Program(word) | Target::Script { path: word, .. } => Some(word),
            Target::Module { .. } => None,
        };
        let python = word.and_then(|word| Python::of_script(&host.find_program(word)?, host));
        let file = python.as_ref().and_then(|python| python.file(&format!("{}.py", module.replace('.', "/"))));
        let target = file.map_or_else(|| Target::module(module), Target::script);
        Recognised { python, ..Self::new(target, args) }
    }
}

/// The user's command, understood.
pub(crate) struct Job {
    pub(crate) trainer: &'static Trainer,
    pub(crate) target: Target,
    /// The target is not what the command named, but what is behind it.
    pub(crate) rewritten: bool,
    /// The arguments as the trainer will read them.
    pub(crate) args: Args,
    /// The arguments each rank gets, where a run file among them holds others.
    outer: Option<Args>,
    /// The run file that holds all arguments.
    pub(crate) run_file: Option<Map<String, Value>>,
    pub(crate) python: Option<Python>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) problems: Vec<Problem>,
    /// Why it cannot be started here, though it can be planned.
    pub(crate) blocker: Option<Problem>,
}

impl Job {
    pub(crate) fn version(&self) -> Option<Version> {
        self.python.as_ref()?.version(self.trainer.distribution?)
    }

    /// The command is a console script that was not looked behind.
    pub(crate) fn starts_ranks(&self) -> bool {
        matches!(&self.target, Target::Program(word) if is_console(word))
    }

    /// Whether the trainer has an argument of that name, as far as its options are known.
    pub(crate) fn takes(&self, name: &str) -> bool {
        match (self.trainer.options)(&self.target) {
            OptionList::Known(list) => argv::names(list).any(|known| known == name),
            OptionList::Open => true,
        }
    }

    /// The arguments of each rank, with the config (or the run file that names it) handed over in the front end's own way.
    pub(crate) fn words(&self, config: Option<&OsStr>) -> Vec<OsString> {
        let outer = self.outer.as_ref().unwrap_or(&self.args);
        let Some(config) = config else { return outer.words().to_vec() };
        if self.run_file.is_some() {
            return vec![config.to_os_string()];
        }
        let name = (self.trainer.config_argument)(outer);
        let joined = |prefix: &str| {
            let mut word = OsString::from(format!("{prefix}{name}="));
            word.push(config);
            let named = |word: &OsString| {
                word.to_str().is_some_and(|word| {
                    word.starts_with(&format!("{prefix}{name}="))
                        || prefix.is_empty() && word.starts_with(&format!("{name}."))
                })
            };
            let mut words: Vec<OsString> = outer.words().iter().filter(|word| !named(word)).cloned().collect();
            words.push(word);
            words
        };
        match self.trainer.hand_over {
            HandOver::Joined => joined("--"),
            HandOver::Dotted if run_file::is_first(outer.words()) => joined(""),
            HandOver::Argument | HandOver::Dotted => outer.with(name, config),
        }
    }
}

pub(crate) fn understand(parts: &Parts, forced: Option<&Sourced<&'static Trainer>>, host: &Host) -> Job {
    let mut asked = ALL.iter().filter(|trainer| forced.is_none_or(|forced| forced.value.name == trainer.name));
    let found = asked.find_map(|trainer| Some((*trainer, (trainer.recognise)(parts, host)?)));
    let (trainer, recognised) = found
        .unwrap_or_else(|| (forced.map_or(&command::TRAINER, |forced| forced.value), Recognised::unchanged(parts)));
    let Recognised { target, args, read, run_file, python: better, variables, problems } = recognised;
    // The one who recognised the command may have looked behind it already.
    let (python, blocker) = if better.is_some() { (better, None) } else { owner(parts, host) };
    let fields: Vec<Field> = trainer.fields.iter().chain(COMMON).copied().collect();
    let options = (trainer.options)(&target);
    let given = Args::read(args, &fields, options);
    let (args, outer) = match read {
        Some(read) => (Args::read(read, &fields, options), Some(given)),
        None => (given, None),
    };
    let mut problems = problems;
    problems.extend((trainer.refusals)(&args, &target, python.as_ref()));
    let rewritten = target != parts.target;
    Job { trainer, target, rewritten, args, outer, run_file, python, variables, problems, blocker }
}

/// The command as it stands, whatever it is.
pub(crate) fn untouched(command: &[OsString], host: &Host) -> Job {
    let opaque: &'static Trainer = &command::TRAINER;
    understand(&Parts::of(command), Some(&Sourced::new(opaque, Source::Default)), host)
}

/// Whether a word names a console script of a front end.
pub(crate) fn is_console(word: &OsStr) -> bool {
    of_console(base_name(word)).is_some()
}

fn of_console(name: &str) -> Option<&'static Trainer> {
    ALL.iter().copied().find(|trainer| trainer.consoles.contains(&name))
}

/// Packages whose versions are worth knowing, by the names pip knows: what all stand on, and the trainers' own.
pub(crate) fn packages() -> Vec<&'static str> {
    let mut packages = vec!["torch", "transformers", "accelerate", "deepspeed"];
    for package in ALL.iter().filter_map(|trainer| trainer.distribution) {
        if !packages.contains(&package) {
            packages.push(package);
        }
    }
    packages.push("peft");
    packages
}

/// The interpreter that owns the command: the one named, or the one of the program that starts it. And what is not there.
fn owner(parts: &Parts, host: &Host) -> (Option<Python>, Option<Problem>) {
    if let Some(word) = &parts.python {
        return match host.find_program(word) {
            Some(program) => (Some(Python::at(program, host)), None),
            None => (None, Some(not_found(word, host))),
        };
    }
    let Some(word) = &parts.owner else { return (None, None) };
    let bare_script = matches!(&parts.target, Target::Script { path, .. } if path == word);
    let path = if bare_script { Some(host.absolute(Path::new(word))) } else { host.find_program(word) };
    match path {
        // A script of another kind (a pyenv shim, a shell wrapper) belongs to whatever is active.
        Some(path) => (Python::of_script(&path, host).or_else(|| Python::on_path(host)), None),
        None => (None, Some(not_found(word, host))),
    }
}

fn not_found(word: &OsStr, host: &Host) -> Problem {
    let name = word.to_string_lossy();
    if name.contains('/') {
        return report::no_such_program(&name, host.absolute(Path::new(word)).exists());
    }
    let folders = host.raw(vars::PATH).map(std::env::split_paths).into_iter().flatten();
    if let Some(file) = folders.map(|folder| folder.join(word)).find(|file| file.is_file() && !is_shim(file)) {
        return report::no_such_program(&file.to_string_lossy(), true);
    }
    let package = match &*name {
        "torchrun" => Some("torch"),
        "deepspeed" => Some("deepspeed"),
        _ => of_console(&name).and_then(|trainer| trainer.distribution),
    };
    let meant = meant_by(&name);
    report::not_on_path(&name, package, meant.as_deref(), host.raw(vars::PATH).unwrap_or_default())
}

/// A command of ours or of a trainer that was misspelt.
fn meant_by(name: &str) -> Option<String> {
    let ours: Vec<&str> = SUBCOMMANDS.iter().map(|subcommand| subcommand.name).collect();
    let mut known = ours.clone();
    for trainer in ALL {
        known.extend(trainer.consoles);
    }
    known.extend(["torchrun", "deepspeed", "accelerate", "python"]);
    let meant = report::nearest(name, known.iter().copied()).filter(|meant| *meant != name)?;
    Some(if ours.contains(&meant) { format!("zlaunch {meant}") } else { meant.to_string() })
}

/// The text of a script the user named, if it is one that can be looked at cheaply.
pub(crate) fn script_text(path: &OsStr, host: &Host) -> Option<String> {
    const MOST: u64 = 512 << 10;
    let path = host.absolute(Path::new(path));
    std::fs::metadata(&path).ok().filter(|seen| seen.is_file() && seen.len() <= MOST)?;
    std::fs::read(&path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_per_front_end() {
        let mut files: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/command/trainer"))
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_string())
            .filter(|stem| stem != "run_file")
            .collect();
        files.sort();
        let mut names: Vec<_> = ALL.iter().map(|trainer| trainer.name.to_string()).collect();
        names.sort();
        assert_eq!(files, names);
    }
}
