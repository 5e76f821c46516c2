//! `zlaunch fit`: its options beside those of a launch, and the printed answer.

use anstream::{AutoStream, ColorChoice};
use clap::{Args, Command};

use super::output::out_bytes;
use crate::base::layout::escape_controls;
use crate::base::options::{AnyValue, Given};
use crate::base::source::Sourced;
use crate::cli::did_you_mean::did_you_mean;
use crate::cli::launch::{self, LaunchArgs};
use crate::cli::values::{self, Words, one_of};
use crate::cli::{Reader, Request, Requested, Tool, usage};
use crate::fit::{
    self, Accounting, Attention, Dtype, FitFormat, FitRequest, Optimizer, TrainingArgs, Tuner,
};
use crate::host::cards::Cards;
use crate::host::{Host, terminal};
use crate::ranks::topology::Processes;
use crate::report::fix::give;
use crate::report::secrets::Secrets;
use crate::report::{self, Problem};
use crate::request::Launch;
use crate::request::understood::trains;

#[derive(Args)]
pub(crate) struct FitArgs {
    #[command(flatten)]
    model: ModelOptions,
    #[command(flatten)]
    training: TrainingOptions,
    #[arg(help_heading = "Output", value_parser = AnyValue(ACCOUNTINGS))]
    accounting: Option<Given>,
    #[command(flatten)]
    launch: LaunchArgs,
}

#[derive(Args)]
#[command(next_help_heading = "Model")]
struct ModelOptions {
    model: Option<Given>,
    params: Option<Given>,
    gpu: Option<Given>,
}

#[derive(Args)]
#[command(next_help_heading = "Training")]
struct TrainingOptions {
    #[arg(value_parser = AnyValue(TUNERS))]
    tuner: Option<Given>,
    lora_rank: Option<Given>,
    lora_targets: Option<Given>,
    #[arg(value_parser = AnyValue(BITS))]
    quant_bits: Option<Given>,
    #[arg(value_parser = AnyValue(DTYPES))]
    dtype: Option<Given>,
    #[arg(value_parser = AnyValue(OPTIMIZERS))]
    optimizer: Option<Given>,
    micro_batch: Option<Given>,
    grad_accum: Option<Given>,
    #[arg(value_parser = AnyValue(BOOLS))]
    gradient_checkpointing: Option<Given>,
    #[arg(value_parser = AnyValue(ATTENTIONS))]
    attention: Option<Given>,
    fused_loss: bool,
}

const FORMATS: Words<FitFormat> = || {
    vec![
        ("text", FitFormat::Text),
        ("json", FitFormat::Json),
        ("svg", FitFormat::Svg),
    ]
};
const TUNERS: Words<Tuner> = || {
    vec![
        ("full", Tuner::Full),
        ("lora", Tuner::Lora),
        ("qlora", Tuner::Quantised(4)),
    ]
};
const BITS: Words<u64> = || vec![("4", 4), ("8", 8)];
const DTYPES: Words<Dtype> = || Dtype::NAMES.to_vec();
const OPTIMIZERS: Words<Optimizer> = || Optimizer::of_trainers().collect();
const BOOLS: Words<bool> = || vec![("true", true), ("false", false)];
const ATTENTIONS: Words<Attention> = || {
    vec![
        ("flash", Attention::Flash),
        ("sdpa", Attention::Flash),
        ("eager", Attention::Eager),
    ]
};
const ACCOUNTINGS: Words<Accounting> = || {
    vec![
        ("real", Accounting::Real),
        ("textbook", Accounting::Textbook),
    ]
};

impl Tool for FitArgs {
    const SHOWN: &'static [&'static str] = &[
        "deepspeed",
        "template_dir",
        "gpu_memory",
        "host_memory",
        "seq_len",
        "nproc_per_node",
        "nnodes",
        "trainer",
        "format",
    ];

    fn describe(command: Command) -> Command {
        command.mut_args(|arg| match arg.get_id().as_str() {
            "nproc_per_node" => arg.long("gpus").alias("nproc-per-node"),
            "format" => arg.value_parser(AnyValue(FORMATS)),
            _ => arg,
        })
    }

    fn read(self, mut reader: Reader) -> Requested {
        let FitArgs {
            model,
            training,
            accounting,
            launch: LaunchArgs {
                mut options,
                command,
            },
        } = self;
        reader.split_off(&command);
        // Not that of ZLAUNCH_FORMAT, which is for plans.
        let format = reader
            .one(options.output.format.take(), one_of(FORMATS))
            .map_or(FitFormat::Text, |format| format.value);
        let mut launch = launch::read_described(options, command, &mut reader);
        let card = read_cards(model.gpu.clone(), &mut reader, &mut launch);
        let accounting = reader
            .one(accounting, one_of(ACCOUNTINGS))
            .map_or(Accounting::Real, |given| given.value);
        if launch.command.is_empty() && model.model.is_none() && model.params.is_none() {
            reader.problems.push(report::nothing_to_fit());
        }
        let training = read_training(model, training, &mut reader);
        let first = launch.command.first();
        let stray = first.filter(|word| !trains(word) && reader.host.find_program(word).is_none());
        // The trainer need not be on this machine.
        let problem = did_you_mean(&reader, &launch.command).or_else(|| {
            let word = stray?.to_string_lossy();
            Some(report::unexpected_argument(
                &word,
                "zlaunch fit",
                usage("fit"),
            ))
        });
        reader.problems.extend(problem);
        reader.answer(FitRequest {
            launch,
            card,
            training,
            accounting,
            format,
        })
    }
}

/// `--gpu H100x8` stands for `--gpus 8 --gpu-memory …`, which win because a card can be divided.
fn read_cards(
    given: Option<Given>,
    reader: &mut Reader,
    launch: &mut Launch,
) -> Option<&'static str> {
    let Sourced {
        value: Cards { card, count },
        from,
    } = reader.one(given, values::cards)?;
    let said = launch
        .memory
        .gpu
        .take()
        .filter(|memory| memory.from.is_flag());
    launch.memory.gpu = said.or_else(|| Some(Sourced::new(card.memory(), from.clone())));
    let Some(count) = count.map(Processes::Count) else {
        return Some(card.name);
    };
    match launch
        .topology
        .nproc_per_node
        .as_ref()
        .filter(|nproc| nproc.from.is_flag() && nproc.value != count)
    {
        Some(nproc) => {
            let one = format!("--gpu {}x{count}", card.name);
            reader
                .problems
                .push(report::contradicting_options(&one, &nproc.spelling(), &one));
        }
        None => launch.topology.nproc_per_node = Some(Sourced::new(count, from)),
    }
    Some(card.name)
}

fn read_training(
    model: ModelOptions,
    options: TrainingOptions,
    reader: &mut Reader,
) -> TrainingArgs {
    let number = || values::number(1, u64::from(u32::MAX), "1");
    let rank = values::number(1, u64::from(u16::MAX), "1");
    TrainingArgs {
        model: reader.one(model.model, values::text),
        params: reader.one(model.params, values::parameters),
        micro_batch: value(options.micro_batch, number(), reader),
        grad_accum: value(options.grad_accum, number(), reader),
        tuner: read_tuner(options.tuner, options.quant_bits, reader),
        lora_rank: value(options.lora_rank, rank, reader),
        lora_targets: value(options.lora_targets, values::text, reader),
        dtype: value(options.dtype, one_of(DTYPES), reader),
        optimizer: value(options.optimizer, one_of(OPTIMIZERS), reader),
        checkpointing: value(options.gradient_checkpointing, one_of(BOOLS), reader),
        attention: value(options.attention, one_of(ATTENTIONS), reader),
        fused_loss: options.fused_loss,
        ..TrainingArgs::default()
    }
}

/// An option whose source does not matter.
fn value<T>(
    given: Option<Given>,
    read: impl Fn(&Given) -> Result<T, Problem>,
    reader: &mut Reader,
) -> Option<T> {
    Some(reader.one(given, read)?.value)
}

/// `qlora` is LoRA on weights of 4 bits, unless other bits are given; `lora` with bits is QLoRA, too.
fn read_tuner(tuner: Option<Given>, bits: Option<Given>, reader: &mut Reader) -> Option<Tuner> {
    let bits = reader.one(bits, one_of(BITS));
    let tuner = value(tuner, one_of(TUNERS), reader);
    let Some(bits) = bits else {
        return tuner;
    };
    if tuner == Some(Tuner::Full) {
        reader.problems.push(report::contradicting_options(
            "--tuner full",
            &bits.spelling(),
            "--tuner qlora",
        ));
    }
    Some(Tuner::Quantised(bits.value))
}

impl Request for FitRequest {
    fn run(mut self: Box<Self>, host: &Host) -> Result<u8, Vec<Problem>> {
        self.launch.read_piped_config(host)?;
        let report = fit::answer(&self, host).map_err(|mut problems| {
            // The GPUs need not be on this machine.
            for problem in problems
                .iter_mut()
                .filter(|problem| problem.asks_for_gpu_count())
            {
                problem.what = "the number of GPUs is unknown".to_string();
                problem.fixes = give("--gpu", "H100x8")
                    .or(give("--gpus", 8).and(give("--gpu-memory", "80GiB")));
            }
            problems
        })?;
        report::report(&self.launch.warnings, &Secrets::of(host));
        let colour = AutoStream::choice(&std::io::stdout()) != ColorChoice::Never;
        let text = match self.format {
            FitFormat::Json => escape_controls(&format!("{:#}\n", report.json())),
            FitFormat::Svg => report.svg(),
            FitFormat::Text => report.text(fit::View {
                width: terminal::width(),
                colour,
            }),
        };
        out_bytes(text.as_bytes()).map(|_| u8::from(report.does_not_fit()))
    }
}
