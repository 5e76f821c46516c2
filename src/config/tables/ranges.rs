//! The ranges of numbers in the recorded file: what they hold, and their limits in JSON Schema.

use std::ops::Bound::{self, Excluded, Included, Unbounded};

#[derive(Clone, Copy)]
pub struct NumberRange {
    /// In the recorded file.
    pub written: &'static str,
    /// Continues a sentence such as "a number".
    pub name: &'static str,
    pub bounds: (Bound<f64>, Bound<f64>),
    /// The limits, and which of true and false are outside.
    pub limits: &'static str,
    /// The same where a text may be a number.
    pub limits_with_text: &'static str,
    /// The same where fractions are cut off, so that -0.5 is 0.
    pub limits_of_cut: &'static str,
}

/// The first is that of a key without limits.
pub const RANGES: &[NumberRange] = &[
    NumberRange {
        written: "-",
        name: "",
        bounds: (Unbounded, Unbounded),
        limits: "{}",
        limits_with_text: "{}",
        limits_of_cut: "{}",
    },
    NumberRange {
        written: ">=0",
        name: ", 0 or more",
        bounds: (Included(0.0), Unbounded),
        limits: r#"{"minimum": 0}"#,
        limits_with_text: r#"{"minimum": 0, "pattern": "^\\s*([^\\s-]|-[0_.]+\\s*$)"}"#,
        limits_of_cut: r#"{"exclusiveMinimum": -1.0, "pattern": "^\\s*([^\\s-]|-[0_.]+\\s*$)"}"#,
    },
    NumberRange {
        written: ">=1",
        name: ", 1 or more",
        bounds: (Included(1.0), Unbounded),
        limits: r#"{"minimum": 1, "not": {"enum": [false]}}"#,
        limits_with_text: r#"{"minimum": 1, "not": {"enum": [false]}, "pattern": "^\\s*([^\\s-]|-[0_.]+\\s*$)"}"#,
        limits_of_cut: r#"{"minimum": 1, "not": {"enum": [false]}, "pattern": "^\\s*([^\\s-]|-[0_.]+\\s*$)"}"#,
    },
    NumberRange {
        written: ">0",
        name: " above 0",
        bounds: (Excluded(0.0), Unbounded),
        limits: r#"{"exclusiveMinimum": 0, "not": {"enum": [false]}}"#,
        limits_with_text: r#"{"exclusiveMinimum": 0, "not": {"enum": [false]}, "pattern": "^[^-]*[1-9]"}"#,
        limits_of_cut: r#"{"exclusiveMinimum": 0, "not": {"enum": [false]}, "pattern": "^[^-]*[1-9]"}"#,
    },
    // With an exponent, a text has the usual form. No whole number has such a range.
    NumberRange {
        written: "0..1",
        name: " from 0 to 1",
        bounds: (Included(0.0), Included(1.0)),
        limits: r#"{"minimum": 0, "maximum": 1}"#,
        limits_with_text: r#"{"minimum": 0, "maximum": 1, "pattern": "^\\s*(\\+?([0_]*(\\.[0-9_]*)?|[0_]*1(\\.0*)?)|-[0_.]+|\\+?[0-9](\\.[0-9]*)?[eE]-[0_]*[1-9][0-9_]*)\\s*$"}"#,
        limits_of_cut: r#"{"minimum": 0, "maximum": 1}"#,
    },
    NumberRange {
        written: "(0..1)",
        name: " between 0 and 1, exclusive",
        bounds: (Excluded(0.0), Excluded(1.0)),
        limits: r#"{"exclusiveMinimum": 0, "exclusiveMaximum": 1, "not": {"enum": [false, true]}}"#,
        limits_with_text: r#"{"exclusiveMinimum": 0, "exclusiveMaximum": 1, "not": {"enum": [false, true]}, "pattern": "^\\s*\\+?([0_]*\\.0*[1-9][0-9_]*|[1-9](\\.[0-9]*)?[eE]-[0_]*[1-9][0-9_]*)\\s*$"}"#,
        limits_of_cut: r#"{"exclusiveMinimum": 0, "exclusiveMaximum": 1, "not": {"enum": [false, true]}}"#,
    },
];
