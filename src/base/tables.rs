//! Variables, options, units and characters, and what is wrong with a text that is not JSON.

pub(super) mod characters;
pub(super) mod json_faults;
pub(crate) mod options;
pub(super) mod units;
pub(super) mod var_names;
pub(super) mod vars;
pub(super) mod yaml_words;
