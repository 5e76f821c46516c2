//! `zlaunch doctor`: what zlaunch sees here, short enough for an issue and without secrets. Problems are part of the report:
//! they do not make the command fail.

mod examination;
mod launch;
mod page;
mod system;

use crate::base::layout::escape_controls;
use crate::host::machine::Machine;
use crate::host::{Host, terminal};
use crate::request::{Format, Launch};

use examination::Examination;
use page::DoctorReport;

/// The whole report, as text that is safe to print, with colours, or as JSON.
pub(crate) fn doctor(launch: &Launch, host: &Host) -> String {
    let report = examine(launch, host, &Machine::here());
    match launch.output.dry_run {
        Some(Format::Json) => escape_controls(&format!("{:#}\n", report.json())),
        _ => page::painted(&report.text(terminal::width())),
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
