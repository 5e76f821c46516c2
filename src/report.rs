//! Problems and how they are told: what a problem is, every sentence of failure by subject, secrets, and reading the
//! files a user names. One function a sentence; the functions decide nothing but the words.

mod effects;
pub(crate) mod fix;
mod place;
mod printing;
mod problem;
mod ranks;
pub(crate) mod reading;
mod rule;
pub mod secrets;
mod suggestion;
mod trainers;
mod usage;

pub(crate) use effects::*;
pub(crate) use place::Place;
pub use printing::*;
pub use problem::*;
pub(crate) use ranks::*;
pub(crate) use reading::{not_a_file, unreadable_file};
pub use rule::{Rule, RuleSubject};
pub use suggestion::*;
pub(crate) use trainers::*;
pub(crate) use usage::*;
