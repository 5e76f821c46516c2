//! The report about this machine and a launch: its rows, and how they are shown as text and as JSON. Secrets and the path
//! of the home folder are removed, so that it can be pasted anywhere.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use nix::unistd::geteuid;
use serde_json::{Value, json};

use super::tables::meeting::{SHOWN_VARIABLES, SSH_OPTIONS};
use crate::{
    base::{
        layout::{Line, TextTable},
        size::size,
        vars,
    },
    check::{
        machine as rules,
        machine::too_little,
        tables::limits::{self, Needed},
        variables,
    },
    command::{argv::Args, model::Hub, python::Python, trainer},
    config::zero::Zero,
    exec, fit,
    host::{
        Host,
        machine::{Machine, locks_in},
        names_in,
    },
    judge::Judged,
    plan::{Plan, PlannedConfig, diagnostics_json, environment::SHOWN_WHEN_SET},
    ranks::topology::{Role, Topology},
    report::{
        RuleSubject,
        prelude::*,
        reading::text_if_any,
        secrets::{Secrets, Sensitivity},
    },
    request::Launch,
    tools::shims,
};

pub struct Section {
    pub title: &'static str,
    rows: Vec<DoctorRow>,
}

pub struct DoctorRow {
    name: String,
    /// `None`: unknown.
    pub value: Option<String>,
    /// A rule looked at it.
    is_checked: bool,
    pub problems: Problems,
}

fn fact(name: impl Into<String>, value: impl Into<String>) -> DoctorRow {
    known(name, Some(value.into()))
}

/// `value`: `None` if it is unknown.
fn known(name: impl Into<String>, value: Option<String>) -> DoctorRow {
    DoctorRow {
        name: name.into(),
        value,
        is_checked: false,
        problems: vec![],
    }
}

impl DoctorRow {
    fn checked(mut self, problem: Option<Problem>) -> Self {
        self.is_checked = self.value.is_some();
        self.problems.extend(problem);
        self
    }

    /// Its name in JSON.
    pub fn key(&self) -> String {
        self.name.replace(' ', "_")
    }

    fn mark(&self) -> &'static str {
        match self.problems.iter().map(|problem| problem.severity).min() {
            Some(Severity::Error) => "bad",
            Some(_) => "warn",
            None if self.is_checked => "ok",
            None => "",
        }
    }
}

/// What is looked at, and what a launch would make of it.
pub struct Examination<'a> {
    pub launch: &'a Launch,
    pub host: &'a Host,
    pub machine: &'a Machine,
    pub judged: Option<Judged<'a>>,
    pub python: Option<Python>,
    /// The ranks, if there is no plan that has them.
    topology: Option<Result<Topology, Problems>>,
}

impl<'a> Examination<'a> {
    pub fn new(launch: &'a Launch, host: &'a Host, machine: &'a Machine) -> Self {
        let judged = (!launch.command.is_empty()).then(|| Judged::new(launch, host));
        let python = judged
            .as_ref()
            .and_then(|judged| judged.understood().job.python.clone());
        let mut seen = Examination {
            launch,
            host,
            machine,
            judged,
            python: python.or_else(|| Python::on_path(host)),
            topology: None,
        };
        if seen.plan().is_none() {
            let ranks = Topology::decide(&launch.topology, &launch.hosts, true, host);
            seen.topology = Some(ranks);
        }
        seen
    }

    fn plan(&self) -> Option<&Plan<'_>> {
        self.judged.as_ref().and_then(Judged::plan)
    }

    pub fn config(&self) -> Option<&PlannedConfig> {
        self.plan()?.config.as_ref()
    }

    /// The arguments of the trainer, with those of a run file.
    pub fn args(&self) -> Option<&Args> {
        Some(&self.judged.as_ref()?.understood().job.args)
    }

    /// DeepSpeed loads its optimizer for host memory at the start, unless it was installed with it.
    fn loads_operator(&self) -> bool {
        let is_off = |config: &PlannedConfig| Zero::of(config.value()).optimizer.is_off_gpu();
        let python = self.python.as_ref();
        let installed = python
            .and_then(|python| python.file("deepspeed/git_version_info_installed.py"))
            .and_then(|file| text_if_any(&file));
        !installed.is_some_and(|text| text.contains("'cpu_adam': True"))
            && self.config().is_some_and(is_off)
    }

    /// It needs a compiler only once.
    fn is_compiled(&self) -> bool {
        rules::extensions_folder(self.host).is_some_and(|all| {
            let mut folders = names_in(&all).chain([String::new()]);
            folders.any(|name| all.join(name).join("cpu_adam/cpu_adam.so").exists())
        })
    }

    fn nvme_folders(&self) -> Vec<(String, PathBuf)> {
        self.config()
            .map(PlannedConfig::value)
            .map(rules::nvme_folders)
            .unwrap_or_default()
    }

    pub fn ranks(&self) -> Option<&Topology> {
        match self.plan() {
            Some(plan) => Some(&plan.topology),
            None => self.topology.as_ref()?.as_ref().ok(),
        }
    }

    fn sections(&self) -> Vec<Section> {
        [
            ("machine", self.machine()),
            ("limits", self.limits()),
            ("python", self.python()),
            ("launch", self.launch()),
            ("folders", self.folders()),
            ("variables", self.variables()),
        ]
        .map(|(title, rows)| Section { title, rows })
        .into()
    }

    fn machine(&self) -> Vec<DoctorRow> {
        let machine = self.machine;
        let kernel = machine.kernel().map(|kernel| format!("Linux {kernel}"));
        let memory = machine.memory();
        let too_little = self
            .plan()
            .and_then(|plan| {
                fit::host_memory(
                    &plan.topology,
                    plan.config.as_ref()?.value(),
                    &plan.understood,
                )
            })
            .and_then(|bytes| rules::not_enough_host_memory(bytes, &memory));
        let available = memory.available.map(size);
        let limit = memory.limit.map(size);
        let parts = [
            memory.total.map(size),
            available.map(|size| format!("{size} available")),
            limit.map(|size| format!("the cgroup allows {size}")),
        ];
        let here = self.host.hostname.split('.').next().map(str::to_string);
        let gpus = count_models(machine.gpus());
        vec![
            known("system", joined([machine.system(), kernel])),
            known("host", here.filter(|name| !name.is_empty())),
            fact("CPUs", self.host.cpus.to_string()),
            known("memory", joined(parts)).checked(too_little),
            fact(
                "GPUs",
                gpus.unwrap_or("none in /proc/driver/nvidia".to_string()),
            ),
            known("driver", machine.driver()),
        ]
    }

    fn limits(&self) -> Vec<DoctorRow> {
        let shown = |bound: Option<u64>, unit: fn(u64) -> String| {
            bound.map_or("unlimited".to_string(), unit)
        };
        let count = |count: u64| count.to_string();
        let machine = self.machine;
        let [locked, files, processes] = ["Max locked memory", "Max open files", "Max processes"]
            .map(|name| machine.limit(name));
        let ranks = self.ranks();
        let has_adapter = machine.has_infiniband() && self.host.var("NCCL_IB_DISABLE") != Some("1");
        let is_free = machine.may_lock() || !has_adapter && self.nvme_folders().is_empty();
        let lockable = locked.filter(|_| !is_free);
        let is_needed = has_adapter && ranks.is_some_and(Topology::has_several_nodes);
        let locked_memory = Needed {
            fatal: u64::from(is_needed) * limits::OLD_LOCKED_MEMORY,
            ..limits::LOCKED_MEMORY
        };
        let each = ranks
            .and_then(|ranks| ranks.nproc_per_node.as_ref())
            .map_or(0, |each| each.value.into());
        let threads = Needed {
            fatal: each * (limits::THREADS_OF_A_RANK + each),
            ..limits::PROCESSES
        };
        // No limit counts for root.
        let most = processes.filter(|_| !geteuid().is_root());
        let shm = machine.shared_memory();
        vec![
            // A launch raises it to the hard limit.
            known("locked memory", locked.map(|limit| shown(limit.hard, size)))
                .checked(too_little(&locked_memory, lockable.and_then(|it| it.hard))),
            known("open files", files.map(|limit| shown(limit.soft, count))).checked(too_little(
                &limits::OPEN_FILES,
                files.and_then(|it| it.soft),
            )),
            known("processes", processes.map(|limit| shown(limit.soft, count)))
                .checked(too_little(&threads, most.and_then(|it| it.soft))),
            known("/dev/shm", shm.map(size)).checked(too_little(&limits::SHARED_MEMORY, shm)),
        ]
    }

    fn python(&self) -> Vec<DoctorRow> {
        let Some(python) = &self.python else {
            return vec![known("interpreter", None)];
        };
        let mut rows = vec![fact("interpreter", python.program.to_string_lossy())];
        for name in trainer::packages().into_iter().chain(["flash-attn"]) {
            let mut missing = rules::missing_package(name, python);
            missing.take_if(|_| name == "transformers");
            // Without a command it is not an error that DeepSpeed is missing.
            if self.judged.is_none() {
                missing = missing.map(Problem::into_warning);
            }
            if missing.is_some() {
                rows.push(fact(name, "not installed").checked(missing));
            } else {
                rows.extend(python.version_text(name).map(|version| fact(name, version)));
            }
        }
        let compiler = self
            .host
            .nonempty_var(vars::CXX)
            .and_then(|words| words.split_whitespace().next());
        let found = [compiler.unwrap_or("c++"), "ninja", "nvcc"]
            .map(|program| self.host.find_program(program.as_ref()));
        let has_compiler = found[0].is_some() || self.is_compiled();
        let problem = rules::no_compiler(has_compiler, found[1].is_some(), self.loads_operator());
        let [compiler, ninja, nvcc] = found
            .map(|path| path.map_or("not found".to_string(), |path| path.display().to_string()));
        let text = format!("c++ {compiler}, ninja {ninja}, nvcc {nvcc}");
        rows.push(fact("compilers", text).checked(problem));
        rows
    }

    fn launch(&self) -> Vec<DoctorRow> {
        let ranks = self.ranks();
        let engine = ranks.and_then(|ranks| ranks.engine).unwrap_or("none");
        let mut rows = vec![fact("scheduler", engine)];
        if let Some(ranks) = ranks {
            let text = match &ranks.role {
                Role::Rank { .. } => "already started: this is one of them".to_string(),
                _ => ranks.in_words(),
            };
            let mut row = fact("ranks", text).checked(only_this_machine(ranks));
            // A plan says itself what is odd about its ranks.
            if self.judged.is_none() {
                row = row.checked(variables::shared_gpus(ranks));
            }
            rows.push(row);
        }
        if let (None, Some(Err(problems))) = (&self.judged, &self.topology) {
            rows.extend(
                problems
                    .iter()
                    .cloned()
                    .map(Problem::into_warning)
                    .map(|it| known("ranks", None).checked(Some(it))),
            );
        }
        if let Some(port) = ranks.and_then(|ranks| ranks.opens_port(true)) {
            rows.push(fact("port", port.spelling()).checked(exec::unusable_port(port)));
        }
        let Some(judged) = &self.judged else {
            return rows;
        };
        let existing = judged.understood().existing_launcher.as_ref();
        let theirs = existing.map(|existing| existing.hosts(self.host));
        let ours = ranks.and_then(|ranks| ranks.pool.as_ref());
        let names: Vec<&str> = theirs
            .iter()
            .chain(ours)
            .flatten()
            .map(|machine| &*machine.name)
            .collect();
        if !names.is_empty() {
            rows.push(fact("ssh", names.join(", ")).checked(unreachable(&names)));
        }
        let mut problems: Vec<&Problem> = judged.problems.iter().collect();
        if let Some(plan) = judged.plan() {
            let config = plan.config.as_ref().map_or("none".to_string(), |config| {
                format!("{} ({})", config.title(), config.layered.template.origin)
            });
            let understood = &plan.understood;
            let trainer = understood.job.trainer.name;
            let what_runs = understood.what_runs();
            rows.push(fact("trainer", format!("{trainer}: {what_runs}")));
            rows.push(fact("config", config));
            rows.push(fact("launcher", plan.launcher.to_string()));
            problems.extend(&plan.blocker);
            // Problems of the machine are in their own sections.
            problems.retain(|problem| problem.rule.subject() != RuleSubject::Machine);
        }
        if !problems.is_empty() {
            let is_refused = judged.plan().is_none();
            let text = if is_refused { "refused" } else { "accepted" };
            let mut row = fact("plan", text);
            row.problems = problems.into_iter().cloned().collect();
            for problem in &mut row.problems {
                // What is not certain is a note.
                problem.be_strict(problem.rule == Rule::MemoryShort);
            }
            rows.push(row);
        }
        rows
    }

    fn folders(&self) -> Vec<DoctorRow> {
        let host = self.host;
        let extensions = rules::extensions_folder(host);
        let locks = extensions.as_deref().map(locks_in).unwrap_or_default();
        let mut torch = self.folder(
            "torch_extensions",
            extensions,
            Some(vars::TORCH_EXTENSIONS_DIR),
        );
        torch.problems.extend(
            rules::stale_locks(&locks, self.python.as_ref())
                .into_iter()
                .map(|lock| lock.into_warning_unless(self.loads_operator())),
        );
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
        for (key, path) in &self.nvme_folders() {
            let file_system = self.machine.file_system(&host.absolute(path));
            let problem = rules::unusable_nvme(key, path, host)
                .or_else(|| rules::shared_nvme(key, path, file_system.as_deref()));
            rows.push(fact("nvme_path", path.to_string_lossy()).checked(problem));
        }
        rows.push(fact("templates", self.launch.search.in_words()));
        rows.extend(
            shims::hidden(host).map(|problem| fact("shims", "hidden").checked(Some(problem))),
        );
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
            return known(name, None);
        };
        let file_system = self.machine.file_system(&path);
        let missing = if path.is_dir() { "" } else { ", not there yet" };
        let shown = file_system.as_deref().unwrap_or("unknown file system");
        let row = fact(name, format!("{} ({shown}{missing})", path.display()));
        match variable {
            Some(variable) => row.checked(rules::cache_on_nfs(
                name,
                &path,
                file_system.as_deref(),
                variable,
            )),
            None => row,
        }
    }

    fn variables(&self) -> Vec<DoctorRow> {
        let mut rows = vec![];
        for (name, value) in self.host.vars_from("") {
            let is_shown = vars::lists(SHOWN_VARIABLES, name) || vars::lists(SHOWN_WHEN_SET, name);
            if is_shown && Sensitivity::of(name).is_none() {
                rows.push(fact(name, value.to_string_lossy()));
            }
        }
        rows
    }
}

/// Tries the machines of a hostfile as DeepSpeed's runner will: through ssh, without a password.
fn unreachable(names: &[&str]) -> Option<Problem> {
    let tried = names.iter().map(|name| {
        let mut command = Command::new("ssh");
        command.args(SSH_OPTIONS).args([name, "true"]);
        let streams = command.stdin(Stdio::null()).stdout(Stdio::null());
        (*name, streams.stderr(Stdio::null()).spawn())
    });
    // All are asked before the first answers.
    let tried: Vec<_> = tried.collect();
    let name = tried.into_iter().find_map(|(name, child)| {
        let ended = child.and_then(|mut child| child.wait());
        (!ended.is_ok_and(|status| status.success())).then_some(name)
    })?;
    Some(
        Rule::Hosts
            .error(format!(
                "`{name}` of the hostfile cannot be reached by ssh without a password"
            ))
            .at(name)
            .fix(run(format!("ssh-copy-id {name}"))),
    )
}

/// Nothing starts `doctor` on the other machines of a hostfile.
fn only_this_machine(ranks: &Topology) -> Option<Problem> {
    let pool = &ranks.pool.as_ref()?;
    if pool.len() < 2 {
        return None;
    }
    let line = format!(
        "zlaunch doctor --nnodes {} --master-addr {} …",
        pool.len(),
        pool[0].name
    );
    let fix = run(line).remark("on each, with --master-port 29500 and its --node-rank");
    Some(
        Rule::NoAnswer
            .warning("only this machine was looked at")
            .fix(fix),
    )
}

/// Those that are known, with commas.
fn joined(parts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let known: Vec<String> = parts.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(", "))
}

/// `4 × NVIDIA H200, 1 × Tesla T4`.
pub fn count_models(mut gpus: Vec<String>) -> Option<String> {
    gpus.sort();
    let same = gpus.chunk_by(|one, two| one == two);
    joined(same.map(|models| Some(format!("{} × {}", models.len(), models[0]))))
}

pub struct DoctorReport<'h> {
    home: Option<String>,
    secrets: Secrets<'h>,
    sections: Vec<Section>,
    /// Problems of which no row tells.
    pub further: Problems,
}

impl<'h> DoctorReport<'h> {
    /// `host`: without the changes of the launch.
    pub fn new(host: &'h Host, seen: &Examination) -> Self {
        let home = host.home().map(|home| home.display().to_string());
        DoctorReport {
            home: home.filter(|home| home != "/"),
            secrets: Secrets::of(host),
            sections: seen.sections(),
            further: vec![],
        }
    }

    pub fn rows(&self) -> impl Iterator<Item = (&Section, &DoctorRow)> {
        self.sections
            .iter()
            .flat_map(|section| section.rows.iter().map(move |row| (section, row)))
    }

    pub fn problems(&self) -> Problems {
        self.rows()
            .flat_map(|(_, row)| &row.problems)
            .chain(&self.further)
            .cloned()
            .collect()
    }

    pub fn clean(&self, text: &str) -> String {
        self.without_home(&self.secrets.hide_in_text(text))
    }

    pub fn without_home(&self, text: &str) -> String {
        match &self.home {
            Some(home) => text.replace(home, "~"),
            None => text.to_string(),
        }
    }

    /// The rows. The problems are told below them.
    pub fn text(&self, width: Option<usize>) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let first = format!("zlaunch {version} ({})", std::env::consts::ARCH);
        let mut lines = vec![Line::Heading(first)];
        for section in &self.sections {
            lines.push(Line::Heading(format!("\n{}", section.title)));
            for row in &section.rows {
                let value = row.value.as_deref().unwrap_or("unknown");
                let mark = format!("{:<4}", row.mark());
                lines.push(Line::Row(vec![mark, row.name.clone(), self.clean(value)]));
            }
        }
        TextTable {
            widest: 24,
            lines,
            ..TextTable::new(2)
        }
        .fitted(width)
        .to_string()
    }

    pub fn json(&self) -> Value {
        let version = env!("CARGO_PKG_VERSION");
        let found = diagnostics_json(&self.problems());
        let mut all = json!({ "version": 1, "zlaunch": version, "diagnostics": found });
        for (section, row) in self.rows() {
            all[section.title][row.key()] = json!(row.value);
        }
        self.clean_json(all)
    }

    pub fn clean_json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.clean(&text).into(),
            Value::Array(items) => items
                .into_iter()
                .map(|item| self.clean_json(item))
                .collect(),
            Value::Object(entries) => entries
                .into_iter()
                .map(|(key, it)| (self.clean(&key), self.clean_json(it)))
                .collect(),
            value => value,
        }
    }
}
