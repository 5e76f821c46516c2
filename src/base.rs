//! Values and formats that know no domain.

pub mod base64;
pub mod hash;
pub mod json;
pub mod layout;
pub mod options;
pub mod python_value;
pub mod recorded;
pub mod rows;
pub mod shell;
pub mod size;
pub mod source;
pub mod vars;
pub mod yaml;
