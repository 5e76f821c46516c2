//! The sub-commands: a file for each, and a row in the table.

pub mod check;
pub mod completions;
mod corrections;
pub mod diff;
pub mod doctor;
pub mod explain;
pub mod fit;
mod generate;
pub mod help;
pub mod launch;
pub mod output;
mod prelude;
pub mod proof;
pub mod rehearse;
pub mod schema;
pub mod shims;
pub mod tables;
pub mod templates;

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
