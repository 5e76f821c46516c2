//! SenseTime's SenseCore, as its users' scripts read it: `--nnodes $SENSECORE_PYTORCH_NNODES --node_rank
//! $SENSECORE_PYTORCH_NODE_RANK --master_addr $MASTER_ADDR`.

use super::nodes::NodeVariables;
use crate::base::vars;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: NodeVariables = NodeVariables {
    engine: "SenseCore",
    count: "SENSECORE_PYTORCH_NNODES",
    index: "SENSECORE_PYTORCH_NODE_RANK",
    first: vars::MASTER_ADDR,
    port: vars::MASTER_PORT,
    gpus: "SENSECORE_ACCELERATE_DEVICE_COUNT",
    ..NodeVariables::NONE
};
