//! A problem is a value: its rule, its places and its fixes. Here are also its printing, the messages that more than one
//! place needs, by subject, secrets, and reading the files that a user names. Other messages stand beside the code that finds
//! the problem.

pub mod fix;
mod messages;
mod nearest;
pub mod prelude;
mod printing;
mod problem;
pub mod reading;
pub mod secrets;
mod tables;

pub use messages::*;
pub use nearest::nearest;
pub use printing::*;
pub use problem::*;
pub use reading::not_a_file;
pub use tables::outputs::OutputFile;
pub use tables::rules::{Rule, RuleSubject};
