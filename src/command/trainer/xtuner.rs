//! xtuner. `xtuner train CONFIG …` starts `tools/train.py` of its package: alone, or with torchrun and `--launcher pytorch`
//! where NPROC_PER_NODE or NNODES is more than 1. zlaunch runs that file directly. CONFIG is a Python file with model, batch
//! and optimizer, which is not read. With `framework = 'huggingface'` in it, transformers fills more keys than told here.

use crate::{
    base::vars,
    command::{
        front_end::Variable,
        job::{Job, Trainer},
        target::ParsedCommand,
    },
    host::Host,
};

pub fn recognise(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    let mut job = Job::of_command(trainer, command, host)?;
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
