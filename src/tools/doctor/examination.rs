//! The facts that the report is made from.

use std::ffi::OsStr;

use crate::check::machine::Wants;
use crate::check::operators;
use crate::command::python::Python;
use crate::command::trainer;
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
    pub(super) topology: Option<Result<Topology, Vec<Problem>>>,
    pub(super) wants: Wants,
    /// The launch compiles an operator of DeepSpeed.
    pub(super) compiles: bool,
    /// Bytes that offloading needs in the memory of each machine.
    pub(super) offloaded: Option<u64>,
}

impl<'a> Examination<'a> {
    pub(super) fn new(launch: &'a Launch, host: &'a Host, machine: &'a Machine) -> Self {
        let (mut wants, mut offloaded, mut compiles) = (Wants::default(), None, false);
        let (plan, python) = if launch.command.is_empty() {
            let found = trainer::training_commands().find_map(|(console, _)| host.find_program(OsStr::new(console)));
            (None, found.and_then(|path| Python::of_script(&path, host)))
        } else {
            let (plan, job) = Plan::with_job(launch, host);
            if let Ok(Plan { config: Some(config), topology, .. }) = &plan {
                wants = Wants::of(&config.value);
                compiles = operators::compiles(&config.value, &job, host);
                offloaded = fit::host_memory(&job, topology, &config.value, launch, host);
            }
            (Some(plan), job.python)
        };
        let python = python.or_else(|| Python::on_path(host));
        let has_plan = matches!(plan, Some(Ok(_)));
        let topology = (!has_plan).then(|| Topology::decide(&launch.topology, &launch.hosts, true, host));
        Examination { launch, host, machine, plan, python, topology, wants, compiles, offloaded }
    }

    pub(super) fn ranks(&self) -> Option<&Topology> {
        match &self.plan {
            Some(Ok(plan)) => Some(&plan.topology),
            _ => self.topology.as_ref()?.as_ref().ok(),
        }
    }
}
