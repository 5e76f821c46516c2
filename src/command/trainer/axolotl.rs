//! axolotl. `axolotl train x.yml --k v` execs accelerate on a module of its own; we run that module under torchrun. With
//! words that are for its launcher (what it does not know itself is), or another launcher, the command is left alone.

use std::ffi::OsString;

use serde_json::{Map, Value};

use super::{Defaults, HandOver, Recognised, Trainer, Variable, hf, run_file};
use crate::base::vars;
use crate::base::yaml::Dialect;
use crate::command::argv::{self, Takes};
use crate::command::python::Python;
use crate::command::target::{Parts, Target};
use crate::host::Host;
use crate::report::{self, Problem};

pub(crate) const TRAINER: Trainer = Trainer {
    name: "axolotl",
    consoles: &["axolotl"],
    distribution: Some("axolotl"),
    hand_over: HandOver::Joined,
    recognise,
    // As documented.
    defaults: Defaults { micro_batch: 1, ..hf::DEFAULTS },
    ..hf::TRAINER
};

const MODULE: &str = "axolotl.cli.train";

/// Its options, as the real one has them.
const OPTIONS: &str = include_str!("../../recorded/axolotl.txt");
const OF_THE_LAUNCH: &[&str] = &["launcher", "cloud", "sweep", "use-ray"];

/// Its own names for what transformers calls otherwise.
const NAMES: &[(&str, &str)] =
    &[("micro_batch_size", "per_device_train_batch_size"), ("base_model", "model_name_or_path")];

fn recognise(parts: &Parts, host: &Host) -> Option<Recognised> {
    let mut recognised = if parts.target.is_console("axolotl") {
        let (_, rest) = parts.args.split_first().filter(|(command, _)| *command == "train")?;
        // A config that is no local file is its own business.
        rest.first().filter(|file| run_file::is_first(rest) && !file.to_string_lossy().contains("://"))?;
        let (args, problems) = handed_on(rest)?;
        let behind = Recognised::behind_console(parts, MODULE, args, host);
        let variables = variables(behind.python.as_ref(), host);
        // As it starts it itself: by name, with the folder in which it was started on Python's path.
        Recognised { target: Target::module(MODULE), variables, problems, ..behind }
    } else {
        parts.target.is_module(MODULE).then(|| Recognised::unchanged(parts))?
    };
    if run_file::is_first(&recognised.args) {
        match run_file::read(&recognised.args[0], Dialect::PyYaml, host) {
            Ok(entries) => {
                let words = run_file::typed_words(&renamed(entries.unwrap_or_default()), true);
                let flags = recognised.args[1..].iter().map(renamed_flag);
                recognised.read = Some(words.into_iter().chain(flags).collect());
            }
            Err(problem) => recognised.problems.push(problem),
        }
    }
    Some(recognised)
}

/// What the outer program makes of its options: `--key=value`, and `--key=True` of a switch. `None`: some of the words
/// are for its launcher, which then is its own business.
fn handed_on(words: &[OsString]) -> Option<(Vec<OsString>, Vec<Problem>)> {
    let (file, rest) = words.split_first()?;
    let (mut handed, mut problems) = (vec![file.clone()], Vec::new());
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        let text = word.to_str()?.strip_prefix("--")?;
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let (key, value) = match (kind_of(name), value) {
            (Some(Takes::One), Some(value)) => (name, value.into()),
            (Some(Takes::One), None) => (name, rest.next()?.clone()),
            (Some(Takes::Nothing), None) => (name, "True".into()),
            (None, None) if name.strip_prefix("no-").and_then(kind_of) == Some(Takes::Nothing) => {
                (&name["no-".len()..], "False".into())
            }
            (None, _) if kind_of(&name.replace('_', "-")).is_some() => {
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
        handed.push(word);
    }
    Some((handed, problems))
}

/// What an option of `axolotl train` takes, by its name with dashes. Those that speak of the launch are not among them.
fn kind_of(name: &str) -> Option<Takes> {
    if OF_THE_LAUNCH.contains(&name) || name.contains('_') {
        return None;
    }
    let own = name.replace('-', "_");
    let line = OPTIONS.lines().find(|line| argv::name_of(line) == own)?;
    Some(if line.ends_with('!') { Takes::Nothing } else { Takes::One })
}

fn renamed(entries: Map<String, Value>) -> Map<String, Value> {
    // `bf16: auto` asks the GPU, `full` casts the whole model: neither is an answer here.
    let answer = |key: &str, value: &Value| !["bf16", "fp16"].contains(&key) || value.is_boolean();
    let entries = entries.into_iter().filter(|(key, value)| answer(key, value));
    entries.map(|(key, value)| (name_of(&key).unwrap_or(&key).to_string(), value)).collect()
}

fn renamed_flag(word: &OsString) -> OsString {
    let text = word.to_str().and_then(|word| word.strip_prefix("--")?.split_once('='));
    let renamed = text.and_then(|(name, value)| Some(format!("--{}={value}", name_of(&name.replace('-', "_"))?)));
    renamed.map_or_else(|| word.clone(), OsString::from)
}

fn name_of(own: &str) -> Option<&'static str> {
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
    set.map(|(name, value)| Variable {
        name: name.to_string(),
        value: value.to_string(),
        why: "as axolotl sets it".to_string(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_handed_on_as_the_outer_program_does() {
        // Seen on the real one: what its module was started with.
        let seen = [
            (
                "x.yml --max-steps 5 --no-shard --dpo-norm-loss --micro-batch-size=4 --debug --no-debug-text-only",
                "x.yml --max-steps=5 --shard=False --dpo-norm-loss=True --micro-batch-size=4 --debug=True --debug-text-only=False",
            ),
            ("x.yml --adapter lora --bf16=true", "x.yml --adapter=lora --bf16=true"),
        ];
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (line, handed) in seen {
            assert_eq!(handed_on(&words(line)), Some((words(handed), Vec::new())), "{line}");
        }
        for line in [
            "x.yml --nproc_per_node 2",
            "x.yml --launcher torchrun",
            "x.yml -- --num_processes 2",
            "x.yml y",
            "x.yml --fp16 true",
        ] {
            assert_eq!(handed_on(&words(line)), None, "{line}");
        }
        let (_, problems) = handed_on(&words("x.yml --max_steps 5 --micro_batch_size=2")).unwrap();
        let helps: Vec<_> = problems.iter().map(|problem| problem.help.as_str()).collect();
        assert_eq!(helps, ["did you mean `--max-steps`?", "did you mean `--micro-batch-size`?"]);
        assert_eq!(renamed_flag(&"--micro-batch-size=4".into()), "--per_device_train_batch_size=4");
    }
}
