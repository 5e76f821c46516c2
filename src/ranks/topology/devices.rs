//! The GPUs of this machine that can be used, and how many processes to start for them.

use super::device_list::{DeviceFault, DeviceList};
use super::hostfile::HostFlags;
use super::variables::Processes;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::report::fix::{give, unset_variable};
use crate::report::{Place, Problem, Rule};

/// Variables that select accelerators, in the order they are looked at.
const VISIBLE_DEVICES: [&str; 4] = [
    vars::CUDA_VISIBLE_DEVICES,
    vars::HIP_VISIBLE_DEVICES,
    vars::ROCR_VISIBLE_DEVICES,
    vars::ASCEND_RT_VISIBLE_DEVICES,
];

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
        if let Some((variable, list)) = VISIBLE_DEVICES
            .iter()
            .find_map(|name| Some((*name, host.var(name)?)))
        {
            let DeviceList { names, fault } = DeviceList::read(variable, list, host.nvidia_gpus);
            let from = Source::Variable(variable.to_string());
            return Devices {
                names: Some(names),
                from,
                variable,
                chosen_by: None,
                fault,
            };
        }
        let count = host.nvidia_gpus.filter(|count| *count > 0);
        let names = count.map(|count| (0..count).map(|number| number.to_string()).collect());
        let (from, variable) = (
            Source::Machine("/proc/driver/nvidia/gpus"),
            vars::CUDA_VISIBLE_DEVICES,
        );
        Devices {
            names,
            from,
            variable,
            chosen_by: None,
            fault: None,
        }
    }

    /// Only those that `--include` or `--exclude` leave.
    pub(super) fn select(self, hosts: &HostFlags) -> Result<Self, Vec<Problem>> {
        let Some(names) = hosts.local_gpus(self.names.as_deref().unwrap_or_default())? else {
            return Ok(self);
        };
        let chosen_by = hosts
            .include
            .as_ref()
            .or(hosts.exclude.as_ref())
            .map(|filter| filter.from.clone());
        Ok(Devices {
            names: Some(names),
            chosen_by,
            ..self
        })
    }

    fn seen(&self) -> Option<Sourced<u32>> {
        Some(Sourced::new(
            u32::try_from(self.names.as_ref()?.len()).ok()?,
            self.from.clone(),
        ))
    }

    pub(super) fn listed(&self) -> Option<Sourced<u32>> {
        if matches!(self.from, Source::Variable(_)) {
            self.seen()
        } else {
            None
        }
    }

    /// This number of processes is the number of these devices.
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
        let count = match asked {
            Some(Sourced {
                value: Processes::Count(count),
                from,
            }) => Sourced::new(count, from),
            Some(Sourced {
                value: Processes::Cpus,
                from,
            }) => Sourced::new(u32::try_from(host.cpus).ok()?, from),
            _ => self.listed().or(by_engine).or_else(|| self.seen())?,
        };
        Some(count).filter(|count| count.value > 0)
    }

    pub(super) fn count_problem(&self) -> Problem {
        match (&self.from, &self.fault) {
            (Source::Variable(name), Some(fault)) => Problem::error(Rule::Ranks, fault.what(0))
                .at(Place::bare_variable(name))
                .fix(fault.fix(name)),
            (Source::Variable(name), None) => {
                let what = format!("`{name}` hides every GPU, so the number of ranks is unknown");
                let one = give("--nproc-per-node", 1).remark("for one process without a GPU");
                Problem::error(Rule::Ranks, what)
                    .at(Place::bare_variable(name))
                    .fix(unset_variable(name).or(one))
            }
            (from, _) => {
                let what = "the number of GPUs is unknown, and so is the number of ranks";
                let count = give("--nproc-per-node", "N")
                    .remark("the number of GPUs on the machine that will train");
                let fixes = count.or(give("--nproc-per-node", 1).remark("without a GPU"));
                let place = format!("{from} lists none, and CUDA_VISIBLE_DEVICES is not set");
                Problem::error(Rule::Ranks, what).at(place).fix(fixes)
            }
        }
    }
}
