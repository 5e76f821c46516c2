//! `zlaunch fit`: the options of a launch, and what the training is.

use clap::{Arg, Command};

use super::args::{ParsedArgs, arg, trailing_command};
use super::{launch, values};
use crate::base::options::launch::{ALL as LAUNCH, FORMAT, NPROC_PER_NODE};
use crate::base::options::{FIT_OF_LAUNCH, Opt, fit as opt};
use crate::base::source::Sourced;
use crate::fit::{self, Accounting, Attention, Dtype, FitRequest, Optimizer, TrainingArgs, Tuner};
use crate::report::{self, Problem};
use crate::request::Format;

const AFTER_HELP: &str =
    "What is not given here is taken from the training command. Exit status: 0, or 1 if nothing fits.

\x1b[1m\x1b[4mExamples:\x1b[0m
  zlaunch fit --params 8B --gpus 8 --gpu-memory 80GiB
  zlaunch fit --gpus 8 -- swift sft --model Qwen/Qwen3-8B --tuner_type full --max_length 4096";

pub(super) fn describe(command: Command) -> Command {
    let of_launch = LAUNCH.iter().map(|option| launch::launch_arg(option).hide(!FIT_OF_LAUNCH.contains(option)));
    command
        .after_help(AFTER_HELP)
        .args(opt::ALL.iter().map(fit_arg))
        .args(of_launch)
        .mut_arg(NPROC_PER_NODE.name, |arg| arg.help("GPUs of each machine; also --gpus"))
        .mut_arg(FORMAT.name, |arg| arg.help("text or json").value_parser(launch::report_format()))
        .arg(trailing_command())
}

fn fit_arg(option: &Opt) -> Arg {
    let value_parser = match *option {
        opt::MODEL | opt::LORA_TARGETS => values::text(),
        opt::PARAMS => values::size(fit::parameters, "8B"),
        opt::TUNER => {
            values::one_of(|| vec![("full", TunerName::Full), ("lora", TunerName::Lora), ("qlora", TunerName::Qlora)])
        }
        opt::LORA_RANK => values::number(1, u64::from(u16::MAX), "1"),
        opt::QUANT_BITS => values::one_of(|| vec![("4", 4_u64), ("8", 8)]),
        opt::MICRO_BATCH | opt::GRAD_ACCUM | opt::SEQ_LEN => values::number(1, u64::from(u32::MAX), "1"),
        opt::DTYPE => values::one_of(|| Dtype::NAMES.to_vec()),
        opt::OPTIMIZER => values::one_of(|| Optimizer::ALL.iter().map(|it| (it.name, *it)).collect()),
        opt::GRADIENT_CHECKPOINTING => values::one_of(|| vec![("true", true), ("false", false)]),
        opt::ATTENTION => values::one_of(|| {
            vec![("flash", Attention::Flash), ("sdpa", Attention::Flash), ("eager", Attention::Eager)]
        }),
        opt::ACCOUNTING => values::one_of(|| vec![("real", Accounting::Real), ("textbook", Accounting::Textbook)]),
        _ => return arg(option),
    };
    arg(option).value_parser(value_parser)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TunerName {
    Full,
    Lora,
    Qlora,
}

pub(super) fn read(args: ParsedArgs) -> Result<FitRequest, Vec<Problem>> {
    let mut args = args.with_variables(describe);
    let launch = launch::read_described(&mut args);
    // ZLAUNCH_FORMAT is about plans.
    let format = args.flag::<Format>(&FORMAT).map_or(Format::Text, |format| format.value);
    let accounting = args.one(&opt::ACCOUNTING).map_or(Accounting::Real, |accounting| accounting.value);
    let training = read_training(&mut args);
    args.finish(FitRequest { launch, training, accounting, format })
}

fn read_training(args: &mut ParsedArgs) -> TrainingArgs {
    TrainingArgs {
        model: args.one(&opt::MODEL),
        params: args.one(&opt::PARAMS),
        micro_batch: args.one(&opt::MICRO_BATCH),
        grad_accum: args.one(&opt::GRAD_ACCUM),
        seq_len: args.one(&opt::SEQ_LEN),
        tuner: read_tuner(args),
        lora_rank: args.one(&opt::LORA_RANK),
        lora_targets: args.one(&opt::LORA_TARGETS),
        dtype: args.one(&opt::DTYPE),
        optimizer: args.one(&opt::OPTIMIZER),
        checkpointing: args.one(&opt::GRADIENT_CHECKPOINTING),
        attention: args.one(&opt::ATTENTION),
        fused_loss: args.switched_on(&opt::FUSED_LOSS).map(|from| Sourced::new(true, from)),
        dropout: None,
    }
}

/// `qlora` is LoRA on weights of 4 bits, unless other bits are given; `lora` with bits is QLoRA, too.
fn read_tuner(args: &mut ParsedArgs) -> Option<Sourced<Tuner>> {
    let bits = args.one::<u64>(&opt::QUANT_BITS);
    let name = args.one::<TunerName>(&opt::TUNER);
    if let (Some(Sourced { value: TunerName::Full, .. }), Some(bits)) = (&name, &bits) {
        let bits = opt::QUANT_BITS.flag() + &format!(" {}", bits.value);
        args.problems.push(report::contradicting_options("--tuner full", &bits, "--tuner qlora"));
    }
    let Some(name) = name else { return bits.map(|bits| bits.map(Tuner::Quantised)) };
    let bits = bits.map(|bits| bits.value);
    Some(name.map(|name| match (name, bits) {
        (TunerName::Full, _) => Tuner::Full,
        (TunerName::Lora, None) => Tuner::Lora,
        (TunerName::Qlora, None) => Tuner::Quantised(4),
        (_, Some(bits)) => Tuner::Quantised(bits),
    }))
}
