//! A launch: what was found and decided is said, then it is carried out.

use super::output::{err, out_bytes, show_plan};
use crate::cli::launch::{self, LaunchArgs};
use crate::cli::{Reader, Refused, Requested, Tool};
use crate::exec;
use crate::host::{Host, terminal};
use crate::plan::Plan;
use crate::ranks::launcher::Launcher;
use crate::report::secrets::Secrets;
use crate::report::{self, Problem, Rule, Severity};
use crate::request::{Format, Launch, Output};

impl Tool for LaunchArgs {
    fn read(self, mut reader: Reader) -> Requested {
        let launch = launch::read(self, &mut reader);
        reader.problems.extend(launch::without_command(&launch));
        launch::finish(launch, reader, |launch, host| run(&launch, host))
    }
}

fn run(launch: &Launch, host: &Host) -> Result<u8, Vec<Problem>> {
    let secrets = Secrets::of(host);
    let plan = Plan::new(launch, host)?;
    let Output { dry_run, quiet, verbose, .. } = launch.output;
    if dry_run.is_none() && matches!(plan.launcher, Launcher::Prefix(_)) {
        // zlaunch reports everything again behind the prefix.
        return carry_out(&plan, None);
    }
    if !quiet && (plan.topology.is_first() || verbose) {
        report::report(&plan.diagnostics, &secrets);
    }
    let chosen = plan.config.as_ref().and_then(|config| config.chosen.as_ref());
    if let Some(chosen) = chosen.filter(|_| !quiet && plan.topology.is_first()) {
        err(&secrets.hide_in_text(&format!("{chosen}\n")));
    }
    if let Some(format) = dry_run {
        // A plan can be read on another machine than the one it is for.
        let blocker = plan.blocker.clone().filter(|_| !quiet).map(Problem::into_warning);
        report::report(blocker.as_slice(), &secrets);
        let rendered = plan.render(format, &secrets);
        let is_text = format == Format::Text;
        return if is_text { show_plan(&String::from_utf8_lossy(&rendered)) } else { out_bytes(&rendered) };
    }
    if verbose && !quiet {
        err(&plan.text(&secrets, terminal::width_of_stderr()));
    }
    let says = !quiet && !verbose;
    carry_out(&plan, plan.headline().filter(|_| says).map(|line| secrets.hide_in_text(&line)))
}

/// Prepares the launch, says in one line what it is, and becomes it.
fn carry_out(plan: &Plan, headline: Option<String>) -> Result<u8, Vec<Problem>> {
    exec::prepare(plan)?;
    if let Some(line) = headline {
        err(&format!("zlaunch: {line}\n"));
    }
    Ok(exec::start(plan)?)
}

/// What can be wrong about a command and its config however zlaunch's own options are meant.
const OF_THE_COMMAND: &[Rule] = &[
    Rule::Template,
    Rule::Json,
    Rule::NotFound,
    Rule::ScriptMissing,
    Rule::ModuleMissing,
    Rule::PathMissing,
    Rule::RunFile,
    Rule::Argument,
];

/// The problems of the words, and those of the command behind them: all are told at once.
pub fn all_problems(refused: Refused, host: &Host) -> Vec<Problem> {
    let Refused { mut problems, meant } = refused;
    let Some(mut launch) = meant.filter(|launch| !launch.command.is_empty()) else { return problems };
    // A template may be in the folder that is not there.
    let says_more = |problem: &Problem| !problems.iter().any(|known| known.rule == problem.rule);
    let is_of_command = |problem: &Problem| OF_THE_COMMAND.contains(&problem.rule) && says_more(problem);
    let planned =
        launch.read_piped_config(host).map_err(|problem| vec![problem]).and_then(|()| Plan::new(&launch, host));
    let found: Vec<Problem> = planned.err().into_iter().flatten().filter(is_of_command).collect();
    problems.extend(found.into_iter().filter(|problem| problem.severity == Severity::Error));
    problems
}
