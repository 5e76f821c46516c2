//! Front ends that take no DeepSpeed config: they shard in another way, make a config of their own options, or start their
//! ranks themselves. `without_config.txt` has how their commands are recognised and what is said instead.

use super::{hf, passthrough};
use crate::base::rows;
use crate::command::front_end::{AutoFiller, ConfigTraits, LaunchTraits, NoConfig};
use crate::command::job::{Job, Trainer};
use crate::command::script::signs::imports;
use crate::command::target::ParsedCommand;
use crate::host::Host;

const TABLE: &str = include_str!("without_config.txt");

/// Executed once and as it stands: it starts its ranks itself.
const ONCE: Trainer = passthrough::TRAINER;

/// Ranks of torchrun.
const RANKS: Trainer = Trainer {
    config: ConfigTraits { filler: Some(AutoFiller::Nobody), ..hf::TRAINER.config },
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
    recognise: |command, host| find(&MEGATRON, command, host),
    ..ONCE
};

pub(crate) const FABRIC: Trainer = Trainer {
    name: "fabric",
    distribution: Some("lightning"),
    launch: LaunchTraits { consoles: &["fabric", "lightning"], ..ONCE.launch },
    recognise: |command, host| find(&FABRIC, command, host),
    ..ONCE
};

/// The next generation of xtuner, as its documents describe it: it is not in a release yet.
pub(crate) const XTUNER_V1: Trainer = Trainer {
    name: "xtuner_v1",
    distribution: Some("xtuner"),
    recognise: |command, host| find(&XTUNER_V1, command, host),
    ..RANKS
};

/// torchrun starts its modules as well as `deepspeed --module` does: they read LOCAL_RANK.
pub(crate) const OPENRLHF: Trainer = Trainer {
    name: "openrlhf",
    distribution: Some("openrlhf"),
    recognise: |command, host| find(&OPENRLHF, command, host),
    ..RANKS
};

/// Its trainings by reinforcement start Ray: they are `ray`'s.
pub(crate) const VERL: Trainer = Trainer {
    name: "verl",
    distribution: Some("verl"),
    recognise: |command, host| find(&VERL, command, host),
    ..RANKS
};

/// There is one driver, and Ray places the workers.
pub(crate) const RAY: Trainer = Trainer {
    name: "ray",
    distribution: Some("ray"),
    launch: LaunchTraits { consoles: &["ray"], ..ONCE.launch },
    recognise: |command, host| find(&RAY, command, host),
    ..ONCE
};

fn find(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    let block = blocks().find(|(name, block)| *name == trainer.name && is_on(block, command, host))?.1;
    let program = command.target.name();
    let first = command.args.first().map_or_else(String::new, |word| format!(" {}", word.to_string_lossy()));
    let why = field(block, "why").replace("{program}", program).replace("{command}", &format!("{program}{first}"));
    let no_config = Some(NoConfig::new(why, field(block, "help")));
    Some(Job { no_config, ..Job::of(trainer, command) })
}

/// Each with the name of its front end.
pub fn blocks() -> impl Iterator<Item = (&'static str, &'static str)> {
    rows::blocks(TABLE).filter_map(|block| block.split_once('\n'))
}

/// What stands behind a word at the beginning of a line.
pub fn field(block: &'static str, name: &str) -> &'static str {
    block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap_or_default()
}

fn is_on(block: &'static str, command: &ParsedCommand, host: &Host) -> bool {
    let words = |name| field(block, name).split_ascii_whitespace();
    let (target, text) = (&command.target, field(block, "text"));
    let is_console = words("console").any(|name| target.is_console(name) || target.is_module(name))
        && words("first").all(|first| command.args.first().is_some_and(|word| word == first));
    let shows = |script: &str| {
        let imported: Vec<&str> = words("import").collect();
        let has_text = !text.is_empty() && script.contains(text);
        imports(script, &imported) || has_text && !words("unless").any(|word| script.contains(word))
    };
    let reads_script = || command.source(host).is_some_and(|source| shows(&source.text));
    is_console || words("module").any(|module| target.is_module(module)) || reads_script()
}
