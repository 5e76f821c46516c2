//! Sentences about jobs of several machines: what an engine says, what it leaves open, and the flags to give instead.

use super::problem::Problem;
use super::rule::Rule;
use crate::base::source::Sourced;

/// The flags that say which machine of how many this is, with what is known of them.
fn place_flags(nnodes: Option<u32>, node_rank: Option<u32>, address: Option<&str>) -> String {
    let or = |number: Option<u32>, letter: &str| number.map_or(letter.to_string(), |number| number.to_string());
    format!(
        "--nnodes {} --node-rank {} --master-addr {} --master-port 29500",
        or(nnodes, "N"),
        or(node_rank, "I"),
        address.unwrap_or("HOST")
    )
}

const ALONE: &str = "for this machine alone: --nnodes 1";

/// What `engine` set says that the job is larger than this process, but nothing says `missing`.
pub(crate) fn place_unknown(engine: &str, set: &[String], missing: &str) -> Problem {
    let what = format!("this seems to be part of a larger job of {engine}, but nothing says {missing}");
    let problem = set.iter().fold(Problem::error(Rule::Ranks, what), Problem::at);
    problem.help(format!("{}; {ALONE}", place_flags(None, None, None)))
}

/// `missing` of the variables that a task of an MPI needs are not set.
pub(crate) fn tasks_unknown(engine: &str, set: &[String], missing: &[&str]) -> Problem {
    let is = if missing.len() == 1 { "is" } else { "are" };
    let what = format!("{engine} started this as one of several ranks, but {} {is} not set", missing.join(" and "));
    let problem = set.iter().fold(Problem::error(Rule::Ranks, what), Problem::at);
    problem.help(format!(
        "for one rank: set RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT; for one task a machine: {}; {ALONE}",
        place_flags(None, None, None)
    ))
}

/// Two variables of an engine count the machines differently.
pub(crate) fn counts_differ(engine: &str, one: &Sourced<u32>, two: &Sourced<u32>) -> Problem {
    Problem::error(
        Rule::Ranks,
        format!("{engine} counts {} machines in one variable, {} in another", one.value, two.value),
    )
    .at(one.place())
    .at(two.from.with(format_args!("{} machines", two.value)))
    .help(format!("{}; {ALONE}", place_flags(None, None, None)))
}

/// A pod of an MPIJob, in which `mpirun` has not started anything.
pub(crate) fn mpi_job_pod(role: &Sourced<String>) -> Problem {
    Problem::error(Rule::Ranks, format!("this is the {} pod of an MPIJob, where mpirun starts the ranks", role.value))
        .at(role.place())
        .help(format!("mpirun zlaunch …, in the command of the launcher; {ALONE}"))
}

/// This shell is on one machine of a job. `line` starts zlaunch on all.
pub(crate) fn job_shell(engine: &str, nnodes: &Sourced<u32>, line: &str) -> Problem {
    let what = format!("this is one shell of a {engine} job on {} machines: nothing runs on the others", nnodes.value);
    Problem::error(Rule::Ranks, what).at(&nnodes.from).help(format!("{line}; {ALONE}"))
}

pub(crate) fn host_file_unreadable(engine: &str, file: &Sourced<String>) -> Problem {
    Problem::error(Rule::Ranks, format!("the machines of the {engine} job cannot be read, so their number is unknown"))
        .at(file.place())
        .help(format!("{}; {ALONE}", place_flags(None, None, None)))
}

/// Several machines, and nothing says which of them this is.
pub(crate) fn which_machine(nnodes: &Sourced<u32>) -> Problem {
    Problem::error(Rule::Ranks, format!("nothing says which of the {} machines this is", nnodes.value))
        .at(nnodes.place())
        .help(format!("--node-rank I on each of them: 0 on the first, {} on the last", nnodes.value - 1))
}

/// The number of a machine, but not how many there are.
pub(crate) fn how_many_machines(node_rank: &Sourced<u32>, address: Option<&Sourced<String>>) -> Problem {
    let what = format!("this is machine {}, but nothing says of how many", node_rank.value);
    let problem = Problem::error(Rule::Ranks, what).at(node_rank.place());
    let problem = address.iter().fold(problem, |problem, address| problem.at(address.place()));
    let flags = place_flags(None, Some(node_rank.value), address.map(|address| address.value.as_str()));
    problem.help(format!("{flags}, or NNODES; {ALONE}"))
}

pub(crate) fn rank_of_unknown_kind(rank: &Sourced<String>, world: &Sourced<String>) -> Problem {
    Problem::error(Rule::Ranks, "without LOCAL_RANK these can count machines or ranks")
        .at(rank.place())
        .at(world.place())
        .help(format!(
            "for machines: --nnodes {} --node-rank {}; for ranks: set LOCAL_RANK too; or unset RANK WORLD_SIZE",
            world.value, rank.value
        ))
}

pub(crate) fn half_a_place(set: &Sourced<String>, missing: &[&str]) -> Problem {
    let what = format!("`{}` is set, but not {}: a rank needs all three", set.from, missing.join(" and "));
    Problem::error(Rule::Ranks, what).at(set.place()).help(format!(
        "for several machines: --nnodes N --node-rank I --master-addr HOST; {ALONE}, or unset {}",
        set.from
    ))
}

pub(crate) fn rank_0_is_elsewhere(first: &Sourced<String>, hostname: &str) -> Problem {
    Problem::error(
        Rule::Ranks,
        format!("rank 0 runs on {hostname}, but the first machine of the job is {}", first.value),
    )
    .at(first.place())
    .help(format!("export MASTER_ADDR={hostname} for all ranks"))
}

pub(crate) fn not_among_the_hosts(here: &str, name: &str, hosts: &str) -> Problem {
    Problem::error(Rule::Ranks, format!("this machine is not in {hosts}"))
        .at(format!("{name}={here}"))
        .help("give --nnodes, --node-rank and --master-addr")
}

pub(crate) fn mpi_tasks_spread_unevenly(size: &Sourced<u32>, local: &Sourced<u32>) -> Problem {
    Problem::error(Rule::UnevenTasks, "the machines do not have equally many tasks")
        .at(size.place())
        .at(local.place())
        .help("start equally many on each: mpirun --map-by ppr:N:node")
}

pub(crate) fn engine_not_understood(engine: &str, variable: &str) -> Problem {
    Problem::error(Rule::Ranks, format!("{engine} started this process, but its variables do not say on which machine"))
        .at(variable)
        .help(format!("{}; {ALONE}", place_flags(None, None, None)))
}

/// This process belongs to something that may have more machines, which nothing here counts.
pub(crate) fn may_have_more_machines(variable: &str, what: &str, help: &str) -> Problem {
    Problem::warning(Rule::UncountedMachines, format!("{what}: ranks are started on this machine only"))
        .at(variable)
        .help(format!("{help}; --nnodes 1 if this machine is meant"))
}
