//! No launcher: this process is a rank already, or one process is enough.

use super::kind::Launcher;
use crate::base::source::Sourced;
use crate::ranks::topology::Topology;
use crate::report::{self, Problem};

/// One process cannot be several ranks.
pub(super) fn check(asked: &Sourced<Launcher>, topology: &Topology) -> Result<(), Problem> {
    match topology.world_size.as_ref().filter(|world| world.value > 1) {
        Some(world) => Err(report::direct_is_one_process(asked, world)),
        None => Ok(()),
    }
}
