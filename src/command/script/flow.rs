//! The way of a script's arguments from the command line to the trainer, and the options that its parser has. They count as given where transformers' parser
//! fills a class of the trainer's arguments and nothing changes what it read. Everything else is doubtful.

use std::ops::Range;

use super::kind::{HANDBOOK, is_hf_parser};
use super::tokens::{Kind, Token, calls, in_parentheses, keyword, tokens};
use crate::command::argument_class::{ArgumentClass, TRAINING_ARGUMENTS};
use crate::command::parser::Parser;
use crate::command::python::is_standard;
use crate::command::script_source::ScriptSource;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    /// `HfArgumentParser` and those derived from it.
    Hf,
    /// argparse, or a package that reads values by rules of its own.
    Other(&'static str),
    /// None is seen, although all of the script is.
    Nothing,
    /// None is seen, and the script runs code that is not.
    Elsewhere,
}

/// Packages that read a command line by rules of their own.
const OTHERS: &str = "fire hydra tyro click typer jsonargparse simple_parsing draccus pyrallis tap docopt absl chz \
    configargparse plac gin ml_collections sacred";
/// Packages that a training imports and that do not read its command line.
const LIBRARIES: &str = "accelerate bitsandbytes datasets deepspeed evaluate huggingface_hub nltk numpy packaging pandas \
    peft requests scipy sklearn tokenizers torch torchaudio torchvision tqdm transformers trl wandb yaml";
/// Packages that refuse an option which no function or decorator of the script names.
const STRICT: &str = "fire click typer";
/// Names of functions and attributes that may set any argument.
const OPAQUE: &str = "parse_dict hyperparameter_search set_training set_optimizer set_lr_scheduler set_dataloader __dict__";
const ASSIGNMENTS: &str = "= += -= *= /= //= **= %= |= :=";

fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

pub(crate) struct ArgumentFlow<'a> {
    tokens: Vec<Token<'a>>,
    /// The end of each file's tokens, and its name. The script is the last.
    files: Vec<(usize, &'a str)>,
    /// Names that mean a recorded class of arguments: those that are imported, and classes derived from them.
    classes: Vec<(&'a str, ArgumentClass)>,
    reader: Reader,
    /// The calls of constructors of the trainer's arguments.
    made: Vec<Range<usize>>,
    /// The first place that may set any argument.
    opaque: Option<usize>,
}

impl<'a> ArgumentFlow<'a> {
    pub(crate) fn read(source: &'a ScriptSource) -> Self {
        let (mut all, mut files, mut own) = (Vec::new(), Vec::new(), 0);
        let modules = source
            .modules()
            .iter()
            .rev()
            .map(|module| (module.name.as_str(), module.text.as_str()));
        for (name, text) in modules.chain([(source.name(), source.text.as_str())]) {
            own = all.len();
            all.extend(tokens(text));
            files.push((all.len(), name));
        }
        let reader = reader(&all, own);
        let mut flow = ArgumentFlow {
            tokens: all,
            files,
            classes: Vec::new(),
            reader,
            made: Vec::new(),
            opaque: None,
        };
        flow.find_classes();
        let made =
            calls(&flow.tokens, |_| true).filter(|call| flow.class_at(call.start - 2).is_some());
        flow.made = made.collect();
        flow.opaque = (0..flow.tokens.len()).find(|at| flow.is_opaque(*at));
        flow
    }

    fn name(&self) -> &'a str {
        self.files.last().map_or("", |(_, name)| name)
    }

    fn place(&self, at: usize) -> String {
        let file = self
            .files
            .iter()
            .find(|(end, _)| at < *end)
            .map_or("", |(_, name)| name);
        format!("{file}:{}", self.tokens[at].line)
    }

    fn is(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(text))
    }

    fn ends_argument(&self, at: usize) -> bool {
        self.is(at, ",") || self.is(at, ")")
    }

    pub(crate) fn has(&self, words: &[&str]) -> bool {
        self.tokens
            .iter()
            .any(|token| words.iter().any(|word| token.is(word)))
    }

    fn find_classes(&mut self) {
        for at in 1..self.tokens.len() {
            if self.defines_class(at) {
                let name = self.tokens[at].text;
                let class = self.behind(at).find_map(|base| self.class_at(base));
                self.classes.retain(|(known, _)| *known != name);
                self.classes.extend(class.map(|class| (name, class)));
            } else if self.is(at - 1, "from") && self.tokens[at - 1].indent.is_some() {
                let package = self.tokens[at].text;
                let names = self.tokens[at + 1..]
                    .iter()
                    .take_while(|token| token.indent.is_none());
                let classes =
                    names.filter_map(|name| Some((name.text, recorded_class(package, name.text)?)));
                self.classes.extend(classes);
            }
        }
    }

    fn defines_class(&self, at: usize) -> bool {
        self.is(at - 1, "class") && self.tokens[at - 1].indent.is_some()
    }

    fn behind(&self, at: usize) -> Range<usize> {
        if self.is(at + 1, "(") {
            in_parentheses(&self.tokens, at + 1)
        } else {
            0..0
        }
    }

    fn class_at(&self, at: usize) -> Option<ArgumentClass> {
        let token = self
            .tokens
            .get(at)
            .filter(|token| token.kind == Kind::Name)?;
        if at > 1 && self.is(at - 1, ".") {
            return recorded_class(self.tokens[at - 2].text, token.text);
        }
        self.classes
            .iter()
            .rfind(|(name, _)| *name == token.text)
            .map(|(_, class)| *class)
    }

    fn parsed(&self) -> impl Iterator<Item = (&'a str, ArgumentClass)> {
        let given = calls(&self.tokens, is_hf_parser).flatten();
        given.filter_map(|at| Some((self.tokens[at].text, self.class_at(at)?)))
    }

    fn is_opaque(&self, at: usize) -> bool {
        let token = self.tokens[at];
        let call = &self.tokens[self.behind(at)];
        match token.text {
            _ if token.kind != Kind::Name => false,
            // `sys.argv.remove(…)` changes it too.
            "argv" => self.is(at + 1, ".") || self.is_assigned(at),
            "setattr" => call
                .iter()
                .skip_while(|word| !word.is(","))
                .nth(1)
                .is_none_or(|name| name.kind != Kind::Text),
            // It may be given other words than those of the command.
            "parse_args_into_dataclasses" | "parse_args_and_config" => call
                .first()
                .is_some_and(|word| !word.is("return_remaining_strings")),
            // zlaunch too reads a file that the command names.
            "parse_json_file" | "parse_yaml_file" => !call.iter().any(|word| word.is("argv")),
            name => is_in(OPAQUE, name),
        }
    }

    fn is_assigned(&self, at: usize) -> bool {
        let mut rest = self.tokens[at + 1..]
            .iter()
            .take_while(|token| token.indent.is_none());
        self.tokens[at].depth == 0
            && rest.any(|token| token.depth == 0 && is_in(ASSIGNMENTS, token.text))
    }

    /// `args.NAME = …`
    pub(crate) fn set_at(&self, argument: &str) -> Option<usize> {
        (1..self.tokens.len())
            .find(|at| self.is(*at, argument) && self.is(at - 1, ".") && self.is_assigned(*at))
    }

    /// The first place where the script may set the argument: it has the name, and does not only read the attribute.
    fn touched_at(&self, argument: &str) -> Option<usize> {
        let mut named = (0..self.tokens.len())
            .filter(|at| self.tokens[*at].text.trim_start_matches('-') == argument);
        named.find(|at| *at == 0 || !self.is(at - 1, ".") || self.is_assigned(*at))
    }

    /// The reason why the trainer may get something else than the command gives for an argument.
    pub(crate) fn doubt(&self, argument: &str) -> Option<String> {
        let is_shown = self.parsed().next().is_some();
        self.doubt_about(
            &[argument],
            is_shown,
            &format!("what becomes of --{argument}"),
        )
    }

    /// The reason why the model may be another one than `--model_name_or_path` says.
    pub(crate) fn doubt_about_model(&self, argument: &str) -> Option<String> {
        self.doubt_about(
            &[argument, "hidden_size"],
            self.loads_model_by(argument),
            "which model it loads",
        )
    }

    fn doubt_about(&self, names: &[&str], is_shown: bool, what: &str) -> Option<String> {
        let doubt = match (self.reader, self.made.first(), self.opaque) {
            (Reader::Other(package), ..) => Some(format!(
                "{} reads its arguments with {package}",
                self.name()
            )),
            (Reader::Elsewhere, ..) => Some(format!(
                "zlaunch cannot see how {} reads its arguments",
                self.name()
            )),
            (_, Some(made), _) => Some(format!(
                "{} sets its arguments in code",
                self.place(made.start)
            )),
            (Reader::Hf, None, Some(at)) => {
                Some(format!("{} may set any argument", self.place(at)))
            }
            (Reader::Hf | Reader::Nothing, None, _) => None,
        };
        if doubt.is_some() || self.reader == Reader::Nothing {
            return doubt;
        }
        let touched = names
            .iter()
            .find_map(|name| Some((name, self.touched_at(name)?)));
        match touched {
            Some((name, at)) => Some(format!("{} may set {name}", self.place(at))),
            None if is_shown => None,
            None => Some(format!("{} does not show {what}", self.name())),
        }
    }

    /// A model is loaded by `args.NAME` alone.
    fn loads_model_by(&self, argument: &str) -> bool {
        const NO_MODEL: [&str; 4] = ["Tokenizer", "Processor", "Peft", "Vision"];
        (2..self.tokens.len()).any(|at| {
            let class = self.tokens[at - 2].text;
            let by_class = self.is(at, "from_pretrained")
                && !NO_MODEL.iter().any(|other| class.contains(other));
            // TRL's trainers load it: `SFTTrainer(model=model_args.model_name_or_path)`.
            let by_trainer = self.is(at, "model") && self.is(at + 1, "=");
            let value = if by_class && self.is(at + 3, "=") {
                at + 4
            } else {
                at + 2
            };
            let is_named = self.is(value + 1, ".")
                && self.is(value + 2, argument)
                && self.ends_argument(value + 3);
            (by_class || by_trainer) && is_named
        })
    }

    pub(crate) fn overrides(&self, argument: &str) -> Option<String> {
        Some(format!(
            "{} may set {argument}",
            self.place(self.set_at(argument)?)
        ))
    }

    /// The class whose default counts for an argument: the only one in a script that leaves the argument alone.
    pub(crate) fn default_class(&self, argument: &str) -> Option<ArgumentClass> {
        let trains = self
            .tokens
            .iter()
            .any(|token| token.kind == Kind::Name && token.text.ends_with("Trainer"));
        let unpacks = self
            .made
            .iter()
            .any(|call| self.tokens[call.clone()].iter().any(|token| token.is("**")));
        if !trains || unpacks || self.opaque.is_some() || self.touched_at(argument).is_some() {
            return None;
        }
        let made = self
            .made
            .iter()
            .filter_map(|call| self.class_at(call.start - 2));
        let mut used: Vec<ArgumentClass> =
            self.parsed().map(|(_, class)| class).chain(made).collect();
        if used.is_empty() && self.reader != Reader::Hf {
            used = self.classes.iter().map(|(_, class)| *class).collect();
        }
        used.first()
            .copied()
            .filter(|first| used.iter().all(|class| class == first))
    }

    fn reader_name(&self) -> Option<&'static str> {
        match self.reader {
            Reader::Hf => Some("HfArgumentParser"),
            Reader::Other(package) => Some(package),
            Reader::Nothing | Reader::Elsewhere => None,
        }
    }

    /// `HfArgumentParser → TrainingArguments`
    pub(crate) fn in_words(&self) -> String {
        let Some(read) = self.reader_name() else {
            return format!("{}: no argument parsing found", self.name());
        };
        let made = self
            .made
            .first()
            .map(|call| self.tokens[call.start - 2].text);
        let class = made.or_else(|| self.parsed().next().map(|(name, _)| name));
        class.map_or_else(|| read.to_string(), |class| format!("{read} → {class}"))
    }

    /// The option that becomes `TrainingArguments(deepspeed=args.NAME)`.
    pub(crate) fn config_option(&self) -> Option<&'a str> {
        let value = self
            .made
            .iter()
            .find_map(|call| keyword(&self.tokens[call.clone()], "deepspeed"))?;
        let [object, dot, name, rest @ ..] = value else {
            return None;
        };
        let ends = rest.first().is_none_or(|next| next.is(","));
        let is_read = matches!(self.reader, Reader::Hf | Reader::Other("argparse"));
        (object.kind == Kind::Name && dot.is(".") && ends && is_read).then_some(name.text)
    }

    /// `None`: the script does not show all of its options.
    pub(crate) fn has_option(&self, option: &str) -> Option<bool> {
        let mut named = self
            .tokens
            .iter()
            .filter(|token| token.text.trim_start_matches('-').replace('-', "_") == option);
        match self.reader {
            Reader::Nothing => Some(false),
            Reader::Other("argparse") => {
                Some(named.any(|token| token.kind == Kind::Text && token.text.starts_with('-')))
            }
            Reader::Other(package) if is_in(STRICT, package) && !self.made.is_empty() => {
                Some(named.next().is_some())
            }
            Reader::Other(_) | Reader::Elsewhere => None,
            Reader::Hf
                if self.parsed().next().is_some()
                    || named.any(|token| token.kind == Kind::Name) =>
            {
                Some(true)
            }
            Reader::Hf => {
                let given = calls(&self.tokens, is_hf_parser).flatten();
                let given: Vec<usize> = given
                    .filter(|at| self.tokens[*at].kind == Kind::Name)
                    .collect();
                (!given.is_empty() && given.iter().all(|at| self.is_own_class(*at)))
                    .then_some(false)
            }
        }
    }

    /// The token names a class of the script's own that derives from no other.
    fn is_own_class(&self, at: usize) -> bool {
        let name = self.tokens[at].text;
        (1..self.tokens.len())
            .any(|at| self.defines_class(at) && self.is(at, name) && self.is(at + 1, ":"))
    }

    /// The reader of the arguments, where it is sure to refuse an option of this name.
    pub(crate) fn refuses(&self, option: &str) -> Option<&'static str> {
        let is_open = self.reader == Reader::Other("argparse") && !self.shows_all_options();
        let tolerates = self.has(&["parse_known_args", "return_remaining_strings"]);
        if is_open || tolerates || self.has_option(option) != Some(false) {
            None
        } else {
            self.reader_name()
        }
    }

    /// argparse's parser is made here with all options written out, and no other function may add more.
    fn shows_all_options(&self) -> bool {
        let tokens = &self.tokens;
        let mut made = calls(tokens, |token| token.is("ArgumentParser")).peekable();
        if made.peek().is_none()
            || self.has(&["add_config_arguments", "parents", "add_argparse_args"])
        {
            return false;
        }
        let all_written = calls(tokens, |token| token.is("add_argument")).all(|call| {
            let name = tokens.get(call.start);
            name.is_some_and(|name| name.kind == Kind::Text && !name.text.contains('{'))
                && self.ends_argument(call.start + 1)
        });
        // `parser = argparse.ArgumentParser(…)`
        let mut variables = made.filter_map(|call| {
            let sign = (0..call.start).rev().take(6).find(|at| self.is(*at, "="))?;
            tokens.get(sign.checked_sub(1)?)
        });
        all_written && !variables.any(|variable| self.is_passed(variable.text))
    }

    fn is_passed(&self, name: &str) -> bool {
        let mut named = (1..self.tokens.len()).filter(|at| self.is(*at, name));
        named.any(|at| is_in("( , =", self.tokens[at - 1].text) && self.ends_argument(at + 1))
    }

    /// The options of transformers' parser, where the script shows them.
    pub(crate) fn parser(&self) -> Option<Parser> {
        const SEQ2SEQ: ArgumentClass = ArgumentClass {
            name: "Seq2SeqTrainingArguments",
            ..TRAINING_ARGUMENTS
        };
        let mut parsers = calls(&self.tokens, is_hf_parser);
        let (call, None) = (parsers.next()?, parsers.next()) else {
            return None;
        };
        let parses = self.has(&["parse_args_into_dataclasses", "parse_args_and_config"]);
        // The alignment handbook's parser takes other words.
        if !parses || self.opaque.is_some() || self.has(&[HANDBOOK]) {
            return None;
        }
        let generates = self.has(&[SEQ2SEQ.name]);
        let class = |class| {
            if generates && class == TRAINING_ARGUMENTS {
                SEQ2SEQ
            } else {
                class
            }
        };
        let classes: Vec<ArgumentClass> = call
            .clone()
            .filter_map(|at| self.class_at(at))
            .map(class)
            .collect();
        if classes.is_empty() {
            return None;
        }
        let is_shown = call.clone().all(|at| match self.tokens[at].kind {
            Kind::Sign => is_in("( ) [ ] , .", self.tokens[at].text),
            // The last word of `transformers.TrainingArguments` counts.
            Kind::Name => {
                self.is(at + 1, ".") || self.class_at(at).is_some() || self.is_own_class(at)
            }
            Kind::Number | Kind::Text => false,
        });
        let mut parser = Parser::new(&classes);
        parser.closed = is_shown
            && !self.has(&[
                "return_remaining_strings",
                "parse_known_args",
                "add_argument",
                "TrlParser",
            ]);
        let fields = self
            .tokens
            .windows(2)
            .filter(|pair| pair[0].indent.is_some_and(|it| it > 0) && pair[1].is(":"));
        // A bool of the script's own that is true by default has a `--no_NAME` beside it.
        for own in fields.map(|pair| pair[0].text) {
            parser.own.extend([own.to_string(), format!("no_{own}")]);
        }
        parser.own.push("help".to_string());
        Some(parser)
    }
}

fn recorded_class(package: &str, name: &str) -> Option<ArgumentClass> {
    match (package, name) {
        ("transformers", "TrainingArguments" | "Seq2SeqTrainingArguments") => {
            Some(TRAINING_ARGUMENTS)
        }
        ("trl", name) => ArgumentClass::find("trl", name),
        _ => None,
    }
}

/// `own`: where the tokens of the script itself start.
fn reader(tokens: &[Token], own: usize) -> Reader {
    let starts = tokens[own..]
        .windows(2)
        .filter(|pair| pair[0].indent.is_some());
    let imported = starts
        .filter(|pair| pair[0].is("import") || pair[0].is("from"))
        .map(|pair| pair[1].text);
    let imported: Vec<&str> = imported.collect();
    if calls(tokens, is_hf_parser).next().is_some() {
        Reader::Hf
    } else if let Some(other) = OTHERS.split(' ').find(|other| imported.contains(other)) {
        Reader::Other(other)
    } else if tokens
        .iter()
        .any(|token| token.is("add_argument") || token.is("ArgumentParser"))
    {
        Reader::Other("argparse")
    } else if imported
        .iter()
        .all(|module| is_in(LIBRARIES, module) || is_standard(module))
    {
        Reader::Nothing
    } else {
        Reader::Elsewhere
    }
}
