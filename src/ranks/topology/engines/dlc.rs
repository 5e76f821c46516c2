//! Alibaba's PAI-DLC (help.aliyun.com/zh/pai, "General environment variables"), which names its pods `dlc…-master-0`. WORLD_SIZE is the number of nodes, RANK that of this node,
//! NPROC_PER_NODE the number of its GPUs.

use super::kubernetes::detect_pods;
use crate::base::vars;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine {
    name: "PAI-DLC",
    detect: |_, host| host.filled(vars::MASTER_ADDR).filter(|address| is_pod(address)).and_then(|_| detect_pods(host)),
};

fn is_pod(address: &str) -> bool {
    address.starts_with("dlc") && address.contains("-master-")
}
