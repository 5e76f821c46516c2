//! Decides the topology. Flags decide; everything else is evidence, and must agree. Nothing is guessed.

use std::fmt::Display;
use std::path::PathBuf;

use super::allocation::{Allocation, Placement, Task};
use super::devices::Devices;
use super::evidence::Evidence;
use super::hostfile::HostFlags;
use super::net::foreign_address;
use super::problems::{
    alone, meets_on_loopback, other_number_of_machines, place_flags, tasks_are_ranks, too_large,
};
use super::unused_env::{uncounted_machines, unused_variables};
use super::variables::{
    NNODES, NODE_RANK, Processes, RANK_VARIABLES, RankFlags, all_are_set, any_is_set, check,
    machines_of, number, text,
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
        let devices = Devices::detect(host).select(hosts)?;
        let evidence = Evidence::collect(host);
        let engine = evidence.engine();
        let sets_ranks = engine.is_some_and(|(_, allocation)| allocation.sets_rank_variables);
        let existing = if ranked && sets_ranks {
            None
        } else {
            existing_rank(&devices, host)?
        };
        let is_task = engine
            .is_some_and(|(_, allocation)| matches!(allocation.placement, Placement::Rank(_)));
        let inputs = Inputs {
            flags,
            host,
            devices,
        };
        if ranked && let Some(file) = &hosts.hostfile {
            if existing.is_none() && !is_task {
                let notes = evidence.against_hostfile().into_iter().collect();
                return Ok(Topology {
                    notes,
                    ..inputs.ranks_of_hostfile(file, hosts)?
                });
            }
            // One of many ranks cannot start the others. A variable may be set for a whole site, so it gives way.
            if file.from.is_flag() {
                let problem = Problem::error(
                    Rule::Hosts,
                    "the ranks exist already, so no hostfile is needed",
                );
                let file = file.clone().map(|path| path.display().to_string());
                return Err(problem.at(&file).fix(drop_given(&file)).into());
            }
        }
        let decided = if ranked && flags.nnodes.is_some() {
            flags.or_variables(host)?
        } else {
            flags.clone()
        };
        let told = if ranked {
            evidence.weigh(&decided, false)?
        } else {
            Vec::new()
        };
        let by_flag =
            place_of_flag(flags.nnodes.as_ref()).or(place_of_flag(flags.nproc_per_node.as_ref()));
        let mut topology = match (existing, engine) {
            (Some(existing), _) if by_flag.is_none() => existing,
            _ if !ranked => Topology::new(None, None, inputs.devices),
            (_, None) => inputs.ranks_without_engine()?,
            (_, Some((engine, allocation))) => {
                let mut topology = inputs.ranks_of_engine(allocation)?;
                topology.notes.extend(told);
                Topology {
                    engine: Some(engine),
                    ..topology
                }
            }
        };
        topology.evidence = evidence.in_words();
        Ok(topology)
    }

    pub(crate) fn is_scheduled(host: &Host) -> bool {
        Evidence::collect(host).engine().is_some()
    }

    /// A scheduler may send signals: an engine placed this process, or a batch job has this one machine.
    pub(crate) fn has_scheduler(&self, host: &Host) -> bool {
        let jobs = [
            vars::PBS_JOBID,
            vars::LSB_JOBID,
            "SGE_TASK_ID",
            "OAR_JOB_ID",
            "COBALT_JOBID",
            "FLUX_JOB_ID",
        ];
        self.engine.is_some() || any_is_set(&jobs, host)
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
    ) -> Result<Vec<Problem>, Vec<Problem>> {
        let evidence = Evidence::collect(host);
        match &stated.nnodes {
            None if typed => Ok(evidence.started_twice().into_iter().collect()),
            None => Ok(evidence
                .started_twice()
                .or_else(|| evidence.against_hostfile())
                .into_iter()
                .collect()),
            Some(_) if typed => evidence.weigh(stated, true),
            Some(_) => evidence.and(stated).weigh(&RankFlags::default(), true),
        }
    }

    /// The launcher in the command decides.
    pub(crate) fn of_existing_launcher(stated: RankFlags, host: &Host) -> Self {
        let devices = Devices::detect(host);
        let RankFlags {
            nnodes,
            node_rank,
            nproc_per_node,
            master_addr,
            master_port,
        } = stated;
        let nproc =
            nproc_per_node.and_then(|processes| devices.processes(Some(processes), None, host));
        let topology = Self::new(nnodes, nproc, devices);
        let node_rank = node_rank.unwrap_or_else(|| topology.node_rank.clone());
        Topology {
            node_rank,
            master_addr,
            master_port,
            ..topology
        }
    }

    /// The ranks that a command without a launcher would be, however many processes the launcher starts.
    pub(crate) fn without_launcher(flags: &RankFlags, host: &Host) -> Result<Self, Vec<Problem>> {
        let one = Some(Sourced::new(Processes::Count(1), Source::Default));
        Self::decide(
            &RankFlags {
                nproc_per_node: one,
                ..flags.clone()
            },
            &HostFlags::default(),
            true,
            host,
        )
    }

    pub(crate) fn of_srun_tasks(host: &Host) -> Self {
        Topology {
            role: Role::Shell { groups: 1 },
            ..Self::new(None, None, Devices::detect(host))
        }
    }

    /// If machines differ in GPUs, the world size is not this machine's count times the number of machines.
    fn note_unequal_machines(&mut self, allocation: &Allocation) {
        if let Some(nproc) = &self.nproc_per_node
            && (self.devices.counted(nproc)
                || allocation
                    .gpus
                    .as_ref()
                    .is_some_and(|gpus| gpus.from == nproc.from))
            && self.has_several_nodes()
            && allocation.peers_differ
        {
            let gpus = nproc.value;
            let what = format!(
                "the machines may not all have {gpus} GPUs: what depends on the number of ranks is left to the trainer"
            );
            let fix = give("--nproc-per-node", "N").remark("if every machine starts N");
            self.notes.push(
                Problem::warning(Rule::MachinesDiffer, what)
                    .at(nproc)
                    .fix(fix),
            );
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
            _ => self.ranks_to_start(Some(allocation)),
        }
    }

    /// Only variables and this machine say what is started. A place in something larger must be a whole one.
    fn ranks_without_engine(self) -> Result<Topology, Vec<Problem>> {
        let host = self.host;
        if self.flags.nnodes.is_some() || any_is_set(&NNODES, host) {
            return self.ranks_to_start(None);
        }
        let (refused, noted): (Vec<_>, Vec<_>) =
            uncounted_machines(host).partition(|it| it.severity == Severity::Error);
        check(refused)?;
        let mut topology = self.ranks_to_start(None)?;
        topology.notes.extend(noted);
        incomplete_rank_env(&topology, host).map_or(Ok(topology), |problem| Err(problem.into()))
    }

    /// In the shell of a job, the ranks are started on this machine all the same if the user says which machine it is, or
    /// wants one machine only and the shell is on one (not `outside`).
    fn stays_in_job_shell(&self, outside: bool) -> bool {
        let is_numbered = self.flags.node_rank.is_some() || any_is_set(&NODE_RANK, self.host);
        is_numbered
            || self
                .flags
                .nnodes
                .as_ref()
                .is_some_and(|nnodes| nnodes.value == 1)
                && !outside
    }

    fn ranks_to_start(self, allocation: Option<&Allocation>) -> Result<Topology, Vec<Problem>> {
        let Inputs {
            flags,
            host,
            devices,
        } = self;
        let stated = flags.or_variables(host)?;
        let default = |value: u32| Sourced::new(value, Source::Default);
        let address = stated
            .master_addr
            .clone()
            .or_else(|| allocation?.master_addr.clone());
        let port = stated
            .master_port
            .clone()
            .or_else(|| allocation?.master_port.clone());
        let nnodes = stated
            .nnodes
            .or_else(|| Some(allocation?.nnodes.clone()))
            .unwrap_or(default(1));
        // With `--nnodes 1`, the environment may keep the number of this machine among others.
        let insists = nnodes.value == 1 && nnodes.from.is_flag();
        let node_rank = if insists {
            flags.node_rank.clone()
        } else {
            stated.node_rank
        };
        let same_count = allocation.filter(|allocation| allocation.nnodes.value == nnodes.value);
        let node_rank = node_rank
            .or_else(|| same_count?.node_rank.clone())
            .unwrap_or(default(0));
        let nproc = devices.processes(
            stated.nproc_per_node,
            allocation.and_then(|it| it.gpus.clone()),
            host,
        );
        let mut problems = Vec::new();
        if nproc.is_none() {
            problems.push(devices.count_problem());
        }
        let (several, by_engine) = (nnodes.value > 1, stated.master_addr.is_none());
        if several {
            let astray = if by_engine {
                allocation.and_then(|it| it.address_problem.clone())
            } else {
                None
            };
            problems
                .extend(rendezvous::problem(address.as_ref(), port.is_some(), &nnodes).or(astray));
        }
        if node_rank.value >= nnodes.value {
            problems.push(too_large("machine", &node_rank, &nnodes));
        }
        // Without an engine, or with another number of machines than its own, only the user can say which one this is.
        if several && same_count.is_none() && node_rank.from == Source::Default {
            problems.push(match allocation {
                Some(allocation) => other_number_of_machines(&nnodes, &allocation.nnodes),
                None => {
                    let what = format!(
                        "nothing says which of the {} machines this is",
                        nnodes.value
                    );
                    let each = format!(
                        "on each of them, 0 on the first, {} on the last",
                        nnodes.value - 1
                    );
                    Problem::error(Rule::Ranks, what)
                        .at(&nnodes)
                        .fix(give("--node-rank", "I").remark(each))
                }
            });
        }
        check(problems)?;
        // On one machine a MASTER_ADDR that is set means nothing, and the port of an engine is not needed.
        let master_addr = address.filter(|address| several || address.from.is_flag() || by_engine);
        let master_port = if several || stated.master_port.is_some() {
            port
        } else {
            None
        };
        let mut topology = Topology {
            node_rank,
            master_addr,
            master_port,
            ..Topology::new(Some(nnodes), nproc, devices)
        };
        topology.notes = unused_variables(&topology, allocation, host);
        if let Some(allocation) = allocation {
            topology.note_unequal_machines(allocation);
        }
        Ok(topology)
    }

    /// Each task is a rank, and the engine says how many there are on each machine.
    fn task_of_engine(self, task: Task, allocation: &Allocation) -> Result<Topology, Vec<Problem>> {
        let (local, machines) = (
            &task.local_world_size,
            task.world_size.value / task.local_world_size.value,
        );
        let nproc = self
            .flags
            .nproc_per_node
            .as_ref()
            .filter(|asked| asked.from != Source::Default);
        let nproc = nproc
            .filter(|asked| asked.value != Processes::Count(local.value))
            .map(Place::from);
        let nnodes = self
            .flags
            .nnodes
            .as_ref()
            .filter(|asked| asked.value != machines)
            .map(Place::from);
        let asked = nproc.into_iter().chain(nnodes);
        let mut problems: Vec<Problem> = asked.map(|asked| tasks_are_ranks(local, asked)).collect();
        if let Some(gpus) = self.devices.listed().or_else(|| allocation.gpus.clone())
            && (2..local.value).contains(&gpus.value)
        {
            let what = format!("{} tasks would share {} GPUs", local.value, gpus.value);
            let step = |tasks: u32| {
                run(format!("srun --ntasks-per-node={tasks}")).remark("to start the step")
            };
            let fixes = step(gpus.value).or(step(1).remark("for torchrun"));
            problems.push(
                Problem::error(Rule::Ranks, what)
                    .at(local)
                    .at(&gpus)
                    .fix(fixes),
            );
        }
        check(problems)?;
        let flags = RankFlags {
            nnodes: Some(allocation.nnodes.clone()),
            node_rank: allocation
                .node_rank
                .clone()
                .or(Some(Sourced::new(0, Source::Default))),
            nproc_per_node: Some(local.clone().map(Processes::Count)),
            ..self.flags.clone()
        };
        let topology = Inputs {
            flags: &flags,
            ..self
        }
        .ranks_to_start(Some(allocation))?;
        let several = allocation.nnodes.value > 1;
        let here = Sourced::new("127.0.0.1".to_string(), Source::Default);
        let port = topology
            .master_port
            .or_else(|| allocation.master_port.clone());
        Ok(Topology {
            world_size: Some(task.world_size.clone().map(u64::from)),
            master_addr: topology
                .master_addr
                .filter(|address| several || address.from.is_flag())
                .or(Some(here)),
            // torch's own default.
            master_port: port.or(Some(Sourced::new(29500, Source::Default))),
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
        let Inputs {
            flags,
            host,
            devices,
        } = self;
        let stated = flags.or_variables(host)?;
        let nnodes = stated.nnodes.unwrap_or_else(|| allocation.nnodes.clone());
        if nnodes.value > allocation.nnodes.value {
            return Err(other_number_of_machines(&nnodes, &allocation.nnodes).into());
        }
        if let Some(address) = stated
            .master_addr
            .filter(|address| nnodes.value > 1 && rendezvous::is_loopback(&address.value))
        {
            return Err(meets_on_loopback(&address, &nnodes).into());
        }
        // A login machine has no GPUs; the others will count theirs.
        let nproc = devices.processes(stated.nproc_per_node, allocation.gpus.clone(), host);
        let mut topology = Topology::new(Some(nnodes), nproc, devices);
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
        let Inputs {
            flags,
            host,
            devices,
        } = self;
        let path = host.absolute(&file.value);
        let pool = hosts.filtered(hostfile::parse(
            &reading::read_text(&path)?,
            &path.display().to_string(),
        )?)?;
        let machines = [flags.nnodes.as_ref(), flags.node_rank.as_ref()]
            .into_iter()
            .filter_map(place_of_flag);
        let contradictions: Vec<Place> = machines
            .chain(place_of_flag(flags.nproc_per_node.as_ref()))
            .collect();
        if !contradictions.is_empty() {
            let problem = Problem::error(
                Rule::Hosts,
                "the hostfile says how many machines and GPUs there are",
            );
            let file = file.clone().map(|path| path.display().to_string());
            let problem = contradictions
                .into_iter()
                .fold(problem.at(&file), Problem::at);
            return Err(problem
                .fix("choose among them with --include and --exclude")
                .into());
        }
        let count = |count: usize| {
            Sourced::new(u32::try_from(count).unwrap_or(u32::MAX), file.from.clone())
        };
        let most = pool.0.iter().map(|(_, gpus)| gpus.len()).max().unwrap_or(0);
        let nproc = pool
            .0
            .iter()
            .all(|(_, gpus)| gpus.len() == most)
            .then(|| count(most));
        let topology = Topology::new(Some(count(pool.0.len())), nproc, devices);
        let world_size =
            Some(count(pool.0.iter().map(|(_, gpus)| gpus.len()).sum()).map(u64::from));
        let (master_addr, master_port) = (flags.master_addr.clone(), flags.master_port.clone());
        Ok(Topology {
            world_size,
            master_addr,
            master_port,
            pool: Some(pool),
            ..topology
        })
    }
}

fn place_of_flag<T: Display>(flag: Option<&Sourced<T>>) -> Option<Place> {
    flag.filter(|flag| flag.from.is_flag()).map(Place::from)
}

/// RANK, LOCAL_RANK and WORLD_SIZE are set: a launcher started this process as a rank.
fn existing_rank(devices: &Devices, host: &Host) -> Result<Option<Topology>, Vec<Problem>> {
    if !all_are_set(&RANK_VARIABLES, host) {
        return Ok(None);
    }
    let world = number::<u64>(vars::WORLD_SIZE, 1, host)?;
    let local = number::<u32>(vars::LOCAL_WORLD_SIZE, 1, host)?;
    let local_size = local
        .clone()
        .map(|size| size.map(u64::from))
        .or_else(|| world.clone());
    for (rank, size) in [(vars::RANK, &world), (vars::LOCAL_RANK, &local_size)] {
        if let (Some(rank), Some(size)) = (number::<u64>(rank, 0, host)?, size)
            && rank.value >= size.value
        {
            return Err(too_large("rank", &rank, size).into());
        }
    }
    let nnodes = world
        .as_ref()
        .zip(local.as_ref())
        .and_then(|(world, local)| {
            Some(Sourced::new(
                machines_of(world.value, local.value.into())?,
                world.from.clone(),
            ))
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

/// A WORLD_SIZE that is not the number of these ranks, or the number of another rank than the first: part of what a
/// launcher sets, while the rest is missing. Started like this, the ranks would be alone.
fn incomplete_rank_env(topology: &Topology, host: &Host) -> Option<Problem> {
    let missing: Vec<&str> = RANK_VARIABLES
        .into_iter()
        .filter(|name| host.nonempty_var(name).is_none())
        .collect();
    if missing.is_empty() {
        return None;
    }
    let meets_others = foreign_address(host).is_some();
    let ranks = topology
        .world_size
        .as_ref()
        .map(|world| world.value.to_string());
    let set = text(vars::WORLD_SIZE, host)
        .filter(|size| size.value != "1" && (meets_others || ranks.as_ref() != Some(&size.value)))
        .or_else(|| text(vars::RANK, host).filter(|rank| rank.value != "0" || meets_others))
        .or_else(|| text(vars::LOCAL_RANK, host).filter(|rank| rank.value != "0"))?;
    let what = format!(
        "`{}` is set, but not {}: a rank needs all three",
        set.from,
        missing.join(" and ")
    );
    let fixes = place_flags("N", "I", "HOST")
        .remark("for several machines")
        .or(alone());
    Some(Problem::error(Rule::Ranks, what).at(&set).fix(fixes))
}
