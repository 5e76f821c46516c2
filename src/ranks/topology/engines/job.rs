//! The job that an MPI or a Slurm task runs in.

use std::collections::BTreeSet;
use std::path::Path;

use super::hostlist::HostList;
use crate::base::hash::fnv1a;
use crate::base::source::Sourced;
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::variables::{first_text, text};
use crate::report::reading;

/// The first host of the job, as Slurm, PBS or LSF list them.
pub(super) fn first_host(host: &Host) -> Option<Sourced<String>> {
    let slurm = || {
        let list = text(vars::SLURM_JOB_NODELIST, host)?;
        Some(Sourced::new(HostList::parse(&list.value)?.get(0)?, list.from))
    };
    let pbs = || {
        let hosts = hosts_in_file(vars::PBS_NODEFILE, host)?;
        Some(Sourced::new(hosts.value.into_iter().next()?, hosts.from))
    };
    // The first line of LSF's file is the launch node, which runs no rank.
    let lsf = || {
        let hosts = hosts_in_file(vars::LSB_DJOB_RANKFILE, host)?;
        let first = hosts.value.iter().find(|name| **name != hosts.value[0])?;
        Some(Sourced::new(first.clone(), hosts.from))
    };
    slurm().or_else(pbs).or_else(lsf)
}

/// How many nodes the job has. PBS lists a host once for each of its slots.
pub(super) fn node_count(host: &Host) -> Option<u32> {
    let slurm = host.filled(vars::SLURM_JOB_NUM_NODES).and_then(|count| count.parse().ok());
    slurm.or_else(|| {
        let names: BTreeSet<String> = hosts_in_file(vars::PBS_NODEFILE, host)?.value.into_iter().collect();
        u32::try_from(names.len()).ok().filter(|count| *count > 0)
    })
}

/// The hosts in the file that a variable names.
fn hosts_in_file(variable: &str, host: &Host) -> Option<Sourced<Vec<String>>> {
    let file = text(variable, host)?;
    let names = reading::text_if_any(Path::new(&file.value))?;
    Some(Sourced::new(names.split_whitespace().map(str::to_string).collect(), file.from))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::source::Source;

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
