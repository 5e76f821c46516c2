//! SageMaker training jobs: the hosts as a JSON list, whose order may differ between the nodes
//! (github.com/aws/sagemaker-training-toolkit, ENVIRONMENT_VARIABLES.md). A container without that toolkit has them in a file
//! instead (docs.aws.amazon.com/sagemaker, "How Amazon SageMaker Provides Training Information").

use std::path::Path;

use serde_json::Value;

use super::nodes::Nodes;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::engine::{Allocation, Detected, Engine};
use crate::ranks::topology::variables::{VariableReader, check, text};
use crate::report::{self, reading};

pub(super) const ENGINE: Engine = Engine { name: "SageMaker", detect: |_, host| detect(host) };

const CONFIG: &str = "/opt/ml/input/config/resourceconfig.json";

fn detect(host: &Host) -> Option<Detected> {
    match (text(vars::SM_HOSTS, host), text(vars::SM_CURRENT_HOST, host)) {
        (Some(hosts), Some(here)) => Some(read(serde_json::from_str(&hosts.value).ok(), hosts.from, here, host)),
        (None, None) => of_file(host),
        (hosts, here) => {
            let set: Vec<String> = hosts.iter().chain(&here).map(Sourced::place).collect();
            Some(Err(report::place_unknown(ENGINE.name, &set, "which of its machines this is").into()))
        }
    }
}

/// The job that the service describes in a file.
fn of_file(host: &Host) -> Option<Detected> {
    host.filled("TRAINING_JOB_NAME")?;
    let config: Value = serde_json::from_str(&reading::text_if_any(Path::new(CONFIG))?).unwrap_or_default();
    let here = Sourced::new(config["current_host"].as_str()?.to_string(), Source::Machine(CONFIG));
    Some(read(serde_json::from_value(config["hosts"].clone()).ok(), Source::Machine(CONFIG), here, host))
}

fn read(hosts: Option<Vec<String>>, from: Source, here: Sourced<String>, host: &Host) -> Detected {
    let Some(mut hosts) = hosts.filter(|hosts| !hosts.is_empty()) else {
        return Err(report::engine_not_understood(ENGINE.name, &from.to_string()).into());
    };
    hosts.sort();
    let Some(index) = hosts.iter().position(|name| *name == here.value) else {
        return Err(report::not_among_the_hosts(&here.value, &here.from.to_string(), &from.to_string()).into());
    };
    let mut variables = VariableReader::new(host);
    let gpus = variables.number(vars::SM_NUM_GPUS, 0).filter(|gpus| gpus.value > 0);
    check(variables.problems)?;
    let index = u32::try_from(index).ok().map(|index| Sourced::new(index, here.from));
    let first = hosts.first().map(|first| Sourced::new(first.clone(), from.clone()));
    let nodes = Nodes { engine: ENGINE.name, count: None, index, listed: Some(Sourced::new(hosts, from)), first };
    Ok(Allocation { gpus, ..nodes.allocate()? })
}
