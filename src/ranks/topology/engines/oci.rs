//! Oracle Cloud's Data Science jobs on several nodes: github.com/oracle/accelerated-data-science,
//! ads/jobs/templates/driver_pytorch.py. The service counts the nodes in INITIAL_CLUSTER_SIZE and lists them in a file;
//! before that, OCI__WORKER_COUNT was the number of nodes without the first.

use std::path::Path;

use serde_json::Value;

use super::nodes::Nodes;
use crate::base::source::Sourced;
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::engine::{Detected, Engine};
use crate::ranks::topology::variables::{VariableReader, check, text};
use crate::report::{self, reading};

pub(super) const ENGINE: Engine = Engine { name: "OCI Data Science", detect: |_, host| detect(host) };

const COUNT: &str = "INITIAL_CLUSTER_SIZE";
const FILE: &str = "CLUSTER_NODES_METADATA_FILE";
const WORKERS: &str = "OCI__WORKER_COUNT";

fn detect(host: &Host) -> Option<Detected> {
    [COUNT, FILE, WORKERS].iter().any(|name| host.filled(name).is_some()).then(|| read(host))
}

fn read(host: &Host) -> Detected {
    let mut variables = VariableReader::new(host);
    let count = variables.number::<u32>(COUNT, 1);
    let workers = variables.number::<u32>(WORKERS, 0).map(|workers| workers.map(|workers| workers.saturating_add(1)));
    let index = variables.number::<u32>(vars::NODE_RANK, 0);
    check(variables.problems)?;
    let file = text(FILE, host);
    let first = file.as_ref().and_then(first_node);
    let count = count.or(workers);
    match (&count, &file) {
        (None, Some(file)) => Err(report::host_file_unreadable(ENGINE.name, file).into()),
        _ => Nodes { engine: ENGINE.name, count, index, listed: None, first }.allocate(),
    }
}

/// The address of rank 0 in the list of nodes.
fn first_node(file: &Sourced<String>) -> Option<Sourced<String>> {
    let nodes: Value = serde_json::from_str(&reading::text_if_any(Path::new(&file.value))?).ok()?;
    let is_first = |node: &&Value| node["Rank"].as_u64() == Some(0) || node["Rank"].as_str() == Some("0");
    let address = nodes.as_array()?.iter().find(is_first)?["IPAddress"].as_str()?;
    Some(Sourced::new(address.to_string(), file.from.clone()))
}
