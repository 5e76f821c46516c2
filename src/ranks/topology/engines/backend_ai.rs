//! Backend.AI's cluster sessions: github.com/lablup/backend.ai, docs/concepts/networking.rst. The number of a container counts
//! from 0 in spite of the variable's name.

use super::nodes::NodeVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: NodeVariables = NodeVariables {
    engine: "Backend.AI",
    count: "BACKENDAI_CLUSTER_SIZE",
    index: "BACKENDAI_CLUSTER_LOCAL_RANK",
    hosts: "BACKENDAI_CLUSTER_HOSTS",
    job: "BACKENDAI_SESSION_ID",
    ..NodeVariables::NONE
};
