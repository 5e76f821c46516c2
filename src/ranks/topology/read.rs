//! Numbers and texts in variables.

use std::fmt::{self, Display};
use std::str::FromStr;

use crate::base::source::{Source, Sourced};
use crate::host::Host;
use crate::report::{self, Problem};

/// torchrun's words for a number of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Processes {
    Count(u32),
    Gpus,
    Cpus,
}

impl FromStr for Processes {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "auto" | "gpu" => Ok(Processes::Gpus),
            "cpu" => Ok(Processes::Cpus),
            _ => text.trim().parse().ok().filter(|count| *count > 0).map(Processes::Count).ok_or(()),
        }
    }
}

impl Display for Processes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Processes::Count(count) => write!(f, "{count}"),
            Processes::Gpus => f.write_str("gpu"),
            Processes::Cpus => f.write_str("cpu"),
        }
    }
}

pub(super) fn text(host: &Host, name: &str) -> Option<Sourced<String>> {
    host.filled(name).map(|value| Sourced::new(value.to_string(), Source::Variable(name.to_string())))
}

pub(super) fn number<T: FromStr + PartialOrd + Display>(
    host: &Host,
    name: &str,
    least: &T,
    problems: &mut Vec<Problem>,
) -> Option<Sourced<T>> {
    let sourced = text(host, name)?;
    match sourced.value.trim().parse::<T>() {
        Ok(value) if value >= *least => Some(Sourced::new(value, sourced.from)),
        _ => {
            let most = u64::MAX >> (64 - 8 * size_of::<T>());
            problems.push(report::variable_not_a_number(&sourced, &least.to_string(), most));
            None
        }
    }
}

pub(super) fn processes(host: &Host, name: &str, problems: &mut Vec<Problem>) -> Option<Sourced<Processes>> {
    let sourced = text(host, name)?;
    match sourced.value.parse() {
        Ok(processes) => Some(Sourced::new(processes, sourced.from)),
        Err(()) => {
            problems.push(report::variable_not_a_number(&sourced, "1", u32::MAX.into()));
            None
        }
    }
}
