//! `zlaunch doctor`: what zlaunch sees here, short enough for an issue and without secrets. Problems are part of the report:
//! they do not make the command fail.

mod examination;
mod launch;
mod page;
mod system;

use clap::{Args, Command};

use super::output::show;
use crate::base::layout::escape_controls;
use crate::cli::launch::{self as arguments, LaunchArgs};
use crate::cli::{Reader, Request, Requested, Tool};
use crate::host::machine::Machine;
use crate::host::{Host, terminal};
use crate::report::Problem;
use crate::request::{Format, Launch};

use examination::Examination;
use page::DoctorReport;

const ABOUT: &str =
    "It shows no secrets, so you can paste it into an issue. All launch options work here: see `zlaunch --help`.

Examples:
  zlaunch doctor
  zlaunch doctor --deepspeed zero3 -- swift sft --model Qwen/Qwen3-8B";

/// Report what zlaunch sees on this machine
#[derive(Args)]
#[command(override_usage = "zlaunch doctor [OPTIONS] [-- COMMAND [ARGS]...]", after_help = ABOUT)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    launch: LaunchArgs,
}

impl Tool for DoctorArgs {
    fn arguments(command: Command) -> Command {
        const SHOWN: &str = "deepspeed template_dir nproc_per_node nnodes node_rank master_addr master_port launcher \
            trainer env unset_env format";
        arguments::as_report(Self::augment_args(command), SHOWN)
    }

    fn read(self, mut reader: Reader) -> Requested {
        let launch = arguments::read(self.launch, &mut reader);
        Ok(Box::new(DoctorRequest(arguments::finish(launch, reader)?)))
    }
}

/// The command may be empty.
pub struct DoctorRequest(pub Box<Launch>);

impl Request for DoctorRequest {
    /// The whole report, as text that is safe to print, with colours, or as JSON.
    fn run(mut self: Box<Self>, host: &Host) -> Result<u8, Vec<Problem>> {
        self.0.read_piped_config()?;
        let report = examine(&self.0, host, &Machine::here());
        show(&match self.0.output.dry_run {
            Some(Format::Json) => escape_controls(&format!("{:#}\n", report.json())),
            _ => page::painted(&report.text(terminal::width())),
        })
    }
}

pub fn examine<'h>(launch: &Launch, host: &'h Host, machine: &Machine) -> DoctorReport<'h> {
    let changed = host.with(&launch.environment.set, &launch.environment.unset);
    let facts = Examination::new(launch, &changed, machine);
    let mut report = DoctorReport::new(host);
    report.add("machine", system::machine(&facts));
    report.add("limits", system::limits(&facts));
    report.add("python", launch::python(&facts));
    report.add("launch", launch::launch(&facts));
    report.add("folders", system::folders(&facts));
    report.add("variables", system::variables(&facts));
    report
}
