//! Lightning and Fabric. The script chooses the strategy, and `DeepSpeedStrategy` takes the config that
//! PL_DEEPSPEED_CONFIG_PATH names, unless the script gives it one. Ranks of torchrun are accepted as they are.

use std::ffi::OsString;

use crate::base::vars;
use crate::command::front_end::{NoConfig, Variable};
use crate::command::job::{Job, Trainer};
use crate::command::script::{calls, is_text, keyword, shown};
use crate::command::target::ParsedCommand;
use crate::host::Host;

const PACKAGES: &[&str] = &[
    "lightning",
    "pytorch_lightning",
    "lightning_fabric",
    "lightning_pytorch",
];
const TRAINERS: &[&str] = &["Trainer", "Fabric", "LightningCLI", FROM_OPTIONS];
/// Before Lightning 2: the options of the command line are the Trainer's own.
const FROM_OPTIONS: &str = "from_argparse_args";

pub(super) fn recognise(
    trainer: &'static Trainer,
    command: &ParsedCommand,
    host: &Host,
) -> Option<Job> {
    let source = command.source(host).filter(|it| it.imports(PACKAGES))?;
    let text = source.text.as_str();
    let trainers: Vec<&str> = TRAINERS.iter().flat_map(|name| calls(text, name)).collect();
    // A script that takes the config by an argument sets the variable itself.
    let by_argument = text.contains("\"--deepspeed") || text.contains("'--deepspeed");
    if trainers.is_empty() || by_argument || text.contains("TrainingArguments") {
        return None;
    }
    let own = calls(text, "DeepSpeedStrategy")
        .into_iter()
        .find_map(|call| keyword(call, "config"))
        .map(shown);
    let in_code = own.map(|config| {
        NoConfig::new(
            format!("the script passes its own config to the strategy: DeepSpeedStrategy(config={config})"),
            "write DeepSpeedStrategy() in the script: zlaunch passes the config in PL_DEEPSPEED_CONFIG_PATH",
        )
    });
    let no_config = in_code.or_else(|| other_strategy(text, &trainers, &command.args));
    let variables = processes(&trainers, host).into_iter().collect();
    Some(Job {
        variables,
        no_config,
        ..Job::of(trainer, command, host)
    })
}

/// Lightning refuses another number of ranks than the script says.
fn processes(trainers: &[&str], host: &Host) -> Option<Variable> {
    const OTHERS: &[&str] = &[
        vars::NPROC_PER_NODE,
        vars::PET_NPROC_PER_NODE,
        vars::RANK,
        vars::WORLD_SIZE,
        "SLURM_JOB_ID",
    ];
    let given = |name| trainers.iter().find_map(|call| keyword(call, name));
    let devices = given("devices")?
        .parse::<u32>()
        .ok()
        .filter(|count| *count > 0)?;
    let several_machines = given("num_nodes").is_some_and(|nodes| nodes != "1");
    if several_machines || OTHERS.iter().any(|name| host.nonempty_var(name).is_some()) {
        return None;
    }
    Some(Variable::new(
        vars::NPROC_PER_NODE,
        devices.to_string(),
        format!("devices={devices} in the script"),
    ))
}

/// Another strategy reads no config. One that is not written out may be DeepSpeed's.
fn other_strategy(text: &str, trainers: &[&str], words: &[OsString]) -> Option<NoConfig> {
    let is_deepspeed = |text: &str| text.contains("deepspeed") || text.contains("DeepSpeed");
    let named: Vec<&str> = trainers
        .iter()
        .filter_map(|call| keyword(call, "strategy"))
        .collect();
    let from_elsewhere = named.iter().any(|value| !is_text(value))
        || ["LightningCLI", FROM_OPTIONS]
            .iter()
            .any(|name| !calls(text, name).is_empty());
    if is_deepspeed(text)
        || words
            .iter()
            .any(|word| is_deepspeed(&word.to_string_lossy()))
        || from_elsewhere
    {
        return None;
    }
    let strategy = named
        .first()
        .map_or("its default strategy".to_string(), |value| {
            format!("strategy={value}")
        });
    Some(NoConfig::new(
        format!("the script uses {strategy}, which reads no DeepSpeed config"),
        "write strategy=\"deepspeed\" in the script: zlaunch passes the config in PL_DEEPSPEED_CONFIG_PATH",
    ))
}
