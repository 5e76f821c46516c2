//! The names of the rules, other names of options, and what secrets look like.

pub mod other_names;
pub mod outputs;
pub mod rules;
pub mod secrets;
