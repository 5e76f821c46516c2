//! The command line: argv and `ZLAUNCH_*` variables → `Request`. Validates form and touches nothing. clap does the parsing;
//! what it refuses is told in our words, all mistakes at once.

mod args;
pub mod completions;
mod diff;
mod elsewhere;
mod fit;
mod generate;
mod help;
mod launch;
mod meant;
mod refusal;
mod tools;
mod unknown;
mod values;

use std::borrow::Cow;
use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{ArgMatches, Command};

use crate::base::options::launch::FORMAT;
use crate::base::options::{
    CHECK, COMPLETIONS, DIFF, DOCTOR, EXPLAIN, FIT, GENERATE, HELP, SCHEMA, SHIMS, Subcommand, TEMPLATES, USAGE,
};
use crate::fit::FitRequest;
use crate::host::Host;
use crate::report::Problem;
use crate::request::Launch;
use crate::tools::diff::DiffRequest;
use crate::tools::generate::GenerateRequest;
use crate::tools::schema::SchemaRequest;
use crate::tools::shims::Shims;

use args::ParsedArgs;
use launch::{Checked, Mode};
pub(crate) use refusal::Refused;
use refusal::{refusal, refused_argument};
pub use tools::{ExplainRequest, TemplatesRequest};

/// What the user asked for.
pub enum Request {
    Launch(Box<Launch>),
    Check(Box<Launch>),
    /// The words of the command are configs.
    CheckConfigs(Box<Launch>),
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
            Request::Fit(fit) => Some(&mut fit.launch),
            Request::Diff(diff) => Some(&mut diff.launch),
            _ => None,
        }
    }
}

type Describe = fn(Command) -> Command;
type Read = fn(ParsedArgs) -> Result<Request, Refused>;

/// Each sub-command: what its arguments are, and what they ask for.
const SUBCOMMANDS: &[(Subcommand, Describe, Read)] = &[
    (CHECK, launch::describe_check, |args| launch::read_check(args).map(check)),
    (TEMPLATES, tools::describe_templates, |args| Ok(Request::Templates(tools::read_templates(args)?))),
    (EXPLAIN, tools::describe_explain, |args| Ok(Request::Explain(tools::read_explain(args)?))),
    (FIT, fit::describe, |args| Ok(Request::Fit(Box::new(fit::read(args)?)))),
    (GENERATE, generate::describe, |args| Ok(Request::Generate(generate::read(args)?))),
    (DOCTOR, launch::describe_doctor, |args| launch::read(args, Mode::Doctor).map(|it| Request::Doctor(Box::new(it)))),
    (DIFF, diff::describe, |args| Ok(Request::Diff(Box::new(diff::read(args)?)))),
    (SHIMS, tools::describe_shims, |args| Ok(Request::Shims(tools::read_shims(args)?))),
    (SCHEMA, tools::describe_schema, |args| Ok(Request::Schema(tools::read_schema(args)?))),
    (COMPLETIONS, completions::describe, |args| Ok(Request::Show(completions::read(args, command())?))),
    (HELP, help::describe, |args| Ok(Request::Show(help::read(args, command())?))),
];

fn check(checked: Checked) -> Request {
    match checked {
        Checked::Launch(launch) => Request::Check(Box::new(launch)),
        Checked::Configs(launch) => Request::CheckConfigs(Box::new(launch)),
    }
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub const ABOUT_VARIABLES: &str =
    "Each of these options has a variable: --template-dir is ZLAUNCH_TEMPLATE_DIR. A flag beats its variable.";

pub const EXIT_STATUS: &str =
    "Exit status: 125 zlaunch refused, 126 not executable, 127 not found; anything else is the trainer's.
`check`: 1 if there is an error (with --strict: a warning), else 0. `fit`: 1 if nothing fits.";

pub const EXAMPLE: &str = "zlaunch --deepspeed zero3_offload -- swift sft --model Qwen/Qwen3-8B --tuner_type full";

/// Everything that clap knows of zlaunch. A sub-command gets its arguments only when it is asked for.
pub fn command() -> Command {
    let after_help = format!("{ABOUT_VARIABLES}\n{EXIT_STATUS}\n\nExamples:\n  {EXAMPLE}");
    let subcommands = SUBCOMMANDS.iter().map(|(subcommand, describe, _)| {
        Command::new(subcommand.name).about(subcommand.about).disable_help_flag(true).arg(help::flag()).defer(*describe)
    });
    args::parser(launch::describe)
        .version(VERSION)
        .about(help::FIRST)
        .disable_help_flag(true)
        .arg(help::flag())
        .after_help(after_help)
        // Behind an option, the first word is a program: `zlaunch -n check` runs one of that name.
        .args_conflicts_with_subcommands(true)
        // `HELP` is ours.
        .disable_help_subcommand(true)
        .subcommands(subcommands)
}

pub fn parse(argv: &[OsString], host: &Host) -> Result<Request, Refused> {
    let mut words = Cow::Borrowed(argv.get(1..).unwrap_or_default());
    let mut problems = Vec::new();
    if words.is_empty() {
        return Ok(Request::Overview(help::overview(host)));
    }
    let is_subcommand = |word: &OsString| SUBCOMMANDS.iter().any(|(known, ..)| word == known.name);
    let mut whole = words.first().is_some_and(is_subcommand);
    // clap stops at the first mistake: without that word, it finds the next one.
    let matches = loop {
        // Most command lines are a launch that is right. For all others, clap must know more.
        let parser = if whole { command() } else { args::parser(launch::describe_words) };
        // Never freed: what clap has made consists of hundreds of pieces.
        match Box::leak(Box::new(parser)).try_get_matches_from_mut(words.iter()) {
            Ok(matches) => break Box::leak(Box::new(matches)),
            Err(_) if !whole => whole = true,
            Err(why) if matches!(why.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
                return match problems.is_empty() {
                    true if why.kind() == ErrorKind::DisplayVersion => Ok(Request::Show(why.to_string())),
                    true => {
                        // `zlaunch check --help`, `zlaunch --help check`.
                        let about = if words.len() == 2 && is_subcommand(&words[1]) { &words[1..] } else { &words[..] };
                        if asks_briefly(&words) && !is_subcommand(&about[0]) {
                            return Ok(Request::Show(help::overview(host)));
                        }
                        let name = about.first().and_then(|word| word.to_str()).unwrap_or_default();
                        Ok(Request::Show(help::page(command(), name, usage_of(about), host)))
                    }
                    false => Err(problems.into()),
                };
            }
            Err(why) => {
                let at = position_of_refused(&why, &words).filter(|_| problems.len() < MOST_REFUSED);
                let Some(at) = at else {
                    problems.push(refusal(&why, usage_of(&words)));
                    return Err(problems.into());
                };
                problems.push(without_refused(&why, at, words.to_mut(), host));
                if words.is_empty() {
                    return Err(problems.into());
                }
            }
        }
    };
    if problems.is_empty() {
        return read(&words, matches, host);
    }
    let line = unknown::line(&words);
    let problems =
        problems.into_iter().map(|problem| if problem.help.is_empty() { problem.help(&line) } else { problem });
    let more = match read(&words, matches, host) {
        Ok(Request::Launch(launch) | Request::Check(launch)) => Refused { problems: Vec::new(), meant: Some(launch) },
        Ok(_) => Vec::new().into(),
        Err(refused) => refused,
    };
    Err(Refused { problems: problems.chain(more.problems).collect(), ..more })
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
            let problem = refusal(why, usage_of(words));
            words.remove(at);
            problem
        }
    }
}

/// `-h`, not `--help`.
fn asks_briefly(words: &[OsString]) -> bool {
    let short = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('h');
    let asks = words.iter().filter_map(|word| word.to_str()).find(|word| *word == "--help" || short(word));
    asks.is_some_and(short)
}

/// So many words that clap refuses are told at once.
const MOST_REFUSED: usize = 8;

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

fn usage_of(words: &[OsString]) -> &'static str {
    let first = words.first().and_then(|word| word.to_str());
    let subcommand = SUBCOMMANDS.iter().find(|(subcommand, ..)| Some(subcommand.name) == first);
    subcommand.map_or(USAGE, |(subcommand, ..)| subcommand.usage)
}

fn read(words: &[OsString], matches: &ArgMatches, host: &Host) -> Result<Request, Refused> {
    let asked = matches.subcommand().and_then(|(name, matches)| {
        let (.., read) = SUBCOMMANDS.iter().find(|(subcommand, ..)| subcommand.name == name)?;
        Some(read(ParsedArgs::new(&words[1..], matches, host)))
    });
    let launch = || launch::read(ParsedArgs::new(words, matches, host), Mode::Launch);
    asked.unwrap_or_else(|| launch().map(|launch| Request::Launch(Box::new(launch))))
}

/// Whether the answer is for a program, as far as that can be told of words that may be wrong.
pub(crate) fn asks_for_json(words: &[OsString]) -> bool {
    let ours: Vec<&OsString> = words.iter().take_while(|word| *word != "--").collect();
    let flag = FORMAT.flag();
    ours.windows(2).any(|pair| *pair[0] == *flag && pair[1] == "json")
        || ours.iter().any(|word| **word == *format!("{flag}=json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::options;

    #[test]
    fn clap_accepts_the_tables() {
        command().debug_assert();
        let names: Vec<_> = SUBCOMMANDS.iter().map(|(subcommand, ..)| *subcommand).collect();
        assert_eq!(names, options::SUBCOMMANDS);
    }

    #[test]
    fn a_command_begins_where_our_options_end() {
        for (line, expected) in [
            ("swift sft --deepspeed x", "swift sft --deepspeed x"),
            ("-- swift", "swift"),
            ("--dry-run swift", "swift"),
            ("-nq swift -n", "swift -n"),
            ("-n checks", "checks"),
            ("--deepspeed zero3 swift", "swift"),
            ("--deepspeed=zero3 -n -- -x", "-x"),
            ("--num_gpus 2 - swift", "- swift"),
            ("--launcher-arg --foo --launcher-arg -- swift", "swift"),
            ("--launcher-arg --foo -- -- swift", "-- swift"),
            ("swift -- check", "swift -- check"),
        ] {
            let argv: Vec<OsString> = ["zlaunch"].into_iter().chain(line.split(' ')).map(OsString::from).collect();
            let Ok(Request::Launch(launch)) = parse(&argv, &Host::default()) else { panic!("{line}") };
            let command: Vec<_> = launch.command.iter().filter_map(|word| word.to_str()).collect();
            assert_eq!(command.join(" "), expected, "{line}");
        }
    }
}
