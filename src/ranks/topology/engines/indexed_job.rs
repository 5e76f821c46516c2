//! Kubernetes' Indexed Job, and JobSet, which is made of such (kubernetes.io/docs/concepts/workloads/controllers/job):
//! the number of this pod is all that they set. How many pods there are, a manifest may say in NNODES.

use super::nodes::NodeVariables;
use crate::base::vars;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: NodeVariables = NodeVariables {
    engine: "Kubernetes (Indexed Job)",
    count: vars::NNODES,
    index: "JOB_COMPLETION_INDEX",
    ..NodeVariables::NONE
};
