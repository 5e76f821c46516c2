//! What clap refuses, in our words.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::report::{self, Problem};

/// The option or argument that clap refuses.
pub(super) fn refused_argument(why: &clap::Error) -> Option<String> {
    context(why, ContextKind::InvalidArg)
}

fn context(why: &clap::Error, kind: ContextKind) -> Option<String> {
    match why.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(list) => list.first().cloned(),
        _ => None,
    }
}

/// A refusal of clap as a problem of ours.
pub(super) fn refusal(why: &clap::Error, usage: &str) -> Problem {
    let given = refused_argument(why).unwrap_or_default();
    match why.kind() {
        ErrorKind::UnknownArgument if !given.starts_with('-') => report::unexpected_argument(&given, usage),
        ErrorKind::UnknownArgument => report::unknown_option(&given, None),
        ErrorKind::TooManyValues => {
            report::takes_no_value(&given, &context(why, ContextKind::InvalidValue).unwrap_or_default())
        }
        ErrorKind::InvalidValue | ErrorKind::TooFewValues => report::option_needs_value(&given),
        ErrorKind::MissingRequiredArgument => report::missing_argument(given.trim_matches(['<', '>', '[', ']']), usage),
        _ => {
            let text = why.to_string();
            let first = text.lines().next().unwrap_or_default();
            report::usage(first.strip_prefix("error: ").unwrap_or(first))
        }
    }
}
