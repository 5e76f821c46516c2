//! Engines that start one process on each machine and say how many machines there are, which this one is, and where the first
//! is. Most say it in variables that a row names; some clouds and operators of Kubernetes have code of their own.

use std::cmp::Ordering;
use std::path::Path;

use serde_json::Value;

use super::job::{hosts, port_of_job, without_port};
use super::shell;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::allocation::{
    Allocation, Answer, alone, give_place, not_understood, place_unknown, refused, too_large,
};
use crate::ranks::topology::devices::Devices;
use crate::ranks::topology::rendezvous::is_loopback;
use crate::ranks::topology::stray::foreign_address;
use crate::ranks::topology::tables::engines::{Engine, Kind, Role, SHOW_A_JOB};
use crate::ranks::topology::variables::{
    first_number, first_text, machines_of, number, parsed, text,
};
use crate::report::fix::run;
use crate::report::{Place, Problem, reading};

pub(super) fn detect(engine: &Engine, host: &Host) -> Answer {
    if let Kind::Pods { begins, contains } = engine.kind
        && let Some(pods) = detect_pods(begins, contains, host)?
    {
        return Ok(Some(pods));
    }
    let told = |role| engine.told(role, host);
    if let Some(role) = told(Role::Worker)?
        && !role.value.eq_ignore_ascii_case("worker")
    {
        return Err(not_understood(engine.name, &role.spelling()));
    }
    // Too many variables for a role are refused later.
    let is_told = |role| told(role).map_or(true, |told| told.is_some());
    let number = told(Role::Instance)?.or(told(Role::Index)?);
    // A process that is to meet others at an address is not alone.
    let mut shown = engine.variables().filter(|variable| variable.shows_a_job());
    let meets = is_told(Role::Hosts)
        || shown.any(|variable| variable.text(host).is_some())
        || foreign_address(host).is_some();
    let is_instance = engine.with_role(Role::Instance).next().is_some() && !meets;
    // Processes that are all started here have this machine as the first one.
    let is_here = told(Role::First)?.is_some_and(|first| is_loopback(&without_port(&first.value)));
    let is_zero = number.as_ref().is_none_or(|number| number.value == "0");
    let may_be_alone = !is_told(Role::Count) && is_zero;
    let is_alone = (is_instance || is_here) && may_be_alone || is_instance && number.is_none();
    if is_alone || !SHOW_A_JOB.into_iter().any(is_told) {
        return Ok(None);
    }
    read(engine, host).map(Some)
}

/// Without LOCAL_RANK, WORLD_SIZE is the number of pods, not of ranks, and RANK the number of this pod.
fn detect_pods(begins: &str, contains: &str, host: &Host) -> Answer {
    let first = text(vars::MASTER_ADDR, host)
        .filter(|first| first.value.starts_with(begins) && first.value.contains(contains));
    if first.is_none() || host.nonempty_var(vars::LOCAL_RANK).is_some() {
        return Ok(None);
    }
    let pods = number(vars::WORLD_SIZE, 1, host)?;
    let pod = number(vars::RANK, 0, host)?;
    Ok(pods.zip(pod).map(|(pods, pod)| Allocation {
        sets_rank_variables: true,
        ..Allocation::task_per_machine(pods, Some(pod), first)
    }))
}

fn read(engine: &Engine, host: &Host) -> Result<Allocation, Problem> {
    let told = |role| engine.told(role, host);
    let number = |role, least: u32| engine.number(role, least, host);
    let count = number(Role::Count, 1)?;
    let gpus = number(Role::Gpus, 0)?.filter(|gpus| gpus.value > 0);
    let others = number(Role::Others, 0)?;
    let count = count.or(others.map(|others| others.map(|others| others.saturating_add(1))));
    let index = number(Role::Index, 0)?.or(number(Role::Instance, 0)?);
    let main = number(Role::Main, 0)?;
    let ports = told(Role::Port)?;
    let port =
        ports.map(|ports| ports.map(|it| it.split(',').next().unwrap_or_default().to_string()));
    let port = port.map(|port| parsed(port, 1)).transpose()?;
    let listed = told(Role::Hosts)?.map(|list| list.map(|list| hosts(&list)));
    let mut first = told(Role::First)?
        .map(|first| first.map(|first| without_port(&first)))
        .or_else(|| first_of(listed.as_ref()?))
        .or(named_after_job(engine, host)?)
        .or(told(Role::FirstInFile)?.and_then(|file| first_in_file(&file)));
    if let (None, Some(index), Some(main)) = (&first, &index, &main)
        && index.value == main.value
    {
        let here = host.hostname.clone();
        first = Some(Sourced::new(here, Source::Machine("hostname")));
    }
    let first = first.filter(|first| !first.value.is_empty());
    // Rank 0 is on the main machine; those before it move up by one.
    let main = main.map_or(0, |main| main.value);
    let index = index.map(|index| {
        index.map(|index| match index.cmp(&main) {
            Ordering::Equal => 0,
            Ordering::Less => index + 1,
            Ordering::Greater => index,
        })
    });
    let machines = Machines {
        count,
        index,
        listed,
        first,
    };
    let allocation = machines.allocate(engine)?;
    let port = port.or(told(Role::Job)?.as_ref().map(port_of_job));
    Ok(Allocation {
        gpus,
        master_port: port.or(allocation.master_port),
        ..allocation
    })
}

/// The first machine, if it is called `PREFIX-0.DOMAIN`.
fn named_after_job(engine: &Engine, host: &Host) -> Result<Option<Sourced<String>>, Problem> {
    let prefix = engine.told(Role::FirstPrefix, host)?;
    let domain = engine.told(Role::Domain, host)?;
    Ok(prefix.zip(domain).map(|(prefix, domain)| {
        let name = format!("{prefix}-0.{domain}");
        let from = Source::Both(Box::new(prefix.from), Box::new(domain.from));
        Sourced::new(name, from)
    }))
}

/// Oracle Cloud's Data Science jobs list their machines so: github.com/oracle/accelerated-data-science,
/// ads/jobs/templates/driver_pytorch.py.
fn first_in_file(file: &Sourced<String>) -> Option<Sourced<String>> {
    let text = reading::text_if_any(Path::new(&file.value))?;
    let machines: Vec<Value> = serde_json::from_str(&text).ok()?;
    let first = machines
        .iter()
        .find(|machine| machine["Rank"] == 0 || machine["Rank"] == "0")?;
    let address = first["IPAddress"].as_str()?.to_string();
    Some(Sourced::new(address, file.from.clone()))
}

#[derive(Default)]
struct Machines {
    count: Option<Sourced<u32>>,
    index: Option<Sourced<u32>>,
    listed: Option<Sourced<Vec<String>>>,
    /// `None`: the first that is listed.
    first: Option<Sourced<String>>,
}

impl Machines {
    fn allocate(self, engine: &Engine) -> Result<Allocation, Problem> {
        let Machines {
            count,
            index,
            listed,
            first,
        } = self;
        let first = first.or_else(|| first_of(listed.as_ref()?));
        let listed = listed
            .map(|listed| listed.map(|listed| u32::try_from(listed.len()).unwrap_or(u32::MAX)))
            .filter(|listed| listed.value > 0);
        let numbers = count.iter().chain(&index).map(Place::from);
        let mut places: Vec<Place> = numbers.collect();
        if places.is_empty() {
            places.extend(first.as_ref().map(Place::from));
        }
        if let (Some(count), Some(listed)) = (&count, &listed)
            && count.value != listed.value
        {
            let what = format!(
                "{} reports {count} machines in one variable and {listed} in another",
                engine.name
            );
            let listed = listed.from.with(format_args!("{listed} machines"));
            return Err(refused(what).at(count).at(listed).fix(give_place()));
        }
        let Some(nnodes) = count.or(listed) else {
            return Err(place_unknown(
                engine.name,
                places,
                "how many machines it has",
            ));
        };
        let index = match index {
            Some(index) if index.value >= nnodes.value => {
                return Err(too_large("machine", &index, &nnodes));
            }
            Some(index) => index,
            None if nnodes.value == 1 => Sourced::new(0, Source::Default),
            None => {
                return Err(place_unknown(
                    engine.name,
                    places,
                    "which of its machines this is",
                ));
            }
        };
        Ok(Allocation::task_per_machine(nnodes, Some(index), first))
    }
}

fn first_of(listed: &Sourced<Vec<String>>) -> Option<Sourced<String>> {
    let first = listed.value.first().filter(|first| !first.is_empty())?;
    Some(Sourced::new(first.clone(), listed.from.clone()))
}

/// SageMaker training jobs: the hosts as a JSON list, whose order may differ between the machines
/// (github.com/aws/sagemaker-training-toolkit, ENVIRONMENT_VARIABLES.md). A container without that toolkit has them in a file
/// instead (docs.aws.amazon.com/sagemaker, "How Amazon SageMaker Provides Training Information").
pub(super) fn detect_sagemaker(engine: &Engine, host: &Host) -> Answer {
    const FILE: &str = "/opt/ml/input/config/resourceconfig.json";
    let mut hosts = text(vars::SM_HOSTS, host);
    let mut here = text(vars::SM_CURRENT_HOST, host);
    if hosts.is_none()
        && here.is_none()
        && host.nonempty_var("TRAINING_JOB_NAME").is_some()
        && let Some(file) = reading::text_if_any(Path::new(FILE))
    {
        let config: Value = serde_json::from_str(&file).unwrap_or_default();
        let in_file = |value: String| Some(Sourced::new(value, Source::Machine(FILE)));
        hosts = in_file(config["hosts"].to_string());
        here = config["current_host"]
            .as_str()
            .and_then(|here| in_file(here.to_string()));
    }
    let (hosts, here) = match (hosts, here) {
        (Some(hosts), Some(here)) => (hosts, here),
        (None, None) => {
            let count = text("SM_HOST_COUNT", host).filter(|count| count.value != "1");
            let unknown = |count| place_unknown(engine.name, [&count], "where its machines are");
            return count.map_or(Ok(None), |count| Err(unknown(count)));
        }
        (hosts, here) => {
            let set = hosts.iter().chain(&here);
            return Err(place_unknown(
                engine.name,
                set,
                "which of its machines this is",
            ));
        }
    };
    let mut listed: Vec<String> = serde_json::from_str(&hosts.value).unwrap_or_default();
    if listed.is_empty() {
        return Err(not_understood(engine.name, &hosts.from.to_string()));
    }
    listed.sort();
    let index = listed.iter().position(|name| *name == here.value);
    let Some(Ok(index)) = index.map(u32::try_from) else {
        return Err(refused(format!("this machine is not in {}", hosts.from))
            .at(here.spelling())
            .fix("give --nnodes, --node-rank and --master-addr"));
    };
    let machines = Machines {
        index: Some(Sourced::new(index, here.from)),
        listed: Some(Sourced::new(listed, hosts.from)),
        ..Machines::default()
    };
    let gpus = number(vars::SM_NUM_GPUS, 0, host)?;
    Ok(Some(Allocation {
        gpus: gpus.filter(|gpus| gpus.value > 0),
        ..machines.allocate(engine)?
    }))
}

/// Vertex AI's CLUSTER_SPEC, and TF_CONFIG of Vertex AI and Kubeflow's TFJob: docs.cloud.google.com/vertex-ai/docs/training,
/// "Distributed training". Pools 0 and 1 train, the later ones are parameter servers or reducers and evaluators; in
/// TF_CONFIG the chief comes before the workers.
pub(super) fn detect_vertex(engine: &Engine, host: &Host) -> Answer {
    let Some(spec) = first_text(&["CLUSTER_SPEC", "TF_CONFIG"], host) else {
        return Ok(None);
    };
    let not_understood = || not_understood(engine.name, &spec.from.to_string());
    let json: Value = serde_json::from_str(&spec.value).map_err(|_| not_understood())?;
    let cluster = json["cluster"].as_object().ok_or_else(not_understood)?;
    let hosts = |role: &str| {
        cluster
            .get(role)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let mut first = None;
    let mut index = None;
    let mut count = 0;
    // The roles that train, in the order of their ranks.
    for role in ["workerpool0", "workerpool1", "chief", "master", "worker"] {
        for (at, address) in hosts(role).enumerate() {
            if json["task"]["type"] == role && json["task"]["index"] == at {
                index = Some(count);
            }
            first = first.or(address.as_str());
            count += 1;
        }
    }
    let is_alone = cluster.keys().flat_map(|role| hosts(role)).nth(1).is_none();
    if index.is_none() && !is_alone {
        return Err(not_understood());
    }
    let port = first.and_then(|first| first.rsplit_once(':')?.1.parse().ok());
    let machines = Machines {
        count: Some(Sourced::new(count.max(1), spec.from.clone())),
        index: index.map(|index| Sourced::new(index, spec.from.clone())),
        first: first.map(|first| Sourced::new(without_port(first), spec.from.clone())),
        ..Machines::default()
    };
    let allocation = machines.allocate(engine)?;
    let port = port.map(|port| Sourced::new(port, spec.from));
    Ok(Some(Allocation {
        master_port: port.or(allocation.master_port),
        ..allocation
    }))
}

/// Determined. Every container of a task runs its entry point. Where they are is in a file
/// (github.com/determined-ai/determined, harness/determined/_info.py); without it, the trial's configuration still says how
/// many slots it has, and DET_SLOT_IDS how many of them are here. Somebody may have the client's variables, such as
/// DET_MASTER, on any machine.
pub(super) fn detect_determined(engine: &Engine, host: &Host) -> Answer {
    let slots = text("DET_SLOT_IDS", host);
    let config = text("DET_EXPERIMENT_CONFIG", host);
    if slots.is_none() && config.is_none() {
        return Ok(None);
    }
    if let Some(file) = reading::text_if_any(Path::new(RENDEZVOUS)) {
        return determined_container(engine, &file).map(Some);
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
            let set = slots.iter().chain(&config).map(|set| &set.from);
            Err(place_unknown(engine.name, set, "where its containers are"))
        }
    }
}

const RENDEZVOUS: &str = "/run/determined/info/rendezvous.json";

fn determined_container(engine: &Engine, file: &str) -> Result<Allocation, Problem> {
    let json: Value = serde_json::from_str(file).unwrap_or_default();
    let index = json["container_rank"].as_u64();
    let index = index.and_then(|rank| u32::try_from(rank).ok());
    let (Some(addresses), Some(index)) = (json["container_addrs"].as_array(), index) else {
        return Err(not_understood(engine.name, RENDEZVOUS));
    };
    let addresses = addresses.iter().filter_map(Value::as_str);
    let addresses = addresses.map(str::to_string).collect();
    let machines = Machines {
        index: Some(Sourced::new(index, Source::Machine(RENDEZVOUS))),
        listed: Some(Sourced::new(addresses, Source::Machine(RENDEZVOUS))),
        ..Machines::default()
    };
    machines.allocate(engine)
}

/// ClearML's pods are counted by their GPUs.
pub(super) fn detect_clearml(engine: &Engine, host: &Host) -> Answer {
    let all = number::<u32>(vars::WORLD_SIZE, 1, host)?;
    let index = first_number::<u32>(&[vars::NODE_RANK, vars::RANK], 0, host)?;
    let (Some(all), Some(index), None) = (all, index, host.nonempty_var(vars::LOCAL_RANK)) else {
        return Ok(None);
    };
    let here = Devices::detect(host).names.map_or(0, |names| names.len());
    let count = machines_of(all.value.into(), here as u64);
    let machines = Machines {
        count: count.map(|count| Sourced::new(count, all.from)),
        index: Some(index),
        first: text(vars::MASTER_ADDR, host),
        ..Machines::default()
    };
    Ok(Some(Allocation {
        sets_rank_variables: true,
        ..machines.allocate(engine)?
    }))
}

/// Kubeflow's MPIJob: github.com/kubeflow/mpi-operator, pkg/controller/mpi_job_controller.go. In its pods nothing is a rank
/// until `mpirun` starts it, and then the variables of that MPI are there. Older ones have only those for `mpirun` itself.
pub(super) fn detect_mpi_job(engine: &Engine, host: &Host) -> Answer {
    let Some(role) = text("K_MPI_JOB_ROLE", host) else {
        return shell::detect(engine, host);
    };
    let what = format!("this is the {role} pod of an MPIJob, where mpirun starts the ranks");
    let by_mpirun = run("mpirun zlaunch …").remark("in the launcher's command");
    Err(refused(what).at(&role).fix(by_mpirun.or(alone())))
}
