//! Decides the topology. Flags decide; everything else is evidence, and must agree. Nothing is guessed.

use std::fmt::Display;
use std::path::PathBuf;

use super::allocation::{
    Allocation, Placement, Task, alone, meets_on_loopback, other_number_of_machines, place_flags,
    refused, tasks_are_ranks, too_large,
};
use super::devices::Devices;
use super::evidence::Evidence;
use super::hostfile::HostFlags;
use super::stray::{foreign_address, uncounted_machines, unused_variables};
use super::tables::rank_variables::{NNODES, NODE_RANK, RANK_VARIABLES, SCHEDULED_JOBS};
use super::variables::{
    Processes, RankFlags, all_are_set, any_is_set, check, machines_of, number, text,
};
use super::{Role, Topology, hostfile, rendezvous};
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::report::fix::{drop_given, give, run};
use crate::report::{Place, Problem, Rule, Severity, reading};

impl Topology {
    /// `ranked`: the command is started as ranks, not passed through.
    pub fn decide(
        flags: &RankFlags,
        hosts: &HostFlags,
        ranked: bool,
        host: &Host,
    ) -> Result<Self, Vec<Problem>> {
        let inputs = Inputs {
            flags,
            host,
            devices: Devices::detect(host).select(hosts)?,
        };
        let evidence = Evidence::collect(host);
        let allocation = evidence.allocation();
        let sets_ranks = allocation.is_some_and(|allocation| allocation.sets_rank_variables);
        let existing = if ranked && sets_ranks {
            None
        } else {
            existing_rank(&inputs.devices, host)?
        };
        if ranked && let Some(file) = &hosts.hostfile {
            let is_task = allocation
                .is_some_and(|allocation| matches!(allocation.placement, Placement::Rank(_)));
            if existing.is_none() && !is_task {
                let mut topology = inputs.ranks_of_hostfile(file, hosts)?;
                topology.notes.extend(evidence.against_hostfile());
                return Ok(topology);
            }
            // One of many ranks cannot start the others. A variable may be set for a whole site, so it gives way.
            if file.from.is_flag() {
                let what = "the ranks exist already, so no hostfile is needed";
                let file = file.clone().map(|path| path.display().to_string());
                let problem = Problem::error(Rule::Hosts, what).at(&file);
                return Err(problem.fix(drop_given(&file)).into());
            }
        }
        let told = match &flags.nnodes {
            _ if !ranked => Vec::new(),
            Some(_) => evidence.weigh(&flags.or_variables(host)?, false)?,
            None => evidence.weigh(flags, false)?,
        };
        let by_flag =
            place_of_flag(flags.nnodes.as_ref()).or(place_of_flag(flags.nproc_per_node.as_ref()));
        let mut topology = match (existing, allocation) {
            (Some(existing), _) if by_flag.is_none() => existing,
            _ if !ranked => Topology::new(None, None, inputs.devices),
            (_, None) => inputs.ranks_without_engine()?,
            (_, Some(allocation)) => {
                let mut topology = inputs.ranks_of_engine(allocation)?;
                topology.notes.extend(told);
                topology.engine = Some(allocation.engine);
                topology
            }
        };
        topology.evidence = evidence.in_words();
        Ok(topology)
    }

    pub(crate) fn is_scheduled(host: &Host) -> bool {
        Evidence::collect(host).allocation().is_some()
    }

    /// True if a scheduler may send signals: an engine placed this process, or a batch job has this one machine.
    pub(crate) fn has_scheduler(&self, host: &Host) -> bool {
        self.engine.is_some() || any_is_set(SCHEDULED_JOBS, host)
    }

    /// What says that this process belongs to a job of several machines.
    pub(crate) fn job_of_several_nodes(host: &Host) -> Option<Place> {
        Evidence::collect(host).place_of_several()
    }

    /// Weighs what the launcher in the command says about machines: in words that were typed, or in a file or a variable. It
    /// leaves the number of those open that torchrun counts as they come, and of those of a hostfile.
    pub(crate) fn weigh(
        stated: &RankFlags,
        typed: bool,
        host: &Host,
    ) -> Result<Vec<Problem>, Problem> {
        let evidence = Evidence::collect(host);
        if stated.nnodes.is_none() {
            let mut told = evidence.started_twice();
            if !typed {
                told = told.or_else(|| evidence.against_hostfile());
            }
            return Ok(told.into_iter().collect());
        }
        if typed {
            evidence.weigh(stated, true)
        } else {
            evidence.and(stated).weigh(&RankFlags::default(), true)
        }
    }

    /// The topology that the launcher in the command states.
    pub(crate) fn of_existing_launcher(stated: RankFlags, host: &Host) -> Self {
        let devices = Devices::detect(host);
        let nproc = stated.nproc_per_node;
        let nproc = nproc.and_then(|processes| devices.processes(Some(processes), None, host));
        Topology {
            node_rank: stated.node_rank.unwrap_or_default(),
            master_addr: stated.master_addr,
            master_port: stated.master_port,
            ..Self::new(stated.nnodes, nproc, devices)
        }
    }

    /// The ranks that a command without a launcher would be, however many processes the launcher starts.
    pub(crate) fn without_launcher(flags: &RankFlags, host: &Host) -> Result<Self, Vec<Problem>> {
        let flags = RankFlags {
            nproc_per_node: Some(Sourced::new(Processes::Count(1), Source::Default)),
            ..flags.clone()
        };
        Self::decide(&flags, &HostFlags::default(), true, host)
    }

    pub(crate) fn of_srun_tasks(host: &Host) -> Self {
        Topology {
            role: Role::Shell { groups: 1 },
            ..Self::new(None, None, Devices::detect(host))
        }
    }

    /// Gives up the world size if the machines may differ in GPUs: it is not this machine's count times their number then.
    fn note_unequal_machines(&mut self, allocation: &Allocation) {
        let Some(nproc) = &self.nproc_per_node else {
            return;
        };
        let by_engine = allocation.gpus.as_ref().map(|gpus| &gpus.from);
        let is_counted_here = self.devices.counted(nproc) || by_engine == Some(&nproc.from);
        if is_counted_here && allocation.peers_differ && self.has_several_nodes() {
            let what = format!(
                "the machines may not all have {nproc} GPUs: what depends on the number of ranks is left to the trainer"
            );
            let fix = give("--nproc-per-node", "N").remark("if every machine starts N");
            let problem = Problem::warning(Rule::MachinesDiffer, what).at(nproc);
            self.notes.push(problem.fix(fix));
            self.world_size = None;
        }
    }
}

struct Inputs<'a> {
    flags: &'a RankFlags,
    host: &'a Host,
    devices: Devices,
}

impl Inputs<'_> {
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
            _ => self.ranks_to_start(allocation),
        }
    }

    /// Only variables and this machine say what is started. Without a number of machines, a part of what a launcher sets for
    /// a rank is refused.
    fn ranks_without_engine(self) -> Result<Topology, Vec<Problem>> {
        let host = self.host;
        let alone = Allocation::this_machine();
        if self.flags.nnodes.is_some() || any_is_set(&NNODES, host) {
            return self.ranks_to_start(&alone);
        }
        let (refused, noted): (Vec<_>, Vec<_>) =
            uncounted_machines(host).partition(|it| it.severity == Severity::Error);
        check(refused)?;
        let mut topology = self.ranks_to_start(&alone)?;
        topology.notes.extend(noted);
        check(incomplete_rank_env(&topology, host).into_iter().collect())?;
        Ok(topology)
    }

    /// In the shell of a job, the ranks are started on this machine all the same if the user says which machine it is, or
    /// wants one machine only and the shell is on one (not `outside`).
    fn stays_in_job_shell(&self, outside: bool) -> bool {
        let is_numbered = self.flags.node_rank.is_some() || any_is_set(&NODE_RANK, self.host);
        let nnodes = self.flags.nnodes.as_ref();
        is_numbered || nnodes.is_some_and(|nnodes| nnodes.value == 1) && !outside
    }

    fn ranks_to_start(self, allocation: &Allocation) -> Result<Topology, Vec<Problem>> {
        let Inputs {
            flags,
            host,
            devices,
        } = self;
        let stated = flags.or_variables(host)?;
        let nnodes = stated.nnodes.unwrap_or_else(|| allocation.nnodes.clone());
        let several = nnodes.value > 1;
        // With `--nnodes 1`, the environment may keep the number of this machine among others.
        let insists = nnodes.value == 1 && nnodes.from.is_flag();
        let mut node_rank = if insists {
            flags.node_rank.clone()
        } else {
            stated.node_rank
        };
        let is_same_count = allocation.nnodes.value == nnodes.value;
        if is_same_count {
            node_rank = node_rank.or_else(|| allocation.node_rank.clone());
        }
        let node_rank = node_rank.unwrap_or_default();
        let is_address_stated = stated.master_addr.is_some();
        let address = stated
            .master_addr
            .or_else(|| allocation.master_addr.clone());
        let is_port_stated = stated.master_port.is_some();
        let port = stated
            .master_port
            .or_else(|| allocation.master_port.clone());
        let nproc = devices.processes(stated.nproc_per_node, allocation.gpus.clone(), host);
        let mut problems = Vec::new();
        if nproc.is_none() {
            problems.push(devices.count_problem());
        }
        if several {
            let found = rendezvous::problem(address.as_ref(), port.is_some(), &nnodes);
            let is_by_engine = found.is_none() && !is_address_stated;
            problems.extend(found);
            if is_by_engine {
                problems.extend(allocation.address_problem.clone());
            }
        }
        if node_rank.value >= nnodes.value {
            problems.push(too_large("machine", &node_rank, &nnodes));
        }
        // Without an engine, or with another number of machines than its own, only the user can say which one this is.
        if several && !is_same_count && node_rank.from == Source::Default {
            problems.push(if allocation.nnodes.from == Source::Default {
                machine_unknown(&nnodes)
            } else {
                other_number_of_machines(&nnodes, &allocation.nnodes)
            });
        }
        check(problems)?;
        let mut topology = Topology {
            node_rank,
            // On one machine a MASTER_ADDR that is set means nothing, and the port of an engine is not needed.
            master_addr: address
                .filter(|address| several || address.from.is_flag() || !is_address_stated),
            master_port: port.filter(|_| several || is_port_stated),
            ..Topology::new(Some(nnodes), nproc, devices)
        };
        topology.notes = unused_variables(&topology, allocation, host);
        topology.note_unequal_machines(allocation);
        Ok(topology)
    }

    /// Each task is a rank, and the engine says how many there are on each machine.
    fn task_of_engine(self, task: Task, allocation: &Allocation) -> Result<Topology, Vec<Problem>> {
        let local = &task.local_world_size;
        let machines = task.world_size.value / local.value;
        let mut problems = Vec::new();
        if let Some(asked) = &self.flags.nproc_per_node
            && asked.from != Source::Default
            && asked.value != Processes::Count(local.value)
        {
            problems.push(tasks_are_ranks(local, Place::from(asked)));
        }
        if let Some(asked) = &self.flags.nnodes
            && asked.value != machines
        {
            problems.push(tasks_are_ranks(local, Place::from(asked)));
        }
        if let Some(gpus) = self.devices.listed().or_else(|| allocation.gpus.clone())
            && (2..local.value).contains(&gpus.value)
        {
            let what = format!("{local} tasks would share {gpus} GPUs");
            let step = |tasks: u32| {
                run(format!("srun --ntasks-per-node={tasks}")).remark("to start the step")
            };
            let fixes = step(gpus.value).or(step(1).remark("for torchrun"));
            let problem = refused(what).at(local).at(&gpus);
            problems.push(problem.fix(fixes));
        }
        check(problems)?;
        let flags = RankFlags {
            nnodes: Some(allocation.nnodes.clone()),
            node_rank: Some(allocation.node_rank.clone().unwrap_or_default()),
            nproc_per_node: Some(local.clone().map(Processes::Count)),
            ..self.flags.clone()
        };
        let inputs = Inputs {
            flags: &flags,
            ..self
        };
        let topology = inputs.ranks_to_start(allocation)?;
        let several = allocation.nnodes.value > 1;
        let address = topology.master_addr;
        let address = address.filter(|address| several || address.from.is_flag());
        let here = || Sourced::new("127.0.0.1".to_string(), Source::Default);
        let port = topology.master_port;
        let port = port.or_else(|| allocation.master_port.clone());
        Ok(Topology {
            world_size: Some(task.world_size.clone().map(u64::from)),
            master_addr: Some(address.unwrap_or_else(here)),
            // torch's own default.
            master_port: Some(port.unwrap_or(Sourced::new(29500, Source::Default))),
            role: Role::Task(task),
            notes: Vec::new(),
            ..topology
        })
    }

    /// `srun` will start this same command on each machine of the job.
    fn ranks_through_srun(
        self,
        groups: u32,
        allocation: &Allocation,
    ) -> Result<Topology, Vec<Problem>> {
        let stated = self.flags.or_variables(self.host)?;
        let nnodes = stated.nnodes.unwrap_or_else(|| allocation.nnodes.clone());
        if nnodes.value > allocation.nnodes.value {
            return Err(other_number_of_machines(&nnodes, &allocation.nnodes).into());
        }
        if let Some(address) = stated.master_addr
            && nnodes.value > 1
            && rendezvous::is_loopback(&address.value)
        {
            return Err(meets_on_loopback(&address, &nnodes).into());
        }
        // A login machine has no GPUs; the others will count theirs.
        let gpus = allocation.gpus.clone();
        let nproc = self
            .devices
            .processes(stated.nproc_per_node, gpus, self.host);
        let mut topology = Topology::new(Some(nnodes), nproc, self.devices);
        topology.role = Role::Shell { groups };
        topology.note_unequal_machines(allocation);
        Ok(topology)
    }

    /// DeepSpeed's runner starts the ranks on the machines of a hostfile.
    fn ranks_of_hostfile(
        self,
        file: &Sourced<PathBuf>,
        hosts: &HostFlags,
    ) -> Result<Topology, Vec<Problem>> {
        let flags = self.flags;
        let path = self.host.absolute(&file.value);
        let text = reading::read_text(&path)?;
        let pool = hosts.filtered(hostfile::parse(&text, &path.display().to_string())?)?;
        let contradictions = [
            place_of_flag(flags.nnodes.as_ref()),
            place_of_flag(flags.node_rank.as_ref()),
            place_of_flag(flags.nproc_per_node.as_ref()),
        ];
        let contradictions: Vec<Place> = contradictions.into_iter().flatten().collect();
        if !contradictions.is_empty() {
            let what = "the hostfile says how many machines and GPUs there are";
            let file = file.clone().map(|path| path.display().to_string());
            let problem = Problem::error(Rule::Hosts, what).at(&file);
            let problem = contradictions.into_iter().fold(problem, Problem::at);
            return Err(problem
                .fix("choose among them with --include and --exclude")
                .into());
        }
        let count = |count: usize| {
            Sourced::new(u32::try_from(count).unwrap_or(u32::MAX), file.from.clone())
        };
        let gpus: Vec<usize> = pool.0.iter().map(|machine| machine.slots.len()).collect();
        let all = count(gpus.iter().sum());
        let is_equal = gpus.iter().all(|slots| *slots == gpus[0]);
        let nproc = is_equal.then(|| count(gpus[0]));
        Ok(Topology {
            world_size: Some(all.map(u64::from)),
            master_addr: flags.master_addr.clone(),
            master_port: flags.master_port.clone(),
            pool: Some(pool),
            ..Topology::new(Some(count(gpus.len())), nproc, self.devices)
        })
    }
}

fn place_of_flag<T: Display>(flag: Option<&Sourced<T>>) -> Option<Place> {
    flag.filter(|flag| flag.from.is_flag()).map(Place::from)
}

fn machine_unknown(nnodes: &Sourced<u32>) -> Problem {
    let machines = nnodes.value;
    let what = format!("nothing says which of the {machines} machines this is");
    let each = format!(
        "on each of them, 0 on the first, {} on the last",
        machines - 1
    );
    refused(what)
        .at(nnodes)
        .fix(give("--node-rank", "I").remark(each))
}

/// The rank that this process is, if a launcher set RANK, LOCAL_RANK and WORLD_SIZE for it.
fn existing_rank(devices: &Devices, host: &Host) -> Result<Option<Topology>, Vec<Problem>> {
    if !all_are_set(&RANK_VARIABLES, host) {
        return Ok(None);
    }
    let world = number::<u64>(vars::WORLD_SIZE, 1, host)?;
    let local = number::<u32>(vars::LOCAL_WORLD_SIZE, 1, host)?;
    let local_size = local.clone().map(|size| size.map(u64::from));
    let local_size = local_size.or_else(|| world.clone());
    for (rank, size) in [(vars::RANK, &world), (vars::LOCAL_RANK, &local_size)] {
        if let (Some(rank), Some(size)) = (number::<u64>(rank, 0, host)?, size)
            && rank.value >= size.value
        {
            return Err(too_large("rank", &rank, size).into());
        }
    }
    let nnodes = world.as_ref().and_then(|world| {
        let machines = machines_of(world.value, local.as_ref()?.value.into())?;
        Some(Sourced::new(machines, world.from.clone()))
    });
    Ok(Some(Topology {
        world_size: world,
        master_addr: text(vars::MASTER_ADDR, host),
        master_port: number(vars::MASTER_PORT, 0, host)?,
        role: Role::Rank {
            first: host.nonempty_var(vars::RANK) == Some("0"),
        },
        ..Topology::new(nnodes, local, devices.clone())
    }))
}

/// Refuses a part of what a launcher sets, while the rest is missing: a WORLD_SIZE that is not the number of these ranks, or
/// the number of another rank than the first. Started like this, the ranks would be alone.
fn incomplete_rank_env(topology: &Topology, host: &Host) -> Option<Problem> {
    let mut missing = RANK_VARIABLES.to_vec();
    missing.retain(|name| host.nonempty_var(name).is_none());
    if missing.is_empty() {
        return None;
    }
    let meets_others = foreign_address(host).is_some();
    let world = topology.world_size.as_ref();
    let ranks = world.map(|world| world.value.to_string());
    let set = text(vars::WORLD_SIZE, host)
        .filter(|size| size.value != "1" && (meets_others || ranks.as_ref() != Some(&size.value)))
        .or_else(|| text(vars::RANK, host).filter(|rank| rank.value != "0" || meets_others))
        .or_else(|| text(vars::LOCAL_RANK, host).filter(|rank| rank.value != "0"))?;
    let what = format!(
        "`{}` is set, but not {}: a rank needs all three",
        set.from,
        missing.join(" and ")
    );
    let several = place_flags("N", "I", "HOST").remark("for several machines");
    let problem = refused(what).at(&set);
    Some(problem.fix(several.or(alone())))
}
