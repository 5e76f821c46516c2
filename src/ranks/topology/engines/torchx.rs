//! TorchX: github.com/pytorch/torchx, torchx/schedulers. Its `dist.ddp` starts torchrun, whose variables are then
//! there. Other components get the number of their replica on some schedulers, but not how many there are; all get the
//! host of the first.

use super::nodes::NodeVariables;
use crate::base::vars;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: NodeVariables = NodeVariables {
    engine: "TorchX",
    count: vars::NNODES,
    index: "TORCHX_REPLICA_IDX",
    first: "TORCHX_RANK0_HOST",
    ..NodeVariables::NONE
};
