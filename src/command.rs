//! What the user's command runs, and how its arguments are read.

pub(crate) mod arguments;
pub mod argv;
pub(crate) mod defaults;
mod front_end;
pub mod inputs;
mod job;
pub mod model;
pub mod nested;
pub mod option_names;
pub(crate) mod prefix;
pub mod python;
mod run_file;
pub mod script;
pub mod script_source;
pub mod shipped;
pub mod target;
pub mod trainer;
