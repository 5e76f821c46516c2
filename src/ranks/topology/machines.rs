//! Engines that start one process on each machine and say how many machines there are, which this one is, and where the first
//! is. Most say it in variables that a row names; some clouds and operators of Kubernetes have code of their own.

use serde_json::Value;

use super::{
    Allocation, Answer, Stated, alone,
    batch::detect_shell,
    engine::{hosts, port_of_job, without_port},
    first_text, foreign_address, is_loopback, is_set, machines_of, not_understood, number, parsed,
    place_unknown, refused, same_count,
    tables::engines::{Engine, Kind, Role, SHOW_A_JOB, TRAINING_ROLES},
    text, too_large,
};
use crate::{
    base::{
        source::{Given, Source, Sourced},
        vars,
    },
    host::Host,
    report::{Place, fix::run},
};

pub fn detect(engine: &Engine, host: &Host) -> Answer {
    if let Kind::Pods { begins, contains } = engine.kind
        && let Some(pods) = detect_pods(begins, contains, host)?
    {
        if let Ok(Some(own)) = read(engine, host) {
            same_count(engine.name, &own.nnodes, &pods.nnodes)?;
        }
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
    let meets = is_told(Role::Hosts)
        || engine.shown(host).next().is_some()
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
    read(engine, host)
}

/// Without LOCAL_RANK, WORLD_SIZE is the number of pods, not of ranks, and RANK the number of this pod. Newer operators
/// multiply it by the ranks of a pod, and count the pods in PET_NNODES (training-operator, pytorch/envvar.go).
fn detect_pods(begins: &str, contains: &str, host: &Host) -> Answer {
    let first = text(vars::MASTER_ADDR, host)
        .filter(|first| first.value.starts_with(begins) && first.value.contains(contains));
    if first.is_none() || is_set(vars::LOCAL_RANK, host) {
        return Ok(None);
    }
    let world = number::<u32>(vars::WORLD_SIZE, 1, host)?;
    let of_torch = |name| number::<u32>(name, 1, host).ok().flatten();
    let ranks = of_torch(vars::PET_NPROC_PER_NODE).value().unwrap_or(0);
    let pods = of_torch(vars::PET_NNODES)
        .filter(|pods| machines_of(world.value().unwrap_or(0), ranks) == Some(pods.value))
        .or(world);
    let pod = number(vars::RANK, 0, host)?;
    Ok(pods.zip(pod).map(|(pods, pod)| Allocation {
        sets_rank_variables: true,
        ..Allocation::task_per_machine(pods, Some(pod), first)
    }))
}

fn read(engine: &Engine, host: &Host) -> Answer {
    let told = |role| engine.told(role, host);
    let number = |role, least: u32| engine.number(role, least, host);
    let others = number(Role::Others, 0)?;
    let others = others.map(|others| others.map(|others| others.saturating_add(1)));
    let mut index = number(Role::Index, 0)?.or(number(Role::Instance, 0)?);
    let main = number(Role::Main, 0)?.value();
    let first_port = |ports: Sourced<String>| {
        parsed(
            &ports.says(
                ports
                    .value
                    .split(',')
                    .next()
                    .unwrap_or_default()
                    .to_string(),
            ),
            1,
        )
    };
    let port = told(Role::Port)?.map(first_port).transpose()?;
    let mut listed = told(Role::Hosts)?.map(|list| list.says(hosts(&list.value)));
    if let Some(here) = told(Role::Here)? {
        let at = listed.as_mut().and_then(|listed| {
            listed.value.sort();
            listed.value.iter().position(|name| *name == here.value)
        });
        let at = at
            .and_then(|at| u32::try_from(at).ok())
            .ok_or_else(|| not_understood(engine.name, &here.spelling()))?;
        index = Some(here.says(at));
    }
    let mut first = told(Role::First)?.map(|first| first.says(without_port(&first.value)));
    if let Some(index) = &mut index {
        if first.is_none() && main == Some(index.value) {
            first = Some(Sourced::new(
                host.hostname.clone(),
                Source::Machine("hostname"),
            ));
        }
        // Rank 0 is on the main machine; those before it move up by one.
        match main {
            Some(main) if index.value == main => index.value = 0,
            Some(main) if index.value < main => index.value += 1,
            _ => {}
        }
    }
    let machines = Machines {
        count: number(Role::Count, 1)?.or(others),
        index,
        listed,
        first,
        port: port.or(told(Role::Job)?.as_ref().map(port_of_job)),
        gpus: number(Role::Gpus, 0)?,
        sets_rank_variables: false,
    };
    machines.allocate(engine, host)
}

#[derive(Default)]
struct Machines {
    count: Stated<u32>,
    index: Stated<u32>,
    listed: Option<Sourced<Vec<String>>>,
    /// `None`: the first that is listed.
    first: Stated<String>,
    port: Stated<u16>,
    /// Of each machine.
    gpus: Stated<u32>,
    sets_rank_variables: bool,
}

impl Machines {
    fn allocate(self, engine: &Engine, host: &Host) -> Answer {
        let listed = self.listed.filter(|listed| !listed.value.is_empty());
        let first = self.first.or_else(|| {
            let listed = listed.as_ref()?;
            Some(listed.says(listed.value[0].clone()))
        });
        let first = first.filter(|first| !first.value.is_empty());
        let listed =
            listed.map(|listed| listed.map(|it| u32::try_from(it.len()).unwrap_or(u32::MAX)));
        let mut places: Vec<Place> = self
            .count
            .iter()
            .chain(&self.index)
            .map(Place::from)
            .collect();
        if places.is_empty() {
            places.extend(engine.shown(host).map(|shown| Place::from(&shown)));
        }
        if let (Some(count), Some(listed)) = (&self.count, &listed) {
            same_count(engine.name, count, listed)?;
        }
        let unknown = |missing: &str| place_unknown(engine.name, places, missing);
        let Some(nnodes) = self.count.or(listed) else {
            return Err(unknown("how many machines it has"));
        };
        let index = match self.index {
            Some(index) if index.value >= nnodes.value => {
                return Err(too_large("machine", &index, &nnodes));
            }
            Some(index) => index,
            None if nnodes.value == 1 => Sourced::default(),
            None => return Err(unknown("which of its machines this is")),
        };
        let allocation = Allocation::task_per_machine(nnodes, Some(index), first);
        Ok(Some(Allocation {
            gpus: self.gpus.filter(|gpus| gpus.value > 0),
            master_port: self.port.or(allocation.master_port),
            sets_rank_variables: self.sets_rank_variables,
            ..allocation
        }))
    }
}

/// Vertex AI's CLUSTER_SPEC, and TF_CONFIG of Vertex AI and Kubeflow's TFJob: docs.cloud.google.com/vertex-ai/docs/training,
/// "Distributed training". Pools 0 and 1 train, the later ones are parameter servers or reducers and evaluators; in
/// TF_CONFIG the chief comes before the workers.
pub fn detect_vertex(engine: &Engine, host: &Host) -> Answer {
    let Some(spec) = first_text(&["CLUSTER_SPEC", "TF_CONFIG"], host) else {
        return Ok(None);
    };
    let json: Value = serde_json::from_str(&spec.value).unwrap_or_default();
    let mut first = None;
    let mut index = None;
    let mut count = 0;
    for role in TRAINING_ROLES {
        for (at, address) in json["cluster"][role]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            if json["task"]["type"] == role && json["task"]["index"] == at {
                index = Some(count);
            }
            first = first.or(address.as_str());
            count += 1;
        }
    }
    let is_alone = json["cluster"].is_object() && count < 2;
    if index.is_none() && !is_alone {
        return Err(not_understood(engine.name, &spec.from.to_string()));
    }
    let port = first.and_then(|first| first.rsplit_once(':')?.1.parse().ok());
    let machines = Machines {
        count: Some(spec.says(count.max(1))),
        index: index.map(|index| spec.says(index)),
        first: first.map(|first| spec.says(without_port(first))),
        port: port.map(|port| spec.says(port)),
        ..Machines::default()
    };
    machines.allocate(engine, host)
}

/// Kubeflow's MPIJob: github.com/kubeflow/mpi-operator, pkg/controller/mpi_job_controller.go. In its pods nothing is a rank
/// until `mpirun` starts it, and then the variables of that MPI are there. Older ones have only those for `mpirun` itself.
pub fn detect_mpi_job(engine: &Engine, host: &Host) -> Answer {
    let Some(role) = text("K_MPI_JOB_ROLE", host) else {
        return detect_shell(engine, host);
    };
    let what = format!("this is the {role} pod of an MPIJob, where mpirun starts the ranks");
    Err(refused(what).at(&role).fix(
        run("mpirun zlaunch …")
            .remark("in the launcher's command")
            .or(alone()),
    ))
}
