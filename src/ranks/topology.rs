//! The topology: the number of ranks and machines, the place where they meet, and the role of this process. `decision`
//! makes one. Here is what flags, variables and an engine may state, and the problems that several files report.

mod batch;
mod decision;
pub mod devices;
pub mod engine;
mod evidence;
mod machines;
pub mod slurm;
pub mod tables;

use std::{fmt::Display, net::IpAddr, str::FromStr};

use crate::{
    base::source::{Given, Source, Sourced, default},
    host::Host,
    report::prelude::*,
};

use devices::{Devices, check};
pub use devices::{HostFlags, PoolMachine, Stated};
pub use devices::{Processes, numbers_below, refused};
use tables::rank_variables::{MASTER_ADDR, MASTER_PORT, NNODES, NODE_RANK, NPROC_PER_NODE};
pub use tables::rank_variables::{PER_RANK, PET_ELSEWHERE};

#[derive(Debug, Default)]
pub struct Topology {
    /// `None`: the launcher in the user's command leaves it open.
    pub nnodes: Stated<u32>,
    pub node_rank: Sourced<u32>,
    /// `None`: left open, or of no interest to this command.
    pub nproc_per_node: Stated<u32>,
    pub master_addr: Stated<String>,
    pub master_port: Stated<u16>,
    /// `None`: not known, for instance because the machines differ.
    pub world_size: Stated<u64>,
    pub role: Role,
    pub engine: Option<&'static str>,
    /// Each piece of evidence about the machines in words, if there are several.
    pub evidence: Vec<String>,
    pub pool: Option<Vec<PoolMachine>>,
    pub devices: Devices,
    pub notes: Problems,
}

#[derive(Debug, Default)]
pub enum Role {
    #[default]
    Starter,
    /// It is a rank that a launcher started.
    Rank { first: bool },
    /// It is a rank that its engine started, and zlaunch sets the variables of a rank.
    Task(Task),
    /// It is the shell of a Slurm job with so many groups of machines. Nothing runs on the other machines yet.
    Shell { groups: u32 },
}

impl Topology {
    fn new(nnodes: Stated<u32>, nproc_per_node: Stated<u32>, devices: Devices) -> Self {
        let world_size = nnodes
            .as_ref()
            .zip(nproc_per_node.as_ref())
            .map(|(nnodes, nproc)| {
                let from = match nnodes.value {
                    1 => nproc.from.clone(),
                    _ => nnodes.from.and(&nproc.from),
                };
                Sourced::new(u64::from(nnodes.value) * u64::from(nproc.value), from)
            });
        Topology {
            nnodes,
            nproc_per_node,
            world_size,
            devices,
            ..Topology::default()
        }
    }

    /// One, if the launcher in the user's command leaves their number open.
    pub fn machines(&self) -> u32 {
        self.nnodes.value().unwrap_or(1)
    }

    pub fn has_several_nodes(&self) -> bool {
        self.machines() > 1
    }

    pub fn is_one_machine(&self) -> bool {
        self.nnodes.is_some() && self.machines() == 1
    }

    pub fn ranks_exist(&self) -> bool {
        matches!(self.role, Role::Rank { .. } | Role::Task(_))
    }

    /// This process is the first rank, or starts it. Only that one prints warnings.
    pub fn is_first(&self) -> bool {
        match &self.role {
            Role::Task(task) => task.rank.value == 0,
            Role::Rank { first } => *first,
            // Alone, every machine is the first, whatever number it has elsewhere.
            Role::Starter | Role::Shell { .. } => {
                self.node_rank.value == 0 || self.is_one_machine()
            }
        }
    }

    /// The address that the ranks need. On one machine they meet on localhost, unless a flag says otherwise.
    pub fn rendezvous_address(&self) -> Option<&Sourced<String>> {
        self.master_addr
            .as_ref()
            .filter(|address| !self.is_one_machine() || address.from.is_flag())
    }

    /// The port on which a rank of this machine will listen. `starts`: a launcher starts the ranks.
    pub fn opens_port(&self, starts: bool) -> Option<&Sourced<u16>> {
        let here = match &self.role {
            Role::Starter => starts && self.node_rank.value == 0,
            Role::Task(task) => task.rank.value == 0 && task.world_size.value > 1,
            Role::Rank { .. } | Role::Shell { .. } => false,
        };
        self.master_port.as_ref().filter(|_| here)
    }

    /// More ranks than any cluster has are a typing error, and some launchers would need a list of them.
    pub fn size_problem(&self) -> Option<Problem> {
        const MAX_RANKS: u64 = 1 << 20;
        let (nnodes, nproc) = self.nnodes.as_ref().zip(self.nproc_per_node.as_ref())?;
        self.world_size.value().filter(|ranks| *ranks > MAX_RANKS)?;
        let what =
            format!("{nnodes} machines with {nproc} ranks each is more than {MAX_RANKS} ranks");
        Some(refused(what).at(nnodes).at(nproc).fix("check both numbers"))
    }

    pub fn in_words(&self) -> String {
        let several = self.nnodes.as_ref().filter(|nnodes| nnodes.value > 1);
        match (several, &self.nproc_per_node) {
            (Some(machines), Some(nproc)) => format!(
                "{machines} × {nproc} on {machines} machines ({}, {})",
                machines.from, nproc.from
            ),
            (Some(machines), None) => format!("on {machines} machines ({})", machines.from),
            (None, Some(nproc)) => format!("{nproc} on this machine ({})", nproc.from),
            (None, None) => "as the command says".to_string(),
        }
    }
}

/// The flags of zlaunch, or of a launcher in the user's command. `None` is left open.
#[derive(Clone, Default)]
pub struct RankFlags {
    pub nnodes: Stated<u32>,
    pub node_rank: Stated<u32>,
    pub nproc_per_node: Stated<Processes>,
    pub master_addr: Stated<String>,
    pub master_port: Stated<u16>,
}

impl RankFlags {
    /// The flags, and what variables say of those that are left open.
    fn or_variables(&self, host: &Host) -> Result<Self, Problem> {
        fn or<T>(
            flag: Option<T>,
            variable: Result<Option<T>, Problem>,
        ) -> Result<Option<T>, Problem> {
            flag.map_or(variable, |flag| Ok(Some(flag)))
        }
        let flags = self.clone();
        Ok(RankFlags {
            nnodes: or(flags.nnodes, number_of_machines(&NNODES, host))?,
            node_rank: or(flags.node_rank, first_number(&NODE_RANK, 0, host))?,
            nproc_per_node: or(
                flags.nproc_per_node,
                first_text(&NPROC_PER_NODE, host)
                    .map(|text| match text.value.parse() {
                        Ok(processes) => Ok(text.says(processes)),
                        Err(()) => Err(not_a_number(&text, "1", u32::MAX.into())),
                    })
                    .transpose(),
            )?,
            master_addr: flags.master_addr.or_else(|| first_text(&MASTER_ADDR, host)),
            master_port: or(flags.master_port, first_number(&MASTER_PORT, 1, host))?,
        })
    }
}

impl RankFlags {
    /// As text, in the order of a launcher's `RankOptions`.
    pub fn texts(&self) -> [Stated<String>; 5] {
        [
            self.nproc_per_node.as_ref().map(Sourced::text),
            self.nnodes.as_ref().map(Sourced::text),
            self.node_rank.as_ref().map(Sourced::text),
            self.master_addr.clone(),
            self.master_port.as_ref().map(Sourced::text),
        ]
    }
}

/// The number of machines of so many ranks, if each has `local` of them.
fn machines_of(world: u32, local: u32) -> Option<u32> {
    world
        .checked_div(local)
        .filter(|machines| machines * local == world)
}

pub fn is_set(name: &str, host: &Host) -> bool {
    host.nonempty_var(name).is_some()
}

fn all_are_set(names: &[&str], host: &Host) -> bool {
    names.iter().all(|name| is_set(name, host))
}

fn any_is_set(names: &[&str], host: &Host) -> bool {
    names.iter().any(|name| is_set(name, host))
}

pub fn text(name: &str, host: &Host) -> Stated<String> {
    host.nonempty_var(name)
        .map(|value| Sourced::new(value.to_string(), Source::Variable(name.to_string())))
}

fn first_text(names: &[&str], host: &Host) -> Stated<String> {
    names.iter().find_map(|name| text(name, host))
}

pub trait Number: FromStr + PartialOrd + Display + Copy {}
impl<T: FromStr + PartialOrd + Display + Copy> Number for T {}

/// Reads a number, which must be `least` or more.
fn parsed<T: Number>(text: &Sourced<String>, least: T) -> Result<Sourced<T>, Problem> {
    match text.value.trim().parse() {
        Ok(value) if value >= least => Ok(text.says(value)),
        _ => Err(not_a_number(
            text,
            least,
            u64::MAX >> (64 - 8 * size_of::<T>()),
        )),
    }
}

fn first_number<T: Number>(names: &[&str], least: T, host: &Host) -> Result<Stated<T>, Problem> {
    first_text(names, host)
        .map(|text| parsed(&text, least))
        .transpose()
}

fn number<T: Number>(name: &str, least: T, host: &Host) -> Result<Stated<T>, Problem> {
    first_number(&[name], least, host)
}

/// A number of machines. torchrun also takes a range of them.
fn number_of_machines(names: &[&str], host: &Host) -> Result<Stated<u32>, Problem> {
    let Some(stated) = first_text(names, host) else {
        return Ok(None);
    };
    let text = stated.value.as_str();
    let (least, most) = text.split_once(':').unwrap_or((text, text));
    // torchrun can start more machines later; the config needs their number now.
    if least != most {
        let what =
            format!("`{stated}` machines are a range, and only torchrun itself starts such a job");
        return Err(refused(what).at(&stated).fix(
            run("zlaunch -- torchrun train.py")
                .remark("it reads PET_* itself")
                .or(alone()),
        ));
    }
    parsed(&stated.says(least.to_string()), 1).map(Some)
}

/// `None`: the engine's variables say nothing of a larger job. It is a problem if they say it only in part.
type Answer = Result<Option<Allocation>, Problem>;

/// What an engine says about this process.
#[derive(Default)]
pub struct Allocation {
    engine: &'static str,
    placement: Placement,
    nnodes: Sourced<u32>,
    /// `None`: this is the shell of the job, which is none of its tasks.
    node_rank: Stated<u32>,
    /// Refused unless the user says which machine this is: nothing would run on the others.
    alone: Option<Problem>,
    /// GPUs on this machine, if the engine counts them.
    gpus: Stated<u32>,
    master_addr: Stated<String>,
    master_port: Stated<u16>,
    /// The other machines may have another number of GPUs.
    peers_differ: bool,
    /// `master_addr` does not lead to rank 0.
    address_problem: Option<Problem>,
    /// RANK and WORLD_SIZE were set by this engine, and count machines or tasks.
    sets_rank_variables: bool,
}

#[derive(Default)]
enum Placement {
    /// One task on each machine: a launcher starts the ranks there.
    #[default]
    Machine,
    Rank(Task),
    /// The shell of a Slurm job with so many groups of machines, before anything runs on the other machines. `outside`: it is
    /// on none of the job's machines.
    SlurmShell {
        groups: u32,
        outside: bool,
    },
}

#[derive(Clone, Debug)]
pub struct Task {
    pub rank: Sourced<u32>,
    pub local_rank: Sourced<u32>,
    pub world_size: Sourced<u32>,
    pub local_world_size: Sourced<u32>,
}

impl Allocation {
    /// The operators of Kubernetes reserve this port, unless they name another.
    fn task_per_machine(
        nnodes: Sourced<u32>,
        node_rank: Stated<u32>,
        master_addr: Stated<String>,
    ) -> Self {
        Allocation {
            nnodes,
            node_rank,
            master_addr,
            master_port: Some(default(23456)),
            ..Allocation::default()
        }
    }
}

fn give_place() -> Fixes {
    place_flags("N", "I", "HOST").or(alone())
}

fn place_flags(nnodes: &str, node_rank: impl Display, first: &str) -> Fix {
    give("--nnodes", nnodes)
        .and(give("--node-rank", node_rank))
        .and(give("--master-addr", first))
        .and(give("--master-port", 29500))
}

pub fn alone() -> Fix {
    give("--nnodes", 1).remark("for this machine alone")
}

/// The variables that `engine` set say that the job is larger than this process, but nothing says `missing`.
fn place_unknown<P: Into<Place>>(
    engine: &str,
    set: impl IntoIterator<Item = P>,
    missing: &str,
) -> Problem {
    let what =
        format!("this seems to be part of a larger job of {engine}, but nothing says {missing}");
    set.into_iter()
        .fold(refused(what), Problem::at)
        .fix(give_place())
}

/// Refuses two numbers of machines that an engine gives in two variables.
fn same_count(engine: &str, count: &Sourced<u32>, listed: &Sourced<u32>) -> Result<(), Problem> {
    if count.value == listed.value {
        return Ok(());
    }
    let what =
        format!("the variables of {engine} give two numbers of machines: {count} and {listed}");
    let listed = listed.from.with(format_args!("{listed} machines"));
    Err(refused(what).at(count).at(listed).fix(give_place()))
}

fn not_understood(engine: &str, variable: &str) -> Problem {
    place_unknown(
        engine,
        [Place::variable(variable, "")],
        "which of its machines this is",
    )
}

/// `kind`: `rank` or `machine`.
pub fn too_large<T: Display>(kind: &str, number: &Sourced<T>, count: &Sourced<T>) -> Problem {
    let below = format!("{} below {count}", number.from);
    refused(format!(
        "{kind} {number} of {count} does not exist: counting starts at 0"
    ))
    .at(number)
    .at(count)
    .fix(below)
}

/// `asked` would start ranks beside those that exist.
pub fn tasks_are_ranks(local: &Sourced<u32>, asked: impl Into<Place>) -> Problem {
    let fixes = run("srun --ntasks-per-node=1")
        .remark("one task on each machine")
        .or("leave the number to the tasks");
    refused(format!(
        "{local} tasks run on this machine, each of them a rank already"
    ))
    .at(local)
    .at(asked)
    .fix(fixes)
}

fn meets_on_loopback(address: &Sourced<String>, nnodes: &Sourced<u32>) -> Problem {
    Rule::Loopback
        .error(format!("no other machine reaches {address}"))
        .at(address)
        .at(nnodes)
        .fix(
            give("--master-addr", "HOST")
                .remark("the name or address of machine 0")
                .or("unset it under Slurm"),
        )
}

/// Refuses an address with a port or a protocol. `options`: those of the owner for the address and for the port.
pub fn not_an_address(
    address: &Sourced<String>,
    owner: Owner,
    options: [&str; 2],
) -> Option<Problem> {
    if !address.value.contains('/') && address.value.matches(':').count() != 1 {
        return None;
    }
    let host = address.value.trim_end_matches('/');
    let (_, host) = host.rsplit_once('/').unwrap_or(("", host));
    let (host, port) = host.split_once(':').unwrap_or((host, "29500"));
    let [for_address, for_port] = options.map(|option| format!("--{option}"));
    Some(
        refused(format!("`{address}` is not a machine's name or address"))
            .at(address)
            .fix(give(for_address, host).and(give(for_port, port)).of(owner)),
    )
}

/// The reason that several machines cannot meet there.
fn rendezvous_problem(
    address: Option<&Sourced<String>>,
    has_port: bool,
    nnodes: &Sourced<u32>,
) -> Option<Problem> {
    let options = ["master-addr", "master-port"];
    if let Some(problem) = address.and_then(|it| not_an_address(it, Owner::Zlaunch, options)) {
        return Some(problem);
    }
    match address {
        Some(address) if has_port => {
            is_loopback(&address.value).then(|| meets_on_loopback(address, nnodes))
        }
        _ => {
            let what = format!("{nnodes} machines need the address and port of the first");
            let mut fix = give("--master-port", 29500);
            if address.is_none() {
                fix = give("--master-addr", "HOST").and(fix);
            }
            Some(
                refused(what)
                    .at(nnodes)
                    .fix(fix.remark("the same on every machine")),
            )
        }
    }
}

fn not_a_number(text: &Sourced<String>, least: impl Display, most: u64) -> Problem {
    let what = format!("`{text}` is not a whole number from {least} to {most}");
    refused(what)
        .at(text)
        .fix(format!("set {} to a number", text.from))
}

pub fn is_loopback(address: &str) -> bool {
    address.eq_ignore_ascii_case("localhost")
        || address.to_ascii_lowercase().starts_with("localhost.")
        || address
            .trim_matches(['[', ']'])
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// The address where the ranks are to meet, unless it is a loopback address. It is that of another machine, or of this one
/// as others know it.
fn foreign_address(host: &Host) -> Stated<String> {
    first_text(&MASTER_ADDR, host).filter(|address| !is_loopback(&address.value))
}
