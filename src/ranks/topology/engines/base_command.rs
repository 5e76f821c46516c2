//! NVIDIA's Base Command Platform: docs.nvidia.com/base-command-platform, "Multi-node jobs".

use super::nodes::NodeVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: NodeVariables = NodeVariables {
    engine: "Base Command",
    count: "NGC_ARRAY_SIZE",
    index: "NGC_ARRAY_INDEX",
    first: "NGC_MASTER_ADDR",
    gpus: "NGC_GPUS_PER_NODE",
    job: "NGC_JOB_ID",
    ..NodeVariables::NONE
};
