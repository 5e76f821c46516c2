//! `zlaunch generate`: a few numbers.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Command;

use super::reader::Reader;
use super::{Request, clap_arg, shown};
use crate::base::options::{GENERATE, OPTIONS};
use crate::host::Host;
use crate::report::{self, Problem};
use crate::tools::generate::{self, Destination, HalfPrecision};

const EXAMPLES: &str = "\x1b[1m\x1b[4mExamples:\x1b[0m
  zlaunch generate --micro-batch 2 --grad-accum 32 --world-size 4 --offload -o ds_zero3.json
  zlaunch generate --micro-batch 2 --grad-accum 32 --world-size 8 --tiers -o configs";

fn command() -> Command {
    let directory = OPTIONS.iter().filter(|option| option.name == "template-dir").map(clap_arg);
    Command::new("zlaunch generate")
        .about("Write a ready DeepSpeed config from a few numbers")
        .override_usage("zlaunch generate [OPTIONS]")
        .after_help(EXAMPLES)
        .max_term_width(110)
        .no_binary_name(true)
        .args_override_self(true)
        .args(GENERATE.iter().map(clap_arg))
        .args(directory)
}

pub(super) fn parse(argv: Vec<OsString>, host: &Host) -> Result<Request, Vec<Problem>> {
    let matches = match command().try_get_matches_from(argv.into_iter().skip(2)) {
        Ok(matches) => matches,
        Err(why) => return shown(&why).map(Request::Show),
    };
    let mut reader = Reader::new(&matches, host);
    let switch = |name: &str| matches.get_flag(name);
    // The product of the three is a number of DeepSpeed's, and no batch is larger.
    let most = 1u64 << 20;
    let count = |sourced: Option<crate::base::source::Sourced<u64>>| sourced.map_or(1, |sourced| sourced.value);
    let request = generate::GenerateRequest {
        micro_batch: count(reader.number("micro-batch", 1, most)),
        grad_accum: count(reader.number("grad-accum", 1, most)),
        world_size: count(reader.number("world-size", 1, most)),
        stage: reader.number("stage", 0, 3u64).map(|sourced| sourced.value),
        offload: switch("offload"),
        precision: if switch("fp16") { HalfPrecision::Fp16 } else { HalfPrecision::Bf16 },
        from: reader.text("from"),
        output: match (matches.get_one::<OsString>("out").map(PathBuf::from), switch("tiers")) {
            (Some(folder), true) => Destination::Tiers(folder),
            (Some(file), false) => Destination::File(file),
            (None, _) => Destination::Stdout,
        },
        force: switch("force"),
        search: reader.search(),
    };
    let mut refuse = |wrong: bool, problem: fn() -> Problem| reader.problems.extend(wrong.then(problem));
    refuse(switch("tiers") && request.output == Destination::Stdout, report::tiers_need_a_folder);
    refuse(switch("bf16") && switch("fp16"), || report::contradicting_options("--bf16", "--fp16", "--bf16"));
    refuse(request.offload && request.stage == Some(0), report::nothing_to_offload);
    let shaped = request.stage.is_some() || request.offload;
    refuse(shaped && request.from.is_some(), || {
        report::contradicting_options("--from", "--stage, --offload", "--from zero3_offload")
    });
    refuse(shaped && switch("tiers"), || {
        report::contradicting_options("--tiers", "--stage, --offload", "--tiers: each of the three has its own")
    });
    refuse(switch("tiers") && request.from.is_some(), || {
        report::contradicting_options("--tiers", "--from", "--tiers: each of the three has its own")
    });
    if reader.problems.is_empty() { Ok(Request::Generate(request)) } else { Err(reader.problems) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn clap_accepts_the_table() {
        super::command().debug_assert();
    }
}
