//! `zlaunch generate`: a few numbers.

use std::path::PathBuf;

use clap::{Arg, Command};

use super::args::{ParsedArgs, arg};
use super::{launch, values};
use crate::base::options::launch::TEMPLATE_DIR;
use crate::base::options::{Opt, generate as opt};
use crate::report::{self, Problem};
use crate::tools::generate::{Destination, GenerateRequest, HalfPrecision};

const AFTER_HELP: &str = "\x1b[1m\x1b[4mExamples:\x1b[0m
  zlaunch generate --micro-batch 2 --grad-accum 32 --world-size 4 --offload -o ds_zero3.json
  zlaunch generate --micro-batch 2 --grad-accum 32 --world-size 8 --tiers -o configs";

/// Of each of the three numbers: their product is a number of DeepSpeed's, and no batch is larger.
const MOST: u64 = 1 << 20;

pub(super) fn describe(command: Command) -> Command {
    command.after_help(AFTER_HELP).args(opt::ALL.iter().map(generate_arg)).arg(launch::launch_arg(&TEMPLATE_DIR))
}

fn generate_arg(option: &Opt) -> Arg {
    let value_parser = match *option {
        opt::MICRO_BATCH | opt::GRAD_ACCUM | opt::WORLD_SIZE => values::number(1, MOST, "1"),
        opt::STAGE => values::one_of(|| vec![("0", 0_u64), ("1", 1), ("2", 2), ("3", 3)]),
        opt::FROM => values::text(),
        opt::OUT => values::path(),
        _ => return arg(option),
    };
    arg(option).value_parser(value_parser)
}

pub(super) fn read(mut args: ParsedArgs) -> Result<GenerateRequest, Vec<Problem>> {
    let [micro_batch, grad_accum, world_size] = [opt::MICRO_BATCH, opt::GRAD_ACCUM, opt::WORLD_SIZE]
        .map(|option| args.one(&option).map_or(1, |number| number.value));
    let out = args.one::<PathBuf>(&opt::OUT).map(|path| path.value);
    let request = GenerateRequest {
        micro_batch,
        grad_accum,
        world_size,
        stage: args.one(&opt::STAGE).map(|stage| stage.value),
        offload: args.is_on(&opt::OFFLOAD),
        precision: if args.is_on(&opt::FP16) { HalfPrecision::Fp16 } else { HalfPrecision::Bf16 },
        from: args.one(&opt::FROM),
        output: match (out, args.is_on(&opt::TIERS)) {
            (Some(folder), true) => Destination::Tiers(folder),
            (Some(file), false) => Destination::File(file),
            (None, _) => Destination::Stdout,
        },
        force: args.is_on(&opt::FORCE),
        search: args.search(),
    };
    refuse_contradictions(&request, &mut args);
    args.finish(request)
}

fn refuse_contradictions(request: &GenerateRequest, args: &mut ParsedArgs) {
    const EACH: &str = "--tiers: each of the three has its own";
    let tiers = args.is_on(&opt::TIERS);
    let both = args.is_on(&opt::BF16) && args.is_on(&opt::FP16);
    let shaped = request.stage.is_some() || request.offload;
    let mut refuse = |wrong: bool, problem: Problem| args.problems.extend(wrong.then_some(problem));
    let contradicting = report::contradicting_options;
    refuse(tiers && request.output == Destination::Stdout, report::tiers_need_a_folder());
    refuse(both, contradicting("--bf16", "--fp16", "--bf16"));
    refuse(request.offload && request.stage == Some(0), report::nothing_to_offload());
    refuse(shaped && request.from.is_some(), contradicting("--from", "--stage, --offload", "--from zero3_offload"));
    refuse(shaped && tiers, contradicting("--tiers", "--stage, --offload", EACH));
    refuse(tiers && request.from.is_some(), contradicting("--tiers", "--from", EACH));
}
