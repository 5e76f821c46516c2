//! The job that an MPI runs in, as Slurm, PBS or LSF describe it.

use std::path::Path;

use super::hostlist::Hosts;
use super::read::text;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::report::reading;

/// The first machine of the job an MPI runs in.
pub(super) fn first_host(host: &Host) -> Option<Sourced<String>> {
    slurm_first_host(host).or_else(|| pbs_first_host(host)).or_else(|| lsf_first_host(host))
}

/// How many machines the job of an MPI has.
pub(super) fn machines_of_the_job(host: &Host) -> Option<u32> {
    slurm_machines(host).or_else(|| pbs_machines(host))
}

/// What all ranks of one job have in common and no other job on the machine has.
pub(super) fn job(host: &Host) -> Option<Sourced<String>> {
    [vars::SLURM_JOB_ID, vars::PBS_JOBID, vars::LSB_JOBID, vars::PMIX_NAMESPACE]
        .iter()
        .find_map(|name| text(host, name))
}

/// How many machines the job has, for an MPI inside of it.
fn slurm_machines(host: &Host) -> Option<u32> {
    host.filled(vars::SLURM_JOB_NUM_NODES)?.parse().ok()
}

/// The first machine of the job, for an MPI inside of it.
fn slurm_first_host(host: &Host) -> Option<Sourced<String>> {
    let list = text(host, vars::SLURM_JOB_NODELIST)?;
    let first = Hosts::parse(&list.value)?.first()?;
    Some(Sourced::new(first, list.from))
}

/// The machines in the list, each once.
fn pbs_machines(host: &Host) -> Option<u32> {
    let text = pbs_node_file(host)?;
    let names: std::collections::BTreeSet<&str> = text.split_whitespace().collect();
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

/// The first line is the machine that launches, which runs no rank.
fn lsf_first_host(host: &Host) -> Option<Sourced<String>> {
    let text = reading::read_text(Path::new(host.filled(vars::LSB_DJOB_RANKFILE)?)).ok()?;
    let mut hosts = text.split_whitespace();
    let launches = hosts.next()?;
    let first = hosts.find(|name| *name != launches)?;
    Some(Sourced::new(first.to_string(), Source::Variable(vars::LSB_DJOB_RANKFILE.to_string())))
}
