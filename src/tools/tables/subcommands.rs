//! The sub-commands.

use crate::{
    cli::{Subcommand, Tools, launch::LaunchArgs},
    tools::{
        explain::ExplainArgs,
        tables::own_options::{
            CheckArgs, CompletionsArgs, DiffArgs, DoctorArgs, FitArgs, GenerateArgs, HelpArgs,
            RehearseArgs, SchemaArgs, ShimsArgs, TemplatesArgs,
        },
    },
};

/// In the order of the help.
pub static TOOLS: Tools = Tools {
    launch: Subcommand::of::<LaunchArgs>(""),
    common: &[
        Subcommand::of::<CheckArgs>("check"),
        Subcommand::of::<RehearseArgs>("rehearse"),
        Subcommand::of::<FitArgs>("fit"),
        Subcommand::of::<TemplatesArgs>("templates"),
        Subcommand::of::<ExplainArgs>("explain"),
        Subcommand::of::<DiffArgs>("diff"),
    ],
    more: &[
        Subcommand::of::<GenerateArgs>("generate"),
        Subcommand::of::<DoctorArgs>("doctor"),
        Subcommand::of::<ShimsArgs>("shims"),
        Subcommand::of::<SchemaArgs>("schema"),
        Subcommand::of::<CompletionsArgs>("completions"),
        Subcommand::of::<HelpArgs>("help"),
    ],
};
