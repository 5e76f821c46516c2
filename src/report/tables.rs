//! The names of the rules, other names of options, and what secrets look like.

pub(super) mod other_names;
pub(super) mod outputs;
pub(super) mod rules;
pub(super) mod secrets;
pub(super) mod usual_values;
