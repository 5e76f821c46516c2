//! `zlaunch doctor`: what zlaunch sees here, short enough for an issue and without secrets. It reads, judges by the rules
//! of `machine`, and prints; what is wrong is shown, never a failure.

mod page;

use std::ffi::OsStr;
use std::path::PathBuf;

use crate::base::size::size;
use crate::base::source::Sourced;
use crate::base::vars;
use crate::check::machine::{self, Wants};
use crate::command::model::Hub;
use crate::command::python::Python;
use crate::command::trainer;
use crate::fit;
use crate::host::Host;
use crate::host::machine::{Limit, Machine, locks_in};
use crate::plan::Plan;
use crate::ranks::topology::{Role, Topology};
use crate::report::secrets::may_hold_secret;
use crate::report::{self, Problem};
use crate::request::{Format, Launch};

use page::{DoctorReport, Row};

/// Variables that may be shown, besides those of every plan; a name that ends in `_` stands for all that start so.
const SHOWN: &[&str] = &[
    "NCCL_",
    "TORCH_NCCL_",
    "CUDA_HOME",
    "DEEPSPEED_TIMEOUT",
    "HF_HUB_OFFLINE",
    "PYTHONNOUSERSITE",
    "TORCH_DISTRIBUTED_DEBUG",
    vars::DS_ENV_FILE,
    vars::HF_HOME,
    vars::MODELSCOPE_CACHE,
    vars::NNODES,
    vars::NODE_RANK,
    vars::NPROC_PER_NODE,
    vars::TORCH_EXTENSIONS_DIR,
    vars::TRITON_CACHE_DIR,
    vars::SLURM_JOB_NUM_NODES,
    vars::SLURM_TASKS_PER_NODE,
    vars::SLURM_GPUS_ON_NODE,
    vars::USE_HF,
];

/// The whole report, as text or as JSON.
pub(crate) fn doctor(launch: &Launch, host: &Host) -> String {
    let report = examine(launch, host, &Machine::here());
    match launch.output.dry_run {
        Some(Format::Json) => format!("{:#}\n", report.json()),
        _ => report.text(),
    }
}

fn examine<'h>(launch: &Launch, host: &'h Host, machine: &Machine) -> DoctorReport<'h> {
    let wanted = host.with(&launch.environment.set, &launch.environment.unset);
    let sight = Sight::new(launch, &wanted, machine);
    let mut report = DoctorReport::new(host);
    report.add("machine", sight.machine());
    report.add("limits", sight.limits());
    report.add("python", sight.python());
    report.add("launch", sight.launch());
    report.add("folders", sight.folders());
    report.add("variables", sight.variables());
    report
}

/// What was found out before anything is judged.
struct Sight<'a> {
    launch: &'a Launch,
    host: &'a Host,
    machine: &'a Machine,
    /// The decision about the command, if there is one.
    plan: Option<Result<Plan, Vec<Problem>>>,
    python: Option<Python>,
    topology: Option<Topology>,
    unclear: Vec<Problem>,
    wants: Wants,
    /// Bytes that offloading needs in the memory of each machine.
    offloads: Option<u64>,
}

impl<'a> Sight<'a> {
    fn new(launch: &'a Launch, host: &'a Host, machine: &'a Machine) -> Self {
        let empty = Sight {
            launch,
            host,
            machine,
            plan: None,
            python: None,
            topology: None,
            unclear: Vec::new(),
            wants: Wants::default(),
            offloads: None,
        };
        if launch.command.is_empty() { empty.without_command() } else { empty.of_command() }
    }

    fn without_command(mut self) -> Self {
        let swift = self.host.find_program(OsStr::new("swift")).and_then(|path| Python::of_script(&path, self.host));
        self.python = swift.or_else(|| Python::on_path(self.host));
        match Topology::decide(&self.launch.topology, &self.launch.hosts, true, self.host) {
            Ok(topology) => self.topology = Some(topology),
            Err(problems) => self.unclear = problems.into_iter().map(Problem::into_warning).collect(),
        }
        self
    }

    fn of_command(mut self) -> Self {
        let (plan, job) = Plan::with_job(self.launch, self.host);
        if let Ok(Plan { config: Some(config), topology, .. }) = &plan {
            self.wants = Wants::of(&config.value);
            self.offloads = fit::host_memory(&job, topology, &config.value, self.launch, self.host);
        }
        self.python = job.python.or_else(|| Python::on_path(self.host));
        if plan.is_err() {
            self.topology = Topology::decide(&self.launch.topology, &self.launch.hosts, true, self.host).ok();
        }
        self.plan = Some(plan);
        self
    }

    /// The plan, where there is one and it was not refused.
    fn planned(&self) -> Option<&Plan> {
        self.plan.as_ref()?.as_ref().ok()
    }

    fn ranks(&self) -> Option<&Topology> {
        self.planned().map(|plan| &plan.topology).or(self.topology.as_ref())
    }

    fn machine(&self) -> Vec<Row> {
        let here = self.host.hostname.split('.').next().filter(|name| !name.is_empty()).map(str::to_string);
        let system = [self.machine.system(), self.machine.kernel().map(|kernel| format!("Linux {kernel}"))];
        let system: Vec<String> = system.into_iter().flatten().collect();
        let gpus = self.machine.gpus();
        let memory = self.machine.memory();
        let all = memory.total.map(|total| {
            let rest = memory.available.map(|it| format!(", {} available", size(it))).unwrap_or_default();
            let limit = memory.limit.map(|it| format!(", the cgroup allows {}", size(it))).unwrap_or_default();
            format!("{}{rest}{limit}", size(total))
        });
        vec![
            Row::seen("system", Some(system.join(", ")).filter(|text| !text.is_empty())),
            Row::seen("host", here),
            Row::seen("CPUs", Some(self.host.cpus.to_string())),
            Row::judged("memory", all, self.offloads.and_then(|it| machine::not_enough_host_memory(it, &memory))),
            Row::seen("GPUs", counted(&gpus).or_else(|| Some("none in /proc/driver/nvidia".to_string()))),
            Row::seen("GPU memory", gpu_memory(&gpus)),
            Row::seen("driver", self.machine.driver()),
        ]
    }

    fn limits(&self) -> Vec<Row> {
        let limit = |name: &str| self.machine.limit(name);
        let bytes = |limit: Limit| [limit.soft, limit.hard].map(|it| it.map_or("unlimited".to_string(), size));
        let count =
            |limit: Limit| [limit.soft, limit.hard].map(|it| it.map_or("unlimited".to_string(), |it| it.to_string()));
        let shown = |[soft, hard]: [String; 2]| if soft == hard { soft } else { format!("{soft}, at most {hard}") };
        let (locked, files) = (limit("Max locked memory"), limit("Max open files"));
        let infiniband = self.machine.has_infiniband();
        let shm = self.machine.shared_memory();
        vec![
            Row::judged(
                "locked memory",
                locked.map(bytes).map(shown),
                machine::small_memlock(locked, &self.wants, infiniband),
            ),
            Row::judged("open files", files.map(count).map(shown), machine::few_files(files)),
            Row::seen("processes", limit("Max processes").map(count).map(shown)),
            Row::judged("/dev/shm", shm.map(size), machine::small_shm(shm)),
        ]
    }

    fn python(&self) -> Vec<Row> {
        let Some(python) = &self.python else {
            return vec![Row::seen("interpreter", None)];
        };
        let mut rows = vec![Row::seen("interpreter", Some(python.program.display().to_string()))];
        let mut packages = trainer::packages();
        packages.push("flash-attn");
        for name in packages {
            // Without a command nobody asked for DeepSpeed yet.
            let missing = machine::missing_package(name, python);
            let missing = if self.plan.is_none() { missing.map(Problem::into_warning) } else { missing };
            match (python.version(name), missing) {
                (_, Some(problem)) => rows.push(Row::judged(name, Some("not installed".to_string()), Some(problem))),
                (Some(version), None) => rows.push(Row::seen(name, Some(version.0))),
                (None, None) => {}
            }
        }
        rows.extend(self.compilers());
        rows
    }

    fn compilers(&self) -> Vec<Row> {
        let find = |word: &str| self.host.find_program(OsStr::new(word));
        let compiler = self.host.filled(vars::CXX).and_then(|words| words.split_whitespace().next());
        let compiler = find(compiler.unwrap_or("c++"));
        let (ninja, nvcc) = (find("ninja"), find("nvcc"));
        let problem = machine::no_compiler(compiler.is_some(), ninja.is_some(), self.wants.compiles());
        let path = |path: Option<PathBuf>| path.map_or("not found".to_string(), |path| path.display().to_string());
        let all = format!("c++ {}, ninja {}, nvcc {}", path(compiler), path(ninja), path(nvcc));
        vec![Row::judged("compilers", Some(all), problem)]
    }

    fn launch(&self) -> Vec<Row> {
        let ranks = self.ranks();
        let engine = ranks.and_then(|ranks| ranks.engine);
        let mut rows = vec![Row::seen("scheduler", Some(engine.unwrap_or("none").to_string()))];
        rows.extend(ranks.map(ranks_row));
        rows.extend(self.unclear.iter().map(|problem| Row::judged("ranks", None, Some(problem.clone()))));
        if let Some(port) = ranks.and_then(|ranks| ranks.opens_port(true)) {
            rows.push(self.port(port));
        }
        match &self.plan {
            None => {}
            Some(Ok(plan)) => {
                rows.push(Row::seen("trainer", Some(format!("{}: {}", plan.trainer.name, plan.trainer.runs))));
                let config = plan.config.as_ref();
                let name = |it: &crate::plan::PlannedConfig| format!("{} ({})", it.template.name, it.template.origin);
                rows.push(Row::seen("config", Some(config.map_or("none".to_string(), name))));
                rows.push(Row::seen("launcher", Some(plan.launcher.to_string())));
                // Those about the machine stand where they belong.
                let others = plan.diagnostics.iter().chain(&plan.blocker);
                let others = others.filter(|problem| !report::ABOUT_THE_MACHINE.contains(&problem.rule));
                rows.extend(
                    others.map(|problem| Row::judged("plan", Some(problem.rule.to_string()), Some(problem.clone()))),
                );
            }
            Some(Err(problems)) => {
                let row = |problem: &Problem| Row::judged("plan", Some("refused".to_string()), Some(problem.clone()));
                rows.extend(problems.iter().map(row));
            }
        }
        rows
    }

    fn port(&self, port: &Sourced<u16>) -> Row {
        let taken = self.machine.listens(port.value);
        let text = format!("{}, {}", port.place(), if taken { "taken" } else { "free" });
        Row::judged("port", Some(text), taken.then(|| report::port_in_use(port)))
    }

    fn folders(&self) -> Vec<Row> {
        let host = self.host;
        let mut rows = vec![self.folder("configs", Some(host.configs_folder()), None)];
        let extensions = machine::extensions_folder(host);
        let mut row = self.folder("torch_extensions", extensions.clone(), Some(vars::TORCH_EXTENSIONS_DIR));
        row.found.extend(machine::stale_locks(&extensions.map(|folder| locks_in(&folder)).unwrap_or_default()));
        rows.push(row);
        let triton = host.path(vars::TRITON_CACHE_DIR).or_else(|| host.home().map(|home| home.join(".triton/cache")));
        rows.push(self.folder("triton", triton, Some(vars::TRITON_CACHE_DIR)));
        rows.push(self.folder("Hugging Face", Hub::HuggingFace.cache(host), None));
        rows.push(self.folder("ModelScope", Hub::ModelScope.cache(host), None));
        rows.extend(self.nvme());
        rows.push(Row::seen("templates", Some(self.launch.search.in_words())));
        rows
    }

    /// A folder with its file system; `variable`: ranks lock files in it, and this moves it.
    fn folder(&self, name: &'static str, path: Option<PathBuf>, variable: Option<&str>) -> Row {
        let Some(path) = path else { return Row::seen(name, None) };
        let kind = self.machine.file_system(&path);
        let problem = variable.and_then(|variable| machine::cache_on_nfs(name, &path, kind.as_deref(), variable));
        let kind = kind.unwrap_or_else(|| "unknown file system".to_string());
        let there = if path.is_dir() { "" } else { ", not there yet" };
        let text = format!("{} ({kind}{there})", path.display());
        if variable.is_some() { Row::judged(name, Some(text), problem) } else { Row::seen(name, Some(text)) }
    }

    fn nvme(&self) -> Vec<Row> {
        let row = |(key, path): &(String, PathBuf)| {
            let absolute = self.host.absolute(path);
            let kind = self.machine.file_system(&absolute);
            let wrong = machine::unusable_nvme(key, path, self.host)
                .or_else(|| machine::shared_nvme(key, path, kind.as_deref()));
            Row::judged("nvme_path", Some(path.display().to_string()), wrong)
        };
        self.wants.nvme.iter().map(row).collect()
    }

    fn variables(&self) -> Vec<Row> {
        let shown = self.host.env.iter().filter_map(|(name, value)| {
            let name = name.to_str().filter(|name| may_be_shown(name))?;
            Some(Row::seen(name, Some(value.to_string_lossy().into_owned())))
        });
        let mut rows: Vec<Row> = shown.collect();
        if self.host.raw(vars::CUDA_VISIBLE_DEVICES).is_none() {
            rows.insert(0, Row::seen(vars::CUDA_VISIBLE_DEVICES, Some("not set".to_string())));
        }
        rows
    }
}

fn ranks_row(ranks: &Topology) -> Row {
    let text = match &ranks.role {
        Role::Rank { .. } => "started already: this is one of them".to_string(),
        Role::Task(task) => format!("rank {} of {}", task.rank.value, task.world_size.value),
        Role::Starter | Role::Shell { .. } => ranks.in_words(),
    };
    let gpus = ranks.devices.names.as_ref().map_or(0, Vec::len);
    let nproc = ranks.nproc_per_node.as_ref().filter(|nproc| gpus > 0 && nproc.value as usize > gpus);
    Row::judged("ranks", Some(text), nproc.map(|nproc| report::ranks_share_gpus(nproc, gpus)))
}

fn may_be_shown(name: &str) -> bool {
    let listed = |known: &&str| name == *known || known.ends_with('_') && name.starts_with(known);
    SHOWN.iter().chain(vars::SHOWN_WHEN_SET).any(listed) && !may_hold_secret(name)
}

/// `4 × NVIDIA H200, 1 × Tesla T4`.
fn counted(gpus: &[String]) -> Option<String> {
    let mut models: Vec<(&str, usize)> = Vec::new();
    for gpu in gpus {
        match models.iter_mut().find(|(model, _)| model == gpu) {
            Some((_, count)) => *count += 1,
            None => models.push((gpu, 1)),
        }
    }
    let texts: Vec<String> = models.iter().map(|(model, count)| format!("{count} × {model}")).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// By the models: the driver's files do not tell it, and the driver is not asked.
fn gpu_memory(gpus: &[String]) -> Option<String> {
    let known = |model: &String| fit::cards::memory(model).map(size);
    let mut sizes: Vec<String> = gpus.iter().map(known).collect::<Option<_>>()?;
    sizes.dedup();
    (!sizes.is_empty()).then(|| sizes.join(", "))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use super::*;

    fn plant(root: &Path, path: &str, text: &str) {
        use std::io::Write;
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn a_report_of_another_machine() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        plant(root, "etc/os-release", "NAME=x\nPRETTY_NAME=\"Rocky Linux 9.4\"\n");
        plant(root, "proc/sys/kernel/osrelease", "5.14.0-427\n");
        plant(root, "proc/meminfo", "MemTotal: 1056964608 kB\nMemAvailable: 1048576000 kB\n");
        plant(root, "proc/self/cgroup", "0::/slurm/job_7\n");
        plant(root, "sys/fs/cgroup/slurm/job_7/memory.max", "68719476736\n");
        plant(root, "sys/class/infiniband/mlx5_0/node_type", "1");
        plant(root, "proc/self/limits", "Max open files  512  512  files\nMax locked memory  65536  65536  bytes\n");
        plant(root, "proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue\n");
        for bus in ["0000:01:00.0", "0000:02:00.0"] {
            plant(root, &format!("proc/driver/nvidia/gpus/{bus}/information"), "Model: \t Tesla V100-SXM2-32GB\n");
        }
        plant(root, "proc/self/mountinfo", "1 1 8:1 / / rw - nfs4 server:/ rw\n");
        plant(root, "proc/net/tcp", " 0: 00000000:7150 00000000:0000 0A 0\n");
        let home = root.join("jane");
        plant(&home, ".cache/torch_extensions/py311_cu121/cpu_adam/lock", "");
        let variables = [
            ("HOME", home.to_str().unwrap()),
            ("MASTER_ADDR", "node01"),
            ("MASTER_PORT", "29008"),
            ("NNODES", "2"),
            ("NODE_RANK", "0"),
            ("HF_TOKEN", "hf_secret"),
            ("NCCL_DEBUG", "INFO"),
        ];
        let env = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let host = Host { env, hostname: "node01.example.org".to_string(), nvidia_gpus: Some(2), ..Host::default() };
        let argv = ["zlaunch", "doctor"].map(OsString::from).to_vec();
        let Ok(crate::cli::Request::Doctor(launch)) = crate::cli::parse(argv, &host) else { panic!("no doctor") };
        let report = examine(&launch, &host, &Machine::below(root));
        let words = |text: &str| text.split_whitespace().map(|word| format!("{word} ")).collect::<String>();
        let (text, json) = (words(&report.text()), report.json());
        for line in [
            "Rocky Linux 9.4, Linux 5.14.0-427",
            "host node01 CPUs",
            "1008 GiB, 1000 GiB available, the cgroup allows 64 GiB",
            "GPUs 2 × Tesla V100-SXM2-32GB",
            "GPU memory 32 GiB",
            "driver 535.54.03",
            "warn locked memory 64 KiB",
            "InfiniBand registers memory [small-memlock]",
            "warn open files 512",
            "2 × 2 on 2 machines (NNODES, /proc/driver/nvidia/gpus)",
            "bad port MASTER_PORT=29008, taken",
            "warn torch_extensions ~/.cache/torch_extensions (nfs4)",
            "[cache-on-nfs]",
            "Hugging Face ~/.cache/huggingface/hub (nfs4, not there yet)",
            "NCCL_DEBUG INFO",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert_eq!(json["machine"]["driver"], "535.54.03");
        let rules: Vec<_> =
            json["diagnostics"].as_array().unwrap().iter().map(|it| it["rule"].as_str().unwrap()).collect();
        assert!(rules.contains(&"port") && rules.contains(&"few-files"), "{rules:?}");
        for secret in ["hf_secret", "HF_TOKEN", "jane", "example.org"] {
            assert!(!text.contains(secret) && !json.to_string().contains(secret), "{secret}");
        }
    }

    #[test]
    fn memory_is_known_by_the_model_or_not_at_all() {
        let gpus = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect::<Vec<_>>();
        assert_eq!(gpu_memory(&gpus(&["NVIDIA A100-SXM4-80GB"; 2])).as_deref(), Some("80 GiB"));
        assert_eq!(gpu_memory(&gpus(&["NVIDIA A100-SXM4-80GB", "NVIDIA H200"])).as_deref(), Some("80 GiB, 140 GiB"));
        assert_eq!(gpu_memory(&gpus(&["NVIDIA A100-SXM4-80GB", "Unheard Of 9000"])), None);
        assert_eq!(gpu_memory(&[]), None);
        assert_eq!(counted(&gpus(&["A", "B", "A"])).as_deref(), Some("2 × A, 1 × B"));
    }

    #[test]
    fn only_listed_variables_are_shown() {
        for name in ["CUDA_VISIBLE_DEVICES", "NCCL_DEBUG", "NCCL_IB_HCA", "OMP_NUM_THREADS", "HF_HOME"] {
            assert!(may_be_shown(name), "{name}");
        }
        for name in
            ["HF_TOKEN", "WANDB_API_KEY", "NCCL_SECRET", "PATH", "HOME", "AWS_ACCESS_KEY_ID", "NCCL", "MY_NCCL_X"]
        {
            assert!(!may_be_shown(name), "{name}");
        }
    }
}
