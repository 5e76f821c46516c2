//! The trainers' parsers, as they were recorded, and what they reject of the words they get.

mod arg_type;
mod versions;

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use crate::base::recorded;
use crate::command::argument_class::{ArgumentClass, is_constant};
use crate::command::argv::{is_spelling, is_value, options_end, starts_dashed};
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
        let by_version = dashed && !self.mapping && versions.neighbours("transformers").is_some();
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

    /// The histories of an argument, by distribution. Classes behind one that always has it do not count.
    fn rows(&self, name: &str) -> Vec<(&'static str, &'static str)> {
        let mut rows = Vec::new();
        for class in &self.classes {
            let Some(history) = class.row(name) else {
                continue;
            };
            rows.push((class.distribution, history));
            if is_constant(history) && rows.len() == 1 {
                break;
            }
        }
        rows
    }

    fn known_types(rows: &[(&str, &'static str)]) -> Vec<ArgType> {
        let all = rows
            .iter()
            .flat_map(|(_, history)| recorded::history(history));
        all.map(|(_, written)| ArgType::parse(written))
            .filter(|arg_type| !arg_type.is_gone())
            .collect()
    }

    /// The types of an argument in the versions that may be installed; every known type where that may be any version.
    fn types(&self, name: &str, versions: &Versions) -> Vec<ArgType> {
        let rows = self.rows(name);
        let is_settled = matches!(rows[..], [(_, history)] if is_constant(history));
        if is_settled
            || rows
                .iter()
                .any(|(distribution, _)| versions.is_any(distribution))
        {
            return Self::known_types(&rows);
        }
        versions.each(|of| {
            let written = rows
                .iter()
                .filter_map(|(distribution, history)| recorded::at(history, of(distribution)));
            written
                .map(ArgType::parse)
                .find(|arg_type| !arg_type.is_gone())
                .unwrap_or(ArgType::Gone)
        })
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
        let fits = |name: &str| name.starts_with(prefix) || starts_dashed(name, prefix);
        let mut names: Vec<&'static str> = self.names().filter(|name| fits(name)).collect();
        names.retain(|name| {
            self.types(name, versions)
                .iter()
                .all(|arg_type| !arg_type.is_gone())
        });
        names.sort_unstable();
        names.dedup();
        let mut negative = self
            .names()
            .map(|name| format!("no_{name}"))
            .filter(|name| fits(name));
        let fits_other = self.own.iter().any(|name| fits(name))
            || negative.any(|name| self.turns_off(&name, versions));
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
        let options = words
            .iter()
            .filter_map(|word| str::from_utf8(word.as_bytes().strip_prefix(b"--")?).ok());
        let mut names = options
            .filter_map(|text| text.split('=').next())
            .filter(|name| !name.is_empty());
        !names.any(|given| {
            let is_old_name = name == "eval_strategy" && given.starts_with("evaluation");
            is_old_name || !self.mapping && (name.starts_with(given) || starts_dashed(name, given))
        })
    }

    pub(crate) fn takes(&self, name: &str, is_it: fn(ArgType) -> bool) -> bool {
        let types = Self::known_types(&self.rows(name));
        !types.is_empty() && types.into_iter().all(is_it)
    }

    pub(crate) fn versions<'p>(&self, python: Option<&'p Python>) -> Versions<'p> {
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

struct Given<'w> {
    dashes: &'static str,
    name: &'w str,
    values: Vec<&'w str>,
}

fn options(words: &[OsString]) -> impl Iterator<Item = Given<'_>> {
    let words = &words[..options_end(words)];
    words.iter().enumerate().filter_map(|(at, word)| {
        let text = word.to_str()?;
        let (dashes, text) = ["--", "-"]
            .into_iter()
            .find_map(|dashes| Some((dashes, text.strip_prefix(dashes)?)))?;
        let (name, joined) = text
            .split_once('=')
            .map_or((text, None), |(name, value)| (name, Some(value)));
        // `--x=1 2` is an option only if there is one of that name, and else a value.
        let odd = words
            .get(at + 1)
            .is_some_and(|next| next.as_encoded_bytes().starts_with(b"--") && is_value(next));
        if is_value(word) || joined.is_none() && odd || name.contains(['$', '<', '{']) {
            return None;
        }
        let behind = words[at + 1..]
            .iter()
            .take_while(|word| is_value(word))
            .filter_map(|word| word.to_str());
        let values = joined.map_or_else(|| behind.collect(), |value| vec![value]);
        Some(Given {
            dashes,
            name,
            values,
        })
    })
}
