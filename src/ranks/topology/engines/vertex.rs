//! Vertex AI's CLUSTER_SPEC, and TF_CONFIG of Vertex AI and Kubeflow's TFJob: docs.cloud.google.com/vertex-ai/docs/training,
//! "Distributed training". Pools 0 and 1 train, the later ones are parameter servers or reducers and evaluators; in
//! TF_CONFIG the chief comes before the workers.

use serde_json::Value;

use super::nodes::{Nodes, without_port};
use crate::base::source::Sourced;
use crate::host::Host;
use crate::ranks::topology::engine::{Allocation, Detected, Engine};
use crate::ranks::topology::variables::text;
use crate::report;

pub(super) const ENGINE: Engine = Engine { name: "Vertex AI", detect: |_, host| detect(host) };

/// The roles that train, in the order of their ranks.
const TRAINS: &[&str] = &["workerpool0", "workerpool1", "chief", "master", "worker"];

fn detect(host: &Host) -> Option<Detected> {
    let spec = text("CLUSTER_SPEC", host).or_else(|| text("TF_CONFIG", host))?;
    Some(read(&spec))
}

fn read(spec: &Sourced<String>) -> Detected {
    let not_understood = || report::engine_not_understood(ENGINE.name, &spec.from.to_string());
    let spec_json: Value = serde_json::from_str(&spec.value).map_err(|_| not_understood())?;
    let cluster = spec_json["cluster"].as_object().ok_or_else(not_understood)?;
    let hosts = |role: &str| cluster.get(role).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let all: Vec<&str> = TRAINS.iter().flat_map(|role| hosts(role)).filter_map(Value::as_str).collect();
    let index = index_of(&spec_json["task"], |role| hosts(role).len());
    if index.is_none() && cluster.keys().map(|role| hosts(role).len()).sum::<usize>() > 1 {
        return Err(not_understood().into());
    }
    let here = |value: u32| Sourced::new(value, spec.from.clone());
    let first = all.first().map(|first| Sourced::new(without_port(first), spec.from.clone()));
    let port = all.first().and_then(|first| first.rsplit_once(':')?.1.parse::<u16>().ok());
    let count = u32::try_from(all.len()).unwrap_or(u32::MAX).max(1);
    let nodes = Nodes { engine: ENGINE.name, count: Some(here(count)), index: index.map(here), listed: None, first };
    let allocation = nodes.allocate()?;
    let port = port.map(|port| Sourced::new(port, spec.from.clone()));
    Ok(Allocation { master_port: port.or(allocation.master_port), ..allocation })
}

/// The number of a task among those that train. `count` has how many there are of a role.
fn index_of(task: &Value, count: impl Fn(&str) -> usize) -> Option<u32> {
    let (role, index) = (task["type"].as_str()?, usize::try_from(task["index"].as_u64()?).ok()?);
    let at = TRAINS.iter().position(|it| *it == role).filter(|_| index < count(role))?;
    let before: usize = TRAINS[..at].iter().map(|role| count(role)).sum();
    u32::try_from(before + index).ok()
}
