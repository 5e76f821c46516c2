//! The GPUs of this machine that can be used, and how many processes to start for them.

use super::device_list::{DeviceFault, DeviceList};
use super::engine::Allocation;
use super::flags::Processes;
use super::hostfile::HostFlags;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::report::fix::{give, unset_variable};
use crate::report::{Place, Problem, Rule};

#[derive(Clone, Debug)]
pub(crate) struct Devices {
    /// As the variable names them, or their numbers.
    pub(crate) names: Option<Vec<String>>,
    from: Source,
    /// The variable that selects among them.
    pub(crate) variable: &'static str,
    /// The flag that selected these among more.
    pub(crate) chosen_by: Option<Source>,
    /// What is wrong with the variable's list.
    pub(crate) fault: Option<DeviceFault>,
}

impl Devices {
    /// From the variable that lists them, else from the driver's list in /proc.
    pub(super) fn detect(host: &Host) -> Self {
        let listed = vars::VISIBLE_DEVICES.iter().find_map(|name| Some((*name, host.var(name)?)));
        let mut fault = None;
        let (names, from, variable) = if let Some((name, list)) = listed {
            let list = DeviceList::read(name, list, host.nvidia_gpus);
            fault = list.fault;
            (Some(list.names), Source::Variable(name.to_string()), name)
        } else {
            let count = host.nvidia_gpus.filter(|count| *count > 0);
            let numbers = count.map(|count| (0..count).map(|number| number.to_string()).collect());
            (numbers, Source::Machine("/proc/driver/nvidia/gpus"), vars::CUDA_VISIBLE_DEVICES)
        };
        Devices { names, from, variable, chosen_by: None, fault }
    }

    /// Only those that `--include` or `--exclude` leave.
    pub(super) fn select(self, hosts: &HostFlags) -> Result<Self, Vec<Problem>> {
        let Some(names) = hosts.local_gpus(self.names.as_deref().unwrap_or_default())? else { return Ok(self) };
        let chosen_by = hosts.include.as_ref().or(hosts.exclude.as_ref()).map(|filter| filter.from.clone());
        Ok(Devices { names: Some(names), chosen_by, ..self })
    }

    /// How many a variable lists.
    pub(super) fn listed(&self) -> Option<Sourced<u32>> {
        let names = self.names.as_ref().filter(|_| matches!(self.from, Source::Variable(_)))?;
        Some(Sourced::new(u32::try_from(names.len()).ok()?, self.from.clone()))
    }

    /// Whether these devices were counted for a number of processes.
    pub(crate) fn counted(&self, nproc: &Sourced<u32>) -> bool {
        nproc.from == self.from
    }

    /// How many processes to start: as asked for, else one for each GPU that a variable lists, an engine counts or the
    /// driver shows.
    pub(super) fn process_count(
        &self,
        asked: Option<Sourced<Processes>>,
        allocation: Option<&Allocation>,
        host: &Host,
    ) -> Option<Sourced<u32>> {
        let asked = asked.unwrap_or(Sourced::new(Processes::Gpus, Source::Default));
        let counted = allocation.and_then(|allocation| allocation.gpus.clone());
        let counted = counted.filter(|_| asked.value == Processes::Gpus && self.listed().is_none());
        counted.or_else(|| self.resolve(asked, host))
    }

    /// Whether a number of processes is that of this machine's GPUs, and not stated for all nodes.
    pub(super) fn is_local_count(&self, nproc: &Sourced<u32>, allocation: &Allocation) -> bool {
        self.counted(nproc) || allocation.gpus.as_ref().is_some_and(|gpus| gpus.from == nproc.from)
    }

    pub(super) fn resolve(&self, processes: Sourced<Processes>, host: &Host) -> Option<Sourced<u32>> {
        match processes.value {
            Processes::Count(count) => Some(Sourced::new(count, processes.from)),
            Processes::Cpus => Some(Sourced::new(u32::try_from(host.cpus).ok()?, processes.from)),
            Processes::Gpus => {
                let count = self.names.as_ref().map(Vec::len).filter(|count| *count > 0)?;
                Some(Sourced::new(u32::try_from(count).ok()?, self.from.clone()))
            }
        }
    }

    /// Why there is no number of processes.
    pub(super) fn count_problem(&self) -> Problem {
        match (&self.from, &self.fault) {
            (Source::Variable(name), Some(fault)) => {
                Problem::error(Rule::Ranks, fault.what(0)).at(Place::bare_variable(name)).fix(fault.fixes(name))
            }
            (Source::Variable(name), None) => {
                Problem::error(Rule::Ranks, format!("`{name}` hides every GPU, so the number of ranks is unknown"))
                    .at(Place::bare_variable(name))
                    .fix(unset_variable(name).or(give("--nproc-per-node", 1).remark("for one process without a GPU")))
            }
            (from, _) => {
                let what = "the number of GPUs is unknown, and so is the number of ranks";
                let fixes = give("--nproc-per-node", "N")
                    .remark("the number of GPUs of the machine that trains")
                    .or(give("--nproc-per-node", 1).remark("without a GPU"));
                let place = format!("{from} lists none, CUDA_VISIBLE_DEVICES is not set");
                let problem = Problem::error(Rule::Ranks, what).at(place).fix(fixes);
                Problem { asks_for_gpu_count: true, ..problem }
            }
        }
    }
}
