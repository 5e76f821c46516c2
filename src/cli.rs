//! The command line: argv and `ZLAUNCH_*` variables become a request, by the table of sub-commands in `tools`. Nothing is
//! planned, written or started here. Files and PATH are looked at, to tell a config from a command and to suggest what was
//! meant.
//!
//! clap parses, and the completions and the man page are made from what it knows. What it does not do well enough is done
//! here: variables (its `env` reads the process, while the environment is the host's), values (it stops at the first wrong
//! one, and forgets where it came from), the help (in two languages) and errors (all at once, each with a line to paste).

pub mod help;
pub mod launch;
pub mod mistakes;
mod reader;
pub mod tables;
pub mod values;

use std::ffi::OsString;

use clap::{Arg, ArgAction, error::ErrorKind};

use crate::{
    base::options::{is_launch_option, launch_option, takes_value},
    host::Host,
    report::{Problems, REFUSED, fix::run},
};

pub use help::{command, help_of, usage};
#[cfg(feature = "testing")]
pub use help::{page_of, shown_options};
use mistakes::{refusal, refused_argument, unknown_option};
pub use reader::{
    LaunchOptions, Outcome, Reader, Refused, Request, Requested, Subcommand, Tool, Tools,
};
use reader::{describes_launch, unknown_variable};

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
    let mut problems: Problems = vec![];
    // clap stops at the first mistake: without that word, it finds the next one.
    let asked = loop {
        let why = match ask(&words, host, tools) {
            Ok(asked) => break asked,
            Err(why) => why,
        };
        let Some(at) = position_of_refused(&why, &words) else {
            let page = match why.kind() {
                ErrorKind::DisplayHelp => help::asked_by(&words, host, tools),
                ErrorKind::DisplayVersion => format!("{why}{}", help::recorded_from()),
                _ => {
                    problems.push(refusal(&why, &words, tools));
                    String::new()
                }
            };
            return if problems.is_empty() {
                Ok(Asked::Text(page, 0))
            } else {
                Err(problems.into())
            };
        };
        let is_option = words[at].as_encoded_bytes().starts_with(b"-");
        let is_unknown = why.kind() == ErrorKind::UnknownArgument && is_option;
        if is_unknown || has_one_dash(&words[at]) {
            // The words become what was probably meant.
            problems.push(unknown_option(at, &mut words, host, tools));
        } else {
            problems.push(refusal(&why, &words, tools));
            words.remove(at);
        }
        if words.is_empty() || problems.len() == MOST_REFUSED {
            return Err(problems.into());
        }
    };
    if problems.is_empty() {
        return asked.map(Asked::Request);
    }
    for problem in &mut problems {
        if problem.fixes.is_empty() {
            problem.fixes = run(mistakes::line(&words)).into();
        }
    }
    let meant = match asked {
        Ok(request) => request.into_launch(),
        Err(refused) => {
            problems.extend(refused.problems);
            refused.meant
        }
    };
    Err(Refused { problems, meant })
}

/// The outer error is clap's.
fn ask(words: &[OsString], host: &Host, tools: &'static Tools) -> Result<Requested, clap::Error> {
    let subcommand = tools.named(words.first());
    let behind = match subcommand.name {
        "" => words,
        _ => &words[1..],
    };
    let words = (subcommand.in_order)(behind, host);
    let keeps_all = |arg: Arg| {
        if takes_value(&arg) && is_launch_option(&arg) {
            arg.action(ArgAction::Append)
        } else {
            arg
        }
    };
    let command = subcommand
        .described()
        .no_binary_name(true)
        .mut_args(keeps_all);
    // It is never dropped: that would cost more than reading a short command line.
    let command = Box::leak(Box::new(command));
    let matches = command.try_get_matches_from_mut(&words)?;
    let mut reader = Reader {
        tools,
        place: subcommand.name,
        words: &words,
        options: &words,
        host,
        problems: vec![],
        warnings: vec![],
        command,
        matches,
    };
    if describes_launch(reader.command) {
        let set = host.vars_from("ZLAUNCH_");
        reader.warnings = set.filter_map(|(name, _)| unknown_variable(name)).collect();
    }
    (subcommand.read)(reader)
}

fn position_of_refused(why: &clap::Error, words: &[OsString]) -> Option<usize> {
    let name = |word: &OsString| Some(word.to_str()?.split('=').next()?.to_string());
    refused_argument(why)
        .and_then(|refused| {
            words
                .iter()
                .position(|word| name(word).as_ref() == Some(&refused))
        })
        .or_else(|| words.iter().position(has_one_dash))
}

/// `-hostfile`, which clap takes for `-h` and more letters, and mpirun's `-np`.
fn has_one_dash(word: &OsString) -> bool {
    let name = word.to_str().and_then(|word| word.strip_prefix('-'));
    name.is_some_and(|name| name == "np" || name.len() > 1 && launch_option(name).is_some())
}

/// The value of an option among words that may be wrong.
pub fn asked<'a>(words: &'a [OsString], option: &str) -> Option<&'a str> {
    let mut ours = words
        .iter()
        .filter_map(|word| word.to_str())
        .take_while(|word| *word != "--");
    let is_value = |rest: &&str| rest.is_empty() || rest.starts_with('=');
    ours.find_map(|word| word.strip_prefix(option).filter(is_value))?
        .strip_prefix('=')
        .or_else(|| ours.next())
}
