//! AWS Batch, multi-node parallel jobs: docs.aws.amazon.com/batch/latest/userguide/mnp-env-vars.html. The address of the main
//! node is told to the others only. The main node need not be the first.

use super::nodes::Nodes;
use crate::base::source::{Source, Sourced};
use crate::host::Host;
use crate::ranks::topology::engine::{Detected, Engine};
use crate::ranks::topology::variables::{VariableReader, check, text};

pub(super) const ENGINE: Engine = Engine { name: "AWS Batch", detect: |_, host| detect(host) };

const COUNT: &str = "AWS_BATCH_JOB_NUM_NODES";
const INDEX: &str = "AWS_BATCH_JOB_NODE_INDEX";
const MAIN: &str = "AWS_BATCH_JOB_MAIN_NODE_INDEX";
const ADDRESS: &str = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS";

fn detect(host: &Host) -> Option<Detected> {
    [COUNT, INDEX, MAIN, ADDRESS].iter().any(|name| host.filled(name).is_some()).then(|| read(host))
}

fn read(host: &Host) -> Detected {
    let mut variables = VariableReader::new(host);
    let (count, index) = (variables.number::<u32>(COUNT, 1), variables.number::<u32>(INDEX, 0));
    let main = variables.number::<u32>(MAIN, 0).map_or(0, |main| main.value);
    check(variables.problems)?;
    let is_main = index.as_ref().is_some_and(|index| index.value == main);
    let own = || is_main.then(|| Sourced::new(host.hostname.clone(), Source::Machine("hostname")));
    let first = text(ADDRESS, host).or_else(own).filter(|first| !first.value.is_empty());
    // Rank 0 is on the main node; those before it move up by one.
    let index = index.map(|index| {
        index.map(|index| match index {
            index if index == main => 0,
            index if index < main => index + 1,
            index => index,
        })
    });
    Nodes { engine: ENGINE.name, count, index, listed: None, first }.allocate()
}
