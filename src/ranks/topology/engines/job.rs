//! The rows of the engines and the variables of a job, as the code of the engines reads them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use super::hostlist;
use crate::base::bytes::fnv1a;
use crate::base::source::Sourced;
use crate::base::vars;
use crate::host::Host;
use crate::ranks::topology::allocation::not_understood;
use crate::ranks::topology::tables::engines::{ENGINES, Engine, Kind, Role, Variable};
use crate::ranks::topology::variables::{Number, first_text, parsed, text};
use crate::report::{Problem, reading};

impl Engine {
    pub fn variables(&self) -> impl Iterator<Item = &'static Variable> + use<> {
        let documented = self.documented.iter().flat_map(|group| group.variables);
        self.undocumented.iter().chain(documented)
    }

    pub fn with_role(&self, role: Role) -> impl Iterator<Item = &'static Variable> + use<> {
        self.variables()
            .filter(move |variable| variable.role() == role)
    }

    /// The line that starts zlaunch on each machine, if this engine runs the shell of a job.
    pub fn line(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Shell(line)
            | Kind::Lsf(line)
            | Kind::GridEngine(line)
            | Kind::Azure(line)
            | Kind::MpiJob(line) => Some(line),
            _ => None,
        }
    }

    /// The value of the first variable with this role that is set.
    pub(super) fn told(&self, role: Role, host: &Host) -> Result<Option<Sourced<String>>, Problem> {
        for variable in self.with_role(role) {
            let told = match variable {
                Variable::Only(_, start, end) => {
                    let names = host.vars_from(start).map(|(name, _)| name);
                    let mut set = names
                        .filter(|name| name.ends_with(end))
                        .filter_map(|name| text(name, host));
                    let only = set.next();
                    if set.next().is_some() {
                        return Err(not_understood(self.name, &variable.name()));
                    }
                    only
                }
                Variable::Shows(..) | Variable::Beside(..) => variable.text(host),
            };
            if told.is_some() {
                return Ok(told);
            }
        }
        Ok(None)
    }

    /// The number in the first variable with this role that is set. It must be `least` or more.
    pub(crate) fn number<T: Number>(
        &self,
        role: Role,
        least: T,
        host: &Host,
    ) -> Result<Option<Sourced<T>>, Problem> {
        let told = self.told(role, host)?;
        told.map(|text| parsed(text, least)).transpose()
    }
}

impl Variable {
    pub fn role(&self) -> Role {
        let (Variable::Shows(role, ..) | Variable::Beside(role, ..) | Variable::Only(role, ..)) =
            self;
        *role
    }

    /// The name as the documents have it: with a `*` if several variables can be meant.
    pub fn name(&self) -> Cow<'static, str> {
        match self {
            Variable::Shows(_, name, _) | Variable::Beside(_, name, _) => Cow::from(*name),
            Variable::Only(_, start, end) => format!("{start}*{end}").into(),
        }
    }

    pub(super) fn text(&self, host: &Host) -> Option<Sourced<String>> {
        text(&self.name(), host)
    }

    pub fn shows_a_job(&self) -> bool {
        matches!(self, Variable::Shows(..))
    }
}

/// The first host of the job, as the scheduler around an MPI lists them.
pub(super) fn first_host(host: &Host) -> Option<Sourced<String>> {
    let in_file = |name: &str, index: usize| {
        let file = text(name, host)?;
        Some(Sourced::new(
            hosts_in_file(&file)?.into_iter().nth(index)?,
            file.from,
        ))
    };
    let files = ENGINES
        .iter()
        .flat_map(|engine| engine.with_role(Role::FirstFile));
    let azure = ["AZ_BATCHAI_MPI_MASTER_NODE", "AZ_BATCH_MASTER_NODE"];
    text(vars::SLURM_JOB_NODELIST, host)
        .and_then(|list| {
            let first = hostlist::expand(&list.value)?.swap_remove(0);
            Some(Sourced::new(first, list.from))
        })
        .or_else(|| files.into_iter().find_map(|file| in_file(&file.name(), 0)))
        .or_else(|| shell_of_grid_engine(host))
        // The first line of LSF's file is the machine that launches, which runs no rank.
        .or_else(|| in_file(vars::LSB_DJOB_RANKFILE, 1))
        .or_else(|| Some(first_text(&azure, host)?.map(|address| without_port(&address))))
}

/// The shell of a Grid Engine job runs on the first machine. Tasks on the others see its variables, but not the file that
/// PE_HOSTFILE names, which is on its disk. What `qrsh -inherit` starts has a HOSTNAME of its own.
fn shell_of_grid_engine(host: &Host) -> Option<Sourced<String>> {
    text("PE_HOSTFILE", host)?;
    text(
        if host.nonempty_var("JOB_NAME") == Some("petask") {
            "SGE_O_HOST"
        } else {
            "HOSTNAME"
        },
        host,
    )
}

/// The most machines that the job can have. PBS lists a host once for each of its slots.
pub(super) fn machine_count(host: &Host) -> Option<u32> {
    let counts = ["OMPI_MCA_orte_num_nodes", vars::SLURM_JOB_NUM_NODES];
    let counted = counts
        .iter()
        .find_map(|name| host.nonempty_var(name)?.parse().ok());
    counted.or_else(|| u32::try_from(hosts_in_file(&text(vars::PBS_NODEFILE, host)?)?.len()).ok())
}

/// All ranks of one start have it in common, and no others on the machine. A job may start several MPIs, so what they
/// themselves say comes first. Tasks of an array share the number of the job; others than Grid Engine may have a JOB_ID.
pub(super) fn job_id(host: &Host) -> Option<Sourced<String>> {
    let task_of_array = |job: &str, task: &str| {
        let task = host.nonempty_var(task)?;
        Some(text(job, host)?.map(|job| format!("{job}.{task}")))
    };
    first_text(
        &[vars::PMIX_NAMESPACE, vars::SLURM_JOB_ID, vars::PBS_JOBID],
        host,
    )
    .or_else(|| task_of_array(vars::LSB_JOBID, "LSB_JOBINDEX"))
    .or_else(|| task_of_array("JOB_ID", "SGE_TASK_ID"))
    .or_else(|| text(vars::LSB_JOBID, host))
}

/// A port that every machine of a job computes alike and two jobs rarely share. It lies below the range from which the
/// system takes ports for outgoing connections. Ids that differ in one number, as those of jobs and processes that start
/// together do, never have the same one.
pub fn port_of_job(job: &Sourced<String>) -> Sourced<u16> {
    const FIRST: u16 = 20_000;
    // Primes: whatever a number is multiplied with, neighbours stay apart.
    const COUNT: u64 = 12_007;
    const FACTOR: u64 = 1_009;
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let parts = job
        .value
        .as_bytes()
        .chunk_by(|one, two| is_digit(one) == is_digit(two));
    let number = parts.fold(0, |sum, part| {
        let digits = str::from_utf8(part)
            .ok()
            .and_then(|text| text.parse::<u64>().ok());
        (sum * FACTOR + digits.unwrap_or_else(|| fnv1a(part)) % COUNT) % COUNT
    });
    Sourced::new(FIRST + u16::try_from(number).unwrap_or(0), job.from.clone())
}

/// True if this machine is called so, with or without its domain.
pub(super) fn is_this_host(name: &str, host: &Host) -> bool {
    let short = |name: &str| {
        name.split('.')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase()
    };
    host.hostname.is_empty() || short(name) == short(&host.hostname)
}

pub(super) fn hosts(list: &str) -> Vec<String> {
    let words = list
        .split(|c: char| c.is_whitespace() || c == ',' || c == ';')
        .filter(|word| !word.is_empty());
    words.map(without_port).collect()
}

pub(super) fn distinct(names: impl IntoIterator<Item: Into<String>>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names
        .into_iter()
        .map(Into::into)
        .filter(|name: &String| seen.insert(name.clone()))
        .collect()
}

/// The different hosts in the file that a variable names, in its order.
pub(super) fn hosts_in_file(file: &Sourced<String>) -> Option<Vec<String>> {
    let text = reading::text_if_any(Path::new(&file.value))?;
    let hosts = distinct(
        text.lines()
            .filter_map(|line| line.split_whitespace().next()),
    );
    (!hosts.is_empty()).then_some(hosts)
}

/// `host` of `host:2222`. An IPv6 address has more colons.
pub(super) fn without_port(address: &str) -> String {
    let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
    let is_port =
        !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) && !host.contains(':');
    if is_port { host } else { address }.trim().to_string()
}
