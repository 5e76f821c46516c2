//! Tencent's Taiji, as its users' scripts read it: `--nnodes=$HOST_NUM --node_rank=$INDEX --master_addr=$CHIEF_IP`; TI-ONE has
//! NODE_NUM and GPU_NUM_PER_NODE instead. INDEX is too common a name to mean a machine without the others.

use super::nodes::NodeVariables;
use crate::base::engines::Block;
use crate::host::Host;
use crate::ranks::topology::engine::{Detected, Engine};

pub(super) const ENGINE: Engine = Engine { name: "Taiji", detect };

fn detect(block: &Block, host: &Host) -> Option<Detected> {
    let taiji = NodeVariables::of(block);
    if host.filled(taiji.count).is_some() {
        return taiji.detect(host);
    }
    NodeVariables { engine: "TI-ONE", count: "NODE_NUM", gpus: "GPU_NUM_PER_NODE", ..taiji }.detect(host)
}
