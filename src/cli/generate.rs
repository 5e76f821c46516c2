//! `zlaunch generate`: a few numbers.

use clap::Args;

use super::launch::TEMPLATES;
use super::reader::Reader;
use super::values::{self, Words, one_of};
use crate::base::options::{AnyValue, Given, SearchOptions};
use crate::report::fix::give;
use crate::report::{self, Problem, Rule};
use crate::tools::generate::{Batch, GenerateRequest};

pub(super) const ABOUT: &str = "Examples:
  zlaunch generate --micro-batch 2 --grad-accum 32 --world-size 4 --offload -o ds_zero3.json
  zlaunch generate --micro-batch 2 --grad-accum 32 --world-size 8 --tiers -o configs";

#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[derive(Args)]
#[command(next_help_heading = "Training")]
pub(super) struct GenerateArgs {
    /// Sequences in one forward pass on one GPU (1)
    #[arg(long, value_name = "N")]
    micro_batch: Option<Given>,
    /// Micro batches in one step (1)
    #[arg(long, value_name = "N")]
    grad_accum: Option<Given>,
    /// Total number of GPUs (1)
    #[arg(long, value_name = "N")]
    world_size: Option<Given>,
    /// ZeRO stage, 0 to 3 (3)
    #[arg(long, value_name = "N", help_heading = "Config", value_parser = AnyValue(STAGES))]
    stage: Option<Given>,
    /// Keep the optimizer, and at stage 3 the parameters, in host memory
    #[arg(long, help_heading = "Config")]
    offload: bool,
    /// Mixed precision with bf16 (the default)
    #[arg(long, help_heading = "Config")]
    bf16: bool,
    /// Mixed precision with fp16 and dynamic loss scaling
    #[arg(long, help_heading = "Config")]
    fp16: bool,
    /// Start from this template, which decides the stage and the offloading
    #[arg(long, value_name = "TEMPLATE", help_heading = "Config", value_parser = AnyValue(TEMPLATES))]
    from: Option<Given>,
    /// Write the config to this file instead of printing it
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    out: Option<Given>,
    /// Write three configs to the folder -o, for small, medium and large GPU memory
    #[arg(long, help_heading = "Output")]
    tiers: bool,
    /// Overwrite existing files
    #[arg(long, help_heading = "Output")]
    force: bool,
    #[command(flatten, next_help_heading = "Config")]
    search: SearchOptions,
}

/// Of each of the three numbers: their product is a number of DeepSpeed's, and no batch is larger.
const MOST: u64 = 1 << 20;

const STAGES: Words<u64> = || vec![("0", 0), ("1", 1), ("2", 2), ("3", 3)];

pub(super) fn read(args: GenerateArgs, mut reader: Reader) -> Result<GenerateRequest, Vec<Problem>> {
    let [micro, accum, world] = [args.micro_batch, args.grad_accum, args.world_size]
        .map(|given| reader.one(given, values::number(1, MOST, "1")).map_or(1, |number| number.value));
    let request = GenerateRequest {
        batch: Batch { micro, accum, world },
        out: reader.one(args.out, values::path).map(|path| path.value),
        stage: reader.one(args.stage, one_of(STAGES)).map(|stage| stage.value),
        offload: args.offload,
        fp16: args.fp16,
        from: reader.one(args.from, values::text),
        tiers: args.tiers,
        force: args.force,
        search: reader.search(args.search),
    };
    refuse_contradictions(&request, args.bf16, &mut reader);
    reader.finish(request)
}

fn refuse_contradictions(request: &GenerateRequest, bf16: bool, reader: &mut Reader) {
    const EACH: &str = "--tiers: each of the three has its own";
    let tiers = request.tiers;
    let shaped = request.stage.is_some() || request.offload;
    let mut refuse = |wrong: bool, problem: Problem| reader.problems.extend(wrong.then_some(problem));
    let contradicting = report::contradicting_options;
    let no_folder = Problem::error(Rule::Usage, "`--tiers` writes three files and needs a folder for them");
    refuse(tiers && request.out.is_none(), no_folder.at("--tiers").fix(give("--tiers", "").and(give("-o", "configs"))));
    refuse(bf16 && request.fp16, contradicting("--bf16", "--fp16", "--bf16"));
    let nothing = Problem::error(Rule::Generate, "stage 0 partitions nothing, so nothing can be offloaded");
    let nothing = nothing.at("--stage 0 --offload").fix(give("--stage", 2).and(give("--offload", "")));
    refuse(request.offload && request.stage == Some(0), nothing);
    refuse(shaped && request.from.is_some(), contradicting("--from", "--stage, --offload", "--from zero3_offload"));
    refuse(shaped && tiers, contradicting("--tiers", "--stage, --offload", EACH));
    refuse(tiers && request.from.is_some(), contradicting("--tiers", "--from", EACH));
}
