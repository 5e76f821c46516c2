//! `zlaunch generate`: a few numbers.

use clap::Command;

use super::args::{ParsedArgs, arg};
use super::values::{self, Suggested, Words, one_of};
use crate::base::options::generate as opt;
use crate::base::options::launch::TEMPLATE_DIR;
use crate::report::{self, Problem};
use crate::tools::generate::{Batch, GenerateRequest};

const AFTER_HELP: &str = "Examples:
  zlaunch generate --micro-batch 2 --grad-accum 32 --world-size 4 --offload -o ds_zero3.json
  zlaunch generate --micro-batch 2 --grad-accum 32 --world-size 8 --tiers -o configs";

/// Of each of the three numbers: their product is a number of DeepSpeed's, and no batch is larger.
const MOST: u64 = 1 << 20;

const STAGES: Words<u64> = || vec![("0", 0), ("1", 1), ("2", 2), ("3", 3)];

pub(super) fn describe(command: Command) -> Command {
    let args = opt::ALL.iter().map(|option| match *option {
        opt::STAGE => arg(option).value_parser(Suggested(STAGES)),
        _ => arg(option),
    });
    command.after_help(AFTER_HELP).args(args).arg(arg(&TEMPLATE_DIR))
}

pub(super) fn read(mut args: ParsedArgs) -> Result<GenerateRequest, Vec<Problem>> {
    let [micro, accum, world] = [opt::MICRO_BATCH, opt::GRAD_ACCUM, opt::WORLD_SIZE]
        .map(|option| args.one(&option, values::number(1, MOST, "1")).map_or(1, |number| number.value));
    let request = GenerateRequest {
        batch: Batch { micro, accum, world },
        out: args.one(&opt::OUT, values::path).map(|path| path.value),
        stage: args.one(&opt::STAGE, one_of(STAGES)).map(|stage| stage.value),
        offload: args.is_on(&opt::OFFLOAD),
        fp16: args.is_on(&opt::FP16),
        from: args.one(&opt::FROM, values::text),
        tiers: args.is_on(&opt::TIERS),
        force: args.is_on(&opt::FORCE),
        search: args.search(),
    };
    refuse_contradictions(&request, &mut args);
    args.finish(request)
}

fn refuse_contradictions(request: &GenerateRequest, args: &mut ParsedArgs) {
    const EACH: &str = "--tiers: each of the three has its own";
    let tiers = request.tiers;
    let both = args.is_on(&opt::BF16) && request.fp16;
    let shaped = request.stage.is_some() || request.offload;
    let mut refuse = |wrong: bool, problem: Problem| args.problems.extend(wrong.then_some(problem));
    let contradicting = report::contradicting_options;
    refuse(tiers && request.out.is_none(), report::tiers_need_a_folder());
    refuse(both, contradicting("--bf16", "--fp16", "--bf16"));
    refuse(request.offload && request.stage == Some(0), report::nothing_to_offload());
    refuse(shaped && request.from.is_some(), contradicting("--from", "--stage, --offload", "--from zero3_offload"));
    refuse(shaped && tiers, contradicting("--tiers", "--stage, --offload", EACH));
    refuse(tiers && request.from.is_some(), contradicting("--tiers", "--from", EACH));
}
