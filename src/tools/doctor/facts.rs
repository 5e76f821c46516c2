//! What a machine tells the first one about itself and this launch: its own report, and what matters to all of them.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::IpAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Map, Value};

use super::sections::{Examination, count_models};
use crate::base::bytes::fnv1a;
use crate::base::layout::plural;
use crate::base::vars;
use crate::command::python::Python;
use crate::host::{Host, can_be_written, names_in};
use crate::ranks::topology::rendezvous::resolve;

/// `report`: the machine's own, as JSON.
pub(super) fn all(seen: &Examination<'_>, report: &Value) -> Map<String, Value> {
    let mut facts = Facts::default();
    facts.add_report(report);
    facts.add_diagnostics(report);
    facts.add_python(seen.python.as_ref());
    facts.add_launch(seen);
    facts.add_interfaces(seen.host);
    facts.add_space(seen);
    facts.add_files(seen);
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

    fn add_report(&mut self, report: &Value) {
        for (section, rows) in report.as_object().into_iter().flatten() {
            for (name, value) in rows.as_object().into_iter().flatten() {
                let text = value.as_str().filter(|text| !text.starts_with("none in "));
                self.add(format!("{section}.{name}"), text);
            }
        }
    }

    fn add_diagnostics(&mut self, report: &Value) {
        for found in report["diagnostics"].as_array().into_iter().flatten() {
            let part = |name: &str| found[name].as_str().unwrap_or_default();
            // Those of several machines that differ only in their numbers are one.
            let without_numbers = part("message").replace(|c: char| c.is_ascii_digit(), "");
            let text = format!("{}\n{}", part("message"), part("help"));
            self.add(
                format!("{}.{without_numbers}", part("severity")),
                Some(text),
            );
        }
    }

    fn add_python(&mut self, python: Option<&Python>) {
        self.add("python.version", python.and_then(Python::own_version));
        let nccl = |major| python?.version_text(&format!("nvidia-nccl-cu{major}"));
        self.add("python.NCCL", nccl(13).or_else(|| nccl(12)));
        let torch = python
            .and_then(|python| fs::read_to_string(python.file("torch/version.py")?).ok())
            .unwrap_or_default();
        // `cuda: Optional[str] = '13.0'`
        let cuda = torch.lines().find(|line| line.starts_with("cuda: "));
        self.add("python.CUDA", cuda.and_then(|line| line.split('\'').nth(1)));
    }

    fn add_launch(&mut self, seen: &Examination<'_>) {
        self.add("zlaunch", Some(env!("CARGO_PKG_VERSION")));
        self.add("folder", Some(seen.host.cwd.display().to_string()));
        let plan = seen.judged.as_ref().and_then(|judged| judged.plan());
        let config = plan.and_then(|plan| plan.config.as_ref());
        let hash = config.map(|config| format!("{:016x}", fnv1a(config.file.text.as_bytes())));
        self.add("config", hash);
        let ranks = seen.ranks().and_then(|ranks| ranks.nproc_per_node.as_ref());
        self.add("ranks", ranks.map(|nproc| nproc.value));
        let output = seen.args.text("output_dir").map(|given| given.value);
        let unwritable =
            output.filter(|folder| !can_be_written(&seen.host.absolute(Path::new(folder))));
        self.add("output", unwritable);
    }

    /// The variables that name interfaces which are not here.
    fn add_interfaces(&mut self, host: &Host) {
        let interfaces: Vec<String> = names_in(Path::new("/sys/class/net")).collect();
        for name in ["NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"] {
            // Beginnings of names; `=` stands before whole ones, `^` before those that are not to be used.
            let is_there = |start: &str| {
                interfaces
                    .iter()
                    .any(|name| name.starts_with(start.trim_start_matches('=')))
            };
            let wrong = host
                .nonempty_var(name)
                .filter(|list| !list.starts_with('^') && !list.split(',').any(is_there));
            self.add(
                "network.interface",
                wrong.map(|list| format!("{name}={list}")),
            );
        }
    }

    fn add_space(&mut self, seen: &Examination<'_>) {
        let free = |folder: &Path| seen.machine.free(folder);
        // Where all of it is too small, the report says so already.
        let shm = seen.machine.shared_memory();
        if shm.is_some_and(|bytes| bytes >= 1 << 30) {
            self.add("space./dev/shm", free(Path::new("/dev/shm")));
        }
        let temporary = seen.host.path(vars::TMPDIR);
        let temporary = temporary.as_deref().unwrap_or(Path::new("/tmp"));
        self.add("space.TMPDIR", free(temporary));
        let home = seen.host.home();
        self.add("space.HOME", home.and_then(|home| free(&home)));
    }

    /// The files and folders that the command names.
    fn add_files(&mut self, seen: &Examination<'_>) {
        let output = seen.args.text("output_dir").map(|given| given.value);
        let words = seen
            .launch
            .command
            .iter()
            .chain(seen.args.words())
            .filter_map(|word| word.to_str());
        for word in words.map(|word| word.split_once('=').map_or(word, |(_, value)| value)) {
            let path = seen.host.absolute(Path::new(word));
            // A bare word such as `sft` may be the name of a folder by chance.
            let may_be_folder = word.contains('/') && output.as_deref() != Some(word);
            let content = match fs::metadata(&path) {
                Ok(found) if found.is_file() => {
                    content(&path, &found).unwrap_or_else(|_| "not readable".to_string())
                }
                Ok(_) if may_be_folder => "a folder".to_string(),
                _ => continue,
            };
            self.add(format!("file.{word}"), Some(content));
            self.add(format!("folder.{word}"), files_in(&path));
        }
    }

    /// What only the driver knows, of the GPUs that this launch uses.
    fn add_gpus(&mut self, host: &Host) {
        let Some(table) = nvidia_smi(host) else {
            return;
        };
        let rows: Vec<Vec<&str>> = table
            .lines()
            .map(|line| line.split(", ").collect())
            .collect();
        let models: Vec<String> = rows
            .iter()
            .map(|row| format!("{} MiB", row[..row.len().min(2)].join(" ")))
            .collect();
        let most = |column: usize| {
            let numbers = rows
                .iter()
                .filter_map(|row| row.get(column)?.trim().parse::<u64>().ok());
            numbers.max()
        };
        self.add("machine.GPUs", count_models(&models));
        let driver = rows.first().and_then(|row| row.get(2)).copied();
        self.add("machine.driver", driver);
        self.add("GPU.used", most(3).map(|used| used << 20));
        self.add("GPU.errors", most(4));
    }
}

fn nvidia_smi(host: &Host) -> Option<String> {
    let visible = host.var(vars::CUDA_VISIBLE_DEVICES);
    if visible == Some("") {
        return None;
    }
    let query = "--query-gpu=name,memory.total,driver_version,memory.used,ecc.errors.uncorrected.volatile.total";
    let output = Command::new(host.find_program("nvidia-smi".as_ref())?)
        .args([query, "--format=csv,noheader,nounits"])
        .args(visible.map(|gpus| format!("--id={gpus}")))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then_some(text)
}

/// Its size and a number that tells files apart: by all of a small one, by 16 parts of a larger one.
fn content(path: &Path, found: &Metadata) -> io::Result<String> {
    const PART: u64 = 1 << 16;
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    for at in 0..16 {
        let last = found.len().saturating_sub(PART);
        file.seek(SeekFrom::Start(last.saturating_mul(at) / 15))?;
        file.by_ref().take(PART).read_to_end(&mut bytes)?;
    }
    let hash = fnv1a(&bytes) >> 32;
    Ok(format!("{} bytes ({hash:08x})", found.len()))
}

/// What is in a folder; `None` if it is none, if something in it changes, or if that is too much.
fn files_in(folder: &Path) -> Option<String> {
    let mut names: Vec<String> = names_in(folder)
        .filter(|name| !name.starts_with('.'))
        .take(1000)
        .collect();
    if names.is_empty() || names.len() == 1000 {
        return None;
    }
    names.sort();
    let mut list = String::new();
    for name in &names {
        let path = folder.join(name);
        let found = fs::metadata(&path).ok()?;
        // A file server needs time to tell all machines of a change.
        let is_settled = found.modified().ok()?.elapsed().ok()?.as_secs() > 120;
        if !is_settled {
            return None;
        }
        list += &format!("{name}: {}\n", content(&path, &found).unwrap_or_default());
    }
    let files = plural(names.len() as u64, "file", "s");
    Some(format!("{files} ({:08x})", fnv1a(list.as_bytes()) >> 32))
}

/// Where this machine looks for the first one.
pub(super) fn addresses(first: &str, facts: &mut Value) -> Vec<IpAddr> {
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
