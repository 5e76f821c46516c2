//! DLRover's ElasticJob: github.com/intelligent-machine-learning/dlrover, dlrover/python/common/constants.py. Its master, where
//! DLROVER_MASTER_ADDR leads, is no rank; where the ranks meet is not told.

use super::nodes::Nodes;
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::engine::{Detected, Engine};
use crate::ranks::topology::variables::{VariableReader, check, text};

pub(super) const ENGINE: Engine =
    Engine { name: "DLRover", detect: |_, host| text("DLROVER_MASTER_ADDR", host).map(|_| read(host)) };

fn read(host: &Host) -> Detected {
    let mut variables = VariableReader::new(host);
    let (count, index) = (variables.number::<u32>("NODE_NUM", 1), variables.number::<u32>(vars::NODE_RANK, 0));
    check(variables.problems)?;
    Nodes { engine: ENGINE.name, count, index, listed: None, first: None }.allocate()
}
