//! Formats and values that several layers share. No module imports another layer, and each is used by at least two.

pub mod bytes;
pub mod json;
pub mod layout;
pub mod options;
pub mod python_value;
pub mod recorded;
pub mod shell;
pub mod size;
pub mod source;
mod tables;
pub mod texts;
pub mod vars;
pub mod yaml;
