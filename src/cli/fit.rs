//! `zlaunch fit`: the options of a launch, and what the training is.

use std::ffi::OsString;

use clap::Command;

use super::reader::{Reader, flag};
use super::{Request, clap_arg, shown, trailing_command};
use crate::base::options::{FIT, FIT_LAUNCH, OPTIONS, Opt};
use crate::base::source::Sourced;
use crate::fit::{self, Accounting, Attention, Dtype, Optimizer, TrainingArgs, Tuner};
use crate::host::Host;
use crate::report::{self, Problem};
use crate::request::{Format, Output};

const USAGE: &str = "zlaunch fit [OPTIONS] [-- COMMAND [ARGS]...]";

const EXAMPLES: &str = "The training command says what is not said here. Exit status: 0, or 1 if nothing fits.

\x1b[1m\x1b[4mExamples:\x1b[0m
  zlaunch fit --params 8B --gpus 8 --gpu-memory 80GiB
  zlaunch fit --gpus 8 -- swift sft --model Qwen/Qwen3-8B --tuner_type full --max_length 4096";

/// The options of a launch as they are described here.
pub(crate) fn launch_options() -> impl Iterator<Item = Opt> {
    OPTIONS.iter().map(|option| match option.name {
        "nproc-per-node" => Opt { help: "GPUs of each machine; --gpus is the same", ..*option },
        "format" => Opt { help: "text or json", ..*option },
        name => Opt { hidden: !FIT_LAUNCH.contains(&name), ..*option },
    })
}

fn command() -> Command {
    // Only `clap_arg` makes arguments: clap's setters are inlined at each call site, so changing its result here would make
    // the binary larger.
    let launch = launch_options().map(|option| clap_arg(&option));
    Command::new("zlaunch fit")
        .about("Tell what a training needs under each template, and which one to take")
        .override_usage(USAGE)
        .after_help(EXAMPLES)
        .max_term_width(110)
        .no_binary_name(true)
        .args_override_self(true)
        .args(FIT.iter().map(clap_arg))
        .args(launch)
        .arg(trailing_command())
}

pub(super) fn parse(argv: Vec<OsString>, host: &Host) -> Result<Request, Vec<Problem>> {
    let matches = match command().try_get_matches_from(argv.into_iter().skip(2)) {
        Ok(matches) => matches,
        Err(why) => return shown(&why).map(Request::Show),
    };
    let mut reader = Reader::new(&matches, host);
    let command = matches.get_many("command").into_iter().flatten().cloned().collect();
    let launch = reader.described(command, |_| Output { dry_run: None, quiet: false, verbose: false, check: false });
    let given = matches.get_one::<OsString>("format").is_some();
    let format = given.then(|| reader.one_of("format", [("text", Format::Text), ("json", Format::Json)])).flatten();
    let accounting = reader.one_of("accounting", [("real", Accounting::Real), ("textbook", Accounting::Textbook)]);
    let training = reader.training();
    if !reader.problems.is_empty() {
        return Err(reader.problems);
    }
    Ok(Request::Fit(Box::new(fit::FitRequest {
        launch,
        training,
        accounting: accounting.map_or(Accounting::Real, |sourced| sourced.value),
        format: format.map_or(Format::Text, |sourced| sourced.value),
    })))
}

impl Reader<'_> {
    fn training(&mut self) -> TrainingArgs {
        let fused_loss = self.matches.get_flag("fused-loss").then(|| Sourced::new(true, flag("fused-loss")));
        let optimizers: Vec<_> = Optimizer::ALL.iter().map(|it| (it.name, *it)).collect();
        TrainingArgs {
            model: self.text("model"),
            params: self.measured("params", "8B", fit::parameters),
            micro_batch: self.number("micro-batch", 1, u64::from(u32::MAX)),
            grad_accum: self.number("grad-accum", 1, u64::from(u32::MAX)),
            seq_len: self.number("seq-len", 1, u64::from(u32::MAX)),
            tuner: self.tuner(),
            lora_rank: self.number("lora-rank", 1, u64::from(u16::MAX)),
            lora_targets: self.text("lora-targets"),
            dtype: self.one_of("dtype", Dtype::NAMES.iter().copied()),
            optimizer: self.one_of("optimizer", optimizers),
            checkpointing: self.one_of("gradient-checkpointing", [("true", true), ("false", false)]),
            attention: self.one_of(
                "attention",
                [("flash", Attention::Flash), ("sdpa", Attention::Flash), ("eager", Attention::Eager)],
            ),
            fused_loss,
            dropout: None,
        }
    }

    /// `qlora` is LoRA on 4 bits, and LoRA on so many bits is QLoRA.
    fn tuner(&mut self) -> Option<Sourced<Tuner>> {
        let bits = self.one_of("quant-bits", [("4", 4), ("8", 8)]);
        let lora = bits.as_ref().map_or(Tuner::Lora, |sourced| Tuner::Quantised(sourced.value));
        let four = if lora == Tuner::Lora { Tuner::Quantised(4) } else { lora };
        let named = self.one_of("tuner", [("full", Tuner::Full), ("lora", lora), ("qlora", four)]);
        if let (Some(Sourced { value: Tuner::Full, .. }), Some(bits)) = (&named, &bits) {
            let bits = format!("--quant-bits {}", bits.value);
            self.problems.push(report::contradicting_options("--tuner full", &bits, "--tuner qlora"));
        }
        named.or_else(|| bits.map(|sourced| sourced.map(Tuner::Quantised)))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn clap_accepts_the_table() {
        super::command().debug_assert();
    }
}
