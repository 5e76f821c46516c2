//! Slurm's `srun`. In the shell of a job on several machines nothing runs on the others yet, so this same command is
//! started once on each of them, where it finds its place in the variables of its task. A command that starts with
//! `srun` is turned inside out for the same reason: each of its tasks begins with zlaunch.

use std::ffi::{OsStr, OsString};

use super::Kind;
use crate::error::{self, Problem};
use crate::host::{self, Host};
use crate::said::Said;
use crate::target::base_name;
use crate::topology::{Standing, Topology};
use crate::vars;

const PROGRAM: &str = "srun";

/// Options of srun without a value, or with one only behind `=`. All others take the next word.
const SWITCHES: &[&str] = &[
    "compress",
    "contiguous",
    "disable-status",
    "exact",
    "exclusive",
    "help",
    "hold",
    "immediate",
    "interactive",
    "kill-on-bad-exit",
    "label",
    "nice",
    "no-allocate",
    "no-kill",
    "overcommit",
    "overlap",
    "oversubscribe",
    "preserve-env",
    "propagate",
    "pty",
    "quiet",
    "quit-on-interrupt",
    "reboot",
    "resv-ports",
    "send-libs",
    "share",
    "spread-job",
    "unbuffered",
    "usage",
    "use-min-nodes",
    "verbose",
    "version",
];

/// The same in one letter.
const SHORT_SWITCHES: &[u8] = b"EHIkKlOQsuvXZhV";

/// What the job asked for each of its tasks. One task on each machine must have all of it.
const PER_TASK: &[&str] = &[
    "SLURM_GPUS_PER_TASK",
    "SLURM_TRES_PER_TASK",
    "SLURM_TRES_BIND",
    "SLURM_GPU_BIND",
    "SLURM_CPUS_PER_TASK",
    "SRUN_CPUS_PER_TASK",
];

/// `srun FLAGS COMMAND`, apart.
pub(crate) struct Through<'a> {
    flags: &'a [OsString],
    pub(crate) command: &'a [OsString],
}

/// Several programs at once (`:` or `--multi-prog`) are left alone.
pub(crate) fn unwrap(command: &[OsString]) -> Option<Through<'_>> {
    let (program, rest) = command.split_first()?;
    if base_name(program) != PROGRAM {
        return None;
    }
    let count = count_flags(rest);
    let (flags, command) = rest.split_at(count);
    let several = command.iter().any(|word| word == ":") || flags.iter().any(|flag| flag == "--multi-prog");
    (!command.is_empty() && !several).then_some(Through { flags, command })
}

fn count_flags(words: &[OsString]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at).and_then(|word| word.to_str()).filter(|word| word.starts_with('-')) {
        at += if takes_next(word) { 2 } else { 1 };
    }
    at.min(words.len())
}

fn takes_next(word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(long) => !long.is_empty() && !long.contains('=') && !SWITCHES.contains(&long),
        // `-N 2`; `-N2` and `-lu` are whole.
        None => word.len() == 2 && !SHORT_SWITCHES.contains(&word.as_bytes()[1]),
    }
}

/// Only from the shell of a job: inside a step another one would wait for it for ever.
pub(super) fn possible(asked: &Said<Kind>, topology: &Topology) -> Result<(), Problem> {
    match topology.standing {
        Standing::Shell { .. } => Ok(()),
        _ => Err(error::srun_not_here(asked)),
    }
}

pub(super) fn argv(
    through: Option<&Through<'_>>,
    topology: &Topology,
    command: &[OsString],
    host: &Host,
) -> Result<Vec<OsString>, Problem> {
    let program = host.find_program(OsStr::new(PROGRAM)).ok_or_else(error::no_srun)?;
    let mut words: Vec<OsString> = vec![program.into_os_string()];
    match through {
        Some(through) => words.extend(through.flags.iter().cloned()),
        None => words.extend(flags(topology).into_iter().map(OsString::from)),
    }
    words.extend(host::own_command(command.len()));
    words.push("--".into());
    words.extend(through.map_or(command, |through| through.command).iter().cloned());
    Ok(words)
}

fn flags(topology: &Topology) -> Vec<String> {
    let mut flags = Vec::new();
    match topology.standing {
        // Each group has its own number of machines.
        Standing::Shell { groups } if groups > 1 => flags.push(format!("--het-group=0-{}", groups - 1)),
        _ => {
            let machines = topology.nnodes.as_ref().map_or(1, |nnodes| nnodes.value);
            flags.extend([format!("--nodes={machines}"), format!("--ntasks={machines}")]);
        }
    }
    flags.extend(["--ntasks-per-node=1", "--kill-on-bad-exit=1", "--export=ALL"].map(str::to_string));
    flags
}

/// Variables that would give each task only its share of the machine.
pub(crate) fn per_task_variables(host: &Host) -> Vec<String> {
    let several = host.filled(vars::SLURM_NTASKS_PER_NODE).is_some_and(|tasks| tasks != "1");
    let named = PER_TASK.iter().filter(|name| several && host.raw(name).is_some());
    named.map(|name| (*name).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_end_where_the_command_begins() {
        for (line, command) in [
            ("srun python x.py", "python x.py"),
            ("srun -N2 -n 8 --ntasks-per-node=4 -lu python x.py -n 3", "python x.py -n 3"),
            ("srun --nodes 2 --exclusive --gres gpu:4 -w node[01-02] swift sft", "swift sft"),
            ("/usr/bin/srun -K1 -I5 --export ALL torchrun x.py", "torchrun x.py"),
            ("srun --mpi=pmi2 --label -- python x.py", "python x.py"),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let through = unwrap(&words).unwrap();
            let rest: Vec<_> = through.command.iter().map(|word| word.to_str().unwrap()).collect();
            assert_eq!(rest.join(" "), command, "{line}");
        }
        for line in ["srun -N2", "srun a : b", "srun --multi-prog f", "sbatch x", "srun"] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(unwrap(&words).is_none(), "{line}");
        }
    }
}
