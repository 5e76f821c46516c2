//! The words of YAML 1.1 that are no strings.

use serde_json::Value;

pub const WORDS: &[(&[&str], Value)] = &[
    (&["", "~", "null", "Null", "NULL"], Value::Null),
    (
        &[
            "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON",
        ],
        Value::Bool(true),
    ),
    (
        &[
            "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF",
        ],
        Value::Bool(false),
    ),
];

pub const DEEPEST: usize = 64;

/// Aliases can make a small file very large.
pub const MOST_VALUES: usize = 100_000;
