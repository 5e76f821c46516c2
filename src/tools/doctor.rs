//! `zlaunch doctor`: a report of what zlaunch sees here, short enough for an issue and without secrets. Problems are part of
//! the report: they do not make the command fail.

mod page;
mod sections;

use clap::Args;

use super::output::show;
use crate::base::layout::escape_controls;
use crate::cli::launch::{self, LaunchArgs};
use crate::cli::{Reader, Requested, Tool};
use crate::host::machine::Machine;
use crate::host::{Host, terminal};
use crate::request::{Format, Launch};

use page::DoctorReport;
use sections::Examination;

const ABOUT: &str =
    "It shows no secrets, so you can paste it into an issue. All launch options work here: see `zlaunch --help`.

Examples:
  zlaunch doctor
  zlaunch doctor --deepspeed zero3 -- swift sft --model Qwen/Qwen3-8B --dataset data.jsonl";

/// Report what zlaunch sees on this machine
#[derive(Args)]
#[command(
    long_about = "报告 zlaunch 在这台机器上看到什么",
    override_usage = "zlaunch doctor [OPTIONS] [-- COMMAND [ARGS]...]",
    after_help = ABOUT,
    after_long_help = "不含密钥，可以直接贴到 issue 里。启动的所有选项都可以用：`zlaunch --help`。"
)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    launch: LaunchArgs,
}

impl Tool for DoctorArgs {
    const SHOWN: &str = "deepspeed template_dir nproc_per_node nnodes node_rank master_addr master_port launcher trainer \
        env unset_env format";

    fn read(self, mut reader: Reader) -> Requested {
        let launch = launch::read(self.launch, &mut reader);
        launch::finish(launch, reader, |launch, host| show(&doctor(&launch, host)))
    }
}

/// Text that is safe to print, with colours, or JSON.
fn doctor(launch: &Launch, host: &Host) -> String {
    let report = examine(launch, host, &Machine::here());
    match launch.output.dry_run {
        Some(Format::Json) => escape_controls(&format!("{:#}\n", report.json())),
        _ => page::coloured(&report.text(terminal::width())),
    }
}

pub fn examine<'h>(launch: &Launch, host: &'h Host, machine: &Machine) -> DoctorReport<'h> {
    let changed = host.with(&launch.environment.set, &launch.environment.unset);
    DoctorReport::new(host, Examination::new(launch, &changed, machine).sections())
}
