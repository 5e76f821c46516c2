//! The built binary, from outside. Trainers are stood in for by a `python3` that only records how it was executed; the
//! real ones run in `tests/real`.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on fails"
)]
#![allow(clippy::too_many_lines, reason = "a table of cases is long")]

mod arguments;
mod auto;
mod check;
mod defaults;
mod diff;
mod doctor;
mod documents;
mod editor;
mod engines;
mod environment;
mod evidence;
mod exec;
mod explain;
#[path = "../fake.rs"]
mod fake;
mod faults;
mod files;
mod first_fix;
mod fit;
mod fix;
mod front_ends;
mod generate;
mod last_look;
mod launched_once;
mod layers;
mod licences;
mod limits;
mod local;
mod missing;
mod mistakes;
mod more_front_ends;
mod own_files;
mod pasted;
mod prefixes;
mod python_package;
mod ranks;
mod record;
mod recorded;
mod refusals;
mod rehearse;
mod runners;
mod sandbox;
mod scripts;
mod secrets;
mod shims;
mod slurm;
mod source_layers;
mod templates;
mod terminal;
mod together;
mod trust;
mod versions;
