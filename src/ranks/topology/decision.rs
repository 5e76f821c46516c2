//! Decides the topology. Flags decide; everything else is evidence, and must agree. Nothing is guessed.

use std::{net::IpAddr, path::PathBuf};

use super::{
    Allocation, Placement, Processes, RankFlags, Role, Task, Topology, all_are_set, alone,
    any_is_set, check,
    devices::{Devices, HostFlags, hosts_refused, parse_hostfile, shown},
    engine::label,
    evidence::Evidence,
    foreign_address, is_loopback, is_set, machines_of, meets_on_loopback, number, place_flags,
    refused, rendezvous_problem,
    tables::{
        rank_variables::{
            MASTER_ADDR, MASTER_PORT, NNODES, NODE_RANK, NPROC_PER_NODE, RANK_VARIABLES,
            SCHEDULED_JOBS,
        },
        uncounted::UNCOUNTED,
    },
    tasks_are_ranks, text, too_large,
};
use crate::{
    base::{
        layout::plural,
        source::{Given, Source, Sourced, default},
        vars,
    },
    host::Host,
    report::prelude::*,
};

impl Topology {
    /// `ranked`: the command is started as ranks, not passed through.
    pub fn decide(
        flags: &RankFlags,
        hosts: &HostFlags,
        ranked: bool,
        host: &Host,
    ) -> Result<Self, Problems> {
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
                let file = shown(file);
                return Err(
                    hosts_refused("the ranks exist already, so no hostfile is needed")
                        .at(&file)
                        .fix(drop_given(&file))
                        .into(),
                );
            }
        }
        let told = match &flags.nnodes {
            _ if !ranked => vec![],
            Some(_) => evidence.weigh(&flags.or_variables(host)?, false)?,
            None => evidence.weigh(flags, false)?,
        };
        // The numbers of ranks and of machines.
        let mut asked = flags.texts().into_iter().take(2).flatten();
        let is_asked = asked.any(|asked| asked.from.is_flag());
        let mut topology = match (existing, allocation) {
            (Some(existing), _) if !is_asked => existing,
            _ if !ranked => Topology::new(None, None, inputs.devices),
            (_, None) => inputs.ranks_without_engine()?,
            (_, Some(allocation)) => {
                let mut topology = inputs.ranks_of_engine(allocation)?;
                topology.notes.extend(told);
                topology.notes.extend(topology.meets_elsewhere(allocation));
                topology.engine = Some(allocation.engine);
                topology
            }
        };
        topology.evidence = evidence.in_words();
        if ranked
            && flags.nnodes.is_none()
            && let Some(problem) = evidence.against_one_machine(&topology)
        {
            return Err(problem.into());
        }
        Ok(topology)
    }

    /// True if an engine places this process, or anything counts several machines.
    pub fn is_in_a_job(host: &Host) -> bool {
        let evidence = Evidence::collect(host);
        evidence.allocation().is_some()
            || evidence.place_of_several().is_some()
            || uncounted_machines(host).next().is_some()
    }

    /// True if a scheduler may send signals: an engine placed this process, or a batch job has this one machine.
    pub fn has_scheduler(&self, host: &Host) -> bool {
        self.engine.is_some() || any_is_set(SCHEDULED_JOBS, host)
    }

    /// What says that this process belongs to a job of several machines.
    pub fn job_of_several_nodes(host: &Host) -> Option<Place> {
        Evidence::collect(host).place_of_several()
    }

    /// Weighs what the launcher in the command says about machines: in words that were typed, or in a file or a variable. It
    /// leaves the number of those open that torchrun counts as they come, and of those of a hostfile.
    pub fn weigh(stated: &RankFlags, typed: bool, host: &Host) -> Result<Problems, Problem> {
        let evidence = Evidence::collect(host);
        match (&stated.nnodes, typed) {
            (Some(_), true) => evidence.weigh(stated, true),
            (Some(_), false) => evidence.and(stated).weigh(&RankFlags::default(), true),
            (None, true) => Ok(evidence.started_twice().into_iter().collect()),
            (None, false) => Ok(evidence
                .started_twice()
                .or_else(|| evidence.against_hostfile())
                .into_iter()
                .collect()),
        }
    }

    /// The topology that the launcher in the command states.
    /// `gpus`: those that it gives to its ranks, if it does not leave that to the variables.
    pub fn of_existing_launcher(stated: RankFlags, gpus: Option<Vec<String>>, host: &Host) -> Self {
        let mut devices = Devices::detect(host);
        devices.names = gpus.or(devices.names);
        let nproc = stated.nproc_per_node;
        let nproc = nproc.and_then(|nproc| devices.processes(Some(nproc), None, host));
        Topology {
            node_rank: stated.node_rank.unwrap_or_default(),
            master_addr: stated.master_addr,
            master_port: stated.master_port,
            ..Self::new(stated.nnodes, nproc, devices)
        }
    }

    /// The ranks that a command without a launcher would be, however many processes the launcher starts.
    pub fn without_launcher(flags: &RankFlags, host: &Host) -> Result<Self, Problems> {
        let flags = RankFlags {
            nproc_per_node: Some(default(Processes::Count(1))),
            ..flags.clone()
        };
        Self::decide(&flags, &HostFlags::default(), true, host)
    }

    pub fn of_srun_tasks(host: &Host) -> Self {
        Topology {
            role: Role::Shell { groups: 1 },
            ..Self::new(None, None, Devices::detect(host))
        }
    }

    /// Warns if the ranks are to meet on another machine than the first one of the engine, as far as their names show it.
    fn meets_elsewhere(&self, allocation: &Allocation) -> Option<Problem> {
        let address = self.master_addr.as_ref()?;
        let first = allocation.master_addr.as_ref()?;
        // Each machine takes 0.0.0.0 for itself. Of other numbers nothing is known.
        let name_of = |name: &Sourced<String>| match name.value.parse::<IpAddr>() {
            Ok(number) if !number.is_unspecified() => None,
            _ => Some(label(&name.value)),
        };
        let (one, two) = name_of(address).zip(name_of(first))?;
        if !self.has_several_nodes() || one.starts_with(&two) || two.starts_with(&one) {
            return None;
        }
        let engine = allocation.engine;
        let what = format!(
            "the first machine of {engine} is {first}, but the ranks are to meet on {address}"
        );
        let fix = match &address.from {
            Source::Variable(name) => unset_variable(name),
            _ => drop_given(address),
        };
        Some(
            Rule::ContradictsScheduler
                .warning(what)
                .at(address)
                .at(first)
                .fix(fix),
        )
    }

    /// Warns of more ranks on a machine than GPUs that the engine counts, where nothing else does. Gives up the world size if
    /// the machines may differ in GPUs: it is not this machine's count times their number then.
    fn compare_gpus(&mut self, allocation: &Allocation) {
        let is_uncounted = self.devices.names.is_none() || matches!(self.role, Role::Shell { .. });
        if let (Some(gpus), Some(nproc)) = (&allocation.gpus, &self.nproc_per_node)
            && is_uncounted
            && (1..nproc.value).contains(&gpus.value)
        {
            let counted = plural(gpus.value.into(), "GPU", "s");
            self.notes.push(
                Rule::RanksShareGpus
                    .warning(format!(
                        "{nproc} ranks would share {counted}, which NCCL refuses"
                    ))
                    .at(nproc)
                    .at(gpus)
                    .fix(give("--nproc-per-node", gpus)),
            );
        }
        let by_engine = allocation.gpus.as_ref().map(|gpus| &gpus.from);
        if allocation.peers_differ
            && self.has_several_nodes()
            && let Some(nproc) = &self.nproc_per_node
            && (self.devices.counted(nproc) || by_engine == Some(&nproc.from))
        {
            let what = format!(
                "the machines may not all have {nproc} GPUs: what depends on the number of ranks is left to the trainer"
            );
            let fix = give("--nproc-per-node", "N").remark("if every machine starts N");
            self.notes
                .push(Rule::MachinesDiffer.warning(what).at(nproc).fix(fix));
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
    fn ranks_of_engine(self, allocation: &Allocation) -> Result<Topology, Problems> {
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
    fn ranks_without_engine(self) -> Result<Topology, Problems> {
        let host = self.host;
        let is_counted = self.flags.nnodes.is_some() || any_is_set(&NNODES, host);
        let (refused, noted): (Vec<_>, Vec<_>) = uncounted_machines(host)
            .filter(|_| !is_counted)
            .partition(|it| it.severity == Severity::Error);
        check(refused)?;
        let mut topology = self.ranks_to_start(&Allocation {
            nnodes: default(1),
            ..Allocation::default()
        })?;
        topology.notes.extend(noted);
        match incomplete_rank_env(&topology, host) {
            Some(problem) if !is_counted => Err(problem.into()),
            _ => Ok(topology),
        }
    }

    /// In the shell of a job, the ranks are started on this machine all the same if the user says which machine it is, or
    /// wants one machine only and the shell is on one (not `outside`).
    fn stays_in_job_shell(&self, outside: bool) -> bool {
        let is_numbered = self.flags.node_rank.is_some() || any_is_set(&NODE_RANK, self.host);
        is_numbered || self.flags.nnodes.value() == Some(1) && !outside
    }

    fn ranks_to_start(self, allocation: &Allocation) -> Result<Topology, Problems> {
        let Inputs {
            flags,
            host,
            devices,
        } = self;
        let stated = flags.or_variables(host)?;
        let nnodes = stated.nnodes.unwrap_or_else(|| allocation.nnodes.clone());
        let several = nnodes.value > 1;
        // With `--nnodes 1`, the environment may keep the number of this machine among others.
        let mut node_rank = if nnodes.value == 1 && nnodes.from.is_flag() {
            flags.node_rank.clone()
        } else {
            stated.node_rank
        };
        let is_same_count = allocation.nnodes.value == nnodes.value;
        if is_same_count {
            node_rank = node_rank.or_else(|| allocation.node_rank.clone());
        }
        let node_rank = node_rank.unwrap_or_default();
        let mut address = stated.master_addr;
        let mut port = stated.master_port;
        let is_address_by_engine = address.is_none();
        // On one machine a MASTER_ADDR that is set means nothing, and the port of an engine is not needed.
        if several {
            port = port.or_else(|| allocation.master_port.clone());
            // Variables that name the machines may leave the port to torchrun and ms-swift.
            let froms = address.as_ref().map(|it| (&it.from, &nnodes.from));
            let by_variables = matches!(froms, Some((Source::Variable(_), Source::Variable(_))));
            port = port.or(by_variables.then(|| default(29500)));
        } else {
            address = address.filter(|address| address.from.is_flag());
        }
        if is_address_by_engine {
            address.clone_from(&allocation.master_addr);
        }
        let nproc = devices.processes(stated.nproc_per_node, allocation.gpus.clone(), host);
        let mut problems = vec![];
        if nproc.is_none() {
            problems.push(devices.count_problem(host));
        }
        if several {
            match rendezvous_problem(address.as_ref(), port.is_some(), &nnodes) {
                None if is_address_by_engine => problems.extend(allocation.address_problem.clone()),
                found => problems.extend(found),
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
            master_addr: address,
            master_port: port,
            ..Topology::new(Some(nnodes), nproc, devices)
        };
        topology.notes = unused_variables(&topology, allocation, host);
        topology.compare_gpus(allocation);
        Ok(topology)
    }

    /// Each task is a rank, and the engine says how many there are on each machine.
    fn task_of_engine(self, task: Task, allocation: &Allocation) -> Result<Topology, Problems> {
        let local = &task.local_world_size;
        let machines = task.world_size.value / local.value;
        let mut problems = vec![];
        if let Some(asked) = &self.flags.nproc_per_node
            && asked.from != Source::Default
            && asked.value != Processes::Count(local.value)
        {
            problems.push(tasks_are_ranks(local, asked));
        }
        if let Some(asked) = &self.flags.nnodes
            && asked.value != machines
        {
            problems.push(tasks_are_ranks(local, asked));
        }
        if let Some(gpus) = self.devices.listed().or_else(|| allocation.gpus.clone())
            && (2..local.value).contains(&gpus.value)
        {
            let fix = run(format!("srun --ntasks-per-node={gpus}")).remark("to start the step");
            problems.push(
                refused(format!("{local} tasks would share {gpus} GPUs"))
                    .at(local)
                    .at(&gpus)
                    .fix(fix),
            );
        }
        check(problems)?;
        let flags = RankFlags {
            nnodes: Some(allocation.nnodes.clone()),
            node_rank: Some(allocation.node_rank.clone().unwrap_or_default()),
            nproc_per_node: Some(local.says(Processes::Count(local.value))),
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
        let port = topology
            .master_port
            .or_else(|| allocation.master_port.clone());
        Ok(Topology {
            world_size: Some(task.world_size.clone().map(u64::from)),
            master_addr: Some(address.unwrap_or_else(|| default("127.0.0.1".to_string()))),
            // torch's own default.
            master_port: Some(port.unwrap_or(default(29500))),
            role: Role::Task(task),
            notes: vec![],
            ..topology
        })
    }

    /// `srun` will start this same command on each machine of the job.
    fn ranks_through_srun(
        self,
        groups: u32,
        allocation: &Allocation,
    ) -> Result<Topology, Problems> {
        let stated = self.flags.or_variables(self.host)?;
        let nnodes = stated.nnodes.unwrap_or_else(|| allocation.nnodes.clone());
        if nnodes.value > allocation.nnodes.value {
            return Err(other_number_of_machines(&nnodes, &allocation.nnodes).into());
        }
        if let Some(address) = stated.master_addr
            && nnodes.value > 1
            && is_loopback(&address.value)
        {
            return Err(meets_on_loopback(&address, &nnodes).into());
        }
        // A login machine has no GPUs; the others will count theirs.
        let gpus = allocation.gpus.clone();
        let nproc = self
            .devices
            .processes(stated.nproc_per_node, gpus, self.host);
        let mut topology = Topology {
            role: Role::Shell { groups },
            ..Topology::new(Some(nnodes), nproc, self.devices)
        };
        topology.compare_gpus(allocation);
        Ok(topology)
    }

    /// DeepSpeed's runner starts the ranks on the machines of a hostfile.
    fn ranks_of_hostfile(
        self,
        file: &Sourced<PathBuf>,
        hosts: &HostFlags,
    ) -> Result<Topology, Problems> {
        let flags = self.flags;
        let path = self.host.absolute(&file.value);
        let text = reading::read_text(&path)?;
        let pool = hosts.filtered(parse_hostfile(&text, &path.display().to_string())?)?;
        let stated = flags.texts();
        let contradictions = stated[..3]
            .iter()
            .flatten()
            .filter(|flag| flag.from.is_flag());
        if contradictions.clone().next().is_some() {
            let what = "the hostfile says how many machines and GPUs there are";
            return Err(contradictions
                .fold(hosts_refused(what).at(&shown(file)), Problem::at)
                .fix("choose among them with --include and --exclude")
                .into());
        }
        let count = |count: usize| file.says(u32::try_from(count).unwrap_or(u32::MAX));
        let gpus: Vec<usize> = pool.iter().map(|machine| machine.slots.len()).collect();
        let is_equal = gpus.iter().all(|slots| *slots == gpus[0]);
        let nproc = is_equal.then(|| count(gpus[0]));
        Ok(Topology {
            world_size: Some(count(gpus.iter().sum()).map(u64::from)),
            master_addr: flags.master_addr.clone(),
            master_port: flags.master_port.clone(),
            pool: Some(pool),
            ..Topology::new(Some(count(gpus.len())), nproc, self.devices)
        })
    }
}

fn other_number_of_machines(asked: &Sourced<u32>, seen: &Sourced<u32>) -> Problem {
    let what = format!("{asked} machines are asked for, but the job has {seen}");
    refused(what).at(asked).at(seen).fix(
        "leave the number to the scheduler, or give --node-rank, --master-addr and --master-port on each machine too",
    )
}

fn machine_unknown(nnodes: &Sourced<u32>) -> Problem {
    let last = nnodes.value - 1;
    let fix = give("--node-rank", "I").remark(format!(
        "on each of them, 0 on the first, {last} on the last"
    ));
    refused(format!(
        "nothing says which of the {nnodes} machines this is"
    ))
    .at(nnodes)
    .fix(fix)
}

/// The rank that this process is, if a launcher set RANK, LOCAL_RANK and WORLD_SIZE for it.
fn existing_rank(devices: &Devices, host: &Host) -> Result<Option<Topology>, Problems> {
    if !all_are_set(&RANK_VARIABLES, host) {
        return Ok(None);
    }
    let world = number::<u32>(vars::WORLD_SIZE, 1, host)?;
    let local = number(vars::LOCAL_WORLD_SIZE, 1, host)?;
    let places = [
        (vars::RANK, world.as_ref()),
        (vars::LOCAL_RANK, local.as_ref().or(world.as_ref())),
    ];
    for (rank, size) in places {
        if let (Some(rank), Some(size)) = (number(rank, 0, host)?, size)
            && rank.value >= size.value
        {
            return Err(too_large("rank", &rank, size).into());
        }
    }
    let nnodes = world
        .as_ref()
        .zip(local.as_ref())
        .and_then(|(world, local)| Some(world.says(machines_of(world.value, local.value)?)));
    Ok(Some(Topology {
        world_size: world.map(|world| world.map(u64::from)),
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
    missing.retain(|name| !is_set(name, host));
    if missing.is_empty() {
        return None;
    }
    let meets_others = foreign_address(host).is_some();
    let ranks = topology.world_size.as_ref().map(Sourced::to_string);
    let set = text(vars::WORLD_SIZE, host)
        .filter(|size| size.value != "1" && (meets_others || ranks.as_ref() != Some(&size.value)))
        .or_else(|| text(vars::RANK, host).filter(|rank| rank.value != "0" || meets_others))
        .or_else(|| text(vars::LOCAL_RANK, host).filter(|rank| rank.value != "0"))?;
    let what = format!(
        "`{}` is set, but not {}: a rank needs all three",
        set.from,
        missing.join(" and ")
    );
    Some(
        refused(what).at(&set).fix(
            place_flags("N", "I", "HOST")
                .remark("for several machines")
                .or(alone()),
        ),
    )
}

/// Warns of variables that say something else than what was decided: torchrun gets everything by flags, so they have no
/// effect.
fn unused_variables(topology: &Topology, allocation: &Allocation, host: &Host) -> Problems {
    let decided = [
        (NNODES, topology.nnodes.as_ref().map(Sourced::text)),
        (NODE_RANK, Some(topology.node_rank.text())),
        (
            NPROC_PER_NODE,
            topology.nproc_per_node.as_ref().map(Sourced::text),
        ),
        (MASTER_ADDR, topology.master_addr.clone()),
        (
            MASTER_PORT,
            topology.master_port.as_ref().map(Sourced::text),
        ),
    ];
    let mut notes = vec![];
    for (names, decided) in decided {
        // On one machine, its number and where it would meet others are of no interest.
        let is_counted = names == NNODES || names == NPROC_PER_NODE;
        let Some(decided) = decided.filter(|_| is_counted || topology.has_several_nodes()) else {
            continue;
        };
        for variable in names.iter().filter_map(|name| text(name, host)) {
            let is_word = matches!(variable.value.as_str(), "auto" | "gpu" | "cpu");
            if variable.value.trim() != decided.value && variable.from != decided.from && !is_word {
                notes.push(is_ignored(&variable, &decided.spelling()));
            }
        }
    }
    if let Some(rank) = text(vars::RANK, host)
        && all_are_set(&RANK_VARIABLES, host)
        && !allocation.sets_rank_variables
    {
        notes.push(is_ignored(&rank, "ranks are started in spite of it"));
    }
    notes
}

fn is_ignored(variable: &Sourced<String>, decided: &str) -> Problem {
    let name = &variable.from;
    Rule::StrayVariable
        .warning(format!("`{name}` says something else, and is ignored"))
        .at(variable)
        .at(decided)
        .fix(run(format!("unset {name}")))
}

fn uncounted_machines(host: &Host) -> impl Iterator<Item = Problem> {
    UNCOUNTED
        .iter()
        .filter(|row| is_set(row.variable, host))
        .map(|row| {
            let alone = give("--nnodes", 1).remark("if this machine is meant");
            Rule::UncountedMachines
                .error(format!(
                    "{}: ranks are started on this machine only",
                    row.what
                ))
                .at(Place::variable(row.variable, ""))
                .fix(Fixes::from(row.help).or(alone))
                .into_warning_unless(row.severity == Severity::Error)
        })
}
