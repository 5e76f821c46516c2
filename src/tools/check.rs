//! `zlaunch check`: what the rules find is the data here.

use std::io::Write;

use super::output::{out, out_bytes, styled};
use crate::base::layout::wrapped;
use crate::host::{Host, terminal};
use crate::plan::{Plan, configs, refused_json};
use crate::report::secrets::Secrets;
use crate::report::{self, Problem, Severity};
use crate::request::{Format, Launch};

/// `zlaunch check`: what was found is the data here.
pub(crate) fn check_launch(launch: &Launch, host: &Host) -> Result<u8, Vec<Problem>> {
    let secrets = Secrets::of(host);
    let plan = Plan::new(launch, host);
    let problems = match &plan {
        Ok(plan) => plan.all_diagnostics(),
        Err(problems) => problems.clone(),
    };
    if launch.output.dry_run == Some(Format::Json) {
        match &plan {
            Ok(plan) => out_bytes(&plan.render(Format::Json, &secrets))?,
            Err(problems) => out(&format!("{:#}\n", secrets.hide(refused_json(problems))))?,
        }
        return Ok(verdict(&problems, launch));
    }
    show_checked(problems, None, launch, &secrets)
}

/// `zlaunch check FILE.json…`.
pub(crate) fn check_configs(launch: &Launch, host: &Host) -> Result<u8, Vec<Problem>> {
    let secrets = Secrets::of(host);
    let problems = configs::check_configs(launch, host);
    if launch.output.dry_run == Some(Format::Json) {
        out(&format!("{:#}\n", secrets.hide(configs::json(&problems))))?;
        return Ok(verdict(&problems, launch));
    }
    show_checked(problems, Some(configs::NOT_JUDGED), launch, &secrets)
}

/// Prints what was found, what was not judged, and the counts.
fn show_checked(
    mut problems: Vec<Problem>,
    not_judged: Option<&str>,
    launch: &Launch,
    secrets: &Secrets,
) -> Result<u8, Vec<Problem>> {
    let status = verdict(&problems, launch);
    problems.sort_by_key(|problem| problem.severity);
    let count = |severity| problems.iter().filter(|problem| problem.severity == severity).count();
    let counted = report::counted(count(Severity::Error), count(Severity::Warning), count(Severity::Note));
    problems.retain(|problem| !launch.output.quiet || problem.severity == Severity::Error);
    out_bytes(&styled(|stream| {
        report::write(&problems, secrets, terminal::width(), stream);
        let width = terminal::width().unwrap_or(usize::MAX);
        not_judged.filter(|_| !launch.output.quiet).map_or(Ok(()), |it| write!(stream, "{}", wrapped(it, 0, width)))?;
        writeln!(stream, "{counted}")
    }))?;
    Ok(status)
}

/// The exit status of `check`.
fn verdict(problems: &[Problem], launch: &Launch) -> u8 {
    let any = |severity| problems.iter().any(|problem| problem.severity == severity);
    u8::from(any(Severity::Error) || launch.strict && any(Severity::Warning))
}
