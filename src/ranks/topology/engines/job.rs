//! The job that an MPI or a Slurm task runs in.

use super::hostlist::HostList;
use super::nodes::{hosts_in_file, without_port};
use crate::base::source::Sourced;
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::engines::table;
use crate::ranks::topology::variables::{first_text, text};

/// The first host of the job, as the scheduler around an MPI lists them.
pub(super) fn first_host(host: &Host) -> Option<Sourced<String>> {
    let slurm = || {
        let list = text(vars::SLURM_JOB_NODELIST, host)?;
        Some(Sourced::new(HostList::parse(&list.value)?.get(0)?, list.from))
    };
    // Files that list the machines of a job, one or several lines for each.
    let mut files =
        table::all().filter(|block| block.field("manual").is_some()).filter_map(|block| block.names("first").next());
    let in_file = |name: &str| {
        let file = text(name, host)?;
        Some(Sourced::new(hosts_in_file(&file)?.into_iter().next()?, file.from))
    };
    // The first line of LSF's file is the launch node, which runs no rank.
    let lsf = || {
        let file = text(vars::LSB_DJOB_RANKFILE, host)?;
        Some(Sourced::new(hosts_in_file(&file)?.into_iter().nth(1)?, file.from))
    };
    let azure = || Some(first_text(&AZURE_MASTERS, host)?.map(|address| without_port(&address)));
    slurm().or_else(|| files.find_map(in_file)).or_else(|| shell_of_grid_engine(host)).or_else(lsf).or_else(azure)
}

/// The machine on which the shell of a Grid Engine job runs: the first one. Tasks on the others see its variables, but not the
/// file that PE_HOSTFILE names, which is on its disk. What `qrsh -inherit` starts has a HOSTNAME of its own.
fn shell_of_grid_engine(host: &Host) -> Option<Sourced<String>> {
    text("PE_HOSTFILE", host)?;
    text(if host.nonempty_var("JOB_NAME") == Some("petask") { "SGE_O_HOST" } else { "HOSTNAME" }, host)
}

/// Where the tasks of Azure's MPI jobs meet.
const AZURE_MASTERS: [&str; 2] = ["AZ_BATCHAI_MPI_MASTER_NODE", "AZ_BATCH_MASTER_NODE"];

/// How many nodes the job has at most. PBS lists a host once for each of its slots.
pub(super) fn node_count(host: &Host) -> Option<u32> {
    let counts = ["OMPI_MCA_orte_num_nodes", vars::SLURM_JOB_NUM_NODES];
    let counted = counts.iter().find_map(|name| host.nonempty_var(name)?.parse().ok());
    counted.or_else(|| {
        let file = text(vars::PBS_NODEFILE, host)?;
        u32::try_from(hosts_in_file(&file)?.len()).ok()
    })
}

/// What all ranks of one start have in common, and no other on the node has. A job may start several MPIs, so what they
/// themselves say comes first.
pub(super) fn job_id(host: &Host) -> Option<Sourced<String>> {
    first_text(&[vars::PMIX_NAMESPACE, vars::SLURM_JOB_ID, vars::PBS_JOBID], host)
        .or_else(|| ARRAYS.iter().find_map(|(job, task)| task_of_array(job, task, host)))
        .or_else(|| text(vars::LSB_JOBID, host))
}

/// Numbers of a job that all tasks of an array have in common, and those of the task. Others than Grid Engine may have a JOB_ID.
const ARRAYS: [(&str, &str); 2] = [(vars::LSB_JOBID, "LSB_JOBINDEX"), ("JOB_ID", "SGE_TASK_ID")];

fn task_of_array(job: &str, task: &str, host: &Host) -> Option<Sourced<String>> {
    let task = host.nonempty_var(task)?;
    Some(text(job, host)?.map(|job| format!("{job}.{task}")))
}

/// The number of a batch job, also of one on one machine. Their schedulers send more than TERM.
const BATCH_JOBS: [&str; 6] =
    [vars::PBS_JOBID, vars::LSB_JOBID, "SGE_TASK_ID", "OAR_JOB_ID", "COBALT_JOBID", "FLUX_JOB_ID"];

pub(in crate::ranks::topology) fn is_batch_job(host: &Host) -> bool {
    BATCH_JOBS.iter().any(|name| host.nonempty_var(name).is_some())
}

/// Whether a name in a host list means this machine: with or without its domain.
pub(super) fn is_this_host(name: &str, host: &Host) -> bool {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    host.hostname.is_empty() || short(name) == short(&host.hostname)
}
