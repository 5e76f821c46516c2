//! A launch: the findings and the plan are printed, then it is carried out.

use super::{prelude::*, proof::accepted};
use crate::{
    exec,
    plan::Plan,
    ranks::launcher::Launcher,
    request::{Output, understood},
};

impl Tool for LaunchArgs {
    const LAUNCH_OPTIONS: LaunchOptions = LaunchOptions::All;

    fn read(self, mut reader: Reader) -> Requested {
        let launch = launch::read(self, &mut reader);
        reader.problems.extend(launch::without_command(&launch));
        let tools = reader.tools;
        launch::finish(launch, reader, move |launch, host| run(launch, host, tools))
    }
}

fn run(launch: Launch, host: &Host, tools: &'static Tools) -> Outcome {
    let secrets = Secrets::of(host);
    let launch = &understood::of_shim(launch, host);
    let (plan, problems) = accepted(Judged::new(launch, host), host, tools)?;
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
        let config = plan.config.as_ref();
        if let Some(chosen) = config.and_then(|config| config.layered.chosen.as_ref()) {
            err(&secrets.hide_in_text(&format!("{chosen}\n")));
        }
    }
    if let Some(format) = dry_run {
        return out_bytes(&plan.render(&problems, format, &secrets));
    }
    if verbose && !quiet {
        err(&plan.text(&secrets, terminal::width_of_stderr()));
    }
    let headline = plan
        .headline()
        .filter(|_| !quiet && !verbose)
        .map(|line| secrets.hide_in_text(&line));
    carry_out(&plan, &problems, headline)
}

fn carry_out(plan: &Plan, problems: &[Problem], headline: Option<String>) -> Outcome {
    exec::prepare(plan, problems)?;
    if let Some(line) = headline {
        err(&format!("zlaunch: {line}\n"));
    }
    Ok(exec::start(plan)?)
}
