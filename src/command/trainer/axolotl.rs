//! axolotl. `axolotl train x.yml --k v` execs accelerate on a module of its own; we run that module under torchrun. A
//! command with arguments for its launcher (any that it does not know itself), or with another launcher, is left alone.

use std::ffi::OsString;

use serde_json::{Map, Value};

use super::hf;
use crate::base::vars;
use crate::base::yaml::Dialect;
use crate::command::argv::Nargs;
use crate::command::defaults::ArgumentClass;
use crate::command::front_end::{
    ArgumentParser, DefaultArguments, HandOver, RankCommand, Trainer, TrainingDefaults, Usage, Variable,
};
use crate::command::inputs::Input;
use crate::command::option_names;
use crate::command::python::Python;
use crate::command::run_file;
use crate::command::target::{ParsedCommand, Target};
use crate::host::Host;
use crate::report::{self, Problem};

pub(crate) const TRAINER: Trainer = Trainer {
    name: "axolotl",
    usage: &[Usage {
        commands: &["axolotl train run.yml"],
        runs: "torchrun on the script behind it; with launcher arguments of its own: untouched",
        runs_zh: "torchrun 运行它背后的脚本；自带启动器参数时不动它",
    }],
    consoles: &["axolotl"],
    console_modules: &["axolotl.cli.main"],
    distribution: Some("axolotl"),
    hand_over: HandOver::Joined,
    // Not all of its ways to read a dataset are known.
    inputs: &[
        Input::plain("model_name_or_path"),
        Input::plain("datasets").perhaps(),
        Input::plain("resume_from_checkpoint").perhaps(),
    ],
    recognise,
    parser: ArgumentParser::Unrecorded,
    arguments: DefaultArguments::Recorded(|_, _| ArgumentClass::find("axolotl", "train")),
    // As axolotl documents it.
    defaults: TrainingDefaults { micro_batch: 1, ..hf::DEFAULTS },
    ..hf::TRAINER
};

const MODULE: &str = "axolotl.cli.train";

/// Its options, as the real one has them.
const OPTIONS: &str = include_str!("../../recorded/axolotl.txt");
const LAUNCH_OPTIONS: &[&str] = &["launcher", "cloud", "sweep", "use-ray"];

/// Its own names for what transformers calls otherwise.
const NAMES: &[(&str, &str)] =
    &[("micro_batch_size", "per_device_train_batch_size"), ("base_model", "model_name_or_path")];

fn recognise(command: &ParsedCommand, host: &Host) -> Option<RankCommand> {
    let mut recognised = if TRAINER.is_console(&command.target) {
        let (_, rest) = command.args.split_first().filter(|(mode, _)| *mode == "train")?;
        // axolotl downloads a config that is a URL.
        run_file::first(rest).filter(|file| !file.to_string_lossy().contains("://"))?;
        let (args, problems) = module_args(rest)?;
        let behind = RankCommand::behind_console(command, MODULE, args, host);
        let variables = variables(behind.python.as_ref(), host);
        // By name, as axolotl itself does: the current folder is then on `sys.path`.
        RankCommand { target: Target::module(MODULE), variables, problems, ..behind }
    } else {
        command.target.is_module(MODULE).then(|| RankCommand::unchanged(command))?
    };
    if let Some(file) = run_file::first(&recognised.args).cloned()
        && let Some(entries) = recognised.read_run_file(&file, Dialect::PyYaml, host)
    {
        let mut words = run_file::paths_of(&entries, "datasets");
        let entries = renamed(entries);
        recognised.unread = run_file::unread(&entries, true);
        words.extend(run_file::typed_words(&entries, true));
        let flags = recognised.args[1..].iter().map(renamed_flag);
        recognised.effective_args = Some(words.into_iter().chain(flags).collect());
    }
    Some(recognised)
}

/// The arguments that `axolotl train` passes to its module: `--key=value`, and `--key=True` for a switch. `None`: some
/// words are for its launcher.
fn module_args(words: &[OsString]) -> Option<(Vec<OsString>, Vec<Problem>)> {
    let (file, rest) = words.split_first()?;
    let (mut args, mut problems) = (vec![file.clone()], Vec::new());
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        let text = word.to_str()?.strip_prefix("--")?;
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let (key, value) = match (nargs_of(name), value) {
            (Some(Nargs::One), Some(value)) => (name, value.into()),
            (Some(Nargs::One), None) => (name, rest.next()?.clone()),
            (Some(Nargs::Nothing), None) => (name, "True".into()),
            (None, None) if name.strip_prefix("no-").and_then(nargs_of) == Some(Nargs::Nothing) => {
                (&name["no-".len()..], "False".into())
            }
            (None, _) if nargs_of(&name.replace('_', "-")).is_some() => {
                let dashes = format!("--{}", name.replace('_', "-"));
                problems.push(report::trainer_has_no_option(TRAINER.name, &format!("--{name}"), Some(&dashes), ""));
                if value.is_none() {
                    rest.next();
                }
                continue;
            }
            _ => return None,
        };
        let mut word = OsString::from(format!("--{key}="));
        word.push(value);
        args.push(word);
    }
    Some((args, problems))
}

/// What an option of `axolotl train` takes, by its name with dashes. Options of the launch are left out.
fn nargs_of(name: &str) -> Option<Nargs> {
    if LAUNCH_OPTIONS.contains(&name) || name.contains('_') {
        return None;
    }
    let own = name.replace('-', "_");
    let line = OPTIONS.lines().find(|line| option_names::name_of(line) == own)?;
    Some(if line.ends_with('!') { Nargs::Nothing } else { Nargs::One })
}

fn renamed(entries: Map<String, Value>) -> Map<String, Value> {
    // `bf16: auto` depends on the GPU, and `full` casts the whole model: neither says whether mixed precision is on.
    let usable = |key: &str, value: &Value| !["bf16", "fp16"].contains(&key) || value.is_boolean();
    let entries = entries.into_iter().filter(|(key, value)| usable(key, value));
    entries.map(|(key, value)| (hf_name(&key).unwrap_or(&key).to_string(), value)).collect()
}

fn renamed_flag(word: &OsString) -> OsString {
    let text = word.to_str().and_then(|word| word.strip_prefix("--")?.split_once('='));
    let renamed = text.and_then(|(name, value)| Some(format!("--{}={value}", hf_name(&name.replace('-', "_"))?)));
    renamed.map_or_else(|| word.clone(), OsString::from)
}

fn hf_name(own: &str) -> Option<&'static str> {
    NAMES.iter().find(|(name, _)| *name == own).map(|(_, hf)| *hf)
}

/// What the console script exports before it launches.
fn variables(python: Option<&Python>, host: &Host) -> Vec<Variable> {
    let torch = python.and_then(|python| python.version("torch"));
    let from = |version| torch.as_ref().is_some_and(|torch| !torch.is_before(version));
    let allocator = if from([2, 9, 0]) {
        Some((vars::PYTORCH_ALLOC_CONF, "expandable_segments:True"))
    } else if from([2, 2, 0]) {
        Some((vars::PYTORCH_CUDA_ALLOC_CONF, "expandable_segments:True,roundup_power2_divisions:16"))
    } else {
        None
    };
    let allocator = allocator.filter(|(name, _)| host.raw(name).is_none());
    let check = "XFORMERS_IGNORE_FLASH_VERSION_CHECK";
    let check = host.raw(check).is_none().then_some((check, "1"));
    let set = allocator.into_iter().chain(check);
    set.map(|(name, value)| Variable::new(name, value, "as axolotl sets it")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_passed_to_the_module_as_axolotl_passes_them() {
        // Seen on the real one: what its module was started with.
        let seen = [
            (
                "x.yml --max-steps 5 --no-shard --dpo-norm-loss --micro-batch-size=4 --debug --no-debug-text-only",
                "x.yml --max-steps=5 --shard=False --dpo-norm-loss=True --micro-batch-size=4 --debug=True --debug-text-only=False",
            ),
            ("x.yml --adapter lora --bf16=true", "x.yml --adapter=lora --bf16=true"),
        ];
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (line, passed) in seen {
            assert_eq!(module_args(&words(line)), Some((words(passed), Vec::new())), "{line}");
        }
        for line in [
            "x.yml --nproc_per_node 2",
            "x.yml --launcher torchrun",
            "x.yml -- --num_processes 2",
            "x.yml y",
            "x.yml --fp16 true",
        ] {
            assert_eq!(module_args(&words(line)), None, "{line}");
        }
        let (_, problems) = module_args(&words("x.yml --max_steps 5 --micro_batch_size=2")).unwrap();
        let helps: Vec<_> = problems.iter().map(|problem| problem.help.as_str()).collect();
        assert_eq!(helps, ["did you mean `--max-steps`?", "did you mean `--micro-batch-size`?"]);
        assert_eq!(renamed_flag(&"--micro-batch-size=4".into()), "--per_device_train_batch_size=4");
    }
}
