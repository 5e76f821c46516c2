//! Slurm's variables that say the same, the better ones first.

use crate::base::vars;

/// The number of machines of a job.
pub const JOB_COUNTS: [&str; 2] = [vars::SLURM_JOB_NUM_NODES, vars::SLURM_NNODES];

/// The number of machines of a step.
pub const STEP_COUNTS: [&str; 2] = [vars::SLURM_STEP_NUM_NODES, vars::SLURM_NNODES];

/// The number of machines of a step or of a job.
pub const ALL_COUNTS: [&str; 3] = [
    vars::SLURM_STEP_NUM_NODES,
    vars::SLURM_JOB_NUM_NODES,
    vars::SLURM_NNODES,
];

/// The machines of a step.
pub const STEP_LISTS: [&str; 2] = [vars::SLURM_STEP_NODELIST, vars::SLURM_JOB_NODELIST];

/// The machines of a step or of a job, also by the older name.
pub const ALL_LISTS: [&str; 3] = [
    vars::SLURM_STEP_NODELIST,
    vars::SLURM_JOB_NODELIST,
    "SLURM_NODELIST",
];

/// The number of this machine in a step. With one task on each machine, that of the task is the same.
pub const MACHINE_NUMBERS: [&str; 2] = [vars::SLURM_NODEID, vars::SLURM_PROCID];

/// The number of a task, of its machine in the step, and of the task on its machine.
pub const PLACES: [&str; 3] = [vars::SLURM_PROCID, vars::SLURM_NODEID, vars::SLURM_LOCALID];

/// Any of these shows that a process runs on a machine of the job.
pub const ON_MACHINE: [&str; 3] = [
    vars::SLURM_NODEID,
    vars::SLURMD_NODENAME,
    vars::SLURM_PROCID,
];

/// The batch script is 0 in both.
pub const OF_BATCH_SCRIPT: [&str; 2] = [vars::SLURM_PROCID, vars::SLURM_NODEID];

/// Any of these shows that a process belongs to a job, even without SLURM_JOB_ID.
pub const IN_JOB: [&str; 2] = [vars::SLURM_PROCID, "SLURM_JOBID"];

/// The number of tasks. Alone, it may be an option for the next `srun`.
pub const TASKS: [&str; 2] = ["SLURM_NTASKS", "SLURM_NPROCS"];

/// The number of tasks on each machine of a step.
pub const TASKS_PER_NODE: [&str; 2] = [vars::SLURM_STEP_TASKS_PER_NODE, vars::SLURM_TASKS_PER_NODE];

/// From here on, Slurm's step ids are special: interactive shells, the batch script, and two of its own.
pub const FIRST_SPECIAL_STEP: u32 = 0xffff_fff0;
