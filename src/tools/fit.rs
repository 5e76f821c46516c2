//! `zlaunch fit`: its options beside those of a launch, and the printed answer.

use clap::Command;

use super::{
    prelude::*,
    tables::fit_options::{
        ACCOUNTINGS, ATTENTIONS, BITS, DTYPES, FORMATS, OPTIMIZER_NAMES, SHOWN, TUNERS,
    },
};
use crate::{
    base::source::{Given as _, Sourced},
    cli::{Request, mistakes::did_you_mean},
    fit::{self, FitFormat, FitRequest, REAL, TrainingArgs, Tuner},
    host::cards::Cards,
    ranks::topology::Processes,
};

#[derive(Args)]
#[command(next_help_heading = "Model")]
pub struct FitArgs {
    model: Option<Given>,
    params: Option<Given>,
    gpu: Option<Given>,
    #[command(flatten)]
    training: TrainingOptions,
    #[arg(help_heading = "Output", value_parser = AnyValue(ACCOUNTINGS))]
    accounting: Option<Given>,
    #[command(flatten)]
    launch: LaunchArgs,
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
    #[arg(value_parser = AnyValue(OPTIMIZER_NAMES))]
    optimizer: Option<Given>,
    micro_batch: Option<Given>,
    grad_accum: Option<Given>,
    #[arg(value_parser = AnyValue(values::BOOLS))]
    gradient_checkpointing: Option<Given>,
    #[arg(value_parser = AnyValue(ATTENTIONS))]
    attention: Option<Given>,
    fused_loss: bool,
}

impl Tool for FitArgs {
    const LAUNCH_OPTIONS: LaunchOptions = LaunchOptions::AllShowing(SHOWN);

    fn describe(command: Command) -> Command {
        command.mut_args(|arg| match arg.get_id().as_str() {
            "nproc_per_node" => arg.long("gpus").alias("nproc-per-node"),
            "format" => arg.value_parser(AnyValue(FORMATS)),
            _ => arg,
        })
    }

    fn read(self, mut reader: Reader) -> Requested {
        // Not that of ZLAUNCH_FORMAT, which is for plans.
        let format = reader.given("format").pop();
        let format = reader.one(format, one_of(FORMATS)).value();
        let mut launch = launch::read_described(self.launch.command, &mut reader);
        let card = read_cards(self.gpu, &mut reader, &mut launch);
        let accounting = reader.one(self.accounting, one_of(ACCOUNTINGS)).value();
        if launch.command.is_empty() && self.model.is_none() && self.params.is_none() {
            reader.problems.push(report::nothing_to_fit());
        }
        let training = TrainingArgs {
            model: reader.one(self.model, values::text),
            params: reader.one(self.params, values::parameters),
            trusts_names: true,
            ..read_training(self.training, &mut reader)
        };
        let problem = did_you_mean(&reader, &launch.command);
        reader.problems.extend(problem);
        reader.answer(FitRequest {
            launch,
            card,
            training,
            accounting: accounting.unwrap_or(REAL),
            format: format.unwrap_or(FitFormat::Text),
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
    let memory = &mut launch.memory.gpu;
    if !memory.as_ref().is_some_and(|memory| memory.from.is_flag()) {
        *memory = Some(Sourced::new(card.memory(), from.clone()));
    }
    let Some(count) = count.map(Processes::Count) else {
        return Some(card.name);
    };
    match &mut launch.topology.nproc_per_node {
        Some(nproc) if nproc.from.is_flag() && nproc.value != count => {
            let one = format!("--gpu {}x{count}", card.name);
            reader
                .problems
                .push(report::contradicting_options(&one, &nproc.spelling(), &one));
        }
        nproc => *nproc = Some(Sourced::new(count, from)),
    }
    Some(card.name)
}

fn read_training(options: TrainingOptions, reader: &mut Reader) -> TrainingArgs {
    let number = || values::number(1, u64::from(u32::MAX), "1");
    let rank = values::number(1, u64::from(u16::MAX), "1");
    let targets = reader.one(options.lora_targets, values::text);
    TrainingArgs {
        micro_batch: reader.one(options.micro_batch, number()).value(),
        grad_accum: reader.one(options.grad_accum, number()).value(),
        tuner: read_tuner(options.tuner, options.quant_bits, reader),
        lora_rank: reader.one(options.lora_rank, rank).value(),
        lora_targets: targets.map(|targets| targets.value),
        dtype: reader.one(options.dtype, one_of(DTYPES)).value(),
        optimizer: reader
            .one(options.optimizer, one_of(OPTIMIZER_NAMES))
            .value(),
        checkpointing: reader
            .one(options.gradient_checkpointing, one_of(values::BOOLS))
            .value(),
        attention: reader.one(options.attention, one_of(ATTENTIONS)).value(),
        fused_loss: options.fused_loss,
        ..TrainingArgs::default()
    }
}

/// `qlora` is LoRA on weights of 4 bits, unless other bits are given; `lora` with bits is QLoRA, too.
fn read_tuner(tuner: Option<Given>, bits: Option<Given>, reader: &mut Reader) -> Option<Tuner> {
    let bits = reader.one(bits, one_of(BITS));
    let tuner = reader.one(tuner, one_of(TUNERS)).value();
    let Some(bits) = bits else {
        return tuner;
    };
    if tuner == Some(Tuner::Full) {
        let given = bits.spelling();
        let problem = report::contradicting_options("--tuner full", &given, "--tuner qlora");
        reader.problems.push(problem);
    }
    Some(Tuner::Quantised(bits.value))
}

impl Request for FitRequest {
    fn run(mut self: Box<Self>, host: &Host) -> Outcome {
        self.launch.read_piped_config(host)?;
        let report = fit::answer(&self, host)?;
        report::report(&self.launch.warnings, &Secrets::of(host));
        match self.format {
            FitFormat::Json => out(&format!("{:#}\n", report.json())),
            FitFormat::Svg => out_bytes(report.svg().as_bytes()),
            FitFormat::Text => show(&report.text(terminal::width())),
        }?;
        Ok(u8::from(report.does_not_fit()))
    }
}
