//! dstack runs a distributed task once on each node: dstack.ai/docs/concepts/tasks, "Distributed tasks".
//! DSTACK_NODES_IPS has one address a line.

use super::nodes::NodeVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: NodeVariables = NodeVariables {
    engine: "dstack",
    count: "DSTACK_NODES_NUM",
    index: "DSTACK_NODE_RANK",
    first: "DSTACK_MASTER_NODE_IP",
    hosts: "DSTACK_NODES_IPS",
    gpus: "DSTACK_GPUS_PER_NODE",
    job: "DSTACK_RUN_ID",
    ..NodeVariables::NONE
};
