//! Baseten's training jobs: docs.baseten.co/reference/sdk/training, "Baseten provided environment variables".

use super::nodes::NodeVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: NodeVariables = NodeVariables {
    engine: "Baseten",
    count: "BT_GROUP_SIZE",
    index: "BT_NODE_RANK",
    first: "BT_LEADER_ADDR",
    gpus: "BT_NUM_GPUS",
    job: "BT_TRAINING_JOB_ID",
    ..NodeVariables::NONE
};
