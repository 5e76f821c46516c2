//! Tencent's Taiji, as its users' scripts read it: `--nnodes=$HOST_NUM --node_rank=$INDEX --master_addr=$CHIEF_IP`; TI-ONE has
//! NODE_NUM and GPU_NUM_PER_NODE instead. INDEX is too common a name to mean a machine without the others.

use super::nodes::NodeVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine {
    name: TAIJI.engine,
    detect: |host| if host.filled(TAIJI.count).is_none() { TI_ONE.detect(host) } else { TAIJI.detect(host) },
};

const TAIJI: NodeVariables = NodeVariables {
    engine: "Taiji",
    count: "HOST_NUM",
    index: "INDEX",
    first: "CHIEF_IP",
    gpus: "HOST_GPU_NUM",
    ..NodeVariables::NONE
};

const TI_ONE: NodeVariables = NodeVariables { engine: "TI-ONE", count: "NODE_NUM", gpus: "GPU_NUM_PER_NODE", ..TAIJI };
