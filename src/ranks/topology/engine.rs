//! The engines: schedulers, MPIs, operators of Kubernetes and clouds. Each tells a process its place by its own environment
//! variables; no server is asked. `tables/engines.rs` has a row for each; here is what their code has in common.

use std::{borrow::Cow, collections::BTreeSet, path::Path};

use serde_json::Value;

use super::{
    Number, Stated, first_text, not_understood, parsed,
    tables::{
        engines::{ENGINES, Engine, Role, Variable},
        rank_variables::JOB_IDS,
    },
    text,
};
use crate::{
    base::{
        bytes::fnv1a,
        source::{Source, Sourced},
        vars::{self, Var, of_no_engine},
        yaml,
    },
    host::Host,
    report::{Problem, reading},
};

impl Engine {
    pub fn variables(&self) -> impl Iterator<Item = &'static Variable> + use<> {
        self.undocumented
            .iter()
            .chain(self.documented.iter().flat_map(|group| group.variables))
    }

    pub fn with_role(&self, role: Role) -> impl Iterator<Item = &'static Variable> + use<> {
        self.variables()
            .filter(move |variable| variable.role() == role)
    }

    /// The value of the first variable with this role that is set.
    pub fn told(&self, role: Role, host: &Host) -> Result<Stated<String>, Problem> {
        for variable in self.with_role(role) {
            let mut told = variable.text(host);
            if let Variable::Only(_, start, end) = variable {
                let mut set = host
                    .vars_from(start)
                    .filter(|(name, _)| name.ends_with(end))
                    .filter_map(|(name, _)| text(name, host));
                told = set.next();
                if set.next().is_some() {
                    return Err(not_understood(self.name, &variable.name()));
                }
            }
            if told.is_some() {
                return Ok(told);
            }
        }
        Ok(None)
    }

    /// The variables that show a job, as far as they are set.
    pub fn shown(&self, host: &Host) -> impl Iterator<Item = Sourced<String>> {
        self.variables()
            .filter(|variable| matches!(variable, Variable::Shows(..)))
            .filter_map(|variable| variable.text(host))
    }

    /// The number in the first variable with this role that is set. It must be `least` or more.
    pub fn number<T: Number>(
        &self,
        role: Role,
        least: T,
        host: &Host,
    ) -> Result<Stated<T>, Problem> {
        self.told(role, host)?
            .map(|text| parsed(&text, least))
            .transpose()
    }
}

impl Variable {
    pub fn role(&self) -> Role {
        let (Variable::Shows(role, ..)
        | Variable::Beside(role, ..)
        | Variable::Only(role, ..)
        | Variable::InFile(role, ..)) = self;
        *role
    }

    /// The name as the documents have it: with a `*` if several variables can be meant.
    pub fn name(&self) -> Cow<'static, str> {
        match self {
            Variable::Shows(_, name, _)
            | Variable::Beside(_, name, _)
            | Variable::InFile(_, name, _) => Cow::from(*name),
            Variable::Only(_, start, end) => format!("{start}*{end}").into(),
        }
    }

    pub fn text(&self, host: &Host) -> Stated<String> {
        let Variable::InFile(_, path, key) = self else {
            return text(&self.name(), host);
        };
        let file = reading::text_if_any(Path::new(path))?;
        let json: Value = serde_json::from_str(&file).ok()?;
        Some(Sourced::new(
            yaml::python_str(json.get(key)?),
            Source::Machine(path),
        ))
    }
}

/// The first host of the job, as the scheduler around an MPI lists them.
pub fn first_host(host: &Host) -> Stated<String> {
    let in_file = |name: &str, index: usize| {
        let file = text(name, host)?;
        Some(file.says(hosts_in_file(&file)?.into_iter().nth(index)?))
    };
    let files = ENGINES
        .iter()
        .flat_map(|engine| engine.with_role(Role::FirstFile));
    let azure = ["AZ_BATCHAI_MPI_MASTER_NODE", "AZ_BATCH_MASTER_NODE"];
    text(vars::SLURM_JOB_NODELIST, host)
        .and_then(|list| Some(list.says(expand_hosts(&list.value)?.swap_remove(0))))
        .or_else(|| files.into_iter().find_map(|file| in_file(&file.name(), 0)))
        .or_else(|| shell_of_grid_engine(host))
        // The first line of LSF's file is the machine that launches, which runs no rank.
        .or_else(|| in_file(vars::LSB_DJOB_RANKFILE, 1))
        .or_else(|| Some(first_text(&azure, host)?.map(|address| without_port(&address))))
}

/// The shell of a Grid Engine job runs on the first machine. Tasks on the others see its variables, but not the file that
/// PE_HOSTFILE names, which is on its disk. What `qrsh -inherit` starts has a HOSTNAME of its own.
fn shell_of_grid_engine(host: &Host) -> Stated<String> {
    text("PE_HOSTFILE", host)?;
    let is_task = host.nonempty_var("JOB_NAME") == Some("petask");
    text(if is_task { "SGE_O_HOST" } else { "HOSTNAME" }, host)
}

/// The most machines that the job can have. PBS lists a host once for each of its slots.
pub fn machine_count(host: &Host) -> Option<u32> {
    ["OMPI_MCA_orte_num_nodes", vars::SLURM_JOB_NUM_NODES]
        .iter()
        .find_map(|name| host.nonempty_var(name)?.parse().ok())
        .or_else(|| u32::try_from(hosts_in_file(&text(vars::PBS_NODEFILE, host)?)?.len()).ok())
}

/// All ranks of one start have it in common, and no others on the machine. A job may start several MPIs, so what they
/// themselves say comes first. Tasks of an array share the number of the job; others than Grid Engine may have a JOB_ID.
pub fn job_id(host: &Host) -> Stated<String> {
    JOB_IDS.iter().find_map(|(job, task)| {
        let job = text(job, host)?;
        match task {
            Some(task) => Some(job.says(format!("{job}.{}", host.nonempty_var(task)?))),
            None => Some(job),
        }
    })
}

/// A port that every machine of a job computes alike and two jobs rarely share. It lies below the range from which the
/// system takes ports for outgoing connections.
pub fn port_of_job(job: &Sourced<String>) -> Sourced<u16> {
    const FIRST: u16 = 20_000;
    const COUNT: u64 = 12_000;
    let number = fnv1a(job.value.as_bytes()) % COUNT;
    job.says(FIRST + u16::try_from(number).unwrap_or(0))
}

/// True if this machine is called so, with or without its domain.
pub fn is_this_host(name: &str, host: &Host) -> bool {
    host.hostname.is_empty() || label(name) == label(&host.hostname)
}

/// The name of a machine without its domain, in lower case.
pub fn label(name: &str) -> String {
    let (label, _) = name.split_once('.').unwrap_or((name, ""));
    label.to_lowercase()
}

pub fn hosts(list: &str) -> Vec<String> {
    list.split(|c: char| c.is_whitespace() || c == ',' || c == ';')
        .map(|word| without_port(word.trim_matches(['[', ']', '"', '\''])))
        .filter(|host| !host.is_empty())
        .collect()
}

pub fn distinct(names: impl IntoIterator<Item: Into<String>>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names
        .into_iter()
        .map(Into::into)
        .filter(|name: &String| seen.insert(name.clone()))
        .collect()
}

/// The different hosts in the file that a variable names, in its order.
pub fn hosts_in_file(file: &Sourced<String>) -> Option<Vec<String>> {
    let text = reading::text_if_any(Path::new(&file.value))?;
    let hosts = text
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    Some(distinct(hosts)).filter(|hosts| !hosts.is_empty())
}

/// `host` of `host:2222`. An IPv6 address has more colons.
pub fn without_port(address: &str) -> String {
    let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
    let is_port =
        !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) && !host.contains(':');
    if is_port { host } else { address }.trim().to_string()
}

/// Slurm refuses a range of more hosts, and no cluster has more.
const MOST: usize = 64 * 1024;

/// The hosts, the first one first. `None`: Slurm would refuse the list.
pub fn expand_hosts(list: &str) -> Option<Vec<String>> {
    // Commas inside brackets do not separate.
    let mut in_bracket = false;
    let items = list.split(|c: char| {
        in_bracket = c == '[' || in_bracket && c != ']';
        !in_bracket && (c == ',' || c.is_ascii_whitespace())
    });
    let mut hosts = vec![];
    for item in items.filter(|item| !item.is_empty()) {
        hosts.extend(expand_item(item)?);
    }
    (!hosts.is_empty()).then_some(hosts)
}

fn expand_item(item: &str) -> Option<Vec<String>> {
    let Some(first) = item.find('[') else {
        return Some(vec![item.to_string()]);
    };
    let close = first + item[first..].find(']')?;
    // As Slurm does: of several `[`, the last one before the `]` opens the bracket.
    let open = item[..close].rfind('[')?;
    let numbers = numbers(&item[open + 1..close])?;
    let endings = expand_item(&item[close + 1..])?;
    if numbers.len() * endings.len() > MOST {
        return None;
    }
    let text = &item[..open];
    Some(
        numbers
            .iter()
            .flat_map(|number| {
                endings
                    .iter()
                    .map(move |ending| format!("{text}{number}{ending}"))
            })
            .collect(),
    )
}

/// `08-12,7`: the numbers of a range are padded to the width of its lower bound.
fn numbers(ranges: &str) -> Option<Vec<String>> {
    let mut numbers = vec![];
    for range in ranges.split(',') {
        // `1-` is 1.
        let (low, high) = range.split_once('-').unwrap_or((range, ""));
        let width = low.len();
        let first: u64 = low.parse().ok()?;
        let last = if high.is_empty() { low } else { high };
        let last: u64 = last.parse().ok()?;
        if last.checked_sub(first)? >= MOST as u64 {
            return None;
        }
        numbers.extend((first..=last).map(|number| format!("{number:0width$}")));
    }
    Some(numbers)
}

/// Every variable that zlaunch reads or sets. One of several engines stands in the row of the first.
pub fn all_variables() -> Vec<Var> {
    let mut all = of_no_engine();
    let mut seen: BTreeSet<Cow<str>> = all.iter().flat_map(|var| var.names.clone()).collect();
    for group in ENGINES.iter().flat_map(|engine| engine.documented) {
        let mut names: Vec<Cow<str>> = group.variables.iter().map(Variable::name).collect();
        names.retain(|name| seen.insert(name.clone()));
        if !names.is_empty() {
            all.push(Var {
                names,
                does: vars::READS,
                about: group.about,
            });
        }
    }
    all
}
