//! A problem is a value: its rule, its places and its fixes. Here are also its printing, the messages that more than one
//! place needs, by subject, secrets, and reading the files that a user names. Other messages stand beside the code that finds
//! the problem.

mod effects;
pub(crate) mod fix;
mod language;
mod place;
mod printing;
mod problem;
pub(crate) mod reading;
mod rule;
pub mod secrets;
mod suggestion;
mod tables;
mod trainers;
mod usage;

pub(crate) use effects::*;
pub(crate) use language::Language;
pub(crate) use place::Place;
pub use printing::*;
pub use problem::*;
pub(crate) use reading::{not_a_file, unreadable_file};
pub use suggestion::*;
pub(crate) use tables::outputs::OutputFile;
pub use tables::rules::{Rule, RuleSubject};
pub(crate) use trainers::*;
pub(crate) use usage::*;
