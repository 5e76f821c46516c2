//! A launch: what was found and decided is said, then it is carried out.

use super::output::{err, out_bytes, show_plan};
use crate::exec;
use crate::host::Host;
use crate::plan::Plan;
use crate::ranks::launcher::Launcher;
use crate::report::secrets::Secrets;
use crate::report::{self, Problem};
use crate::request::{Format, Launch, Output};

pub(crate) fn run(launch: &Launch, host: &Host) -> Result<u8, Vec<Problem>> {
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
        let shown =
            if format == Format::Text { show_plan(&String::from_utf8_lossy(&rendered)) } else { out_bytes(&rendered) };
        return shown.map(|()| 0);
    }
    if verbose && !quiet {
        err(&plan.text(&secrets, report::width_of_stderr()));
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
