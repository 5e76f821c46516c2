//! The options of Slurm's `srun`, and variables of a job that limit its tasks.

/// Options without a value, or with one only after `=`. All others take the next word.
pub const SWITCHES: &[&str] = &[
    "bcast",
    "compress",
    "contiguous",
    "debugger-test",
    "disable-status",
    "exact",
    "exclusive",
    "external-launcher",
    "help",
    "hold",
    "immediate",
    "interactive",
    "kill-on-bad-exit",
    "label",
    "nice",
    "no-allocate",
    "no-kill",
    "overcommit",
    "overlap",
    "oversubscribe",
    "preserve-env",
    "propagate",
    "pty",
    "quiet",
    "quit-on-interrupt",
    "reboot",
    "resv-ports",
    "send-libs",
    "share",
    "spread-job",
    "stepmgr",
    "test-only",
    "unbuffered",
    "usage",
    "use-min-nodes",
    "verbose",
    "version",
    "x11",
];

/// The letters of the short ones.
pub const SHORT_SWITCHES: &[u8] = b"EHIkKlOQsuvXZhV";

/// Limits for each task of the job. If one task replaces several on a machine, it needs what all of
/// them had.
pub const PER_TASK: &[&str] = &[
    "SLURM_GPUS_PER_TASK",
    "SLURM_TRES_PER_TASK",
    "SLURM_TRES_BIND",
    "SLURM_GPU_BIND",
    "SLURM_CPUS_PER_TASK",
    "SRUN_CPUS_PER_TASK",
];
