//! What the user's command runs, and how its arguments are read.

pub(crate) mod arguments;
pub mod argv;
pub(crate) mod defaults;
mod front_end;
pub(crate) mod inputs;
mod job;
pub mod model;
mod nested;
pub(crate) mod option_names;
pub(crate) mod prefix;
pub mod python;
mod run_file;
pub(crate) mod script;
pub(crate) mod script_source;
pub(crate) mod shipped;
pub mod target;
pub mod trainer;
