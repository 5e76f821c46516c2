//! The engines: schedulers, MPIs, operators of Kubernetes and clouds. Each tells a process its place by its own environment
//! variables; no server is asked. `tables/engines.rs` has a row for each.

pub mod hostlist;
pub mod job;
mod machines;
mod mpi;
mod shell;
pub(crate) mod slurm;

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::allocation::Answer;
use super::tables::engines::{ENGINES, Engine, Kind, Variable};
use crate::base::vars::{Does, Var, of_no_engine};
use crate::host::Host;

/// What every engine says whose variables are there.
pub(super) fn answers(host: &Host) -> impl Iterator<Item = (&'static Engine, Answer)> {
    let is_there = |prefix: &&str| host.vars_from(prefix).next().is_some();
    let present = ENGINES
        .iter()
        .filter(move |engine| engine.prefixes.iter().any(is_there));
    present.map(|engine| (engine, ask(engine, host)))
}

fn ask(engine: &Engine, host: &Host) -> Answer {
    match engine.kind {
        Kind::Machines | Kind::Pods { .. } => machines::detect(engine, host),
        Kind::Ranks | Kind::RanksBelow(..) | Kind::RanksWithoutPlace => mpi::detect(engine, host),
        Kind::Shell(_) => shell::detect(engine, host),
        Kind::Slurm => slurm::detect(engine, host),
        Kind::Lsf(_) => shell::detect_lsf(engine, host),
        Kind::GridEngine(_) => shell::detect_grid_engine(engine, host),
        Kind::Azure(_) => shell::detect_azure(engine, host),
        Kind::MpiJob(_) => machines::detect_mpi_job(engine, host),
        Kind::Determined => machines::detect_determined(engine, host),
        Kind::SageMaker => machines::detect_sagemaker(engine, host),
        Kind::Vertex => machines::detect_vertex(engine, host),
        Kind::ClearMl => machines::detect_clearml(engine, host),
    }
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
                does: Does::Reads,
                about: group.about,
            });
        }
    }
    all
}
