//! Saturn Cloud's jobs of several instances: saturncloud.io/docs, "Multi-Node Multi-GPU Training". How many instances there
//! are is not told, and the only one of a job may be number 0 as well: `stray.rs` warns of that.

use super::nodes::NodeVariables;
use crate::base::engines::Block;
use crate::host::Host;
use crate::ranks::topology::engine::{Detected, Engine};

pub(super) const ENGINE: Engine = Engine { name: "Saturn Cloud", detect };

fn detect(block: &Block, host: &Host) -> Option<Detected> {
    let variables = NodeVariables::of(block);
    let is_first = host.filled(variables.index).is_none_or(|index| index == "0");
    let may_be_alone = is_first && host.filled(variables.count).is_none();
    (!may_be_alone).then(|| variables.detect(host)).flatten()
}
