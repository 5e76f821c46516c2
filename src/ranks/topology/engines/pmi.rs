//! An MPI of which only PMI or PMIx is seen. MPICH's `mpiexec.gforker` forks all of its tasks on this machine; seen with MPICH
//! 5.0.2. PRRTE's `prterun` (seen with 3.0) says which rank this is, but neither of how many nor on which machine. Asked
//! last, since other engines set the same variables and more.

use super::mpi::{MpiVariables, unset};
use crate::host::Host;
use crate::ranks::topology::engine::{Detected, Engine};
use crate::ranks::topology::variables::all_are_set;
use crate::report;

pub(super) const ENGINE: Engine = Engine { name: "PMI", detect: |_, host| detect(host) };

const RANKS: [&str; 2] = ["PMI_RANK", "PMI_SIZE"];
const PMIX: [&str; 2] = ["PMIX_RANK", "PMIX_NAMESPACE"];

const FORKED: MpiVariables = MpiVariables {
    engine: "MPICH",
    rank: "PMI_RANK",
    size: "PMI_SIZE",
    local_rank: "PMI_RANK",
    local_size: "PMI_SIZE",
    proxies: "mpiexec.gforker",
    ..MpiVariables::NONE
};

fn detect(host: &Host) -> Option<Detected> {
    // Only the process managers that fork set both of these.
    if all_are_set(&["PMI_FD", "MPI_UNIVERSE_SIZE"], host) && host.filled("MPI_LOCALNRANKS").is_none() {
        return FORKED.detect(host);
    }
    let (set, missing) = unset(&RANKS, host);
    if !set.is_empty() {
        let is_one = host.filled("PMI_SIZE") == Some("1");
        let local = [&missing[..], &["LOCAL_RANK"]].concat();
        return (!is_one).then(|| Err(report::tasks_unknown(ENGINE.name, &set, &local).into()));
    }
    let (set, _) = unset(&PMIX, host);
    (!set.is_empty()).then(|| Err(report::tasks_unknown("PMIx", &set, &["WORLD_SIZE", "LOCAL_RANK"]).into()))
}
