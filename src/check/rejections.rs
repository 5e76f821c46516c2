//! Arguments that the trainer's parser would refuse: unknown options, values of another type, choices that do not exist,
//! texts in a run file where it converts nothing. `command::parser` has the recorded parsers.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

use super::findings::{Check, Findings};
use super::refusals;
use super::subject::Subject;
use crate::base::options::{flag, launch_option};
use crate::command::argument_class::TRAINING_ARGUMENTS;
use crate::command::argv::hf_bool;
use crate::command::front_end::{ArgumentParser, UnknownOptions};
use crate::command::parser::{ArgType, Parser, Rejected, Rejection, Versions};
use crate::command::target::base_name;
use crate::report::fix::{Owner, drop_word, give, move_to_front, rename_option, say, set_variable};
use crate::report::{self, Place, Problem, Rule, Severity, Wanted, When, nearest};

pub(super) const RULES: &[Check] = &[
    Check::code(
        Rule::Argument,
        Severity::Error,
        When::Start,
        |subject, found| {
            let last = subject
                .job
                .command_line()
                .last()
                .and_then(|word| word.to_str());
            if last.is_some_and(|word| !word.is_empty() && word.trim().is_empty()) {
                let is_closed = matches!(
                    subject.job.trainer.arguments.parser,
                    ArgumentParser::Recorded { .. }
                );
                found.problem(Severity::error_if(is_closed), report::only_a_space());
            }
            let Some(reading) = reading(subject) else {
                return;
            };
            for rejected in reading.parser.rejected(&reading.words, &reading.versions) {
                report_rejection(&reading, &rejected, subject, found);
            }
            // argparse reads no options after it.
            let mut unread = reading
                .words
                .iter()
                .skip_while(|word| *word != "--")
                .skip(1);
            if !reading.parser.mapping && unread.next().is_some() {
                let what = format!("{} reads no options after `--`", reading.versions.first());
                let severity = Severity::error_if(reading.closed && reading.versions.certain());
                found
                    .at([Place::option("--", "")], what, move_to_front("--"))
                    .severity = severity;
            }
            if reading.plain {
                report_refusals(&reading, subject, found);
            }
        },
    ),
    Check::code(
        Rule::ArgumentMissing,
        Severity::Error,
        When::Start,
        |subject, found| {
            let needed = refusals::all(subject.job.trainer)
                .filter_map(|refusal| Some((refusal.needed()?, refusal)));
            let mut missing = needed
                .filter(|(name, _)| subject.job.args.list(name).is_none())
                .peekable();
            // A run file that cannot be read may have it.
            if missing.peek().is_none() || !subject.job.problems.is_empty() {
                return;
            }
            let Some(Reading {
                parser,
                versions,
                words,
                closed,
                ..
            }) = reading(subject)
            else {
                return;
            };
            for (name, refusal) in
                missing.filter(|(_, it)| versions.certain() && it.holds(subject, Some(&parser)))
            {
                // A misspelt option, and a run file given as one, are errors already.
                let is_given = |Rejected { option, .. }: &Rejected| {
                    let near = suggestion(option.trim_start_matches('-'), &parser, &versions);
                    option == "--config" || near.as_deref() == Some(name)
                };
                if closed && parser.rejected(&words, &versions).iter().any(is_given) {
                    continue;
                }
                let name = if parser.mapping {
                    name.to_string()
                } else {
                    format!("--{name}")
                };
                let what = format!(
                    "{} needs `{name}`: {}",
                    versions.first(),
                    refusal.text("why")
                );
                found.at(
                    [Place::from(subject.job.trainer.name)],
                    what,
                    refusal.fixes(subject, &name, ""),
                );
            }
        },
    ),
    Check::code(
        Rule::TextForNumber,
        Severity::Error,
        When::Start,
        |subject, found| {
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
                let (wanted, fix, is_certain) = if parser.takes(name, ArgType::is_number) {
                    // A script may convert the values itself.
                    let is_certain =
                        ALWAYS_USED.split(' ').any(|used| used == name) && job.version().is_some();
                    (
                        "a number and does not convert it",
                        give(name, number_meant(text)).of(Owner::Trainer),
                        is_certain,
                    )
                } else if parser.takes(name, ArgType::is_mapping)
                    && parser.has(name, &parser.versions(job.python.as_ref()))
                {
                    ("a mapping", drop_word(name).of(Owner::Trainer), false)
                } else if hf_bool(text).is_none()
                    && parser.takes(name, |it| matches!(it, ArgType::Bool { .. }))
                {
                    ("true or false", give(name, true).of(Owner::Trainer), false)
                } else {
                    continue;
                };
                let place = job
                    .place_in_run_file(name, subject.host)
                    .unwrap_or_else(|| Place::option(name, text));
                let what = format!(
                    "the trainer reads `{name}` as the string `{text}`, but needs {wanted}"
                );
                found.at([place], what, fix).severity = Severity::error_if(is_certain);
            }
        },
    ),
];

struct Reading<'a> {
    parser: Parser,
    versions: Versions<'a>,
    words: Cow<'a, [OsString]>,
    /// The parser refuses unknown options.
    closed: bool,
    /// transformers gets the arguments as they were read.
    plain: bool,
}

fn report_refusals(
    Reading {
        parser, versions, ..
    }: &Reading,
    subject: &Subject,
    found: &mut Findings,
) {
    for refusal in refusals::all(subject.job.trainer) {
        let Some((option, value)) = refusal.refuses(subject, parser) else {
            continue;
        };
        if refusal.name == refusals::TRANSFORMERS
            && !versions.all_within("transformers", [0; 3], [u32::MAX; 3])
        {
            continue;
        }
        let name = if parser.mapping {
            &option[2..]
        } else {
            &option
        };
        let given = match value.as_str() {
            "True" | "False" if parser.mapping => Place::option(name, value.to_ascii_lowercase()),
            _ => Place::option(name, &value),
        };
        let what = format!(
            "the trainer refuses `{given}`: {}{}",
            refusal.text("why"),
            versions.doubt()
        );
        let in_file = parser
            .mapping
            .then(|| subject.job.place_in_run_file(name, subject.host))
            .flatten();
        let fixes = refusal.fixes(subject, name, &value);
        found.at([in_file.unwrap_or(given)], what, fixes).severity =
            Severity::error_if(versions.certain());
    }
}

fn reading<'a>(subject: &'a Subject) -> Option<Reading<'a>> {
    let (job, python) = (subject.job, subject.job.python.as_ref());
    let (closed, plain, mut parser) = match job.trainer.arguments.parser {
        ArgumentParser::Recorded { class, unknown } => {
            let mut parser = Parser::new(&[class(&job.target, subject.host)?]);
            parser.own.extend(
                job.trainer
                    .arguments
                    .besides
                    .iter()
                    .chain(&["help"])
                    .map(ToString::to_string),
            );
            let closed = matches!(unknown, UnknownOptions::Refused(unless) if !unless(&job.args, subject.host));
            (closed, true, parser)
        }
        ArgumentParser::Script if job.trainer.is_hf() => {
            let flow = job.flow()?;
            let parser = flow.parser()?;
            // The script has no code that changes the arguments while they are read.
            let plain = !flow.has(&["__post_init__", "set_defaults"]);
            let refuses_keys = flow.has(&["parse_json_file", "parse_yaml_file"])
                && !flow.has(&["allow_extra_keys"]);
            (
                parser.closed && (!job.reads_mapping() || refuses_keys),
                plain,
                parser,
            )
        }
        ArgumentParser::Script | ArgumentParser::Unrecorded => return None,
    };
    parser.mapping = job.reads_mapping();
    let words = if parser.mapping {
        let unread = job
            .unread
            .iter()
            .map(|name| OsString::from(format!("--{name}")));
        job.args.words().iter().cloned().chain(unread).collect()
    } else {
        Cow::Borrowed(job.command_line())
    };
    Some(Reading {
        versions: parser.versions(python),
        parser,
        words,
        closed,
        plain,
    })
}

fn report_rejection(
    reading: &Reading,
    rejected: &Rejected,
    subject: &Subject,
    found: &mut Findings,
) {
    let (option, versions) = (&rejected.option, &reading.versions);
    let name = option.trim_start_matches('-').replace('-', "_");
    let mapping = reading.parser.mapping;
    let shown = if mapping { &name } else { option };
    let mut sought = &name;
    let (mut problem, is_certain) = match &rejected.why {
        Rejection::Unknown => match unknown_option(reading, shown, &name, subject) {
            Some(problem) => (problem, reading.closed),
            None => return,
        },
        Rejection::Ambiguous(names) => {
            let listed: Vec<String> = names
                .iter()
                .take(4)
                .map(|name| format!("--{name}"))
                .collect();
            let what = format!(
                "the trainer refuses `{option}`: it could mean {}",
                listed.join(" or ")
            );
            let fix = match suggestion(&name, &reading.parser, versions) {
                Some(new) => rename_option(option, format_args!("--{new}")),
                None => say("write the whole name"),
            };
            (
                Problem::error(Rule::Argument, what)
                    .at(Place::option(option, ""))
                    .fix(fix.of(Owner::Trainer)),
                reading.parser.closed,
            )
        }
        Rejection::NoValue(kind) => (
            report::argument_without_value(option, kind.wanted(&kind.choices(versions))),
            true,
        ),
        Rejection::Leftover(_) if !reading.closed => return,
        // The words reach the trainer unchanged, and it decides.
        Rejection::Leftover(words) => {
            let (word, whole) = (&words[1], words.join(" "));
            let what = format!("the trainer may refuse `{word}`: `{option}` takes one value");
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let (place, fix) = if reading.parser.has(name, versions) {
                (
                    Place::from(word),
                    rename_option(word, format!("--{name} {value}").trim_end()),
                )
            } else if value.is_empty() {
                (Place::option(option, &whole), give(option, &whole))
            } else {
                (
                    Place::from(word),
                    drop_word(word).remark("a variable goes before zlaunch"),
                )
            };
            (
                Problem::error(Rule::Argument, what)
                    .at(place)
                    .fix(fix.of(Owner::Trainer)),
                false,
            )
        }
        Rejection::WrongValue(value, kind) => {
            sought = value;
            let choices = kind.choices(versions);
            let wanted = kind.wanted(&choices);
            let problem = report::argument_of_wrong_type(shown, value, wanted);
            match wanted {
                Wanted::Mapping => (problem.fix(drop_word(shown).of(Owner::Trainer)), false),
                Wanted::OneOf(choices) if wanted.meant(&name, value).is_none() => (
                    problem.fix(format!("it takes {}", choices.join(", "))),
                    true,
                ),
                _ => (problem, true),
            }
        }
    };
    if let Some(in_file) = mapping
        .then(|| subject.job.place_in_run_file(sought, subject.host))
        .flatten()
    {
        problem.places = vec![in_file];
    }
    problem.what += &versions.doubt();
    found.problem(
        Severity::error_if(is_certain && versions.certain()),
        problem,
    );
}

fn unknown_option(
    reading: &Reading,
    shown: &str,
    name: &str,
    subject: &Subject,
) -> Option<Problem> {
    let Reading {
        parser, versions, ..
    } = reading;
    let is_recorded = matches!(
        subject.job.trainer.arguments.parser,
        ArgumentParser::Recorded { .. }
    );
    let once = parser.names().any(|known| known == name);
    let suggestion = suggestion(name, parser, versions);
    // The script may have more options, so only those that were dropped or are misspelled are reported.
    let is_told = once && !parser.closed || is_recorded && suggestion.is_some();
    // A class of the script may have short options.
    let is_short = !is_recorded && !once && !parser.mapping && !shown.starts_with("--");
    if !reading.closed && !is_told || is_short {
        return None;
    }
    let meant = suggestion.map(|near| {
        if parser.mapping {
            near
        } else {
            format!("--{near}")
        }
    });
    let mut problem = report::trainer_has_no_option(&versions.first(), shown, meant.as_deref());
    if is_recorded && !reading.closed {
        problem.what += ", and ignores it";
    } else if !is_recorded {
        let (script, kind) = (
            base_name(subject.job.target.word()),
            if parser.mapping { "argument" } else { "option" },
        );
        problem.what = format!(
            "neither {script} nor {} has an {kind} `{shown}`",
            versions.first()
        );
    } else if parser.mapping {
        problem.what = format!("{} has no argument `{shown}`", versions.first());
    }
    // `-e NAME=VALUE`, as docker and mpirun take variables.
    if ["-e", "-x"].contains(&shown)
        && let Some(next) = reading
            .words
            .iter()
            .skip_while(|word| *word != shown)
            .nth(1)
        && let Some((variable, value)) = next.to_str().and_then(|next| next.split_once('='))
    {
        let dropped = drop_word(format_args!("{shown} {variable}={value}")).of(Owner::Trainer);
        return Some(problem.fix(dropped.and(set_variable(variable, value))));
    }
    let ours = if parser.mapping || once {
        None
    } else {
        launch_option(shown.trim_start_matches('-'))
    };
    match ours {
        Some(ours) => Some(problem.fix(move_to_front(flag(ours)))),
        None if meant.is_none() && name == "config" => {
            let named = subject
                .job
                .args
                .list(name)
                .and_then(|(_, values)| values.first().copied().map(Path::new));
            let to_file = say("give the file without --config, right after the sub-command");
            let is_config =
                named.is_some_and(|file| file.extension().is_some_and(|ending| ending == "json"));
            Some(problem.fix(if is_config {
                rename_option(shown, "--deepspeed").of(Owner::Trainer)
            } else {
                to_file
            }))
        }
        None => match name
            .strip_prefix("load_in_")
            .and_then(|bits| bits.strip_suffix("bit"))
        {
            Some(bits) if parser.has("quant_bits", versions) => Some(
                problem.fix(
                    drop_word(shown)
                        .and(give("--quant_method", "bnb"))
                        .and(give("--quant_bits", bits))
                        .of(Owner::Trainer),
                ),
            ),
            _ => Some(problem),
        },
    }
}

fn suggestion(name: &str, parser: &Parser, versions: &Versions) -> Option<String> {
    nearest(
        name,
        parser.names().filter(|known| parser.has(known, versions)),
    )
    .map(str::to_string)
}

/// A text in one of these was seen to end every run.
const ALWAYS_USED: &str = "learning_rate weight_decay max_grad_norm num_train_epochs max_steps warmup_steps \
                           gradient_accumulation_steps per_device_train_batch_size seed";

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
