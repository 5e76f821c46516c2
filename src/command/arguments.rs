//! What the trainers' parsers take, recorded from many versions by `tools/record arguments`, and what they would
//! refuse of the words they get.

mod arg_type;
pub(crate) mod options_table;
mod versions;

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use crate::base::recorded::{self, Version};
use crate::command::argv::{is_value, options_end};
use crate::command::defaults::ArgumentClass;
use crate::command::option_names::{is_spelling, starts_dashed};
use crate::command::python::Python;
pub(crate) use arg_type::{ArgType, Rejection};
pub(crate) use options_table::names;
use options_table::{GONE, is_constant, row};
pub(crate) use versions::{DASHES_SINCE, Versions, stand_in};

/// A word of the command that the parser rejects.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rejected {
    /// As it is written, without `=value`.
    pub(crate) option: String,
    pub(crate) why: Rejection,
}

/// Whether some version of some trainer has an option of this name, spelt with `_`.
pub(crate) fn is_recorded(name: &str) -> bool {
    options_table::has(name)
}

/// What the table says of an argument in a version, or in the nearest one; in the newest where none is named.
pub(crate) fn written_type(class: ArgumentClass, argument: &str, version: Option<Version>) -> Option<&'static str> {
    let oldest = recorded::versions(options_table::recorded(class.distribution)?).next()?;
    let version = version.map_or(Version([u32::MAX; 3]), |version| version.max(oldest));
    recorded::at(row(class, argument)?, version).filter(|written| *written != GONE)
}

/// The classes whose fields are the options of a parser, the first that has a name counts.
pub(crate) struct Parser {
    classes: Vec<ArgumentClass>,
    /// Options of which only the name is known.
    pub(crate) own: Vec<String>,
    /// There are no other options.
    pub(crate) closed: bool,
    /// The words stand for a mapping: names are never cut short, and only what transformers looks up is converted.
    pub(crate) mapping: bool,
}

impl Parser {
    pub(crate) fn new(classes: &[ArgumentClass]) -> Self {
        let mut parser = Parser { classes: Vec::new(), own: Vec::new(), closed: true, mapping: false };
        for class in classes {
            parser.add(*class);
        }
        parser
    }

    fn add(&mut self, class: ArgumentClass) {
        self.classes.push(class);
        for name in options_table::parts(class) {
            let distribution = if name.ends_with("TrainingArguments") { "transformers" } else { class.distribution };
            self.add(ArgumentClass { distribution, name });
        }
    }

    /// What the parser rejects in every version that counts.
    pub(crate) fn rejected(&self, words: &[OsString], versions: &Versions) -> Vec<Rejected> {
        options(words).filter_map(|option| self.judge(&option, versions)).collect()
    }

    fn judge(&self, given: &Given, versions: &Versions) -> Option<Rejected> {
        let rejected = |why| Some(Rejected { option: format!("--{}", given.name), why });
        if self.own.iter().any(|own| is_spelling(given.name, own)) {
            return None;
        }
        let dashed = given.name.contains('-') && !given.name.contains('_');
        if dashed && !self.mapping && versions.refuse_dashes() {
            return rejected(Rejection::Unknown);
        }
        let name = if dashed { Cow::Owned(given.name.replace('-', "_")) } else { Cow::Borrowed(given.name) };
        let types = self.types(&name, versions);
        if types.iter().all(|arg_type| arg_type.is_gone()) {
            if self.mapping {
                return rejected(Rejection::Unknown);
            }
            return match self.match_prefix(given.name, versions) {
                PrefixMatch::One("") => None,
                PrefixMatch::One(full) => self
                    .judge(&Given { name: full, values: given.values.clone() }, versions)
                    .map(|found| Rejected { option: format!("--{}", given.name), ..found }),
                PrefixMatch::Several(names) => rejected(Rejection::Ambiguous(names)),
                PrefixMatch::None => rejected(Rejection::Unknown).filter(|_| !self.turns_off(&name, versions)),
            };
        }
        // Of a mapping, only what transformers looks up is judged.
        if self.mapping && (given.values.is_empty() || !types.iter().all(|it| matches!(it, ArgType::MemberOf(_)))) {
            return None;
        }
        let found: Option<Vec<Rejection>> =
            types.iter().map(|arg_type| arg_type.rejection(&given.values, versions)).collect();
        // A version that has no such argument says nothing about its values.
        let of_gone = |why: &Rejection| {
            matches!(why, Rejection::NoValue(ArgType::Gone) | Rejection::WrongValue(_, ArgType::Gone))
        };
        found?.into_iter().rfind(|why| !of_gone(why)).and_then(rejected)
    }

    /// What the table has for an argument, by the distribution whose versions it names. Classes behind one that always has
    /// it do not count.
    fn rows(&self, name: &str) -> Vec<(&'static str, &'static str)> {
        let mut rows = Vec::new();
        for class in &self.classes {
            let Some(history) = row(*class, name) else { continue };
            rows.push((class.distribution, history));
            if is_constant(history) && rows.len() == 1 {
                break;
            }
        }
        rows
    }

    /// Every type that a version has for this argument.
    fn known_types(rows: &[(&str, &'static str)]) -> Vec<ArgType> {
        let all = rows.iter().flat_map(|(_, history)| recorded::history(history));
        all.map(|(_, written)| ArgType::parse(written)).filter(|arg_type| !arg_type.is_gone()).collect()
    }

    /// What the argument of this name takes in each version that counts. Where any may be there, what one of them takes is
    /// taken.
    fn types(&self, name: &str, versions: &Versions) -> Vec<ArgType> {
        let rows = self.rows(name);
        let is_settled = matches!(rows[..], [(_, history)] if is_constant(history));
        if is_settled || rows.iter().any(|(distribution, _)| versions.is_any(distribution)) {
            return Self::known_types(&rows);
        }
        versions.each(|of| {
            let written = rows.iter().filter_map(|(distribution, history)| recorded::at(history, of(distribution)));
            written.map(ArgType::parse).find(|arg_type| !arg_type.is_gone()).unwrap_or(ArgType::Gone)
        })
    }

    /// `--no_NAME` of a bool that is true by default.
    fn turns_off(&self, name: &str, versions: &Versions) -> bool {
        let Some(positive) = name.strip_prefix("no_") else { return false };
        self.types(positive, versions).iter().any(|it| matches!(it, ArgType::Bool { negative: true, .. }))
    }

    /// The options that an abbreviation fits.
    fn match_prefix(&self, prefix: &str, versions: &Versions) -> PrefixMatch {
        let mut names: Vec<&'static str> =
            self.names().filter(|name| starts_dashed(name, prefix) || name.starts_with(prefix)).collect();
        names.retain(|name| self.types(name, versions).iter().all(|arg_type| !arg_type.is_gone()));
        names.sort_unstable();
        names.dedup();
        let own = self.own.iter().any(|name| name.starts_with(prefix) || starts_dashed(name, prefix));
        let negative = self.names().any(|name| {
            let full = format!("no_{name}");
            (full.starts_with(prefix) || starts_dashed(&full, prefix)) && self.turns_off(&full, versions)
        });
        match &names[..] {
            [] if own || negative => PrefixMatch::One(""),
            [] => PrefixMatch::None,
            // Whether both spellings of one option fit decides the version of Python.
            [only] if !own && !negative && starts_dashed(only, prefix) != only.starts_with(prefix) => {
                PrefixMatch::One(only)
            }
            [_] => PrefixMatch::One(""),
            _ => PrefixMatch::Several(names),
        }
    }

    /// Whether no word may mean an argument that does not stand there by its name.
    pub(crate) fn is_left_out(&self, name: &str, words: &[OsString]) -> bool {
        let abbreviated = |given: &str| name.starts_with(given) || starts_dashed(name, given);
        let old_name = |given: &str| name == "eval_strategy" && given.starts_with("evaluation");
        let options = words.iter().filter_map(|word| str::from_utf8(word.as_bytes().strip_prefix(b"--")?).ok());
        let mut names = options.filter_map(|text| text.split('=').next()).filter(|name| !name.is_empty());
        !names.any(|given| old_name(given) || !self.mapping && abbreviated(given))
    }

    /// Whether every version that has this argument takes this type of value.
    pub(crate) fn takes(&self, name: &str, is_it: fn(ArgType) -> bool) -> bool {
        let types = Self::known_types(&self.rows(name));
        !types.is_empty() && types.into_iter().all(is_it)
    }

    pub(crate) fn versions<'p>(&self, python: Option<&'p Python>) -> Versions<'p> {
        Versions::of(self.classes.iter().map(|class| class.distribution), python)
    }

    /// Every name that one of the classes has or had.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.classes.iter().flat_map(|class| names(*class))
    }

    /// Whether a version that counts has this argument.
    pub(crate) fn has(&self, name: &str, versions: &Versions) -> bool {
        self.own.iter().any(|own| own == name) || self.types(name, versions).iter().any(|arg_type| !arg_type.is_gone())
    }
}

struct Given<'w> {
    name: &'w str,
    values: Vec<&'w str>,
}

/// The options among the words, each with the values behind it.
fn options(words: &[OsString]) -> impl Iterator<Item = Given<'_>> {
    let words = &words[..options_end(words)];
    words.iter().enumerate().filter_map(|(at, word)| {
        let text = word.to_str()?.strip_prefix("--")?;
        let (name, joined) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        // `--x=1 2` is an option only if there is one of that name, and else a value.
        let odd = |word: &OsString| is_value(word) && word.as_encoded_bytes().starts_with(b"--");
        if is_value(word) || joined.is_none() && words.get(at + 1).is_some_and(odd) || name.contains(['$', '<', '{']) {
            return None;
        }
        let behind = words[at + 1..].iter().take_while(|word| is_value(word)).filter_map(|word| word.to_str());
        let values = joined.map_or_else(|| behind.collect(), |value| vec![value]);
        Some(Given { name, values })
    })
}

enum PrefixMatch {
    None,
    /// Its name, if it is the only one.
    One(&'static str),
    Several(Vec<&'static str>),
}
