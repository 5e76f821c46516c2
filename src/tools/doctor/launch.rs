//! The sections of the report about the Python environment and the launch.

use std::ffi::OsStr;
use std::path::PathBuf;

use super::examination::Examination;
use super::page::DoctorRow;
use crate::base::source::Sourced;
use crate::base::vars;
use crate::check::{machine, variables};
use crate::command::trainer;
use crate::plan::{Plan, PlannedConfig};
use crate::ranks::topology::{Role, Topology};
use crate::report::{self, Problem, RuleSubject};

pub(super) fn python(facts: &Examination) -> Vec<DoctorRow> {
    let Some(python) = &facts.python else {
        return vec![DoctorRow::fact("interpreter", None)];
    };
    let mut rows = vec![DoctorRow::fact("interpreter", Some(python.program.display().to_string()))];
    let mut packages = trainer::packages();
    packages.push("flash-attn");
    for name in packages {
        let missing = machine::missing_package(name, python);
        // Without a command it is not an error that DeepSpeed is missing.
        let missing = if facts.plan.is_none() { missing.map(Problem::into_warning) } else { missing };
        match (python.version_text(name), missing) {
            (_, Some(problem)) => rows.push(DoctorRow::checked(name, Some("not installed".to_string()), Some(problem))),
            (Some(version), None) => rows.push(DoctorRow::fact(name, Some(version))),
            (None, None) => {}
        }
    }
    rows.push(compilers(facts));
    rows
}

fn compilers(facts: &Examination) -> DoctorRow {
    let find = |word: &str| facts.host.find_program(OsStr::new(word));
    let compiler = facts.host.nonempty_var(vars::CXX).and_then(|words| words.split_whitespace().next());
    let compiler = find(compiler.unwrap_or("c++"));
    let (ninja, nvcc) = (find("ninja"), find("nvcc"));
    let problem = machine::no_compiler(compiler.is_some(), ninja.is_some(), facts.compiles);
    let path = |path: Option<PathBuf>| path.map_or("not found".to_string(), |path| path.display().to_string());
    let all = format!("c++ {}, ninja {}, nvcc {}", path(compiler), path(ninja), path(nvcc));
    DoctorRow::checked("compilers", Some(all), problem)
}

pub(super) fn launch(facts: &Examination) -> Vec<DoctorRow> {
    let ranks = facts.ranks();
    let engine = ranks.and_then(|ranks| ranks.engine);
    let mut rows = vec![DoctorRow::fact("scheduler", Some(engine.unwrap_or("none").to_string()))];
    rows.extend(ranks.map(|ranks| ranks_row(ranks, facts.plan.is_none())));
    if let (None, Some(Err(problems))) = (&facts.plan, &facts.topology) {
        let problems = problems.iter().map(|problem| problem.clone().into_warning());
        rows.extend(problems.map(|problem| DoctorRow::checked("ranks", None, Some(problem))));
    }
    if let Some(port) = ranks.and_then(|ranks| ranks.opens_port(true)) {
        rows.push(port_row(facts, port));
    }
    match &facts.plan {
        None => {}
        Some(Ok(plan)) => rows.extend(plan_rows(plan)),
        Some(Err(problems)) => {
            let row =
                |problem: &Problem| DoctorRow::checked("plan", Some("refused".to_string()), Some(problem.clone()));
            rows.extend(problems.iter().map(row));
        }
    }
    rows
}

fn plan_rows(plan: &Plan) -> Vec<DoctorRow> {
    let config = |it: &PlannedConfig| format!("{} ({})", it.template.name, it.template.origin);
    let config = plan.config.as_ref().map_or("none".to_string(), config);
    let mut rows = vec![
        DoctorRow::fact("trainer", Some(format!("{}: {}", plan.trainer.name, plan.trainer.runs))),
        DoctorRow::fact("config", Some(config)),
        DoctorRow::fact("launcher", Some(plan.launcher.to_string())),
    ];
    // Problems of the machine are in their own sections.
    let problems = plan.diagnostics.iter().chain(&plan.blocker);
    let problems = problems.filter(|problem| problem.rule.subject() != RuleSubject::Machine);
    let row = |problem: &Problem| DoctorRow::checked("plan", Some(problem.rule.to_string()), Some(problem.clone()));
    rows.extend(problems.map(row));
    rows
}

fn port_row(facts: &Examination, port: &Sourced<u16>) -> DoctorRow {
    let taken = facts.machine.listens(port.value);
    let text = format!("{}, {}", port.spelling(), if taken { "taken" } else { "free" });
    DoctorRow::checked("port", Some(text), taken.then(|| report::port_in_use(port)))
}

/// `alone`: without a command, so that no plan says what is odd about the ranks.
fn ranks_row(ranks: &Topology, alone: bool) -> DoctorRow {
    let text = match &ranks.role {
        Role::Rank { .. } => "already started: this is one of them".to_string(),
        Role::Task(task) => format!("rank {} of {}", task.rank.value, task.world_size.value),
        Role::Starter | Role::Shell { .. } => ranks.in_words(),
    };
    DoctorRow::checked("ranks", Some(text), variables::shared_gpus(ranks).filter(|_| alone))
}
