//! How a script reads its arguments: the calls that matter.

use std::ops::Range;

use super::classes::{closing, keyword};
use super::tokens::Token;

/// Parsers that fill classes of arguments from the command line.
pub(super) const PARSERS: &[&str] = &["HfArgumentParser", "TrlParser"];
/// Whatever takes arguments from elsewhere, or changes them by names that are not written out.
const OPAQUE: &[&str] =
    &["parse_dict", "setattr", "__dict__", "set_training", "set_optimizer", "set_lr_scheduler", "set_dataloader"];

pub(super) fn is_opaque(tokens: &[Token]) -> bool {
    // A file that the command names is read by zlaunch too.
    let reads_other_file = |call: Range<usize>| !tokens[call].iter().any(|token| token.is("argv"));
    let files = calls(tokens, |token| token.is("parse_json_file") || token.is("parse_yaml_file"));
    let words = calls(tokens, |token| token.is("parse_args_into_dataclasses") || token.is("parse_args_and_config"));
    let given = |call: Range<usize>| {
        let positional = call.len() == 1 || call.len() > 1 && !tokens[call.start + 1].is("=");
        positional || keyword(&tokens[call], "args").is_some()
    };
    tokens.iter().any(|token| OPAQUE.iter().any(|name| token.is(name)))
        || files.into_iter().any(reads_other_file)
        || words.into_iter().any(given)
}

/// The words between the parentheses of every call of what `is` accepts; not of the definition of a class.
pub(super) fn calls<'t>(
    tokens: &'t [Token],
    is: impl Fn(&Token) -> bool + 't,
) -> impl Iterator<Item = Range<usize>> + 't {
    let opens = |at: usize| tokens.get(at + 1).is_some_and(|next| next.is("("));
    let defines = |at: usize| at > 0 && (tokens[at - 1].is("class") || tokens[at - 1].is("def"));
    let heads = (0..tokens.len()).filter(move |at| is(&tokens[*at]) && opens(*at) && !defines(*at));
    heads.map(|at| at + 2..closing(tokens, at + 2))
}
