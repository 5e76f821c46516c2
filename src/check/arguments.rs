//! What the trainer's parser would refuse of its own arguments: an option that the installed version does not have, a value
//! of another type, a choice that is none. `command::parser` has what is recorded of the parsers.

use std::borrow::Cow;
use std::ffi::OsString;

use super::findings::{Check, Findings};
use super::refusals::{self, Refusal};
use super::subject::Subject;
use crate::base::options::{flag, launch_option};
use crate::command::front_end::{ArgumentParser, UnknownOptions};
use crate::command::parser::{Parser, Rejected, Rejection, Versions};
use crate::command::target::base_name;
use crate::report::fix::{Fixes, drop_word, give, move_to_front, rename_option, say};
use crate::report::{self, Place, Problem, Rule, Severity, Wanted, When, nearest};

pub(super) const RULES: &[Check] = &[Check::code(Rule::Argument, Severity::Error, When::Start, argument).doc(
    "the trainer refuses one of its own arguments, minutes later (a warning where its version or its script \
         leaves a doubt)",
)];

/// A command that is not complete can be planned.
pub(super) const INCOMPLETE: &[Check] =
    &[Check::code(Rule::ArgumentMissing, Severity::Error, When::Start, argument_missing).doc(
        "the command leaves out what the trainer cannot do without: its model, its data (only where the sources of \
         the trainer are there and say so)",
    )];

/// What reads the arguments, and what it makes of those that are odd.
struct Reading<'a> {
    parser: Parser,
    words: Cow<'a, [OsString]>,
    /// How unknown options could be tolerated; nothing where they are no error.
    tolerant: Option<&'static str>,
    /// Nobody changes what was read before transformers looks at it.
    plain: bool,
}

fn argument(subject: &Subject, found: &mut Findings) {
    let last = subject.job.command_line().last().and_then(|word| word.to_str());
    if last.is_some_and(|word| !word.is_empty() && word.trim().is_empty()) {
        let is_closed = matches!(subject.job.trainer.arguments.parser, ArgumentParser::Recorded { .. });
        let severity = if is_closed { Severity::Error } else { Severity::Warning };
        found.problem(severity, report::only_a_space());
    }
    let Some(reading) = reading(subject) else { return };
    let versions = reading.parser.versions(subject.job.python.as_ref());
    for rejected in reading.parser.rejected(&reading.words, &versions) {
        report_rejection(&reading, &rejected, &versions, subject, found);
    }
    // argparse takes nothing behind it for an option.
    let dashes = reading.words.iter().position(|word| word == "--").filter(|_| !reading.parser.mapping);
    if dashes.is_some_and(|at| at + 1 < reading.words.len()) {
        let severity = if reading.tolerant.is_some() { certainty(&versions).0 } else { Severity::Warning };
        let what = format!("{} reads no option behind `--`", versions.first());
        found.at_with_severity(severity, [Place::from("--")], what, move_to_front("--"));
    }
    if reading.plain {
        report_refusals(&reading.parser, subject, found);
    }
}

/// What the trainer refuses though its parser took it.
fn report_refusals(parser: &Parser, subject: &Subject, found: &mut Findings) {
    for refusal in refusals::all(subject.job.trainer) {
        let Some((option, value)) = refusal.refuses(subject) else { continue };
        let versions = parser.versions(subject.job.python.as_ref());
        let has_them = || versions.all_within("transformers", [0; 3], [u32::MAX; 3]);
        if refusal.is_of_transformers() && !has_them() {
            continue;
        }
        let (severity, doubt) = certainty(&versions);
        let name = if parser.mapping { option[2..].to_string() } else { option };
        let in_file = subject.job.place_in_run_file(name.trim_start_matches('-'), subject.host);
        let given = given(&name, &value, parser.mapping);
        let what = format!("the trainer refuses `{given}`: {}{doubt}", refusal.why());
        let place = in_file.filter(|_| parser.mapping).unwrap_or(given);
        found.at_with_severity(severity, [place], what, refusal.fixes(subject, &name, &value));
    }
}

/// What the trainer ends without.
fn argument_missing(subject: &Subject, found: &mut Findings) {
    let is_missing = |refusal: &Refusal| refusal.needed().is_some_and(|name| subject.job.args.list(name).is_none());
    let mut missing = refusals::all(subject.job.trainer).filter(is_missing).peekable();
    if missing.peek().is_none() {
        return;
    }
    let Some(Reading { parser, .. }) = reading(subject) else { return };
    let versions = parser.versions(subject.job.python.as_ref());
    let is_left_out = |name: &str| parser.is_left_out(name, subject.job.args.words());
    for refusal in missing.filter(|refusal| versions.certain() && refusal.holds(subject, is_left_out)) {
        let name = refusal.needed().unwrap_or_default();
        let name = if parser.mapping { name.to_string() } else { format!("--{name}") };
        let what = format!("{} needs `{name}`: {}", versions.first(), refusal.why());
        found.at([Place::from(subject.job.trainer.name)], what, refusal.fixes(subject, &name, ""));
    }
}

/// How sure a refusal is, and the doubt in words.
fn certainty(versions: &Versions) -> (Severity, String) {
    if versions.certain() {
        return (Severity::Error, String::new());
    }
    (Severity::Warning, format!(" ({})", versions.doubt()))
}

/// An argument with its value, as it stands in a command or in a run file.
fn given(name: &str, value: &str, mapping: bool) -> Place {
    match value {
        "True" | "False" if mapping => Place::option(name, value.to_ascii_lowercase()),
        _ => Place::option(name, value),
    }
}

fn reading<'a>(subject: &'a Subject) -> Option<Reading<'a>> {
    let job = subject.job;
    match job.trainer.arguments.parser {
        ArgumentParser::Recorded { class, unknown } => {
            let mut parser = Parser::new(&[class(&job.target, subject.host)?]);
            parser.own.extend(job.trainer.arguments.besides.iter().chain(&["help"]).map(ToString::to_string));
            let words = if job.reads_mapping() {
                parser.mapping = true;
                let unread = job.unread.iter().map(|name| OsString::from(format!("--{name}")));
                job.args.words().iter().cloned().chain(unread).collect()
            } else {
                Cow::Borrowed(job.command_line())
            };
            let tolerant = match unknown {
                UnknownOptions::Refused { unless, tolerant } => (!unless(&job.args, subject.host)).then_some(tolerant),
                UnknownOptions::Ignored => None,
            };
            Some(Reading { parser, words, tolerant, plain: true })
        }
        ArgumentParser::Script if job.trainer.is_hf() && job.run_file.is_none() => of_script(subject),
        ArgumentParser::Script | ArgumentParser::Unrecorded => None,
    }
}

fn of_script<'a>(subject: &'a Subject) -> Option<Reading<'a>> {
    let words = Cow::Borrowed(subject.job.command_line());
    let flow = subject.job.flow()?;
    let parser = flow.parser()?;
    Some(Reading { words, tolerant: parser.closed.then_some(""), plain: flow.reads_plainly(), parser })
}

fn report_rejection(
    reading: &Reading,
    rejected: &Rejected,
    versions: &Versions,
    subject: &Subject,
    found: &mut Findings,
) {
    let Rejected { option, why: fault } = rejected;
    let name = option.trim_start_matches('-').replace('-', "_");
    let mapping = reading.parser.mapping;
    let shown = if mapping { name.clone() } else { option.clone() };
    let (mut severity, doubt) = certainty(versions);
    let mut problem = match fault {
        Rejection::Unknown => {
            let once = reading.parser.names().any(|known| known == name);
            let suggestion = suggestion(&name, &reading.parser, versions)
                .map(|name| if mapping { name } else { format!("--{name}") });
            if reading.tolerant.is_none() {
                let is_recorded = matches!(subject.job.trainer.arguments.parser, ArgumentParser::Recorded { .. });
                // Elsewhere there may be more: only what was there once is told, or what is meant by another name.
                if (!once || reading.parser.closed) && !(is_recorded && suggestion.is_some()) {
                    return;
                }
                severity = Severity::Warning;
            }
            let ours = launch_option(option.trim_start_matches('-')).filter(|_| !mapping && !once);
            let tolerant = reading.tolerant.unwrap_or_default();
            let fixes = match (ours, suggestion) {
                (Some(ours), _) => move_to_front(flag(ours)).into(),
                (None, Some(near)) => rename_option(&shown, near).into(),
                (None, None) if name == "config" => {
                    Fixes::from("give the file without --config, right after the sub-command")
                }
                (None, None) if tolerant.is_empty() => drop_word(&shown).into(),
                (None, None) => drop_word(&shown).see(tolerant),
            };
            let noun = if mapping { "argument" } else { "option" };
            let what = match subject.job.trainer.arguments.parser {
                ArgumentParser::Script => {
                    let script = base_name(subject.job.target.word());
                    format!("neither {script} nor {} has an option `{shown}`", versions.first())
                }
                _ => format!("{} has no {noun} `{shown}`", versions.first()),
            };
            Problem::error(Rule::Argument, what).at(Place::option(&shown, "")).fix(fixes)
        }
        Rejection::Ambiguous(names) => {
            if !reading.parser.closed {
                severity = Severity::Warning;
            }
            let listed: Vec<String> = names.iter().take(4).map(|name| format!("--{name}")).collect();
            let what = format!("the trainer refuses `{option}`: it may mean {}", listed.join(" or "));
            let meant = suggestion(&name, &reading.parser, versions);
            let meant = meant.map(|new| rename_option(option, format!("--{new}")));
            let fix = meant.unwrap_or_else(|| say("write the whole name"));
            Problem::error(Rule::Argument, what).at(Place::option(option, "")).fix(fix)
        }
        Rejection::NoValue(kind) => report::argument_without_value(option, kind.wanted(&kind.choices(versions))),
        Rejection::Leftover(_) if reading.tolerant.is_none() => return,
        Rejection::Leftover(words) => {
            // Whatever the words are, they reach the trainer, which decides.
            severity = Severity::Warning;
            let (word, whole) = (&words[1], words.join(" "));
            let what = format!("the trainer refuses `{word}`: `{option}` takes one value");
            let problem = Problem::error(Rule::Argument, what);
            if reading.parser.has(word, versions) {
                problem.at(word).fix(rename_option(word, format!("--{word}")))
            } else {
                let quoted = give(option, &whole);
                problem.at(Place::option(option, whole)).fix(quoted)
            }
        }
        Rejection::WrongValue(value, kind) => {
            let choices = kind.choices(versions);
            let wanted = kind.wanted(&choices);
            let problem = report::argument_of_wrong_type(&shown, value, wanted);
            match wanted {
                _ if wanted.meant(&name, value).is_some() => problem,
                Wanted::OneOf(choices) => problem.fix(format!("it takes {}", choices.join(", "))),
                Wanted::Mapping => {
                    severity = Severity::Warning;
                    problem.fix(drop_word(&shown))
                }
                _ => problem,
            }
        }
    };
    // In the run file, or as it is given.
    let sought = if let Rejection::WrongValue(value, _) = fault { value } else { &name };
    if let Some(in_file) = mapping.then(|| subject.job.place_in_run_file(sought, subject.host)).flatten() {
        problem.places = vec![in_file];
    }
    problem.what += &doubt;
    found.problem(severity, problem);
}

fn suggestion(name: &str, parser: &Parser, versions: &Versions) -> Option<String> {
    nearest(name, parser.names().filter(|known| parser.has(known, versions))).map(str::to_string)
}
