//! The trainers' parsers, as they were recorded, and what they reject of the words they get.

use std::ffi::{OsStr, OsString};

use crate::{
    base::{python_value, recorded},
    command::{
        argument_class::{ArgumentClass, DASHES_SINCE, GONE, Versions},
        argv::{
            fits, hf_bool, is_value, options_end, split_joined, values_behind, with_underscores,
        },
        python::Python,
    },
    report::Wanted,
};

#[derive(PartialEq)]
pub struct Rejected {
    /// As it is written, without `=value`.
    pub option: String,
    pub why: Rejection,
}

pub struct Parser {
    /// Their fields are the options. The first class that has a name counts.
    classes: Vec<ArgumentClass>,
    /// Options of which only the name is known.
    pub own: Vec<String>,
    /// The parser refuses all other options.
    pub closed: bool,
    /// The words stand for a mapping: names are never cut short, and only what transformers looks up is converted.
    pub mapping: bool,
}

impl Parser {
    pub fn new(classes: &[ArgumentClass]) -> Self {
        let mut parser = Parser {
            classes: vec![],
            own: vec!["help".to_string()],
            closed: true,
            mapping: false,
        };
        for class in classes {
            parser.add(*class);
        }
        parser
    }

    fn add(&mut self, class: ArgumentClass) {
        self.classes.push(class);
        for name in class.parts() {
            let distribution = if name.ends_with("TrainingArguments") {
                "transformers"
            } else {
                class.distribution
            };
            self.add(ArgumentClass { distribution, name });
        }
    }

    /// Rejected by every version that may be installed.
    pub fn rejected(&self, words: &[OsString], versions: &Versions) -> Vec<Rejected> {
        let is_option = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
        let before = words
            .iter()
            .take_while(|word| !self.mapping && !is_option(word))
            .map(|word| Rejected {
                option: word.to_string_lossy().into_owned(),
                why: Rejection::NoOption,
            });
        let judged = options(words).filter_map(|given| {
            Some(Rejected {
                option: format!("{}{}", given.dashes, given.name),
                why: self.rejection(&given, versions)?,
            })
        });
        before.chain(judged).collect()
    }

    fn rejection(&self, given: &Given, versions: &Versions) -> Option<Rejection> {
        // argparse takes one dash for another option than two, and `-h` is the only one.
        if given.dashes == "-" {
            let is_short = given
                .name
                .starts_with(|first: char| first.is_ascii_alphabetic() && first != 'h');
            let is_unknown =
                self.closed && is_short || self.has(&given.name.replace('-', "_"), versions);
            return is_unknown.then_some(Rejection::Unknown);
        }
        let name = with_underscores(given.name);
        if self.own.contains(&name) {
            return None;
        }
        let is_dashed = name != given.name;
        if is_dashed && (self.mapping || versions.all_within("transformers", [0; 3], DASHES_SINCE))
        {
            return Some(Rejection::Unknown);
        }
        let types = self.types(&name, versions);
        if types.iter().all(|arg_type| arg_type.is_gone()) {
            if self.mapping {
                return Some(Rejection::Unknown);
            }
            return match self.match_prefix(given.name, versions)? {
                Ok(name) => {
                    let values = given.values.clone();
                    let whole = Given {
                        name,
                        values,
                        ..*given
                    };
                    self.rejection(&whole, versions)
                }
                Err(why) => Some(why),
            };
        }
        let is_member = |arg_type: &ArgType| matches!(arg_type, ArgType::MemberOf(_));
        if self.mapping && (given.values.is_empty() || !types.iter().all(is_member)) {
            return None;
        }
        let found = types
            .iter()
            .map(|arg_type| arg_type.rejection(&given.values, versions));
        // A version that has no such argument says nothing about its values.
        let of_gone = |why: &Rejection| matches!(why, Rejection::NoValue(it) | Rejection::WrongValue(_, it) if it.is_gone());
        let found: Option<Vec<Rejection>> = found.collect();
        found?.into_iter().rfind(|why| !of_gone(why))
    }

    /// The histories of an argument. Classes behind one that always has it do not count.
    fn histories(&self, name: &str) -> Vec<History> {
        let mut found: Vec<History> = vec![];
        for class in &self.classes {
            if found.len() == 1 && found[0].line.starts_with('=') {
                break;
            }
            found.extend(class.row(name).map(|line| History {
                distribution: class.distribution,
                line,
            }));
        }
        found
    }

    fn known_types(histories: &[History]) -> Vec<ArgType> {
        histories
            .iter()
            .flat_map(|it| recorded::history(it.line))
            .map(|(_, written)| ArgType::parse(written))
            .filter(|arg_type| !arg_type.is_gone())
            .collect()
    }

    /// The types of an argument in the versions that may be installed; every known type where that may be any version.
    fn types(&self, name: &str, versions: &Versions) -> Vec<ArgType> {
        let histories = self.histories(name);
        if histories.iter().any(|it| versions.is_any(it.distribution)) {
            return Self::known_types(&histories);
        }
        [0, 1]
            .map(|which| {
                histories
                    .iter()
                    .filter_map(|it| recorded::at(it.line, versions.around(it.distribution)[which]))
                    .map(ArgType::parse)
                    .find(|arg_type| !arg_type.is_gone())
                    .unwrap_or(ArgType::Gone)
            })
            .to_vec()
    }

    /// The option that a prefix means. `None`: that is not certain.
    fn match_prefix(
        &self,
        prefix: &str,
        versions: &Versions,
    ) -> Option<Result<&'static str, Rejection>> {
        // Every version that may be installed has the argument.
        let has_always = |name| !self.types(name, versions).iter().any(|it| it.is_gone());
        let mut names: Vec<&'static str> = self
            .names()
            .filter(|name| fits(name, prefix) && has_always(name))
            .collect();
        names.sort_unstable();
        names.dedup();
        // `no_NAME` of a bool that is true by default.
        let is_negative = |it: ArgType| matches!(it, ArgType::Bool { negative: true, .. });
        let fits_other = self.own.iter().any(|name| fits(name, prefix))
            || self.names().any(|name| {
                fits(&format!("no_{name}"), prefix)
                    && self.types(name, versions).into_iter().any(is_negative)
            });
        match &names[..] {
            [] if !fits_other => Some(Err(Rejection::Unknown)),
            // The version of Python decides whether both spellings of one option fit.
            [only] if !fits_other && prefix.contains(['_', '-']) => Some(Ok(only)),
            [] | [_] => None,
            _ => Some(Err(Rejection::Ambiguous(names))),
        }
    }

    /// True if no word may abbreviate the argument either.
    pub fn is_left_out(&self, name: &str, words: &[OsString]) -> bool {
        let mut options = words
            .iter()
            .filter_map(|word| word.to_str())
            .filter_map(|text| text.strip_prefix("--")?.split('=').next());
        !options.any(|given| {
            let is_old_name = name == "eval_strategy" && given.starts_with("evaluation");
            !given.is_empty() && (is_old_name || !self.mapping && fits(name, given))
        })
    }

    pub fn takes(&self, name: &str, is_it: fn(ArgType) -> bool) -> bool {
        let types = Self::known_types(&self.histories(name));
        !types.is_empty() && types.into_iter().all(is_it)
    }

    pub fn versions(&self, python: Option<&Python>) -> Versions {
        Versions::of(self.classes.iter().map(|class| class.distribution), python)
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.classes.iter().flat_map(|class| class.names())
    }

    pub fn has(&self, name: &str, versions: &Versions) -> bool {
        self.own.iter().any(|own| own == name)
            || self
                .types(name, versions)
                .iter()
                .any(|arg_type| !arg_type.is_gone())
    }
}

/// The type of an argument by version.
struct History {
    distribution: &'static str,
    line: &'static str,
}

struct Given<'w> {
    dashes: &'static str,
    name: &'w str,
    values: Vec<&'w str>,
}

fn options(words: &[OsString]) -> impl Iterator<Item = Given<'_>> {
    (0..options_end(words)).filter_map(|at| {
        let text = words[at].to_str()?;
        let (dashes, text) = match text.strip_prefix("--") {
            Some(long) => ("--", long),
            None => ("-", text.strip_prefix('-')?),
        };
        let (name, joined) = split_joined(text);
        if is_value(&words[at]) || name.contains(['$', '<', '{']) {
            return None;
        }
        let behind = values_behind(words, at).filter_map(OsStr::to_str);
        Some(Given {
            dashes,
            name,
            values: joined.map_or_else(|| behind.collect(), |value| vec![value]),
        })
    })
}

#[derive(PartialEq)]
pub enum Rejection {
    Unknown,
    /// A word before the first option.
    NoOption,
    /// It abbreviates all of these.
    Ambiguous(Vec<&'static str>),
    NoValue(ArgType),
    WrongValue(String, ArgType),
    /// It takes only the first of these words.
    Leftover(Vec<String>),
}

/// As the recorder writes it (`tools/record/arguments.py`).
#[derive(Clone, Copy, PartialEq)]
pub enum ArgType {
    Gone,
    Text,
    Int,
    Float,
    /// `alone`: without a value it means true. `negative`: there is `--no_NAME` too.
    Bool {
        alone: bool,
        negative: bool,
    },
    /// `a|b`.
    OneOf(&'static str),
    /// A member of this class of transformers, which looks it up wherever it comes from.
    MemberOf(&'static str),
    /// Several words, of the type that is written here.
    Several(&'static str),
    /// A mapping or an object: argparse rejects every word.
    Mapping,
    Anything,
}

impl ArgType {
    /// What a recorded option of a launcher takes: `node_rank int`.
    pub fn of_option(line: &'static str) -> Self {
        line.split_once(' ')
            .map_or(ArgType::Text, |(_, written)| ArgType::parse(written))
    }

    pub fn refuses(self, value: &str, versions: &Versions) -> bool {
        self.rejection(&[value], versions).is_some()
    }

    fn parse(written: &'static str) -> Self {
        match written {
            GONE => ArgType::Gone,
            "str" => ArgType::Text,
            "int" => ArgType::Int,
            "float" => ArgType::Float,
            "bool" | "bool!" | "bool?" => ArgType::Bool {
                alone: written != "bool?",
                negative: written == "bool!",
            },
            "!" => ArgType::Mapping,
            "?" => ArgType::Anything,
            _ => match written.split_at(1) {
                ("|", choices) => ArgType::OneOf(choices),
                ("+", of) => ArgType::Several(of),
                _ => ArgType::MemberOf(written),
            },
        }
    }

    fn is_gone(self) -> bool {
        self == ArgType::Gone
    }

    pub fn is_number(self) -> bool {
        matches!(self, ArgType::Int | ArgType::Float)
    }

    pub fn is_mapping(self) -> bool {
        self == ArgType::Mapping
    }

    fn of_word(self) -> Self {
        if let ArgType::Several(of) = self {
            ArgType::parse(of)
        } else {
            self
        }
    }

    /// Values beyond the first are not for this option, unless it takes several.
    fn rejection(self, values: &[&str], versions: &Versions) -> Option<Rejection> {
        if values.is_empty() {
            let alone = matches!(self, ArgType::Bool { alone: true, .. } | ArgType::Anything);
            return (!alone).then_some(Rejection::NoValue(self));
        }
        if values[0] == "=" && values.len() > 1 {
            return Some(Rejection::Leftover(
                values.iter().map(ToString::to_string).collect(),
            ));
        }
        let own = if matches!(self, ArgType::Several(_)) {
            values
        } else {
            &values[..1]
        };
        // A shell or a template engine puts another value there.
        if !self.is_mapping() && own.iter().any(|value| value.contains(['$', '`', '{', '<'])) {
            return None;
        }
        let wrong = own
            .iter()
            .find(|value| !self.of_word().accepts(value, versions))
            .map(|value| Rejection::WrongValue((*value).to_string(), self));
        // A space is a mistake of another kind.
        let is_over =
            own.len() < values.len() && self != ArgType::Anything && !values[1].trim().is_empty();
        wrong.or_else(|| {
            is_over.then(|| Rejection::Leftover(values.iter().map(ToString::to_string).collect()))
        })
    }

    fn accepts(self, value: &str, versions: &Versions) -> bool {
        match self {
            ArgType::Text | ArgType::Anything | ArgType::Several(_) => true,
            ArgType::Gone | ArgType::Mapping => false,
            ArgType::Int => python_value::large_int(value).is_some(),
            ArgType::Float => python_value::float(value).is_some(),
            ArgType::Bool { .. } => hf_bool(value).is_some(),
            ArgType::OneOf(choices) => choices.split('|').any(|choice| choice == value),
            ArgType::MemberOf(class) => is_member(class, value, versions),
        }
    }

    pub fn choices(self, versions: &Versions) -> Vec<&'static str> {
        match self.of_word() {
            ArgType::OneOf(choices) => choices.split('|').collect(),
            ArgType::MemberOf(class) => choices_of(class)
                .names()
                .filter(|choice| is_member(class, choice, versions))
                .collect(),
            _ => vec![],
        }
    }

    pub fn wanted<'a>(self, choices: &'a [&'a str]) -> Wanted<'a> {
        match self.of_word() {
            ArgType::Int => Wanted::Int,
            ArgType::Float => Wanted::Number,
            ArgType::Bool { .. } => Wanted::Bool,
            ArgType::Mapping => Wanted::Mapping,
            _ if choices.is_empty() => Wanted::Text,
            _ => Wanted::OneOf(choices),
        }
    }
}

fn is_member(class: &'static str, value: &str, versions: &Versions) -> bool {
    let Some(history) = choices_of(class).row(value) else {
        return false;
    };
    versions.is_any("transformers")
        || versions
            .around("transformers")
            .iter()
            .any(|version| recorded::at(history, *version) == Some("+"))
}

fn choices_of(name: &'static str) -> ArgumentClass {
    ArgumentClass {
        distribution: "transformers",
        name,
    }
}
