//! Alibaba's PAI-DLC, which names its pods `dlc…-master-0`: WORLD_SIZE is the number of machines, RANK this machine's,
//! and NPROC_PER_NODE its GPUs.

use super::engine::{Engine, machines};
use crate::base::vars;

pub(super) const ENGINE: Engine = Engine {
    name: "PAI-DLC",
    mark: vars::MASTER_ADDR,
    look: |host| host.filled(vars::MASTER_ADDR).filter(|address| is_pod(address)).and_then(|_| machines(host)),
};

fn is_pod(address: &str) -> bool {
    address.starts_with("dlc") && address.contains("-master-")
}
