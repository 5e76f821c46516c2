//! AI2's Beaker with replicas: beaker-docs, "Distributed training". The leader is told where the task selects one.

use super::nodes::NodeVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: NodeVariables = NodeVariables {
    engine: "Beaker",
    count: "BEAKER_REPLICA_COUNT",
    index: "BEAKER_REPLICA_RANK",
    first: "BEAKER_LEADER_REPLICA_HOSTNAME",
    job: "BEAKER_WORKLOAD_ID",
    ..NodeVariables::NONE
};
