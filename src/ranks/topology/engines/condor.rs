//! HTCondor's parallel universe: src/condor_starter.V6.1/parallel_proc.cpp. Each node runs the same script; the address
//! of the first is not told. Jobs of other universes have neither variable.

use super::nodes::NodeVariables;
use crate::ranks::topology::engine::Engine;

pub(super) const ENGINE: Engine = Engine { name: VARIABLES.engine, detect: |host| VARIABLES.detect(host) };

const VARIABLES: NodeVariables =
    NodeVariables { engine: "HTCondor", count: "_CONDOR_NPROCS", index: "_CONDOR_PROCNO", ..NodeVariables::NONE };
