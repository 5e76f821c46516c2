//! ByteDance's Arnold, as its users' scripts read it (github.com/LLaVA-VL/LLaVA-NeXT, scripts/train): `--nnodes=$ARNOLD_WORKER_NUM
//! --node_rank=$ARNOLD_ID --master_addr=$ARNOLD_WORKER_0_HOST`, with the first of the ports that the first worker was given.

use super::nodes::NodeVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: NodeVariables = NodeVariables {
    engine: "Arnold",
    count: "ARNOLD_WORKER_NUM",
    index: "ARNOLD_ID",
    first: "ARNOLD_WORKER_0_HOST",
    port: "ARNOLD_WORKER_0_PORT",
    gpus: "ARNOLD_WORKER_GPU",
    ..NodeVariables::NONE
};
