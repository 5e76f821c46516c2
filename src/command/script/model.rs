//! Which model a script loads: the one that its argument names, or another.

use super::calls::calls;
use super::flow::ArgumentFlow;
use super::tokens::Kind;

impl ArgumentFlow<'_> {
    /// Why the model may be another than `--model_name_or_path` says.
    pub(crate) fn doubt_about_model(&self, argument: &str) -> Option<String> {
        if self.reads_nothing() || self.doubt_about_all().is_some() {
            return self.doubt_about_all();
        }
        if let Some(at) = self.set_at(argument).or_else(|| self.set_at("hidden_size")) {
            return Some(format!("{} sets {}", self.place(at), self.tokens[at].text));
        }
        let loads = calls(&self.tokens, |token| token.is("from_pretrained"));
        let mut loads = loads.filter(|call| call.start > 4 && is_model(self.tokens[call.start - 4].text)).peekable();
        let by_trainer =
            |at: usize| self.is(at, "model") && self.is(at + 1, "=") && self.names_argument(at + 2, argument);
        if loads.peek().is_none() {
            let is_known = (0..self.tokens.len()).any(by_trainer);
            return (!is_known).then(|| format!("{} does not show which model it loads", self.name()));
        }
        let other = loads.find(|call| {
            let first = if self.is(call.start + 1, "=") { call.start + 2 } else { call.start };
            !self.names_argument(first, argument)
        })?;
        Some(format!("{} loads another model than --{argument}", self.place(other.start)))
    }

    /// `model_args.model_name_or_path`, or a variable that is nothing else.
    fn names_argument(&self, at: usize, argument: &str) -> bool {
        let ends = |at: usize| {
            let token = self.tokens.get(at);
            token.is_none_or(|token| token.is(",") || token.is(")") || token.indent.is_some())
        };
        if self.is(at + 1, ".") && self.is(at + 2, argument) {
            return ends(at + 3);
        }
        let variable = self.tokens.get(at).filter(|token| token.kind == Kind::Name && ends(at + 1));
        let assigned = |at: &usize| {
            variable.is_some_and(|variable| self.is(*at, variable.text))
                && self.tokens[*at].indent.is_some()
                && self.is(at + 1, "=")
        };
        let mut all = (0..self.tokens.len()).filter(assigned).peekable();
        all.peek().is_some() && all.all(|at| self.is(at + 3, ".") && self.is(at + 4, argument) && ends(at + 5))
    }
}

/// `AutoModelForCausalLM`, `LlamaForCausalLM`, `AutoConfig`; not a tokenizer, an adapter or a vision tower.
fn is_model(name: &str) -> bool {
    let model = name.contains("Model") || name.contains("For") || name == "AutoConfig" || name.ends_with("LM");
    model
        && !["Peft", "Tokenizer", "Processor", "Generation", "Vision", "CLIP"].iter().any(|other| name.contains(other))
}
