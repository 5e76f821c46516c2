//! The parts of the library, which `zlaunch::testing` shows: what must hold for any input, what was recorded of DeepSpeed and
//! measured on GPUs, and what is made from the code: the documents' tables and the man page.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test that cannot go on fails, and --nocapture shows figures"
)]
#![allow(clippy::too_many_lines, reason = "a table of cases is long")]

mod allocator;
mod argv;
mod check;
mod commands;
mod configs;
mod doctor;
mod engines;
mod examples;
mod explain;
mod front_ends;
mod host;
mod hostlist;
pub mod invariants;
mod json;
mod last_look;
mod layout;
mod machine;
mod man;
mod measured;
mod model;
mod options;
mod parts;
mod patch;
mod prefix;
mod properties;
mod python;
mod python_value;
mod ranks;
mod recorded;
mod schema;
mod schema_keys;
mod secrets;
mod tables;
mod texts;
mod variables;
mod vars;
mod versions;
mod words;
mod yaml;
mod zero;
