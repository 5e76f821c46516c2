//! Lightning and Fabric. A script gives the strategy in its code or by an option of its own, and `DeepSpeedStrategy` takes
//! the config that PL_DEEPSPEED_CONFIG_PATH names, unless it is given one. Ranks of torchrun are accepted as they are.

use super::hf;
use crate::base::vars;
use crate::command::front_end::{ArgumentTraits, AutoFiller, ConfigTraits, HandOver, NoConfig, Variable, text_of};
use crate::command::job::{Job, Trainer};
use crate::command::script::signs::{calls, imports, is_text, keyword, shown};
use crate::command::target::ParsedCommand;
use crate::host::Host;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "lightning",
    distribution: Some("lightning"),
    recognise,
    config: ConfigTraits {
        filler: Some(AutoFiller::IfMissing(source_of)),
        hand_over: HandOver::Environment { config: vars::PL_DEEPSPEED_CONFIG_PATH, switch: None },
        reads_base64: false,
        ..hf::TRAINER.config
    },
    arguments: ArgumentTraits { fields: "", ..hf::UNRECORDED },
    ..hf::TRAINER
};

const PACKAGES: &[&str] = &["lightning", "pytorch_lightning", "lightning_fabric", "lightning_pytorch"];
/// What trains.
const TRAINERS: &[&str] = &["Trainer", "Fabric", "LightningCLI", FROM_OPTIONS];
/// Before Lightning 2: the options of the command line are the Trainer's own.
const FROM_OPTIONS: &str = "from_argparse_args";

fn recognise(command: &ParsedCommand, host: &Host) -> Option<Job> {
    let text = text_of(command, host).filter(|text| imports(text, PACKAGES))?;
    let trains = TRAINERS.iter().any(|name| calls(text, name).next().is_some());
    let words: Vec<_> = command.args.iter().map(|word| word.to_string_lossy()).collect();
    // A script that takes the config by an argument sets the variable itself.
    let by_argument = text.contains("\"--deepspeed") || text.contains("'--deepspeed");
    if !trains || by_argument || text.contains("TrainingArguments") {
        return None;
    }
    let mut job = Job::of(&TRAINER, command);
    job.variables = processes(text, host).into_iter().collect();
    job.no_config = in_code(text).or_else(|| other_strategy(text, &words));
    Some(job)
}

/// Lightning refuses another number of ranks than the script says.
fn processes(text: &str, host: &Host) -> Option<Variable> {
    const OTHERS: &[&str] =
        &[vars::NPROC_PER_NODE, vars::PET_NPROC_PER_NODE, vars::RANK, vars::WORLD_SIZE, "SLURM_JOB_ID"];
    let trainers = || TRAINERS.iter().flat_map(|name| calls(text, name));
    let devices =
        trainers().find_map(|call| keyword(call, "devices"))?.parse::<u32>().ok().filter(|count| *count > 0)?;
    let one_machine = trainers().find_map(|call| keyword(call, "num_nodes")).is_none_or(|nodes| nodes == "1");
    let is_open = one_machine && OTHERS.iter().all(|name| host.nonempty_var(name).is_none());
    is_open
        .then(|| Variable::new(vars::NPROC_PER_NODE, devices.to_string(), format!("devices={devices} in the script")))
}

/// A config that the script gives itself counts.
fn in_code(text: &str) -> Option<NoConfig> {
    let config = calls(text, "DeepSpeedStrategy").find_map(|call| keyword(call, "config"))?;
    Some(NoConfig::new(
        format!("the script passes its own config to the strategy: DeepSpeedStrategy(config={})", shown(config)),
        "write DeepSpeedStrategy() there: zlaunch passes the config in PL_DEEPSPEED_CONFIG_PATH",
    ))
}

/// Another strategy reads no config. One that comes from elsewhere may be DeepSpeed's.
fn other_strategy(text: &str, words: &[std::borrow::Cow<str>]) -> Option<NoConfig> {
    let is_deepspeed = |text: &str| text.contains("deepspeed") || text.contains("DeepSpeed");
    let named: Vec<&str> =
        TRAINERS.iter().flat_map(|name| calls(text, name)).filter_map(|call| keyword(call, "strategy")).collect();
    let from_elsewhere = named.iter().any(|value| !is_text(value))
        || ["LightningCLI", FROM_OPTIONS].iter().any(|name| calls(text, name).next().is_some());
    if is_deepspeed(text) || words.iter().any(|word| is_deepspeed(word)) || from_elsewhere {
        return None;
    }
    let strategy = named.first().map_or("its default strategy".to_string(), |value| format!("strategy={value}"));
    Some(NoConfig::new(
        format!("the script trains with {strategy}, which reads no DeepSpeed config"),
        "write strategy=\"deepspeed\" there: zlaunch hands it the config in PL_DEEPSPEED_CONFIG_PATH",
    ))
}

/// Where the value of a key comes from that is not in the config (`strategies/deepspeed.py`).
fn source_of(key: &str) -> Option<&'static str> {
    match key {
        "train_micro_batch_size_per_gpu" => Some("Lightning takes it from the dataloader, Fabric takes 1"),
        "gradient_accumulation_steps" => Some("Lightning sets it: accumulate_grad_batches of its Trainer"),
        "train_batch_size" => Some("DeepSpeed infers it"),
        "gradient_clipping" => Some("Lightning sets it: gradient_clip_val of its Trainer"),
        "fp16.enabled" | "bf16.enabled" => Some("Lightning sets it: precision of its Trainer"),
        _ if key.starts_with("zero_optimization.") => Some("DeepSpeed takes its default"),
        _ => None,
    }
}
