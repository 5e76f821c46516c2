//! Variables, options, units and characters, and what is wrong with a text that is not JSON.

pub mod characters;
pub mod json_faults;
pub mod options;
pub mod units;
pub mod var_names;
pub mod vars;
pub mod yaml_words;
