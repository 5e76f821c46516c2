//! Arguments that the trainer's parser would refuse: unknown options, values of another type, choices that do not exist,
//! texts in a run file where it converts nothing. `command::parser` has the recorded parsers. And what a trainer refuses though its
//! parser took it.

use std::{ffi::OsString, path::Path};

use super::{
    rows::{Findings, all_hold},
    subject::Subject,
    tables::{
        meant_options::{MEANT_OPTIONS, Meant},
        names::ALWAYS_NUMBERS,
        refusals::REFUSALS,
        types::{Condition, Refusal},
    },
};
use crate::{
    base::{
        options::{flag, launch_option},
        shell,
    },
    command::{
        argument_class::{TRAINING_ARGUMENTS, Versions},
        argv::hf_bool,
        parser::{ArgType, Parser, Rejected, Rejection},
        run_file,
        tables::front_end::{ArgumentParser, RunFilePlace},
        target::base_name,
    },
    config::schema,
    report::{self, Wanted, fix::move_to_front, prelude::*},
};

pub fn refused_arguments(subject: &Subject, found: &mut Findings) {
    let last = subject
        .job
        .command_line()
        .last()
        .and_then(|word| word.to_str())
        .unwrap_or("-");
    if !last.is_empty() && last.trim().is_empty() {
        let severity = Severity::error_if(is_recorded(subject));
        found.problem(severity, report::only_a_space());
    }
    let Some(reading) = Reading::of(subject) else {
        return;
    };
    for word in subject
        .job
        .command_line()
        .iter()
        .filter(|_| !reading.parser.mapping)
    {
        reading.report_word(&word.to_string_lossy(), found);
    }
    for rejected in reading.parser.rejected(&reading.words, &reading.versions) {
        reading.report_rejection(&rejected, found);
    }
    // argparse reads no options after it.
    let mut unread = reading.words.iter().skip_while(|word| *word != "--");
    if !reading.parser.mapping && unread.nth(1).is_some() {
        let what = format!("{} reads no options after `--`", reading.versions.first());
        found
            .at([Place::from("--")], what, move_to_front("--"))
            .error_if(reading.closed && reading.versions.certain());
    }
    if reading.plain {
        reading.report_refusals(found);
    }
}

pub fn missing_arguments(subject: &Subject, found: &mut Findings) {
    // A run file that cannot be read may have it.
    let is_missing = |refusal: &&Refusal| {
        matches!(refusal.when[0], Condition::LeftOut(_))
            && subject.given(refusal.argument).is_none()
            && subject.job.problems.is_empty()
    };
    for refusal in refusals(subject).filter(is_missing) {
        let reading = Reading::of(subject).filter(|reading| reading.versions.certain());
        let Some(reading) = reading else { return };
        let name = refusal.argument;
        if all_hold(refusal.when, subject, Some(&reading.parser)) && !reading.is_misspelt(name) {
            let version = reading.versions.first();
            let what = format!(
                "{version} needs `{}`: {}",
                reading.option(name),
                refusal.why
            );
            let place = Place::from(subject.job.trainer.name);
            found.at([place], what, refusal.fixes(subject));
        }
    }
}

pub fn texts_for_numbers(subject: &Subject, found: &mut Findings) {
    let job = subject.job;
    if job.texts.is_empty() {
        return;
    }
    let class = match job.trainer.arguments.parser {
        ArgumentParser::Recorded => job.parsed_class(subject.host),
        _ => Some(TRAINING_ARGUMENTS),
    };
    let parser = Parser::new(class.as_slice());
    for (name, text) in &job.texts {
        if !parser.takes(name, ArgType::is_number) {
            continue;
        }
        // In YAML 1.1 a number with an exponent needs a dot and a sign. Rust writes none.
        let meant = Wanted::Number.meant(name, text);
        let number = meant
            .and_then(|it| it.parse::<f64>().ok())
            .map_or_else(|| "NUMBER".to_string(), |number| number.to_string());
        // A script may convert the values itself.
        let is_certain = ALWAYS_NUMBERS.contains(&name.as_str()) && job.version().is_some();
        let place = subject.place_of(name, Place::option(name, text));
        let what = format!(
            "the trainer reads `{name}` as the string `{text}`, but needs a number and does not convert it"
        );
        found
            .at([place], what, give(name, number).of(Owner::Trainer))
            .error_if(is_certain);
    }
}

/// The trainer's parser was recorded, unlike that of a script.
fn is_recorded(subject: &Subject) -> bool {
    subject.job.trainer.arguments.parser == ArgumentParser::Recorded
}

/// The arguments as the trainer's parser reads them.
struct Reading<'a> {
    subject: &'a Subject<'a>,
    parser: Parser,
    versions: Versions,
    words: Vec<OsString>,
    /// The parser refuses unknown options.
    closed: bool,
    /// transformers gets the arguments as they were read.
    plain: bool,
    /// Some of the words are from a run file.
    in_run_file: bool,
}

impl<'a> Reading<'a> {
    fn of(subject: &'a Subject<'a>) -> Option<Self> {
        let job = subject.job;
        let mapping = job.reads_mapping();
        let mut parser;
        let closed;
        let mut plain = true;
        let mut words = job.args.words().to_vec();
        if is_recorded(subject) {
            parser = Parser::new(&[job.parsed_class(subject.host)?]);
            closed = !(job.trainer.ignores_unknown_options)(job, subject.host);
        } else {
            let flow = job.flow()?;
            parser = flow.parser()?;
            // The script has no code that changes the arguments while they are read.
            plain = !flow.has(&["__post_init__", "set_defaults"]);
            let refuses_keys = flow.has(&["parse_json_file", "parse_yaml_file"])
                && !flow.has(&["allow_extra_keys"]);
            closed = parser.closed && (!mapping || refuses_keys);
            if !mapping {
                words = job.command_line().to_vec();
            }
        }
        parser.mapping = mapping;
        let in_run_file = mapping || words != job.command_line();
        words.extend(
            job.unread
                .iter()
                .filter(|name| mapping || !parser.names().any(|known| known == *name))
                .map(|name| OsString::from(format!("--{name}"))),
        );
        Some(Reading {
            subject,
            versions: parser.versions(job.python.as_ref()),
            parser,
            words,
            closed,
            plain,
            in_run_file,
        })
    }

    /// An option as the user writes it: in a run file without dashes.
    fn option(&self, name: &str) -> String {
        let dashes = if self.parser.mapping { "" } else { "--" };
        format!("{dashes}{}", name.trim_start_matches('-'))
    }

    fn place_in_run_file(&self, value: &str) -> Option<Place> {
        let subject = self.subject;
        let place = || subject.job.place_in_run_file(value, subject.host);
        self.in_run_file.then(place)?
    }

    fn suggestion(&self, name: &str) -> Option<&'static str> {
        let known = self.parser.names();
        nearest(
            name,
            known.filter(|known| self.parser.has(known, &self.versions)),
        )
    }

    /// The argument may be what is refused already: a misspelt option, or a run file given as one.
    fn is_misspelt(&self, name: &str) -> bool {
        let rejected = self.parser.rejected(&self.words, &self.versions);
        let mut options = rejected.iter().map(|it| it.option.trim_start_matches('-'));
        self.closed && options.any(|it| it == "config" || self.suggestion(it) == Some(name))
    }

    /// A word without its dashes that must have been meant for an option: `learning_rate=1e-5`, `—-bf16`.
    fn report_word(&self, word: &str, found: &mut Findings) {
        let plain = word.trim_start_matches(['—', '–', '-']);
        let meant = match word.split_once('=') {
            _ if word[..word.len() - plain.len()].contains(['—', '–']) => format!("--{plain}"),
            Some((name, value)) if self.parser.has(name, &self.versions) => {
                format!("--{name} {value}")
            }
            _ => return,
        };
        let what = format!("`{word}` does not begin with `--`, so it is not read as an option");
        found.at(
            [Place::from(word)],
            what,
            rename_option(word, meant).of(Owner::Trainer),
        );
    }

    fn report_refusals(&self, found: &mut Findings) {
        let Reading {
            subject, versions, ..
        } = self;
        let knows_transformers = versions.all_within("transformers", [0; 3], [u32::MAX; 3]);
        for refusal in refusals(subject) {
            let Some((name, values)) = subject.job.args.list(refusal.argument) else {
                continue;
            };
            let is_known = knows_transformers || !refusal.by.is_empty();
            if !is_known || !all_hold(refusal.when, subject, Some(&self.parser)) {
                continue;
            }
            let name = self.option(&name);
            let mut shown = values.join(" ".as_ref()).to_string_lossy().into_owned();
            if self.parser.mapping && (shown == "True" || shown == "False") {
                shown.make_ascii_lowercase();
            }
            let place = Place::option(&name, shown);
            let doubt = versions.doubt();
            let what = format!("the trainer refuses `{place}`: {}{doubt}", refusal.why);
            let in_file = self.place_in_run_file(name.trim_start_matches('-'));
            let places = [in_file.unwrap_or(place)];
            found
                .at(places, what, refusal.fixes(subject))
                .error_if(versions.certain());
        }
    }

    fn report_rejection(&self, rejected: &Rejected, found: &mut Findings) {
        let option = rejected.option.as_str();
        let written = option.trim_start_matches('-');
        let name = written.replace('-', "_");
        let shown = if self.parser.mapping { written } else { option };
        let refused = |why: &str, fix: Fix| {
            Rule::Argument
                .error(format!("the trainer refuses `{option}`: {why}"))
                .fix(fix.of(Owner::Trainer))
        };
        let mut is_certain = true;
        let mut problem = match &rejected.why {
            Rejection::Unknown => {
                is_certain = self.closed;
                let Some(problem) = self.unknown_option(shown, &name) else {
                    return;
                };
                problem
            }
            Rejection::Ambiguous(names) => {
                is_certain = self.parser.closed;
                let launchers = self.before_script(option, &name);
                let fix = match (launchers, launch_option(&name), self.suggestion(&name)) {
                    (Some(fix), ..) => fix,
                    (_, Some(ours), _) => move_to_front(flag(ours)),
                    (.., Some(meant)) => rename_option(option, self.option(meant)),
                    _ => say("write the whole name"),
                };
                let why = format!("it could mean --{}", names.join(" or --"));
                refused(&why, fix).at(Place::option(option, ""))
            }
            Rejection::NoValue(kind) => {
                let choices = kind.choices(&self.versions);
                report::argument_without_value(option, kind.wanted(&choices))
            }
            Rejection::Leftover(_) | Rejection::NoOption if !self.closed => return,
            Rejection::NoOption => {
                // A script may take operands. A run file that is missing is reported as one.
                let file = self.run_file(option, None);
                if !is_recorded(self.subject)
                    || run_file::is_one(Path::new(option)) && file.is_none()
                {
                    return;
                }
                let otherwise = say("write it as the value of an option, or leave it out");
                refused("it takes nothing but options", file.unwrap_or(otherwise)).at(option)
            }
            Rejection::Leftover(words) => {
                let word = &words[1];
                let whole = words.join(" ");
                // An option behind a blank, as after a `\\` with a space, cannot be meant for a value. Of all else the
                // trainer decides.
                let meant = if self.parser.has(word, &self.versions) {
                    self.option(word)
                } else {
                    word.trim_start().to_string()
                };
                let is_option = meant.starts_with('-') && meant != *word;
                is_certain = (is_option || words[0] == "=") && is_recorded(self.subject);
                let is_number = |text: &str| text.parse::<f64>().is_ok();
                let place = Place::option(option, &whole);
                let is_text =
                    !is_number(&words[0]) && hf_bool(&words[0]).is_none() && !whole.contains('=');
                let joined = match &*words[0] {
                    "=" => Some(word.clone()),
                    _ if is_text => Some(whole),
                    _ if is_number(word) => None,
                    // `2 e-5`, `5 %`
                    _ => Wanted::Number.meant(&name, &words.concat()),
                };
                let fix = match joined {
                    _ if is_option => rename_option(word, meant),
                    Some(joined) => {
                        rename_option(&place, shell::text(&[option.into(), joined.into()]))
                    }
                    None => say("give one value"),
                };
                refused("it takes one value", fix).at(place)
            }
            Rejection::WrongValue(value, kind) => {
                let choices = kind.choices(&self.versions);
                let wanted = kind.wanted(&choices);
                is_certain = !matches!(wanted, Wanted::Mapping);
                report::argument_of_wrong_type(shown, value, wanted)
            }
        };
        let sought = match &rejected.why {
            Rejection::WrongValue(value, _) => value,
            _ => written,
        };
        if let Some(in_file) = self.place_in_run_file(sought) {
            problem.places = vec![in_file];
        }
        problem.what += &self.versions.doubt();
        let severity = Severity::error_if(is_certain && self.versions.certain());
        found.problem(severity, problem);
    }

    /// For an option of the launcher in the command.
    fn before_script(&self, shown: &str, name: &str) -> Option<Fix> {
        let existing = self.subject.existing_launcher;
        let launcher = existing.filter(|existing| existing.has_option(name))?;
        let value = self.subject.given(name).and_then(|given| given.value);
        let given = Place::option(shown, value.unwrap_or_default());
        let help = format!("it is an option of `{}`", launcher.name);
        Some(say(format_args!("put {given} before the script: {help}")))
    }

    /// A run file where the trainer does not take one: `swift sft --config run.yaml`, `trl sft run.yaml`.
    fn run_file(&self, file: &str, option: Option<&str>) -> Option<Fix> {
        let job = self.subject.job;
        if !run_file::is_one(Path::new(file)) {
            return None;
        }
        match job.trainer.arguments.run_file {
            RunFilePlace::First { since }
                if option == Some("--config") && !job.is_before(since) =>
            {
                let console = job.trainer.launch.consoles.first()?;
                let command = format!("{console} {}", job.sub_command()?.name);
                let right = format!("{command} {file}");
                let mut words = job.command_line().iter();
                Some(if words.next().is_some_and(|word| word == "--config") {
                    rename_option(format!("{command} --config {file}"), right)
                } else {
                    say(format!("a run file comes first: `{right} …`"))
                })
            }
            RunFilePlace::Option(name) if option.is_none() => {
                Some(rename_option(file, format!("{name} {file}")))
            }
            _ => None,
        }
    }

    /// What people mean by an option of this name that no trainer has.
    fn meant_by(&self, shown: &str, name: &str) -> Option<Fix> {
        let given = self.subject.given(name)?.value.unwrap_or_default();
        if let Some(fix) = self
            .before_script(shown, name)
            .or_else(|| self.run_file(given, Some(shown)))
        {
            return Some(fix);
        }
        let is_on = given.is_empty() || schema::truth(&given.into()) == Some(true);
        MEANT_OPTIONS
            .iter()
            .filter(|row| row.names.contains(&name))
            .find_map(|row| {
                let (to, value) = match row.meant {
                    Meant::Says(text) => return Some(say(text)),
                    // These are switches.
                    Meant::Option(to, value) if is_on => (to, value.to_string()),
                    Meant::Stage if matches!(given, "0" | "1" | "2" | "3") => {
                        ("deepspeed", format!("zero{given}"))
                    }
                    _ => return None,
                };
                let colon = if self.parser.mapping { ":" } else { "" };
                let meant = format!("{}{colon} {value}", self.option(to));
                let is_there = self.parser.has(to, &self.versions);
                is_there.then(|| rename_option(Place::option(shown, given), meant))
            })
    }

    fn unknown_option(&self, shown: &str, name: &str) -> Option<Problem> {
        let parser = &self.parser;
        let is_recorded = is_recorded(self.subject);
        let once = parser.names().any(|known| known == name);
        let near = || {
            let near = self.suggestion(name)?;
            // Only one of the two would count.
            (near == name.replace('-', "_") || self.subject.given(near).is_none())
                .then(|| rename_option(shown, self.option(near)))
        };
        let split = || {
            let (option, value) = shown.split_once(':')?;
            let is_known = parser.has(name.split(':').next()?, &self.versions);
            is_known.then(|| rename_option(shown, format!("{option} {value}")))
        };
        let meant = self.meant_by(shown, name).or_else(near).or_else(split);
        // The script may have more options, so only those that were dropped or are misspelled are reported.
        let is_told = once && !parser.closed || is_recorded && meant.is_some();
        // A class of the script may have short options.
        let is_short = !is_recorded && !once && !parser.mapping && !shown.starts_with("--");
        if !self.closed && !is_told || is_short {
            return None;
        }
        let version = self.versions.first();
        let what = if is_recorded {
            let outcome = if self.closed { "" } else { ", and ignores it" };
            format!("{version} has no option `{shown}`{outcome}")
        } else {
            let script = base_name(self.subject.job.target.word());
            format!("neither {script} nor {version} has an option `{shown}`")
        };
        let ours = launch_option(shown.trim_start_matches('-'))
            .filter(|_| !parser.mapping && !once && self.before_script(shown, name).is_none());
        let fix = match (ours, meant) {
            (Some(ours), _) => move_to_front(flag(ours)),
            (None, Some(meant)) => meant.of(Owner::Trainer),
            (None, None) => say("correct its name, or leave it out"),
        };
        Some(
            Rule::Argument
                .error(what)
                .at(Place::option(shown, ""))
                .fix(fix),
        )
    }
}

/// What the trainer refuses, with what it inherits from transformers.
fn refusals(subject: &Subject) -> impl Iterator<Item = &'static Refusal> {
    let trainer = subject.job.trainer.name;
    let is_of = move |refusal: &&Refusal| {
        refusal.by.is_empty() || refusal.by.iter().any(|only| only.name == trainer)
    };
    REFUSALS.iter().filter(is_of)
}

impl Refusal {
    fn fixes(&self, subject: &Subject) -> Fixes {
        Fixes(
            self.fixes
                .iter()
                .map(|remedy| remedy.fix(subject))
                .collect(),
        )
    }
}
