//! Clouds and operators of Kubernetes that are more than a block of the table.

use std::path::Path;

use serde_json::Value;

use super::batch;
use super::job::without_port;
use super::machines::{self, Machines};
use super::table::Block;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::allocation::Allocation;
use crate::ranks::topology::devices::Devices;
use crate::ranks::topology::problems::{alone, not_understood, place_unknown};
use crate::ranks::topology::variables::{first_number, first_text, number, text};
use crate::report::fix::run;
use crate::report::{Problem, Rule, reading};

/// SageMaker training jobs: the hosts as a JSON list, whose order may differ between the machines
/// (github.com/aws/sagemaker-training-toolkit, ENVIRONMENT_VARIABLES.md). A container without that toolkit has them in a file
/// instead (docs.aws.amazon.com/sagemaker, "How Amazon SageMaker Provides Training Information").
pub(super) fn detect_sagemaker(
    block: &Block,
    host: &Host,
) -> Result<Option<Allocation>, Vec<Problem>> {
    let (hosts, here) = match (
        text(vars::SM_HOSTS, host),
        text(vars::SM_CURRENT_HOST, host),
    ) {
        (Some(hosts), Some(here)) => (
            hosts.map(|hosts| serde_json::from_str(&hosts).unwrap_or_default()),
            here,
        ),
        (None, None) => match (
            sagemaker_file(host),
            text("SM_HOST_COUNT", host).filter(|count| count.value != "1"),
        ) {
            (Some(file), _) => file,
            (None, Some(count)) => {
                return Err(place_unknown(block.name(), [&count], "where its machines are").into());
            }
            (None, None) => return Ok(None),
        },
        (hosts, here) => {
            let set = hosts.iter().chain(&here);
            return Err(place_unknown(block.name(), set, "which of its machines this is").into());
        }
    };
    let Sourced {
        value: mut hosts,
        from,
    }: Sourced<Vec<String>> = hosts;
    if hosts.is_empty() {
        return Err(not_understood(block.name(), &from.to_string()).into());
    }
    hosts.sort();
    let Some(index) = hosts.iter().position(|name| *name == here.value) else {
        let problem = Problem::error(Rule::Ranks, format!("this machine is not in {from}"))
            .at(here.spelling());
        return Err(problem
            .fix("give --nnodes, --node-rank and --master-addr")
            .into());
    };
    let gpus = number(vars::SM_NUM_GPUS, 0, host)?.filter(|gpus| gpus.value > 0);
    let index = u32::try_from(index)
        .ok()
        .map(|index| Sourced::new(index, here.from));
    let machines = Machines {
        index,
        listed: Some(Sourced::new(hosts, from)),
        ..Machines::default()
    };
    Ok(Some(Allocation {
        gpus,
        ..machines.allocate(block)?
    }))
}

fn sagemaker_file(host: &Host) -> Option<(Sourced<Vec<String>>, Sourced<String>)> {
    const FILE: &str = "/opt/ml/input/config/resourceconfig.json";
    host.nonempty_var("TRAINING_JOB_NAME")?;
    let config: Value =
        serde_json::from_str(&reading::text_if_any(Path::new(FILE))?).unwrap_or_default();
    let here = Sourced::new(
        config["current_host"].as_str()?.to_string(),
        Source::Machine(FILE),
    );
    let hosts = serde_json::from_value(config["hosts"].clone()).unwrap_or_default();
    Some((Sourced::new(hosts, Source::Machine(FILE)), here))
}

/// Vertex AI's CLUSTER_SPEC, and TF_CONFIG of Vertex AI and Kubeflow's TFJob: docs.cloud.google.com/vertex-ai/docs/training,
/// "Distributed training". Pools 0 and 1 train, the later ones are parameter servers or reducers and evaluators; in
/// TF_CONFIG the chief comes before the workers.
pub(super) fn detect_vertex(
    block: &Block,
    host: &Host,
) -> Result<Option<Allocation>, Vec<Problem>> {
    /// The roles that train, in the order of their ranks.
    const TRAINS: &[&str] = &["workerpool0", "workerpool1", "chief", "master", "worker"];
    let Some(spec) = first_text(&["CLUSTER_SPEC", "TF_CONFIG"], host) else {
        return Ok(None);
    };
    let not_understood = || not_understood(block.name(), &spec.from.to_string());
    let json: Value = serde_json::from_str(&spec.value).map_err(|_| not_understood())?;
    let cluster = json["cluster"].as_object().ok_or_else(not_understood)?;
    let hosts = |role: &str| {
        cluster
            .get(role)
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice)
    };
    let all: Vec<&str> = TRAINS
        .iter()
        .flat_map(|role| hosts(role))
        .filter_map(Value::as_str)
        .collect();
    let index = json["task"]["type"].as_str().and_then(|role| {
        let index = usize::try_from(json["task"]["index"].as_u64()?).ok()?;
        let at = TRAINS
            .iter()
            .position(|trains| *trains == role && index < hosts(role).len())?;
        let before: usize = TRAINS[..at].iter().map(|role| hosts(role).len()).sum();
        u32::try_from(before + index).ok()
    });
    if index.is_none() && cluster.keys().map(|role| hosts(role).len()).sum::<usize>() > 1 {
        return Err(not_understood().into());
    }
    let here = |value: u32| Some(Sourced::new(value, spec.from.clone()));
    let count = here(u32::try_from(all.len()).unwrap_or(u32::MAX).max(1));
    let first = all
        .first()
        .map(|first| Sourced::new(without_port(first), spec.from.clone()));
    let port = all
        .first()
        .and_then(|first| first.rsplit_once(':')?.1.parse::<u16>().ok());
    let port = port.map(|port| Sourced::new(port, spec.from.clone()));
    let machines = Machines {
        count,
        index: index.and_then(here),
        first,
        ..Machines::default()
    };
    let allocation = machines.allocate(block)?;
    Ok(Some(Allocation {
        master_port: port.or(allocation.master_port),
        ..allocation
    }))
}

/// Oracle Cloud's Data Science jobs: github.com/oracle/accelerated-data-science, ads/jobs/templates/driver_pytorch.py. The
/// service lists the machines in a file.
pub(super) fn detect_oci(block: &Block, host: &Host) -> Result<Option<Allocation>, Vec<Problem>> {
    let Some(allocation) = machines::detect(block, host)? else {
        return Ok(None);
    };
    let first = text(block.name_of("mark"), host)
        .as_ref()
        .and_then(first_oci_machine);
    Ok(Some(Allocation {
        master_addr: first,
        ..allocation
    }))
}

fn first_oci_machine(file: &Sourced<String>) -> Option<Sourced<String>> {
    let machines: Value =
        serde_json::from_str(&reading::text_if_any(Path::new(&file.value))?).ok()?;
    let first = machines
        .as_array()?
        .iter()
        .find(|machine| machine["Rank"] == 0 || machine["Rank"] == "0")?;
    Some(Sourced::new(
        first["IPAddress"].as_str()?.to_string(),
        file.from.clone(),
    ))
}

/// Determined. Every container of a task runs its entry point. Where they are is in a file
/// (github.com/determined-ai/determined, harness/determined/_info.py); without it, the trial's configuration still says how
/// many slots it has, and DET_SLOT_IDS how many of them are here. Somebody may have the client's variables, such as
/// DET_MASTER, on any machine.
pub(super) fn detect_determined(
    block: &Block,
    host: &Host,
) -> Result<Option<Allocation>, Vec<Problem>> {
    let (slots, config) = (
        text("DET_SLOT_IDS", host),
        text("DET_EXPERIMENT_CONFIG", host),
    );
    if slots.is_none() && config.is_none() {
        return Ok(None);
    }
    if let Some(file) = reading::text_if_any(Path::new(RENDEZVOUS)) {
        return determined_container(block, &file).map(Some);
    }
    let here = slots
        .as_ref()
        .and_then(|slots| serde_json::from_str::<Vec<Value>>(&slots.value).ok());
    let trial = config
        .as_ref()
        .map(|config| serde_json::from_str::<Value>(&config.value))
        .transpose();
    let all = trial.map(|trial| trial?.pointer("/resources/slots_per_trial")?.as_u64());
    match (here, all) {
        (Some(here), Ok(Some(all))) if all <= here.len() as u64 => Ok(None),
        (Some(_), Ok(None)) | (None, Ok(Some(0 | 1))) => Ok(None),
        _ => {
            let set = [&slots, &config].into_iter().flatten().map(|set| &set.from);
            Err(place_unknown(block.name(), set, "where its containers are").into())
        }
    }
}

const RENDEZVOUS: &str = "/run/determined/info/rendezvous.json";

fn determined_container(block: &Block, file: &str) -> Result<Allocation, Vec<Problem>> {
    let json: Value = serde_json::from_str(file).unwrap_or_default();
    let index = json["container_rank"]
        .as_u64()
        .and_then(|rank| u32::try_from(rank).ok());
    let (Some(addresses), Some(index)) = (json["container_addrs"].as_array(), index) else {
        return Err(not_understood(block.name(), RENDEZVOUS).into());
    };
    let addresses = addresses
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_string)
        .collect();
    let listed = Some(Sourced::new(addresses, Source::Machine(RENDEZVOUS)));
    let index = Some(Sourced::new(index, Source::Machine(RENDEZVOUS)));
    Machines {
        index,
        listed,
        ..Machines::default()
    }
    .allocate(block)
}

/// ClearML's pods are counted by their GPUs.
pub(super) fn detect_clearml(
    block: &Block,
    host: &Host,
) -> Result<Option<Allocation>, Vec<Problem>> {
    let all = number::<u32>(vars::WORLD_SIZE, 1, host)?;
    let index = first_number::<u32>(&[vars::NODE_RANK, vars::RANK], 0, host)?;
    let (Some(all), Some(index), None) = (all, index, host.nonempty_var(vars::LOCAL_RANK)) else {
        return Ok(None);
    };
    let here = Devices::detect(host)
        .names
        .and_then(|names| u32::try_from(names.len()).ok());
    let count = here.and_then(|here| {
        all.value
            .checked_div(here)
            .filter(|pods| pods * here == all.value)
    });
    let (count, first) = (
        count.map(|count| Sourced::new(count, all.from)),
        text(vars::MASTER_ADDR, host),
    );
    let machines = Machines {
        count,
        index: Some(index),
        first,
        ..Machines::default()
    };
    Ok(Some(Allocation {
        sets_rank_variables: true,
        ..machines.allocate(block)?
    }))
}

/// Kubeflow's MPIJob: github.com/kubeflow/mpi-operator, pkg/controller/mpi_job_controller.go. In its pods nothing is a rank
/// until `mpirun` starts it, and then the variables of that MPI are there. Older ones have only those for `mpirun` itself.
pub(super) fn detect_mpi_job(
    block: &Block,
    host: &Host,
) -> Result<Option<Allocation>, Vec<Problem>> {
    let Some(role) = text("K_MPI_JOB_ROLE", host) else {
        return batch::detect(block, host);
    };
    let what = format!(
        "this is the {} pod of an MPIJob, where mpirun starts the ranks",
        role.value
    );
    let by_mpirun = run("mpirun zlaunch …").remark("in the launcher's command");
    Err(Problem::error(Rule::Ranks, what)
        .at(&role)
        .fix(by_mpirun.or(alone()))
        .into())
}
