//! xtuner. `xtuner train CONFIG …` starts `tools/train.py` of its package: alone, or with torchrun and `--launcher pytorch`
//! where NPROC_PER_NODE or NNODES is more than 1. zlaunch runs that file directly. CONFIG is a Python file with model, batch
//! and optimizer, which is not read. With `framework = 'huggingface'` in it, transformers fills more keys than told here.

use super::hf;
use crate::base::recorded::Table;
use crate::base::vars;
use crate::command::argv::{Args, ArgumentError, OptionList};
use crate::command::front_end::{ArgumentTraits, AutoFiller, ConfigTraits, LaunchTraits, Ranks, Variable};
use crate::command::job::{Job, Trainer};
use crate::command::python::Python;
use crate::command::shipped::ShippedConfigs;
use crate::command::target::{ParsedCommand, Target};
use crate::host::Host;
use crate::report::{self, Problem, Wanted};

pub(crate) const TRAINER: Trainer = Trainer {
    name: "xtuner",
    distribution: Some("xtuner"),
    recognise,
    launch: LaunchTraits { consoles: &["xtuner"], rank_args: launcher_args, ..hf::TRAINER.launch },
    config: ConfigTraits {
        filler: Some(AutoFiller::Trainer(source_of)),
        shipped: Some(ShippedConfigs { yields_to_file: true, has_stand_ins: false }),
        reads_base64: false,
        ..hf::TRAINER.config
    },
    arguments: ArgumentTraits {
        fields: "launcher seed",
        options: |_| OptionList::Known(&[OPTIONS]),
        refusals,
        ..hf::TRAINER.arguments
    },
    ..hf::TRAINER
};

const MODULE: &str = "xtuner.tools.train";
/// The same in 0.1.23 and 0.2.0.
const OPTIONS: Table = Table(include_str!("../../recorded/xtuner.txt"));
const LAUNCHERS: &[&str] = &["pytorch", "none", "slurm", "mpi"];

fn recognise(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    if command.target.is_module(MODULE) {
        return Some(Job::of(trainer, command));
    }
    let (mode, rest) = command.args.split_first()?;
    if !trainer.is_console(&command.target) || !mode.eq_ignore_ascii_case("train") {
        return None;
    }
    let mut job = Job::behind_console(trainer, command, &[MODULE], rest, host);
    for (own, name) in [("ADDR", vars::MASTER_ADDR), ("PORT", vars::MASTER_PORT)] {
        let value = host.nonempty_var(own);
        job.variables.extend(value.map(|value| Variable::new(name, value, format!("{own}, as xtuner reads it"))));
    }
    Some(job)
}

/// xtuner gives `--launcher pytorch` to each rank of torchrun. For tasks of srun or mpirun the user gives it, or nobody.
fn launcher_args(args: &Args, ranks: Ranks) -> &'static [&'static str] {
    let given = args.text("launcher").map(|sourced| sourced.value);
    match (ranks, given.as_deref()) {
        (Ranks::Single, _) | (_, Some("pytorch")) | (Ranks::Existing, Some("slurm" | "mpi")) => &[],
        _ => &["--launcher", "pytorch"],
    }
}

/// The keys that it sets (`tools/train.py`, mmengine's `DeepSpeedStrategy`).
fn source_of(key: &str) -> Option<&'static str> {
    match key {
        "train_micro_batch_size_per_gpu" => Some("xtuner sets it: train_dataloader.batch_size of its config"),
        "gradient_accumulation_steps" => Some("xtuner sets it: optim_wrapper.accumulative_counts of its config"),
        "gradient_clipping" => Some("xtuner sets it: optim_wrapper.clip_grad.max_norm of its config, else 1.0"),
        "fp16.enabled" | "bf16.enabled" => Some("xtuner asks the GPU: bf16 where it can, else fp16"),
        _ if key.starts_with("optimizer.params.") => Some("not used: xtuner uses the optimizer of its own config"),
        // DeepSpeed's models of the sections drop an "auto".
        _ if key.starts_with("zero_optimization.") => Some("DeepSpeed uses its default"),
        _ => None,
    }
}

fn refusals(args: &Args, _: &Target, _: Option<&Python>) -> Vec<Problem> {
    let no_option = |word: &str, nearest: Option<&str>| report::trainer_has_no_option("xtuner", word, nearest, "");
    let unknown = args.unknown(&[OPTIONS]).map(|word| no_option(word, None));
    // Options have dashes, only `--local_rank` has both spellings.
    let words = args.words().iter().take_while(|word| *word != "--").filter_map(|word| word.to_str());
    let names = words.filter_map(|word| word.split('=').next().filter(|name| name.starts_with("--")));
    let underscored = names.filter(|name| ["--work_dir", "--cfg_options"].contains(name));
    let respelled = underscored.map(|name| no_option(name, Some(&format!("--{}", name[2..].replace('_', "-")))));
    let seed = if let Err(ArgumentError::Refused(problem)) = args.int("seed") { Some(problem) } else { None };
    let unknown_launcher = args.text("launcher").filter(|given| !LAUNCHERS.contains(&given.value.as_str()));
    let launcher = unknown_launcher
        .map(|given| report::argument_of_wrong_type(&given.from.to_string(), &given.value, Wanted::OneOf(LAUNCHERS)));
    unknown.chain(respelled).chain(seed).chain(launcher).collect()
}
