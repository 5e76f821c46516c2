//! `zlaunch fit`: the options of a launch, and what the training is.

use clap::{Arg, Command};

use super::args::{ParsedArgs, arg, trailing_command};
use super::launch;
use super::meant::meant;
use super::values::{self, Suggested, Words, one_of};
use crate::base::options::launch::{ALL as LAUNCH, FORMAT, NPROC_PER_NODE};
use crate::base::options::{FIT, FIT_OF_LAUNCH, Opt, fit as opt};
use crate::base::source::Sourced;
use crate::fit::cards::Cards;
use crate::fit::{Accounting, Attention, Dtype, FitFormat, FitRequest, Optimizer, TrainingArgs, Tuner};
use crate::ranks::topology::Processes;
use crate::report::{self, Problem};
use crate::request::Launch;

const AFTER_HELP: &str =
    "What is not given here is taken from the training command. Exit status: 0, or 1 if it does not fit.

Examples:
  zlaunch fit --params 8B --gpu H100x8
  zlaunch fit --gpus 8 -- swift sft --model Qwen/Qwen3-8B --tuner_type full --max_length 4096";

pub(super) fn describe(command: Command) -> Command {
    let of_launch = LAUNCH.iter().map(|option| launch::launch_arg(option).hide(!FIT_OF_LAUNCH.contains(option)));
    command
        .after_help(AFTER_HELP)
        .args(opt::ALL.iter().map(fit_arg))
        .args(of_launch)
        .mut_arg(NPROC_PER_NODE.name, |arg| {
            arg.long("gpus").alias(NPROC_PER_NODE.name).help("Number of GPUs of each machine; also --nproc-per-node")
        })
        .mut_arg(FORMAT.name, |arg| arg.help("text, json or svg").value_parser(Suggested(FORMATS)))
        .arg(trailing_command())
}

const FORMATS: Words<FitFormat> =
    || vec![("text", FitFormat::Text), ("json", FitFormat::Json), ("svg", FitFormat::Svg)];
const TUNERS: Words<Tuner> = || vec![("full", Tuner::Full), ("lora", Tuner::Lora), ("qlora", Tuner::Quantised(4))];
const BITS: Words<u64> = || vec![("4", 4), ("8", 8)];
const DTYPES: Words<Dtype> = || Dtype::NAMES.to_vec();
const OPTIMIZERS: Words<Optimizer> = || Optimizer::of_trainers().collect();
const BOOLS: Words<bool> = || vec![("true", true), ("false", false)];
const ATTENTIONS: Words<Attention> =
    || vec![("flash", Attention::Flash), ("sdpa", Attention::Flash), ("eager", Attention::Eager)];
const ACCOUNTINGS: Words<Accounting> = || vec![("real", Accounting::Real), ("textbook", Accounting::Textbook)];

fn fit_arg(option: &Opt) -> Arg {
    let arg = arg(option);
    match *option {
        opt::TUNER => arg.value_parser(Suggested(TUNERS)),
        opt::QUANT_BITS => arg.value_parser(Suggested(BITS)),
        opt::DTYPE => arg.value_parser(Suggested(DTYPES)),
        opt::OPTIMIZER => arg.value_parser(Suggested(OPTIMIZERS)),
        opt::GRADIENT_CHECKPOINTING => arg.value_parser(Suggested(BOOLS)),
        opt::ATTENTION => arg.value_parser(Suggested(ATTENTIONS)),
        opt::ACCOUNTING => arg.value_parser(Suggested(ACCOUNTINGS)),
        _ => arg,
    }
}

pub(super) fn read(args: ParsedArgs) -> Result<FitRequest, Vec<Problem>> {
    let mut args = args.with_variables(launch::describe);
    let mut launch = launch::read_described(&mut args);
    let card = read_cards(&mut args, &mut launch);
    // ZLAUNCH_FORMAT is about plans.
    let format = args.flag(&FORMAT, one_of(FORMATS)).map_or(FitFormat::Text, |format| format.value);
    let accounting =
        args.one(&opt::ACCOUNTING, one_of(ACCOUNTINGS)).map_or(Accounting::Real, |accounting| accounting.value);
    let training = read_training(&mut args);
    let named = training.model.is_some()
        || training.params.is_some()
        || args.is_given(&opt::MODEL)
        || args.is_given(&opt::PARAMS);
    if launch.command.is_empty() && !named {
        args.problems.push(report::nothing_to_fit());
    }
    args.problems.extend(meant(FIT.name, &args.options(), &launch.command, args.host));
    if args.words.iter().any(|word| word.to_string_lossy().starts_with("--gpus")) {
        args.problems.iter_mut().for_each(|problem| problem.spell(&NPROC_PER_NODE.flag(), "--gpus"));
    }
    args.finish(FitRequest { launch, card, training, accounting, format })
}

/// `--gpu H100x8` says what `--gpus 8 --gpu-memory …` says too. The more exact word counts: a card can be divided. Where
/// nothing else counts them, a card is one.
fn read_cards(args: &mut ParsedArgs, launch: &mut Launch) -> Option<&'static str> {
    let Sourced { value: Cards { card, count }, from } = args.flag(&opt::GPU, values::cards)?;
    let said = launch.memory.gpu.take().filter(|memory| memory.from.is_flag());
    launch.memory.gpu = said.or_else(|| Some(Sourced::new(card.memory(), from.clone())));
    let is_counted = launch.topology.nproc_per_node.is_some() || !launch.command.is_empty();
    let Some(count) = count.or((!is_counted).then_some(1)).map(Processes::Count) else { return Some(card.name) };
    match launch.topology.nproc_per_node.as_ref().filter(|nproc| nproc.from.is_flag() && nproc.value != count) {
        Some(nproc) => {
            let one = format!("--gpu {}x{count}", card.name);
            args.problems.push(report::contradicting_options(&one, &nproc.place(), &one));
        }
        None => launch.topology.nproc_per_node = Some(Sourced::new(count, from)),
    }
    Some(card.name)
}

fn read_training(args: &mut ParsedArgs) -> TrainingArgs {
    let number = || values::number(1, u64::from(u32::MAX), "1");
    TrainingArgs {
        model: args.one(&opt::MODEL, values::text),
        params: args.one(&opt::PARAMS, values::parameters),
        micro_batch: args.one(&opt::MICRO_BATCH, number()),
        grad_accum: args.one(&opt::GRAD_ACCUM, number()),
        seq_len: args.one(&opt::SEQ_LEN, number()),
        sequence_parallel: None,
        tuner: read_tuner(args),
        lora_rank: args.one(&opt::LORA_RANK, values::number(1, u64::from(u16::MAX), "1")),
        lora_targets: args.one(&opt::LORA_TARGETS, values::text),
        dtype: args.one(&opt::DTYPE, one_of(DTYPES)),
        optimizer: args.one(&opt::OPTIMIZER, one_of(OPTIMIZERS)),
        checkpointing: args.one(&opt::GRADIENT_CHECKPOINTING, one_of(BOOLS)),
        attention: args.one(&opt::ATTENTION, one_of(ATTENTIONS)),
        fused_loss: args.switched_on(&opt::FUSED_LOSS).map(|from| Sourced::new(true, from)),
        dropout: None,
        algorithm: None,
    }
}

/// `qlora` is LoRA on weights of 4 bits, unless other bits are given; `lora` with bits is QLoRA, too.
fn read_tuner(args: &mut ParsedArgs) -> Option<Sourced<Tuner>> {
    let bits = args.one(&opt::QUANT_BITS, one_of(BITS));
    match (args.one(&opt::TUNER, one_of(TUNERS)), bits) {
        (Some(Sourced { value: Tuner::Full, .. }), Some(bits)) => {
            let bits = opt::QUANT_BITS.flag() + &format!(" {}", bits.value);
            args.problems.push(report::contradicting_options("--tuner full", &bits, "--tuner qlora"));
            None
        }
        (Some(tuner), Some(bits)) => Some(tuner.map(|_| Tuner::Quantised(bits.value))),
        (None, Some(bits)) => Some(bits.map(Tuner::Quantised)),
        (tuner, None) => tuner,
    }
}
