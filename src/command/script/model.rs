//! Which model a script loads: the one that its argument names, or another.

use super::calls::calls;
use super::tokens::Kind;
use super::way::Way;

impl Way<'_> {
    /// Why the model may be another than `--model_name_or_path` says.
    pub(crate) fn doubt_about_model(&self, argument: &str) -> Option<String> {
        if let Some(told) = self.told_of_all() {
            return told.doubt().map(str::to_string);
        }
        if let Some(at) = self.set_at(argument).or_else(|| self.set_at("hidden_size")) {
            return Some(format!("{} sets {}", self.place(at), self.tokens[at].text));
        }
        let named = |at: usize| self.names_argument(at, argument);
        let loads = calls(&self.tokens, |token| token.is("from_pretrained"));
        let mut loads = loads.filter(|call| call.start > 4 && is_model(self.tokens[call.start - 4].text)).peekable();
        let by_trainer = |at: usize| self.tokens[at].is("model") && self.tokens[at + 1].is("=") && named(at + 2);
        if loads.peek().is_none() {
            let known = (0..self.tokens.len().saturating_sub(2)).any(by_trainer);
            return (!known).then(|| format!("{} does not show which model it loads", self.name()));
        }
        let other = loads.find(|call| {
            let first = call.start;
            let keyword = self.tokens.get(first + 1).is_some_and(|next| next.is("="));
            !named(if keyword { first + 2 } else { first })
        })?;
        Some(format!("{} loads another model than --{argument}", self.place(other.start)))
    }

    /// `model_args.model_name_or_path`, or a variable that is nothing else.
    fn names_argument(&self, at: usize, argument: &str) -> bool {
        let tokens = &self.tokens;
        let ends =
            |at: usize| tokens.get(at).is_none_or(|token| token.is(",") || token.is(")") || token.indent.is_some());
        let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.is(text));
        if is(at + 1, ".") && is(at + 2, argument) {
            return ends(at + 3);
        }
        let Some(variable) = tokens.get(at).filter(|token| token.kind == Kind::Name && ends(at + 1)) else {
            return false;
        };
        let assigned = |at: &usize| tokens[*at].is(variable.text) && tokens[*at].indent.is_some() && is(at + 1, "=");
        let mut all = (0..tokens.len()).filter(assigned).peekable();
        all.peek().is_some() && all.all(|at| is(at + 3, ".") && is(at + 4, argument) && ends(at + 5))
    }
}

/// `AutoModelForCausalLM`, `LlamaForCausalLM`, `AutoConfig`; not a tokenizer, an adapter or a vision tower.
fn is_model(name: &str) -> bool {
    let model = name.contains("Model") || name.contains("For") || name == "AutoConfig" || name.ends_with("LM");
    model
        && !["Peft", "Tokenizer", "Processor", "Generation", "Vision", "CLIP"].iter().any(|other| name.contains(other))
}
