//! The sub-commands: a file for each, and a row in the table.

pub(crate) mod check;
pub(crate) mod completions;
mod corrections;
pub(crate) mod diff;
pub mod doctor;
pub mod explain;
pub(crate) mod fit;
mod generate;
pub(crate) mod help;
pub(crate) mod launch;
pub(crate) mod output;
pub(crate) mod proof;
pub(crate) mod rehearse;
pub(crate) mod schema;
pub(crate) mod shims;
pub(crate) mod tables;
pub(crate) mod templates;

use crate::cli::{Subcommand, Tools, launch::LaunchArgs};

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
