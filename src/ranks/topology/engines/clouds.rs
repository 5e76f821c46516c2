//! Clouds that describe a job in JSON, or in variables whose names are made from others.

use std::path::Path;

use serde_json::Value;

use super::nodes::{Nodes, first_of, without_port};
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::engine::{Allocation, Detected};
use crate::ranks::topology::engines::table::Block;
use crate::ranks::topology::problems::{machines_unreadable, not_understood, place_unknown};
use crate::ranks::topology::variables::{VariableReader, check, text};
use crate::report::{Problem, Rule, reading};

/// SageMaker training jobs: the hosts as a JSON list, whose order may differ between the nodes
/// (github.com/aws/sagemaker-training-toolkit, ENVIRONMENT_VARIABLES.md). A container without that toolkit has them in a file
/// instead (docs.aws.amazon.com/sagemaker, "How Amazon SageMaker Provides Training Information").
pub(super) fn detect_sagemaker(block: &Block, host: &Host) -> Option<Detected> {
    const CONFIG: &str = "/opt/ml/input/config/resourceconfig.json";
    let (hosts, here) = match (text(vars::SM_HOSTS, host), text(vars::SM_CURRENT_HOST, host)) {
        (Some(hosts), Some(here)) => (Sourced::new(serde_json::from_str(&hosts.value).ok(), hosts.from), here),
        (None, None) => {
            host.nonempty_var("TRAINING_JOB_NAME")?;
            let config: Value = serde_json::from_str(&reading::text_if_any(Path::new(CONFIG))?).unwrap_or_default();
            let here = Sourced::new(config["current_host"].as_str()?.to_string(), Source::Machine(CONFIG));
            (Sourced::new(serde_json::from_value(config["hosts"].clone()).ok(), Source::Machine(CONFIG)), here)
        }
        (hosts, here) => {
            let set = hosts.iter().chain(&here);
            return Some(Err(place_unknown(block.name(), set, "which of its machines this is").into()));
        }
    };
    Some(sagemaker_host(block, hosts, here, host))
}

fn sagemaker_host(block: &Block, hosts: Sourced<Option<Vec<String>>>, here: Sourced<String>, host: &Host) -> Detected {
    let Sourced { value: hosts, from } = hosts;
    let Some(mut hosts) = hosts.filter(|hosts| !hosts.is_empty()) else {
        return Err(not_understood(block.name(), &from.to_string()).into());
    };
    hosts.sort();
    let Some(index) = hosts.iter().position(|name| *name == here.value) else {
        return Err(Problem::error(Rule::Ranks, format!("this machine is not in {from}"))
            .at(here.from.with(&here.value))
            .fix("give --nnodes, --node-rank and --master-addr")
            .into());
    };
    let mut variables = VariableReader::new(host);
    let gpus = variables.number(vars::SM_NUM_GPUS, 0).filter(|gpus| gpus.value > 0);
    check(variables.problems)?;
    let index = u32::try_from(index).ok().map(|index| Sourced::new(index, here.from));
    let listed = Some(Sourced::new(hosts, from));
    let first = first_of(listed.as_ref());
    Ok(Allocation { gpus, ..Nodes { engine: block.name(), count: None, index, listed, first }.allocate()? })
}

/// Vertex AI's CLUSTER_SPEC, and TF_CONFIG of Vertex AI and Kubeflow's TFJob: docs.cloud.google.com/vertex-ai/docs/training,
/// "Distributed training". Pools 0 and 1 train, the later ones are parameter servers or reducers and evaluators; in
/// TF_CONFIG the chief comes before the workers.
pub(super) fn detect_vertex(block: &Block, host: &Host) -> Option<Detected> {
    let spec = text("CLUSTER_SPEC", host).or_else(|| text("TF_CONFIG", host))?;
    Some(vertex_worker(block, &spec))
}

fn vertex_worker(block: &Block, spec: &Sourced<String>) -> Detected {
    /// The roles that train, in the order of their ranks.
    const TRAINS: &[&str] = &["workerpool0", "workerpool1", "chief", "master", "worker"];
    let not_understood = || not_understood(block.name(), &spec.from.to_string());
    let json: Value = serde_json::from_str(&spec.value).map_err(|_| not_understood())?;
    let cluster = json["cluster"].as_object().ok_or_else(not_understood)?;
    let hosts = |role: &str| cluster.get(role).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let all: Vec<&str> = TRAINS.iter().flat_map(|role| hosts(role)).filter_map(Value::as_str).collect();
    let index_among_all = |task: &Value| {
        let (role, index) = (task["type"].as_str()?, usize::try_from(task["index"].as_u64()?).ok()?);
        let at = TRAINS.iter().position(|trains| *trains == role).filter(|_| index < hosts(role).len())?;
        let before: usize = TRAINS[..at].iter().map(|role| hosts(role).len()).sum();
        u32::try_from(before + index).ok()
    };
    let index = index_among_all(&json["task"]);
    if index.is_none() && cluster.keys().map(|role| hosts(role).len()).sum::<usize>() > 1 {
        return Err(not_understood().into());
    }
    let here = |value: u32| Sourced::new(value, spec.from.clone());
    let first = all.first().map(|first| Sourced::new(without_port(first), spec.from.clone()));
    let port = all.first().and_then(|first| first.rsplit_once(':')?.1.parse::<u16>().ok());
    let count = u32::try_from(all.len()).unwrap_or(u32::MAX).max(1);
    let nodes = Nodes { engine: block.name(), count: Some(here(count)), index: index.map(here), listed: None, first };
    let allocation = nodes.allocate()?;
    let port = port.map(|port| Sourced::new(port, spec.from.clone()));
    Ok(Allocation { master_port: port.or(allocation.master_port), ..allocation })
}

/// Oracle Cloud's Data Science jobs on several nodes: github.com/oracle/accelerated-data-science,
/// ads/jobs/templates/driver_pytorch.py. The service counts the nodes in INITIAL_CLUSTER_SIZE and lists them in a file;
/// before that, OCI__WORKER_COUNT was the number of nodes without the first.
pub(super) fn detect_oci(block: &Block, host: &Host) -> Option<Detected> {
    const COUNT: &str = "INITIAL_CLUSTER_SIZE";
    const FILE: &str = "CLUSTER_NODES_METADATA_FILE";
    const WORKERS: &str = "OCI__WORKER_COUNT";
    let is_told = [COUNT, FILE, WORKERS].iter().any(|name| host.nonempty_var(name).is_some());
    is_told.then(|| {
        let mut variables = VariableReader::new(host);
        let count = variables.number::<u32>(COUNT, 1);
        let workers = variables.number::<u32>(WORKERS, 0);
        let index = variables.number::<u32>(vars::NODE_RANK, 0);
        check(variables.problems)?;
        let file = text(FILE, host);
        let first = file.as_ref().and_then(first_oci_node);
        let count = count.or_else(|| workers.map(|workers| workers.map(|workers| workers.saturating_add(1))));
        match (&count, &file) {
            (None, Some(file)) => Err(machines_unreadable(block.name(), file).into()),
            _ => Nodes { engine: block.name(), count, index, listed: None, first }.allocate(),
        }
    })
}

/// The address of rank 0 in the list of nodes.
fn first_oci_node(file: &Sourced<String>) -> Option<Sourced<String>> {
    let nodes: Value = serde_json::from_str(&reading::text_if_any(Path::new(&file.value))?).ok()?;
    let is_first = |node: &&Value| node["Rank"].as_u64() == Some(0) || node["Rank"].as_str() == Some("0");
    let address = nodes.as_array()?.iter().find(is_first)?["IPAddress"].as_str()?;
    Some(Sourced::new(address.to_string(), file.from.clone()))
}

/// Determined. Every container of a task runs its entry point. Where they are is in a file
/// (github.com/determined-ai/determined, harness/determined/_info.py); without it, the trial's configuration still says how
/// many slots it has, and DET_SLOT_IDS how many of them are here. Somebody may have the client's variables, such as
/// DET_MASTER, on any machine.
pub(super) fn detect_determined(block: &Block, host: &Host) -> Option<Detected> {
    let (slots, config) = (text("DET_SLOT_IDS", host), text("DET_EXPERIMENT_CONFIG", host));
    if slots.is_none() && config.is_none() {
        return None;
    }
    if let Some(file) = reading::text_if_any(Path::new(RENDEZVOUS)) {
        return Some(determined_container(block, &file));
    }
    let here = slots.as_ref().and_then(|slots| serde_json::from_str::<Vec<Value>>(&slots.value).ok());
    let slots_per_trial = |config: &Sourced<String>| {
        let config = serde_json::from_str::<Value>(&config.value)?;
        Ok(config.pointer("/resources/slots_per_trial").and_then(Value::as_u64))
    };
    let all: serde_json::Result<_> = config.as_ref().map_or(Ok(None), slots_per_trial);
    match (here, all) {
        (Some(here), Ok(Some(all))) if all <= here.len() as u64 => None,
        (Some(_), Ok(None)) | (None, Ok(Some(0 | 1))) => None,
        _ => {
            let set = [&slots, &config].into_iter().flatten().map(|set| &set.from);
            Some(Err(place_unknown(block.name(), set, "where its containers are").into()))
        }
    }
}

const RENDEZVOUS: &str = "/run/determined/info/rendezvous.json";

fn determined_container(block: &Block, file: &str) -> Detected {
    let from = Source::Machine(RENDEZVOUS);
    let json: Value = serde_json::from_str(file).unwrap_or_default();
    let index = json["container_rank"].as_u64().and_then(|rank| u32::try_from(rank).ok());
    let (Some(addresses), Some(index)) = (json["container_addrs"].as_array(), index) else {
        return Err(not_understood(block.name(), RENDEZVOUS).into());
    };
    let addresses = addresses.iter().filter_map(Value::as_str).map(str::to_string).collect();
    let listed = Some(Sourced::new(addresses, from.clone()));
    let first = first_of(listed.as_ref());
    Nodes { engine: block.name(), count: None, index: Some(Sourced::new(index, from)), listed, first }.allocate()
}

/// OpenPAI: github.com/microsoft/pai, docs/manual/cluster-user/how-to-use-advanced-job-settings.md. The names of its variables
/// have the role of this task in them. The tasks of other roles may do anything.
pub(super) fn open_pai_task(block: &Block, host: &Host) -> Detected {
    let role = host.nonempty_var("PAI_CURRENT_TASK_ROLE_NAME").unwrap_or_default();
    if let Some(roles) = text("PAI_TASK_ROLE_LIST", host).filter(|roles| roles.value != role) {
        return Err(not_understood(block.name(), &roles.spelling()).into());
    }
    let mut variables = VariableReader::new(host);
    let count = variables.number::<u32>(&format!("PAI_TASK_ROLE_TASK_COUNT_{role}"), 1);
    let index = variables.number::<u32>("PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX", 0);
    check(variables.problems)?;
    let first = text(&format!("PAI_HOST_IP_{role}_0"), host);
    Nodes { engine: block.name(), count, index, listed: None, first }.allocate()
}
