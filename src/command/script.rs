//! What a training script takes for an argument that is not given, as far as its text says so: a class that derives from
//! `TrainingArguments`, what is handed to its constructor, `set_defaults`. The script is not run, so whatever is out of the
//! ordinary means that nothing is known.

mod calls;
mod classes;
mod config;
mod declared;
mod family;
mod model;
mod parser;
pub(crate) mod signs;
mod tokens;
mod way;

use std::ops::Range;

use calls::{PARSERS, calls, is_opaque};
use classes::{Class, Classes, keyword, value};
use tokens::{Kind, Token, tokens};

pub(crate) use classes::ScriptDefault;
pub(crate) use family::{Family, RunFileReader, family, run_file_reader};
pub(crate) use parser::ScriptParser;
pub(crate) use way::{Passage, Way};

/// What one script says about its arguments. `None`: it is not known to train with transformers.
pub(crate) struct Script<'a> {
    tokens: Vec<Token<'a>>,
    used: Vec<Class<'a>>,
    opaque: bool,
}

impl<'a> Script<'a> {
    pub(crate) fn read(source: &'a str) -> Option<Self> {
        // Without this word there is nothing to find, and most scripts that are not about transformers do not have it.
        let tokens = source.contains("Trainer").then(|| tokens(source))?;
        tokens.iter().find(|token| token.kind == Kind::Name && token.text.ends_with("Trainer"))?;
        let classes = Classes::read(&tokens);
        let used = used(&tokens, &classes);
        let opaque = is_opaque(&tokens);
        (!used.is_empty()).then_some(Script { tokens, used, opaque })
    }

    /// Whether it reads a run file of its own, by an option that zlaunch does not follow.
    pub(crate) fn reads_config_option(&self) -> bool {
        self.tokens.iter().any(|token| token.is("TrlParser"))
    }

    pub(crate) fn default(&self, argument: &str) -> ScriptDefault<'a> {
        if self.opaque || self.is_elsewhere(argument) {
            return ScriptDefault::Unknown;
        }
        let mut found = self.used.iter().map(|class| self.of(class, argument));
        let first = found.next().unwrap_or(ScriptDefault::Unknown);
        if found.all(|other| other == first) { first } else { ScriptDefault::Unknown }
    }

    /// What the constructor is given counts before `set_defaults`, and that before the class.
    fn of(&self, class: &Class<'a>, argument: &str) -> ScriptDefault<'a> {
        let written = |name: &str| {
            let calls = self.calls(move |token| token.is(name));
            let mut found = calls.map(|call| keyword(&self.tokens[call], argument).map(value));
            let first = found.next().flatten();
            if found.all(|other| other == first) { first } else { Some(ScriptDefault::Unknown) }
        };
        written(class.name).or_else(|| written("set_defaults")).unwrap_or_else(|| class.default(argument))
    }

    /// The words between the parentheses of a call, for every call of what `is` accepts.
    fn calls<'t>(&'t self, is: impl Fn(&Token) -> bool + 't) -> impl Iterator<Item = Range<usize>> + 't {
        calls(&self.tokens, is)
    }

    /// Whether the name occurs in a way that is not understood: as a variable, as a text, in another call, on the left of an
    /// assignment.
    fn is_elsewhere(&self, argument: &str) -> bool {
        let tokens = &self.tokens;
        let own = |token: &Token| token.is("set_defaults") || self.used.iter().any(|class| token.is(class.name));
        let understood: Vec<_> = self.calls(own).collect();
        tokens.iter().enumerate().any(|(at, token)| match token.kind {
            Kind::Text => token.text == argument || token.text.strip_prefix("--") == Some(argument),
            Kind::Name if token.text == argument => {
                let next = tokens.get(at + 1).map_or("", |next| next.text);
                let is_read = at > 0 && tokens[at - 1].is(".") && !next.ends_with('=') || next == "==";
                let is_keyword = next == "=" && understood.iter().any(|call| call.contains(&at));
                let is_field = token.indent.is_some_and(|indent| indent > 0) && next == ":";
                !(is_read || is_keyword || is_field)
            }
            _ => false,
        })
    }
}

/// The classes of arguments that are used: given to a parser, or called. If neither is to be seen, those at the end of the
/// script's own derivations, or the only one that it mentions.
fn used<'a>(tokens: &[Token<'a>], classes: &Classes<'a>) -> Vec<Class<'a>> {
    let mut parsed = calls(tokens, |token| PARSERS.iter().any(|parser| token.is(parser))).peekable();
    let has_parser = parsed.peek().is_some();
    let in_parsers = parsed.flatten().filter_map(|at| classes.at(tokens, at));
    let called = (0..tokens.len()).filter(|at| tokens.get(at + 1).is_some_and(|next| next.is("(")));
    let called = called.filter(|at| *at == 0 || !tokens[at - 1].is("class")).filter_map(|at| classes.at(tokens, at));
    let mut used: Vec<Class> = in_parsers.chain(called).collect();
    if used.is_empty() && !has_parser {
        used = classes.leaves(tokens);
    }
    used.sort_by_key(|class| class.name);
    used.dedup_by_key(|class| class.name);
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::defaults::TRAINING_ARGUMENTS;

    const CLASS: ScriptDefault = ScriptDefault::Class(TRAINING_ARGUMENTS);
    const HEAD: &str = "from transformers import (\n    Trainer,\n    TrainingArguments,\n)\n";

    fn found(script: &str) -> Option<ScriptDefault<'static>> {
        let text: &'static str = format!("{HEAD}{script}").leak();
        Script::read(text).map(|script| script.default("max_grad_norm"))
    }

    #[test]
    fn what_a_script_leaves_alone_has_the_default_of_its_class() {
        for script in [
            "",
            "parser = HfArgumentParser((ModelArguments, TrainingArguments))\n",
            "args = TrainingArguments(output_dir='x', learning_rate=lr)\nprint(args.max_grad_norm)\n",
            "# max_grad_norm=0.5\n\"\"\"--max_grad_norm 0.5\"\"\"\n",
            "@dataclass\nclass TrainingArguments(TrainingArguments):\n    cache: str = None\n",
            "import transformers\n@dataclass\nclass Mine(transformers.TrainingArguments):\n    cache: str = None\nHfArgumentParser([Mine])\n",
            "if args.max_grad_norm == 1:\n    pass\n",
            "parser = HfArgumentParser(TrainingArguments)\nparser.parse_json_file(json_file=os.path.abspath(sys.argv[1]))\n",
        ] {
            assert_eq!(found(script), Some(CLASS), "{script}");
        }
    }

    #[test]
    fn what_a_script_writes_counts() {
        let written = |script: &str| match found(script) {
            Some(ScriptDefault::Written { text, line }) => Some((text, line)),
            _ => None,
        };
        for (script, line) in [
            ("args = TrainingArguments('x', max_grad_norm=0.5, fp16=True)\n", 5),
            ("@dataclass\nclass Mine(TrainingArguments):\n    max_grad_norm: float = 0.5\n", 7),
            (
                "@dataclass\nclass Mine(TrainingArguments):\n    max_grad_norm: float = field(\n        default=0.5, metadata={'help': '='})\n",
                8,
            ),
            (
                "@dataclass\nclass A(TrainingArguments):\n    max_grad_norm: float = 0.5\n@dataclass\nclass B(A):\n    x: int = 1\n",
                7,
            ),
            ("parser = HfArgumentParser(TrainingArguments)\nparser.set_defaults(max_grad_norm=0.5)\n", 6),
        ] {
            assert_eq!(written(script), Some(("0.5", line)), "{script}");
        }
    }

    #[test]
    fn what_is_out_of_the_ordinary_is_not_known() {
        for script in [
            "args = TrainingArguments('x', max_grad_norm=config.clip)\n",
            "args = TrainingArguments('x', max_grad_norm=0.5 * 2)\n",
            "args = TrainingArguments('x', **config)\n",
            "args = TrainingArguments('x')\nargs.max_grad_norm = 0.5\n",
            "args = TrainingArguments('x')\nsetattr(args, name, value)\n",
            "args = TrainingArguments('x')\nargs = replace(args, max_grad_norm=0.5)\n",
            "args = TrainingArguments(**{'max_grad_norm': 0.5})\n",
            "parser.add_argument('--max_grad_norm', type=float, default=0.5)\nTrainingArguments('x')\n",
            "parser = HfArgumentParser(TrainingArguments)\nparser.parse_json_file('run.json')\n",
            "parser = HfArgumentParser(TrainingArguments)\nparser.parse_args_into_dataclasses(words)\n",
            "parser = HfArgumentParser(TrainingArguments)\nparser.parse_args_into_dataclasses(args=words)\n",
            "class Mine(TrainingArguments):\n    max_grad_norm: float = 0.5\n",
            "@dataclass\nclass Mine(TrainingArguments):\n    max_grad_norm: float = CLIP\n",
            "a = TrainingArguments('x')\nb = TrainingArguments('y', max_grad_norm=0.5)\n",
        ] {
            assert_eq!(found(script), Some(ScriptDefault::Unknown), "{script}");
        }
        for script in [
            "parser = HfArgumentParser((ModelArguments, MyTrainingArguments))\n",
            "parser = HfArgumentParser(classes)\n",
            "class TrainingArguments:\n    pass\n",
        ] {
            assert_eq!(found(script), None, "{script}");
        }
        assert!(Script::read("from transformers import TrainingArguments\n").is_none());
        assert!(Script::read("from arguments import TrainingArguments\nTrainer()\n").is_none());
    }
}
