//! `zlaunch rehearse`: the options of a launch, and how long and with what the rehearsal may run.

use std::time::Duration;

use clap::Args;

use super::launch::{self, LaunchArgs, Mode};
use super::reader::{Reader, Refused};
use super::values;
use crate::base::options::Given;
use crate::request::Launch;
use crate::tools::rehearse::RehearseRequest;

pub(super) const ABOUT: &str =
    "The installed trainer runs on the CPU as rank 0 of all ranks, without weights or GPUs, up to deepspeed.initialize and \
    the first forward pass. Nothing is written or launched. All launch options work here: see `zlaunch --help`.
Exit status: 1 if zlaunch or the trainer refuses the launch; 0 if it arrives, or gets as far as it can.

Examples:
  zlaunch rehearse --nnodes 2 --nproc-per-node 8 --deepspeed zero3 -- swift sft --model Qwen/Qwen3-8B
  zlaunch rehearse --nproc-per-node 8 -- swift sft --model Qwen/Qwen3-8B --deepspeed zero3 && sbatch job.sh";

/// Long enough for a slow file system.
const TIMEOUT: u32 = 300;

#[derive(Args)]
pub(super) struct RehearseArgs {
    /// Let the trainer use the network for missing configs, tokenizers and datasets
    #[arg(long, help_heading = "Rehearsal")]
    online: bool,
    /// Stop after this many seconds; 300 by default
    #[arg(long, value_name = "SECONDS", help_heading = "Rehearsal")]
    timeout: Option<Given>,
    #[command(flatten)]
    launch: LaunchArgs,
}

pub(super) fn read(args: RehearseArgs, mut reader: Reader) -> Result<RehearseRequest, Refused> {
    let RehearseArgs { online, timeout, launch } = args;
    let timeout = reader.one(timeout, values::number(1, u32::MAX, "600")).map_or(TIMEOUT, |given| given.value);
    let launch = *launch::read(launch, reader, Mode::Rehearse)?;
    let timeout = Duration::from_secs(timeout.into());
    Ok(RehearseRequest { launch: Launch { rehearsed: true, ..launch }, online, timeout })
}
