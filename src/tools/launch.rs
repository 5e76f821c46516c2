//! A launch: the findings and the plan are printed, then it is carried out.

use super::output::{err, out_bytes, show_plan};
use crate::cli::launch::{self, LaunchArgs};
use crate::cli::{Reader, Refused, Requested, Tool};
use crate::exec;
use crate::host::{Host, terminal};
use crate::judge::Judged;
use crate::plan::Plan;
use crate::ranks::launcher::Launcher;
use crate::report::secrets::Secrets;
use crate::report::{self, Problem, Rule, Severity};
use crate::request::{Format, Launch, Output, understood};

impl Tool for LaunchArgs {
    fn read(self, mut reader: Reader) -> Requested {
        let launch = launch::read(self, &mut reader);
        reader.problems.extend(launch::without_command(&launch));
        launch::finish(launch, reader, run)
    }
}

fn run(launch: Launch, host: &Host) -> Result<u8, Vec<Problem>> {
    let secrets = Secrets::of(host);
    let launch = &understood::of_shim(launch, host);
    let (plan, problems) = Judged::new(launch, host).accepted()?;
    let Output {
        dry_run,
        quiet,
        verbose,
        ..
    } = launch.output;
    if dry_run.is_none() && matches!(plan.launcher, Launcher::Prefix(_)) {
        // zlaunch reports everything again behind the prefix.
        return carry_out(&plan, &problems, None);
    }
    // The first machine reports for all of them.
    if !quiet && (plan.topology.is_first() || verbose) {
        report::report(&problems, &secrets);
    }
    let chosen = plan
        .config
        .as_ref()
        .and_then(|config| config.layered.chosen.as_ref());
    if let (Some(chosen), false) = (chosen, quiet || !plan.topology.is_first()) {
        err(&secrets.hide_in_text(&format!("{chosen}\n")));
    }
    if let Some(format) = dry_run {
        let rendered = plan.render(&problems, format, &secrets);
        let is_text = format == Format::Text;
        return if is_text {
            show_plan(&String::from_utf8_lossy(&rendered))
        } else {
            out_bytes(&rendered)
        };
    }
    if verbose && !quiet {
        err(&plan.text(&secrets, terminal::width_of_stderr()));
    }
    let headline = if quiet || verbose {
        None
    } else {
        plan.headline()
    };
    let headline = headline.map(|line| secrets.hide_in_text(&line));
    carry_out(&plan, &problems, headline)
}

fn carry_out(
    plan: &Plan,
    problems: &[Problem],
    headline: Option<String>,
) -> Result<u8, Vec<Problem>> {
    exec::prepare(plan, problems)?;
    if let Some(line) = headline {
        err(&format!("zlaunch: {line}\n"));
    }
    Ok(exec::start(plan)?)
}

/// The problems of the words, and those of the command behind them: all are told at once.
pub fn all_problems(refused: Refused, host: &Host) -> Vec<Problem> {
    use Rule::{
        Argument, Json, ModuleMissing, NotFound, PathMissing, RunFile, ScriptMissing, Template,
    };
    // They do not depend on zlaunch's own options.
    const OF_IT: [Rule; 8] = [
        Template,
        Json,
        NotFound,
        ScriptMissing,
        ModuleMissing,
        PathMissing,
        RunFile,
        Argument,
    ];
    let Refused {
        mut problems,
        meant,
    } = refused;
    let Some(mut launch) = meant.filter(|launch| !launch.command.is_empty()) else {
        return problems;
    };
    let planned = launch
        .read_piped_config(host)
        .map_err(Into::into)
        .and_then(|()| Judged::new(&launch, host).accepted().map(drop));
    let mut found = planned.err().unwrap_or_default();
    found.retain(|problem| {
        // A template may be in a folder that is missing, which is known already.
        let is_known = problems.iter().any(|known| known.rule == problem.rule);
        OF_IT.contains(&problem.rule) && problem.severity == Severity::Error && !is_known
    });
    problems.extend(found);
    problems
}
