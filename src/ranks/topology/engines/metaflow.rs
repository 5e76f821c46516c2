//! Metaflow's `@parallel` steps: github.com/Netflix/metaflow, metaflow/plugins/parallel_decorator.py. It sets these on AWS
//! Batch and Kubernetes alike.

use super::nodes::NodeVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: NodeVariables = NodeVariables {
    engine: "Metaflow",
    count: "MF_PARALLEL_NUM_NODES",
    index: "MF_PARALLEL_NODE_INDEX",
    first: "MF_PARALLEL_MAIN_IP",
    ..NodeVariables::NONE
};
