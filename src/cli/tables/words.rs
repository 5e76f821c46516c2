//! The words that options take.

use crate::{base::options::Words, request::Format};

pub const FORMATS: Words<Format> = || {
    vec![
        ("text", Format::Text),
        ("json", Format::Json),
        ("shell", Format::Shell),
    ]
};
pub const REPORT_FORMATS: Words<Format> = || vec![("text", Format::Text), ("json", Format::Json)];
pub const BOOLS: Words<bool> = || vec![("true", true), ("false", false)];
pub const SHIM_ACTIONS: Words<&str> = || {
    vec![
        ("install", "install"),
        ("remove", "remove"),
        ("list", "list"),
    ]
};
