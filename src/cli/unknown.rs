//! An option that zlaunch does not have: another program's, a misspelt one, or the trainer's own in the wrong place.

use std::ffi::OsString;

use super::elsewhere::{Becomes, elsewhere};
use crate::base::options::{
    Arity, CHECK, DOCTOR, EXPLAIN, FIT, GENERATE, Opt, SCHEMA, SUBCOMMANDS, TEMPLATES, launch_option,
};
use crate::base::options::{fit, generate, launch, schema, templates};
use crate::base::shell;
use crate::command::arguments;
use crate::config::template::Search;
use crate::host::Host;
use crate::ranks::launcher;
use crate::report::{self, Problem};

/// The refusal. The words become what was probably meant, so that the rest of them can be judged. Where that is not only
/// another spelling, the refusal has no help: that is the whole line as it is in the end.
pub(super) fn unknown_option(given: &str, at: usize, words: &mut Vec<OsString>, host: &Host) -> Problem {
    let bare = given.trim_start_matches('-');
    let name = bare.replace('-', "_");
    let first = words.first().and_then(|word| word.to_str());
    let place = SUBCOMMANDS.iter().map(|known| known.name).find(|name| Some(*name) == first).unwrap_or_default();
    let command = format!("zlaunch {place}");
    let mut option = Unknown { given, command: command.trim_end(), place, at, words, host };
    if Search::default().knows(bare) {
        return option.is_spelt(&format!("--deepspeed {bare}"), 1);
    }
    if let Some(ours) = launch_option(bare).filter(|_| !given.starts_with("--") && place.is_empty()) {
        return option.becomes(Becomes::Ours(*ours), &name);
    }
    if place == EXPLAIN.name && launch_option(bare).is_some() {
        return option.is_spelt(bare, 1);
    }
    if let Some(becomes) = elsewhere(&name, place) {
        return option.becomes(becomes, &name);
    }
    if let Some(takes_value) = launcher::torchrun_option(&name).filter(|_| place.is_empty()) {
        let count = option.count(takes_value);
        let value = option.value().filter(|_| takes_value).map(|value| format!("={value}")).unwrap_or_default();
        return option.is_spelt(&format!("--launcher-arg {given}{value}"), count);
    }
    let near = if arguments::is_recorded(&name) { None } else { nearest_option(&name, place) };
    // What a launch has by this very name, this command has not.
    let near = near.filter(|near| !near.aliases.iter().chain([&near.name]).any(|it| it.replace('-', "_") == name));
    if let Some(near) = near {
        return option.becomes(Becomes::Ours(near), &name);
    }
    for own in ["help", "version"] {
        if report::nearest(&name, [own]).is_some() && (own == "help" || place.is_empty()) {
            return option.is_spelt(&format!("--{own}"), 1);
        }
    }
    option.goes_behind()
}

/// The option, and the words that it stands among.
struct Unknown<'a> {
    given: &'a str,
    /// `zlaunch fit`.
    command: &'a str,
    place: &'a str,
    at: usize,
    words: &'a mut Vec<OsString>,
    host: &'a Host,
}

impl Unknown<'_> {
    fn becomes(&mut self, becomes: Becomes, name: &str) -> Problem {
        let value = self.value();
        let with = |words: &str| {
            let value = value.as_deref().unwrap_or_default();
            let (host, port) = value.rsplit_once(':').unwrap_or((value, "29500"));
            words.replace("{}", value).replace("{name}", name).replace("{host}", host).replace("{port}", port)
        };
        match becomes {
            Becomes::Ours(option) => {
                let takes_value = option.arity != Arity::Switch;
                let value = value.as_deref().filter(|_| takes_value).map(|value| format!(" {value}"));
                let count = self.count(takes_value);
                self.is_spelt(&format!("{}{}", spelt(&option, self.place), value.unwrap_or_default()), count)
            }
            Becomes::Words(words) => {
                let count = self.count(words.contains("{}") || words.contains("{host}"));
                self.is_spelt(&with(words), count)
            }
            Becomes::Behind(words) if self.has_command() => {
                let (count, words) = (self.count(true), with(words));
                self.words.drain(self.at..self.at + count);
                self.words.extend(words.split(' ').map(OsString::from));
                report::option_of_the_trainer(self.given)
            }
            Becomes::Behind(words) => {
                let (count, words) = (self.count(true), with(words));
                self.words.drain(self.at..self.at + count);
                report::unknown_option(self.command, self.given, Some(&format!("COMMAND {words}")))
            }
            Becomes::Module if self.words.iter().any(|word| word == "--") => {
                let count = self.count(true);
                self.words.drain(self.at..self.at + count);
                report::needless_option(self.command, self.given, "the command says what is run")
            }
            Becomes::Module => {
                self.words.splice(self.at..=self.at, ["--", "python", "-m"].map(OsString::from));
                report::needless_option(self.command, self.given, "`python` is the command that runs a module").help("")
            }
            Becomes::Nothing(why) => {
                let count = self.count(true);
                self.words.drain(self.at..self.at + count);
                report::needless_option(self.command, self.given, why)
            }
        }
    }

    /// It has another name here.
    fn is_spelt(&mut self, meant: &str, count: usize) -> Problem {
        self.words.splice(self.at..self.at + count, meant.split(' ').map(OsString::from));
        report::unknown_option(self.command, self.given, Some(meant))
    }

    /// It belongs to the training, if there is one.
    fn goes_behind(&mut self) -> Problem {
        let count = self.count(true);
        let moved: Vec<OsString> = self.words.drain(self.at..self.at + count).collect();
        if !self.has_command() {
            return report::unknown_option(self.command, self.given, None);
        }
        self.words.extend(moved);
        report::option_of_the_trainer(self.given)
    }

    /// How many words it takes.
    fn count(&self, takes_value: bool) -> usize {
        1 + usize::from(takes_value && self.own_value().is_none() && self.next_is_value())
    }

    fn value(&self) -> Option<String> {
        let next = || self.words.get(self.at + 1).filter(|_| self.next_is_value());
        self.own_value().or_else(|| next().map(|word| word.to_string_lossy().into_owned()))
    }

    /// `--name=value`.
    fn own_value(&self) -> Option<String> {
        self.words[self.at].to_string_lossy().split_once('=').map(|(_, value)| value.to_string())
    }

    /// Whether the next word is the value of the option, and not the command.
    fn next_is_value(&self) -> bool {
        let Some(next) = self.words.get(self.at + 1) else { return false };
        let is_option = next.as_encoded_bytes().starts_with(b"-");
        let before_dashes = || self.words[self.at..].iter().any(|word| word == "--");
        !is_option && (before_dashes() || self.host.find_program(next).is_none())
    }

    /// Whether a command stands behind the options.
    fn has_command(&self) -> bool {
        let dashes = self.words.iter().position(|word| word == "--").map(|at| at + 1);
        let program = || self.words.iter().position(|word| !word.is_empty() && self.host.find_program(word).is_some());
        let takes_command = ["", CHECK.name, DOCTOR.name, FIT.name].contains(&self.place);
        takes_command && dashes.or_else(program).is_some_and(|at| at < self.words.len())
    }
}

/// As the help of the place spells it.
fn spelt(option: &Opt, place: &str) -> String {
    if place == FIT.name && *option == launch::NPROC_PER_NODE { "--gpus".to_string() } else { option.flag() }
}

/// An option of this place that is spelt almost like it, or begins with it.
fn nearest_option(name: &str, place: &str) -> Option<Opt> {
    let tables: &[&[Opt]] = match place {
        _ if place == FIT.name => &[fit::ALL, launch::ALL],
        _ if place == GENERATE.name => &[generate::ALL, &[launch::TEMPLATE_DIR]],
        _ if place == SCHEMA.name => &[schema::ALL],
        _ if place == TEMPLATES.name => {
            &[templates::ALL, &[launch::TEMPLATE_DIR, launch::PATCH, launch::UNSET, launch::SET]]
        }
        _ => &[launch::ALL],
    };
    let all = || tables.iter().copied().flatten();
    let spellings = || all().flat_map(|option| option.aliases.iter().chain([&option.name]));
    let near = report::nearest(name, spellings().copied());
    let found = near.or_else(|| {
        let begins = |spelling: &&&str| name.len() >= 3 && spelling.replace('-', "_").starts_with(name);
        spellings().find(begins).copied()
    })?;
    all().find(|option| option.name == found || option.aliases.contains(&found)).copied()
}

/// The line that was probably meant.
pub(super) fn line(words: &[OsString]) -> String {
    let words = [&[OsString::from("zlaunch")], words].concat();
    shell::line(&words).to_string_lossy().into_owned()
}
