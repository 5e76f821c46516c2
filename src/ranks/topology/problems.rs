//! Problems that several files of this folder report.

use std::fmt::Display;

use crate::base::source::Sourced;
use crate::report::fix::{Fix, Fixes, give, run};
use crate::report::{Place, Problem, Rule};

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
        .fold(Problem::error(Rule::Ranks, what), Problem::at)
        .fix(give_place())
}

pub(super) fn not_understood(engine: &str, variable: &str) -> Problem {
    let what =
        format!("{engine} started this process, but its variables do not say on which machine");
    Problem::error(Rule::Ranks, what)
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
    let what = format!(
        "{kind} {} of {} does not exist: counting starts at 0",
        number.value, count.value
    );
    let below = format!("{} below {}", number.from, count.value);
    let more = if kind == "machine" {
        ", or another number of machines with --nnodes"
    } else {
        ""
    };
    Problem::error(Rule::Ranks, what)
        .at(number)
        .at(count)
        .fix(below + more)
}

pub(super) fn other_number_of_machines(asked: &Sourced<u32>, seen: &Sourced<u32>) -> Problem {
    let what = format!(
        "{} machines are asked for, but the job has {}",
        asked.value, seen.value
    );
    Problem::error(Rule::Ranks, what).at(asked).at(seen).fix(
        "leave the number to the scheduler, or give --node-rank, --master-addr and --master-port on each machine too",
    )
}

/// `asked` would start ranks beside those that exist.
pub(crate) fn tasks_are_ranks(local: &Sourced<u32>, asked: Place) -> Problem {
    let what = format!(
        "{} tasks run on this machine, each of them a rank already",
        local.value
    );
    let step = run("srun --ntasks-per-node=1").remark("one task on each machine");
    Problem::error(Rule::Ranks, what)
        .at(local)
        .at(asked)
        .fix(step.or("leave the number to the tasks"))
}

pub(super) fn meets_on_loopback(address: &Sourced<String>, nnodes: &Sourced<u32>) -> Problem {
    let problem = Problem::error(
        Rule::Loopback,
        format!("no other machine reaches {}", address.value),
    );
    let fix = give("--master-addr", "HOST").remark("the name or address of machine 0");
    problem
        .at(address)
        .at(nnodes)
        .fix(fix.or("unset it under Slurm"))
}

pub(super) fn not_a_number(text: &Sourced<String>, least: &str, most: u64) -> Problem {
    let what = format!(
        "`{}` is not a whole number from {least} to {most}",
        text.value
    );
    Problem::error(Rule::Ranks, what)
        .at(text)
        .fix(format!("set {} to a number", text.from))
}

/// torchrun can start more machines later; the config needs their number now.
pub(super) fn range_of_machines(nnodes: &Sourced<String>) -> Problem {
    let what = format!(
        "`{}` machines are a range, and only torchrun itself starts such a job",
        nnodes.value
    );
    let by_torchrun = run("zlaunch -- torchrun train.py").remark("it reads PET_* itself");
    Problem::error(Rule::Ranks, what)
        .at(nnodes)
        .fix(by_torchrun.or(alone()))
}
