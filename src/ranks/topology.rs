//! How many ranks, on how many machines, and where they meet. A flag beats ranks that exist already, those beat the
//! variables of torchrun and ms-swift, those beat the scheduler (`engine`), that beats what the machine shows. Nothing
//! is guessed.

mod devices;
mod dlc;
mod engine;
mod hostfile;
mod hostlist;
mod jobs;
mod kubernetes;
mod lsf;
mod meeting;
mod mpi;
mod mpich;
mod mvapich;
mod openmpi;
mod pals;
mod read;
mod sagemaker;
pub(crate) mod slurm;
mod volcano;

use crate::base::source::{Said, Source};
use crate::base::vars;
use crate::host::Host;
use crate::report::{self, Problem};

pub(crate) use devices::Devices;
pub(crate) use engine::Task;
use engine::{Engine, Place, Seen};
pub(crate) use hostfile::{Pool, SaidHosts};
use meeting::Meeting;
pub(crate) use read::Processes;
use read::{number, processes, text};

/// Every engine, in the order they are asked: an MPI inside a Slurm job knows its ranks better than Slurm does.
pub(crate) const ALL: &[&Engine] = &[
    &openmpi::ENGINE,
    &mpich::ENGINE,
    &mvapich::ENGINE,
    &pals::ENGINE,
    &lsf::ENGINE,
    &slurm::ENGINE,
    &sagemaker::ENGINE,
    &volcano::ENGINE,
    &dlc::ENGINE,
    &kubernetes::ENGINE,
];

/// Which engine is here, and what it says.
fn look(host: &Host) -> Result<Option<(&'static str, Seen)>, Vec<Problem>> {
    let mut marked = ALL.iter().filter(|engine| host.filled(engine.mark).is_some());
    marked.find_map(|engine| Some((engine.look)(host)?.map(|seen| (engine.name, seen)))).transpose()
}

/// What was said about ranks: by our flags, or by a launcher in the user's command (`None` is left open by it).
#[derive(Clone, Default)]
pub(crate) struct SaidRanks {
    pub(crate) nnodes: Option<Said<u32>>,
    pub(crate) node_rank: Option<Said<u32>>,
    pub(crate) nproc_per_node: Option<Said<Processes>>,
    pub(crate) master_addr: Option<Said<String>>,
    pub(crate) master_port: Option<Said<u16>>,
}

#[derive(Debug)]
pub(crate) struct Topology {
    /// `None`: the launcher in the user's command leaves it open.
    pub(crate) nnodes: Option<Said<u32>>,
    pub(crate) node_rank: Said<u32>,
    /// `None`: left open, or of no interest to this command.
    pub(crate) nproc_per_node: Option<Said<u32>>,
    pub(crate) master_addr: Option<Said<String>>,
    pub(crate) master_port: Option<Said<u16>>,
    /// All ranks together, where that is known.
    pub(crate) world_size: Option<Said<u64>>,
    pub(crate) standing: Standing,
    /// The scheduler or MPI that started this process.
    pub(crate) engine: Option<&'static str>,
    /// The machines of a hostfile.
    pub(crate) pool: Option<Pool>,
    pub(crate) devices: Devices,
    /// What is odd about it, but no reason to refuse.
    pub(crate) notes: Vec<Problem>,
}

/// Where this process stands among the ranks.
#[derive(Debug)]
pub(crate) enum Standing {
    /// Before them: they are to be started.
    Starter,
    /// It is one of them: a launcher already ran.
    Rank { first: bool },
    /// It is one of them, as its engine counts; the variables of a rank are ours to set.
    Task(Task),
    /// In the shell of a job on several machines (and in so many groups): nothing runs on the others yet.
    Shell { groups: u32 },
}

impl Topology {
    pub(crate) fn is_one_process(&self) -> bool {
        let one = |said: &Option<Said<u32>>| said.as_ref().is_some_and(|said| said.value == 1);
        one(&self.nnodes) && one(&self.nproc_per_node)
    }

    /// The ranks exist already: this process is one of them.
    pub(crate) fn ranks_exist(&self) -> bool {
        matches!(self.standing, Standing::Rank { .. } | Standing::Task(_))
    }

    /// Warnings are for one reader: the first rank, or whoever starts the first.
    pub(crate) fn is_first(&self) -> bool {
        match &self.standing {
            Standing::Task(task) => task.rank.value == 0,
            Standing::Rank { first } => *first,
            Standing::Starter | Standing::Shell { .. } => self.node_rank.value == 0,
        }
    }

    /// How many ranks are to be started where, and who says so.
    pub(crate) fn in_words(&self) -> String {
        match (&self.nnodes, &self.nproc_per_node) {
            (Some(nodes), Some(nproc)) if nodes.value > 1 => {
                format!(
                    "{} × {} on {} machines ({}, {})",
                    nodes.value, nproc.value, nodes.value, nodes.from, nproc.from
                )
            }
            (Some(nodes), None) if nodes.value > 1 => format!("on {} machines ({})", nodes.value, nodes.from),
            (_, Some(nproc)) => format!("{} on this machine ({})", nproc.value, nproc.from),
            (_, None) => "as the command says".to_string(),
        }
    }

    /// `ranked`: the command is started as ranks, not passed through.
    pub(crate) fn decide(
        flags: &SaidRanks,
        hosts: &SaidHosts,
        ranked: bool,
        host: &Host,
    ) -> Result<Self, Vec<Problem>> {
        let devices = Devices::seen(host).chosen(hosts)?;
        let insists = |said: Option<&Source>| said.is_some_and(Source::is_flag);
        let machines = insists(flags.nnodes.as_ref().map(|said| &said.from));
        let beats_ranks = machines || insists(flags.nproc_per_node.as_ref().map(|said| &said.from));
        let seen = if ranked { Self::look(flags, host)? } else { None };
        let owned = seen.as_ref().is_some_and(|(_, seen)| seen.owns_rank);
        let existing = if owned { None } else { Self::existing(host, &devices)? };
        let is_task = seen.as_ref().is_some_and(|(_, seen)| matches!(seen.place, Place::Rank(_)));
        if let Some(file) = hosts.hostfile.as_ref().filter(|_| ranked) {
            if existing.is_none() && !is_task {
                return Self::of_pool(flags, hosts, host);
            }
            // One of many ranks reaches nobody else.
            if file.from.is_flag() {
                return Err(vec![report::hostfile_for_ranks_that_exist(file)]);
            }
        }
        if let Some(existing) = existing.filter(|_| !beats_ranks) {
            return Ok(existing);
        }
        if !ranked {
            return Ok(Self::of(None, None, devices));
        }
        let Some((engine, seen)) = seen else {
            let unclear = (!machines).then(|| rank_of_unknown_kind(host)).flatten();
            return match unclear {
                Some(problem) => Err(vec![problem]),
                None => Self::new(flags, host, devices, None),
            };
        };
        let topology = match &seen.place {
            Place::Rank(task) => Self::of_task(flags, task.clone(), &seen, host, devices),
            Place::Shell { groups, elsewhere } if !stays_here(flags, *elsewhere, host) => {
                Self::of_shell(flags, *groups, &seen, host, devices)
            }
            _ => Self::new(flags, host, devices, Some(&seen)),
        }?;
        Ok(Topology { engine: Some(engine), ..topology })
    }

    /// More ranks than there are anywhere are a slip of the finger, and some launchers want a list of them.
    pub(crate) fn too_many(&self) -> Option<Problem> {
        const MOST: u64 = 1 << 20;
        let (nodes, ranks) = (self.nnodes.as_ref()?, self.nproc_per_node.as_ref()?);
        let all = u64::from(nodes.value) * u64::from(ranks.value);
        (all > MOST).then(|| report::too_many_ranks(nodes, ranks, MOST))
    }

    /// What the engine says. Where our flags say everything, it need not be understood.
    fn look(flags: &SaidRanks, host: &Host) -> Result<Option<(&'static str, Seen)>, Vec<Problem>> {
        let complete = flags.nnodes.is_some() && flags.node_rank.is_some() && flags.master_addr.is_some();
        match look(host) {
            Err(_) if complete => Ok(None),
            looked => looked,
        }
    }

    /// An engine started this process, whatever it is.
    pub(crate) fn is_scheduled(host: &Host) -> bool {
        look(host).is_ok_and(|seen| seen.is_some())
    }

    /// Several machines, and where they meet and which of them this is can be told.
    pub(crate) fn can_meet(&self) -> bool {
        let Some(nnodes) = self.nnodes.as_ref() else { return false };
        let there = self.master_addr.as_ref().is_some_and(|address| !meeting::is_loopback(&address.value));
        nnodes.value == 1 || there && self.master_port.is_some() && self.node_rank.value < nnodes.value
    }

    /// A launcher in the command decides; what it leaves open our flags may say.
    pub(crate) fn wrapped(flags: &SaidRanks, stated: SaidRanks, host: &Host) -> Self {
        let devices = Devices::seen(host);
        let nproc = stated.nproc_per_node.and_then(|said| devices.resolve(said, host));
        let mut topology = Self::of(stated.nnodes, nproc, devices);
        topology.node_rank = stated.node_rank.or_else(|| flags.node_rank.clone()).unwrap_or(topology.node_rank);
        topology.master_addr = stated.master_addr.or_else(|| flags.master_addr.clone());
        topology.master_port = stated.master_port.or_else(|| flags.master_port.clone());
        topology
    }

    /// The tasks of an `srun` in the command will know.
    pub(crate) fn elsewhere(host: &Host) -> Self {
        let mut topology = Self::of(None, None, Devices::seen(host));
        topology.standing = Standing::Shell { groups: 1 };
        topology
    }

    /// The address the ranks must be told: on one machine they meet on localhost, unless a flag insists.
    pub(crate) fn meeting_address(&self) -> Option<&Said<String>> {
        let several = self.nnodes.as_ref().is_none_or(|nnodes| nnodes.value > 1);
        self.master_addr.as_ref().filter(|said| several || said.from.is_flag())
    }

    /// Where machines meet on this one. `starts`: a launcher starts the ranks.
    pub(crate) fn opens_port(&self, starts: bool) -> Option<&Said<u16>> {
        let several = self.nnodes.as_ref().is_some_and(|nnodes| nnodes.value > 1);
        let here = match &self.standing {
            Standing::Starter => starts && several && self.node_rank.value == 0,
            Standing::Task(task) => task.rank.value == 0 && task.world_size.value > 1,
            Standing::Rank { .. } | Standing::Shell { .. } => false,
        };
        self.master_port.as_ref().filter(|_| here)
    }

    fn of(nnodes: Option<Said<u32>>, nproc: Option<Said<u32>>, devices: Devices) -> Self {
        let world = nnodes.as_ref().zip(nproc.as_ref()).map(|(nodes, nproc)| {
            let product = u64::from(nodes.value) * u64::from(nproc.value);
            let from = if nodes.value == 1 {
                nproc.from.clone()
            } else {
                Source::Both(Box::new(nodes.from.clone()), Box::new(nproc.from.clone()))
            };
            Said::new(product, from)
        });
        Topology {
            nnodes,
            node_rank: Said::new(0, Source::Default),
            nproc_per_node: nproc,
            master_addr: None,
            master_port: None,
            world_size: world,
            standing: Standing::Starter,
            engine: None,
            pool: None,
            devices,
            notes: Vec::new(),
        }
    }

    /// RANK, LOCAL_RANK and WORLD_SIZE are all there: config work only.
    fn existing(host: &Host, devices: &Devices) -> Result<Option<Self>, Vec<Problem>> {
        if [vars::RANK, vars::LOCAL_RANK, vars::WORLD_SIZE].iter().any(|name| host.filled(name).is_none()) {
            return Ok(None);
        }
        let mut problems = Vec::new();
        let world = number::<u64>(host, vars::WORLD_SIZE, &1, &mut problems);
        let local = number::<u32>(host, vars::LOCAL_WORLD_SIZE, &1, &mut problems);
        let address = text(host, vars::MASTER_ADDR);
        let port = number::<u16>(host, vars::MASTER_PORT, &0, &mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        let nnodes = world.as_ref().zip(local.as_ref()).and_then(|(world, local)| {
            let whole = world.value % u64::from(local.value) == 0;
            let nodes = u32::try_from(world.value / u64::from(local.value)).ok().filter(|_| whole)?;
            Some(Said::new(nodes, world.from.clone()))
        });
        let mut topology = Self::of(nnodes, local, devices.clone());
        topology.world_size = world;
        topology.master_addr = address;
        topology.master_port = port;
        topology.standing = Standing::Rank { first: host.filled(vars::RANK) == Some("0") };
        Ok(Some(topology))
    }

    /// The ranks of this machine are to be started.
    fn new(flags: &SaidRanks, host: &Host, devices: Devices, seen: Option<&Seen>) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let said = |flag: &Option<Said<u32>>, names: [&str; 2], least: u32, problems: &mut Vec<Problem>| {
            flag.clone().or_else(|| names.iter().find_map(|name| number(host, name, &least, problems)))
        };
        let nnodes = said(&flags.nnodes, [vars::NNODES, vars::PET_NNODES], 1, &mut problems);
        let node_rank = said(&flags.node_rank, [vars::NODE_RANK, vars::PET_NODE_RANK], 0, &mut problems);
        let nnodes = nnodes.or_else(|| seen.map(|seen| seen.nnodes.clone())).unwrap_or(Said::new(1, Source::Default));
        let seen_rank = || seen.filter(|seen| seen.nnodes.value == nnodes.value).map(|seen| seen.node_rank.clone());
        let node_rank = node_rank.or_else(seen_rank).unwrap_or(Said::new(0, Source::Default));
        let meeting = Meeting::new(flags, seen, host, &mut problems);
        let stated = stated_processes(flags, host, &mut problems);
        let nproc = devices.count(stated, seen, host);
        if nproc.is_none() {
            problems.push(devices.unknown());
        }
        problems.extend(meeting.problem(&nnodes, seen));
        if node_rank.value >= nnodes.value {
            problems.push(report::node_rank_too_large(&node_rank, &nnodes));
        }
        // Which of the stated machines this one is, only the user could say.
        let placed = nnodes.value == 1 || !matches!(node_rank.from, Source::Default);
        if let Some(seen) = seen.filter(|seen| seen.nnodes.value != nnodes.value && !placed) {
            problems.push(report::other_number_of_machines(&nnodes, &seen.nnodes));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let several = nnodes.value > 1;
        let mut topology = Self::of(Some(nnodes), nproc, devices);
        topology.node_rank = node_rank;
        // A left-over MASTER_ADDR means nothing on one machine, and the port a scheduler would give is not needed.
        let Meeting { address, port, engines_address, engines_port } = meeting;
        topology.master_addr = address.filter(|said| several || said.from.is_flag() || engines_address);
        topology.master_port = port.filter(|_| several || !engines_port);
        topology.note_contradictions(seen, host);
        if let Some(seen) = seen {
            topology.forget_unequal_machines(seen);
        }
        Ok(topology)
    }

    /// This process is one rank of many that an engine started.
    fn of_task(
        flags: &SaidRanks,
        task: Task,
        seen: &Seen,
        host: &Host,
        devices: Devices,
    ) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let meeting = Meeting::new(flags, Some(seen), host, &mut problems);
        let local = &task.local_world_size;
        if let Some(asked) = flags.nproc_per_node.as_ref().filter(|asked| asked.value != Processes::Count(local.value))
        {
            problems.push(report::tasks_are_ranks(local, &asked.place()));
        }
        if let Some(asked) = flags.nnodes.as_ref().filter(|asked| asked.value != seen.nnodes.value) {
            problems.push(report::tasks_are_ranks(local, &asked.place()));
        }
        let gpus = devices.visible().or_else(|| seen.gpus.clone());
        if let Some(gpus) = gpus.filter(|gpus| gpus.value > 1 && gpus.value < local.value) {
            problems.push(report::more_tasks_than_gpus(local, &gpus));
        }
        problems.extend(meeting.problem(&seen.nnodes, Some(seen)));
        if !problems.is_empty() {
            return Err(problems);
        }
        let several = seen.nnodes.value > 1;
        let Meeting { address, port, engines_address, .. } = meeting;
        let mut topology = Self::of(Some(seen.nnodes.clone()), Some(local.clone()), devices);
        topology.node_rank = seen.node_rank.clone();
        topology.world_size = Some(task.world_size.clone().map(u64::from));
        let given = address.filter(|_| several || !engines_address);
        topology.master_addr = given.or_else(|| Some(Said::new("127.0.0.1".to_string(), Source::Default)));
        // torch's own default, where nobody says anything.
        topology.master_port = port.or(Some(Said::new(29500, Source::Default)));
        topology.standing = Standing::Task(task);
        Ok(topology)
    }

    /// The ranks of all machines are started by this same command on each of them.
    fn of_shell(
        flags: &SaidRanks,
        groups: u32,
        seen: &Seen,
        host: &Host,
        devices: Devices,
    ) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let stated = stated_processes(flags, host, &mut problems);
        let names = [vars::NNODES, vars::PET_NNODES];
        let machines = flags.nnodes.clone();
        let machines = machines.or_else(|| names.iter().find_map(|name| number(host, name, &1, &mut problems)));
        let nnodes = machines.unwrap_or_else(|| seen.nnodes.clone());
        if nnodes.value > seen.nnodes.value {
            problems.push(report::other_number_of_machines(&nnodes, &seen.nnodes));
        }
        let Meeting { address, .. } = Meeting::new(flags, None, host, &mut problems);
        if let Some(address) = address.filter(|address| nnodes.value > 1 && meeting::is_loopback(&address.value)) {
            problems.push(report::meets_on_loopback(&address, &nnodes));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        // A login node has no GPUs; the machines will count theirs.
        let nproc = devices.count(stated, Some(seen), host);
        let mut topology = Self::of(Some(nnodes), nproc, devices);
        topology.standing = Standing::Shell { groups };
        topology.forget_unequal_machines(seen);
        Ok(topology)
    }

    /// The machines and GPUs of a hostfile, which the runner reaches by itself.
    fn of_pool(flags: &SaidRanks, hosts: &SaidHosts, host: &Host) -> Result<Self, Vec<Problem>> {
        let Some(pool) = hosts.pool(host)? else { return Ok(Self::of(None, None, Devices::seen(host))) };
        let numbers = [
            flags.nnodes.as_ref().map(|said| (&said.from, said.place())),
            flags.node_rank.as_ref().map(|said| (&said.from, said.place())),
            flags.nproc_per_node.as_ref().map(|said| (&said.from, said.place())),
        ];
        let said: Vec<String> =
            numbers.into_iter().flatten().filter(|(from, _)| from.is_flag()).map(|it| it.1).collect();
        if !said.is_empty() {
            return Err(vec![report::hostfile_says_how_many(hosts.hostfile.as_ref(), said)]);
        }
        let from = hosts.hostfile.as_ref().map_or(Source::Default, |file| file.from.clone());
        let count = |count: usize| Said::new(u32::try_from(count).unwrap_or(u32::MAX), from.clone());
        let most = pool.0.iter().map(|(_, gpus)| gpus.len()).max().unwrap_or(0);
        let alike = pool.0.iter().all(|(_, gpus)| gpus.len() == most);
        let mut topology = Self::of(Some(count(pool.0.len())), alike.then(|| count(most)), Devices::seen(host));
        topology.world_size = Some(count(pool.gpus()).map(u64::from));
        topology.master_addr.clone_from(&flags.master_addr);
        topology.master_port.clone_from(&flags.master_port);
        topology.pool = Some(pool);
        Ok(topology)
    }

    /// Where machines differ, the number of all ranks is not this machine's times the number of machines.
    fn forget_unequal_machines(&mut self, seen: &Seen) {
        let Some(nproc) = self.nproc_per_node.as_ref().filter(|nproc| self.devices.counted(nproc, seen)) else {
            return;
        };
        let several = self.nnodes.as_ref().is_some_and(|nnodes| nnodes.value > 1);
        if several && !seen.others.agree(nproc.value) {
            self.notes.push(report::machines_differ(nproc));
            self.world_size = None;
        }
    }

    /// What is set and says otherwise than what holds. torchrun is told everything by flags, so nothing comes of it.
    fn note_contradictions(&mut self, seen: Option<&Seen>, host: &Host) {
        let number = |said: &Said<u32>| (said.value.to_string(), said.from.clone());
        let several = self.nnodes.as_ref().is_some_and(|nnodes| nnodes.value > 1);
        let rank = several.then(|| number(&self.node_rank));
        let address = self.master_addr.as_ref().filter(|_| several).map(|said| (said.value.clone(), said.from.clone()));
        let port =
            self.master_port.as_ref().filter(|_| several).map(|said| (said.value.to_string(), said.from.clone()));
        let decided = [
            ([vars::NNODES, vars::PET_NNODES], self.nnodes.as_ref().map(number)),
            ([vars::NODE_RANK, vars::PET_NODE_RANK], rank),
            ([vars::NPROC_PER_NODE, vars::PET_NPROC_PER_NODE], self.nproc_per_node.as_ref().map(number)),
            ([vars::MASTER_ADDR, vars::PET_MASTER_ADDR], address),
            ([vars::MASTER_PORT, vars::PET_MASTER_PORT], port),
        ];
        for (names, decided) in decided {
            let Some((value, from)) = decided else { continue };
            for said in names.iter().filter_map(|name| text(host, name)) {
                let word = matches!(said.value.as_str(), "auto" | "gpu" | "cpu");
                if said.value.trim() != value && said.from != from && !word {
                    self.notes.push(report::stray_variable(&said, &from.with(&value)));
                }
            }
        }
        for said in vars::PET_ELSEWHERE.iter().filter_map(|name| text(host, name)) {
            self.notes.push(report::stray_variable(&said, "static rendezvous, as zlaunch decides it"));
        }
        if [vars::RANK, vars::LOCAL_RANK, vars::WORLD_SIZE].iter().all(|name| host.filled(name).is_some())
            && seen.is_none_or(|seen| !seen.owns_rank)
            && let Some(rank) = text(host, vars::RANK)
        {
            self.notes.push(report::stray_variable(&rank, "ranks are started in spite of it"));
        }
        let Some((seen, nnodes)) = seen.zip(self.nnodes.as_ref()) else { return };
        if seen.nnodes.value != nnodes.value {
            self.notes.push(report::not_the_schedulers_machines(nnodes, &seen.nnodes));
        } else if several && seen.node_rank.value != self.node_rank.value {
            self.notes.push(report::contradicts_scheduler(&self.node_rank, &seen.node_rank));
        }
    }
}

fn stated_processes(flags: &SaidRanks, host: &Host, problems: &mut Vec<Problem>) -> Option<Said<Processes>> {
    flags.nproc_per_node.clone().or_else(|| {
        let names = [vars::NPROC_PER_NODE, vars::PET_NPROC_PER_NODE];
        names.iter().find_map(|name| processes(host, name, problems))
    })
}

/// In the shell of a job, but the user places the machines, or wants only this one; a shell that is on none of them
/// (`elsewhere`) cannot be the one.
fn stays_here(flags: &SaidRanks, elsewhere: bool, host: &Host) -> bool {
    let one = |said: Option<&str>| said.is_some_and(|said| said.trim() == "1");
    let flag = flags.nnodes.as_ref().map(|said| said.value.to_string());
    let said = flag.as_deref().or_else(|| [vars::NNODES, vars::PET_NNODES].iter().find_map(|name| host.filled(name)));
    flags.node_rank.is_some()
        || [vars::NODE_RANK, vars::PET_NODE_RANK].iter().any(|name| host.filled(name).is_some())
        || one(said) && !elsewhere
}

/// RANK and WORLD_SIZE without LOCAL_RANK: some count machines by them, some ranks.
fn rank_of_unknown_kind(host: &Host) -> Option<Problem> {
    let said = [vars::NNODES, vars::PET_NNODES].iter().any(|name| host.filled(name).is_some());
    let world = text(host, vars::WORLD_SIZE).filter(|world| !said && world.value != "1")?;
    let rank = text(host, vars::RANK)?;
    (host.filled(vars::LOCAL_RANK).is_none()).then(|| report::rank_of_unknown_kind(&rank, &world))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::fake::host;

    #[test]
    fn one_file_per_engine() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/ranks/topology");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<_> = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_string()).collect();
        let engines = files
            .iter()
            .filter(|name| {
                !["engine", "devices", "hostfile", "hostlist", "meeting", "mpi", "jobs", "read"]
                    .contains(&name.as_str())
            })
            .count();
        assert_eq!(engines, ALL.len(), "{files:?}");
    }

    #[test]
    fn the_drivers_list_counts_when_no_variable_does() {
        let nproc = |gpus, env: &[(&str, &str)]| {
            let host = Host { nvidia_gpus: gpus, ..host(env) };
            let topology = Topology::decide(&SaidRanks::default(), &SaidHosts::default(), true, &host);
            topology.map(|it| it.nproc_per_node.map(|said| (said.value, said.from.to_string())))
        };
        assert_eq!(nproc(Some(8), &[]), Ok(Some((8, "/proc/driver/nvidia/gpus".to_string()))));
        assert_eq!(
            nproc(Some(8), &[("CUDA_VISIBLE_DEVICES", "3,4")]),
            Ok(Some((2, "CUDA_VISIBLE_DEVICES".to_string())))
        );
        assert!(nproc(None, &[]).is_err() && nproc(Some(0), &[]).is_err());
    }
}
