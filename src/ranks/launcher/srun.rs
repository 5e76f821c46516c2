//! Slurm's `srun`. In the shell of a job on several machines, it starts this same command once on each of them, and there
//! zlaunch finds its place in the variables of its task. In a command that starts with `srun`, zlaunch is put behind it.

use std::ffi::{OsStr, OsString};

use super::{
    refused,
    tables::srun::{PER_TASK, SHORT_SWITCHES, SWITCHES},
};
use crate::{
    base::vars,
    command::target::base_name,
    host::{self, Host},
    ranks::topology::{
        Role, Topology,
        slurm::{PerMachine, in_step, requested_gpus},
    },
    report::{NOT_FOUND, prelude::*},
};

const PROGRAM: &str = "srun";

pub struct SrunPrefix<'a> {
    flags: &'a [OsString],
    pub command: &'a [OsString],
}

impl<'a> SrunPrefix<'a> {
    /// Commands with several programs (`:` or `--multi-prog`) are left alone.
    pub fn split(command: &'a [OsString]) -> Option<Self> {
        let (program, rest) = command.split_first()?;
        if base_name(program) != PROGRAM {
            return None;
        }
        let mut at = 0;
        while let Some(word) = rest
            .get(at)
            .and_then(|word| word.to_str())
            .filter(|word| word.starts_with('-'))
        {
            at += if takes_next(word) { 2 } else { 1 };
        }
        let (flags, command) = rest.split_at(at.min(rest.len()));
        let several = command.iter().any(|word| word == ":")
            || flags.iter().any(|flag| flag == "--multi-prog");
        (!command.is_empty() && !several).then_some(SrunPrefix { flags, command })
    }

    /// Refuses `srun` inside a step: a second step would wait for ever for the first, unless they share the machines.
    pub fn check(&self, host: &Host) -> Result<(), Problem> {
        let shares = self.flags.iter().any(|flag| flag == "--overlap")
            || host.nonempty_var("SLURM_OVERLAP").is_some();
        if !in_step(host) || shares {
            return Ok(());
        }
        Err(refused("`srun` inside a step waits for that step to end")
            .at(Place::variable("SLURM_STEP_ID", ""))
            .fix(
                drop_word("`srun`")
                    .of(Owner::Launcher)
                    .remark("zlaunch works out its place itself")
                    .or(run("srun --overlap")),
            ))
    }
}

fn takes_next(word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(long) => !long.is_empty() && !long.contains('=') && !SWITCHES.contains(&long),
        // `-N 2`, but not `-N2` or `-lu`.
        None => word.len() == 2 && !SHORT_SWITCHES.contains(&word.as_bytes()[1]),
    }
}

/// The line that runs the command on every machine of the job, behind zlaunch with these options of ours. `prefix`: the
/// command's own `srun`.
pub fn argv(
    prefix: Option<&SrunPrefix>,
    options: &[OsString],
    command: &[OsString],
    extra: &[OsString],
    topology: &Topology,
    host: &Host,
) -> Result<Vec<OsString>, Problem> {
    let Some(program) = host.find_program(OsStr::new(PROGRAM)) else {
        let what = "the job has several machines, but `srun`, which reaches them, is not on PATH";
        let fix = run("srun --ntasks-per-node=1 zlaunch …")
            .remark("from a shell that has srun, outside the container");
        return Err(refused(what).fix(fix).status(NOT_FOUND));
    };
    let flags = prefix.map_or_else(|| flags(topology, host), |prefix| prefix.flags.to_vec());
    let command = prefix.map_or(command, |prefix| prefix.command);
    let zlaunch = host::this_program().into_os_string();
    Ok([
        &[program.into_os_string()],
        &flags[..],
        extra,
        &[zlaunch],
        options,
        &["--".into()],
        command,
    ]
    .concat())
}

fn flags(topology: &Topology, host: &Host) -> Vec<OsString> {
    let mut flags = match &topology.role {
        // Each group has its own number of machines.
        Role::Shell { groups } if *groups > 1 => vec![format!("--het-group=0-{}", groups - 1)],
        _ => {
            let machines = topology.machines();
            vec![
                format!("--nodes={machines}"),
                format!("--ntasks={machines}"),
            ]
        }
    };
    flags.extend(
        [
            "--ntasks-per-node=1",
            "--kill-on-bad-exit=1",
            "--export=ALL",
        ]
        .map(str::to_string),
    );
    flags.extend(gpus_of_all_tasks(host));
    flags.into_iter().map(OsString::from).collect()
}

/// The option that gives the one task of a machine the GPUs of all tasks. In a job with GPUs per task, srun would give it
/// only the share of one.
pub fn gpus_of_all_tasks(host: &Host) -> Option<String> {
    let tasks = several_tasks(host)?;
    // `2`, `a100:2`, or, in newer versions, `cpu=4,gres/gpu:a100=2`.
    let in_list = || {
        host.nonempty_var(vars::SLURM_TRES_PER_TASK)?
            .split(',')
            .find_map(|part| requested_gpus(part.strip_prefix("gres/gpu")?))
    };
    let each = host
        .nonempty_var(vars::SLURM_GPUS_PER_TASK)
        .and_then(requested_gpus)
        .or_else(in_list)?;
    if let [tasks] = &tasks[..] {
        return Some(format!("--gres=gpu:{}", tasks.count.checked_mul(each)?));
    }
    let all = tasks.iter().try_fold(0_u32, |sum, tasks| {
        sum.checked_add(tasks.count.checked_mul(tasks.machines)?)
    })?;
    Some(format!("--gpus={}", all.checked_mul(each)?))
}

fn several_tasks(host: &Host) -> Option<Vec<PerMachine>> {
    let tasks = PerMachine::parse(host.nonempty_var(vars::SLURM_TASKS_PER_NODE)?)?;
    tasks.iter().any(|tasks| tasks.count > 1).then_some(tasks)
}

/// Variables that would give the one task of a machine only the share of one.
pub fn per_task_variables(host: &Host) -> Vec<String> {
    if several_tasks(host).is_none() {
        return vec![];
    }
    PER_TASK
        .iter()
        .filter(|name| host.var_os(name).is_some())
        .map(|name| (*name).to_string())
        .collect()
}
