//! `zlaunch rehearse`: the installed trainer says yes or no on this machine, before a job is queued. It runs under
//! `rehearsal.py`, which prints a line of JSON for each event.

mod answer;
mod tables;

use std::io::{IsTerminal, Write, stderr};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use super::check;
use super::output::{out, out_bytes, styled};
use crate::base::options::Given;
use crate::base::source::{Source, Sourced};
use crate::cli::launch::{self, LaunchArgs};
use crate::cli::{Reader, Requested, Tool, values};
use crate::exec;
use crate::exec::rehearsal::Rehearsal;
use crate::fit::{self, Accounting, FitFormat, FitRequest, TrainingArgs};
use crate::host::{Host, terminal};
use crate::judge::Judged;
use crate::plan::Plan;
use crate::ranks::launcher::Launcher;
use crate::report::secrets::Secrets;
use crate::report::{self, Problem, Rule, Severity, fix};
use crate::request::{Format, Launch};

use answer::Answer;

/// It runs in the trainer's own interpreter.
const PROGRAM: &str = include_str!("rehearse/rehearsal.py");

/// Seconds, long enough for a slow file system.
const TIMEOUT: u32 = 300;

#[derive(Args)]
pub(crate) struct RehearseArgs {
    #[arg(help_heading = "Rehearsal")]
    online: bool,
    #[arg(help_heading = "Rehearsal")]
    timeout: Option<Given>,
    #[command(flatten)]
    launch: LaunchArgs,
}

impl Tool for RehearseArgs {
    const SHOWN: &[&str] = check::CheckArgs::SHOWN;

    fn read(self, mut reader: Reader) -> Requested {
        let timeout = reader
            .one(self.timeout, values::number(1, u32::MAX, "600"))
            .map_or(TIMEOUT, |given| given.value);
        let mut launch = launch::read(self.launch, &mut reader);
        launch.output.check = true;
        launch.rehearsed = true;
        reader.problems.extend(launch::without_command(&launch));
        let timeout = Duration::from_secs(timeout.into());
        launch::finish(launch, reader, move |launch, host| {
            run(launch, self.online, timeout, host)
        })
    }
}

/// Exit status 1: the launch is refused; 3: nobody knows.
fn run(
    mut launch: Launch,
    online: bool,
    timeout: Duration,
    host: &Host,
) -> Result<u8, Vec<Problem>> {
    // Nobody else joins a rehearsal.
    launch
        .topology
        .node_rank
        .take_if(|_| launch.topology.nnodes.is_some());
    launch.be_first_machine("the rehearsal", host);
    // Only their shapes are needed.
    launch.allow.push(Rule::WeightsMissing);
    let Ok((plan, problems)) = Judged::new(&launch, host).accepted() else {
        return check::check_launch(&launch, host);
    };
    if matches!(plan.launcher, Launcher::Prefix(_)) {
        return Ok(exec::start(&plan)?);
    }
    let secrets = Secrets::of(host);
    let output = launch.output;
    if !output.quiet {
        let mut told = problems.clone();
        told.retain(|problem| problem.severity != Severity::Note);
        report::report(&told, &secrets);
    }
    let mut answer = rehearse(&launch, online, timeout, &plan, host)?;
    let planned = plan.render(&problems, Format::Json, &secrets);
    // The verdict of `fit` on this launch, with the parameters that were counted.
    if let Some(counted) = answer.parameters() {
        let request = FitRequest {
            launch,
            card: None,
            training: TrainingArgs {
                params: Some(Sourced::new(counted, Source::Machine("counted"))),
                ..TrainingArgs::default()
            },
            accounting: Accounting::Real,
            format: FitFormat::Text,
        };
        answer.memory = fit::answer(&request, host)
            .ok()
            .and_then(|report| report.verdict_line());
    }
    if output.dry_run == Some(Format::Json) {
        let mut json: Value = serde_json::from_slice(&planned).unwrap_or_default();
        json["rehearsal"] = secrets.hide(answer.json());
        out(&format!("{json:#}\n"))?;
    } else {
        out_bytes(&styled(|stream| {
            answer.write(&secrets, output.quiet, terminal::width(), stream)
        }))?;
    }
    Ok(answer.status())
}

fn rehearse(
    launch: &Launch,
    online: bool,
    timeout: Duration,
    plan: &Plan,
    host: &Host,
) -> Result<Answer, Vec<Problem>> {
    let Some(python) = plan.trainer.python.as_deref() else {
        let what = format!(
            "no Python was found that runs `{}`, so it cannot be rehearsed",
            plan.trainer.runs
        );
        let problem = Problem::error(Rule::NotFound, what).at(&plan.trainer.runs);
        return Err(problem.fix(fix::run("zlaunch doctor -- COMMAND")).into());
    };
    let count = |number: Option<&Sourced<u32>>| number.map_or(1, |number| number.value);
    let nnodes = count(plan.topology.nnodes.as_ref());
    let nproc = count(plan.topology.nproc_per_node.as_ref());
    let argv: Vec<_> = plan
        .argv
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let gpu = launch.memory.gpu.as_ref().map(|memory| memory.value);
    let spec = json!({"argv": argv, "nnodes": nnodes, "nproc_per_node": nproc, "online": online, "gpu_memory": gpu});
    let mut rehearsal = Rehearsal::start(python, PROGRAM, spec, plan, host)?;
    let start = Instant::now();
    let shows_progress = stderr().is_terminal() && !launch.output.quiet;
    let mut answer = Answer::new(plan, nnodes, nproc);
    let in_time = loop {
        let left = timeout.saturating_sub(start.elapsed());
        match rehearsal
            .lines
            .recv_timeout(left.min(Duration::from_millis(200)))
        {
            Ok(line) => answer
                .events
                .push(serde_json::from_str(&line).unwrap_or_default()),
            Err(RecvTimeoutError::Timeout) if left.is_zero() => break false,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break true,
        }
        if shows_progress {
            progress(&format!(
                "rehearsing: {} ({} s)",
                answer.doing(),
                start.elapsed().as_secs()
            ));
        }
    };
    if shows_progress {
        progress("");
    }
    let ending = if in_time { rehearsal.ending() } else { None };
    answer.finish(start.elapsed(), ending, &rehearsal.printed());
    answer
        .cannot()
        .map_or(Ok(answer), |problem| Err(problem.into()))
}

/// Writes over the last line.
fn progress(text: &str) {
    let _ = write!(stderr(), "\r{text}\x1b[K");
}
