//! Saturn Cloud's jobs of several instances: saturncloud.io/docs, "Multi-Node Multi-GPU Training". How many instances there
//! are is not told, and the only one of a job may be number 0 as well: `stray.rs` warns of that.

use super::nodes::NodeVariables;
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::engine::{Detected, Engine};

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect };

fn detect(host: &Host) -> Option<Detected> {
    let is_first = host.filled(VARIABLES.index).is_none_or(|index| index == "0");
    let may_be_alone = is_first && host.filled(VARIABLES.count).is_none();
    (!may_be_alone).then(|| VARIABLES.detect(host)).flatten()
}

const VARIABLES: NodeVariables = NodeVariables {
    engine: "Saturn Cloud",
    count: vars::NNODES,
    index: "SATURN_JOB_RANK",
    first: "SATURN_JOB_LEADER",
    ..NodeVariables::NONE
};
