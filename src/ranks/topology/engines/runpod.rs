//! RunPod's Instant Clusters: docs.runpod.io/instant-clusters/configuration. WORLD_SIZE counts all GPUs there, without a RANK.

use super::nodes::NodeVariables;
use crate::base::vars;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: NodeVariables = NodeVariables {
    engine: "RunPod",
    count: "NUM_NODES",
    index: vars::NODE_RANK,
    first: "PRIMARY_ADDR",
    port: "PRIMARY_PORT",
    gpus: "NUM_TRAINERS",
    ..NodeVariables::NONE
};
