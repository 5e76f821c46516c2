//! The GPUs of this machine that can be used, and how many processes to start for them. A list of them in a variable is
//! read as CUDA's driver and torch read it: seen on a driver of 2026 and in torch 2.15.

use super::allocation::refused;
use super::hostfile::HostFlags;
use super::tables::rank_variables::{NO_GPUS, VISIBLE_DEVICES};
use super::variables::Processes;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::report::fix::{Fix, give, run, unset_variable};
use crate::report::{Place, Problem};

#[derive(Clone, Debug, Default)]
pub(crate) struct Devices {
    /// As the variable names them, or their numbers.
    pub(crate) names: Option<Vec<String>>,
    from: Source,
    pub(crate) variable: &'static str,
    pub(crate) chosen_by: Option<Source>,
    pub(crate) fault: Option<DeviceFault>,
}

impl Devices {
    /// From the variable that lists them, else from the driver's list in /proc.
    pub(super) fn detect(host: &Host) -> Self {
        let mut lists = VISIBLE_DEVICES.into_iter();
        if let Some(variable) = lists.find(|name| host.var(name).is_some()) {
            let list = host.var(variable).unwrap_or_default();
            let list = DeviceList::read(variable, list, host.nvidia_gpus);
            return Devices {
                names: Some(list.names),
                from: Source::Variable(variable.to_string()),
                variable,
                chosen_by: None,
                fault: list.fault,
            };
        }
        let count = host.nvidia_gpus.filter(|count| *count > 0);
        Devices {
            names: count.map(|count| (0..count).map(|number| number.to_string()).collect()),
            from: Source::Machine("/proc/driver/nvidia/gpus"),
            variable: vars::CUDA_VISIBLE_DEVICES,
            chosen_by: None,
            fault: None,
        }
    }

    /// Keeps only those that `--include` or `--exclude` leave.
    pub(super) fn select(self, hosts: &HostFlags) -> Result<Self, Vec<Problem>> {
        let Some(names) = hosts.local_gpus(self.names.as_deref().unwrap_or_default())? else {
            return Ok(self);
        };
        let filter = hosts.include.as_ref().or(hosts.exclude.as_ref());
        Ok(Devices {
            names: Some(names),
            chosen_by: filter.map(|filter| filter.from.clone()),
            ..self
        })
    }

    fn seen(&self) -> Option<Sourced<u32>> {
        let count = u32::try_from(self.names.as_ref()?.len()).ok()?;
        Some(Sourced::new(count, self.from.clone()))
    }

    pub(super) fn listed(&self) -> Option<Sourced<u32>> {
        self.seen()
            .filter(|seen| matches!(seen.from, Source::Variable(_)))
    }

    /// True if this number of processes is the number of these devices.
    pub(crate) fn counted(&self, nproc: &Sourced<u32>) -> bool {
        nproc.from == self.from
    }

    /// As many processes as asked for, else one for each GPU that a variable lists, an engine counts or the driver shows.
    pub(super) fn processes(
        &self,
        asked: Option<Sourced<Processes>>,
        by_engine: Option<Sourced<u32>>,
        host: &Host,
    ) -> Option<Sourced<u32>> {
        let gpus = || self.listed().or(by_engine).or_else(|| self.seen());
        let count = match asked {
            Some(asked) => match asked.value {
                Processes::Count(count) => Sourced::new(count, asked.from),
                Processes::Cpus => Sourced::new(u32::try_from(host.cpus).ok()?, asked.from),
                Processes::Gpus => gpus()?,
            },
            None => gpus()?,
        };
        Some(count).filter(|count| count.value > 0)
    }

    pub(super) fn count_problem(&self) -> Problem {
        match (&self.from, &self.fault) {
            (Source::Variable(name), Some(fault)) => refused(fault.what(0))
                .at(Place::bare_variable(name))
                .fix(fault.fix(name)),
            (Source::Variable(name), None) => {
                let what = format!("`{name}` hides every GPU, so the number of ranks is unknown");
                let one = give("--nproc-per-node", 1).remark("for one process without a GPU");
                refused(what)
                    .at(Place::bare_variable(name))
                    .fix(unset_variable(name).or(one))
            }
            (from, _) => {
                let what = "the number of GPUs is unknown, and so is the number of ranks";
                let count = give("--nproc-per-node", "N")
                    .remark("the number of GPUs on the machine that will train");
                let fixes = count.or(give("--nproc-per-node", 1).remark("without a GPU"));
                let place = format!("{from} lists none, and CUDA_VISIBLE_DEVICES is not set");
                refused(what).at(place).fix(fixes)
            }
        }
    }
}

#[derive(Default)]
pub struct DeviceList {
    pub names: Vec<String>,
    pub fault: Option<DeviceFault>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceFault {
    /// A GPU is listed twice. The driver and torch then see none.
    Repeated(String),
    /// The list ends before a word that is not a device.
    NotADevice(String),
    /// The list ends before a number that the machine does not have.
    NotThere(String, usize),
    /// Only the number at the start counts: `0 1`.
    MoreThanANumber(String),
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
            let mut name = entry.to_string();
            if !by_id {
                let digits = entry.split(|c: char| !c.is_ascii_digit()).next();
                let digits = digits.unwrap_or_default();
                name = digits
                    .parse()
                    .map_or(String::new(), |number: u32| number.to_string());
                if digits.len() < entry.len() && !name.is_empty() {
                    let fault = DeviceFault::MoreThanANumber(entry.to_string());
                    devices.fault.get_or_insert(fault);
                }
            }
            if name.is_empty() || by_id && is_judged && !is_id(&name) {
                devices.fault = Some(DeviceFault::NotADevice(entry.to_string()));
                break;
            }
            if let (Some(count), Ok(number)) = (gpus, name.parse::<usize>())
                && number >= count
            {
                devices.fault = Some(DeviceFault::NotThere(name, count));
                break;
            }
            if is_judged && devices.names.contains(&name) {
                return DeviceList {
                    names: Vec::new(),
                    fault: Some(DeviceFault::Repeated(name)),
                };
            }
            devices.names.push(name);
        }
        devices
    }
}

impl DeviceFault {
    /// `seen`: how many GPUs are left.
    pub(crate) fn what(&self, seen: usize) -> String {
        let left = match seen {
            0 => "torch sees no GPU".to_string(),
            1 => "torch sees only the GPU before it".to_string(),
            _ => format!("torch sees only the {seen} GPUs before it"),
        };
        match self {
            DeviceFault::Repeated(name) => format!("`{name}` is in the list twice: {left}"),
            DeviceFault::NotADevice(name) => {
                format!("`{name}` is not a GPU, and the list ends there: {left}")
            }
            DeviceFault::NotThere(name, 1) => {
                format!("there is no GPU {name} (the machine has one, GPU 0): {left}")
            }
            DeviceFault::NotThere(name, count) => {
                format!(
                    "there is no GPU {name} (the machine has {count}, from 0 to {}): {left}",
                    count - 1
                )
            }
            DeviceFault::MoreThanANumber(name) => {
                format!("only the number at the start of `{name}` counts")
            }
        }
    }

    pub(crate) fn fix(&self, variable: &str) -> Fix {
        let export = |list: &str| run(format!("export {variable}={list}"));
        match self {
            DeviceFault::Repeated(_) => export("0,1").remark("each GPU once"),
            DeviceFault::NotThere(_, count) => {
                let all: Vec<String> = (0..(*count).min(8))
                    .map(|number| number.to_string())
                    .collect();
                export(&all.join(","))
            }
            _ => export("0,1")
                .remark("comma-separated numbers, or GPU-… as `nvidia-smi -L` prints them"),
        }
    }
}
