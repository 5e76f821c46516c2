//! The facts that the report is made from.

use std::ffi::OsStr;

use crate::check::machine::Wants;
use crate::command::python::Python;
use crate::fit;
use crate::host::Host;
use crate::host::machine::Machine;
use crate::plan::Plan;
use crate::ranks::topology::Topology;
use crate::report::Problem;
use crate::request::Launch;

pub(super) struct Examination<'a> {
    pub(super) launch: &'a Launch,
    pub(super) host: &'a Host,
    pub(super) machine: &'a Machine,
    /// The plan for the command, if there is a command.
    pub(super) plan: Option<Result<Plan, Vec<Problem>>>,
    pub(super) python: Option<Python>,
    /// The ranks, if there is no plan that has them.
    topology: Option<Topology>,
    /// Why the ranks are not known.
    pub(super) unclear_ranks: Vec<Problem>,
    pub(super) wants: Wants,
    /// Bytes that offloading needs in the memory of each machine.
    pub(super) offloaded: Option<u64>,
}

impl<'a> Examination<'a> {
    pub(super) fn new(launch: &'a Launch, host: &'a Host, machine: &'a Machine) -> Self {
        let empty = Examination {
            launch,
            host,
            machine,
            plan: None,
            python: None,
            topology: None,
            unclear_ranks: Vec::new(),
            wants: Wants::default(),
            offloaded: None,
        };
        if launch.command.is_empty() { empty.without_command() } else { empty.of_command() }
    }

    fn decide_ranks(&self) -> Result<Topology, Vec<Problem>> {
        Topology::decide(&self.launch.topology, &self.launch.hosts, true, self.host)
    }

    fn without_command(mut self) -> Self {
        let swift = self.host.find_program(OsStr::new("swift")).and_then(|path| Python::of_script(&path, self.host));
        self.python = swift.or_else(|| Python::on_path(self.host));
        match self.decide_ranks() {
            Ok(topology) => self.topology = Some(topology),
            Err(problems) => self.unclear_ranks = problems.into_iter().map(Problem::into_warning).collect(),
        }
        self
    }

    fn of_command(mut self) -> Self {
        let (plan, job) = Plan::with_job(self.launch, self.host);
        if let Ok(Plan { config: Some(config), topology, .. }) = &plan {
            self.wants = Wants::of(&config.value);
            self.offloaded = fit::host_memory(&job, topology, &config.value, self.launch, self.host);
        }
        self.python = job.python.or_else(|| Python::on_path(self.host));
        if plan.is_err() {
            self.topology = self.decide_ranks().ok();
        }
        self.plan = Some(plan);
        self
    }

    pub(super) fn ranks(&self) -> Option<&Topology> {
        let plan = self.plan.as_ref().and_then(|plan| plan.as_ref().ok());
        plan.map(|plan| &plan.topology).or(self.topology.as_ref())
    }
}
