//! The GPUs of this machine, as far as they can be seen, and how many processes they make.

use super::engine::Seen;
use super::hostfile::HostFlags;
use super::read::Processes;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::host::Host;
use crate::report::{self, Problem};

/// GPUs that can be seen.
#[derive(Clone, Debug)]
pub(crate) struct Devices {
    /// By the names of the variable that lists them, or by number.
    pub(crate) names: Option<Vec<String>>,
    from: Source,
    /// The variable that selects among them.
    pub(crate) variable: &'static str,
    /// Who chose these among more.
    pub(crate) chosen_by: Option<Source>,
}

impl Devices {
    /// A variable that lists devices decides; else the driver's list in /proc.
    pub(super) fn seen(host: &Host) -> Self {
        let listed = vars::VISIBLE_DEVICES.iter().find_map(|name| Some((*name, host.var(name)?)));
        if let Some((name, list)) = listed {
            return Devices {
                names: Some(entries(list)),
                from: Source::Variable(name.to_string()),
                variable: name,
                chosen_by: None,
            };
        }
        let names = host.nvidia_gpus.filter(|count| *count > 0);
        let names = names.map(|count| (0..count).map(|number| number.to_string()).collect());
        Devices {
            names,
            from: Source::Machine("/proc/driver/nvidia/gpus"),
            variable: vars::CUDA_VISIBLE_DEVICES,
            chosen_by: None,
        }
    }

    /// Those that `--include` or `--exclude` leave.
    pub(super) fn chosen(self, hosts: &HostFlags) -> Result<Self, Vec<Problem>> {
        let Some(names) = hosts.local(self.names.as_deref().unwrap_or_default())? else { return Ok(self) };
        let by = hosts.include.as_ref().or(hosts.exclude.as_ref()).map(|filter| filter.from.clone());
        Ok(Devices { names: Some(names), chosen_by: by, ..self })
    }

    /// How many a variable lists.
    pub(super) fn visible(&self) -> Option<Sourced<u32>> {
        let names = self.names.as_ref().filter(|_| matches!(self.from, Source::Variable(_)))?;
        Some(Sourced::new(u32::try_from(names.len()).ok()?, self.from.clone()))
    }

    /// How many processes: as said, else one for each GPU that a variable lists, an engine counts or the driver shows.
    pub(super) fn count(
        &self,
        stated: Option<Sourced<Processes>>,
        seen: Option<&Seen>,
        host: &Host,
    ) -> Option<Sourced<u32>> {
        let asked = stated.as_ref().map_or(Processes::Gpus, |sourced| sourced.value);
        let engine = seen.and_then(|seen| seen.gpus.clone());
        match engine.filter(|_| asked == Processes::Gpus && self.visible().is_none()) {
            Some(gpus) => Some(gpus),
            None => self.resolve(stated.unwrap_or(Sourced::new(Processes::Gpus, Source::Default)), host),
        }
    }

    /// Whether a number of processes was counted on this machine, not said for all of them.
    pub(super) fn counted(&self, nproc: &Sourced<u32>, seen: &Seen) -> bool {
        nproc.from == self.from || seen.gpus.as_ref().is_some_and(|gpus| gpus.from == nproc.from)
    }

    pub(super) fn resolve(&self, sourced: Sourced<Processes>, host: &Host) -> Option<Sourced<u32>> {
        match sourced.value {
            Processes::Count(count) => Some(Sourced::new(count, sourced.from)),
            Processes::Cpus => Some(Sourced::new(u32::try_from(host.cpus).ok()?, sourced.from)),
            Processes::Gpus => {
                let count = self.names.as_ref().map(Vec::len).filter(|count| *count > 0)?;
                Some(Sourced::new(u32::try_from(count).ok()?, self.from.clone()))
            }
        }
    }

    pub(super) fn unknown(&self) -> Problem {
        match &self.from {
            Source::Variable(name) => report::every_gpu_is_hidden(name),
            from => report::unknown_gpu_count(&from.to_string()),
        }
    }
}

/// CUDA reads the list up to the first entry that names no device; names may be numbers, GPU-… or MIG-….
fn entries(list: &str) -> Vec<String> {
    let known = |entry: &&str| !entry.is_empty() && !entry.starts_with('-') && *entry != "NoDevFiles";
    list.split(',').map(str::trim).take_while(known).map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_counted_never_parsed() {
        for (list, count) in [
            ("0,1,2", 3),
            ("GPU-8c28b4fb,GPU-9d,MIG-1/2", 3),
            (" 3 , 1 ", 2),
            ("", 0),
            ("-1", 0),
            ("0,-1,1", 1),
            ("NoDevFiles", 0),
        ] {
            assert_eq!(entries(list).len(), count, "{list}");
        }
    }
}
