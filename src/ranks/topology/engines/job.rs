//! The job that an MPI or a Slurm task runs in.

use std::collections::BTreeSet;
use std::path::Path;

use super::hostlist::HostList;
use crate::base::hash::fnv1a;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::variables::{first_text, text};
use crate::report::reading;

/// The first host of the job, as Slurm, PBS or LSF list them.
pub(super) fn first_host(host: &Host) -> Option<Sourced<String>> {
    slurm_first_host(host).or_else(|| pbs_first_host(host)).or_else(|| lsf_first_host(host))
}

/// How many nodes the job has.
pub(super) fn node_count(host: &Host) -> Option<u32> {
    let slurm = host.filled(vars::SLURM_JOB_NUM_NODES).and_then(|count| count.parse().ok());
    slurm.or_else(|| pbs_node_count(host))
}

/// What all ranks of one job have in common, and no other job on the node has.
pub(super) fn job_id(host: &Host) -> Option<Sourced<String>> {
    first_text(&[vars::SLURM_JOB_ID, vars::PBS_JOBID, vars::LSB_JOBID, vars::PMIX_NAMESPACE], host)
}

/// A port that every node of a job computes alike and two jobs rarely share. It lies below the range from which the
/// system takes ports for outgoing connections.
pub(super) fn port_of_job(job: &Sourced<String>) -> Sourced<u16> {
    const FIRST: u16 = 20_000;
    const COUNT: u64 = 12_000;
    let hash = fnv1a(job.value.as_bytes());
    // The low bits of this hash hardly differ for neighbouring job ids.
    let number = (hash ^ (hash >> 32)) % COUNT;
    Sourced::new(FIRST + u16::try_from(number).unwrap_or(0), job.from.clone())
}

/// Whether a name in a host list means this machine: with or without its domain.
pub(super) fn is_this_host(name: &str, host: &Host) -> bool {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    host.hostname.is_empty() || short(name) == short(&host.hostname)
}

fn slurm_first_host(host: &Host) -> Option<Sourced<String>> {
    let list = text(vars::SLURM_JOB_NODELIST, host)?;
    let first = HostList::parse(&list.value)?.get(0)?;
    Some(Sourced::new(first, list.from))
}

/// PBS lists a host once for each of its slots.
fn pbs_node_count(host: &Host) -> Option<u32> {
    let text = pbs_node_file(host)?;
    let names: BTreeSet<&str> = text.split_whitespace().collect();
    u32::try_from(names.len()).ok().filter(|count| *count > 0)
}

fn pbs_first_host(host: &Host) -> Option<Sourced<String>> {
    let text = pbs_node_file(host)?;
    let first = text.split_whitespace().next()?;
    Some(Sourced::new(first.to_string(), Source::Variable(vars::PBS_NODEFILE.to_string())))
}

fn pbs_node_file(host: &Host) -> Option<String> {
    reading::read_text(Path::new(host.filled(vars::PBS_NODEFILE)?)).ok()
}

/// The first line of LSF's file is the launch node, which runs no rank.
fn lsf_first_host(host: &Host) -> Option<Sourced<String>> {
    let text = reading::read_text(Path::new(host.filled(vars::LSB_DJOB_RANKFILE)?)).ok()?;
    let mut hosts = text.split_whitespace();
    let launch_node = hosts.next()?;
    let first = hosts.find(|name| *name != launch_node)?;
    Some(Sourced::new(first.to_string(), Source::Variable(vars::LSB_DJOB_RANKFILE.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_jobs_have_different_ports_below_the_ephemeral_range() {
        let port = |job: u32| port_of_job(&Sourced::new(format!("{job}.0.0"), Source::Default)).value;
        let mut ports: Vec<u16> = (4000..4100).map(port).collect();
        assert!(ports.iter().all(|port| (20_000..32_768).contains(port)));
        ports.sort_unstable();
        ports.dedup();
        // A hundred jobs in twelve thousand ports collide less than once on average.
        assert!(ports.len() >= 97, "{}", ports.len());
    }
}
