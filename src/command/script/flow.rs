//! The way of a script's arguments from the command line to the trainer, and the options that its parser has. Arguments
//! count as given where transformers' parser fills a class of the trainer's arguments and nothing changes what it read.

use std::ops::Range;

use super::{
    ScriptSource, is_hf_parser,
    tokens::{Token, calls, in_parentheses, tokens},
};
use crate::command::{
    argument_class::{ArgumentClass, SEQ2SEQ_ARGUMENTS, TRAINING_ARGUMENTS},
    parser::Parser,
    python::is_standard,
    tables::{
        ADDS_OPTIONS, ARGUMENT_PACKAGES, ASSIGNMENTS, HANDBOOK, LIBRARIES, OPAQUE,
        PARSING_FUNCTIONS,
    },
};

#[derive(Clone, Copy, PartialEq)]
enum Reader {
    /// `HfArgumentParser` and those derived from it.
    Hf,
    /// argparse, or a package that reads values by rules of its own.
    Other(&'static str),
    /// No parser; all code was read.
    Nothing,
    /// No parser; some code could not be read.
    Elsewhere,
}

pub struct ArgumentFlow<'a> {
    /// Of the script's own modules, then of the script.
    tokens: Vec<Token<'a>>,
    /// The script is the last.
    files: Vec<FileEnd<'a>>,
    /// Those that are imported, and classes derived from them.
    classes: Vec<NamedClass<'a>>,
    reader: Reader,
    /// The calls of constructors of the trainer's arguments.
    made: Vec<Range<usize>>,
    /// The first place that may set any argument.
    opaque: Option<usize>,
}

/// The number of tokens up to the end of a file.
struct FileEnd<'a> {
    name: &'a str,
    tokens: usize,
}

/// A name that means a recorded class of arguments.
struct NamedClass<'a> {
    name: &'a str,
    class: ArgumentClass,
}

impl<'a> ArgumentFlow<'a> {
    pub fn read(source: &'a ScriptSource) -> Self {
        let modules = source
            .modules()
            .iter()
            .rev()
            .map(|module| (module.name.as_str(), module.text.as_str()));
        let mut flow = ArgumentFlow {
            tokens: vec![],
            files: vec![],
            classes: vec![],
            reader: Reader::Nothing,
            made: vec![],
            opaque: None,
        };
        for (name, text) in modules.chain([(source.name(), source.text.as_str())]) {
            flow.tokens.extend(tokens(text));
            let tokens = flow.tokens.len();
            flow.files.push(FileEnd { name, tokens });
        }
        flow.reader = flow.find_reader(source);
        flow.find_classes();
        flow.made = calls(&flow.tokens, |_| true)
            .filter(|call| flow.class_at(call.start - 2).is_some())
            .collect();
        flow.opaque = (0..flow.tokens.len()).find(|at| flow.is_opaque(*at));
        flow
    }

    fn find_reader(&self, source: &ScriptSource) -> Reader {
        let is_seen = |module: &String| {
            let top = module.split('.').next().unwrap_or_default();
            LIBRARIES.contains(&top) || is_standard(top)
        };
        let mut packages = ARGUMENT_PACKAGES.iter();
        if calls(&self.tokens, is_hf_parser).next().is_some() {
            Reader::Hf
        } else if let Some(package) = packages.find(|package| source.imports(&[package])) {
            Reader::Other(package)
        } else if self.has(&["add_argument", "ArgumentParser"]) {
            Reader::Other("argparse")
        } else if source.imported().iter().all(is_seen) {
            Reader::Nothing
        } else {
            Reader::Elsewhere
        }
    }

    fn name(&self) -> &'a str {
        self.files.last().map_or("", |file| file.name)
    }

    fn place(&self, at: usize) -> String {
        let file = self.files.iter().find(|file| at < file.tokens);
        let name = file.map_or("", |file| file.name);
        format!("{name}:{}", self.tokens[at].line)
    }

    fn is(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(text))
    }

    fn ends_argument(&self, at: usize) -> bool {
        self.is(at, ",") || self.is(at, ")")
    }

    pub fn has(&self, words: &[&str]) -> bool {
        self.tokens.iter().any(|token| token.is_one_of(words))
    }

    fn find_classes(&mut self) {
        // Of the statement `from PACKAGE import …`.
        let mut package = "";
        for at in 1..self.tokens.len() {
            let Token { text, indent, .. } = self.tokens[at];
            if self.is(at - 1, "from") && self.tokens[at - 1].indent.is_some() {
                package = text;
            } else if indent.is_some() {
                package = "";
            }
            let mut class = recorded_class(package, text);
            if self.defines_class(at) {
                class = self.behind(at).find_map(|base| self.class_at(base));
                self.classes.retain(|known| known.name != text);
            }
            self.classes
                .extend(class.map(|class| NamedClass { name: text, class }));
        }
    }

    fn defines_class(&self, at: usize) -> bool {
        self.is(at - 1, "class") && self.tokens[at - 1].indent.is_some()
    }

    /// The tokens in the parentheses behind this one.
    fn behind(&self, at: usize) -> Range<usize> {
        if self.is(at + 1, "(") {
            in_parentheses(&self.tokens, at + 1)
        } else {
            0..0
        }
    }

    fn class_at(&self, at: usize) -> Option<ArgumentClass> {
        let name = self.tokens.get(at)?.text;
        if at > 1 && self.is(at - 1, ".") {
            return recorded_class(self.tokens[at - 2].text, name);
        }
        Some(self.classes.iter().rfind(|known| known.name == name)?.class)
    }

    /// The places where a recorded class is handed to transformers' parser.
    fn parsed(&self) -> impl Iterator<Item = usize> {
        calls(&self.tokens, is_hf_parser)
            .flatten()
            .filter(|at| self.class_at(*at).is_some())
    }

    fn is_opaque(&self, at: usize) -> bool {
        // `sys.argv.remove(…)` changes it too.
        let changes_words = self.is(at, "argv") && (self.is(at + 1, ".") || self.is_assigned(at));
        // It may be given other words, or another file, than those of the command.
        let call = &self.tokens[self.behind(at)];
        let of_command = |word: &Token| word.is_one_of(&["argv", "return_remaining_strings"]);
        let parses_others = self.tokens[at].is_one_of(PARSING_FUNCTIONS)
            && !call.is_empty()
            && !call.iter().any(of_command);
        changes_words || parses_others || self.tokens[at].is_one_of(OPAQUE)
    }

    fn is_assigned(&self, at: usize) -> bool {
        let mut outer = self.tokens[at + 1..]
            .iter()
            .take_while(|token| token.indent.is_none())
            .filter(|token| token.depth == 0);
        self.tokens[at].depth == 0 && outer.any(|token| token.is_one_of(ASSIGNMENTS))
    }

    /// `args.NAME = …`
    fn set_at(&self, argument: &str) -> Option<usize> {
        (1..self.tokens.len())
            .find(|at| self.is(*at, argument) && self.is(at - 1, ".") && self.is_assigned(*at))
    }

    /// The first place where the script may set the argument: it has the name, and does not only read the attribute.
    fn touched_at(&self, argument: &str) -> Option<usize> {
        (0..self.tokens.len())
            .filter(|at| self.tokens[*at].name() == argument)
            .find(|at| *at == 0 || !self.is(at - 1, ".") || self.is_assigned(*at))
    }

    fn may_set(&self, at: Option<usize>, what: &str) -> Option<String> {
        Some(format!("{} may set {what}", self.place(at?)))
    }

    /// The reason why the trainer may get something else than the command gives for an argument.
    pub fn doubt(&self, argument: &str) -> Option<String> {
        let script = self.name();
        match self.reader {
            Reader::Other(package) => Some(format!("{script} reads its arguments with {package}")),
            Reader::Elsewhere => Some(format!(
                "zlaunch cannot see how {script} reads its arguments"
            )),
            _ if !self.made.is_empty() => {
                let place = self.place(self.made[0].start);
                Some(format!("{place} sets its arguments in code"))
            }
            Reader::Nothing => None,
            Reader::Hf => self
                .may_set(self.opaque, "any argument")
                .or_else(|| self.may_set(self.touched_at(argument), argument))
                .or_else(|| {
                    let is_shown = self.parsed().next().is_some();
                    (!is_shown)
                        .then(|| format!("{script} does not show what becomes of --{argument}"))
                }),
        }
    }

    /// The place that sets the argument.
    pub fn overrides(&self, argument: &str) -> Option<String> {
        self.may_set(self.set_at(argument), argument)
    }

    /// The class whose default counts for an argument: the only one in a script that leaves the argument alone.
    pub fn default_class(&self, argument: &str) -> Option<ArgumentClass> {
        let trains = self
            .tokens
            .iter()
            .any(|token| token.is_name() && token.text.ends_with("Trainer"));
        let mut unpacked = self.made.iter().flat_map(|call| &self.tokens[call.clone()]);
        if !trains
            || unpacked.any(|token| token.is("**"))
            || self.opaque.is_some()
            || self.touched_at(argument).is_some()
        {
            return None;
        }
        let made = self.made.iter().map(|call| call.start - 2);
        let mut used: Vec<ArgumentClass> = self
            .parsed()
            .chain(made)
            .filter_map(|at| self.class_at(at))
            .collect();
        if used.is_empty() && self.reader != Reader::Hf {
            used = self.classes.iter().map(|known| known.class).collect();
        }
        used.dedup();
        match used[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// `None`: the script does not show all of its options.
    pub fn has_option(&self, option: &str) -> Option<bool> {
        let mut named = self
            .tokens
            .iter()
            .filter(|token| token.name().replace('-', "_") == option);
        match self.reader {
            Reader::Nothing => Some(false),
            Reader::Other("argparse") => {
                let is_option =
                    |token: &Token| token.string().is_some_and(|text| text.starts_with('-'));
                Some(named.any(is_option))
            }
            Reader::Other(_) | Reader::Elsewhere => None,
            Reader::Hf if self.parsed().next().is_some() || named.any(Token::is_name) => Some(true),
            Reader::Hf => {
                let mut classes = calls(&self.tokens, is_hf_parser)
                    .flatten()
                    .filter(|at| self.tokens[*at].is_name())
                    .peekable();
                (classes.peek().is_some() && classes.all(|at| self.is_own_class(at)))
                    .then_some(false)
            }
        }
    }

    /// The token names a class of the script's own that derives from no other.
    fn is_own_class(&self, at: usize) -> bool {
        let name = self.tokens[at].text;
        (1..self.tokens.len())
            .any(|at| self.is(at, name) && self.is(at + 1, ":") && self.defines_class(at))
    }

    /// The reader of the arguments, where it is sure to refuse an option of this name.
    pub fn refuses(&self, option: &str) -> Option<&'static str> {
        let is_open = self.reader == Reader::Other("argparse") && !self.shows_all_options();
        let tolerates = self.has(&["parse_known_args", "return_remaining_strings"]);
        if is_open || tolerates || self.has_option(option) != Some(false) {
            return None;
        }
        match self.reader {
            Reader::Hf => Some("HfArgumentParser"),
            Reader::Other(package) => Some(package),
            Reader::Nothing | Reader::Elsewhere => None,
        }
    }

    /// argparse's parser is made here with all options written out, and no other function may add more.
    fn shows_all_options(&self) -> bool {
        let tokens = &self.tokens;
        let adds_others = self.has(&["add_config_arguments", "parents", "add_argparse_args"]);
        let all_written = calls(tokens, |token| token.is("add_argument")).all(|call| {
            let name = tokens.get(call.start).and_then(Token::string);
            name.is_some_and(|name| !name.contains('{')) && self.ends_argument(call.start + 1)
        });
        let mut parsers = calls(tokens, |token| token.is("ArgumentParser")).peekable();
        // `parser = argparse.ArgumentParser(…)`
        let statement = |at: usize| tokens[..at].iter().rfind(|token| token.indent.is_some());
        parsers.peek().is_some()
            && !adds_others
            && all_written
            && !parsers
                .filter_map(|call| statement(call.start))
                .any(|variable| self.is_passed(variable.text))
    }

    fn is_passed(&self, name: &str) -> bool {
        (1..self.tokens.len())
            .filter(|at| self.is(*at, name))
            .any(|at| "(,=".contains(self.tokens[at - 1].text) && self.ends_argument(at + 1))
    }

    /// The options of transformers' parser, where the script shows them.
    pub fn parser(&self) -> Option<Parser> {
        let mut parsers = calls(&self.tokens, is_hf_parser);
        let call = parsers.next()?;
        let parses = self.has(&["parse_args_into_dataclasses", "parse_args_and_config"]);
        // The alignment handbook's parser takes other words.
        if parsers.next().is_some() || !parses || self.opaque.is_some() || self.has(&[HANDBOOK]) {
            return None;
        }
        let classes: Vec<ArgumentClass> = call.clone().filter_map(|at| self.class_at(at)).collect();
        if classes.is_empty() {
            return None;
        }
        // The last word of `transformers.TrainingArguments` counts.
        let are_known = call
            .filter(|at| self.tokens[*at].is_name() && !self.is(at + 1, "."))
            .all(|at| self.class_at(at).is_some() || self.is_own_class(at));
        let mut parser = Parser::new(&classes);
        parser.closed = are_known && !self.has(ADDS_OPTIONS);
        let fields = self
            .tokens
            .windows(2)
            .filter(|pair| pair[0].indent.is_some_and(|it| it > 0) && pair[1].is(":"));
        // A bool of the script's own that is true by default has a `--no_NAME` beside it.
        for own in fields.map(|pair| pair[0].text) {
            parser.own.extend([own.to_string(), format!("no_{own}")]);
        }
        Some(parser)
    }
}

fn recorded_class(package: &str, name: &str) -> Option<ArgumentClass> {
    match (package, name) {
        ("transformers", "TrainingArguments") => Some(TRAINING_ARGUMENTS),
        ("transformers", "Seq2SeqTrainingArguments") => Some(SEQ2SEQ_ARGUMENTS),
        ("trl", name) => ArgumentClass::find("trl", name),
        _ => None,
    }
}
