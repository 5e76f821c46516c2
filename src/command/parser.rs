//! The trainers' parsers, as they were recorded, and what they reject of the words they get.

mod arg_type;
mod versions;

use std::borrow::Cow;
use std::ffi::OsString;

use crate::base::recorded;
use crate::command::argument_class::{ArgumentClass, is_constant};
use crate::command::argv::{fits, is_spelling, is_value, options_end, starts_dashed};
use crate::command::python::Python;
pub(crate) use arg_type::{ArgType, Rejection};
pub(crate) use versions::{DASHES_SINCE, Versions, stand_in};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rejected {
    /// As it is written, without `=value`.
    pub(crate) option: String,
    pub(crate) why: Rejection,
}

pub(crate) struct Parser {
    /// Their fields are the options. The first class that has a name counts.
    classes: Vec<ArgumentClass>,
    /// Options of which only the name is known.
    pub(crate) own: Vec<String>,
    /// The parser refuses all other options.
    pub(crate) closed: bool,
    /// The words stand for a mapping: names are never cut short, and only what transformers looks up is converted.
    pub(crate) mapping: bool,
}

impl Parser {
    pub(crate) fn new(classes: &[ArgumentClass]) -> Self {
        let mut parser = Parser {
            classes: Vec::new(),
            own: Vec::new(),
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
    pub(crate) fn rejected(&self, words: &[OsString], versions: &Versions) -> Vec<Rejected> {
        options(words)
            .filter_map(|option| self.judge(&option, versions))
            .collect()
    }

    fn judge(&self, given: &Given, versions: &Versions) -> Option<Rejected> {
        let rejected = |why| {
            Some(Rejected {
                option: format!("{}{}", given.dashes, given.name),
                why,
            })
        };
        // argparse takes one dash for another option than two, and `-h` is the only one.
        if given.dashes == "-" {
            let is_short = given
                .name
                .starts_with(|first: char| first.is_ascii_alphabetic() && first != 'h');
            let is_unknown =
                self.closed && is_short || self.has(&given.name.replace('-', "_"), versions);
            return if is_unknown {
                rejected(Rejection::Unknown)
            } else {
                None
            };
        }
        if self.own.iter().any(|own| is_spelling(given.name, own)) {
            return None;
        }
        let dashed = given.name.contains('-') && !given.name.contains('_');
        let by_version = dashed && !self.mapping && versions.installed("transformers").is_some();
        if by_version && versions.all_within("transformers", [0; 3], DASHES_SINCE) {
            return rejected(Rejection::Unknown);
        }
        let name = if dashed {
            Cow::Owned(given.name.replace('-', "_"))
        } else {
            Cow::Borrowed(given.name)
        };
        let types = self.types(&name, versions);
        if types.iter().all(|arg_type| arg_type.is_gone()) {
            if self.mapping {
                return rejected(Rejection::Unknown);
            }
            return match self.match_prefix(given.name, versions)? {
                Ok(full) => {
                    let found = self.judge(
                        &Given {
                            name: full,
                            values: given.values.clone(),
                            ..*given
                        },
                        versions,
                    )?;
                    rejected(found.why)
                }
                Err(why) => rejected(why),
            };
        }
        if self.mapping
            && (given.values.is_empty()
                || !types.iter().all(|it| matches!(it, ArgType::MemberOf(_))))
        {
            return None;
        }
        let found: Option<Vec<Rejection>> = types
            .iter()
            .map(|arg_type| arg_type.rejection(&given.values, versions))
            .collect();
        // A version that has no such argument says nothing about its values.
        let last = found?
            .into_iter()
            .rfind(|why| !matches!(why, Rejection::NoValue(it) | Rejection::WrongValue(_, it) if it.is_gone()));
        last.and_then(rejected)
    }

    /// The histories of an argument. Classes behind one that always has it do not count.
    fn histories(&self, name: &str) -> Vec<History> {
        let mut found: Vec<History> = Vec::new();
        for class in &self.classes {
            if found.len() == 1 && is_constant(found[0].line) {
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
        let all = histories.iter().flat_map(|it| recorded::history(it.line));
        all.map(|(_, written)| ArgType::parse(written))
            .filter(|arg_type| !arg_type.is_gone())
            .collect()
    }

    /// The types of an argument in the versions that may be installed; every known type where that may be any version.
    fn types(&self, name: &str, versions: &Versions) -> Vec<ArgType> {
        let histories = self.histories(name);
        let is_settled = matches!(&histories[..], [only] if is_constant(only.line));
        if is_settled || histories.iter().any(|it| versions.is_any(it.distribution)) {
            return Self::known_types(&histories);
        }
        let types = versions.each(|of| {
            let written = histories
                .iter()
                .filter_map(|it| recorded::at(it.line, of(it.distribution)));
            let mut types = written.map(ArgType::parse);
            types.find(|arg_type| !arg_type.is_gone())
        });
        types.map(|found| found.unwrap_or(ArgType::Gone)).to_vec()
    }

    /// True if every version that may be installed has the argument.
    fn has_always(&self, name: &str, versions: &Versions) -> bool {
        let types = self.types(name, versions);
        types.iter().all(|arg_type| !arg_type.is_gone())
    }

    /// True for `no_NAME` of a bool that is true by default.
    fn turns_off(&self, name: &str, versions: &Versions) -> bool {
        let Some(positive) = name.strip_prefix("no_") else {
            return false;
        };
        self.types(positive, versions)
            .iter()
            .any(|it| matches!(it, ArgType::Bool { negative: true, .. }))
    }

    /// The option that a prefix means. `None`: that is not certain.
    fn match_prefix(
        &self,
        prefix: &str,
        versions: &Versions,
    ) -> Option<Result<&'static str, Rejection>> {
        let mut names: Vec<&'static str> = self
            .names()
            .filter(|name| fits(name, prefix) && self.has_always(name, versions))
            .collect();
        names.sort_unstable();
        names.dedup();
        let mut negative = self.names().map(|name| format!("no_{name}"));
        let fits_other = self.own.iter().any(|name| fits(name, prefix))
            || negative.any(|name| fits(&name, prefix) && self.turns_off(&name, versions));
        match &names[..] {
            [] if !fits_other => Some(Err(Rejection::Unknown)),
            // The version of Python decides whether both spellings of one option fit.
            [only] if !fits_other && starts_dashed(only, prefix) != only.starts_with(prefix) => {
                Some(Ok(only))
            }
            [] | [_] => None,
            _ => Some(Err(Rejection::Ambiguous(names))),
        }
    }

    /// True if no word may abbreviate the argument either.
    pub(crate) fn is_left_out(&self, name: &str, words: &[OsString]) -> bool {
        let texts = words.iter().filter_map(|word| word.to_str());
        let mut options = texts.filter_map(|text| text.strip_prefix("--")?.split('=').next());
        !options.any(|given| {
            let is_old_name = name == "eval_strategy" && given.starts_with("evaluation");
            !given.is_empty() && (is_old_name || !self.mapping && fits(name, given))
        })
    }

    pub(crate) fn takes(&self, name: &str, is_it: fn(ArgType) -> bool) -> bool {
        let types = Self::known_types(&self.histories(name));
        !types.is_empty() && types.into_iter().all(is_it)
    }

    pub(crate) fn versions(&self, python: Option<&Python>) -> Versions {
        Versions::of(self.classes.iter().map(|class| class.distribution), python)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.classes.iter().flat_map(|class| class.names())
    }

    pub(crate) fn has(&self, name: &str, versions: &Versions) -> bool {
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
    let words = &words[..options_end(words)];
    words.iter().enumerate().filter_map(|(at, word)| {
        let text = word.to_str()?;
        let (dashes, text) = match text.strip_prefix("--") {
            Some(long) => ("--", long),
            None => ("-", text.strip_prefix('-')?),
        };
        let (name, joined) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        // `--x=1 2` is an option only if there is one of that name, and else a value.
        let is_odd = |next: &OsString| next.as_encoded_bytes().starts_with(b"--") && is_value(next);
        let odd = joined.is_none() && words.get(at + 1).is_some_and(is_odd);
        if odd || is_value(word) || name.contains(['$', '<', '{']) {
            return None;
        }
        let behind = words[at + 1..].iter().take_while(|word| is_value(word));
        let values = match joined {
            Some(value) => vec![value],
            None => behind.filter_map(|word| word.to_str()).collect(),
        };
        Some(Given {
            dashes,
            name,
            values,
        })
    })
}
