//! `zlaunch completions`: a script for each of three shells in `completions/`, with its `@PLACES@` filled from what clap knows
//! of the options. The names of templates are asked for when they are needed, since a site adds its own.

use std::collections::BTreeSet;

use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, Command, ValueHint};

use super::args::ParsedArgs;
use super::values;
use crate::base::options::{
    CHECK, COMPLETIONS, DOCTOR, EXPLAIN, FIT, GENERATE, Opt, REPLAY, SHIMS, SUBCOMMANDS, TEMPLATES, generate, launch,
};
use crate::report::Problem;

const SHELL: &str = "SHELL";

type Script = fn(&Command) -> String;

pub(super) fn describe(command: Command) -> Command {
    let shells = || -> Vec<(&str, Script)> { vec![("bash", bash), ("zsh", zsh), ("fish", fish)] };
    command.arg(Arg::new(SHELL).required(true).value_parser(values::one_of(shells)))
}

/// The script for the shell that is named; `zlaunch` is the whole command line.
pub(super) fn read(mut args: ParsedArgs, mut zlaunch: Command) -> Result<String, Vec<Problem>> {
    zlaunch.build();
    let script = args.argument::<Script>(SHELL, &COMPLETIONS).map(|script| (script.value)(&zlaunch));
    let script = script.unwrap_or_default();
    let script = script.replace("@ACTIONS@", &first_words(&zlaunch, SHIMS.name));
    args.finish(script.replace("@SHELLS@", &first_words(&zlaunch, COMPLETIONS.name)))
}

/// What may follow an option.
enum Follows {
    Nothing,
    Config,
    Templates,
    Words(String),
    /// Of a plan; a report is nothing to run, so it has no shell format.
    Formats,
    Files,
    Folders,
    /// A folder, or `auto`.
    Record,
    Text,
}

impl Follows {
    fn new(arg: &Arg) -> Self {
        let is = |option: &Opt| arg.get_id() == option.name;
        let words = possible_values(arg);
        match arg.get_value_hint() {
            _ if !takes_value(arg) => Follows::Nothing,
            _ if is(&launch::DEEPSPEED) => Follows::Config,
            _ if is(&generate::FROM) => Follows::Templates,
            _ if is(&launch::FORMAT) => Follows::Formats,
            _ if is(&launch::RECORD) => Follows::Record,
            _ if !words.is_empty() => Follows::Words(words),
            ValueHint::FilePath => Follows::Files,
            ValueHint::DirPath => Follows::Folders,
            _ => Follows::Text,
        }
    }
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_num_args().is_some_and(|count| count.takes_values())
}

fn possible_values(arg: &Arg) -> String {
    let words = arg.get_possible_values();
    words.iter().map(PossibleValue::get_name).collect::<Vec<_>>().join(" ")
}

/// What an argument with a fixed set of words may be: the first one of a sub-command.
fn first_words(zlaunch: &Command, subcommand: &str) -> String {
    let first = zlaunch.find_subcommand(subcommand).and_then(|command| command.get_positionals().next());
    first.map(possible_values).unwrap_or_default()
}

/// The places in a command line that have options, with those that are shown in their help.
fn places(zlaunch: &Command) -> Vec<(String, Vec<&Arg>)> {
    let launch = ["launch", CHECK.name, DOCTOR.name].join(" ");
    let others = [FIT, GENERATE, TEMPLATES, EXPLAIN, REPLAY].map(|subcommand| subcommand.name);
    let others = others.into_iter().filter_map(|name| Some((name.to_string(), zlaunch.find_subcommand(name)?)));
    // clap's own --help and --version have no heading.
    let is_shown = |arg: &&Arg| !arg.is_positional() && !arg.is_hide_set() && arg.get_help_heading().is_some();
    let places = std::iter::once((launch, zlaunch)).chain(others);
    places.map(|(place, command)| (place, command.get_arguments().filter(is_shown).collect())).collect()
}

/// `--name`.
fn long(arg: &Arg) -> String {
    format!("--{}", arg.get_long().unwrap_or_default())
}

/// `-n`.
fn short(arg: &Arg) -> Option<String> {
    arg.get_short().map(|short| format!("-{short}"))
}

fn help(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}

/// The options after which a value stands, in all their spellings.
fn valued(zlaunch: &Command, between: &str) -> String {
    let spellings = |arg: &Arg| {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        aliases.iter().map(|alias| format!("--{alias}")).chain([long(arg)]).collect::<Vec<_>>()
    };
    let valued = places(zlaunch).into_iter().flat_map(|(_, args)| args).filter(|arg| takes_value(arg));
    let spellings: BTreeSet<String> = valued.flat_map(spellings).collect();
    spellings.into_iter().collect::<Vec<_>>().join(between)
}

fn names(between: &str) -> String {
    SUBCOMMANDS.iter().map(|subcommand| subcommand.name).collect::<Vec<_>>().join(between)
}

fn bash(zlaunch: &Command) -> String {
    let (mut values, mut lists) = (String::new(), String::new());
    let mut seen = BTreeSet::new();
    for (place, args) in places(zlaunch) {
        let words: Vec<String> = args.iter().flat_map(|arg| short(arg).into_iter().chain([long(arg)])).collect();
        let more = if place.starts_with("launch") { " --help --version" } else { " --help" };
        lists += &format!("        {}) _zlaunch_reply -W '{}{more}' ;;\n", place.replace(' ', " | "), words.join(" "));
        for arg in args.into_iter().filter(|arg| seen.insert(long(arg))) {
            let reply = match Follows::new(arg) {
                Follows::Nothing => continue,
                Follows::Config => "_zlaunch_reply -W \"auto $(_zlaunch_templates)\" -f; ".to_string(),
                Follows::Templates => "_zlaunch_reply -W \"$(_zlaunch_templates)\"; ".to_string(),
                Follows::Words(words) => format!("_zlaunch_reply -W '{words}'; "),
                Follows::Formats => "_zlaunch_reply -W \"$formats\"; ".to_string(),
                Follows::Files => "_zlaunch_reply -f; ".to_string(),
                Follows::Folders => "_zlaunch_reply -d; ".to_string(),
                Follows::Record => "_zlaunch_reply -W auto -d; ".to_string(),
                Follows::Text => String::new(),
            };
            let short = short(arg).map(|short| format!(" | {short}")).unwrap_or_default();
            values += &format!("    {}{short}) {reply}return ;;\n", long(arg));
        }
    }
    include_str!("completions/zlaunch.bash")
        .replace("@VALUED@", &valued(zlaunch, " | "))
        .replace("@VALUES@", &values)
        .replace("@OPTIONS@", &lists)
        .replace("1:@COMMANDS@", &format!("1:{}", names(" | 1:")))
        .replace("@SUBCOMMANDS@", &names(" "))
}

fn zsh(zlaunch: &Command) -> String {
    let mut script = include_str!("completions/zlaunch.zsh").to_string();
    for (place, args) in places(zlaunch) {
        let name = place.split(' ').next().unwrap_or_default().to_uppercase();
        script = script.replace(&format!("@{name}@"), &args.into_iter().map(zsh_spec).collect::<String>());
    }
    let commands = SUBCOMMANDS.iter().map(|it| format!("        '{}:{}'\n", it.name, zsh_quoted(it.about)));
    script.replace("@COMMANDS@", &commands.collect::<String>()).replace("@NAMES@", &names("|"))
}

fn zsh_quoted(text: &str) -> String {
    text.replace('\'', "'\\''").replace(['[', ']'], "").replace(':', "\\:")
}

/// A line for `_arguments`.
fn zsh_spec(arg: &Arg) -> String {
    let action = match Follows::new(arg) {
        Follows::Nothing => "",
        Follows::Config => ":config:_zlaunch_config",
        Follows::Templates => ":template:_zlaunch_templates",
        Follows::Words(words) => &format!(":word:({words})"),
        Follows::Formats => ":format:_zlaunch_formats",
        Follows::Files => ":file:_files",
        Follows::Folders => ":folder:_files -/",
        Follows::Record => ":folder:_zlaunch_record",
        Follows::Text => ":value: ",
    };
    let (plus, equals) = if takes_value(arg) { ("+", "=") } else { ("", "") };
    let (long, help) = (long(arg), zsh_quoted(&help(arg)));
    let (once, spellings) = match (short(arg), arg.get_action()) {
        (Some(short), _) => (format!("({short} {long})"), format!("'{{{short}{plus},{long}{equals}}}'")),
        (None, ArgAction::Append) => ("*".to_string(), format!("{long}{equals}")),
        (None, _) => (String::new(), format!("{long}{equals}")),
    };
    // Understood, but not offered.
    let aliases = arg.get_all_aliases().unwrap_or_default();
    let aliases = aliases.iter().map(|alias| format!("            '!--{alias}{equals}{action}' \\\n"));
    format!("            '{once}{spellings}[{help}]{action}' \\\n{}", aliases.collect::<String>())
}

fn fish(zlaunch: &Command) -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
    let mut script = include_str!("completions/zlaunch.fish")
        .replace("@VALUED@", &valued(zlaunch, " "))
        .replace("@NAMES@", &names(" "));
    for it in SUBCOMMANDS {
        script += &format!("complete -c zlaunch -n __zlaunch_first -a {} -d '{}'\n", it.name, quoted(it.about));
    }
    for (place, args) in places(zlaunch) {
        for arg in args {
            let short = arg.get_short().map(|short| format!(" -s {short}")).unwrap_or_default();
            let action = match Follows::new(arg) {
                Follows::Nothing => String::new(),
                Follows::Config => " -r -F -a 'auto (__zlaunch_templates)'".to_string(),
                Follows::Templates => " -x -a '(__zlaunch_templates)'".to_string(),
                Follows::Words(words) => format!(" -x -a '{words}'"),
                Follows::Formats => " -x -a '(__zlaunch_formats)'".to_string(),
                Follows::Files => " -r -F".to_string(),
                Follows::Folders => " -x -a '(__fish_complete_directories)'".to_string(),
                Follows::Record => " -x -a 'auto (__fish_complete_directories)'".to_string(),
                Follows::Text => " -x".to_string(),
            };
            let (long, help) = (arg.get_long().unwrap_or_default(), quoted(&help(arg)));
            script += &format!("complete -c zlaunch -n '__zlaunch_at {place}'{short} -l {long} -d '{help}'{action}\n");
        }
    }
    script
}
