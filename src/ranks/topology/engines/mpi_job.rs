//! Kubeflow's MPIJob: github.com/kubeflow/mpi-operator, pkg/controller/mpi_job_controller.go. In its pods nothing is a rank
//! until `mpirun` starts it, and then the variables of that MPI are there.

use crate::host::Host;
use crate::ranks::topology::engine::{Detected, Engine};
use crate::ranks::topology::variables::text;
use crate::report;

pub(super) const ENGINE: Engine = Engine { name: "MPIJob", detect: |_, host| detect(host) };

fn detect(host: &Host) -> Option<Detected> {
    let role = text("K_MPI_JOB_ROLE", host)?;
    Some(Err(report::mpi_job_pod(&role).into()))
}
