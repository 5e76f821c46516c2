//! Sentences about ranks, machines and launchers.

use std::fmt;
use std::path::{Path, PathBuf};

use super::problem::{NOT_FOUND, Problem};
use super::rule::Rule;
use super::suggestion::nearest;
use crate::base::source::{Source, Sourced};

pub(crate) fn unknown_gpu_count(from: &str) -> Problem {
    Problem::error(Rule::Ranks, "the number of GPUs is unknown, and so is the number of processes")
        .at(format!("{from} lists none, CUDA_VISIBLE_DEVICES is not set"))
        .help(ASK_FOR_COUNT)
}

const ASK_FOR_COUNT: &str =
    "--nproc-per-node N, where N is the number of GPUs of the machine that trains; without a GPU, --nproc-per-node 1";

/// `fit` is asked about GPUs that need not be here.
pub(crate) fn in_words_of_fit(problem: Problem, card: Option<&str>) -> Problem {
    if problem.help != ASK_FOR_COUNT {
        return problem;
    }
    let help = match card {
        Some(_) => "--gpus 8".to_string(),
        None => "--gpu H100x8, or --gpus 8 --gpu-memory 80GiB".to_string(),
    };
    Problem { what: "the number of GPUs is unknown".to_string(), ..problem }.help(help)
}

/// Whether it only asks how many GPUs there are.
pub(crate) fn asks_for_gpu_count(problem: &Problem) -> bool {
    problem.help == ASK_FOR_COUNT
}

pub(crate) fn every_gpu_is_hidden(variable: &str) -> Problem {
    Problem::error(Rule::Ranks, format!("`{variable}` hides every GPU, so the number of processes is unknown"))
        .at(variable)
        .help(format!("--unset-env {variable}, or --nproc-per-node 1 for one process without a GPU"))
}

/// `what` is wrong with the variable's list, so that no GPU is left.
pub(crate) fn no_gpu_in_list(variable: &str, what: &str, help: &str) -> Problem {
    Problem::error(Rule::Ranks, what).at(variable).help(help)
}

pub(crate) fn ranks_exist(asked: &Sourced<impl fmt::Display>) -> Problem {
    Problem::error(Rule::Launcher, "the ranks exist already (RANK, LOCAL_RANK, WORLD_SIZE), so no launcher is started")
        .at(asked.place())
        .help(format!("drop {}, or start ranks anew on this machine with --nnodes 1", asked.from))
}

pub(crate) fn say_it_to_us(sourced: &Sourced<String>, ours: &str) -> Problem {
    Problem::error(Rule::Launcher, format!("`{}` changes the ranks, so zlaunch itself must be given it", sourced.from))
        .at(format!("--launcher-arg {}", sourced.place()))
        .help(format!("--{ours} {}", sourced.value))
}

pub(crate) fn more_ranks_than_gpus(
    asked: &Sourced<impl fmt::Display>,
    from: &Source,
    ranks: u32,
    gpus: usize,
) -> Problem {
    Problem::error(Rule::Launcher, format!("the deepspeed launcher starts one process per GPU: {gpus}, not {ranks}"))
        .at(asked.place())
        .at(from)
        .help(if gpus == 0 {
            "--launcher torchrun".to_string()
        } else {
            format!("--nproc-per-node {gpus}, or --launcher torchrun")
        })
}

pub(crate) fn variable_not_a_number(sourced: &Sourced<String>, least: &str, most: u64) -> Problem {
    Problem::error(Rule::Ranks, format!("`{}` is not a whole number from {least} to {most}", sourced.value))
        .at(sourced.place())
        .help(format!("set {} to a number, or unset it", sourced.from))
}

pub(crate) fn no_rendezvous(nnodes: &Sourced<u32>) -> Problem {
    Problem::error(Rule::Ranks, format!("{} machines need the address and port of the first one", nnodes.value))
        .at(nnodes.place())
        .help("--master-addr HOST --master-port 29500, the same on every machine")
}

pub(crate) fn rendezvous_on_loopback(address: &Sourced<String>, nnodes: &Sourced<u32>) -> Problem {
    Problem::error(Rule::Loopback, format!("no other machine reaches {}", address.value))
        .at(address.place())
        .at(nnodes.place())
        .help("give the name or address of machine 0 with --master-addr, or unset it under Slurm")
}

pub(crate) fn not_a_host_list(list: &Sourced<String>) -> Problem {
    Problem::error(Rule::Ranks, "this is not a host list of Slurm")
        .at(list.place())
        .help("give --nnodes, --node-rank, --master-addr and --master-port")
}

pub(crate) fn not_task_counts(tasks: &Sourced<String>) -> Problem {
    Problem::error(Rule::Ranks, "this is not a list of task counts such as 4(x2)")
        .at(tasks.place())
        .help("start the step with `srun --ntasks-per-node=1`")
}

pub(crate) fn tasks_spread_unevenly(tasks: &Sourced<String>) -> Problem {
    Problem::error(Rule::UnevenTasks, "Slurm started a different number of tasks on each machine")
        .at(tasks.place())
        .help("start the step with `srun --ntasks-per-node=1` (torchrun starts the ranks), or --ntasks-per-node=<GPUs>")
}

pub(crate) fn tasks_are_ranks(local: &Sourced<u32>, asked: &str) -> Problem {
    Problem::error(Rule::Ranks, format!("{} tasks run on this machine, each of them a rank already", local.value))
        .at(local.place())
        .at(asked)
        .help("start one task on each machine (`srun --ntasks-per-node=1`), or leave the number to the tasks")
}

pub(crate) fn more_tasks_than_gpus(local: &Sourced<u32>, gpus: &Sourced<u32>) -> Problem {
    Problem::error(Rule::Ranks, format!("{} tasks would share {} GPUs", local.value, gpus.value))
        .at(local.place())
        .at(gpus.place())
        .help(format!("start the step with `srun --ntasks-per-node={}`, or with =1 for torchrun", gpus.value))
}

pub(crate) fn rank_too_large(rank: &Sourced<u64>, size: &Sourced<u64>) -> Problem {
    let what = format!("rank {} of {} does not exist: they are counted from 0", rank.value, size.value);
    Problem::error(Rule::Ranks, what)
        .at(rank.place())
        .at(size.place())
        .help(format!("{} below {}", rank.from, size.from))
}

pub(crate) fn other_number_of_machines(sourced: &Sourced<u32>, seen: &Sourced<u32>) -> Problem {
    Problem::error(Rule::Ranks, format!("{} machines are asked for, but the job has {}", sourced.value, seen.value))
        .at(sourced.place())
        .at(seen.place())
        .help("leave the number to the scheduler, or give --node-rank, --master-addr and --master-port on each machine too")
}

pub(crate) fn not_the_schedulers_machines(sourced: &Sourced<u32>, seen: &Sourced<u32>) -> Problem {
    let what = format!("the job has {} machines, but this launch is for {}", seen.value, sourced.value);
    Problem::warning(Rule::ContradictsScheduler, what)
        .at(sourced.place())
        .at(seen.place())
        .help(format!("leave {} out to use all of them together", sourced.from))
}

pub(crate) fn hostfile_for_ranks_that_exist(file: &Sourced<PathBuf>) -> Problem {
    Problem::error(Rule::Hosts, "the ranks exist already, so no hostfile is needed")
        .at(file.from.with(file.value.display()))
        .help(format!("leave {} out", file.from))
}

pub(crate) fn hostfile_says_how_many(file: Option<&Sourced<PathBuf>>, sourced: Vec<String>) -> Problem {
    let place = file.map(|file| file.from.with(file.value.display())).unwrap_or_default();
    let problem = Problem::error(Rule::Hosts, "the hostfile says how many machines and GPUs there are").at(place);
    sourced.into_iter().fold(problem, Problem::at).help("choose among them with --include and --exclude")
}

pub(crate) fn hosts_of_the_command(sourced: &str, program: &str) -> Problem {
    Problem::error(
        Rule::Hosts,
        format!("the command already starts with `{program}`, which has options of its own for that"),
    )
    .at(sourced)
    .help(format!("give it to `{program}`, or drop `{program}`"))
}

pub(crate) fn not_in_a_job_shell(asked: &Sourced<impl fmt::Display>) -> Problem {
    Problem::error(Rule::Launcher, "this shell runs on one machine of the job only")
        .at(asked.place())
        .help("drop --launcher: zlaunch starts itself on each of them; or --nnodes 1 for this machine alone")
}

pub(crate) fn srun_in_step() -> Problem {
    Problem::error(Rule::Launcher, "an `srun` inside of a step waits for that step to end")
        .at("SLURM_STEP_ID")
        .help("drop `srun`: zlaunch finds its place by itself; or srun --overlap")
}

pub(crate) fn tasks_have_no_launcher(asked: &Sourced<impl fmt::Display>, tasks: u32) -> Problem {
    Problem::error(Rule::Launcher, format!("{tasks} tasks run on this machine, each of them a rank already"))
        .at(asked.place())
        .help("start one task on each machine: srun --ntasks-per-node=1, mpirun --map-by ppr:1:node")
}

pub(crate) fn value_cannot_travel(name: &str) -> Problem {
    Problem::error(Rule::Hosts, "deepspeed's runner only passes on variables that are one line of text")
        .at(name)
        .help(format!("--unset-env {name}, or set it on the machines"))
}

/// `sourced` stands in a line that the shell of every machine reads, and DeepSpeed does not quote it.
pub(crate) fn read_by_shells(sourced: &Sourced<String>) -> Problem {
    let what = format!(
        "`{}` would be read by the shell of every machine: deepspeed's runner does not quote it",
        sourced.value
    );
    Problem::error(Rule::Hosts, what)
        .at(&sourced.from)
        .help("use letters, digits and `_-./=:,@+` there, or a link with such a name")
}

pub(crate) fn colon_divides_commands() -> Problem {
    Problem::error(Rule::Hosts, "`mpirun` starts another program after the word `:`")
        .at("`:` in the command")
        .help("drop it, or --launcher-arg=--launcher=pdsh")
}

pub(crate) fn secrets_may_be_local<'a>(path: &Path, names: impl Iterator<Item = &'a String>) -> Problem {
    let names = names.map(String::as_str).collect::<Vec<_>>().join(", ");
    let what = format!("every machine must read {names} from this file: do they all see its folder?");
    Problem::warning(Rule::ConfigNotShared, what)
        .at(path.display())
        .help("set XDG_CACHE_HOME to a folder that all machines share, or set the variables on the machines")
}

/// The runner of an MPI or of Slurm hands `name` on with its value in its arguments.
pub(crate) fn shown_in_arguments(name: &str, is_secret: bool) -> Problem {
    let what = if is_secret {
        format!(
            "deepspeed's runner puts the value of {name} into the arguments of a program, where every user can read it"
        )
    } else {
        format!(
            "deepspeed's runner quotes the value of {name} for a shell, and no shell reads it: it arrives with the quotes"
        )
    };
    Problem::warning(Rule::ShownInArguments, what)
        .at(name)
        .help(format!("--unset-env {name}, and set it on the machines"))
}

pub(crate) fn slurm_runner_runs_scripts(target: &str) -> Problem {
    Problem::error(
        Rule::Launcher,
        format!("deepspeed's runner for Slurm starts scripts of Python only, not `{target}`"),
    )
    .at("--launcher-arg=--launcher=slurm")
    .help("in a Slurm job, drop --hostfile and --launcher-arg: zlaunch starts itself on each machine through srun")
}

pub(crate) fn no_mpi4py() -> Problem {
    let what = "deepspeed's runner for Open MPI, MVAPICH or Slurm sets neither RANK nor WORLD_SIZE, and mpi4py, by which deepspeed \
                finds them, is not installed: most trainers would fail, or train alone";
    Problem::warning(Rule::RanksByMpi, what)
        .at("--launcher-arg=--launcher=…")
        .help("pip install mpi4py; or drop --hostfile, and start zlaunch with mpirun or in a Slurm job: it gives each rank its place")
}

pub(crate) fn machines_differ(nproc: &Sourced<u32>) -> Problem {
    Problem::warning(
        Rule::MachinesDiffer,
        format!(
            "the machines may not all have {} GPUs: what depends on the number of ranks is left to the trainer",
            nproc.value
        ),
    )
    .at(nproc.place())
    .help("--nproc-per-node N if every machine starts N")
}

pub(crate) fn stray_variable(sourced: &Sourced<String>, decided: &str) -> Problem {
    let name = sourced.from.to_string();
    Problem::warning(Rule::StrayVariable, format!("`{name}` says otherwise and is ignored"))
        .at(sourced.place())
        .at(decided)
        .help(format!("unset {name}"))
}

pub(crate) fn contradicts_scheduler(sourced: &Sourced<u32>, seen: &Sourced<u32>) -> Problem {
    Problem::warning(Rule::ContradictsScheduler, format!("this is machine {}, not {}", seen.value, sourced.value))
        .at(seen.place())
        .at(sourced.place())
        .help("leave the number of the machine to the scheduler: a `$SLURM_NODEID` in the batch script is 0 everywhere")
}

pub(crate) fn node_rank_too_large(rank: &Sourced<u32>, nnodes: &Sourced<u32>) -> Problem {
    Problem::error(
        Rule::Ranks,
        format!("machine {} of {} does not exist: they are counted from 0", rank.value, nnodes.value),
    )
    .at(rank.place())
    .at(nnodes.place())
    .help(format!("{} below {}, or another number of machines with --nnodes", rank.from, nnodes.value))
}

pub(crate) fn ranks_without_effect(from: &Source, program: &str, starts_ranks: bool) -> Problem {
    let help = if starts_ranks {
        "its own launcher decides here: give the option to that, or leave the launcher's options out"
    } else {
        "--launcher torchrun starts it several times; --trainer hf or deepspeed says what it is"
    };
    Problem::warning(Rule::RanksWithoutEffect, format!("`{program}` is executed once, as it is: {from} has no effect"))
        .at(from)
        .help(help)
}

pub(crate) fn too_many_ranks(nodes: &Sourced<u32>, ranks: &Sourced<u32>, most: u64) -> Problem {
    let what = format!("{} machines with {} processes each are more than {most} ranks", nodes.value, ranks.value);
    Problem::error(Rule::Ranks, what).at(nodes.place()).at(ranks.place()).help("--nnodes 2 --nproc-per-node 8")
}

pub(crate) fn srun_not_here(asked: &Sourced<impl fmt::Display>) -> Problem {
    Problem::error(Rule::Launcher, "this is not the shell of a job on several machines, from which srun could start")
        .at(asked.place())
        .help("inside a step zlaunch finds its place by itself: drop --launcher")
}

pub(crate) fn no_srun() -> Problem {
    Problem::error(Rule::Launcher, "the job has several machines, but there is no `srun` on PATH to reach them")
        .help("srun --ntasks-per-node=1 zlaunch …, from where srun is (outside of the container)")
        .status(NOT_FOUND)
}

pub(crate) fn starts_ranks_itself(program: &str) -> Problem {
    Problem::error(
        Rule::Launcher,
        format!("`{program}` starts ranks itself: a launcher in front would start them twice"),
    )
    .at(program)
    .help("drop --launcher and --trainer; without launcher options of its own zlaunch runs what is behind it")
}

/// `program` was said to be a trainer, whose console script is `console`.
pub(crate) fn may_start_ranks_itself(program: &str, console: &str) -> Problem {
    let what = format!(
        "`{program}` may run `{console}`, which starts ranks itself: a launcher in front would start them twice"
    );
    Problem::error(Rule::Launcher, what)
        .at(program)
        .help(format!("put zlaunch in front of `{console}` inside of it: zlaunch … -- {console} …"))
}

pub(crate) fn already_a_launcher(asked: &Sourced<impl fmt::Display>, program: &str) -> Problem {
    Problem::error(Rule::Launcher, format!("the command already starts with `{program}`"))
        .at(asked.place())
        .help(format!("drop {}, or take `{program}` and its flags off the command", asked.from))
}

pub(crate) fn contradiction(place: &str, stated: &str) -> Problem {
    Problem::error(Rule::Launcher, "zlaunch and the command state different numbers")
        .at(place)
        .at(stated)
        .help("drop one of them")
}

pub(crate) fn direct_is_one_process(asked: &Sourced<impl fmt::Display>, world: &Sourced<u64>) -> Problem {
    Problem::error(Rule::Launcher, format!("`direct` starts one process, not {}", world.value))
        .at(asked.place())
        .at(&world.from)
        .help("--launcher torchrun, or --nproc-per-node 1")
}

pub(crate) fn local_is_one_machine(asked: &Sourced<impl fmt::Display>, nnodes: &Sourced<u32>) -> Problem {
    Problem::error(
        Rule::Launcher,
        format!("`local` starts the ranks of one machine; {} machines need torchrun", nnodes.value),
    )
    .at(asked.place())
    .at(nnodes.place())
    .help("--launcher torchrun, once on each machine")
}

/// zlaunch itself would start the ranks.
pub(crate) fn logs_are_torchruns(from: &Source) -> Problem {
    Problem::error(Rule::Launcher, "`local` keeps no output of the ranks: log folders and prefixes are torchrun's")
        .at(from)
        .help(format!("--launcher torchrun, where torch is installed; or drop {from}"))
}

pub(crate) fn output_without_effect(from: &Source, kind: &impl fmt::Display) -> Problem {
    Problem::warning(
        Rule::OutputWithoutEffect,
        format!("{from} has no effect: the ranks are started by `{kind}`, not by a torchrun of zlaunch's"),
    )
    .at(from)
    .help("let zlaunch start the ranks, or use the launcher's own option")
}

pub(crate) fn deepspeed_needs_a_hostfile(asked: &Sourced<impl fmt::Display>) -> Problem {
    Problem::error(Rule::Launcher, "deepspeed must know how many GPUs every machine has")
        .at(asked.place())
        .help("--nproc-per-node N if every machine has N, --hostfile FILE, or --launcher torchrun")
}

pub(crate) fn hostfile_is_deepspeeds(asked: &Sourced<impl fmt::Display>) -> Problem {
    Problem::error(Rule::Launcher, "only deepspeed's runner reads a hostfile")
        .at(asked.place())
        .help("--launcher deepspeed, or start zlaunch on every machine without --hostfile")
}

pub(crate) fn include_and_exclude(include: &Sourced<String>, exclude: &Sourced<String>) -> Problem {
    Problem::error(Rule::Hosts, "`--include` cannot be used with `--exclude`")
        .at(include.place())
        .at(exclude.place())
        .help("drop one of them")
}

pub(crate) fn no_such_machine<'a>(
    filter: &Sourced<String>,
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> Problem {
    let known: Vec<&str> = known.collect();
    let help = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("one of {}", known.join(", ")),
    };
    Problem::error(Rule::Hosts, format!("there is no machine `{name}`")).at(filter.place()).help(help)
}

pub(crate) fn no_such_slot(filter: &Sourced<String>, machine: &str, slot: &str, have: &[String]) -> Problem {
    let have = if have.is_empty() { "no GPU is visible".to_string() } else { format!("it has {}", have.join(",")) };
    Problem::error(Rule::Hosts, format!("`{machine}` has no GPU `{slot}`"))
        .at(filter.place())
        .help(format!("{have}; ranges such as 0-3 are written 0,1,2,3"))
}

pub(crate) fn nothing_left(filter: &Sourced<String>) -> Problem {
    Problem::error(Rule::Hosts, "no GPU is left").at(filter.place()).help("leave some of them in")
}

pub(crate) fn bad_hostfile_line(place: &str, line: &str) -> Problem {
    Problem::error(Rule::Hosts, format!("`{line}` is not of the form `host slots=N`")).at(place).help("node01 slots=8")
}

pub(crate) fn machine_twice(place: &str, name: &str) -> Problem {
    Problem::error(Rule::Hosts, format!("`{name}` is in the hostfile twice"))
        .at(place)
        .help("write all its slots in one line")
}

pub(crate) fn empty_hostfile(file: &str) -> Problem {
    Problem::error(Rule::Hosts, "the hostfile names no machine").at(file).help("node01 slots=8")
}

pub(crate) fn config_not_shared(path: &Path, machines: usize) -> Problem {
    Problem::error(Rule::Hosts, format!("{machines} machines must read the config, but only this one sees its folder"))
        .at(path.display())
        .help("--config-out PATH, in a folder that all machines share")
}

/// `kind`: the file system of the folder.
pub(crate) fn config_may_be_local(path: &Path, machines: usize, kind: &str) -> Problem {
    let what =
        format!("{machines} machines must read the config at this path, and it is on {kind}: do they all see it?");
    Problem::warning(Rule::ConfigNotShared, what)
        .at(path.display())
        .help("--config-out PATH, in a folder that all machines share, or --allow config-not-shared")
}

pub(crate) fn changed_by_shells(word: &str, program: &str) -> Problem {
    let what = format!("`{program}` sends `{word}` through the shell of every machine, which reads more into it");
    Problem::warning(Rule::ChangedByShells, what)
        .at(format!("{program} --hostfile"))
        .help("zlaunch --hostfile FILE -- COMMAND without the launcher: every word arrives as it stands")
}

pub(crate) fn bad_environment_line(place: &str, line: &str) -> Problem {
    Problem::error(Rule::Hosts, format!("deepspeed's runner stops at `{line}`: every line must be NAME=VALUE"))
        .at(place)
        .help("remove blank lines and comments")
}
