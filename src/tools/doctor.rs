//! `zlaunch doctor`: a report of what zlaunch sees here, short enough for an issue and without secrets. Problems of one
//! machine are part of the report: they do not make the command fail. In a job of several machines, all are asked.

pub mod comparison;
mod facts;
mod page;
mod sections;
pub mod tables;
mod together;

use std::time::Duration;

use clap::Args;

use super::output::show;
use crate::base::layout::escape_controls;
use crate::base::options::Given;
use crate::base::vars;
use crate::cli::launch::{self, LaunchArgs};
use crate::cli::{Reader, Requested, Tool, values};
use crate::host::machine::Machine;
use crate::host::{Host, terminal};
use crate::report::Problem;
use crate::request::{Format, Launch};

pub use page::DoctorReport;
pub use sections::Examination;
use together::Meeting;

#[derive(Args)]
pub(crate) struct DoctorArgs {
    #[arg(help_heading = "Machines")]
    timeout: Option<Given>,
    // zlaunch gives it to those that it starts on the other machines.
    #[arg(help_heading = "Machines", hide = true)]
    answer: bool,
    #[command(flatten)]
    launch: LaunchArgs,
}

impl Tool for DoctorArgs {
    const SHOWN: &'static [&'static str] = &[
        "deepspeed",
        "template_dir",
        "nproc_per_node",
        "nnodes",
        "node_rank",
        "master_addr",
        "master_port",
        "launcher",
        "trainer",
        "env",
        "unset_env",
        "format",
    ];

    fn read(self, mut reader: Reader) -> Requested {
        let timeout = reader.one(self.timeout, values::number(1, 86400, "30"));
        let timeout = Duration::from_secs(timeout.map_or(10, |given| given.value));
        let launch = launch::read(self.launch, &mut reader);
        launch::finish(launch, reader, move |launch, host| {
            doctor(&launch, timeout, self.answer, host)
        })
    }
}

fn doctor(
    launch: &Launch,
    timeout: Duration,
    answers_srun: bool,
    host: &Host,
) -> Result<u8, Vec<Problem>> {
    let machine = Machine::here();
    let mut changed = host.with(&launch.environment.set, &launch.environment.unset);
    // The launch comes in the next step of the job, where the ranks have another port to meet.
    let step = host
        .nonempty_var(vars::SLURM_STEP_ID)
        .and_then(|step| step.parse::<u64>().ok());
    if let (Some(step), true) = (step, answers_srun) {
        changed
            .to_mut()
            .env
            .insert(vars::SLURM_STEP_ID.into(), (step + 1).to_string().into());
    }
    let seen = Examination::new(launch, &changed, &machine);
    let report = DoctorReport::new(host, seen.sections());
    let meeting = Meeting {
        seen: &seen,
        report: &report,
        timeout,
        answers_srun,
    };
    if let Some(status) = meeting.ask_all()? {
        return Ok(status);
    }
    // Text that is safe to print, with colours, or JSON.
    show(&match launch.output.dry_run {
        Some(Format::Json) => escape_controls(&format!("{:#}\n", report.json())),
        _ => page::coloured(&report.text(terminal::width())),
    })
    .map(|_| u8::from(report.rows().any(|row| row.mark() == "bad")))
}
