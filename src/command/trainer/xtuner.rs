//! xtuner. `xtuner train CONFIG …` starts `tools/train.py` of its package: alone, or with torchrun and `--launcher pytorch`
//! where NPROC_PER_NODE or NNODES is more than 1. zlaunch runs that file directly. CONFIG is a Python file with model, batch
//! and optimizer, which is not read. With `framework = 'huggingface'` in it, transformers fills more keys than told here.

use super::hf;
use crate::base::recorded::Table;
use crate::base::vars;
use crate::command::argv::OptionList;
use crate::command::front_end::{
    ArgumentTraits, AutoFiller, ConfigTraits, LaunchTraits, Ranks, Variable,
};
use crate::command::job::{Job, Trainer};
use crate::command::shipped::ShippedConfigs;
use crate::command::target::ParsedCommand;
use crate::host::Host;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "xtuner",
    distribution: Some("xtuner"),
    recognise,
    launch: LaunchTraits {
        consoles: &["xtuner"],
        // xtuner gives it to each rank of torchrun. For tasks of srun or mpirun the user gives it, or nobody.
        rank_args: |args, ranks| match (
            ranks,
            args.text("launcher")
                .as_ref()
                .map(|given| given.value.as_str()),
        ) {
            (Ranks::Single, _)
            | (_, Some("pytorch"))
            | (Ranks::Existing, Some("slurm" | "mpi")) => &[],
            _ => &["--launcher", "pytorch"],
        },
        ..hf::TRAINER.launch
    },
    config: ConfigTraits {
        filler: Some(AutoFiller::Trainer),
        shipped: Some(ShippedConfigs {
            yields_to_file: true,
            has_stand_ins: false,
        }),
        reads_base64: false,
        ..hf::TRAINER.config
    },
    arguments: ArgumentTraits {
        fields: "launcher",
        options: |_| OptionList::Known(&[OPTIONS]),
        ..hf::TRAINER.arguments
    },
    ..hf::TRAINER
};

const MODULE: &str = "xtuner.tools.train";
/// The same in 0.1.23 and 0.2.0.
const OPTIONS: Table = Table(include_str!("../../recorded/xtuner.txt"));

fn recognise(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    if command.target.is_module(MODULE) {
        return Some(Job::of(trainer, command));
    }
    command
        .args
        .first()
        .filter(|mode| mode.eq_ignore_ascii_case("train") && trainer.is_console(&command.target))?;
    let mut job = Job::behind(trainer, command, &[MODULE], host);
    for (own, name) in [("ADDR", vars::MASTER_ADDR), ("PORT", vars::MASTER_PORT)] {
        let value = host.nonempty_var(own);
        job.variables.extend(
            value.map(|value| Variable::new(name, value, format!("{own}, as xtuner reads it"))),
        );
    }
    Some(job)
}
