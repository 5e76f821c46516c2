//! What a machine tells the first one about itself and this launch: its own report, and what matters to all of them. The
//! table of facts says how those of several machines are compared.

use std::{
    collections::BTreeSet,
    fs::{self, File, Metadata},
    io::{self, Read, Seek, SeekFrom},
    mem,
    net::IpAddr,
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::{Map, Value};

use super::{
    report::{DoctorReport, Examination, count_models},
    tables::facts::{
        Compared, FACTS, Fact, NCCL_PACKAGES, Name, OLDEST_DRIVERS, PART, QUERY, TOKENS,
    },
};
use crate::{
    base::{bytes::fnv1a, layout::plural, size::size, vars},
    command::{
        argv::Args,
        model::{Hub, config_file},
    },
    host::{Host, can_be_written, names_in},
    ranks::topology::slurm::resolve,
    report::{Problem, Problems},
};

/// `report`: the machine's own.
pub fn all(seen: &Examination, report: &DoctorReport) -> Map<String, Value> {
    let mut facts = Facts::default();
    facts.add_report(report);
    facts.0.extend(alone(seen));
    facts.add_files(seen);
    facts.0
}

/// Those of which the report says nothing, and that need no other machine.
pub fn alone(seen: &Examination) -> Map<String, Value> {
    let mut facts = Facts::default();
    facts.add_launch(seen);
    facts.add_python(seen);
    facts.add_interfaces(seen.host);
    facts.add_space(seen);
    facts.add_gpus(seen.host);
    facts.0
}

#[derive(Default)]
struct Facts(Map<String, Value>);

impl Facts {
    /// Adds a fact, if its value is known.
    fn add<T: Into<Value>>(&mut self, name: impl Into<String>, value: Option<T>) {
        self.0
            .extend(value.map(|value| (name.into(), value.into())));
    }

    fn add_report(&mut self, report: &DoctorReport) {
        for (section, row) in report.rows() {
            let value = row
                .value
                .clone()
                .filter(|text| !text.starts_with("none in "));
            self.add(format!("{}.{}", section.title, row.key()), value);
            for problem in &row.problems {
                // Those of several machines that differ only in their numbers are one.
                let what = report.clean(&problem.what);
                let without_numbers = what.replace(|c: char| c.is_ascii_digit(), "");
                let name = format!("{}.{without_numbers}", problem.severity);
                self.add(name, Some(format!("{what}\n{}", problem.help())));
            }
        }
    }

    fn add_python(&mut self, seen: &Examination) {
        let Some(python) = &seen.python else {
            return;
        };
        self.add("python.version", python.own_version());
        let nccl = NCCL_PACKAGES
            .iter()
            .find_map(|name| python.version_text(name));
        self.add("python.NCCL", nccl);
        let torch = python
            .file("torch/version.py")
            .map(fs::read_to_string)
            .and_then(Result::ok)
            .unwrap_or_default();
        // `cuda: Optional[str] = '13.0'`
        let cuda = torch.lines().find(|line| line.starts_with("cuda: "));
        self.add("python.CUDA", cuda.and_then(|line| line.split('\'').nth(1)));
    }

    fn add_launch(&mut self, seen: &Examination) {
        self.add("zlaunch", Some(env!("CARGO_PKG_VERSION")));
        self.add("folder", Some(seen.host.cwd.display().to_string()));
        let config = seen.config().map(|config| config.file.text.as_bytes());
        self.add("config", config.map(|text| format!("{:016x}", fnv1a(text))));
        let ranks = seen.ranks().and_then(|ranks| ranks.nproc_per_node.as_ref());
        self.add("ranks", ranks.map(|nproc| nproc.value));
        for name in TOKENS {
            let is_set = seen.host.nonempty_var(name).map(|_| "set");
            self.add(format!("token.{name}"), is_set);
        }
        if let Some(folder) = output_folder(seen) {
            let path = seen.host.absolute(Path::new(&folder));
            self.add("space.output", seen.machine.free(&path));
            let unwritable = !can_be_written(&path);
            self.add("output", unwritable.then_some(folder));
        }
    }

    /// The variables that name interfaces which are not here.
    fn add_interfaces(&mut self, host: &Host) {
        let folder = Path::new("/sys/class/net");
        let interfaces: Vec<String> = names_in(folder).collect();
        for name in &interfaces {
            let mtu = fs::read_to_string(folder.join(name).join("mtu")).ok();
            self.add(format!("mtu.{name}"), mtu.as_deref().map(str::trim));
        }
        let adapters = names_in(Path::new("/sys/class/infiniband")).collect();
        for (fact, name, there) in [
            ("network.interface", "NCCL_SOCKET_IFNAME", &interfaces),
            ("network.interface", "GLOO_SOCKET_IFNAME", &interfaces),
            ("network.adapter", "NCCL_IB_HCA", &adapters),
        ] {
            // Beginnings of names; `=` stands before whole ones, `^` before those that are not to be used.
            let is_there = |start: &str| {
                let start = start.trim_start_matches('=');
                // `mlx5_0:1` is its first port.
                let start = start.split(':').next().unwrap_or_default();
                there.iter().any(|name| name.starts_with(start))
            };
            let wrong = host
                .nonempty_var(name)
                .filter(|list| !list.starts_with('^') && !list.split(',').any(is_there));
            self.add(fact, wrong.map(|list| format!("{name}={list}")));
        }
    }

    fn add_space(&mut self, seen: &Examination) {
        let free = |folder: &Path| seen.machine.free(folder);
        // Where all of it is too small, the report says so already.
        let has_some = seen.machine.shared_memory() >= Some(1 << 30);
        let shared = free(Path::new("/dev/shm")).filter(|_| has_some);
        self.add("space./dev/shm", shared);
        let temporary = seen.host.path(vars::TMPDIR);
        self.add(
            "space.TMPDIR",
            free(temporary.as_deref().unwrap_or(Path::new("/tmp"))),
        );
        let home = seen.host.home();
        self.add("space.HOME", home.and_then(|home| free(&home)));
        let addresses = seen.machine.limit("Max address space");
        self.add("limits.addresses", addresses.and_then(|limit| limit.soft));
    }

    /// The files and folders that the command names, and models in the cache.
    fn add_files(&mut self, seen: &Examination) {
        let host = seen.host;
        let output = output_folder(seen);
        let further = seen.args().into_iter().flat_map(Args::words);
        let mut before = "";
        for word in seen
            .launch
            .command
            .iter()
            .chain(further)
            .filter_map(|word| word.to_str())
        {
            // A bare word such as `sft` may be the name of a folder by chance.
            let is_value = mem::replace(&mut before, word).starts_with("--");
            let word = word.split_once('=').map_or(word, |(_, value)| value);
            let path = host.absolute(Path::new(word));
            let model = config_file(word, None, Hub::HuggingFace, host);
            if let Some(folder) = model.as_deref().and_then(Path::parent) {
                let broken = names_in(folder).find(|name| !folder.join(name).exists());
                self.add(format!("broken.{word}"), broken);
                let content = files_in(folder, false).filter(|_| !path.exists());
                self.add(format!("cached.{word}"), content);
            }
            let may_be_folder = (is_value || word.contains('/')) && output.as_deref() != Some(word);
            let content = match fs::metadata(&path) {
                Ok(found) if found.is_file() => {
                    content(&path, &found).unwrap_or_else(|_| "not readable".to_string())
                }
                Ok(_) if may_be_folder => "a folder".to_string(),
                _ => continue,
            };
            self.add(format!("file.{word}"), Some(content));
            let is_own = seen.machine.free(&path).is_some();
            let folder = path.is_dir().then(|| files_in(&path, is_own));
            self.add(format!("folder.{word}"), folder.flatten());
        }
    }

    /// What only the driver knows, of the GPUs that this launch uses.
    fn add_gpus(&mut self, host: &Host) {
        let Some(Output { status, stdout, .. }) = nvidia_smi(host) else {
            return;
        };
        if !status.success() {
            return self.add("GPU.unreadable", Some(status.to_string()));
        }
        let table = String::from_utf8_lossy(&stdout);
        let rows: Vec<[&str; 6]> = table
            .lines()
            .filter_map(|line| line.split(", ").collect::<Vec<_>>().try_into().ok())
            .collect();
        let models = rows
            .iter()
            .map(|[name, memory, ..]| format!("{name} {memory} MiB"));
        let most = |column: usize| {
            rows.iter()
                .filter_map(|row| row[column].trim().parse::<u64>().ok())
                .max()
        };
        let used = most(3).map(|used| used << 20);
        let is_full = used > most(1).map(|all| all << 19);
        let driver = rows.last().map(|row| row[2]);
        let cuda = self.0.get("python.CUDA").and_then(Value::as_str);
        let cuda = cuda.unwrap_or_default();
        // A container may bring what the driver lacks.
        let is_old = !Path::new("/usr/local/cuda/compat").exists()
            && OLDEST_DRIVERS
                .iter()
                .any(|(of, oldest)| cuda.starts_with(of) && driver < Some(oldest));
        let driver_fact = if is_old {
            "GPU.old_driver"
        } else {
            "machine.driver"
        };
        self.add(driver_fact, driver);
        self.add("GPU.models", count_models(models.collect()));
        self.add("GPU.count", Some(rows.len()));
        self.add(if is_full { "GPU.full" } else { "GPU.used" }, used);
        self.add("GPU.errors", most(4));
        let is_divided = rows.iter().any(|row| row[5] == "Enabled");
        self.add("GPU.MIG", is_divided.then_some("enabled"));
    }
}

fn output_folder(seen: &Examination) -> Option<String> {
    Some(seen.args()?.text("output_dir")?.value)
}

/// `None`: there is none, or it may see no GPU.
fn nvidia_smi(host: &Host) -> Option<Output> {
    let visible = host.var(vars::CUDA_VISIBLE_DEVICES);
    if visible == Some("") {
        return None;
    }
    Command::new(host.find_program("nvidia-smi".as_ref())?)
        .args([QUERY, "--format=csv,noheader,nounits"])
        // It knows no parts of a GPU.
        .args(
            visible
                .filter(|gpus| !gpus.contains("MIG-"))
                .map(|gpus| format!("--id={gpus}")),
        )
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()
}

/// Its size and a number that tells files apart: by all of a small one, by 16 parts of a larger one.
fn content(path: &Path, found: &Metadata) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut bytes = vec![];
    for at in 0..16 {
        let last = found.len().saturating_sub(PART);
        file.seek(SeekFrom::Start(last.saturating_mul(at) / 15))?;
        file.by_ref().take(PART).read_to_end(&mut bytes)?;
    }
    let hash = fnv1a(&bytes) >> 32;
    Ok(format!("{} bytes ({hash:08x})", found.len()))
}

/// What is in a folder; `None` if it is too much, or if something changes in one that is not this machine's own.
fn files_in(folder: &Path, is_own: bool) -> Option<String> {
    let mut files: Vec<String> = vec![];
    for name in names_in(folder).filter(|name| !name.starts_with('.')) {
        let path = folder.join(&name);
        let Ok(found) = fs::metadata(&path) else {
            // A link that leads nowhere.
            files.push(name);
            continue;
        };
        // A file server needs time to tell all machines of a change.
        let is_settled = is_own || found.modified().ok()?.elapsed().ok()?.as_secs() > 120;
        if !is_settled || files.len() == 1000 {
            return None;
        }
        files.push(name + &content(&path, &found).unwrap_or_default());
    }
    files.sort();
    let hash = fnv1a(files.concat().as_bytes()) >> 32;
    let count = plural(files.len() as u64, "file", "s");
    Some(format!("{count} ({hash:08x})"))
}

/// Where this machine looks for the first one.
pub fn addresses(first: &str, facts: &mut Value) -> Vec<IpAddr> {
    let mut found: Vec<IpAddr> = match first.trim_matches(['[', ']']).parse() {
        Ok(address) => vec![address],
        Err(_) => resolve(first),
    };
    // `getent` has a line for each kind of socket.
    found.dedup();
    let texts: Vec<String> = found.iter().map(IpAddr::to_string).collect();
    facts["network.address"] = texts.join(" ").into();
    found
}

#[derive(Default)]
pub struct Comparison {
    /// What is the same on all machines, as it is shown.
    pub same: Vec<String>,
    pub problems: Problems,
}

/// Machines that state the same.
struct Group<'a> {
    value: &'a Value,
    machines: Vec<String>,
}

pub fn compare(answers: &[Value]) -> Comparison {
    let mut comparison = Comparison::default();
    let names: BTreeSet<&String> = answers
        .iter()
        .filter_map(|answer| answer["facts"].as_object())
        .flat_map(Map::keys)
        .collect();
    let mut names: Vec<&String> = names.into_iter().collect();
    for fact in FACTS {
        let is_meant = |name: &mut &String| {
            fact.names.iter().any(|it| match it {
                Name::Is(whole) => name == whole,
                Name::Below(start) => name.starts_with(start),
            })
        };
        for name in names.extract_if(.., is_meant) {
            comparison.add(fact, name, answers);
        }
    }
    comparison
}

impl Fact {
    fn text(&self, value: &Value) -> String {
        match value {
            Value::String(text) => text.clone(),
            Value::Number(bytes) if self.is_size => size(bytes.as_u64().unwrap_or_default()),
            other => other.to_string(),
        }
    }

    /// A number that no machine needs to be told of.
    fn is_fine(&self, value: &Value) -> bool {
        match (self.compared, value.as_f64()) {
            (Compared::AtLeast(least), Some(number)) => number >= least,
            (Compared::AtMost(most), Some(number)) => number.abs() <= most,
            _ => false,
        }
    }
}

impl Comparison {
    fn add(&mut self, fact: &Fact, fact_name: &str, answers: &[Value]) {
        if fact.compared == Compared::Free {
            return;
        }
        let absent = fact.absent.map(Value::from);
        let mut groups: Vec<Group> = vec![];
        for answer in answers {
            let Some(value) = answer["facts"].get(fact_name).or(absent.as_ref()) else {
                continue;
            };
            match groups.iter_mut().find(|group| group.value == value) {
                Some(group) => group.machines.push(name(answer)),
                None => groups.push(Group {
                    value,
                    machines: vec![name(answer)],
                }),
            }
        }
        groups.retain(|group| !fact.is_fine(group.value));
        let short = fact_name.split_once('.').map_or(fact_name, |(_, it)| it);
        let mut usual = String::new();
        if fact.compared == Compared::Same {
            // Of groups that are as large, the first machine's is the usual one.
            let largest = (0..groups.len())
                .rev()
                .max_by_key(|at| groups[*at].machines.len());
            let group = groups.remove(largest.unwrap_or(0));
            let value = fact.text(group.value);
            if groups.is_empty() {
                let shown = fact.shown.map(|shown| shown.replace("{name}", short));
                self.same
                    .extend(shown.map(|shown| shown.replace("{value}", &value)));
            }
            let others = match &group.machines[..] {
                [only] => only,
                _ => "the others",
            };
            usual = format!(", {value} on {others}");
        }
        if groups.is_empty() {
            return;
        }
        let values: Vec<String> = groups.iter().map(|group| fact.text(group.value)).collect();
        let machines = groups.into_iter().flat_map(|group| group.machines);
        let machines = listed(&machines.collect::<Vec<_>>());
        let (what, help) = if fact.compared == Compared::InItsOwnWords {
            let (what, help) = values[0].split_once('\n').unwrap_or((&values[0], ""));
            (format!("{machines}: {what}"), help)
        } else {
            let what = fact
                .says
                .replace("{machines}", &machines)
                .replace("{name}", fact.called.unwrap_or(short))
                .replace("{value}", &listed(&values));
            (format!("{what}{usual}: {}", fact.means), fact.help)
        };
        self.problems.push(Problem {
            severity: fact.severity,
            ..fact.rule.error(what).fix(help)
        });
    }
}

pub fn name(answer: &Value) -> String {
    answer["name"].as_str().unwrap_or_default().to_string()
}

/// `gpu07, gpu08, gpu09 and 6 more`.
pub fn listed(names: &[String]) -> String {
    match names {
        [] | [_] => names.concat(),
        [some @ .., last] if names.len() < 5 => format!("{} and {last}", some.join(", ")),
        _ => format!("{} and {} more", names[..3].join(", "), names.len() - 3),
    }
}
