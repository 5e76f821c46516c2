//! The user's command: what it runs, and how its arguments are read.

pub mod allocator;
pub mod argument_class;
pub mod argv;
pub mod front_end;
pub mod input_paths;
pub mod job;
pub mod model;
pub mod parser;
pub mod prefix;
pub mod python;
pub mod run_file;
pub mod script;
pub mod tables;
pub mod target;
pub mod trainer;
