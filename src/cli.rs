//! The command line: argv and `ZLAUNCH_*` variables become a request. Which sub-commands there are is a table, which
//! `tools` has. Nothing is planned, written or started here. Files and PATH are looked at, to tell a config from a command
//! and to suggest what was meant.
//!
//! clap parses, and the completions and the man page are made from what it knows. What it does not do well enough is done
//! here: variables (its `env` reads the process, while the environment is the host's), values (it stops at the first wrong
//! one, and forgets where it came from), the help (in two languages) and errors (all at once, each with a line to paste).

mod commands;
pub(crate) mod did_you_mean;
mod foreign_options;
pub(crate) mod help;
pub(crate) mod launch;
mod reader;
mod refusal;
mod unknown;
pub(crate) mod values;

use std::ffi::OsString;

use clap::error::ErrorKind;

use crate::base::options::launch_option;
use crate::command::argument_class;
use crate::host::Host;
use crate::report::fix::run;
use crate::report::{Problem, REFUSED, Rule};

pub use commands::command;
#[cfg(feature = "testing")]
pub use commands::{ABOUT_VARIABLES, EXAMPLE, EXIT_STATUS, FIRST, shown_options};
use commands::{described, describes_launch};
#[cfg(feature = "testing")]
pub use foreign_options::table as foreign_options;
#[cfg(feature = "testing")]
pub use help::{MORE, in_chinese};
pub(crate) use reader::{Reader, Refused, Request, Requested, Subcommand, Tool, Tools};
use refusal::{refusal, refused_argument};

/// What the words ask for.
pub enum Asked {
    Request(Box<dyn Request>),
    /// The help or the version, for stdout, and the exit status.
    Text(String, u8),
}

/// So many words that clap refuses are told at once.
const MOST_REFUSED: usize = 8;

pub fn parse(argv: &[OsString], host: &Host, tools: &'static Tools) -> Result<Asked, Refused> {
    let mut words = argv.get(1..).unwrap_or_default().to_vec();
    if words.is_empty() {
        // To say nothing is no success.
        return Ok(Asked::Text(help::overview(host, tools), REFUSED));
    }
    let mut problems = dashes_of_documents(&mut words).into_iter().collect::<Vec<_>>();
    // clap stops at the first mistake: without that word, it finds the next one.
    let asked = loop {
        match ask(&words, host, tools) {
            Ok(asked) => break asked,
            Err(why) if matches!(why.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
                // `-host-memory` begins with `-h`.
                if let Some(at) = words.iter().take_while(|word| *word != "--").position(is_option_with_one_dash) {
                    let given = words[at].to_string_lossy().into_owned();
                    problems.push(unknown::unknown_option(&given, at, &mut words, host, tools));
                    continue;
                }
                return match problems.is_empty() {
                    true if why.kind() == ErrorKind::DisplayVersion => Ok(Asked::Text(why.to_string(), 0)),
                    true => Ok(Asked::Text(help::asked_by(&words, host, tools), 0)),
                    false => Err(problems.into()),
                };
            }
            Err(why) => {
                let at = position_of_refused(&why, &words).filter(|_| problems.len() < MOST_REFUSED);
                let Some(at) = at else {
                    problems.push(refusal(&why, &words, tools));
                    return Err(problems.into());
                };
                problems.push(without_refused(&why, at, &mut words, host, tools));
                if words.is_empty() {
                    return Err(problems.into());
                }
            }
        }
    };
    if problems.is_empty() {
        return asked.map(Asked::Request);
    }
    let line = did_you_mean::line(&words);
    let problems =
        problems.into_iter().map(|problem| if problem.fixes.is_empty() { problem.fix(run(&line)) } else { problem });
    let more = match asked {
        Ok(request) => Refused { problems: Vec::new(), meant: request.into_launch() },
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
fn ask(words: &[OsString], host: &Host, tools: &'static Tools) -> Result<Requested, clap::Error> {
    let subcommand = tools.named(words.first());
    let words = (subcommand.in_order)(&words[usize::from(!subcommand.name.is_empty())..], host);
    let mut reader = Reader::new(subcommand.name, &words, host, tools);
    reader.command = described(subcommand).no_binary_name(true);
    let variables = if describes_launch(&reader.command) { reader.words_of_variables() } else { Vec::new() };
    let matches = reader.command.try_get_matches_from_mut(variables.iter().chain(&words))?;
    (subcommand.read)(&matches, reader)
}

/// Takes what clap refuses out of the words, or puts it behind the command if it belongs there.
fn without_refused(why: &clap::Error, at: usize, words: &mut Vec<OsString>, host: &Host, tools: &Tools) -> Problem {
    match refused_argument(why).filter(|given| why.kind() == ErrorKind::UnknownArgument && given.starts_with('-')) {
        Some(given) => {
            let whole = words[at].to_string_lossy().into_owned();
            // `-deepspeed` with one dash: clap refuses its first letter.
            let given = if is_long_with_one_dash(&whole) { whole } else { given };
            unknown::unknown_option(given.split('=').next().unwrap_or_default(), at, words, host, tools)
        }
        None => {
            let problem = refusal(why, words, tools);
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
