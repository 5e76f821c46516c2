//! The sub-commands.

use crate::{
    cli::{Subcommand, Tools, launch::LaunchArgs},
    tools::{
        check, completions, diff, doctor, explain, fit, generate, help, rehearse, schema, shims,
        templates,
    },
};

/// In the order of the help.
pub static TOOLS: Tools = Tools {
    launch: Subcommand::of::<LaunchArgs>(""),
    common: &[
        Subcommand::of::<check::CheckArgs>("check"),
        Subcommand::of::<rehearse::RehearseArgs>("rehearse"),
        Subcommand::of::<fit::FitArgs>("fit"),
        Subcommand::of::<templates::TemplatesArgs>("templates"),
        Subcommand::of::<explain::ExplainArgs>("explain"),
        Subcommand::of::<diff::DiffArgs>("diff"),
    ],
    more: &[
        Subcommand::of::<generate::GenerateArgs>("generate"),
        Subcommand::of::<doctor::DoctorArgs>("doctor"),
        Subcommand::of::<shims::ShimsArgs>("shims"),
        Subcommand::of::<schema::SchemaArgs>("schema"),
        Subcommand::of::<completions::CompletionsArgs>("completions"),
        Subcommand::of::<help::HelpArgs>("help"),
    ],
};
