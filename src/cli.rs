//! The command line: argv and `ZLAUNCH_*` variables → `Request`. Validates form and touches nothing. clap does the parsing;
//! what it refuses is told in our words, all mistakes at once.

mod commands;
mod did_you_mean;
mod diff;
mod fit;
mod foreign_options;
mod generate;
mod help;
mod launch;
mod reader;
mod refusal;
mod rehearse;
mod tools;
mod unknown;
mod values;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Command, FromArgMatches, Subcommand};

use crate::base::options::launch_option;
use crate::command::argument_class;
use crate::config::template::Search;
use crate::fit::FitRequest;
use crate::host::Host;
use crate::report::fix::run;
use crate::report::{Problem, Rule};
use crate::request::Launch;
use crate::tools::diff::DiffRequest;
use crate::tools::explain::ExplainRequest;
use crate::tools::generate::GenerateRequest;
use crate::tools::rehearse::RehearseRequest;
use crate::tools::schema::SchemaRequest;
use crate::tools::shims::Shims;
use crate::tools::templates::TemplatesRequest;

pub use commands::command;
#[cfg(feature = "testing")]
pub use commands::{ABOUT_VARIABLES, EXAMPLE, EXIT_STATUS, FIRST, shown_options};
use commands::{Asked, described, launch_command, place_of};
#[cfg(feature = "testing")]
pub use foreign_options::table as foreign_options;
#[cfg(feature = "testing")]
pub use help::{MORE, in_chinese};
use launch::{LaunchArgs, Mode};
use reader::Reader;
pub(crate) use reader::Refused;
use refusal::{refusal, refused_argument};

/// What the user asked for.
pub enum Request {
    Launch(Box<Launch>),
    Check(Box<Launch>),
    /// The words of the command are configs.
    CheckConfigs(Box<Launch>),
    Rehearse(Box<RehearseRequest>),
    /// The command may be empty.
    Doctor(Box<Launch>),
    Templates(TemplatesRequest),
    Explain(ExplainRequest),
    Fit(Box<FitRequest>),
    Diff(Box<DiffRequest>),
    Generate(GenerateRequest),
    Shims(Shims),
    Schema(SchemaRequest),
    /// `--help`, `--version`, completions: text for stdout.
    Show(String),
    /// Nothing was said: the overview, which is no success.
    Overview(String),
}

impl Request {
    /// The launch that it is about.
    pub(crate) fn launch_mut(&mut self) -> Option<&mut Launch> {
        match self {
            Request::Launch(launch)
            | Request::Check(launch)
            | Request::CheckConfigs(launch)
            | Request::Doctor(launch) => Some(launch),
            Request::Rehearse(rehearsal) => Some(&mut rehearsal.launch),
            Request::Fit(fit) => Some(&mut fit.launch),
            Request::Diff(diff) => Some(&mut diff.launch),
            _ => None,
        }
    }
}

/// So many words that clap refuses are told at once.
const MOST_REFUSED: usize = 8;

pub fn parse(argv: &[OsString], host: &Host) -> Result<Request, Refused> {
    let mut words = argv.get(1..).unwrap_or_default().to_vec();
    if words.is_empty() {
        return Ok(Request::Overview(help::overview(host)));
    }
    let mut problems = dashes_of_documents(&mut words).into_iter().collect::<Vec<_>>();
    // clap stops at the first mistake: without that word, it finds the next one.
    let asked = loop {
        match ask(&words, host) {
            Ok(asked) => break asked,
            Err(why) if matches!(why.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
                // `-host-memory` begins with `-h`.
                if let Some(at) = words.iter().take_while(|word| *word != "--").position(is_option_with_one_dash) {
                    let given = words[at].to_string_lossy().into_owned();
                    problems.push(unknown::unknown_option(&given, at, &mut words, host));
                    continue;
                }
                return match problems.is_empty() {
                    true if why.kind() == ErrorKind::DisplayVersion => Ok(Request::Show(why.to_string())),
                    true => Ok(Request::Show(help::asked_by(&words, host))),
                    false => Err(problems.into()),
                };
            }
            Err(why) => {
                let at = position_of_refused(&why, &words).filter(|_| problems.len() < MOST_REFUSED);
                let Some(at) = at else {
                    problems.push(refusal(&why, place_of(&words)));
                    return Err(problems.into());
                };
                problems.push(without_refused(&why, at, &mut words, host));
                if words.is_empty() {
                    return Err(problems.into());
                }
            }
        }
    };
    if problems.is_empty() {
        return asked;
    }
    let line = did_you_mean::line(&words);
    let problems =
        problems.into_iter().map(|problem| if problem.fixes.is_empty() { problem.fix(run(&line)) } else { problem });
    let more = match asked {
        Ok(Request::Launch(launch) | Request::Check(launch)) => Refused { problems: Vec::new(), meant: Some(launch) },
        Ok(_) => Vec::new().into(),
        Err(refused) => refused,
    };
    Err(Refused { problems: problems.chain(more.problems).collect(), ..more })
}

/// Options that begin with a dash of a document, as it is pasted from there: `–deepspeed`, `—-deepspeed`. They become what
/// was meant.
fn dashes_of_documents(words: &mut [OsString]) -> Option<Problem> {
    let mut first = None;
    for word in words {
        let Some(text) = word.to_str().map(str::to_string) else { continue };
        let bare = text.trim_start_matches(['-', '‐', '‑', '‒', '–', '—', '―', '−']);
        let name = bare.split('=').next().unwrap_or_default();
        let is_option = || launch_option(name).is_some() || argument_class::is_recorded(&name.replace('-', "_"));
        if !text[..text.len() - bare.len()].is_ascii() && is_option() {
            *word = format!("--{bare}").into();
            first.get_or_insert(text);
        }
    }
    let first = first?;
    Some(Problem::error(Rule::Usage, format!("`{first}` begins with a dash that is not `-`")).at(first))
}

/// What the words ask for; the outer error is clap's.
fn ask(words: &[OsString], host: &Host) -> Result<Result<Request, Refused>, clap::Error> {
    let place = place_of(words);
    let is_config = |word: &OsString| launch::is_config(word, &Search::default(), host);
    let ordered = if place == "check" { did_you_mean::options_first(words, is_config) } else { words.to_vec() };
    let words = &ordered[..];
    if place.is_empty() {
        let mut reader = Reader::new(words, host);
        reader.command = reader.with_variables(launch_command());
        let matches = reader.command.try_get_matches_from_mut(words)?;
        let args = LaunchArgs::from_arg_matches(&matches)?;
        return Ok(launch::read(args, reader, Mode::Launch).map(Request::Launch));
    }
    let mut reader = Reader::new(&words[1..], host);
    let all = Asked::augment_subcommands(Command::new("zlaunch").no_binary_name(true).disable_help_subcommand(true));
    let mut all = all.mut_subcommand(place, |command| match described(command) {
        command if ["check", "rehearse", "doctor", "fit", "diff"].contains(&place) => reader.with_variables(command),
        command => command,
    });
    let matches = all.try_get_matches_from_mut(words)?;
    reader.command = all.find_subcommand(place).cloned().unwrap_or_default();
    Ok(read(Asked::from_arg_matches(&matches)?, reader))
}

fn read(asked: Asked, reader: Reader) -> Result<Request, Refused> {
    Ok(match asked {
        Asked::Check(args) => {
            let host = reader.host;
            let launch = launch::read_check(*args, reader)?;
            if launch::is_configs(&launch, host) { Request::CheckConfigs(launch) } else { Request::Check(launch) }
        }
        Asked::Rehearse(args) => Request::Rehearse(Box::new(rehearse::read(*args, reader)?)),
        Asked::Doctor(args) => Request::Doctor(launch::read(*args, reader, Mode::Doctor)?),
        Asked::Fit(args) => Request::Fit(Box::new(fit::read(*args, reader)?)),
        Asked::Diff(args) => Request::Diff(Box::new(diff::read(*args, reader)?)),
        Asked::Templates(args) => Request::Templates(tools::read_templates(args, reader)?),
        Asked::Explain(args) => Request::Explain(tools::read_explain(args, reader)?),
        Asked::Generate(args) => Request::Generate(generate::read(*args, reader)?),
        Asked::Shims(args) => Request::Shims(tools::read_shims(args, reader)?),
        Asked::Schema(args) => Request::Schema(tools::read_schema(args, reader)?),
        Asked::Completions(args) => Request::Show(completions(args, reader)?),
        Asked::Help(args) => Request::Show(help::read(args, reader)?),
    })
}

fn completions(args: tools::CompletionsArgs, mut reader: Reader) -> Result<String, Vec<Problem>> {
    let mut script = Vec::new();
    if let Some(shell) = reader.one(Some(args.shell), values::one_of(tools::SHELLS)) {
        clap_complete::generate(shell.value, &mut command(), "zlaunch", &mut script);
    }
    reader.finish(String::from_utf8_lossy(&script).into_owned())
}

/// Takes what clap refuses out of the words, or puts it behind the command if it belongs there.
fn without_refused(why: &clap::Error, at: usize, words: &mut Vec<OsString>, host: &Host) -> Problem {
    match refused_argument(why).filter(|given| why.kind() == ErrorKind::UnknownArgument && given.starts_with('-')) {
        Some(given) => {
            let whole = words[at].to_string_lossy().into_owned();
            // `-deepspeed` with one dash: clap refuses its first letter.
            let given = if is_long_with_one_dash(&whole) { whole } else { given };
            unknown::unknown_option(given.split('=').next().unwrap_or_default(), at, words, host)
        }
        None => {
            let problem = refusal(why, place_of(words));
            words.remove(at);
            problem
        }
    }
}

fn position_of_refused(why: &clap::Error, words: &[OsString]) -> Option<usize> {
    let refused = refused_argument(why)?;
    let is_refused = |word: &OsString| word.to_str().and_then(|word| word.split('=').next()) == Some(&refused);
    let letter = refused.strip_prefix('-').filter(|letter| letter.chars().count() == 1);
    let holds = |word: &OsString| {
        letter.is_some_and(|letter| {
            word.to_str().is_some_and(|word| is_long_with_one_dash(word) && word.contains(letter))
        })
    };
    let ours = words.iter().take_while(|word| *word != "--").count();
    words.iter().position(is_refused).or_else(|| words[..ours].iter().position(holds))
}

fn is_long_with_one_dash(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.chars().count() > 3
}

fn is_option_with_one_dash(word: &OsString) -> bool {
    word.to_str().is_some_and(|word| is_long_with_one_dash(word) && launch_option(&word[1..]).is_some())
}

/// What is said for an option, as far as that can be told of words that may be wrong.
pub(crate) fn asked<'a>(words: &'a [OsString], option: &str) -> Option<&'a str> {
    let ours = words.iter().take_while(|word| *word != "--").filter_map(|word| word.to_str());
    let mut ours = ours.skip_while(|word| word.split('=').next() != Some(option));
    let joined = ours.next()?.split_once('=').map(|(_, value)| value);
    joined.or_else(|| ours.next())
}
