//! The classes of arguments in a script: those it takes from transformers and TRL, and its own that derive from them.

use super::tokens::{Kind, Token};
use crate::command::defaults::{ArgumentClass, TRAINING_ARGUMENTS};

/// What a script says about an argument that the command does not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptDefault<'a> {
    /// The script leaves it to this class.
    Class(ArgumentClass),
    /// It is written in the script.
    Written {
        text: &'a str,
        line: usize,
    },
    Unknown,
}

/// A class of arguments, as the script names it.
#[derive(Clone, Debug)]
pub(super) struct Class<'a> {
    pub(super) name: &'a str,
    base: ArgumentClass,
    /// Fields with what stands behind `=`, the nearest class first.
    fields: Vec<(&'a str, ScriptDefault<'a>)>,
}

impl<'a> Class<'a> {
    pub(super) fn base(&self) -> ArgumentClass {
        self.base
    }

    pub(super) fn default(&self, argument: &str) -> ScriptDefault<'a> {
        let own = self.fields.iter().find(|(name, _)| *name == argument);
        own.map_or(ScriptDefault::Class(self.base), |(_, default)| *default)
    }
}

/// What the names of a script mean.
pub(super) struct Classes<'a> {
    known: Vec<Class<'a>>,
    /// Those from which another one derives.
    bases: Vec<&'a str>,
    /// Defined in the script: the name means nothing else there.
    own: Vec<&'a str>,
}

impl<'a> Classes<'a> {
    pub(super) fn read(tokens: &[Token<'a>]) -> Self {
        let mut classes = Classes { known: imported(tokens), bases: Vec::new(), own: Vec::new() };
        for at in (0..tokens.len()).filter(|at| tokens[*at].is("class") && tokens[*at].indent.is_some()) {
            classes.define(tokens, at);
        }
        classes
    }

    /// The class that the word at this place names.
    pub(super) fn at(&self, tokens: &[Token<'a>], at: usize) -> Option<Class<'a>> {
        let name = tokens[at].text;
        if tokens[at].kind != Kind::Name {
            return None;
        }
        if at > 1 && tokens[at - 1].is(".") {
            let base = package_class(tokens[at - 2].text, name)?;
            return Some(Class { name, base, fields: Vec::new() });
        }
        self.known.iter().rfind(|class| class.name == name).cloned()
    }

    /// Those from which no other derives.
    pub(super) fn leaves(&self, tokens: &[Token<'a>]) -> Vec<Class<'a>> {
        let mentioned = (0..tokens.len()).filter_map(|at| self.at(tokens, at));
        let mut leaves: Vec<Class> = mentioned.filter(|class| !self.bases.contains(&class.name)).collect();
        if leaves.iter().any(|class| self.own.contains(&class.name)) {
            leaves.retain(|class| self.own.contains(&class.name));
        }
        leaves
    }

    /// `class Mine(TrainingArguments):`
    fn define(&mut self, tokens: &[Token<'a>], at: usize) {
        let Some(name) = tokens.get(at + 1).filter(|token| token.kind == Kind::Name) else { return };
        let opens = tokens.get(at + 2).is_some_and(|token| token.is("("));
        let end = if opens { closing(tokens, at + 3) } else { at + 2 };
        let base = (at + 3..end).find_map(|at| self.at(tokens, at));
        // The name means this class from now on, whatever it was before.
        self.known.retain(|class| class.name != name.text);
        self.own.push(name.text);
        let Some(base) = base else { return };
        let mut fields = fields(tokens, end, tokens[at].indent.unwrap_or_default(), is_dataclass(tokens, at));
        fields.extend(base.fields.iter().copied());
        if base.name != name.text {
            self.bases.push(base.name);
        }
        self.known.push(Class { name: name.text, base: base.base, fields });
    }
}

/// Names that are imported from the packages with recorded classes.
fn imported<'a>(tokens: &[Token<'a>]) -> Vec<Class<'a>> {
    let mut found = Vec::new();
    for at in (0..tokens.len()).filter(|at| tokens[*at].is("from") && tokens[*at].indent.is_some()) {
        let Some(package) = tokens.get(at + 1) else { break };
        let ends = |token: &&Token| token.indent.is_none();
        let statement: Vec<Token> = tokens[at + 1..].iter().take_while(ends).copied().collect();
        let names = statement.iter().position(|token| token.is("import")).map_or(0, |at| at + 1);
        for (at, name) in statement.iter().enumerate().skip(names) {
            let Some(base) = package_class(package.text, name.text) else { continue };
            let alias = statement.get(at + 1).filter(|word| word.is("as")).and_then(|_| statement.get(at + 2));
            found.push(Class { name: alias.unwrap_or(name).text, base, fields: Vec::new() });
        }
    }
    found
}

fn package_class(package: &str, name: &str) -> Option<ArgumentClass> {
    match (package, name) {
        ("transformers", "TrainingArguments" | "Seq2SeqTrainingArguments") => Some(TRAINING_ARGUMENTS),
        ("trl", name) => ArgumentClass::find("trl", name),
        _ => None,
    }
}

/// `@dataclass`, `@dataclass(kw_only=True)` or `@dataclasses.dataclass` above a class. Without it a field changes nothing.
fn is_dataclass(tokens: &[Token], class: usize) -> bool {
    let above = tokens[..class].iter().rev();
    let decorators = above.take_while(|token| !token.is("class") && !token.is("def") && !token.is("import"));
    let mut words = decorators.skip_while(|token| !token.is("dataclass"));
    words.next().is_some()
}

/// The fields in the body of a class that starts behind `at`.
fn fields<'a>(
    tokens: &[Token<'a>],
    at: usize,
    class_indent: usize,
    dataclass: bool,
) -> Vec<(&'a str, ScriptDefault<'a>)> {
    let body = tokens.iter().skip(at).skip_while(|token| token.indent.is_none());
    let body: Vec<Token> =
        body.take_while(|token| token.indent.is_none_or(|indent| indent > class_indent)).copied().collect();
    let indent = body.first().and_then(|token| token.indent);
    let starts = (0..body.len()).filter(|at| body[*at].indent.is_some() && body[*at].indent == indent);
    let mut fields = Vec::new();
    for start in starts.filter(|start| body[*start].kind == Kind::Name) {
        let rest = &body[start + 1..];
        let end = rest.iter().position(|token| token.indent.is_some()).unwrap_or(rest.len());
        let statement = &rest[..end];
        let assigned = statement.iter().position(|token| token.is("=")).map(|at| value(&statement[at + 1..]));
        if let Some(assigned) = assigned {
            let annotated = statement[0].is(":") && dataclass;
            fields.push((body[start].text, if annotated { assigned } else { ScriptDefault::Unknown }));
        }
    }
    fields
}

/// What a number or a bool is; of `field(default=…)`, its default.
pub(super) fn value<'a>(tokens: &[Token<'a>]) -> ScriptDefault<'a> {
    let ends = |token: Option<&Token>| token.is_none_or(|token| token.is(",") || token.is(")"));
    let Some(first) = tokens.first() else { return ScriptDefault::Unknown };
    let literal = first.kind == Kind::Number || first.is("True") || first.is("False");
    if literal && ends(tokens.get(1)) {
        return ScriptDefault::Written { text: first.text, line: first.line };
    }
    let opening = tokens.iter().position(|token| token.is("(")).filter(|at| *at > 0 && tokens[at - 1].is("field"));
    let default = opening.and_then(|at| keyword(&tokens[at + 1..closing(tokens, at + 1)], "default"));
    default.map_or(ScriptDefault::Unknown, |default| value(default))
}

/// What stands behind `name=` among the arguments of a call; everything else is unknown where `**` hands over more.
pub(super) fn keyword<'t, 'a>(arguments: &'t [Token<'a>], name: &str) -> Option<&'t [Token<'a>]> {
    let mut depth = 0_usize;
    for (at, token) in arguments.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" if token.kind == Kind::Sign => depth += 1,
            ")" | "]" | "}" if token.kind == Kind::Sign => depth = depth.saturating_sub(1),
            // `**config` may hold it: what follows is no literal.
            "**" if depth == 0 && (at == 0 || arguments[at - 1].is(",")) => return Some(&arguments[at..]),
            text if depth == 0 && text == name && arguments.get(at + 1).is_some_and(|next| next.is("=")) => {
                return Some(&arguments[at + 2..]);
            }
            _ => {}
        }
    }
    None
}

/// The parenthesis that closes what was opened before `from`.
pub(super) fn closing(tokens: &[Token], from: usize) -> usize {
    let mut depth = 1_usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        if token.is("(") {
            depth += 1;
        } else if token.is(")") {
            depth -= 1;
            if depth == 0 {
                return at;
            }
        }
    }
    tokens.len()
}
