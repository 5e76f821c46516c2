//! Who started this process on which machines: Slurm, an MPI, a Kubernetes job. One file each with one `ENGINE`, which
//! looks at its own variables and says what they mean. Nothing is asked of a server, and nothing is guessed.

use super::{dlc, kubernetes, lsf, mpich, mvapich, number, openmpi, pals, sagemaker, slurm, text, volcano};
use crate::error::{self, Problem};
use crate::hash::fnv1a;
use crate::host::Host;
use crate::said::{Said, Source};
use crate::vars;

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

pub(crate) struct Engine {
    pub(crate) name: &'static str,
    /// The variable that tells it is there.
    pub(crate) mark: &'static str,
    /// What it says; `None` if it started nothing here after all.
    pub(super) look: fn(&Host) -> Option<Look>,
}

/// What an engine says, or what is wrong with it.
pub(super) type Look = Result<Seen, Vec<Problem>>;

/// What an engine says about this process.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(super) place: Place,
    pub(super) nnodes: Said<u32>,
    pub(super) node_rank: Said<u32>,
    /// GPUs on this machine, where the engine counts them.
    pub(super) gpus: Option<Said<u32>>,
    pub(super) master_addr: Option<Said<String>>,
    pub(super) master_port: Option<Said<u16>>,
    pub(super) others: Others,
    /// Why the address would be wrong.
    pub(super) not_there: Option<Problem>,
    /// RANK and WORLD_SIZE are this engine's, and count machines or tasks.
    pub(super) owns_rank: bool,
}

#[derive(Debug)]
pub(super) enum Place {
    /// One task on each machine: a launcher starts the ranks there.
    Machine,
    /// One task for each rank.
    Rank(Task),
    /// The shell of a job on several machines: nothing runs on the others yet.
    /// `elsewhere`: it is on none of them.
    Shell { groups: u32, elsewhere: bool },
}

/// A rank that an engine started.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) rank: Said<u32>,
    pub(crate) local_rank: Said<u32>,
    pub(crate) world_size: Said<u32>,
    pub(crate) local_world_size: Said<u32>,
}

/// What is known of the GPUs on the other machines.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Others {
    /// As many as here, as far as anyone says.
    Same,
    /// So many on so many machines together.
    Together(u32, u32),
    /// The machines differ.
    Differ,
}

impl Others {
    /// Whether every machine can be taken to have as many ranks as this one.
    pub(super) fn agree(&self, here: u32) -> bool {
        match self {
            Others::Same => true,
            Others::Together(gpus, machines) => here.checked_mul(*machines) == Some(*gpus),
            Others::Differ => false,
        }
    }
}

/// Which engine is here, and what it says.
pub(super) fn look(host: &Host) -> Result<Option<(&'static str, Seen)>, Vec<Problem>> {
    let mut marked = ALL.iter().filter(|engine| host.filled(engine.mark).is_some());
    marked.find_map(|engine| Some((engine.look)(host)?.map(|seen| (engine.name, seen)))).transpose()
}

/// The variables of an MPI, which starts one task for each rank.
pub(super) struct Tasks {
    pub(super) rank: &'static str,
    pub(super) size: &'static str,
    pub(super) local_rank: &'static str,
    pub(super) local_size: &'static str,
}

impl Tasks {
    pub(super) fn look(&self, host: &Host) -> Option<Look> {
        let names = [self.rank, self.size, self.local_rank, self.local_size];
        names.iter().all(|name| host.filled(name).is_some()).then(|| self.read(host))
    }

    fn read(&self, host: &Host) -> Result<Seen, Vec<Problem>> {
        let mut problems = Vec::new();
        let rank = number::<u32>(host, self.rank, &0, &mut problems);
        let size = number::<u32>(host, self.size, &1, &mut problems);
        let local_rank = number(host, self.local_rank, &0, &mut problems);
        let local_size = number::<u32>(host, self.local_size, &1, &mut problems);
        let (Some(rank), Some(world_size), Some(local_rank), Some(local_world_size)) =
            (rank, size, local_rank, local_size)
        else {
            return Err(problems);
        };
        let nnodes = world_size.value / local_world_size.value;
        let whole = world_size.value % local_world_size.value == 0 && rank.value < world_size.value;
        // From a machine with fewer tasks than the others all looks even, but the machines are too few for that.
        let listed = machines_of_the_job(host).filter(|listed| local_world_size.value == 1 && nnodes > *listed);
        if !whole || listed.is_some() {
            return Err(vec![error::mpi_tasks_spread_unevenly(&world_size, &local_world_size)]);
        }
        let machine = Said::new(rank.value / local_world_size.value, rank.from.clone());
        let first = if nnodes == 1 { None } else { first_host(host) };
        // Whoever waits at the first machine of the list would wait for a rank that sits elsewhere.
        let strayed = first.as_ref().filter(|first| rank.value == 0 && !is_this_machine(&first.value, host));
        let not_there = strayed.map(|first| error::rank_0_is_elsewhere(first, &host.hostname));
        Ok(Seen {
            nnodes: Said::new(nnodes, world_size.from.clone()),
            node_rank: machine,
            gpus: None,
            master_addr: first,
            master_port: job(host).map(|job| port(&job)),
            others: Others::Same,
            not_there,
            owns_rank: false,
            place: if local_world_size.value == 1 && nnodes > 1 {
                Place::Machine
            } else {
                Place::Rank(Task { rank, local_rank, world_size, local_world_size })
            },
        })
    }
}

/// A Kubernetes operator's RANK and WORLD_SIZE: without LOCAL_RANK they count machines.
pub(super) fn machines(host: &Host) -> Option<Look> {
    let present = [vars::RANK, vars::WORLD_SIZE, vars::MASTER_ADDR].iter().all(|name| host.filled(name).is_some());
    if !present || host.filled(vars::LOCAL_RANK).is_some() {
        return None;
    }
    let mut problems = Vec::new();
    let nnodes = number(host, vars::WORLD_SIZE, &1, &mut problems);
    let node_rank = number(host, vars::RANK, &0, &mut problems);
    let (Some(nnodes), Some(node_rank)) = (nnodes, node_rank) else { return Some(Err(problems)) };
    Some(Ok(Seen { owns_rank: true, ..Seen::on_machines(nnodes, node_rank, text(host, vars::MASTER_ADDR)) }))
}

impl Seen {
    /// One task on each machine. The operators of Kubernetes reserve this port unless they say another.
    pub(super) fn on_machines(nnodes: Said<u32>, node_rank: Said<u32>, first: Option<Said<String>>) -> Self {
        Seen {
            place: Place::Machine,
            nnodes,
            node_rank,
            gpus: None,
            master_addr: first,
            master_port: Some(Said::new(23456, Source::Default)),
            others: Others::Same,
            not_there: None,
            owns_rank: false,
        }
    }
}

/// The first machine of the job an MPI runs in.
fn first_host(host: &Host) -> Option<Said<String>> {
    slurm::first_host(host).or_else(|| pals::first_host(host)).or_else(|| lsf::first_host(host))
}

/// How many machines the job of an MPI has.
fn machines_of_the_job(host: &Host) -> Option<u32> {
    slurm::machines(host).or_else(|| pals::machines(host))
}

/// What all ranks of one job have in common and no other job on the machine has.
fn job(host: &Host) -> Option<Said<String>> {
    [vars::SLURM_JOB_ID, vars::PBS_JOBID, vars::LSB_JOBID, vars::PMIX_NAMESPACE]
        .iter()
        .find_map(|name| text(host, name))
}

/// A port that every machine of a job computes alike and two jobs hardly share. It lies below the range from which
/// outgoing connections take theirs.
pub(super) fn port(job: &Said<String>) -> Said<u16> {
    const FIRST: u16 = 20_000;
    const MANY: u64 = 12_000;
    let hash = fnv1a(job.value.as_bytes());
    // The low bits of this hash alone hardly differ for neighbouring numbers.
    let number = (hash ^ (hash >> 32)) % MANY;
    Said::new(FIRST + u16::try_from(number).unwrap_or(0), job.from.clone())
}

/// Whether a name in a list of machines means this one: with or without its domain.
pub(super) fn is_this_machine(name: &str, host: &Host) -> bool {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    host.hostname.is_empty() || short(name) == short(&host.hostname)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_per_engine() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/topology");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<_> = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_string()).collect();
        let engines = files
            .iter()
            .filter(|name| !["engine", "devices", "hostfile", "hostlist", "meeting"].contains(&name.as_str()))
            .count();
        assert_eq!(engines, ALL.len(), "{files:?}");
    }

    #[test]
    fn neighbouring_jobs_have_other_ports_below_the_ephemeral_range() {
        let port_of = |job: u32| port(&Said::new(format!("{job}.0.0"), Source::Default)).value;
        let mut ports: Vec<u16> = (4000..4100).map(port_of).collect();
        assert!(ports.iter().all(|port| (20_000..32_768).contains(port)));
        ports.sort_unstable();
        ports.dedup();
        // A hundred throws into twelve thousand slots meet less than once on average.
        assert!(ports.len() >= 97, "{}", ports.len());
    }
}
