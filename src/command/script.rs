//! Reads the text of a training script: the modules it imports, what it hands to a call, which options it has, and
//! how its arguments reach the trainer. The script is not run.

mod flow;
pub mod kind;
pub mod source;
pub mod tokens;

pub(crate) use flow::ArgumentFlow;
pub(crate) use kind::{ScriptKind, cannot_use_config, reads_own_file, script_kind, uses_handbook};
pub(crate) use source::ScriptSource;

use crate::command::tables::ARGUMENT_CLASSES;
use tokens::tokens;

/// The text between the parentheses of every call of this name, which may be a dotted one.
pub fn calls<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    // Most scripts have none, and need not be split into tokens.
    if !text.contains(name) {
        return Vec::new();
    }
    let tokens = tokens(text);
    let last = name.rsplit('.').next().unwrap_or(name);
    let calls = tokens::calls(&tokens, |token| token.is(last));
    let named = calls.filter(|call| text[..tokens[call.start - 1].at].trim_end().ends_with(name));
    let end = |at: usize| tokens.get(at).map_or(text.len(), |token| token.at);
    named
        .map(|call| text[tokens[call.start - 1].at + 1..end(call.end)].trim())
        .collect()
}

/// The value that a call gives to a keyword.
pub fn keyword<'a>(call: &'a str, name: &str) -> Option<&'a str> {
    let tokens = tokens(call);
    let mut arguments = tokens.split(|token| token.depth == 0 && token.is(","));
    let value = arguments.find_map(|argument| match argument {
        [key, equals, value @ ..] if key.is(name) && equals.is("=") => Some(value),
        _ => None,
    })?;
    let (first, last) = (value.first()?, value.last()?);
    Some(&call[first.at..last.at + last.text.len()])
}

/// The calls that make the arguments of transformers' trainer in code.
pub(crate) fn made_arguments(text: &str) -> Vec<&str> {
    let classes = ARGUMENT_CLASSES.iter();
    classes.flat_map(|class| calls(text, class)).collect()
}

/// The first line of a value, for a message.
pub fn shown(value: &str) -> String {
    value.split_once('\n').map_or_else(
        || value.to_string(),
        |(line, _)| format!("{} …", line.trim_end()),
    )
}

pub fn is_text(value: &str) -> bool {
    value.starts_with(['"', '\''])
}
