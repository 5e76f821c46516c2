//! How a script declares an argument: as a field of a class, or by `add_argument`.

use super::calls::calls;
use super::classes::keyword;
use super::tokens::{Kind, Token};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Declared {
    /// The script itself does not declare it.
    Nowhere,
    /// With the type that transformers gives it.
    Alike,
    /// `action="store_true"`.
    Switch,
    /// With another type; where.
    Otherwise(usize),
}

/// Arguments that are whole numbers; the others are real ones.
const INTEGERS: &[&str] = &["per_device_train_batch_size", "gradient_accumulation_steps", "max_steps"];
const SWITCHES: &[&str] = &["fp16", "bf16", "fp16_full_eval", "bf16_full_eval", "auto_find_batch_size"];
/// What may stand around a type.
const AROUND: &[&str] = &["Optional", "Union", "None", "[", "]", "|", ",", "typing", "."];

fn is_its_type(argument: &str, word: &str) -> bool {
    match argument {
        _ if SWITCHES.contains(&argument) => word == "bool",
        _ if INTEGERS.contains(&argument) => word == "int",
        // An integer before transformers 5.
        "warmup_steps" => word == "int" || word == "float",
        _ => word == "float",
    }
}

pub(super) fn declared(tokens: &[Token], argument: &str) -> Declared {
    let mut found = Declared::Nowhere;
    for call in calls(tokens, |token| token.is("add_argument")) {
        let names = tokens[call.clone()].iter().take_while(|token| token.kind == Kind::Text || token.is(","));
        let named = |token: &Token| token.text.trim_start_matches('-').replace('-', "_") == argument;
        if !names.into_iter().any(named) {
            continue;
        }
        found = match of_argparse(&tokens[call.clone()], argument) {
            Some(declared) => declared,
            None => return Declared::Otherwise(call.start),
        };
    }
    for at in (0..tokens.len()).filter(|at| tokens[*at].is(argument)) {
        let field =
            tokens[at].indent.is_some_and(|indent| indent > 0) && tokens.get(at + 1).is_some_and(|it| it.is(":"));
        if !field {
            continue;
        }
        let statement = tokens[at + 2..].iter().take_while(|token| token.indent.is_none() && !token.is("="));
        let mut types = statement.filter(|token| !AROUND.contains(&token.text)).peekable();
        if types.peek().is_none() || !types.all(|token| is_its_type(argument, token.text)) {
            return Declared::Otherwise(at);
        }
        found = Declared::Alike;
    }
    found
}

/// `type=float`, or a switch. Without a type it stays a text.
fn of_argparse(call: &[Token], argument: &str) -> Option<Declared> {
    if keyword(call, "dest").is_some() || keyword(call, "nargs").is_some() {
        return None;
    }
    if let Some(action) = keyword(call, "action") {
        return (action.first()?.text == "store_true" && SWITCHES.contains(&argument)).then_some(Declared::Switch);
    }
    let kind = keyword(call, "type")?.first()?;
    (kind.kind == Kind::Name && !SWITCHES.contains(&argument) && is_its_type(argument, kind.text))
        .then_some(Declared::Alike)
}
