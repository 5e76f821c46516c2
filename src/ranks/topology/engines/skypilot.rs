//! SkyPilot runs a task once on each node: docs.skypilot.co, "Distributed Multi-Node Jobs" and "SkyPilot environment
//! variables". SKYPILOT_NODE_IPS has one address a line, the head node first.

use super::nodes::NodeVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: NodeVariables = NodeVariables {
    engine: "SkyPilot",
    count: "SKYPILOT_NUM_NODES",
    index: "SKYPILOT_NODE_RANK",
    hosts: "SKYPILOT_NODE_IPS",
    gpus: "SKYPILOT_NUM_GPUS_PER_NODE",
    job: "SKYPILOT_TASK_ID",
    ..NodeVariables::NONE
};
