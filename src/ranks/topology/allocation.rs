//! What an engine says about this process, and problems with the places of ranks that several files report.

use std::fmt::Display;

use crate::base::source::{Source, Sourced};
use crate::report::fix::{Fix, Fixes, give, run};
use crate::report::{Place, Problem, Rule};

/// `None`: the engine's variables say nothing of a larger job. It is a problem if they say it only in part.
pub(super) type Answer = Result<Option<Allocation>, Problem>;

/// What an engine says about this process.
#[derive(Debug, Default)]
pub(super) struct Allocation {
    pub(super) engine: &'static str,
    pub(super) placement: Placement,
    pub(super) nnodes: Sourced<u32>,
    /// `None`: this is the shell of the job, which is none of its tasks.
    pub(super) node_rank: Option<Sourced<u32>>,
    /// Refused unless the user says which machine this is: nothing would run on the others.
    pub(super) alone: Option<Problem>,
    /// GPUs on this machine, if the engine counts them.
    pub(super) gpus: Option<Sourced<u32>>,
    pub(super) master_addr: Option<Sourced<String>>,
    pub(super) master_port: Option<Sourced<u16>>,
    /// The other machines may have another number of GPUs.
    pub(super) peers_differ: bool,
    /// `master_addr` does not lead to rank 0.
    pub(super) address_problem: Option<Problem>,
    /// RANK and WORLD_SIZE were set by this engine, and count machines or tasks.
    pub(super) sets_rank_variables: bool,
}

#[derive(Debug, Default)]
pub(super) enum Placement {
    /// One task on each machine: a launcher starts the ranks there.
    #[default]
    Machine,
    Rank(Task),
    /// The shell of a Slurm job with so many groups of machines, before anything runs on the other machines. `outside`: it is
    /// on none of the job's machines.
    SlurmShell {
        groups: u32,
        outside: bool,
    },
}

#[derive(Clone, Debug)]
pub struct Task {
    pub rank: Sourced<u32>,
    pub(crate) local_rank: Sourced<u32>,
    pub world_size: Sourced<u32>,
    pub(crate) local_world_size: Sourced<u32>,
}

impl Allocation {
    /// No engine placed this process.
    pub(super) fn this_machine() -> Self {
        Allocation {
            nnodes: Sourced::new(1, Source::Default),
            ..Allocation::default()
        }
    }

    /// The operators of Kubernetes reserve this port, unless they name another.
    pub(super) fn task_per_machine(
        nnodes: Sourced<u32>,
        node_rank: Option<Sourced<u32>>,
        master_addr: Option<Sourced<String>>,
    ) -> Self {
        Allocation {
            nnodes,
            node_rank,
            master_addr,
            master_port: Some(Sourced::new(23456, Source::Default)),
            ..Allocation::default()
        }
    }
}

/// Ranks that cannot be started as they are asked for.
pub(super) fn refused(what: impl Into<String>) -> Problem {
    Problem::error(Rule::Ranks, what)
}

pub(super) fn give_place() -> Fixes {
    place_flags("N", "I", "HOST").or(alone())
}

pub(super) fn place_flags(nnodes: &str, node_rank: &str, first: &str) -> Fix {
    give("--nnodes", nnodes)
        .and(give("--node-rank", node_rank))
        .and(give("--master-addr", first))
        .and(give("--master-port", 29500))
}

pub(crate) fn alone() -> Fix {
    give("--nnodes", 1).remark("for this machine alone")
}

/// The variables that `engine` set say that the job is larger than this process, but nothing says `missing`.
pub(super) fn place_unknown<P: Into<Place>>(
    engine: &str,
    set: impl IntoIterator<Item = P>,
    missing: &str,
) -> Problem {
    let what =
        format!("this seems to be part of a larger job of {engine}, but nothing says {missing}");
    set.into_iter()
        .fold(refused(what), Problem::at)
        .fix(give_place())
}

pub(super) fn not_understood(engine: &str, variable: &str) -> Problem {
    let what =
        format!("{engine} started this process, but its variables do not say on which machine");
    refused(what)
        .at(Place::bare_variable(variable))
        .fix(give_place())
}

pub(super) fn tasks_spread_unevenly(size: &Sourced<u32>, local: &Sourced<u32>) -> Problem {
    let problem = Problem::error(
        Rule::UnevenTasks,
        "the machines have different numbers of tasks",
    );
    problem
        .at(size)
        .at(local)
        .fix(run("mpirun --map-by ppr:N:node").remark("the same number on each"))
}

/// `kind`: `rank` or `machine`.
pub(super) fn too_large<T: Display>(
    kind: &str,
    number: &Sourced<T>,
    count: &Sourced<T>,
) -> Problem {
    let what = format!("{kind} {number} of {count} does not exist: counting starts at 0");
    let below = format!("{} below {count}", number.from);
    let more = if kind == "machine" {
        ", or another number of machines with --nnodes"
    } else {
        ""
    };
    refused(what).at(number).at(count).fix(below + more)
}

pub(super) fn other_number_of_machines(asked: &Sourced<u32>, seen: &Sourced<u32>) -> Problem {
    let what = format!("{asked} machines are asked for, but the job has {seen}");
    refused(what).at(asked).at(seen).fix(
        "leave the number to the scheduler, or give --node-rank, --master-addr and --master-port on each machine too",
    )
}

/// `asked` would start ranks beside those that exist.
pub(crate) fn tasks_are_ranks(local: &Sourced<u32>, asked: Place) -> Problem {
    let what = format!("{local} tasks run on this machine, each of them a rank already");
    let step = run("srun --ntasks-per-node=1").remark("one task on each machine");
    refused(what)
        .at(local)
        .at(asked)
        .fix(step.or("leave the number to the tasks"))
}

pub(super) fn meets_on_loopback(address: &Sourced<String>, nnodes: &Sourced<u32>) -> Problem {
    let problem = Problem::error(
        Rule::Loopback,
        format!("no other machine reaches {address}"),
    );
    let fix = give("--master-addr", "HOST").remark("the name or address of machine 0");
    problem
        .at(address)
        .at(nnodes)
        .fix(fix.or("unset it under Slurm"))
}

pub(super) fn not_a_number(text: &Sourced<String>, least: &str, most: u64) -> Problem {
    let what = format!("`{text}` is not a whole number from {least} to {most}");
    refused(what)
        .at(text)
        .fix(format!("set {} to a number", text.from))
}

/// torchrun can start more machines later; the config needs their number now.
pub(super) fn range_of_machines(nnodes: &Sourced<String>) -> Problem {
    let what =
        format!("`{nnodes}` machines are a range, and only torchrun itself starts such a job");
    let by_torchrun = run("zlaunch -- torchrun train.py").remark("it reads PET_* itself");
    refused(what).at(nnodes).fix(by_torchrun.or(alone()))
}
