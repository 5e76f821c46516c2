//! xtuner. `xtuner train CONFIG …` starts `tools/train.py` of its package: alone, or with torchrun and `--launcher pytorch`
//! where NPROC_PER_NODE or NNODES is more than 1. zlaunch runs that file directly. CONFIG is a Python file with model, batch
//! and optimizer, which is not read. With `framework = 'huggingface'` in it, transformers fills more keys than told here.

use crate::base::vars;
use crate::command::argv::Args;
use crate::command::front_end::{Ranks, Variable};
use crate::command::job::{Job, Trainer};
use crate::command::target::ParsedCommand;
use crate::host::Host;

pub(super) const MODULE: &str = "xtuner.tools.train";

/// xtuner gives it to each rank of torchrun. For tasks of srun or mpirun the user gives it, or nobody.
pub(super) fn rank_args(args: &Args, ranks: Ranks) -> &'static [&'static str] {
    let launcher = args.text("launcher").map(|given| given.value);
    match (ranks, launcher.as_deref()) {
        (Ranks::Single, _) | (_, Some("pytorch")) | (Ranks::Existing, Some("slurm" | "mpi")) => &[],
        _ => &["--launcher", "pytorch"],
    }
}

pub(super) fn recognise(
    trainer: &'static Trainer,
    command: &ParsedCommand,
    host: &Host,
) -> Option<Job> {
    let mode = command.args.first().and_then(|mode| mode.to_str());
    let mode = mode.filter(|mode| mode.eq_ignore_ascii_case("train"));
    let mode = mode.unwrap_or("train");
    let mut job = Job::of_command(trainer, command, mode, &[MODULE], host)?;
    if !trainer.is_console(&command.target) {
        return Some(job);
    }
    for (own, name) in [("ADDR", vars::MASTER_ADDR), ("PORT", vars::MASTER_PORT)] {
        let value = host.nonempty_var(own);
        job.variables.extend(
            value.map(|value| Variable::new(name, value, format!("{own}, as xtuner reads it"))),
        );
    }
    Some(job)
}
