//! What clap refuses, in our words.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::base::options::{GENERATE, fit, generate, launch, schema};
use crate::config::template::Search;
use crate::report::{self, Problem};
use crate::request::Launch;

/// Why the words are refused.
pub struct Refused {
    pub problems: Vec<Problem>,
    /// The launch that they probably mean, without what is wrong about them.
    pub(crate) meant: Option<Box<Launch>>,
}

impl From<Vec<Problem>> for Refused {
    fn from(problems: Vec<Problem>) -> Self {
        Refused { problems, meant: None }
    }
}

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
        ErrorKind::UnknownArgument if usage == GENERATE.usage && Search::default().knows(&given) => {
            report::meant(&given, "a template", &format!("zlaunch generate --from {given}"))
        }
        ErrorKind::UnknownArgument if !given.starts_with('-') => report::unexpected_argument(&given, usage),
        ErrorKind::UnknownArgument => report::unknown_option("zlaunch", &given, None),
        ErrorKind::TooManyValues => {
            let value = context(why, ContextKind::InvalidValue).unwrap_or_default();
            if given.starts_with('-') {
                report::takes_no_value(&given, &value)
            } else {
                report::unexpected_argument(&value, usage)
            }
        }
        ErrorKind::InvalidValue | ErrorKind::TooFewValues => needs_value(&given),
        ErrorKind::MissingRequiredArgument => report::missing_argument(given.trim_matches(['<', '>', '[', ']']), usage),
        _ => {
            let text = why.to_string();
            let first = text.lines().next().unwrap_or_default();
            report::usage(first.strip_prefix("error: ").unwrap_or(first))
        }
    }
}

/// `given` is the option as clap shows it: `--set <KEY=VALUE>`.
fn needs_value(given: &str) -> Problem {
    let flag = given.split(' ').next().unwrap_or(given);
    let mut tables = [launch::ALL, fit::ALL, generate::ALL, schema::ALL].into_iter().flatten();
    match tables.find(|option| option.flag() == flag) {
        Some(option) => report::option_needs_value(flag, option.value, option.help),
        None => report::option_needs_value(flag, "VALUE", "`zlaunch --help`"),
    }
}
