//! What the text of a script shows at a glance: the modules that it imports, and what it hands to a call. A front end is
//! recognised by such signs; the script is not run.

use super::tokens::{self, Token, tokens};
use crate::command::script_source;

/// Whether the script imports one of these modules, or something below it.
pub fn imports(text: &str, modules: &[&str]) -> bool {
    let is_below = |name: &str, module: &str| {
        name.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    script_source::imports(text).iter().any(|name| modules.iter().any(|module| is_below(name, module)))
}

/// What stands between the parentheses of every call of this name, which may be a dotted one.
pub fn calls<'a>(text: &'a str, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    let mut found = Vec::new();
    // Most scripts have none, and need not be split into words.
    if text.contains(name) {
        let tokens = tokens(text);
        let last = name.rsplit('.').next().unwrap_or(name);
        let is_dotted = |open: usize| text[..tokens[open].at].trim_end().ends_with(name);
        let named = tokens::calls(&tokens, |token| token.is(last)).filter(|call| is_dotted(call.start - 1));
        found.extend(named.map(|call| between(text, &tokens, call.start, call.end)));
    }
    found.into_iter()
}

/// What a call gives to a keyword; nothing where it hands over more that is not written out.
pub fn keyword<'a>(call: &'a str, name: &str) -> Option<&'a str> {
    let tokens = call.contains(name).then(|| tokens(call))?;
    let value = tokens::keyword(&tokens, name)?;
    let start = tokens.len() - value.len();
    let length = value.iter().position(|token| token.depth == 0 && token.is(",")).unwrap_or(value.len());
    Some(between(call, &tokens, start, start + length)).filter(|value| !value.starts_with("**"))
}

/// The text from one word to another, the last one excluded.
fn between<'a>(text: &'a str, tokens: &[Token], start: usize, end: usize) -> &'a str {
    let at = |index: usize| tokens.get(index).map_or(text.len(), |token| token.at);
    text[at(start)..at(end)].trim()
}

/// A value as it is shown in a message: one line of it.
pub fn shown(value: &str) -> String {
    value.split_once('\n').map_or_else(|| value.to_string(), |(line, _)| format!("{} …", line.trim_end()))
}

/// Whether a value is written out as text.
pub fn is_text(value: &str) -> bool {
    value.starts_with(['"', '\''])
}
