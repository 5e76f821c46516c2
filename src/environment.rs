//! The environment of the launch: what is set and why, what is removed, what of the user's own is kept. The user's
//! variables beat a template's; `--env` beats both.

use std::ffi::OsString;

use crate::host::Host;
use crate::launcher::{Kind, srun};
use crate::said::{Said, Source};
use crate::template::Template;
use crate::topology::{Standing, Task, Topology};
use crate::trainer::{Family, Job};
use crate::vars;

/// What the user said about variables.
#[derive(Default)]
pub(crate) struct EnvironmentFlags {
    pub(crate) set: Vec<Said<(String, OsString)>>,
    pub(crate) unset: Vec<Said<String>>,
}

impl EnvironmentFlags {
    /// The user has the last word on this one.
    pub(crate) fn says(&self, name: &str) -> bool {
        self.set.iter().any(|said| said.value.0 == name) || self.unset.iter().any(|said| said.value == name)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Environment {
    pub(crate) set: Vec<Setting>,
    pub(crate) unset: Vec<String>,
    /// Variables of the user that decide something here, unchanged.
    pub(crate) kept: Vec<(String, String)>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) value: OsString,
    pub(crate) why: String,
}

/// `host` is the environment as everyone wants it; `machine` is what was there before.
pub(crate) fn decide(
    template: Option<&Template>,
    flags: &EnvironmentFlags,
    launcher: Kind,
    topology: &Topology,
    job: &Job,
    host: &Host,
    machine: &Host,
) -> Environment {
    if launcher == Kind::Srun {
        // Each machine decides for itself.
        return Environment { unset: srun::per_task_variables(host), ..Environment::default() };
    }
    let mut environment = Environment::default();
    let from_template = template.map_or(&[][..], |template| &template.env);
    for (name, value) in from_template {
        if host.raw(name).is_some() {
            environment.keep(name, machine);
        } else {
            environment.set(name, value, format!("template {}", template.map_or("", |it| it.name.as_str())));
        }
    }
    for variable in &job.variables {
        environment.set(&variable.name, &variable.value, variable.why.clone());
    }
    environment.for_inner_launcher(job, topology);
    if job.trainer.one_gpu_per_rank && template.is_some() {
        environment.narrow_devices(topology);
    }
    if let Some(by) = topology.devices.chosen_by.as_ref().filter(|_| launcher != Kind::Deepspeed) {
        environment.choose_devices(topology, by);
    }
    environment.threads(topology, host);
    if let Standing::Task(task) = &topology.standing {
        environment.task(task, topology, job);
    }
    if launcher == Kind::Torchrun {
        let stray = vars::PET_ELSEWHERE.iter().filter(|name| machine.raw(name).is_some());
        environment.unset.extend(stray.map(|name| (*name).to_string()));
    }
    if launcher == Kind::Torchrun && topology.engine.is_some() {
        environment.survive_warnings(host);
    }
    // A script under a launcher expects a process group; a front end that would start none has none without DeepSpeed.
    let script = job.trainer.family != Family::Opaque && !job.rewritten;
    if launcher == Kind::Direct && (template.is_some() || script) && !topology.already() {
        environment.single_rank(topology);
    }
    if launcher == Kind::Local {
        environment.ranks_of_ours(topology, machine);
    }
    for said in &flags.unset {
        environment.set.retain(|setting| setting.name != said.value);
        if machine.raw(&said.value).is_some() {
            environment.unset.push(said.value.clone());
        }
    }
    for said in &flags.set {
        let (name, value) = &said.value;
        environment.unset.retain(|unset| unset != name);
        environment.set(name, value, said.from.to_string());
    }
    for name in vars::SHOWN_WHEN_SET {
        if machine.raw(name).is_some() {
            environment.keep(name, machine);
        }
    }
    let Environment { set, unset, kept } = &mut environment;
    kept.retain(|(name, _)| !unset.contains(name) && set.iter().all(|setting| setting.name != *name));
    environment
}

impl Environment {
    /// The last word on a variable counts.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<OsString>, why: String) {
        self.set.retain(|setting| setting.name != name);
        self.set.push(Setting { name: name.to_string(), value: value.into(), why });
    }

    /// The other one's words count.
    pub(crate) fn extend(&mut self, other: Environment) {
        self.unset.extend(other.unset);
        self.set.extend(other.set);
    }

    fn keep(&mut self, name: &str, host: &Host) {
        if self.kept.iter().any(|(kept, _)| kept == name) {
            return;
        }
        let value = host.raw(name).map(|value| value.to_string_lossy().into_owned()).unwrap_or_default();
        self.kept.push((name.to_string(), value));
    }

    /// ms-swift spreads the model over the GPUs a process sees and then refuses `DeepSpeed`.
    fn narrow_devices(&mut self, topology: &Topology) {
        let (Some(devices), Some(nproc)) = (&topology.devices.names, &topology.nproc_per_node) else { return };
        let wanted = nproc.value as usize;
        if topology.devices.cuda && wanted < devices.len() && !topology.already() {
            let chosen = devices[..wanted].join(",");
            let why = format!("{wanted} of {} GPUs ({}); ms-swift wants one GPU a process", devices.len(), nproc.from);
            self.set(vars::CUDA_VISIBLE_DEVICES, chosen, why);
        }
    }

    /// The GPUs of `--include`, by the names they have here.
    fn choose_devices(&mut self, topology: &Topology, by: &Source) {
        let nproc = topology.nproc_per_node.as_ref().map_or(usize::MAX, |said| said.value as usize);
        let names = topology.devices.names.iter().flatten().take(nproc);
        self.set(topology.devices.variable, names.cloned().collect::<Vec<_>>().join(","), by.to_string());
    }

    /// A console script that starts the ranks itself reads these.
    fn for_inner_launcher(&mut self, job: &Job, topology: &Topology) {
        if !job.trainer.launches_itself {
            return;
        }
        let number = |said: &Said<u32>| (said.value.to_string(), said.from.to_string());
        let several = topology.nnodes.as_ref().filter(|nnodes| nnodes.value > 1);
        let asked = [
            (vars::NPROC_PER_NODE, topology.nproc_per_node.as_ref().map(number)),
            (vars::NNODES, several.map(number)),
            (vars::NODE_RANK, several.map(|_| number(&topology.node_rank))),
            (vars::MASTER_ADDR, topology.meeting_address().map(|said| (said.value.clone(), said.from.to_string()))),
            (
                vars::MASTER_PORT,
                topology.master_port.as_ref().map(|said| (said.value.to_string(), said.from.to_string())),
            ),
        ];
        for (name, said) in asked {
            if let Some((value, why)) = said {
                self.set(name, value, why);
            }
        }
    }

    /// torchrun would set 1, which starves the optimizer on the CPU.
    fn threads(&mut self, topology: &Topology, host: &Host) {
        let Some(nproc) = topology.nproc_per_node.as_ref().filter(|_| host.raw(vars::OMP_NUM_THREADS).is_none()) else {
            return;
        };
        if self.set.iter().any(|setting| setting.name == vars::OMP_NUM_THREADS) {
            return;
        }
        // A task that is bound to its share of the CPUs has it for itself.
        let bound = matches!(topology.standing, Standing::Task(_)) && host.cpus < host.online_cpus();
        let (threads, why) = if bound {
            (host.cpus, format!("{} CPUs of this task", host.cpus))
        } else {
            let share = (host.cpus / nproc.value as usize).max(1);
            (share, format!("{} CPUs ÷ {} processes", host.cpus, nproc.value))
        };
        self.set(vars::OMP_NUM_THREADS, threads.to_string(), why);
    }

    /// A rank that an engine started has the variables torchrun would have given it.
    fn task(&mut self, task: &Task, topology: &Topology, job: &Job) {
        // A task that was given one GPU of its own calls it number 0.
        let bound = topology.devices.names.as_ref().is_some_and(|names| names.len() == 1);
        let bound = bound && task.local_world_size.value > 1;
        let own = || "this task sees one GPU".to_string();
        let number = |said: &Said<u32>| (said.value.to_string(), said.from.to_string());
        let local_rank = if bound { ("0".to_string(), own()) } else { number(&task.local_rank) };
        // ms-swift divides the GPUs it sees by this number.
        let alone = bound && job.trainer.one_gpu_per_rank;
        let local_size = if alone { ("1".to_string(), own()) } else { number(&task.local_world_size) };
        let asked = [
            (vars::RANK, Some(number(&task.rank))),
            (vars::LOCAL_RANK, Some(local_rank)),
            (vars::WORLD_SIZE, Some(number(&task.world_size))),
            (vars::LOCAL_WORLD_SIZE, Some(local_size)),
            (vars::MASTER_ADDR, topology.master_addr.as_ref().map(|said| (said.value.clone(), said.from.to_string()))),
            (
                vars::MASTER_PORT,
                topology.master_port.as_ref().map(|said| (said.value.to_string(), said.from.to_string())),
            ),
        ];
        for (name, said) in asked {
            if let Some((value, why)) = said {
                self.set(name, value, why);
            }
        }
    }

    /// torchrun dies of a warning signal such as USR1 instead of passing it on, and kills the ranks 30 s after TERM;
    /// newer ones can be told otherwise, older ones read neither.
    fn survive_warnings(&mut self, host: &Host) {
        const WHY: &str = "the scheduler's signals reach the ranks";
        for (name, value) in [
            (vars::PET_SIGNALS_TO_HANDLE, "SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1,SIGUSR2"),
            (vars::TORCH_ELASTIC_SHUTDOWN_TIMEOUT, "300"),
        ] {
            if host.raw(name).is_none() {
                self.set(name, value, WHY.to_string());
            }
        }
    }

    /// `DeepSpeed` wants the five variables of a process group also for one process.
    fn single_rank(&mut self, topology: &Topology) {
        // Rank 0 of 1 opens the port itself and nobody else must know it, so it may take any that is free.
        let port = topology
            .master_port
            .as_ref()
            .map_or_else(|| (0, "any free port".to_string()), |port| (port.value, port.from.to_string()));
        let address = topology.meeting_address().map_or("127.0.0.1", |address| address.value.as_str());
        for (name, value) in [
            (vars::RANK, "0"),
            (vars::LOCAL_RANK, "0"),
            (vars::WORLD_SIZE, "1"),
            (vars::LOCAL_WORLD_SIZE, "1"),
            (vars::MASTER_ADDR, address),
        ] {
            self.set(name, value, "one process".to_string());
        }
        self.set(vars::MASTER_PORT, port.0.to_string(), port.1);
    }

    /// What torchrun tells all ranks alike; `local::PER_RANK` is what it tells each.
    fn ranks_of_ours(&mut self, topology: &Topology, machine: &Host) {
        let Some(nproc) = &topology.nproc_per_node else { return };
        for name in [vars::WORLD_SIZE, vars::LOCAL_WORLD_SIZE, vars::ROLE_WORLD_SIZE] {
            self.set(name, nproc.value.to_string(), nproc.from.to_string());
        }
        for (name, value) in [(vars::GROUP_RANK, "0"), (vars::GROUP_WORLD_SIZE, "1"), (vars::ROLE_NAME, "default")] {
            self.set(name, value, "as torchrun sets it".to_string());
        }
        let (address, from) = topology.master_addr.as_ref().map_or_else(
            || ("127.0.0.1", "one machine".to_string()),
            |said| (said.value.as_str(), said.from.to_string()),
        );
        self.set(vars::MASTER_ADDR, address, from);
        let (port, from) = topology.master_port.as_ref().map_or_else(
            || (0, "a free port, found at launch".to_string()),
            |said| (said.value, said.from.to_string()),
        );
        self.set(vars::MASTER_PORT, port.to_string(), from);
        // Then rank 0 would wait for a store that an agent of torchrun holds.
        if machine.raw(vars::TORCHELASTIC_USE_AGENT_STORE).is_some() {
            self.unset.push(vars::TORCHELASTIC_USE_AGENT_STORE.to_string());
        }
    }
}
