//! Reads the text of a training script: the modules it imports, what it hands to a call, which options it has, and
//! how its arguments reach the trainer. The script is not run.

mod flow;
pub mod kind;
pub mod tokens;

pub(crate) use flow::ArgumentFlow;
pub(crate) use kind::{ScriptKind, cannot_use_config, reads_own_file, script_kind, uses_handbook};

use crate::command::script_source;
use tokens::Token;

/// Also true for something below one of these modules.
pub fn imports(text: &str, modules: &[&str]) -> bool {
    script_source::imports(text).iter().any(|name| {
        let mut behind = modules
            .iter()
            .filter_map(|module| name.strip_prefix(module));
        behind.any(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// The text between the parentheses of every call of this name, which may be a dotted one.
pub fn calls<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    // Most scripts have none, and need not be split into tokens.
    if !text.contains(name) {
        return Vec::new();
    }
    let tokens = tokens::tokens(text);
    let last = name.rsplit('.').next().unwrap_or(name);
    let calls = tokens::calls(&tokens, |token| token.is(last));
    let named = calls.filter(|call| text[..tokens[call.start - 1].at].trim_end().ends_with(name));
    named
        .map(|call| between(text, &tokens, call.start, call.end))
        .collect()
}

/// The value that a call gives to a keyword; nothing where `**` may hold it.
pub fn keyword<'a>(call: &'a str, name: &str) -> Option<&'a str> {
    let tokens = call.contains(name).then(|| tokens::tokens(call))?;
    let value = tokens::keyword(&tokens, name)?;
    let start = tokens.len() - value.len();
    let length = value
        .iter()
        .position(|token| token.depth == 0 && token.is(","))
        .unwrap_or(value.len());
    Some(between(call, &tokens, start, start + length)).filter(|value| !value.starts_with("**"))
}

fn between<'a>(text: &'a str, tokens: &[Token], start: usize, end: usize) -> &'a str {
    let at = |index: usize| tokens.get(index).map_or(text.len(), |token| token.at);
    text[at(start)..at(end)].trim()
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
