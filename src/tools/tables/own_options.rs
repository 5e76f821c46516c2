//! The options of sub-commands besides those of a launch. What they mean is in `src/cli/options.txt`.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use super::{
    completions::SHELLS,
    fit_options::{ACCOUNTINGS, ATTENTIONS, BITS, DTYPES, OPTIMIZER_NAMES, TUNERS},
    generate::STAGES,
};
use crate::{
    base::options::{AnyValue, Given},
    cli::{
        launch::LaunchArgs,
        values::{self, REPORT_FORMATS, TEMPLATES},
    },
};

#[derive(Args)]
#[command(next_help_heading = "Model")]
pub struct FitArgs {
    pub model: Option<Given>,
    pub params: Option<Given>,
    pub gpu: Option<Given>,
    #[command(flatten)]
    pub training: TrainingOptions,
    #[arg(help_heading = "Output", value_parser = AnyValue(ACCOUNTINGS))]
    pub accounting: Option<Given>,
    #[command(flatten)]
    pub launch: LaunchArgs,
}

#[derive(Args)]
#[command(next_help_heading = "Training")]
pub struct TrainingOptions {
    #[arg(value_parser = AnyValue(TUNERS))]
    pub tuner: Option<Given>,
    pub lora_rank: Option<Given>,
    pub lora_targets: Option<Given>,
    #[arg(value_parser = AnyValue(BITS))]
    pub quant_bits: Option<Given>,
    #[arg(value_parser = AnyValue(DTYPES))]
    pub dtype: Option<Given>,
    #[arg(value_parser = AnyValue(OPTIMIZER_NAMES))]
    pub optimizer: Option<Given>,
    pub micro_batch: Option<Given>,
    pub grad_accum: Option<Given>,
    #[arg(value_parser = AnyValue(values::BOOLS))]
    pub gradient_checkpointing: Option<Given>,
    #[arg(value_parser = AnyValue(ATTENTIONS))]
    pub attention: Option<Given>,
    pub fused_loss: bool,
}

#[derive(Args)]
#[command(next_help_heading = "Config")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
pub struct GenerateArgs {
    pub micro_batch: Option<Given>,
    pub grad_accum: Option<Given>,
    pub world_size: Option<Given>,
    #[arg(value_parser = AnyValue(STAGES))]
    pub stage: Option<Given>,
    pub offload: bool,
    pub bf16: bool,
    #[arg(conflicts_with = "bf16")]
    pub fp16: bool,
    #[arg(short)]
    pub out: Option<Given>,
    #[arg(requires = "out", conflicts_with_all = ["stage", "offload"])]
    pub tiers: bool,
    pub force: bool,
}

#[derive(Args)]
pub struct DiffArgs {
    #[arg(required = true, num_args = 1..=2, value_names = ["A", "B"], value_parser = AnyValue(TEMPLATES))]
    pub configs: Vec<Given>,
    #[arg(help_heading = None::<&str>, last = true, num_args = 1.., hide = true)]
    pub command: Vec<OsString>,
}

#[derive(Args)]
pub struct TemplatesArgs {
    #[arg(value_parser = AnyValue(values::TEMPLATES))]
    pub name: Option<Given>,
    #[arg(help_heading = "Output", requires = "name")]
    pub raw: bool,
    #[arg(value_parser = AnyValue(REPORT_FORMATS), help_heading = "Output", conflicts_with = "name")]
    pub format: Option<Given>,
}

#[derive(Args)]
pub struct ShimsArgs {
    #[arg(value_parser = AnyValue(values::SHIM_ACTIONS))]
    pub action: Given,
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: Option<Given>,
}

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct CheckArgs {
    pub fix: bool,
    pub diff: bool,
    #[command(flatten)]
    pub launch: LaunchArgs,
}

#[derive(Args)]
pub struct CompletionsArgs {
    #[arg(value_parser = AnyValue(SHELLS))]
    pub shell: Given,
}

#[derive(Args)]
#[command(next_help_heading = "Machines")]
pub struct DoctorArgs {
    pub timeout: Option<Given>,
    // zlaunch gives it to those that it starts on the other machines.
    #[arg(hide = true)]
    pub answer: bool,
    #[command(flatten)]
    pub launch: LaunchArgs,
}

#[derive(Args)]
#[command(next_help_heading = "Rehearsal")]
pub struct RehearseArgs {
    pub online: bool,
    pub timeout: Option<Given>,
    #[command(flatten)]
    pub launch: LaunchArgs,
}

#[derive(Args)]
#[command(next_help_heading = "Schema")]
pub struct SchemaArgs {
    pub deepspeed_version: Option<Given>,
}

#[derive(Args)]
pub struct HelpArgs {
    pub command: Option<Given>,
}
