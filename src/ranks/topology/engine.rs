//! Who started this process on which machines: Slurm, an MPI, a Kubernetes job. One file each with one `ENGINE`, which
//! looks at its own variables and says what they mean. Nothing is asked of a server, and nothing is guessed.

use super::read::{number, text};
use crate::base::hash::fnv1a;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::report::Problem;

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
    pub(super) placement: Placement,
    pub(super) nnodes: Sourced<u32>,
    pub(super) node_rank: Sourced<u32>,
    /// GPUs on this machine, where the engine counts them.
    pub(super) gpus: Option<Sourced<u32>>,
    pub(super) master_addr: Option<Sourced<String>>,
    pub(super) master_port: Option<Sourced<u16>>,
    pub(super) others: Others,
    /// Why the address would be wrong.
    pub(super) not_there: Option<Problem>,
    /// RANK and WORLD_SIZE are this engine's, and count machines or tasks.
    pub(super) owns_rank: bool,
}

#[derive(Debug)]
pub(super) enum Placement {
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
    pub(crate) rank: Sourced<u32>,
    pub(crate) local_rank: Sourced<u32>,
    pub(crate) world_size: Sourced<u32>,
    pub(crate) local_world_size: Sourced<u32>,
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
    pub(super) fn on_machines(nnodes: Sourced<u32>, node_rank: Sourced<u32>, first: Option<Sourced<String>>) -> Self {
        Seen {
            placement: Placement::Machine,
            nnodes,
            node_rank,
            gpus: None,
            master_addr: first,
            master_port: Some(Sourced::new(23456, Source::Default)),
            others: Others::Same,
            not_there: None,
            owns_rank: false,
        }
    }
}

/// A port that every machine of a job computes alike and two jobs hardly share. It lies below the range from which
/// outgoing connections take theirs.
pub(super) fn port(job: &Sourced<String>) -> Sourced<u16> {
    const FIRST: u16 = 20_000;
    const MANY: u64 = 12_000;
    let hash = fnv1a(job.value.as_bytes());
    // The low bits of this hash alone hardly differ for neighbouring numbers.
    let number = (hash ^ (hash >> 32)) % MANY;
    Sourced::new(FIRST + u16::try_from(number).unwrap_or(0), job.from.clone())
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
    fn neighbouring_jobs_have_other_ports_below_the_ephemeral_range() {
        let port_of = |job: u32| port(&Sourced::new(format!("{job}.0.0"), Source::Default)).value;
        let mut ports: Vec<u16> = (4000..4100).map(port_of).collect();
        assert!(ports.iter().all(|port| (20_000..32_768).contains(port)));
        ports.sort_unstable();
        ports.dedup();
        // A hundred throws into twelve thousand slots meet less than once on average.
        assert!(ports.len() >= 97, "{}", ports.len());
    }
}
