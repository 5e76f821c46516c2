//! The facts of the report, and its sections.

use std::ffi::OsStr;
use std::path::PathBuf;

use super::page::{DoctorRow, Section, checked, fact};
use crate::base::size::size;
use crate::base::vars;
use crate::check::machine::{self, Wants};
use crate::check::{operators, variables};
use crate::command::argv::Args;
use crate::command::model::Hub;
use crate::command::python::Python;
use crate::command::trainer;
use crate::fit;
use crate::host::Host;
use crate::host::cards::Card;
use crate::host::machine::{Limit, Machine, locks_in};
use crate::judge::Judged;
use crate::plan::PlannedConfig;
use crate::plan::launch_env::SHOWN_WHEN_SET;
use crate::ranks::topology::{Role, Topology};
use crate::report::fix::run;
use crate::report::secrets::Sensitivity;
use crate::report::{self, Problem, Rule, RuleSubject};
use crate::request::Launch;
use crate::tools::shims;

/// Variables that are shown besides those of every plan, as `vars::lists` reads them.
const SHOWN: &str = "NCCL_ TORCH_NCCL_ CUDA_HOME DEEPSPEED_TIMEOUT HF_HUB_OFFLINE PYTHONNOUSERSITE \
    TORCH_DISTRIBUTED_DEBUG DS_ENV_FILE HF_HOME MODELSCOPE_CACHE NNODES NODE_RANK NPROC_PER_NODE TORCH_EXTENSIONS_DIR \
    TRITON_CACHE_DIR SLURM_JOB_NUM_NODES SLURM_STEP_NODELIST SLURM_TASKS_PER_NODE SLURM_GPUS_ON_NODE USE_HF";

pub struct Examination<'a> {
    pub(super) launch: &'a Launch,
    pub(super) host: &'a Host,
    pub(super) machine: &'a Machine,
    pub(super) judged: Option<Judged<'a>>,
    pub(super) python: Option<Python>,
    /// The arguments of the trainer, with those of a run file.
    pub(super) args: Args,
    /// The ranks, if there is no plan that has them.
    topology: Option<Result<Topology, Vec<Problem>>>,
    wants: Wants,
    /// The launch compiles an operator of DeepSpeed.
    compiles: bool,
    /// Bytes that offloading needs in the memory of each machine.
    offloaded: Option<u64>,
}

impl<'a> Examination<'a> {
    pub fn new(launch: &'a Launch, host: &'a Host, machine: &'a Machine) -> Self {
        let mut seen = Examination {
            launch,
            host,
            machine,
            judged: None,
            python: None,
            args: Args::default(),
            topology: None,
            wants: Wants::default(),
            compiles: false,
            offloaded: None,
        };
        if launch.command.is_empty() {
            let console = trainer::training_commands()
                .find_map(|(console, _)| host.find_program(OsStr::new(console)));
            seen.python = console.and_then(|path| Python::of_script(&path, host));
        } else {
            let judged = Judged::new(launch, host);
            let job = &judged.understood().job;
            if let Some(plan) = judged.plan()
                && let Some(config) = plan.config.as_ref().map(PlannedConfig::value)
            {
                seen.wants = Wants::of(config);
                seen.compiles = operators::compiles(config, job, host);
                seen.offloaded = fit::host_memory(job, &plan.topology, config, launch, host);
            }
            seen.python.clone_from(&job.python);
            seen.args = job.args.clone();
            seen.judged = Some(judged);
        }
        seen.python = seen.python.or_else(|| Python::on_path(host));
        if seen.judged.as_ref().and_then(Judged::plan).is_none() {
            let ranks = Topology::decide(&launch.topology, &launch.hosts, true, host);
            seen.topology = Some(ranks);
        }
        seen
    }

    pub fn sections(&self) -> Vec<Section> {
        let section = |title: &'static str, rows: Vec<DoctorRow>| Section { title, rows };
        let mut sections = vec![
            section("machine", self.machine()),
            section("limits", self.limits()),
            section("python", self.python()),
            section("launch", self.launch()),
            section("folders", self.folders()),
            section("variables", self.variables()),
        ];
        sections.retain(|section| !section.rows.is_empty());
        sections
    }

    fn machine(&self) -> Vec<DoctorRow> {
        let kernel = self.machine.kernel();
        let system = [
            self.machine.system(),
            kernel.map(|kernel| format!("Linux {kernel}")),
        ];
        let gpus = self.machine.gpus();
        let models = count_models(&gpus);
        // By the names of the models, because the driver's files do not contain it.
        let sizes: Option<Vec<String>> = gpus
            .iter()
            .map(|model| Card::of_driver(model).map(|card| size(card.memory())))
            .collect();
        let mut sizes = sizes.unwrap_or_default();
        sizes.dedup();
        let memory = self.machine.memory();
        let too_little = self
            .offloaded
            .and_then(|bytes| machine::not_enough_host_memory(bytes, &memory));
        let parts = [
            memory.total.map(size),
            memory
                .available
                .map(|bytes| format!("{} available", size(bytes))),
            memory
                .limit
                .map(|bytes| format!("the cgroup allows {}", size(bytes))),
        ];
        let all = memory.total.and_then(|_| joined(parts));
        let here = self.host.hostname.split('.').next().map(str::to_string);
        vec![
            fact("system", joined(system)),
            fact("host", here.filter(|name| !name.is_empty())),
            fact("CPUs", self.host.cpus.to_string()),
            checked("memory", all, too_little),
            fact(
                "GPUs",
                models.unwrap_or_else(|| "none in /proc/driver/nvidia".to_string()),
            ),
            fact("GPU memory", joined(sizes.into_iter().map(Some))),
            fact("driver", self.machine.driver()),
        ]
    }

    fn limits(&self) -> Vec<DoctorRow> {
        let shown = |limit: Limit, unit: fn(u64) -> String| {
            let [soft, hard] =
                [limit.soft, limit.hard].map(|bound| bound.map_or("unlimited".to_string(), unit));
            if soft == hard {
                soft
            } else {
                format!("{soft}, at most {hard}")
            }
        };
        let count = |limit: Limit| shown(limit, |count| count.to_string());
        let [locked, files, processes] = ["Max locked memory", "Max open files", "Max processes"]
            .map(|name| self.machine.limit(name));
        let small_memlock =
            machine::small_memlock(locked, &self.wants, self.machine.has_infiniband());
        let shm = self.machine.shared_memory();
        vec![
            checked(
                "locked memory",
                locked.map(|limit| shown(limit, size)),
                small_memlock,
            ),
            checked("open files", files.map(count), machine::few_files(files)),
            fact("processes", processes.map(count)),
            checked("/dev/shm", shm.map(size), machine::small_shm(shm)),
        ]
    }

    fn python(&self) -> Vec<DoctorRow> {
        let Some(python) = &self.python else {
            return vec![fact("interpreter", None)];
        };
        let mut rows = vec![fact("interpreter", python.program.display().to_string())];
        for name in trainer::packages().into_iter().chain(["flash-attn"]) {
            let missing = if name == "transformers" {
                None
            } else {
                machine::missing_package(name, python, self.host)
            };
            // Without a command it is not an error that DeepSpeed is missing.
            let missing = if self.judged.is_none() {
                missing.map(Problem::into_warning)
            } else {
                missing
            };
            if missing.is_some() {
                rows.push(checked(name, "not installed".to_string(), missing));
            } else if let Some(version) = python.version_text(name) {
                rows.push(fact(name, version));
            }
        }
        let compiler = self
            .host
            .nonempty_var(vars::CXX)
            .and_then(|words| words.split_whitespace().next());
        let found = [compiler.unwrap_or("c++"), "ninja", "nvcc"]
            .map(|program| self.host.find_program(OsStr::new(program)));
        let problem = machine::no_compiler(found[0].is_some(), found[1].is_some(), self.compiles);
        let [compiler, ninja, nvcc] = found
            .map(|path| path.map_or("not found".to_string(), |path| path.display().to_string()));
        let text = format!("c++ {compiler}, ninja {ninja}, nvcc {nvcc}");
        rows.push(checked("compilers", text, problem));
        rows
    }

    pub(super) fn ranks(&self) -> Option<&Topology> {
        match self.judged.as_ref().and_then(Judged::plan) {
            Some(plan) => Some(&plan.topology),
            None => self
                .topology
                .as_ref()
                .and_then(|topology| topology.as_ref().ok()),
        }
    }

    fn launch(&self) -> Vec<DoctorRow> {
        let ranks = self.ranks();
        let engine = ranks.and_then(|ranks| ranks.engine).unwrap_or("none");
        let mut rows = vec![fact("scheduler", engine.to_string())];
        if let Some(ranks) = ranks {
            // A plan says itself what is odd about its ranks.
            let shared = if self.judged.is_none() {
                variables::shared_gpus(ranks)
            } else {
                None
            };
            let elsewhere = ranks
                .pool
                .as_ref()
                .filter(|pool| pool.0.len() > 1)
                .map(|pool| {
                    let line = format!(
                        "zlaunch doctor --nnodes {} --master-addr {} …",
                        pool.0.len(),
                        pool.0[0].name
                    );
                    let problem =
                        Problem::warning(Rule::NoAnswer, "only this machine was looked at");
                    problem.fix(
                        run(line).remark("on each, with --master-port 29500 and its --node-rank"),
                    )
                });
            let text = match &ranks.role {
                Role::Rank { .. } => "already started: this is one of them".to_string(),
                Role::Task(task) => {
                    format!("rank {} of {}", task.rank.value, task.world_size.value)
                }
                Role::Starter | Role::Shell { .. } => ranks.in_words(),
            };
            rows.push(checked("ranks", text, shared.or(elsewhere)));
        }
        if let (None, Some(Err(problems))) = (&self.judged, &self.topology) {
            let warnings = problems.iter().cloned().map(Problem::into_warning);
            rows.extend(warnings.map(|warning| checked("ranks", None, Some(warning))));
        }
        if let Some(port) = ranks.and_then(|ranks| ranks.opens_port(true)) {
            let taken = self.machine.listens(port.value);
            let state = if taken { "taken" } else { "free" };
            let text = format!("{}, {state}", port.spelling());
            let problem = taken.then(|| report::port_in_use(port));
            rows.push(checked("port", text, problem));
        }
        let row = |text: &str, problem: &Problem| {
            checked("plan", text.to_string(), Some(problem.clone()))
        };
        let Some(judged) = &self.judged else {
            return rows;
        };
        match judged.plan() {
            Some(plan) => {
                let of_config = |config: &PlannedConfig| {
                    format!("{} ({})", config.title(), config.layered.template.origin)
                };
                let config = plan.config.as_ref().map_or("none".to_string(), of_config);
                let trainer = format!("{}: {}", plan.trainer.name, plan.trainer.runs);
                let facts = [
                    ("trainer", trainer),
                    ("config", config),
                    ("launcher", plan.launcher.to_string()),
                ];
                rows.extend(facts.map(|(name, text)| fact(name, text)));
                // Problems of the machine are in their own sections.
                let problems = judged.problems.iter().chain(&plan.blocker);
                let problems =
                    problems.filter(|problem| problem.rule.subject() != RuleSubject::Machine);
                rows.extend(problems.map(|problem| row(problem.rule.name(), problem)));
            }
            None => {
                rows.extend(
                    judged
                        .problems
                        .iter()
                        .map(|problem| row("refused", problem)),
                );
            }
        }
        rows
    }

    fn folders(&self) -> Vec<DoctorRow> {
        let host = self.host;
        let extensions = machine::extensions_folder(host);
        let locks = extensions.as_deref().map(locks_in).unwrap_or_default();
        let mut torch = self.folder(
            "torch_extensions",
            extensions,
            Some(vars::TORCH_EXTENSIONS_DIR),
        );
        torch
            .problems
            .extend(machine::stale_locks(&locks, self.python.as_ref()));
        let triton = host
            .path(vars::TRITON_CACHE_DIR)
            .or_else(|| host.home().map(|home| home.join(".triton/cache")));
        let mut rows = vec![
            self.folder("configs", Some(host.configs_folder()), None),
            torch,
            self.folder("triton", triton, Some(vars::TRITON_CACHE_DIR)),
            self.folder("Hugging Face", Hub::HuggingFace.cache(host), None),
            self.folder("ModelScope", Hub::ModelScope.cache(host), None),
        ];
        for (key, path) in &self.wants.nvme {
            let file_system = self.machine.file_system(&host.absolute(path));
            let problem = machine::unusable_nvme(key, path, host)
                .or_else(|| machine::shared_nvme(key, path, file_system.as_deref()));
            rows.push(checked("nvme_path", path.display().to_string(), problem));
        }
        rows.push(fact("templates", self.launch.search.in_words()));
        if let Some(problem) = shims::hidden(host) {
            rows.push(checked("shims", "hidden".to_string(), Some(problem)));
        }
        rows
    }

    /// A folder with its file system. If ranks lock files in it, `variable` is the one that moves it elsewhere.
    fn folder(
        &self,
        name: &'static str,
        path: Option<PathBuf>,
        variable: Option<&str>,
    ) -> DoctorRow {
        let Some(path) = path else {
            return fact(name, None);
        };
        let file_system = self.machine.file_system(&path);
        let missing = if path.is_dir() { "" } else { ", not there yet" };
        let shown = file_system.as_deref().unwrap_or("unknown file system");
        let text = format!("{} ({shown}{missing})", path.display());
        let Some(variable) = variable else {
            return fact(name, text);
        };
        checked(
            name,
            text,
            machine::cache_on_nfs(name, &path, file_system.as_deref(), variable),
        )
    }

    fn variables(&self) -> Vec<DoctorRow> {
        let mut rows = Vec::new();
        if self.host.var_os(vars::CUDA_VISIBLE_DEVICES).is_none() {
            rows.push(fact(vars::CUDA_VISIBLE_DEVICES, "not set".to_string()));
        }
        for (name, value) in &self.host.env {
            let Some(name) = name.to_str() else {
                continue;
            };
            let is_shown = vars::lists(SHOWN, name) || vars::lists(SHOWN_WHEN_SET, name);
            if is_shown && Sensitivity::of(name).is_none() {
                rows.push(fact(name, value.to_string_lossy().into_owned()));
            }
        }
        // A plan reports them itself.
        if self.judged.is_none() {
            for problem in variables::misspelt(self.host, &[]) {
                let place = problem.places[0].to_string();
                rows.push(checked("misspelt", place, Some(problem)));
            }
        }
        rows
    }
}

/// Those that are known, with commas.
fn joined(parts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let known: Vec<String> = parts.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(", "))
}

/// `4 × NVIDIA H200, 1 × Tesla T4`.
pub(super) fn count_models(gpus: &[String]) -> Option<String> {
    let mut models: Vec<(&str, usize)> = Vec::new();
    for gpu in gpus {
        match models.iter_mut().find(|(model, _)| model == gpu) {
            Some((_, count)) => *count += 1,
            None => models.push((gpu, 1)),
        }
    }
    let texts: Vec<String> = models
        .iter()
        .map(|(model, count)| format!("{count} × {model}"))
        .collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}
