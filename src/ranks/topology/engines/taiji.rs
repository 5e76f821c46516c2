//! Tencent's Taiji (and TI-ONE), as its users' scripts read it: `--nnodes=$HOST_NUM --node_rank=$INDEX
//! --master_addr=$CHIEF_IP`. INDEX is too common a name to mean a machine without the others.

use super::nodes::NodeVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: NodeVariables = NodeVariables {
    engine: "Taiji",
    count: "HOST_NUM",
    index: "INDEX",
    first: "CHIEF_IP",
    gpus: "HOST_GPU_NUM",
    ..NodeVariables::NONE
};
