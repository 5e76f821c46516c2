//! The variables of the launch: those that are set and why, those that are removed, those of the user that are kept.
//! The user's variables beat a template's; `--env` beats both. The other machines of a hostfile get them by a file.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    process::Command,
};

use super::{
    config::{FileKind, PlannedFile},
    tables::{FixedVariable, HANDED_ON, LOCAL_RANKS, SEEN_BY_ALL, SINGLE_RANK},
};
use crate::{
    base::{
        bytes::fnv1a,
        layout::plural,
        source::{Source, Sourced},
        vars,
    },
    command::{
        allocator::{Allocator, EXPANDABLE},
        job::Job,
    },
    config::template::Template,
    host::Host,
    ranks::{
        launcher::{
            LaunchContext, Launcher,
            deepspeed::{is_shell_safe, uses_pdsh},
            srun,
        },
        topology::{PET_ELSEWHERE, Role, Task, Topology, devices::check},
    },
    report::{prelude::*, secrets::is_secret},
    request::understood::UnderstoodLaunch,
};

/// Shown in every plan when set, because they change how the ranks start.
pub const SHOWN_WHEN_SET: &str = "CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES \
    ASCEND_RT_VISIBLE_DEVICES OMP_NUM_THREADS MASTER_ADDR MASTER_PORT PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF \
    CUDA_DEVICE_MAX_CONNECTIONS NCCL_DEBUG DS_ACCELERATOR";

#[derive(Default)]
pub struct Environment {
    pub set: Vec<Setting>,
    pub unset: Vec<String>,
    /// Variables of the user that matter for the launch and stay as they are.
    pub kept: Vec<(String, String)>,
}

#[derive(PartialEq)]
pub struct Setting {
    pub name: String,
    pub value: OsString,
    pub why: String,
}

pub struct EnvironmentInputs<'a> {
    pub understood: &'a UnderstoodLaunch<'a>,
    pub template: Option<&'a Template>,
    pub launcher: Launcher,
    pub topology: &'a Topology,
}

impl EnvironmentInputs<'_> {
    /// Weakest source first: each later one overrides.
    pub fn decide(&self) -> Environment {
        let UnderstoodLaunch {
            launch,
            machine,
            host,
            job,
            ..
        } = self.understood;
        let mut environment = Environment::default();
        if self.launcher == Launcher::Srun {
            environment.unset = srun::per_task_variables(host);
        }
        // zlaunch on each machine, or behind the prefix, sets the rest.
        if self.launcher.runs_zlaunch() {
            return environment;
        }
        if let Some(template) = self.template {
            for (name, value) in &template.env {
                if host.var_os(name).is_none() {
                    environment.set(name, value, format!("template {}", template.name));
                }
            }
        }
        for variable in &job.variables {
            environment.set(&variable.name, &variable.value, &variable.why);
        }
        if self.expands_segments() {
            let why = "it keeps the gaps between allocations small";
            environment.set(vars::PYTORCH_CUDA_ALLOC_CONF, EXPANDABLE, why);
        }
        self.apply_job(&mut environment);
        self.apply_launcher(&mut environment);
        for Sourced { value: name, .. } in &launch.environment.unset {
            environment.set.retain(|setting| setting.name != *name);
            if machine.var_os(name).is_some() {
                environment.unset.push(name.clone());
            }
        }
        for sourced in &launch.environment.set {
            let (name, value) = &sourced.value;
            environment.unset.retain(|unset| unset != name);
            environment.set(name, value, sourced.from.to_string());
        }
        for name in self
            .template
            .into_iter()
            .flat_map(|template| &template.env)
            .map(|(name, _)| name.as_str())
            .chain(SHOWN_WHEN_SET.split(' '))
        {
            environment.keep(name, machine);
        }
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
            environment.set_if_given(vars::NPROC_PER_NODE, &topology.nproc_per_node);
            environment.set_if_given(vars::NNODES, several);
            environment.set_if_given(vars::NODE_RANK, several.map(|_| &topology.node_rank));
            environment.set_if_given(vars::MASTER_ADDR, topology.rendezvous_address());
            environment.set_if_given(vars::MASTER_PORT, &topology.master_port);
            environment.signals_of_torchrun(false, host);
        }
        if job.trainer.launch.one_gpu_per_rank && self.template.is_some() {
            environment.narrow_devices(topology);
        }
        if let Some(by) = &topology.devices.chosen_by
            && self.launcher != Launcher::Deepspeed
        {
            // By the names that the GPUs have here.
            let mut names = topology.devices.names.clone().unwrap_or_default();
            if let Some(nproc) = &topology.nproc_per_node {
                names.truncate(nproc.value as usize);
            }
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
                environment.unset.extend(
                    PET_ELSEWHERE
                        .iter()
                        .filter(|name| is_ours && self.understood.machine.var_os(name).is_some())
                        .map(|name| (*name).to_string()),
                );
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
    pub fn apply(&self, command: &mut Command) {
        // Set by a shim for zlaunch alone: programs behind it must not see it.
        command.env_remove(vars::ZLAUNCH_SHIM_OF);
        for name in &self.unset {
            command.env_remove(name);
        }
        for setting in &self.set {
            command.env(&setting.name, &setting.value);
        }
    }

    pub fn set(&mut self, name: &str, value: impl Into<OsString>, why: impl Into<String>) {
        self.set.retain(|setting| setting.name != name);
        self.set.push(Setting {
            name: name.to_string(),
            value: value.into(),
            why: why.into(),
        });
    }

    pub fn settings(&self) -> impl Iterator<Item = (&str, &OsStr)> {
        self.set
            .iter()
            .map(|setting| (setting.name.as_str(), setting.value.as_os_str()))
    }

    pub fn sets(&self, name: &str) -> bool {
        self.set.iter().any(|setting| setting.name == name)
    }

    fn set_if_given<'s, T: fmt::Display + 's>(
        &mut self,
        name: &str,
        sourced: impl Into<Option<&'s Sourced<T>>>,
    ) {
        if let Some(sourced) = sourced.into() {
            self.set(name, sourced.value.to_string(), sourced.from.to_string());
        }
    }

    /// Lists a variable of the user that stays as it is.
    fn keep(&mut self, name: &str, machine: &Host) {
        if let Some(value) = machine.var_os(name)
            && !self.sets(name)
            && !self.unset.iter().any(|unset| unset == name)
            && self.kept.iter().all(|(kept, _)| kept != name)
        {
            self.kept
                .push((name.to_string(), value.to_string_lossy().into_owned()));
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
            let cpus = plural(host.cpus as u64, "CPU", "s");
            let ranks = plural(nproc.value.into(), "rank", "s");
            let share = (host.cpus / nproc.value as usize).max(1);
            (share, format!("{cpus} ÷ {ranks}"))
        };
        self.set(vars::OMP_NUM_THREADS, threads.to_string(), why);
    }

    /// Sets the variables that torchrun would have given to a rank that an engine started.
    fn task(&mut self, task: &Task, topology: &Topology, job: &Job) {
        // A task that sees only its own GPU finds it as number 0.
        let names = topology.devices.names.as_ref();
        let sees_one =
            names.is_some_and(|names| names.len() == 1) && task.local_world_size.value > 1;
        let own = |value| Sourced::new(value, Source::Machine("this task sees one GPU"));
        let local_rank = if sees_one {
            own(0)
        } else {
            task.local_rank.clone()
        };
        // ms-swift divides the GPUs it sees by this number.
        let local_size = if sees_one && job.trainer.launch.one_gpu_per_rank {
            own(1)
        } else {
            task.local_world_size.clone()
        };
        self.set_if_given(vars::RANK, &task.rank);
        self.set_if_given(vars::LOCAL_RANK, &local_rank);
        self.set_if_given(vars::WORLD_SIZE, &task.world_size);
        self.set_if_given(vars::LOCAL_WORLD_SIZE, &local_size);
        self.set_if_given(vars::MASTER_ADDR, &topology.master_addr);
        self.set_if_given(vars::MASTER_PORT, &topology.master_port);
    }

    /// torchrun sends the ranks every signal it handles, and kills them 30 s later. It does not handle USR1 and USR2: it
    /// dies without telling the ranks. It also handles SIGHUP although `nohup` ignores it. From torch 2.10 on a variable
    /// names the signals, from 2.12 on another one the time; older versions ignore both.
    fn signals_of_torchrun(&mut self, scheduled: bool, host: &Host) {
        if host.var_os(vars::PET_SIGNALS_TO_HANDLE).is_none() && (scheduled || host.ignores_hangup)
        {
            let hangup = if host.ignores_hangup { "" } else { "SIGHUP," };
            let more = if scheduled { ",SIGUSR1,SIGUSR2" } else { "" };
            let why = if scheduled {
                "the scheduler's signals reach the ranks (torch 2.10 and later)"
            } else {
                "SIGHUP stays ignored (torch 2.10 and later)"
            };
            let signals = format!("SIGTERM,SIGINT,{hangup}SIGQUIT{more}");
            self.set(vars::PET_SIGNALS_TO_HANDLE, signals, why);
        }
        if scheduled && host.var_os(vars::TORCH_ELASTIC_SHUTDOWN_TIMEOUT).is_none() {
            let why = "time to save after the scheduler's signal (torch 2.12 and later)";
            self.set(vars::TORCH_ELASTIC_SHUTDOWN_TIMEOUT, "300", why);
        }
    }

    fn single_rank(&mut self, topology: &Topology) {
        self.set_fixed(SINGLE_RANK);
        self.set(vars::MASTER_ADDR, "127.0.0.1", "one process");
        self.set_if_given(vars::MASTER_ADDR, topology.rendezvous_address());
        // Rank 0 of 1 opens the port itself and no other process has to know it, so any free one will do.
        self.set(vars::MASTER_PORT, "0", "any free port");
        self.set_if_given(vars::MASTER_PORT, &topology.master_port);
    }

    fn set_fixed(&mut self, variables: &[FixedVariable]) {
        for FixedVariable { name, value, why } in variables {
            self.set(name, value, *why);
        }
    }

    /// The variables torchrun and its agent set alike for all ranks; `PER_RANK` has those that differ.
    fn local_ranks(&mut self, topology: &Topology, job: &Job, machine: &Host) {
        for name in [
            vars::WORLD_SIZE,
            vars::LOCAL_WORLD_SIZE,
            vars::ROLE_WORLD_SIZE,
        ] {
            self.set_if_given(name, &topology.nproc_per_node);
        }
        self.set_fixed(LOCAL_RANKS);
        self.set_if_given(vars::MASTER_ADDR, &topology.master_addr);
        self.set_if_given(vars::MASTER_PORT, &topology.master_port);
        // The variable that makes ranks end when NCCL fails had another name before torch 2.2.
        let on_error = if job.has_older("torch", [2, 2, 0]) {
            vars::NCCL_ASYNC_ERROR_HANDLING
        } else {
            vars::TORCH_NCCL_ASYNC_ERROR_HANDLING
        };
        if machine.var_os(on_error).is_none() && !self.sets(on_error) {
            self.set(on_error, "1", "as torchrun sets it");
        }
    }
}

impl Environment {
    /// The file with the variables for the other machines of a hostfile, if others are reached. It replaces the user's
    /// `.deepspeed_env` files, so it starts with their lines.
    ///
    /// pdsh carries the variables as `export NAME=VALUE;` in its arguments, which every user of a machine can read, and the
    /// shells there read the values. So secrets are refused, and values that would not arrive as they are.
    pub fn for_other_machines(
        &mut self,
        context: &LaunchContext,
    ) -> Result<Option<PlannedFile>, Problems> {
        if !uses_pdsh(context) {
            return Ok(None);
        }
        let host = context.host;
        let mut problems = vec![];
        let mut text = own_variables(host, &mut problems)?;
        let mut refuse = |name: &str, why: &str| {
            problems.push(
                Rule::Hosts
                    .error(format!("DeepSpeed's runner cannot hand on {name}: {why}"))
                    .at(Place::variable(name, ""))
                    .fix(unset_variable(name).or("set it on the machines")),
            );
        };
        for (name, value) in self.settings() {
            let is_safe = |value: &&str| value.is_empty() || is_shell_safe(value.as_bytes());
            match value.to_str().filter(is_safe) {
                _ if is_secret(name, value) => refuse(name, SEEN_BY_ALL),
                None => refuse(name, "the shells of the machines would change its value"),
                // DeepSpeed puts the folder in front.
                Some(value) if name == "PYTHONPATH" => {
                    text += &format!("{name}={}:{value}\n", host.cwd.display());
                }
                Some(value) => text += &format!("{name}={value}\n"),
            }
        }
        // The variables that the runner hands on by itself.
        for (name, value) in &host.env {
            if let Some(name) = name.to_str()
                && HANDED_ON.iter().any(|prefix| name.starts_with(prefix))
                && !self.unset.iter().any(|unset| unset == name)
                && !self.sets(name)
                && is_secret(name, value)
            {
                refuse(name, SEEN_BY_ALL);
            }
        }
        check(problems)?;
        let name = format!("deepspeed_env-{:016x}", fnv1a(text.as_bytes()));
        let path = host.configs_folder().join(name);
        self.set(vars::DS_ENV_FILE, &path, "for the other machines");
        Ok(Some(PlannedFile {
            path,
            kind: FileKind::Ours,
            text,
        }))
    }
}

/// The lines of the user's `.deepspeed_env` files.
fn own_variables(host: &Host, problems: &mut Problems) -> Result<String, Problem> {
    let name = host
        .nonempty_var(vars::DS_ENV_FILE)
        .unwrap_or(".deepspeed_env");
    let mut lines = String::new();
    for folder in host.home().into_iter().chain([host.cwd.clone()]) {
        let path = folder.join(name);
        if !path.is_file() {
            continue;
        }
        let own = reading::read_text(&path)?;
        host.has_read(&own);
        for (number, line) in (1..).zip(own.lines()) {
            if !line.contains('=') {
                let place = format!("{}:{number}", path.display());
                problems.push(
                    Rule::Hosts
                        .error(format!(
                            "DeepSpeed's runner stops at `{line}`: every line must be NAME=VALUE"
                        ))
                        .at(place)
                        .fix("remove blank lines and comments"),
                );
            }
            lines += &format!("{line}\n");
        }
    }
    Ok(lines)
}
