//! Front ends that take no DeepSpeed config: any other command, and trainers that shard in another way, make a config of
//! their own options, or start their ranks themselves. `without_config.txt` says how these are recognised, and what to do.

use super::hf;
use crate::base::rows;
use crate::command::front_end::{
    AutoFiller, ConfigTraits, LaunchTraits, ModelTraits, NoConfig, text_of,
};
use crate::command::job::{Job, Trainer};
use crate::command::script::imports;
use crate::command::target::ParsedCommand;
use crate::host::Host;

const TABLE: &str = include_str!("without_config.txt");

/// Any command: executed once and as it stands, with the environment of the plan.
pub(crate) const PASSTHROUGH: Trainer = Trainer {
    name: "command",
    distribution: None,
    recognise: |trainer, command, _| Some(Job::of(trainer, command)),
    config: ConfigTraits {
        filler: None,
        ..hf::TRAINER.config
    },
    model: ModelTraits {
        fp16: |_| Ok(None),
        bf16: |_| Ok(None),
        ..hf::TRAINER.model
    },
    ..hf::TRAINER
};

/// Executed once: they start their ranks themselves.
const ONCE: Trainer = Trainer {
    recognise: find,
    ..PASSTHROUGH
};

/// torchrun starts their ranks.
const RANKS: Trainer = Trainer {
    recognise: find,
    config: ConfigTraits {
        filler: Some(AutoFiller::Nobody),
        ..hf::TRAINER.config
    },
    arguments: hf::UNRECORDED,
    ..hf::TRAINER
};

pub(crate) const MEGATRON: Trainer = Trainer {
    name: "megatron",
    distribution: Some("ms-swift"),
    launch: LaunchTraits {
        consoles: &["megatron"],
        console_modules: &["swift.cli._megatron.main"],
        has_own_launcher: true,
        ..ONCE.launch
    },
    ..ONCE
};

pub(crate) const FABRIC: Trainer = Trainer {
    name: "fabric",
    distribution: Some("lightning"),
    launch: LaunchTraits {
        consoles: &["fabric", "lightning"],
        ..ONCE.launch
    },
    ..ONCE
};

/// The next generation of xtuner, as its documents describe it: it is not in a release yet.
pub(crate) const XTUNER_V1: Trainer = Trainer {
    name: "xtuner_v1",
    distribution: Some("xtuner"),
    ..RANKS
};

/// torchrun starts its modules as well as `deepspeed --module` does: they read LOCAL_RANK.
pub(crate) const OPENRLHF: Trainer = Trainer {
    name: "openrlhf",
    distribution: Some("openrlhf"),
    ..RANKS
};

/// Its reinforcement learning starts Ray, and belongs to `RAY`.
pub(crate) const VERL: Trainer = Trainer {
    name: "verl",
    distribution: Some("verl"),
    ..RANKS
};

/// One driver, for which Ray places the workers.
pub(crate) const RAY: Trainer = Trainer {
    name: "ray",
    distribution: Some("ray"),
    launch: LaunchTraits {
        consoles: &["ray"],
        ..ONCE.launch
    },
    ..ONCE
};

fn find(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    let block = blocks()
        .find(|(name, block)| *name == trainer.name && is_on(block, command, host))?
        .1;
    let program = command.target.name();
    let first = command
        .args
        .first()
        .map_or_else(String::new, |word| format!(" {}", word.to_string_lossy()));
    let why = field(block, "why")
        .replace("{program}", program)
        .replace("{command}", &format!("{program}{first}"));
    let no_config = Some(NoConfig::new(why, field(block, "help")));
    Some(Job {
        no_config,
        ..Job::of(trainer, command)
    })
}

/// Each with the name of its front end.
pub fn blocks() -> impl Iterator<Item = (&'static str, &'static str)> {
    rows::blocks(TABLE).filter_map(|block| block.split_once('\n'))
}

pub fn field(block: &'static str, name: &str) -> &'static str {
    block
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
        .unwrap_or_default()
}

fn is_on(block: &'static str, command: &ParsedCommand, host: &Host) -> bool {
    let words = |name| field(block, name).split_ascii_whitespace();
    let (target, text) = (&command.target, field(block, "text"));
    let is_console = words("console").any(|name| target.is_console(name) || target.is_module(name))
        && words("first").all(|first| command.args.first().is_some_and(|word| word == first));
    if is_console || words("module").any(|module| target.is_module(module)) {
        return true;
    }
    let Some(script) = text_of(command, host) else {
        return false;
    };
    let imported: Vec<&str> = words("import").collect();
    let has_text = !text.is_empty() && script.contains(text);
    imports(script, &imported) || has_text && !words("unless").any(|word| script.contains(word))
}
