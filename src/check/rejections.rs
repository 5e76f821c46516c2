//! Arguments that the trainer's parser would refuse: unknown options, values of another type, choices that do not exist,
//! texts in a run file where it converts nothing. `command::parser` has the recorded parsers. And what a trainer refuses though its
//! parser took it.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

use super::conditions::listed;
use super::findings::Findings;
use super::subject::Subject;
use super::tables::names::ALWAYS_NUMBERS;
use super::tables::refusals::REFUSALS;
use super::tables::types::{Condition, Refusal, Refuser};
use crate::base::options::{flag, launch_option};
use crate::command::argument_class::TRAINING_ARGUMENTS;
use crate::command::argv::hf_bool;
use crate::command::front_end::{ArgumentParser, UnknownOptions};
use crate::command::job::Trainer;
use crate::command::parser::{ArgType, Parser, Rejected, Rejection, Versions};
use crate::command::target::base_name;
use crate::report::fix::{Fixes, Owner, drop_word, give, move_to_front, rename_option, say};
use crate::report::{self, Place, Problem, Rule, Severity, Wanted, nearest};

pub(super) fn refused_arguments(subject: &Subject, found: &mut Findings) {
    let last = subject.job.command_line().last();
    let last = last.and_then(|word| word.to_str());
    if last.is_some_and(|word| !word.is_empty() && word.trim().is_empty()) {
        let severity = Severity::error_if(is_recorded(subject));
        found.problem(severity, report::only_a_space());
    }
    let Some(reading) = Reading::of(subject) else {
        return;
    };
    let Reading {
        parser, versions, ..
    } = &reading;
    for rejected in parser.rejected(&reading.words, versions) {
        reading.report_rejection(&rejected, found);
    }
    // argparse reads no options after it.
    let mut unread = reading.words.iter().skip_while(|word| *word != "--");
    if !parser.mapping && unread.nth(1).is_some() {
        let what = format!("{} reads no options after `--`", versions.first());
        let place = Place::option("--", "");
        found.at([place], what, move_to_front("--")).severity =
            Severity::error_if(reading.closed && versions.certain());
    }
    if reading.plain {
        reading.report_refusals(found);
    }
}

pub(super) fn missing_arguments(subject: &Subject, found: &mut Findings) {
    let mut missing = refusals(subject.job.trainer)
        .filter_map(|refusal| Some((refusal.missing()?, refusal)))
        .filter(|(name, _)| subject.given(name).is_none())
        .peekable();
    // A run file that cannot be read may have it.
    if missing.peek().is_none() || !subject.job.problems.is_empty() {
        return;
    }
    let Some(reading) = Reading::of(subject) else {
        return;
    };
    let versions = &reading.versions;
    for (name, refusal) in missing {
        if !versions.certain()
            || !refusal.holds(subject, &reading.parser)
            || reading.is_misspelt(name)
        {
            continue;
        }
        let name = reading.option(name);
        let what = format!("{} needs `{name}`: {}", versions.first(), refusal.why);
        let place = Place::from(subject.job.trainer.name);
        found.at([place], what, refusal.fixes(subject, &name, ""));
    }
}

pub(super) fn texts_for_numbers(subject: &Subject, found: &mut Findings) {
    let job = subject.job;
    if job.texts.is_empty() {
        return;
    }
    let class = match job.trainer.arguments.parser {
        ArgumentParser::Recorded { class, .. } => class(&job.target, subject.host),
        _ => Some(TRAINING_ARGUMENTS),
    };
    let Some(class) = class else { return };
    let parser = Parser::new(&[class]);
    for (name, text) in &job.texts {
        let mut is_certain = false;
        let (wanted, fix) = if parser.takes(name, ArgType::is_number) {
            // A script may convert the values itself.
            is_certain = ALWAYS_NUMBERS.contains(&name.as_str()) && job.version().is_some();
            let number = give(name, number_meant(text));
            ("a number and does not convert it", number)
        } else if hf_bool(text).is_none()
            && parser.takes(name, |it| matches!(it, ArgType::Bool { .. }))
        {
            ("true or false", give(name, true))
        } else {
            continue;
        };
        let place = job
            .place_in_run_file(name, subject.host)
            .unwrap_or_else(|| Place::option(name, text));
        let what = format!("the trainer reads `{name}` as the string `{text}`, but needs {wanted}");
        found.at([place], what, fix.of(Owner::Trainer)).severity = Severity::error_if(is_certain);
    }
}

/// In YAML 1.1 a number with an exponent needs a dot and a sign.
fn number_meant(text: &str) -> String {
    match text.split_once(['e', 'E']) {
        _ if text.parse::<f64>().is_err() => "NUMBER".to_string(),
        Some((digits, exponent)) => {
            let dot = if digits.contains('.') { "" } else { ".0" };
            let sign = if exponent.starts_with(['+', '-']) {
                ""
            } else {
                "+"
            };
            format!("{digits}{dot}e{sign}{exponent}")
        }
        None => text.to_string(),
    }
}

/// The trainer's parser was recorded, unlike that of a script.
fn is_recorded(subject: &Subject) -> bool {
    matches!(
        subject.job.trainer.arguments.parser,
        ArgumentParser::Recorded { .. }
    )
}

/// The arguments as the trainer's parser reads them.
struct Reading<'a> {
    subject: &'a Subject<'a>,
    parser: Parser,
    versions: Versions,
    words: Cow<'a, [OsString]>,
    /// The parser refuses unknown options.
    closed: bool,
    /// transformers gets the arguments as they were read.
    plain: bool,
}

impl<'a> Reading<'a> {
    fn of(subject: &'a Subject<'a>) -> Option<Self> {
        let job = subject.job;
        let mut parser;
        let closed;
        let mut plain = true;
        match job.trainer.arguments.parser {
            ArgumentParser::Recorded { class, unknown } => {
                parser = Parser::new(&[class(&job.target, subject.host)?]);
                let besides = job.trainer.arguments.besides.iter().chain(&["help"]);
                parser.own.extend(besides.map(ToString::to_string));
                closed = matches!(unknown, UnknownOptions::Refused { unless } if !unless(&job.args, subject.host));
            }
            ArgumentParser::Script if job.trainer.is_hf() => {
                let flow = job.flow()?;
                parser = flow.parser()?;
                // The script has no code that changes the arguments while they are read.
                plain = !flow.has(&["__post_init__", "set_defaults"]);
                let refuses_keys = flow.has(&["parse_json_file", "parse_yaml_file"])
                    && !flow.has(&["allow_extra_keys"]);
                closed = parser.closed && (!job.reads_mapping() || refuses_keys);
            }
            ArgumentParser::Script | ArgumentParser::Unrecorded => return None,
        }
        parser.mapping = job.reads_mapping();
        let mut words = Cow::Borrowed(job.command_line());
        if parser.mapping {
            let unread = job.unread.iter().map(|name| format!("--{name}").into());
            words = job.args.words().iter().cloned().chain(unread).collect();
        }
        Some(Reading {
            subject,
            versions: parser.versions(job.python.as_ref()),
            parser,
            words,
            closed,
            plain,
        })
    }

    /// An option as the user writes it: in a run file without dashes.
    fn option(&self, name: &str) -> String {
        let name = name.trim_start_matches('-');
        if self.parser.mapping {
            name.to_string()
        } else {
            format!("--{name}")
        }
    }

    fn place_in_run_file(&self, value: &str) -> Option<Place> {
        if !self.parser.mapping {
            return None;
        }
        self.subject.job.place_in_run_file(value, self.subject.host)
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
        self.closed
            && rejected.iter().any(|Rejected { option, .. }| {
                option == "--config"
                    || self.suggestion(option.trim_start_matches('-')) == Some(name)
            })
    }

    fn report_refusals(&self, found: &mut Findings) {
        let Reading {
            subject,
            parser,
            versions,
            ..
        } = self;
        let knows_transformers = versions.all_within("transformers", [0; 3], [u32::MAX; 3]);
        for refusal in refusals(subject.job.trainer) {
            let argument = refusal.when[0].argument();
            let Some(given) = argument.and_then(|name| subject.given(name)) else {
                continue;
            };
            let is_inherited = matches!(refusal.by, [Refuser::Transformers]);
            if is_inherited && !knows_transformers || !refusal.holds(subject, parser) {
                continue;
            }
            let name = self.option(&given.from.to_string());
            let value = given.value.unwrap_or_default();
            let shown = match value {
                "True" | "False" if parser.mapping => value.to_ascii_lowercase(),
                _ => value.to_string(),
            };
            let place = Place::option(&name, shown);
            let what = format!(
                "the trainer refuses `{place}`: {}{}",
                refusal.why,
                versions.doubt()
            );
            let place = self
                .place_in_run_file(name.trim_start_matches('-'))
                .unwrap_or(place);
            let fixes = refusal.fixes(subject, &name, value);
            found.at([place], what, fixes).severity = Severity::error_if(versions.certain());
        }
    }

    fn report_rejection(&self, rejected: &Rejected, found: &mut Findings) {
        let option = &rejected.option;
        let name = option.trim_start_matches('-').replace('-', "_");
        let shown = if self.parser.mapping { &name } else { option };
        let mut sought = &name;
        let mut is_certain = true;
        let mut problem = match &rejected.why {
            Rejection::Unknown => {
                is_certain = self.closed;
                match self.unknown_option(shown, &name) {
                    Some(problem) => problem,
                    None => return,
                }
            }
            Rejection::Ambiguous(names) => {
                is_certain = self.parser.closed;
                self.ambiguous(option, &name, names)
            }
            Rejection::NoValue(kind) => {
                let choices = kind.choices(&self.versions);
                report::argument_without_value(option, kind.wanted(&choices))
            }
            Rejection::Leftover(_) if !self.closed => return,
            // The words reach the trainer unchanged, and it decides.
            Rejection::Leftover(words) => {
                is_certain = false;
                self.leftover(option, words)
            }
            Rejection::WrongValue(value, kind) => {
                sought = value;
                let choices = kind.choices(&self.versions);
                let wanted = kind.wanted(&choices);
                let problem = report::argument_of_wrong_type(shown, value, wanted);
                match wanted {
                    Wanted::Mapping => {
                        is_certain = false;
                        problem.fix(drop_word(shown).of(Owner::Trainer))
                    }
                    Wanted::OneOf(choices) if wanted.meant(&name, value).is_none() => {
                        problem.fix(format!("it takes {}", choices.join(", ")))
                    }
                    _ => problem,
                }
            }
        };
        if let Some(in_file) = self.place_in_run_file(sought) {
            problem.places = vec![in_file];
        }
        problem.what += &self.versions.doubt();
        let severity = Severity::error_if(is_certain && self.versions.certain());
        found.problem(severity, problem);
    }

    fn ambiguous(&self, option: &str, name: &str, names: &[&str]) -> Problem {
        let listed = names.iter().take(4).map(|name| format!("--{name}"));
        let listed = listed.collect::<Vec<_>>().join(" or ");
        let fix = match self.suggestion(name) {
            Some(new) => rename_option(option, format_args!("--{new}")),
            None => say("write the whole name"),
        };
        let what = format!("the trainer refuses `{option}`: it could mean {listed}");
        Problem::error(Rule::Argument, what)
            .at(Place::option(option, ""))
            .fix(fix.of(Owner::Trainer))
    }

    fn leftover(&self, option: &str, words: &[String]) -> Problem {
        let word = &words[1];
        let whole = words.join(" ");
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let (place, fix) = if self.parser.has(name, &self.versions) {
            let meant = format!("--{name} {value}");
            (Place::from(word), rename_option(word, meant.trim_end()))
        } else if value.is_empty() {
            (Place::option(option, &whole), give(option, &whole))
        } else {
            let fix = drop_word(word).remark("a variable goes before zlaunch");
            (Place::from(word), fix)
        };
        let what = format!("the trainer may refuse `{word}`: `{option}` takes one value");
        Problem::error(Rule::Argument, what)
            .at(place)
            .fix(fix.of(Owner::Trainer))
    }

    fn unknown_option(&self, shown: &str, name: &str) -> Option<Problem> {
        let Reading {
            subject,
            parser,
            versions,
            closed,
            ..
        } = self;
        let is_recorded = is_recorded(subject);
        let once = parser.names().any(|known| known == name);
        let meant = self.suggestion(name).map(|near| self.option(near));
        // The script may have more options, so only those that were dropped or are misspelled are reported.
        let is_told = once && !parser.closed || is_recorded && meant.is_some();
        // A class of the script may have short options.
        let is_short = !is_recorded && !once && !parser.mapping && !shown.starts_with("--");
        if !closed && !is_told || is_short {
            return None;
        }
        let version = versions.first();
        let mut problem = report::trainer_has_no_option(&version, shown, meant.as_deref());
        let kind = if parser.mapping { "argument" } else { "option" };
        if !is_recorded {
            let script = base_name(subject.job.target.word());
            problem.what = format!("neither {script} nor {version} has an {kind} `{shown}`");
        } else if !closed {
            problem.what += ", and ignores it";
        } else {
            problem.what = format!("{version} has no {kind} `{shown}`");
        }
        if !parser.mapping
            && !once
            && let Some(ours) = launch_option(shown.trim_start_matches('-'))
        {
            return Some(problem.fix(move_to_front(flag(ours))));
        }
        if meant.is_none() && name == "config" {
            let file = subject.given(name).and_then(|given| given.value);
            let ending = file.and_then(|file| Path::new(file).extension());
            return Some(
                problem.fix(if ending.is_some_and(|ending| ending == "json") {
                    rename_option(shown, "--deepspeed").of(Owner::Trainer)
                } else {
                    say("give the file without --config, right after the sub-command")
                }),
            );
        }
        let bits = name
            .strip_prefix("load_in_")
            .and_then(|it| it.strip_suffix("bit"));
        if let Some(bits) = bits.filter(|_| parser.has("quant_bits", versions)) {
            let fix = drop_word(shown)
                .and(give("--quant_method", "bnb"))
                .and(give("--quant_bits", bits));
            return Some(problem.fix(fix.of(Owner::Trainer)));
        }
        Some(problem)
    }
}

fn refusals(trainer: &Trainer) -> impl Iterator<Item = &'static Refusal> {
    REFUSALS
        .iter()
        .filter(|refusal| refusal.by.iter().any(|refuser| refuser.is(trainer)))
}

impl Refuser {
    fn is(&self, trainer: &Trainer) -> bool {
        match self {
            Refuser::Transformers => true,
            Refuser::Only(only) => only.name == trainer.name,
        }
    }
}

impl Refusal {
    /// The argument that it is about, if that is missing.
    fn missing(&self) -> Option<&'static str> {
        match self.when[0] {
            Condition::LeftOut(name) => Some(name),
            _ => None,
        }
    }

    fn holds(&self, subject: &Subject, parser: &Parser) -> bool {
        self.when
            .iter()
            .all(|condition| condition.holds(subject, Some(parser)))
    }

    /// The nearest of the listed values, or the fixes of the row.
    fn fixes(&self, subject: &Subject, option: &str, value: &str) -> Fixes {
        if let Condition::Unlisted { files, .. } = self.when[0]
            && let Some(near) = nearest(value, listed(subject, files).iter().map(String::as_str))
        {
            return give(option, near).of(Owner::Trainer).into();
        }
        Fixes(
            self.fixes
                .iter()
                .map(|remedy| remedy.fix(subject))
                .collect(),
        )
    }
}
