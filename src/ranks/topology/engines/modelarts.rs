//! Huawei's ModelArts, which runs on Volcano: support.huaweicloud.com, "Viewing Environment Variables of a Training
//! Container". MA_NUM_GPUS are those of one machine.

use super::nodes::NodeVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: NodeVariables = NodeVariables {
    engine: "ModelArts",
    count: "MA_NUM_HOSTS",
    index: "VC_TASK_INDEX",
    hosts: "VC_WORKER_HOSTS",
    gpus: "MA_NUM_GPUS",
    ..NodeVariables::NONE
};
