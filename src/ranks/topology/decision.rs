//! Decides the topology. Flags decide; everything else is evidence, and must agree. Nothing is guessed.

use std::fmt::Display;
use std::path::PathBuf;

use super::allocation::{Allocation, Placement, Task};
use super::devices::Devices;
use super::evidence::Evidence;
use super::hostfile::HostFlags;
use super::net::foreign_address;
use super::problems::{
    alone, meets_on_loopback, node_rank_too_large, other_number_of_machines, place_flags, rank_too_large,
    tasks_are_ranks,
};
use super::rendezvous::{Rendezvous, is_loopback};
use super::unused_env::{uncounted_machines, unused_variables};
use super::variables::{
    NNODES, NODE_RANK, Processes, RANK_VARIABLES, RankFlags, VariableReader, all_are_set, any_is_set, check,
    machines_of, text,
};
use super::{Role, Topology, engines};
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::report::fix::{drop_word, give, run};
use crate::report::{Place, Problem, Rule, Severity};

impl Topology {
    /// `ranked`: the command is started as ranks, not passed through.
    pub fn decide(flags: &RankFlags, hosts: &HostFlags, ranked: bool, host: &Host) -> Result<Self, Vec<Problem>> {
        let devices = Devices::detect(host).select(hosts)?;
        Inputs { flags, hosts, host, devices }.decide(ranked)
    }

    pub(crate) fn is_scheduled(host: &Host) -> bool {
        Evidence::collect(host).engine().is_some()
    }

    /// A scheduler may send signals: an engine placed this process, or a batch job has this one machine.
    pub(crate) fn has_scheduler(&self, host: &Host) -> bool {
        self.engine.is_some() || engines::job::is_batch_job(host)
    }

    /// What says that this process belongs to a job of several machines.
    pub(crate) fn job_of_several_nodes(host: &Host) -> Option<Place> {
        Evidence::collect(host).place_of_several()
    }

    /// What says something else than the words of a launcher in the command.
    pub(crate) fn against_words(words: &RankFlags, host: &Host) -> Vec<Problem> {
        let Some(nnodes) = &words.nnodes else { return Vec::new() };
        Evidence::collect(host).against(nnodes, words.node_rank.as_ref(), true)
    }

    /// What says that the machines of a hostfile are started by another one.
    pub(crate) fn started_elsewhere(host: &Host) -> Vec<Problem> {
        Evidence::collect(host).against_hostfile().into_iter().collect()
    }

    /// Refuses what a file of the launcher in the command says about machines, if all other evidence does not agree.
    pub(crate) fn weigh_file(stated: &RankFlags, host: &Host) -> Result<Vec<Problem>, Vec<Problem>> {
        let mut evidence = Evidence::collect(host);
        evidence.add_file(stated.clone());
        evidence.weigh(false).map(|()| Vec::new())
    }

    /// The launcher in the command decides; our flags add what it leaves open.
    pub(crate) fn of_existing_launcher(flags: &RankFlags, launcher: RankFlags, host: &Host) -> Self {
        let devices = Devices::detect(host);
        let nproc = launcher.nproc_per_node.and_then(|processes| devices.resolve(processes, host));
        let mut topology = Self::new(launcher.nnodes, nproc, devices);
        topology.node_rank = launcher.node_rank.or_else(|| flags.node_rank.clone()).unwrap_or(topology.node_rank);
        topology.master_addr = launcher.master_addr.or_else(|| flags.master_addr.clone());
        topology.master_port = launcher.master_port.or_else(|| flags.master_port.clone());
        topology
    }

    /// The ranks that a command without a launcher would be, however many processes the launcher starts.
    pub(crate) fn without_launcher(flags: &RankFlags, host: &Host) -> Result<Self, Vec<Problem>> {
        let one = Sourced::new(Processes::Count(1), Source::Default);
        let flags = RankFlags { nproc_per_node: Some(one), ..flags.clone() };
        Self::decide(&flags, &HostFlags::default(), true, host)
    }

    pub(crate) fn of_srun_tasks(host: &Host) -> Self {
        Topology { role: Role::Shell { groups: 1 }, ..Self::new(None, None, Devices::detect(host)) }
    }

    /// If machines differ in GPUs, the world size is not this machine's count times the number of machines.
    fn note_unequal_machines(&mut self, allocation: &Allocation) {
        if let Some(nproc) = &self.nproc_per_node
            && self.has_several_nodes()
            && self.devices.is_local_count(nproc, allocation)
            && !allocation.peer_gpus.are_all(nproc.value)
        {
            let gpus = nproc.value;
            let what = format!(
                "the machines may not all have {gpus} GPUs: what depends on the number of ranks is left to the trainer"
            );
            let fix = give("--nproc-per-node", "N").remark("if every machine starts N");
            self.notes.push(Problem::warning(Rule::MachinesDiffer, what).at(nproc).fix(fix));
            self.world_size = None;
        }
    }
}

struct Inputs<'a> {
    flags: &'a RankFlags,
    hosts: &'a HostFlags,
    host: &'a Host,
    devices: Devices,
}

impl Inputs<'_> {
    fn decide(self, ranked: bool) -> Result<Topology, Vec<Problem>> {
        let evidence = Evidence::collect(self.host);
        let (nodes_by_flag, count_by_flag) =
            (self.flags.nnodes.is_some(), place_of_flag(self.flags.nproc_per_node.as_ref()).is_some());
        let engine = evidence.engine();
        let sets_ranks = engine.is_some_and(|(_, allocation)| allocation.sets_rank_variables);
        let existing = if ranked && sets_ranks { None } else { self.existing_rank()? };
        if ranked && let Some(file) = &self.hosts.hostfile {
            let is_task = engine.is_some_and(|(_, allocation)| matches!(allocation.placement, Placement::Rank(_)));
            if existing.is_none() && !is_task {
                let topology = self.ranks_of_hostfile(file)?;
                return Ok(Topology { notes: evidence.against_hostfile().into_iter().collect(), ..topology });
            }
            // One of many ranks cannot start the others. A variable may be set for a whole site, so it gives way.
            if file.from.is_flag() {
                let problem = Problem::error(Rule::Hosts, "the ranks exist already, so no hostfile is needed");
                let file = file.clone().map(|path| path.display().to_string());
                return Err(problem.at(&file).fix(drop_word(file.spelling())).into());
            }
        }
        if ranked && !nodes_by_flag {
            evidence.weigh(self.flags.node_rank.is_some())?;
        }
        let words = evidence.in_words();
        let topology = match (existing, engine) {
            (Some(existing), _) if !count_by_flag && place_of_flag(self.flags.nnodes.as_ref()).is_none() => existing,
            _ if !ranked => Topology::new(None, None, self.devices),
            (_, None) => self.ranks_without_engine()?,
            (_, Some((engine, allocation))) => {
                let mut topology = self.ranks_of_engine(allocation)?;
                if nodes_by_flag && let Some(nnodes) = &topology.nnodes {
                    topology.notes.extend(evidence.against(nnodes, Some(&topology.node_rank), false));
                }
                Topology { engine: Some(engine), ..topology }
            }
        };
        Ok(Topology { evidence: words, ..topology })
    }

    fn ranks_of_engine(self, allocation: &Allocation) -> Result<Topology, Vec<Problem>> {
        if let Some(problem) = &allocation.alone
            && !self.stays_in_job_shell(false)
        {
            return Err(problem.clone().into());
        }
        match &allocation.placement {
            Placement::Rank(task) => self.task_of_engine(task.clone(), allocation),
            Placement::SlurmShell { groups, outside } if !self.stays_in_job_shell(*outside) => {
                self.ranks_through_srun(*groups, allocation)
            }
            _ => self.ranks_to_start(Some(allocation)),
        }
    }

    /// Only variables and this machine say what is started. A place in something larger must be a whole one.
    fn ranks_without_engine(self) -> Result<Topology, Vec<Problem>> {
        let host = self.host;
        if self.flags.nnodes.is_some() || any_is_set(&NNODES, host) {
            return self.ranks_to_start(None);
        }
        let uncounted: Vec<Problem> = uncounted_machines(host).collect();
        if let Some(problem) = uncounted.iter().find(|problem| problem.severity == Severity::Error) {
            return Err(problem.clone().into());
        }
        let mut topology = self.ranks_to_start(None)?;
        topology.notes.extend(uncounted);
        incomplete_rank_env(&topology, host).map_or(Ok(topology), |problem| Err(problem.into()))
    }

    /// In the shell of a job, the ranks are started on this machine all the same if the user says which machine it is, or
    /// wants one machine only and the shell is on one (not `outside`).
    fn stays_in_job_shell(&self, outside: bool) -> bool {
        let is_numbered = self.flags.node_rank.is_some() || any_is_set(&NODE_RANK, self.host);
        is_numbered || self.flags.nnodes.as_ref().is_some_and(|nnodes| nnodes.value == 1) && !outside
    }

    /// RANK, LOCAL_RANK and WORLD_SIZE are set: a launcher started this process as a rank.
    fn existing_rank(&self) -> Result<Option<Topology>, Vec<Problem>> {
        if !all_are_set(&RANK_VARIABLES, self.host) {
            return Ok(None);
        }
        let mut variables = VariableReader::new(self.host);
        let world = variables.number::<u64>(vars::WORLD_SIZE, 1);
        let local = variables.number::<u32>(vars::LOCAL_WORLD_SIZE, 1);
        let port = variables.number::<u16>(vars::MASTER_PORT, 0);
        let rank = variables.number::<u64>(vars::RANK, 0);
        let local_rank = variables.number::<u64>(vars::LOCAL_RANK, 0);
        let local_size = local.clone().map(|size| size.map(u64::from)).or_else(|| world.clone());
        for (rank, size) in rank.iter().zip(&world).chain(local_rank.iter().zip(&local_size)) {
            if rank.value >= size.value {
                variables.problems.push(rank_too_large(rank, size));
            }
        }
        check(variables.problems)?;
        let nnodes = world.as_ref().zip(local.as_ref()).and_then(|(world, local)| {
            Some(Sourced::new(machines_of(world.value, local.value.into())?, world.from.clone()))
        });
        Ok(Some(Topology {
            world_size: world,
            master_addr: text(vars::MASTER_ADDR, self.host),
            master_port: port,
            role: Role::Rank { first: self.host.nonempty_var(vars::RANK) == Some("0") },
            ..Topology::new(nnodes, local, self.devices.clone())
        }))
    }

    fn ranks_to_start(self, allocation: Option<&Allocation>) -> Result<Topology, Vec<Problem>> {
        let Inputs { flags, host, devices, .. } = self;
        let default = |value: u32| Sourced::new(value, Source::Default);
        let mut variables = VariableReader::new(host);
        let nnodes = flags.nnodes.clone().or_else(|| variables.nnodes());
        // With `--nnodes 1`, the environment may keep the number of this machine among others.
        let insists = flags.nnodes.as_ref().is_some_and(|nnodes| nnodes.value == 1 && nnodes.from.is_flag());
        let node_rank = flags.node_rank.clone().or_else(|| variables.first_number(&NODE_RANK, 0).filter(|_| !insists));
        let nnodes = nnodes.or_else(|| Some(allocation?.nnodes.clone())).unwrap_or(default(1));
        let same_count = allocation.filter(|allocation| allocation.nnodes.value == nnodes.value);
        let node_rank = node_rank.or_else(|| same_count?.node_rank.clone()).unwrap_or(default(0));
        let rendezvous = Rendezvous::new(flags, allocation, &mut variables);
        let asked = flags.nproc_per_node.clone().or_else(|| variables.nproc_per_node());
        let nproc = devices.process_count(asked, allocation, host);
        let mut problems = variables.problems;
        if nproc.is_none() {
            problems.push(devices.count_problem());
        }
        problems.extend(rendezvous.problem(&nnodes, allocation));
        if node_rank.value >= nnodes.value {
            problems.push(node_rank_too_large(&node_rank, &nnodes));
        }
        // Without an engine, or with another number of machines than its own, only the user can say which one this is.
        if nnodes.value > 1 && same_count.is_none() && node_rank.from == Source::Default {
            problems.push(match allocation {
                Some(allocation) => other_number_of_machines(&nnodes, &allocation.nnodes),
                None => {
                    let what = format!("nothing says which of the {} machines this is", nnodes.value);
                    let each = format!("on each of them, 0 on the first, {} on the last", nnodes.value - 1);
                    Problem::error(Rule::Ranks, what).at(&nnodes).fix(give("--node-rank", "I").remark(each))
                }
            });
        }
        check(problems)?;
        let several = nnodes.value > 1;
        let mut topology = Topology::new(Some(nnodes), nproc, devices);
        topology.node_rank = node_rank;
        // On one machine a MASTER_ADDR that is set means nothing, and the port of an engine is not needed.
        let Rendezvous { address, port, address_from_engine, port_from_engine } = rendezvous;
        topology.master_addr = address.filter(|address| several || address.from.is_flag() || address_from_engine);
        topology.master_port = port.filter(|_| several || !port_from_engine);
        topology.notes = unused_variables(&topology, allocation, host);
        if let Some(allocation) = allocation {
            topology.note_unequal_machines(allocation);
        }
        Ok(topology)
    }

    fn task_of_engine(self, task: Task, allocation: &Allocation) -> Result<Topology, Vec<Problem>> {
        let Inputs { flags, host, devices, .. } = self;
        let mut variables = VariableReader::new(host);
        let rendezvous = Rendezvous::new(flags, Some(allocation), &mut variables);
        let mut problems = variables.problems;
        let local = &task.local_world_size;
        if let Some(asked) = &flags.nproc_per_node
            && asked.value != Processes::Count(local.value)
            && asked.from != Source::Default
        {
            problems.push(tasks_are_ranks(local, asked.into()));
        }
        let machines = task.world_size.value / local.value;
        let nnodes = flags.nnodes.as_ref().filter(|asked| asked.value != machines);
        problems.extend(nnodes.map(|asked| tasks_are_ranks(local, asked.into())));
        if let Some(gpus) = devices.listed().or_else(|| allocation.gpus.clone())
            && (2..local.value).contains(&gpus.value)
        {
            let what = format!("{} tasks would share {} GPUs", local.value, gpus.value);
            let step = |tasks: u32| run(format!("srun --ntasks-per-node={tasks}")).remark("to start the step");
            let fixes = step(gpus.value).or(step(1).remark("for torchrun"));
            problems.push(Problem::error(Rule::Ranks, what).at(local).at(&gpus).fix(fixes));
        }
        problems.extend(rendezvous.problem(&allocation.nnodes, Some(allocation)));
        check(problems)?;
        let Rendezvous { address, port, address_from_engine, .. } = rendezvous;
        let address = address.filter(|_| allocation.nnodes.value > 1 || !address_from_engine);
        let topology = Topology::new(Some(allocation.nnodes.clone()), Some(local.clone()), devices);
        Ok(Topology {
            node_rank: allocation.node_rank.clone().unwrap_or_else(|| Sourced::new(0, Source::Default)),
            world_size: Some(task.world_size.clone().map(u64::from)),
            master_addr: address.or_else(|| Some(Sourced::new("127.0.0.1".to_string(), Source::Default))),
            // torch's own default.
            master_port: port.or(Some(Sourced::new(29500, Source::Default))),
            role: Role::Task(task),
            ..topology
        })
    }

    /// `srun` will start this same command on each machine of the job.
    fn ranks_through_srun(self, groups: u32, allocation: &Allocation) -> Result<Topology, Vec<Problem>> {
        let Inputs { flags, host, devices, .. } = self;
        let mut variables = VariableReader::new(host);
        let asked = flags.nproc_per_node.clone().or_else(|| variables.nproc_per_node());
        let nnodes = flags.nnodes.clone().or_else(|| variables.nnodes()).unwrap_or_else(|| allocation.nnodes.clone());
        if nnodes.value > allocation.nnodes.value {
            variables.problems.push(other_number_of_machines(&nnodes, &allocation.nnodes));
        }
        if let Some(address) = Rendezvous::new(flags, None, &mut variables).address
            && nnodes.value > 1
            && is_loopback(&address.value)
        {
            variables.problems.push(meets_on_loopback(&address, &nnodes));
        }
        check(variables.problems)?;
        // A login machine has no GPUs; the others will count theirs.
        let nproc = devices.process_count(asked, Some(allocation), host);
        let mut topology = Topology::new(Some(nnodes), nproc, devices);
        topology.role = Role::Shell { groups };
        topology.note_unequal_machines(allocation);
        Ok(topology)
    }

    /// DeepSpeed's runner starts the ranks on the machines of a hostfile.
    fn ranks_of_hostfile(self, file: &Sourced<PathBuf>) -> Result<Topology, Vec<Problem>> {
        let Inputs { flags, hosts, host, devices } = self;
        let pool = hosts.pool(file, host)?;
        let machines = [flags.nnodes.as_ref(), flags.node_rank.as_ref()].into_iter().filter_map(place_of_flag);
        let contradictions: Vec<Place> = machines.chain(place_of_flag(flags.nproc_per_node.as_ref())).collect();
        if !contradictions.is_empty() {
            let problem = Problem::error(Rule::Hosts, "the hostfile says how many machines and GPUs there are");
            let file = file.clone().map(|path| path.display().to_string());
            let problem = contradictions.into_iter().fold(problem.at(&file), Problem::at);
            return Err(problem.fix("choose among them with --include and --exclude").into());
        }
        let count = |count: usize| Sourced::new(u32::try_from(count).unwrap_or(u32::MAX), file.from.clone());
        let most = pool.0.iter().map(|(_, gpus)| gpus.len()).max().unwrap_or(0);
        let nproc = pool.0.iter().all(|(_, gpus)| gpus.len() == most).then(|| count(most));
        let topology = Topology::new(Some(count(pool.0.len())), nproc, devices);
        let world_size = Some(count(pool.gpu_count()).map(u64::from));
        let (master_addr, master_port) = (flags.master_addr.clone(), flags.master_port.clone());
        Ok(Topology { world_size, master_addr, master_port, pool: Some(pool), ..topology })
    }
}

fn place_of_flag<T: Display>(flag: Option<&Sourced<T>>) -> Option<Place> {
    flag.filter(|flag| flag.from.is_flag()).map(Place::from)
}

/// A WORLD_SIZE that is not the number of these ranks, or the number of another rank than the first: part of what a
/// launcher sets, while the rest is missing. Started like this, the ranks would be alone.
fn incomplete_rank_env(topology: &Topology, host: &Host) -> Option<Problem> {
    let missing: Vec<&str> = RANK_VARIABLES.into_iter().filter(|name| host.nonempty_var(name).is_none()).collect();
    if missing.is_empty() {
        return None;
    }
    let meets_others = foreign_address(host).is_some();
    let ranks = topology.world_size.as_ref().map(|world| world.value.to_string());
    let is_other_size = |size: &str| size != "1" && (meets_others || ranks.as_deref() != Some(size));
    let set = text(vars::WORLD_SIZE, host)
        .filter(|size| is_other_size(&size.value))
        .or_else(|| text(vars::RANK, host).filter(|rank| rank.value != "0" || meets_others))
        .or_else(|| text(vars::LOCAL_RANK, host).filter(|rank| rank.value != "0"))?;
    let what = format!("`{}` is set, but not {}: a rank needs all three", set.from, missing.join(" and "));
    let fixes = place_flags("N", "I", "HOST").remark("for several machines").or(alone());
    Some(Problem::error(Rule::Ranks, what).at(&set).fix(fixes))
}
