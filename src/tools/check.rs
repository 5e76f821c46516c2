//! `zlaunch check`: what the rules find is the data here.

use std::io::Write;
use std::path::Path;

use super::output::{err, out_bytes, styled};
use crate::base::json::Edit;
use crate::base::layout::wrapped;
use crate::exec;
use crate::host::{Host, terminal};
use crate::plan::{Plan, checked_files, refused_json};
use crate::report::secrets::Secrets;
use crate::report::{self, Place, Problem, Severity, reading};
use crate::request::{Format, Launch};

/// `zlaunch check`: what was found is the data here.
pub(crate) fn check_launch(launch: &Launch, host: &Host) -> Result<u8, Vec<Problem>> {
    let secrets = Secrets::of(host);
    if launch.output.dry_run == Some(Format::Json) {
        let (status, json) = in_json(launch, host, &secrets);
        return out_bytes(&json).map(|()| status);
    }
    let problems = Plan::new(launch, host).map_or_else(|problems| problems, |plan| plan.all_diagnostics());
    show_checked(problems, None, launch, &secrets)
}

/// The exit status and the plan, or what refuses it.
pub fn in_json(launch: &Launch, host: &Host, secrets: &Secrets) -> (u8, Vec<u8>) {
    match Plan::new(launch, host) {
        Ok(plan) => (verdict(&plan.all_diagnostics(), launch), plan.render(Format::Json, secrets)),
        Err(problems) => (verdict(&problems, launch), refused_json(&problems, secrets)),
    }
}

/// `zlaunch check FILE.json…`.
pub(crate) fn check_configs(launch: &Launch, host: &Host) -> Result<u8, Vec<Problem>> {
    let secrets = Secrets::of(host);
    let mut problems = checked_files::check_configs(launch, host);
    if launch.output.fix && fix(&problems, &secrets)? {
        problems = checked_files::check_configs(launch, host);
    }
    for problem in &mut problems {
        problem.is_about_file = true;
    }
    if launch.output.dry_run == Some(Format::Json) {
        return out_bytes(&secrets.printed(checked_files::json(&problems))).map(|()| verdict(&problems, launch));
    }
    show_checked(problems, Some(checked_files::NOT_JUDGED), launch, &secrets)
}

/// Makes the fixes that are safe, and says so. Returns whether there was one.
fn fix(problems: &[Problem], secrets: &Secrets) -> Result<bool, Problem> {
    let mut files: Vec<(&Path, String)> = Vec::new();
    for problem in problems {
        let (Some(Place::Line { file: path, .. }), Some(fix)) = (problem.places.first(), problem.fixes.safe()) else {
            continue;
        };
        let at = files.iter().position(|(known, _)| known == path);
        let text = at.map_or_else(|| reading::read_text(path), |at| Ok(files[at].1.clone()))?;
        let edits = fix.edits();
        if edits.is_empty() {
            continue;
        }
        let Some(new) = edits.iter().try_fold(text, |text, edit| edit.apply(&text)) else { continue };
        let said: Vec<String> = edits.iter().map(Edit::to_string).collect();
        err(&secrets.hide_in_text(&format!("fixed: {} ({})\n", said.join(", "), problem.places[0])));
        match at {
            Some(at) => files[at].1 = new,
            None => files.push((path, new)),
        }
    }
    files.iter().try_for_each(|(path, text)| exec::rewrite(path, text))?;
    Ok(!files.is_empty())
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
    let of = |severity| problems.iter().filter(move |problem| problem.severity == severity);
    let count = |severity| of(severity).map(|problem| 1 + problem.more).sum();
    let counted = report::counted(count(Severity::Error), count(Severity::Warning), count(Severity::Note));
    problems.retain(|problem| !launch.output.quiet || problem.severity == Severity::Error);
    out_bytes(&styled(|stream| {
        report::write(&problems, secrets, terminal::width(), stream);
        let width = terminal::width().unwrap_or(usize::MAX);
        not_judged
            .filter(|_| !launch.output.quiet)
            .map_or(Ok(()), |text| write!(stream, "{}", wrapped(text, 0, width)))?;
        writeln!(stream, "{counted}")
    }))?;
    Ok(status)
}

/// The exit status of `check`.
fn verdict(problems: &[Problem], launch: &Launch) -> u8 {
    let any = |severity| problems.iter().any(|problem| problem.severity == severity);
    u8::from(any(Severity::Error) || launch.strict && any(Severity::Warning))
}
