//! The command line: argv and `ZLAUNCH_*` variables become a request, by the table of sub-commands in `tools`. Nothing is
//! planned, written or started here. Files and PATH are looked at, to tell a config from a command and to suggest what was
//! meant.
//!
//! clap parses, and the completions and the man page are made from what it knows. What it does not do well enough is done
//! here: variables (its `env` reads the process, while the environment is the host's), values (it stops at the first wrong
//! one, and forgets where it came from), the help (in two languages) and errors (all at once, each with a line to paste).

mod commands;
pub(crate) mod did_you_mean;
pub(crate) mod help;
pub(crate) mod launch;
mod reader;
mod refusal;
pub mod tables;
pub(crate) mod values;

use std::ffi::OsString;

use clap::error::ErrorKind;

use crate::base::options::launch_option;
use crate::host::Host;
use crate::report::fix::run;
use crate::report::{Problem, REFUSED};

pub(crate) use commands::usage;
pub use commands::{command, help_of};
use commands::{described, describes_launch};
#[cfg(feature = "testing")]
pub use commands::{page_of, shown_options};
pub(crate) use reader::{Reader, Refused, Request, Requested, Subcommand, Tool, Tools};
use refusal::{refusal, refused_argument, unknown_option};

pub enum Asked {
    Request(Box<dyn Request>),
    /// The help or the version, for stdout, and the exit status.
    Text(String, u8),
}

/// At most this many words that clap refuses are reported at once.
const MOST_REFUSED: usize = 8;

pub fn parse(argv: &[OsString], host: &Host, tools: &'static Tools) -> Result<Asked, Refused> {
    let mut words = argv.get(1..).unwrap_or_default().to_vec();
    if words.is_empty() {
        return Ok(Asked::Text(help::overview(host, tools), REFUSED));
    }
    let mut problems: Vec<Problem> = Vec::new();
    // clap stops at the first mistake: without that word, it finds the next one.
    let asked = loop {
        let why = match ask(&words, host, tools) {
            Ok(asked) => break asked,
            Err(why) => why,
        };
        let is_page = matches!(
            why.kind(),
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
        );
        match position_of_refused(&why, &words) {
            Some(at) if problems.len() < MOST_REFUSED => {
                problems.push(without_refused(&why, at, &mut words, host, tools));
            }
            None if is_page && !problems.is_empty() => return Err(problems.into()),
            None if why.kind() == ErrorKind::DisplayVersion => {
                return Ok(Asked::Text(why.to_string(), 0));
            }
            None if is_page => return Ok(Asked::Text(help::asked_by(&words, host, tools), 0)),
            _ => {
                problems.push(refusal(&why, &words, tools));
                return Err(problems.into());
            }
        }
        if words.is_empty() {
            return Err(problems.into());
        }
    };
    if problems.is_empty() {
        return asked.map(Asked::Request);
    }
    for problem in problems
        .iter_mut()
        .filter(|problem| problem.fixes.is_empty())
    {
        problem.fixes = run(did_you_mean::line(&words)).into();
    }
    match asked {
        Ok(request) => Err(Refused {
            problems,
            meant: request.into_launch(),
        }),
        Err(refused) => {
            problems.extend(refused.problems);
            Err(Refused {
                problems,
                meant: refused.meant,
            })
        }
    }
}

/// The outer error is clap's.
fn ask(words: &[OsString], host: &Host, tools: &'static Tools) -> Result<Requested, clap::Error> {
    let subcommand = tools.named(words.first());
    let behind = match subcommand.name {
        "" => words,
        _ => &words[1..],
    };
    let words = (subcommand.in_order)(behind, host);
    // It is never dropped: that would cost more than reading a short command line.
    let command = Box::leak(Box::new(described(subcommand).no_binary_name(true)));
    let mut matches = command.try_get_matches_from_mut(&words)?;
    let mut reader = Reader {
        tools,
        place: subcommand.name,
        words: &words,
        options: &words,
        host,
        problems: Vec::new(),
        warnings: Vec::new(),
        command,
        variables: Vec::new(),
    };
    if describes_launch(reader.command) {
        reader.read_variables();
    }
    (subcommand.read)(&mut matches, reader)
}

/// Takes what clap refuses out of the words, or puts it behind the command if it belongs there.
fn without_refused(
    why: &clap::Error,
    at: usize,
    words: &mut Vec<OsString>,
    host: &Host,
    tools: &Tools,
) -> Problem {
    let whole = words[at].to_string_lossy().into_owned();
    let given = refused_argument(why).filter(|given| given.starts_with('-'));
    match given {
        _ if has_one_dash(&words[at]) => unknown_option(&whole, at, words, host, tools),
        Some(given) if why.kind() == ErrorKind::UnknownArgument => {
            unknown_option(&given, at, words, host, tools)
        }
        _ => {
            let problem = refusal(why, words, tools);
            words.remove(at);
            problem
        }
    }
}

fn position_of_refused(why: &clap::Error, words: &[OsString]) -> Option<usize> {
    let name = |word: &OsString| Some(word.to_str()?.split('=').next()?.to_string());
    let refused = refused_argument(why);
    let exact = words
        .iter()
        .position(|word| refused.is_some() && name(word) == refused);
    exact.or_else(|| words.iter().position(has_one_dash))
}

/// `-hostfile`, which clap takes for `-h` and more letters.
fn has_one_dash(word: &OsString) -> bool {
    let name = word.to_str().and_then(|word| word.strip_prefix('-'));
    name.is_some_and(|name| name.len() > 1 && launch_option(name).is_some())
}

/// The value of an option among words that may be wrong.
pub(crate) fn asked<'a>(words: &'a [OsString], option: &str) -> Option<&'a str> {
    let ours = words
        .iter()
        .take_while(|word| *word != "--")
        .filter_map(|word| word.to_str());
    let mut ours = ours.skip_while(|word| word.split('=').next() != Some(option));
    let joined = ours.next()?.split_once('=').map(|(_, value)| value);
    joined.or_else(|| ours.next())
}
