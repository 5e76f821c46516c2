//! The command line: argv and `ZLAUNCH_*` variables → `Request`. Validates form, touches nothing.

pub(crate) mod completions;
mod fit;
mod generate;
mod reader;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::OsStringValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command};

use crate::base::options::{Arity, COMMANDS, OPTIONS, Opt, option_of, takes_next_word};
use crate::base::source::{Source, Sourced};
use crate::config::template::Search;
use crate::host::Host;
use crate::report::{self, Problem};
use crate::request::{Launch, Mode};
use crate::tools::shims::Shims;

use reader::Reader;

#[cfg(test)]
pub(crate) use fit::launch_options;

/// What the user asked for.
pub(crate) enum Request {
    Launch(Box<Launch>),
    Templates {
        name: Option<Sourced<String>>,
        raw: bool,
        search: Search,
    },
    Fit(Box<crate::fit::FitRequest>),
    Generate(crate::tools::generate::GenerateRequest),
    Explain {
        /// Without: what can be asked for.
        words: Option<String>,
        search: Search,
    },
    /// The command may be empty.
    Doctor(Box<Launch>),
    Shims(Shims),
    Replay {
        folder: PathBuf,
        dry_run: bool,
    },
    /// `--help`, `--version`, completions: text for stdout.
    Show(String),
}

pub(crate) const USAGE: &str = "zlaunch [OPTIONS] [--] COMMAND [ARGS]...
       zlaunch check [OPTIONS] -- COMMAND [ARGS]...
       zlaunch templates [NAME]
       zlaunch explain [WORD]
       zlaunch fit [OPTIONS] [-- COMMAND [ARGS]...]
       zlaunch generate [OPTIONS]
       zlaunch doctor [OPTIONS] [-- COMMAND [ARGS]...]
       zlaunch replay DIR [-n|--dry-run]
       zlaunch shims install|remove|list [DIR]
       zlaunch completions bash|zsh|fish";

pub(crate) const AFTER_HELP: &str = "\x1b[1m\x1b[4mCommands:\x1b[0m
  check               Say everything that is wrong or odd about a launch, and do nothing
  templates [NAME]    List the templates, or print one resolved (--raw: as it is written)
  explain [WORD]      Say what a DeepSpeed key, a stage, a variable, a template or a diagnostic means
  fit                 Tell what a training needs under each template, and which one to take
  generate            Write a ready config from a few numbers
  doctor              Report what zlaunch sees here, for this command or for any (--format json)
  replay DIR          Launch a record (--record) again; --dry-run shows what differs today
  shims ACTION [DIR]  Install, remove or list PATH shims, so that scripts run unchanged
  completions SHELL   Print completions for bash, zsh or fish

Each of these options has a variable: --template-dir is ZLAUNCH_TEMPLATE_DIR. A flag beats its variable.
Exit status: 125 zlaunch refused, 126 not executable, 127 not found; anything else is the trainer's.
`check`: 1 where there is an error (with --strict: a warning), else 0. `fit`: 1 where nothing fits.

\x1b[1m\x1b[4mExample:\x1b[0m
  zlaunch --deepspeed zero3_offload -- swift sft --model Qwen/Qwen3-8B --tuner_type full";

/// The help of a sub-command that has no options of its own.
fn help_of(name: &str) -> String {
    let lines = USAGE.lines().filter_map(|line| line.trim().strip_prefix("zlaunch "));
    let usage = lines.into_iter().find(|line| line.starts_with(name)).unwrap_or(name);
    let about = COMMANDS.iter().find(|(command, _)| *command == name).map_or("", |(_, about)| *about);
    format!("{about}\n\nUsage: zlaunch {usage}\n")
}

/// What stands above the options of a launch, where a sub-command that takes them is asked for its help.
fn head_of(mode: Mode, why: &clap::Error) -> String {
    let name = match mode {
        Mode::Check => "check",
        Mode::Doctor => "doctor",
        Mode::Launch => return String::new(),
    };
    if why.kind() != ErrorKind::DisplayHelp {
        return String::new();
    }
    format!("{}\nIt takes the options of a launch:\n\n", help_of(name))
}

pub(crate) fn parse(argv: Vec<OsString>, host: &Host) -> Result<Request, Vec<Problem>> {
    let asks = || argv.iter().skip(2).any(|word| word == "--help" || word == "-h");
    match argv.get(1).and_then(|word| word.to_str()) {
        Some(name @ ("shims" | "replay" | "completions")) if asks() => return Ok(Request::Show(help_of(name))),
        Some("templates") => return parse_templates(argv, host),
        Some("shims") => return Ok(Request::Shims(Shims::parse(&argv[2..], host)?)),
        Some("replay") => return Ok(parse_replay(&argv[2..], host)?),
        Some("completions") => return Ok(Request::Show(completions::script(&argv[2..])?)),
        Some("explain") => return parse_explain(argv, host),
        Some("fit") => return fit::parse(argv, host),
        Some("generate") => return generate::parse(argv, host),
        _ => {}
    }
    if argv.len() <= 1 {
        return Err(vec![report::nothing_to_launch()]);
    }
    let mode = match argv[1].to_str() {
        Some("check") => Mode::Check,
        Some("doctor") => Mode::Doctor,
        _ => Mode::Launch,
    };
    let mut words: Vec<OsString> = argv.into_iter().skip(if mode == Mode::Launch { 1 } else { 2 }).collect();
    if mode == Mode::Launch && words == ["help"] {
        words = vec!["--help".into()];
    }
    parse_launch(words, mode, host).map(|launch| match launch {
        Ok(launch) if mode == Mode::Doctor => Request::Doctor(Box::new(launch)),
        Ok(launch) => Request::Launch(Box::new(launch)),
        Err(text) => Request::Show(text),
    })
}

fn parse_replay(words: &[OsString], host: &Host) -> Result<Request, Problem> {
    const USAGE: &str = "zlaunch replay DIR [-n|--dry-run]";
    let is_dry = |word: &&OsString| *word == "-n" || *word == "--dry-run";
    // An empty word is a variable that was not set.
    let mut folders = words.iter().filter(|word| !is_dry(word) && !word.is_empty());
    match (folders.next(), folders.next()) {
        (Some(folder), None) if !folder.as_encoded_bytes().starts_with(b"-") => {
            let dry_run = words.iter().any(|word| is_dry(&word));
            Ok(Request::Replay { folder: host.absolute(Path::new(folder)), dry_run })
        }
        (first, second) => Err(report::unknown_action(USAGE, second.or(first).and_then(|word| word.to_str()), &[])),
    }
}

/// A launch, or a text to show instead.
pub(crate) fn parse_launch(
    mut words: Vec<OsString>,
    mode: Mode,
    host: &Host,
) -> Result<Result<Launch, String>, Vec<Problem>> {
    let command = words.split_off(end_of_options(&words));
    read_launch(words, command, mode, host, MOST_UNKNOWN)
}

/// Of options that nobody knows, so many are told at once.
const MOST_UNKNOWN: usize = 8;

fn read_launch(
    mut words: Vec<OsString>,
    command: Vec<OsString>,
    mode: Mode,
    host: &Host,
    patience: usize,
) -> Result<Result<Launch, String>, Vec<Problem>> {
    let given: Vec<&Opt> = words.iter().filter_map(|word| option_of(word.to_str()?.strip_prefix("--")?)).collect();
    let may_be_given = |option: &&Opt| option.short.is_some() || given.iter().any(|given| given.name == option.name);
    // To describe an option to clap costs more than to read it. What is refused is judged by the whole table.
    let read = launch_command(OPTIONS.iter().filter(may_be_given)).try_get_matches_from(&words);
    let matches = match read.or_else(|_| launch_command(OPTIONS.iter()).try_get_matches_from(&words)) {
        Ok(matches) => matches,
        Err(why) => {
            let is_one = patience > 0 && why.kind() == ErrorKind::UnknownArgument;
            let unknown = is_one.then(|| first_unknown(&words)).flatten();
            return match (shown(&why), unknown) {
                // What else is wrong is found without it.
                (Err(mut problems), Some(at)) if !command.is_empty() => {
                    words.remove(at);
                    problems.extend(read_launch(words, command, mode, host, patience - 1).err().unwrap_or_default());
                    Err(problems)
                }
                (shown, _) => shown.map(|text| Err(head_of(mode, &why) + &text)),
            };
        }
    };
    let mut launch = Reader { mode, ..Reader::new(&matches, host) }.launch(command)?;
    launch.options = words;
    Ok(Ok(launch))
}

/// Where the command begins: behind `--`, or at the first word that is neither an option nor the value of one. It may be
/// long, and is none of clap's business.
fn end_of_options(words: &[OsString]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let text = word.to_string_lossy();
        match text.strip_prefix("--") {
            Some("") => return at + 1,
            Some(long) => at += 1 + usize::from(takes_next_word(long)),
            None if text.len() > 1 && text.starts_with('-') => at += 1,
            None => return at,
        }
    }
    words.len()
}

/// What clap complains about: the first option of no table.
fn first_unknown(words: &[OsString]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let text = word.to_string_lossy();
        match text.strip_prefix("--") {
            None | Some("" | "help" | "version") => at += 1,
            Some(long) if option_of(long).is_some() => at += 1 + usize::from(takes_next_word(long)),
            Some(_) => return Some(at),
        }
    }
    None
}

fn launch_command<'a>(options: impl Iterator<Item = &'a Opt>) -> Command {
    let command = Command::new("zlaunch")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Turn a training command and a DeepSpeed shorthand into one exact launch")
        .override_usage(USAGE)
        .after_help(AFTER_HELP)
        .max_term_width(110)
        .no_binary_name(true)
        .args_override_self(true);
    options.fold(command, |command, option| command.arg(clap_arg(option)))
}

/// Everything from the first word on that is no option of ours.
fn trailing_command() -> Arg {
    Arg::new("command")
        .value_name("COMMAND")
        .action(ArgAction::Append)
        .num_args(1..)
        .trailing_var_arg(true)
        .value_parser(OsStringValueParser::new())
        .hide(true)
}

fn clap_arg(option: &Opt) -> Arg {
    let mut arg =
        Arg::new(option.name).long(option.name).help(option.help).help_heading(option.heading).hide(option.hidden);
    if let Some(short) = option.short {
        arg = arg.short(short);
    }
    arg = arg.aliases(option.aliases.iter().copied());
    match option.kind {
        Arity::Switch => arg.action(ArgAction::SetTrue),
        Arity::One | Arity::Many => arg
            .action(if option.kind == Arity::One { ArgAction::Set } else { ArgAction::Append })
            .value_name(option.value)
            .allow_hyphen_values(option.name == "launcher-arg")
            .value_parser(OsStringValueParser::new()),
    }
}

fn template_dir() -> impl Iterator<Item = Arg> {
    OPTIONS.iter().filter(|option| option.name == "template-dir").map(clap_arg)
}

fn parse_explain(argv: Vec<OsString>, host: &Host) -> Result<Request, Vec<Problem>> {
    let words =
        Arg::new("words").value_name("WORD").num_args(0..).help("A key, `stage 3`, a variable, a template, a rule");
    let command = Command::new("zlaunch explain")
        .about("Say what a DeepSpeed key, a stage, a variable, a template or a diagnostic means; alone, list them")
        .after_help("In Chinese where ZLAUNCH_LANG or the locale is zh, and where there is a translation.")
        .no_binary_name(true)
        .arg(words.value_parser(OsStringValueParser::new()))
        .args(template_dir());
    let matches = match command.try_get_matches_from(argv.into_iter().skip(2)) {
        Ok(matches) => matches,
        Err(why) => return shown(&why).map(Request::Show),
    };
    let words: Vec<&OsString> = matches.get_many("words").into_iter().flatten().collect();
    if let Some(odd) = words.iter().find(|word| word.to_str().is_none()) {
        return Err(vec![report::not_text("explain", odd)]);
    }
    let words = words.iter().filter_map(|word| word.to_str()).collect::<Vec<_>>().join(" ");
    let search = Reader::new(&matches, host).search();
    Ok(Request::Explain { words: Some(words).filter(|words| !words.trim().is_empty()), search })
}

fn parse_templates(argv: Vec<OsString>, host: &Host) -> Result<Request, Vec<Problem>> {
    let command = Command::new("zlaunch templates")
        .about("List the templates, or print one resolved")
        .no_binary_name(true)
        .arg(Arg::new("name").value_name("NAME").help("Print this one").value_parser(OsStringValueParser::new()))
        .arg(Arg::new("raw").long("raw").action(ArgAction::SetTrue).requires("name").help("Print the file as it is"))
        .args(template_dir());
    let matches = match command.try_get_matches_from(argv.into_iter().skip(2)) {
        Ok(matches) => matches,
        Err(why) => return shown(&why).map(Request::Show),
    };
    let name = match matches.get_one::<OsString>("name").map(|name| name.to_str().map(str::to_string).ok_or(name)) {
        None => None,
        Some(Ok(name)) => Some(Sourced::new(name, Source::Argument("templates".to_string()))),
        Some(Err(name)) => return Err(vec![report::not_text("templates", name)]),
    };
    let search = Reader::new(&matches, host).search();
    Ok(Request::Templates { name, raw: matches.get_flag("raw"), search })
}

/// clap's refusal in our words; help and version are not refusals.
fn shown(why: &clap::Error) -> Result<String, Vec<Problem>> {
    let word = |kind| match why.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(list)) => list.first().cloned(),
        _ => None,
    };
    let given = word(ContextKind::InvalidArg).unwrap_or_default();
    match why.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(why.render().ansi().to_string()),
        ErrorKind::UnknownArgument => {
            Err(vec![report::unknown_option(&given, word(ContextKind::SuggestedArg).as_deref())])
        }
        ErrorKind::TooManyValues => {
            Err(vec![report::takes_no_value(&given, &word(ContextKind::InvalidValue).unwrap_or_default())])
        }
        ErrorKind::InvalidValue | ErrorKind::TooFewValues => Err(vec![report::option_needs_value(&given)]),
        _ => {
            let text = why.to_string();
            let first = text.lines().next().unwrap_or_default();
            Err(vec![report::usage(first.strip_prefix("error: ").unwrap_or(first))])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_accepted_with_underscores() {
        for option in OPTIONS.iter().filter(|option| option.name.contains('-')) {
            assert!(option.aliases.contains(&option.name.replace('-', "_").as_str()), "{}", option.name);
        }
    }

    #[test]
    fn a_command_begins_where_our_options_end() {
        for (line, options) in [
            ("swift sft --deepspeed x", 0),
            ("-- swift", 1),
            ("--dry-run swift", 1),
            ("-nq swift -n", 1),
            ("--deepspeed zero3 swift", 2),
            ("--deepspeed=zero3 -n -- -x", 3),
            ("--num_gpus 2 - swift", 2),
            ("--launcher-arg --foo --launcher-arg -- swift", 4),
            ("--launcher-arg --foo -- -- swift", 3),
            ("--unknown swift", 1),
            ("--deepspeed", 2),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(end_of_options(&words), options.min(words.len()), "{line}");
        }
    }

    #[test]
    fn clap_accepts_the_table() {
        launch_command(OPTIONS.iter()).debug_assert();
    }
}
