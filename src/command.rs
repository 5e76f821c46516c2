//! The user's command: what it runs, and how its arguments are read.

pub(crate) mod allocator;
pub(crate) mod argument_class;
pub mod argv;
pub(crate) mod front_end;
pub mod input_paths;
pub(crate) mod job;
pub mod model;
pub(crate) mod parser;
pub(crate) mod prefix;
pub mod python;
pub(crate) mod run_file;
pub mod script;
pub mod section_option;
pub mod shipped;
pub mod tables;
pub mod target;
pub mod trainer;
