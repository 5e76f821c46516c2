//! Google Cloud Batch with tasks that see each other: cloud.google.com/batch/docs, "Environment variables for
//! runnables".

use super::nodes::NodeVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: NodeVariables = NodeVariables {
    engine: "Google Cloud Batch",
    count: "BATCH_NODE_COUNT",
    index: "BATCH_NODE_INDEX",
    first: "BATCH_MAIN_NODE_HOSTNAME",
    job: "BATCH_JOB_UID",
    ..NodeVariables::NONE
};
