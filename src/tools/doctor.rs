//! `zlaunch doctor`: a report of what zlaunch sees here, short enough for an issue and without secrets. Problems of one
//! machine are part of the report: they do not make the command fail. In a job of several machines, all are asked.

pub mod facts;
mod report;
pub mod tables;
mod together;

use std::time::Duration;

use serde_json::json;

use super::{check, prelude::*};
use crate::{base::vars, host::machine::Machine};

pub use report::{DoctorReport, Examination};
use together::Meeting;

#[derive(Args)]
#[command(next_help_heading = "Machines")]
pub struct DoctorArgs {
    timeout: Option<Given>,
    // zlaunch gives it to those that it starts on the other machines.
    #[arg(hide = true)]
    answer: bool,
    #[command(flatten)]
    launch: LaunchArgs,
}

impl Tool for DoctorArgs {
    const LAUNCH_OPTIONS: LaunchOptions = LaunchOptions::AllShowing(tables::shown_options::SHOWN);

    fn read(self, mut reader: Reader) -> Requested {
        let timeout = reader.one(self.timeout, values::number(1, 86400, "30"));
        let timeout = Duration::from_secs(timeout.map_or(10, |given| given.value));
        let mut launch = launch::read(self.launch, &mut reader);
        // What refuses the launch is an error here too.
        launch.output.check = true;
        launch::finish(launch, reader, move |launch, host| {
            doctor(&launch, timeout, self.answer, host)
        })
    }
}

fn doctor(launch: &Launch, timeout: Duration, answers_srun: bool, host: &Host) -> Outcome {
    let machine = Machine::here();
    let mut changed = host.with(&launch.environment.set, &launch.environment.unset);
    // The launch comes in the next step of the job, where the ranks have another port to meet.
    let step = host.nonempty_var(vars::SLURM_STEP_ID).unwrap_or_default();
    if let (Ok(step), true) = (step.parse::<u64>(), answers_srun) {
        let next = (step + 1).to_string();
        let env = &mut changed.to_mut().env;
        env.insert(vars::SLURM_STEP_ID.into(), next.into());
    }
    let seen = Examination::new(launch, &changed, &machine);
    let mut report = DoctorReport::new(host, &seen);
    let meeting = Meeting {
        seen: &seen,
        report: &report,
        timeout,
        answers_srun,
    };
    if let Some(status) = meeting.ask_all()? {
        return Ok(status);
    }
    if seen.ranks().is_some() {
        let own = json!({ "name": host.hostname, "facts": facts::alone(&seen) });
        report.further = facts::compare(&[report.clean_json(own)]).problems;
    }
    let secrets = Secrets::of(host);
    let problems = report.problems();
    if launch.output.dry_run == Some(Format::Json) {
        out(&format!("{:#}\n", report.json()))?;
        return Ok(check::verdict(&problems));
    }
    out(&format!("{}\n", report.text(terminal::width())))?;
    let status = check::verdict(&problems);
    let shown = check::shown(problems, "", launch, &secrets);
    out_bytes(
        report
            .without_home(&String::from_utf8_lossy(&shown))
            .as_bytes(),
    )?;
    Ok(status)
}
