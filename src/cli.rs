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
pub(crate) mod values;

use std::ffi::OsString;

use clap::error::ErrorKind;

use crate::base::options::launch_option;
use crate::command::argument_class;
use crate::host::Host;
use crate::report::fix::run;
use crate::report::{Problem, REFUSED, Rule};

pub(crate) use commands::usage;
pub use commands::{command, help_of};
use commands::{described, describes_launch};
#[cfg(feature = "testing")]
pub use commands::{page_of, shown_options};
pub(crate) use reader::{Reader, Refused, Request, Requested, Subcommand, Tool, Tools};
#[cfg(feature = "testing")]
pub use refusal::foreign_options;
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
    let mut problems: Vec<Problem> = dashes_of_documents(&mut words).into_iter().collect();
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

/// Corrects options that were pasted from a document with a typographic dash: `–deepspeed`, `—-deepspeed`.
fn dashes_of_documents(words: &mut [OsString]) -> Option<Problem> {
    let mut first = None;
    for word in words {
        let Some(text) = word.to_str().map(str::to_string) else {
            continue;
        };
        let bare = text.trim_start_matches(['-', '‐', '‑', '‒', '–', '—', '―', '−']);
        let name = bare.split('=').next().unwrap_or_default();
        let has_other_dash = !text[..text.len() - bare.len()].is_ascii();
        if has_other_dash
            && (launch_option(name).is_some()
                || argument_class::is_recorded(&name.replace('-', "_")))
        {
            *word = format!("--{bare}").into();
            first.get_or_insert(text);
        }
    }
    let first = first?;
    Some(
        Problem::error(
            Rule::Usage,
            format!("`{first}` starts with a dash that is not `-`"),
        )
        .at(first),
    )
}

/// The outer error is clap's.
fn ask(words: &[OsString], host: &Host, tools: &'static Tools) -> Result<Requested, clap::Error> {
    let subcommand = tools.named(words.first());
    let words = (subcommand.in_order)(&words[usize::from(!subcommand.name.is_empty())..], host);
    // It is never dropped: that would cost more than reading a short command line.
    let command = Box::leak(Box::new(described(subcommand).no_binary_name(true)));
    let (place, options) = (subcommand.name, &words[..]);
    let (problems, warnings) = (Vec::new(), Vec::new());
    let mut reader = Reader {
        tools,
        place,
        words: &words,
        options,
        host,
        problems,
        warnings,
        command,
    };
    let variables = if describes_launch(reader.command) {
        reader.words_of_variables()
    } else {
        Vec::new()
    };
    let mut matches = reader
        .command
        .try_get_matches_from_mut(variables.iter().chain(&words))?;
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
        // `-deepspeed` with one dash: clap refuses its first letter.
        _ if is_long_with_one_dash(&whole) => unknown_option(&whole, at, words, host, tools),
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
    let ours = words
        .iter()
        .take_while(|word| *word != "--")
        .map(|word| word.to_str().unwrap_or_default());
    let one_dash = |is_it: &dyn Fn(&str) -> bool| {
        ours.clone()
            .position(|word| is_long_with_one_dash(word) && is_it(&word[1..]))
    };
    let Some(refused) = refused_argument(why) else {
        // clap takes `-hostfile` for `-h`.
        return one_dash(&|name| launch_option(name).is_some());
    };
    let exact = words
        .iter()
        .position(|word| word.to_str().and_then(|word| word.split('=').next()) == Some(&refused));
    let letter = refused
        .strip_prefix('-')
        .filter(|letter| letter.chars().count() == 1);
    exact.or_else(|| one_dash(&|name| letter.is_some_and(|letter| name.contains(letter))))
}

fn is_long_with_one_dash(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.chars().count() > 3
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
