//! The variables of the launch: those that are set and why, those that are removed, those of the user that are kept.
//! The user's variables beat a template's; `--env` beats both.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::process::Command;

use crate::base::layout::plural;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::command::allocator::{Allocator, EXPANDABLE};
use crate::command::job::Job;
use crate::config::template::Template;
use crate::host::Host;
use crate::ranks::launcher::{Launcher, srun};
use crate::ranks::topology::{PET_ELSEWHERE, Role, Task, Topology};
use crate::request::understood::UnderstoodLaunch;

/// Shown in every plan when set, because they change how the ranks start.
pub(crate) const SHOWN_WHEN_SET: &str = "CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES \
    ASCEND_RT_VISIBLE_DEVICES OMP_NUM_THREADS MASTER_ADDR MASTER_PORT PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF \
    CUDA_DEVICE_MAX_CONNECTIONS NCCL_DEBUG DS_ACCELERATOR";

#[derive(Debug, Default)]
pub(crate) struct Environment {
    pub(crate) set: Vec<Setting>,
    pub(crate) unset: Vec<String>,
    /// Variables of the user that matter for the launch and stay as they are.
    pub(crate) kept: Vec<(String, String)>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) value: OsString,
    pub(crate) why: String,
}

pub(super) struct EnvironmentInputs<'a> {
    pub(super) understood: &'a UnderstoodLaunch<'a>,
    pub(super) template: Option<&'a Template>,
    pub(super) launcher: Launcher,
    pub(super) topology: &'a Topology,
}

impl EnvironmentInputs<'_> {
    /// Weakest source first: each later one overrides.
    pub(crate) fn decide(&self) -> Environment {
        match self.launcher {
            // zlaunch on each machine sets the rest.
            Launcher::Srun => {
                let unset = srun::per_task_variables(&self.understood.host);
                return Environment {
                    unset,
                    ..Environment::default()
                };
            }
            Launcher::Prefix(_) => return Environment::default(),
            _ => {}
        }
        let mut environment = Environment::default();
        for (name, value) in self.template.iter().flat_map(|template| &template.env) {
            if self.understood.host.var_os(name).is_some() {
                environment.keep(name, self.understood.machine);
            } else {
                let from = self.template.map_or("", |template| &template.name);
                environment.set(name, value, format!("template {from}"));
            }
        }
        for variable in &self.understood.job.variables {
            environment.set(&variable.name, &variable.value, variable.why.clone());
        }
        if self.expands_segments() {
            let why = "it keeps the gaps between allocations small";
            environment.set(vars::PYTORCH_CUDA_ALLOC_CONF, EXPANDABLE, why);
        }
        self.apply_job(&mut environment);
        self.apply_launcher(&mut environment);
        let flags = &self.understood.launch.environment;
        for sourced in &flags.unset {
            environment
                .set
                .retain(|setting| setting.name != sourced.value);
            if self.understood.machine.var_os(&sourced.value).is_some() {
                environment.unset.push(sourced.value.clone());
            }
        }
        for sourced in &flags.set {
            let (name, value) = &sourced.value;
            environment.unset.retain(|unset| unset != name);
            environment.set(name, value, sourced.from.to_string());
        }
        // The user's variables that matter and were not changed are listed in the plan.
        for name in SHOWN_WHEN_SET
            .split(' ')
            .filter(|name| self.understood.machine.var_os(name).is_some())
        {
            environment.keep(name, self.understood.machine);
        }
        let Environment { set, unset, kept } = &mut environment;
        kept.retain(|(name, _)| {
            !unset.contains(name) && set.iter().all(|setting| setting.name != *name)
        });
        environment
    }

    /// With a config on NVIDIA's GPUs, if it is safe and nobody has said anything about the allocator.
    fn expands_segments(&self) -> bool {
        let UnderstoodLaunch {
            launch, job, host, ..
        } = self.understood;
        let has_gpus = launch.memory.gpu.is_some() || host.nvidia_gpus.is_some();
        self.template.is_some_and(|template| {
            has_gpus && Allocator::of(Some(job), host).with(&template.env).is_ours()
        })
    }

    fn apply_job(&self, environment: &mut Environment) {
        let EnvironmentInputs {
            topology,
            understood: UnderstoodLaunch { job, host, .. },
            ..
        } = self;
        if job.trainer.launch.has_own_launcher {
            // The variables that a console script reads which starts the ranks itself.
            let several = topology.nnodes.as_ref().filter(|nnodes| nnodes.value > 1);
            environment.set_if_given(vars::NPROC_PER_NODE, topology.nproc_per_node.as_ref());
            environment.set_if_given(vars::NNODES, several);
            environment.set_if_given(vars::NODE_RANK, several.map(|_| &topology.node_rank));
            environment.set_if_given(vars::MASTER_ADDR, topology.rendezvous_address());
            environment.set_if_given(vars::MASTER_PORT, topology.master_port.as_ref());
            environment.signals_of_torchrun(false, host);
        }
        if job.trainer.launch.one_gpu_per_rank && self.template.is_some() {
            environment.narrow_devices(topology);
        }
        if let Some(by) = &topology.devices.chosen_by
            && self.launcher != Launcher::Deepspeed
        {
            // By the names that the GPUs have here.
            let nproc = topology
                .nproc_per_node
                .as_ref()
                .map_or(usize::MAX, |sourced| sourced.value as usize);
            let names: Vec<&str> = topology
                .devices
                .names
                .iter()
                .flatten()
                .map(String::as_str)
                .take(nproc)
                .collect();
            environment.set(topology.devices.variable, names.join(","), by.to_string());
        }
        environment.threads(topology, host);
        if let Role::Task(task) = &topology.role {
            environment.task(task, topology, job);
        }
    }

    fn apply_launcher(&self, environment: &mut Environment) {
        let EnvironmentInputs {
            topology,
            understood: UnderstoodLaunch { job, host, .. },
            ..
        } = self;
        match self.launcher {
            Launcher::Torchrun => {
                // In the user's command, torchrun reads all of its variables.
                let is_ours = self.understood.existing_launcher.is_none();
                let stray = PET_ELSEWHERE
                    .iter()
                    .filter(|name| is_ours && self.understood.machine.var_os(name).is_some());
                environment
                    .unset
                    .extend(stray.map(|name| (*name).to_string()));
                environment.signals_of_torchrun(topology.has_scheduler(host), host);
            }
            Launcher::Direct => {
                // Scripts expect the variables of a process group. A front end's program needs them for DeepSpeed only.
                let script = !job.trainer.is_passthrough() && !job.rewritten;
                if (self.template.is_some() || script) && !topology.ranks_exist() {
                    environment.single_rank(topology);
                }
            }
            Launcher::Local => environment.local_ranks(topology, job, self.understood.machine),
            // `accelerate launch` runs torchrun in its own process.
            Launcher::Accelerate => environment.signals_of_torchrun(false, host),
            Launcher::Deepspeed | Launcher::Srun | Launcher::Prefix(_) => {}
        }
    }
}

impl Environment {
    pub(crate) fn apply(&self, command: &mut Command) {
        // Set by a shim for zlaunch alone: programs behind it must not see it.
        command.env_remove(vars::ZLAUNCH_SHIM_OF);
        for name in &self.unset {
            command.env_remove(name);
        }
        for setting in &self.set {
            command.env(&setting.name, &setting.value);
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<OsString>, why: impl Into<String>) {
        self.set.retain(|setting| setting.name != name);
        self.set.push(Setting {
            name: name.to_string(),
            value: value.into(),
            why: why.into(),
        });
    }

    pub(crate) fn settings(&self) -> impl Iterator<Item = (&str, &OsStr)> {
        self.set
            .iter()
            .map(|setting| (setting.name.as_str(), setting.value.as_os_str()))
    }

    pub(crate) fn sets(&self, name: &str) -> bool {
        self.set.iter().any(|setting| setting.name == name)
    }

    fn set_if_given(&mut self, name: &str, sourced: Option<&Sourced<impl fmt::Display>>) {
        if let Some(sourced) = sourced {
            self.set(name, sourced.value.to_string(), sourced.from.to_string());
        }
    }

    fn set_or(
        &mut self,
        name: &str,
        sourced: Option<&Sourced<impl fmt::Display>>,
        otherwise: &str,
        why: &str,
    ) {
        self.set(name, otherwise, why);
        self.set_if_given(name, sourced);
    }

    fn keep(&mut self, name: &str, host: &Host) {
        if self.kept.iter().all(|(kept, _)| kept != name) {
            let value = host
                .var_os(name)
                .map(|value| value.to_string_lossy().into_owned())
                .unwrap_or_default();
            self.kept.push((name.to_string(), value));
        }
    }

    /// ms-swift spreads the model over the GPUs a process sees and then refuses `DeepSpeed`.
    fn narrow_devices(&mut self, topology: &Topology) {
        let (Some(devices), Some(nproc)) = (&topology.devices.names, &topology.nproc_per_node)
        else {
            return;
        };
        let wanted = nproc.value as usize;
        let cuda = topology.devices.variable == vars::CUDA_VISIBLE_DEVICES;
        if cuda && wanted < devices.len() && !topology.ranks_exist() {
            let chosen = devices[..wanted].join(",");
            let why = format!(
                "{wanted} of {} GPUs ({}): ms-swift needs one per process",
                devices.len(),
                nproc.from
            );
            self.set(vars::CUDA_VISIBLE_DEVICES, chosen, why);
        }
    }

    /// torchrun would set 1, which starves the optimizer on the CPU.
    fn threads(&mut self, topology: &Topology, host: &Host) {
        let Some(nproc) = &topology.nproc_per_node else {
            return;
        };
        if host.var_os(vars::OMP_NUM_THREADS).is_some() || self.sets(vars::OMP_NUM_THREADS) {
            return;
        }
        // A task that is bound to its share of the CPUs has it for itself.
        let bound = matches!(topology.role, Role::Task(_)) && host.cpus < host.online_cpus();
        let (threads, why) = if bound {
            (host.cpus, format!("{} CPUs of this task", host.cpus))
        } else {
            let share = (host.cpus / nproc.value as usize).max(1);
            (
                share,
                format!(
                    "{} ÷ {}",
                    plural(host.cpus as u64, "CPU", "s"),
                    plural(nproc.value.into(), "rank", "s")
                ),
            )
        };
        self.set(vars::OMP_NUM_THREADS, threads.to_string(), why);
    }

    /// Sets the variables that torchrun would have given to a rank that an engine started.
    fn task(&mut self, task: &Task, topology: &Topology, job: &Job) {
        // A task that sees only its own GPU finds it as number 0.
        let bound = topology
            .devices
            .names
            .as_ref()
            .is_some_and(|names| names.len() == 1);
        let bound = bound && task.local_world_size.value > 1;
        // ms-swift divides the GPUs it sees by this number.
        let alone = bound && job.trainer.launch.one_gpu_per_rank;
        let own = |value| Sourced::new(value, Source::Machine("this task sees one GPU"));
        let local_rank = if bound {
            own(0)
        } else {
            task.local_rank.clone()
        };
        let local_size = if alone {
            own(1)
        } else {
            task.local_world_size.clone()
        };
        self.set_if_given(vars::RANK, Some(&task.rank));
        self.set_if_given(vars::LOCAL_RANK, Some(&local_rank));
        self.set_if_given(vars::WORLD_SIZE, Some(&task.world_size));
        self.set_if_given(vars::LOCAL_WORLD_SIZE, Some(&local_size));
        self.set_if_given(vars::MASTER_ADDR, topology.master_addr.as_ref());
        self.set_if_given(vars::MASTER_PORT, topology.master_port.as_ref());
    }

    /// torchrun sends the ranks every signal it handles, and kills them 30 s later. It does not handle USR1 and USR2: it
    /// dies without telling the ranks. It also handles SIGHUP although `nohup` ignores it. From torch 2.10 on a variable
    /// names the signals, from 2.12 on another one the time; older versions ignore both.
    fn signals_of_torchrun(&mut self, scheduled: bool, host: &Host) {
        if host.var_os(vars::PET_SIGNALS_TO_HANDLE).is_none() && (scheduled || host.ignores_hangup)
        {
            let hangup = if host.ignores_hangup { "" } else { "SIGHUP," };
            let more = if scheduled { ",SIGUSR1,SIGUSR2" } else { "" };
            let why = match (scheduled, host.ignores_hangup) {
                (true, false) => "the scheduler's signals reach the ranks (torch 2.10 and later)",
                (false, _) => "SIGHUP stays ignored (torch 2.10 and later)",
                (true, true) => {
                    "the scheduler's signals reach the ranks, SIGHUP stays ignored (torch 2.10 and later)"
                }
            };
            self.set(
                vars::PET_SIGNALS_TO_HANDLE,
                format!("SIGTERM,SIGINT,{hangup}SIGQUIT{more}"),
                why,
            );
        }
        if scheduled && host.var_os(vars::TORCH_ELASTIC_SHUTDOWN_TIMEOUT).is_none() {
            let why = "time to save after the scheduler's signal (torch 2.12 and later)";
            self.set(vars::TORCH_ELASTIC_SHUTDOWN_TIMEOUT, "300", why);
        }
    }

    /// `DeepSpeed` wants the five variables of a process group also for one process.
    fn single_rank(&mut self, topology: &Topology) {
        let address = topology
            .rendezvous_address()
            .map_or("127.0.0.1", |address| address.value.as_str());
        for (name, value) in [
            (vars::RANK, "0"),
            (vars::LOCAL_RANK, "0"),
            (vars::WORLD_SIZE, "1"),
            (vars::LOCAL_WORLD_SIZE, "1"),
            (vars::MASTER_ADDR, address),
        ] {
            self.set(name, value, "one process");
        }
        // Rank 0 of 1 opens the port itself and no other process has to know it, so any free one will do.
        self.set_or(
            vars::MASTER_PORT,
            topology.master_port.as_ref(),
            "0",
            "any free port",
        );
    }

    /// The variables torchrun and its agent set alike for all ranks; `local::PER_RANK` has those that differ.
    fn local_ranks(&mut self, topology: &Topology, job: &Job, machine: &Host) {
        let Some(nproc) = &topology.nproc_per_node else {
            return;
        };
        for name in [
            vars::WORLD_SIZE,
            vars::LOCAL_WORLD_SIZE,
            vars::ROLE_WORLD_SIZE,
        ] {
            self.set_if_given(name, Some(nproc));
        }
        for (name, value) in [
            (vars::GROUP_RANK, "0"),
            (vars::GROUP_WORLD_SIZE, "1"),
            (vars::ROLE_NAME, "default"),
        ] {
            self.set(name, value, AS_TORCHRUN);
        }
        self.set_or(
            vars::MASTER_ADDR,
            topology.master_addr.as_ref(),
            "127.0.0.1",
            "one machine",
        );
        self.set_or(
            vars::MASTER_PORT,
            topology.master_port.as_ref(),
            "0",
            "a free port, found at launch",
        );
        // The variable that makes ranks end when NCCL fails had another name before torch 2.2.
        let torch = job
            .python
            .as_ref()
            .and_then(|python| python.version("torch"));
        let old = torch.is_some_and(|torch| torch.is_before([2, 2, 0]));
        let on_error = if old {
            vars::NCCL_ASYNC_ERROR_HANDLING
        } else {
            vars::TORCH_NCCL_ASYNC_ERROR_HANDLING
        };
        let (count, most) = (
            vars::TORCHELASTIC_RESTART_COUNT,
            vars::TORCHELASTIC_MAX_RESTARTS,
        );
        for (name, value) in [
            (count, "0"),
            (most, "0"),
            (vars::TORCHELASTIC_RUN_ID, "none"),
        ] {
            self.set(name, value, AS_TORCHRUN);
        }
        if machine.var_os(on_error).is_none() && !self.sets(on_error) {
            self.set(on_error, "1", AS_TORCHRUN);
        }
        // Rank 0 opens the store. With `True`, it would wait for one that only torchrun's agent opens.
        self.set(
            vars::TORCHELASTIC_USE_AGENT_STORE,
            "False",
            "rank 0 opens the store",
        );
    }
}

const AS_TORCHRUN: &str = "as torchrun sets it";
