//! The GPUs of this machine that can be used, and how many processes to start for them. A list of them in a variable is
//! read as CUDA's driver and torch read it: seen on a driver of 2026 and in torch 2.15.
//!
//! Then machines and their GPUs as DeepSpeed's runner takes them: a file of `host slots=N` lines, and `--include` or
//! `--exclude host:0,1@host`. Without a file, these select among the GPUs of this machine.

use std::{
    collections::BTreeSet,
    fmt::{self, Display},
    path::PathBuf,
    str::FromStr,
};

use super::tables::rank_variables::{NO_GPUS, VISIBLE_DEVICES};
use crate::{
    base::{
        source::{Source, Sourced},
        vars,
    },
    host::Host,
    report::prelude::*,
};

/// A value that may be stated, together with what states it.
pub type Stated<T> = Option<Sourced<T>>;

/// A number of processes as torchrun takes it: `4`, `gpu` (or `auto`), `cpu`.
#[derive(Clone, Copy, PartialEq)]
pub enum Processes {
    Count(u32),
    Gpus,
    Cpus,
}

impl FromStr for Processes {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match (text, text.trim().parse()) {
            ("auto" | "gpu", _) => Ok(Processes::Gpus),
            ("cpu", _) => Ok(Processes::Cpus),
            (_, Ok(count @ 1..)) => Ok(Processes::Count(count)),
            _ => Err(()),
        }
    }
}

impl Display for Processes {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Processes::Count(count) => write!(f, "{count}"),
            Processes::Gpus => f.write_str("gpu"),
            Processes::Cpus => f.write_str("cpu"),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Devices {
    /// As the variable names them, or their numbers.
    pub names: Option<Vec<String>>,
    from: Source,
    pub variable: &'static str,
    pub chosen_by: Option<Source>,
    pub fault: Option<DeviceFault>,
}

impl Devices {
    /// From the variable that lists them, else from the driver's list in /proc.
    pub fn detect(host: &Host) -> Self {
        if let Some(variable) = VISIBLE_DEVICES
            .into_iter()
            .find(|name| host.var(name).is_some())
        {
            let list = host.var(variable).unwrap_or_default();
            let list = DeviceList::read(variable, list, host.nvidia_gpus);
            return Devices {
                names: Some(list.names),
                from: Source::Variable(variable.to_string()),
                variable,
                fault: list.fault,
                ..Devices::default()
            };
        }
        let count = host.nvidia_gpus.filter(|count| *count > 0);
        Devices {
            names: count.map(numbers_below),
            from: Source::Machine("/proc/driver/nvidia/gpus"),
            variable: vars::CUDA_VISIBLE_DEVICES,
            ..Devices::default()
        }
    }

    /// Keeps only those that `--include` or `--exclude` leave.
    pub fn select(mut self, hosts: &HostFlags) -> Result<Self, Problems> {
        let filter = hosts.include.as_ref().or(hosts.exclude.as_ref());
        if let Some(filter) = filter.filter(|_| hosts.hostfile.is_none()) {
            let here = PoolMachine {
                name: "localhost".to_string(),
                slots: self.names.unwrap_or_default(),
            };
            self.names = hosts
                .filtered(vec![here])?
                .pop()
                .map(|machine| machine.slots);
            self.chosen_by = Some(filter.from.clone());
        }
        Ok(self)
    }

    fn seen(&self) -> Stated<u32> {
        let count = u32::try_from(self.names.as_ref()?.len()).ok()?;
        Some(Sourced::new(count, self.from.clone()))
    }

    pub fn listed(&self) -> Stated<u32> {
        self.seen()
            .filter(|seen| matches!(seen.from, Source::Variable(_)))
    }

    /// True if this number of processes is the number of these devices.
    pub fn counted(&self, nproc: &Sourced<u32>) -> bool {
        nproc.from == self.from
    }

    /// As many processes as asked for, else one for each GPU that a variable lists, an engine counts or the driver shows.
    pub fn processes(
        &self,
        asked: Stated<Processes>,
        by_engine: Stated<u32>,
        host: &Host,
    ) -> Stated<u32> {
        let count = match asked.map(|asked| (asked.value, asked.from)) {
            Some((Processes::Count(count), from)) => Sourced::new(count, from),
            Some((Processes::Cpus, from)) => Sourced::new(u32::try_from(host.cpus).ok()?, from),
            _ => self.listed().or(by_engine).or_else(|| self.seen())?,
        };
        Some(count).filter(|count| count.value > 0)
    }

    pub fn count_problem(&self, host: &Host) -> Problem {
        match (&self.from, &self.fault) {
            (Source::Variable(name), Some(fault)) => refused(fault.to_string())
                .at(&self.from)
                .fix(fault.fix(name, host.var(name).unwrap_or_default())),
            (Source::Variable(name), None) => {
                let one = give("--nproc-per-node", 1).remark("for one process without a GPU");
                refused(format!(
                    "`{name}` hides every GPU, so the number of ranks is unknown"
                ))
                .at(&self.from)
                .fix(unset_variable(name).or(one))
            }
            (from, _) => {
                let place = format!("{from} lists none, and CUDA_VISIBLE_DEVICES is not set");
                refused("the number of GPUs is unknown, and so is the number of ranks")
                    .at(place)
                    .fix(
                        give("--nproc-per-node", "N")
                            .remark("the number of GPUs on the machine that will train")
                            .or(give("--nproc-per-node", 1).remark("without a GPU")),
                    )
            }
        }
    }
}

#[derive(Default)]
pub struct DeviceList {
    pub names: Vec<String>,
    pub fault: Option<DeviceFault>,
}

#[derive(Clone, Debug)]
pub enum DeviceFault {
    /// A GPU is listed twice. The driver and torch then see none.
    Repeated(String),
    /// The list ends before a word that is not a device.
    NotADevice(String),
    /// The list ends before a number that the machine does not have.
    NotThere(String, usize),
}

impl DeviceList {
    /// `gpus`: as many as the driver of NVIDIA shows.
    pub fn read(variable: &str, list: &str, gpus: Option<usize>) -> Self {
        let mut devices = DeviceList::default();
        if NO_GPUS.contains(&list.trim().to_ascii_lowercase().as_str()) {
            return devices;
        }
        let is_cuda = variable == vars::CUDA_VISIBLE_DEVICES;
        // Other runtimes have rules of their own.
        let is_judged = is_cuda || variable == vars::HIP_VISIBLE_DEVICES;
        let gpus = gpus.filter(|count| is_cuda && *count > 0);
        // A list with both kinds was not tried: that needs a GPU that is divided.
        let is_id = |entry: &str| entry.starts_with("GPU-") || entry.starts_with("MIG-");
        let by_id = !is_judged || is_id(list);
        for entry in list.split(',').map(str::trim) {
            // A number that ends the list, or nothing at all.
            if entry.is_empty() || entry.starts_with('-') {
                break;
            }
            let number = entry.parse::<u32>().ok().filter(|_| !by_id);
            if is_judged && number.is_none() && !(by_id && is_id(entry)) {
                devices.fault = Some(DeviceFault::NotADevice(entry.to_string()));
                break;
            }
            let name = number.map_or(entry.to_string(), |number| number.to_string());
            if let (Some(count), Ok(number)) = (gpus, name.parse::<usize>())
                && number >= count
            {
                devices.fault = Some(DeviceFault::NotThere(name, count));
                break;
            }
            if is_judged && devices.names.contains(&name) {
                return DeviceList {
                    names: vec![],
                    fault: Some(DeviceFault::Repeated(name)),
                };
            }
            devices.names.push(name);
        }
        devices
    }
}

impl Display for DeviceFault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            DeviceFault::Repeated(name) => {
                write!(f, "`{name}` is in the list twice, so torch sees no GPU")
            }
            DeviceFault::NotADevice(name) => write!(
                f,
                "`{name}` is not a GPU, and torch sees none of those behind it"
            ),
            DeviceFault::NotThere(name, count) => write!(
                f,
                "there is no GPU {name} (the first is 0, the last {}), and torch sees only what is before it",
                count - 1
            ),
        }
    }
}

impl DeviceFault {
    pub fn fix(&self, variable: &str, list: &str) -> Fix {
        let export = |list: &str| run(format!("export {variable}={list}"));
        match self {
            DeviceFault::NotThere(_, count) => export(&numbers_below(*count.min(&8)).join(",")),
            _ if list.trim() == "all" => unset_variable(variable),
            _ => match numbers(list) {
                Some(numbers) => export(&numbers),
                None => say("write numbers with commas, or GPU-… as `nvidia-smi -L` prints them"),
            },
        }
    }
}

pub fn numbers_below(count: usize) -> Vec<String> {
    (0..count).map(|number| number.to_string()).collect()
}

/// `0,1,2,3` for `0-3`, `0 1 2 3`, `[0,1,2,3]` and `cuda:0,cuda:1,cuda:2,cuda:3`; each once.
fn numbers(list: &str) -> Option<String> {
    let mut numbers = vec![];
    for entry in list
        .replace("cuda:", "")
        .replace("GPU", "")
        .replace("..", "-")
        .split([',', ';', ' ', '[', ']', '"', '\''])
        .filter(|it| !it.is_empty())
    {
        let (first, last) = entry.split_once('-').unwrap_or((entry, entry));
        for number in first.parse::<u8>().ok()?..=last.parse::<u8>().ok()? {
            if !numbers.contains(&number.to_string()) {
                numbers.push(number.to_string());
            }
        }
    }
    (!numbers.is_empty()).then(|| numbers.join(","))
}

#[derive(Clone, Default)]
pub struct HostFlags {
    pub hostfile: Stated<PathBuf>,
    pub include: Stated<String>,
    pub exclude: Stated<String>,
}

/// A machine of a hostfile.
#[derive(Debug, PartialEq)]
pub struct PoolMachine {
    pub name: String,
    /// The names of its GPUs.
    pub slots: Vec<String>,
}

impl HostFlags {
    /// As the user typed them, without those given by variables.
    pub fn flags(&self) -> impl Iterator<Item = String> {
        let file = self.hostfile.as_ref().map(shown);
        [file, self.include.clone(), self.exclude.clone()]
            .into_iter()
            .flatten()
            .filter(|flag| flag.from.is_flag())
            .map(|flag| flag.spelling())
    }

    pub fn filtered(&self, pool: Vec<PoolMachine>) -> Result<Vec<PoolMachine>, Problems> {
        match (&self.include, &self.exclude) {
            (Some(include), Some(exclude)) => {
                Err(hosts_refused("`--include` cannot be used with `--exclude`")
                    .at(include)
                    .at(exclude)
                    .fix("drop one of them")
                    .into())
            }
            (Some(filter), None) => filtered(pool, filter, true),
            (None, Some(filter)) => filtered(pool, filter, false),
            (None, None) => Ok(pool),
        }
    }
}

pub fn shown(file: &Sourced<PathBuf>) -> Sourced<String> {
    file.says(file.value.display().to_string())
}

/// Keeps only what the filter names, or everything else. A machine without a list of GPUs means all of them.
pub fn filtered(
    mut pool: Vec<PoolMachine>,
    filter: &Sourced<String>,
    keep: bool,
) -> Result<Vec<PoolMachine>, Problems> {
    let mut named = BTreeSet::new();
    let mut problems = vec![];
    for item in filter.value.split('@') {
        let mut parts = item.splitn(2, ':').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let Some(machine) = pool.iter().find(|machine| machine.name == name) else {
            problems.push(no_such_machine(&pool, filter, name));
            continue;
        };
        let Some(slots) = parts.next() else {
            named.extend(machine.slots.iter().map(|slot| (name, slot.clone())));
            continue;
        };
        for slot in slots.split(',').map(|slot| slot.trim().to_string()) {
            if !machine.slots.contains(&slot) {
                let fix = match (numbers(&slot), &machine.slots[..]) {
                    (Some(numbers), _) if slot.parse::<u32>().is_err() => {
                        give_as(&filter.from, filter.value.replacen(&slot, &numbers, 1))
                    }
                    (_, []) => say("no GPU is visible"),
                    (_, slots) => say(format_args!("it has {}", slots.join(","))),
                };
                problems.push(
                    hosts_refused(format!("`{name}` has no GPU `{slot}`"))
                        .at(filter)
                        .fix(fix),
                );
            }
            named.insert((name, slot));
        }
    }
    check(problems)?;
    for PoolMachine { name, slots } in &mut pool {
        slots.retain(|slot| named.contains(&(name, slot.clone())) == keep);
    }
    pool.retain(|machine| !machine.slots.is_empty());
    if pool.is_empty() {
        return Err(hosts_refused("no GPU is left")
            .at(filter)
            .fix("keep at least one")
            .into());
    }
    Ok(pool)
}

fn no_such_machine(pool: &[PoolMachine], filter: &Sourced<String>, name: &str) -> Problem {
    let known: Vec<&str> = pool.iter().map(|machine| machine.name.as_str()).collect();
    let help = match (nearest(name, known.iter().copied()), &known[..]) {
        (Some(near), _) => meant(near),
        (None, [only]) if name.starts_with(|c: char| c.is_ascii_digit()) => {
            give_as(&filter.from, format!("{only}:{name}"))
        }
        _ => say(format!("one of {}", known.join(", "))),
    };
    hosts_refused(format!("there is no machine `{name}`"))
        .at(filter)
        .fix(help)
}

/// Machines or GPUs that cannot be chosen so.
pub fn hosts_refused(what: impl Into<String>) -> Problem {
    Rule::Hosts.error(what)
}

pub fn parse_hostfile(text: &str, file: &str) -> Result<Vec<PoolMachine>, Problems> {
    let mut pool: Vec<PoolMachine> = vec![];
    let mut known = BTreeSet::new();
    let mut problems = vec![];
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let problem = |what: String| hosts_refused(what).at(Place::line(file, (number, 1)));
        match parse_line(line) {
            None => {
                problems.push(
                    problem(format!("`{line}` is not of the form `host slots=N`")).fix(format!(
                        "{} slots=N, with a number above 0",
                        line.split([' ', ':', ',']).next().unwrap_or_default()
                    )),
                );
            }
            Some(machine) if !known.insert(machine.name.clone()) => {
                problems.push(
                    problem(format!("`{}` is in the hostfile twice", machine.name))
                        .fix("put all its slots on one line"),
                );
            }
            Some(machine) => pool.push(machine),
        }
    }
    if pool.is_empty() && problems.is_empty() {
        problems.push(
            hosts_refused("the hostfile names no machine")
                .at(file)
                .fix("node01 slots=8"),
        );
    }
    check(problems).map(|()| pool)
}

fn parse_line(line: &str) -> Option<PoolMachine> {
    let (name, rest) = line.split_once(char::is_whitespace)?;
    let slots = rest
        .trim_start()
        .strip_prefix("slots=")?
        .split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()?;
    // Of several machines on one line, DeepSpeed would take the first.
    (line.matches(" slots=").count() < 2 && (1..=1024).contains(&slots)).then(|| PoolMachine {
        name: name.to_string(),
        slots: numbers_below(slots),
    })
}

/// Ranks that cannot be started as they are asked for.
pub fn refused(what: impl Into<String>) -> Problem {
    Rule::Ranks.error(what)
}

pub fn check(problems: Problems) -> Result<(), Problems> {
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}
