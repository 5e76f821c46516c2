//! What the trainers' parsers take, recorded from many versions by `tools/record arguments`, and what they would
//! refuse of the words they get.

mod kind;
pub(crate) mod table;
mod versions;

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use crate::command::argv::{is_value, options_end};
use crate::command::defaults::ArgumentClass;
use crate::command::option_names::{is_spelling, starts_dashed};
use crate::command::python::{Python, Version};
pub(crate) use kind::{Fault, Kind};
pub(crate) use table::names;
pub(crate) use versions::{DASHES_SINCE, Versions, stand_in};

/// A word of the command that the parser refuses.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// As it is written, without `=value`.
    pub(crate) option: String,
    pub(crate) fault: Fault,
}

/// Whether some version of some trainer has an option of this name, spelt with `_`.
pub(crate) fn is_recorded(name: &str) -> bool {
    table::has(name)
}

/// What the table says of an argument in a version, or in the nearest older one; in the newest where none is named.
pub(crate) fn kind_in(class: ArgumentClass, argument: &str, version: Option<&Version>) -> Option<&'static str> {
    let kind = table::at(table::row(class, argument)?, version.map_or([u32::MAX; 3], Version::numbers));
    (kind != table::GONE).then_some(kind)
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
        for name in table::parts(class) {
            let distribution = if name.ends_with("TrainingArguments") { "transformers" } else { class.distribution };
            self.add(ArgumentClass { distribution, name });
        }
    }

    /// Whether some version refuses one of the words. An option that is `mentioned` elsewhere may be there.
    pub(crate) fn is_suspicious(&self, words: &[OsString], mentioned: impl Fn(&str) -> bool) -> bool {
        let mut refused = options(words).filter_map(|option| self.judge(&option, None));
        refused.any(|it| it.fault != Fault::Unknown || !mentioned(&it.option[2..].replace('-', "_")))
    }

    /// What the parser refuses, and how sure that is. Versions are looked up only where one of them refuses something.
    pub(crate) fn refused<'p>(
        &self,
        words: &[OsString],
        python: Option<&'p Python>,
    ) -> Option<(Vec<Refused>, Versions<'p>)> {
        let versions = self.versions(python);
        let suspicious = options(words).filter(|option| self.judge(option, None).is_some());
        let refused: Vec<Refused> = suspicious.filter_map(|option| self.judge(&option, Some(&versions))).collect();
        (!refused.is_empty() && versions.are_recorded()).then_some((refused, versions))
    }

    /// Why an option is refused: in every version that counts, or in any where none is named.
    fn judge(&self, given: &Given, versions: Option<&Versions>) -> Option<Refused> {
        let refused = |fault| Some(Refused { option: format!("--{}", given.name), fault });
        if self.own.iter().any(|own| is_spelling(given.name, own)) {
            return None;
        }
        let dashed = given.name.contains('-') && !given.name.contains('_');
        if dashed && !self.mapping && versions.is_none_or(Versions::refuse_dashes) {
            return refused(Fault::Unknown);
        }
        let name = if dashed { Cow::Owned(given.name.replace('-', "_")) } else { Cow::Borrowed(given.name) };
        let kinds = self.kinds(&name, versions);
        if kinds.iter().all(|kind| kind.is_gone()) {
            // Without versions this is only a suspicion.
            if self.mapping || versions.is_none() && self.closed {
                return refused(Fault::Unknown);
            }
            return match self.fitting(given.name, versions) {
                Fitting::One("") => None,
                Fitting::One(full) => self
                    .judge(&Given { name: full, values: given.values.clone() }, versions)
                    .map(|found| Refused { option: format!("--{}", given.name), ..found }),
                Fitting::Several(names) => refused(Fault::Ambiguous(names)),
                Fitting::None => refused(Fault::Unknown).filter(|_| !self.turns_off(&name, versions)),
            };
        }
        // Of a mapping, only what transformers looks up is judged; that a version lacks it is a suspicion.
        let mut judged = kinds.iter().map(|kind| kind.is_looked_up() || versions.is_none() && kind.is_gone());
        let judges = if versions.is_none() { judged.any(|it| it) } else { judged.all(|it| it) };
        if self.mapping && (given.values.is_empty() || !judges) {
            return None;
        }
        let faults: Vec<Option<Fault>> = kinds.iter().map(|kind| kind.fault(&given.values, versions)).collect();
        let counts =
            if versions.is_some() { faults.iter().all(Option::is_some) } else { faults.iter().any(Option::is_some) };
        // A version that has no such argument says nothing about its values.
        let told = faults.into_iter().flatten().rfind(|fault| !fault.is_about(Kind::GONE) || versions.is_none());
        told.filter(|_| counts).and_then(refused)
    }

    /// What the argument of this name takes in each version that counts; without versions, in all there are.
    fn kinds(&self, name: &str, versions: Option<&Versions>) -> Vec<Kind> {
        let mut rows: Vec<(&'static str, &'static str)> = Vec::new();
        for class in &self.classes {
            let Some(history) = table::row(*class, name) else { continue };
            // Classes behind one that always has it do not count.
            if table::is_constant(history) && rows.is_empty() {
                return vec![Kind(&history[1..])];
            }
            rows.push((class.distribution, history));
        }
        let is_any = |versions: &&Versions| rows.iter().any(|(distribution, _)| versions.is_any(distribution));
        let Some(versions) = versions.filter(|versions| !is_any(versions)) else {
            let all = rows.iter().flat_map(|(_, history)| table::all(history)).map(|(_, kind)| Kind(kind));
            // Any version may be there: what one of them refuses is looked at, what one of them takes is taken.
            let missing = (versions.is_none() && !rows.iter().any(|(_, history)| table::is_constant(history)))
                .then_some(Kind::GONE);
            return all.filter(|kind| versions.is_none() || !kind.is_gone()).chain(missing).collect();
        };
        versions.each(|at| {
            let mut found = rows.iter().map(|(distribution, history)| Kind(table::at(history, at(distribution))));
            found.find(|kind| !kind.is_gone()).unwrap_or(Kind::GONE)
        })
    }

    /// `--no_NAME` of a bool that is true by default.
    fn turns_off(&self, name: &str, versions: Option<&Versions>) -> bool {
        let positive = name.strip_prefix("no_");
        positive.is_some_and(|name| self.kinds(name, versions).iter().any(|kind| kind.has_negative()))
    }

    /// The options that an abbreviation fits.
    fn fitting(&self, prefix: &str, versions: Option<&Versions>) -> Fitting {
        let mut names: Vec<&'static str> =
            self.names().filter(|name| starts_dashed(name, prefix) || name.starts_with(prefix)).collect();
        if let Some(versions) = versions {
            names.retain(|name| self.kinds(name, Some(versions)).iter().all(|kind| !kind.is_gone()));
        }
        names.sort_unstable();
        names.dedup();
        let own = self.own.iter().any(|name| name.starts_with(prefix) || starts_dashed(name, prefix));
        let negative = self.names().any(|name| {
            let full = format!("no_{name}");
            (full.starts_with(prefix) || starts_dashed(&full, prefix)) && self.turns_off(&full, versions)
        });
        match &names[..] {
            [] if own || negative => Fitting::One(""),
            [] => Fitting::None,
            // Whether both spellings of one option fit decides the version of Python.
            [only]
                if !own
                    && !negative
                    && (prefix.contains('_') || starts_dashed(only, prefix) != only.starts_with(prefix)) =>
            {
                Fitting::One(only)
            }
            [_] => Fitting::One(""),
            _ => Fitting::Several(names),
        }
    }

    /// Whether an argument that is not given has the default of transformers.
    pub(crate) fn keeps_default(&self, name: &str, words: &[OsString]) -> bool {
        let mut changed = self.classes.iter().filter(|class| class.distribution != "transformers");
        !self.own.iter().any(|own| own == name)
            && changed.all(|class| table::row(*class, name).is_none())
            && self.is_left_out(name, words)
    }

    /// Whether no word may mean an argument that does not stand there by its name.
    pub(crate) fn is_left_out(&self, name: &str, words: &[OsString]) -> bool {
        let abbreviated = |given: &str| name.starts_with(given) || starts_dashed(name, given);
        let old_name = |given: &str| name == "eval_strategy" && given.starts_with("evaluation");
        let options = words.iter().filter_map(|word| str::from_utf8(word.as_bytes().strip_prefix(b"--")?).ok());
        let mut names = options.filter_map(|text| text.split('=').next()).filter(|name| !name.is_empty());
        !names.any(|given| old_name(given) || !self.mapping && abbreviated(given))
    }

    /// Whether every version that has this argument takes this kind of value.
    pub(crate) fn takes(&self, name: &str, is_it: fn(Kind) -> bool) -> bool {
        let kinds = self.kinds(name, None);
        let mut there = kinds.iter().filter(|kind| !kind.is_gone()).peekable();
        there.peek().is_some() && there.all(|kind| is_it(*kind))
    }

    pub(crate) fn versions<'p>(&self, python: Option<&'p Python>) -> Versions<'p> {
        Versions::of(self.classes.iter().map(|class| class.distribution), python)
    }

    /// Every name that one of the classes has or had.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.classes.iter().flat_map(|class| table::names(*class))
    }

    /// Whether a version that counts has this argument.
    pub(crate) fn has(&self, name: &str, versions: &Versions) -> bool {
        self.own.iter().any(|own| own == name) || self.kinds(name, Some(versions)).iter().any(|kind| !kind.is_gone())
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

enum Fitting {
    None,
    /// Its name, if it is the only one.
    One(&'static str),
    Several(Vec<&'static str>),
}
