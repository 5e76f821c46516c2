//! Baidu's PaddleCloud, as scripts of torch read it there: `--nnodes=$PADDLE_TRAINERS_NUM --node_rank=$PADDLE_TRAINER_ID
//! --master_addr=$POD_0_IP` (github.com/dptech-corp/Uni-Fold; the first two: PaddlePaddle/Paddle, distributed/launch).

use super::nodes::NodeVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: NodeVariables = NodeVariables {
    engine: "PaddleCloud",
    count: "PADDLE_TRAINERS_NUM",
    index: "PADDLE_TRAINER_ID",
    first: "POD_0_IP",
    ..NodeVariables::NONE
};
