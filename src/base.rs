//! Values and formats that know no domain.

pub(crate) mod base64;
pub(crate) mod hash;
pub(crate) mod json;
pub(crate) mod layout;
pub(crate) mod lines;
pub(crate) mod options;
pub(crate) mod python_value;
pub(crate) mod shell;
pub(crate) mod size;
pub(crate) mod source;
pub(crate) mod vars;
pub(crate) mod yaml;
