//! Variables of a process that may belong to a job of more machines, which no variable counts.

use crate::report::Severity;

pub struct Uncounted {
    /// It shows what the process belongs to.
    pub variable: &'static str,
    /// A shell or a driver from which the other machines are started is refused.
    pub severity: Severity,
    pub what: &'static str,
    pub help: &'static str,
}

pub const UNCOUNTED: &[Uncounted] = &[
    Uncounted {
        variable: "RAY_JOB_CONFIG_JSON_ENV_VAR",
        severity: Severity::Error,
        what: "this is the driver of a Ray job",
        help: "Ray Train starts a rank on each GPU of the cluster",
    },
    Uncounted {
        variable: "RAY_RAYLET_PID",
        severity: Severity::Warning,
        what: "this is a task of Ray",
        help: "Ray Train starts a rank on each GPU of the cluster",
    },
    Uncounted {
        variable: "SATURN_JOB_LEADER",
        severity: Severity::Warning,
        what: "this is the first instance of a Saturn Cloud job",
        help: "--nnodes N --node-rank $SATURN_JOB_RANK --master-addr $SATURN_JOB_LEADER --master-port 29500",
    },
    Uncounted {
        variable: "JOB_COMPLETION_INDEX",
        severity: Severity::Warning,
        what: "this is the first pod of an Indexed Job",
        help: "--nnodes N --node-rank $JOB_COMPLETION_INDEX --master-addr HOST --master-port 29500",
    },
    Uncounted {
        variable: "FLUX_ENCLOSING_ID",
        severity: Severity::Error,
        what: "this is the shell of a Flux job",
        help: "flux run --nodes=N --tasks-per-node=1 zlaunch …",
    },
];
