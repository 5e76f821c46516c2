//! Kubernetes' LeaderWorkerSet: github.com/kubernetes-sigs/lws, pkg/utils/pod/pod_utils.go. It sets these in every pod
//! of a group; before 0.6 there was no LWS_WORKER_INDEX.

use super::nodes::NodeVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: NodeVariables = NodeVariables {
    engine: "LeaderWorkerSet",
    count: "LWS_GROUP_SIZE",
    index: "LWS_WORKER_INDEX",
    first: "LWS_LEADER_ADDRESS",
    ..NodeVariables::NONE
};
