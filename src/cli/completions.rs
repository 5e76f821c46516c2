//! `zlaunch completions`: a script for each of three shells in `completions/`, with its `@PLACES@` filled from what clap knows
//! of the options. The names of templates are asked for when they are needed, since a site adds its own.

use std::collections::BTreeSet;

use clap::builder::{PossibleValue, ValueParser};
use clap::{Arg, ArgAction, Command, ValueHint};

use super::args::{ParsedArgs, arg};
use super::values::{self, Suggested, Words, one_of};
use crate::base::options::{
    CHECK, COMPLETIONS, DIFF, DOCTOR, EXPLAIN, FIT, GENERATE, Opt, SCHEMA, SHIMS, SUBCOMMANDS, TEMPLATES, generate,
    launch,
};
use crate::config::template::Search;
use crate::report::Problem;
use crate::tools::explain;

const SHELL: &str = "SHELL";

type Script = fn(&Command) -> String;

const SHELLS: Words<Script> = || vec![("bash", bash), ("zsh", zsh), ("fish", fish)];

const BEGINNING: &str = "BEGINNING";

/// What a script asks for in the place of a shell, given the beginning of the word: one answer a line, since a bare system
/// has no awk to cut them out of a table.
fn answers(asked: &str, beginning: &str, search: &Search) -> Option<Vec<String>> {
    match asked {
        "keys" => Some(keys(beginning)),
        "templates" => Some(search.names()),
        "subjects" => Some(explain::words(search)),
        _ => None,
    }
}

/// The keys of a config that begin like this, up to the next dot.
fn keys(beginning: &str) -> Vec<String> {
    let mut found = Vec::new();
    for key in explain::keys().filter(|key| key.starts_with(beginning) && !key.contains('<')) {
        let dot = key[beginning.len()..].find('.');
        found.push(dot.map_or(key, |dot| &key[..=beginning.len() + dot]).to_string());
    }
    found.sort();
    found.dedup();
    found
}

pub(super) fn describe(command: Command) -> Command {
    let beginning = Arg::new(BEGINNING).value_parser(ValueParser::os_string()).allow_hyphen_values(true);
    command
        .arg(Arg::new(SHELL).required(true).value_parser(Suggested(SHELLS)))
        .args([beginning, arg(&launch::TEMPLATE_DIR)].map(|arg| arg.hide(true)))
}

/// The script for the shell that is named, or what a script asks for; `zlaunch` is the whole command line.
pub(super) fn read(mut args: ParsedArgs, zlaunch: Command) -> Result<String, Vec<Problem>> {
    let beginning = args.arguments(BEGINNING, &COMPLETIONS, values::text).pop();
    let beginning = beginning.map(|it| it.value).unwrap_or_default();
    let asked = args.first_argument(SHELL).and_then(|word| answers(&word, &beginning, &args.search()));
    // What is wrong with a line that is being typed is said when it is run.
    asked.map_or_else(|| read_shell(args, zlaunch), |answers| Ok(answers.join("\n") + "\n"))
}

fn read_shell(mut args: ParsedArgs, mut zlaunch: Command) -> Result<String, Vec<Problem>> {
    zlaunch.build();
    let script = args.arguments(SHELL, &COMPLETIONS, one_of(SHELLS)).pop().map(|script| (script.value)(&zlaunch));
    let script = script.unwrap_or_default();
    let script = script.replace("@ACTIONS@", &first_words(&zlaunch, SHIMS.name));
    args.finish(script.replace("@SHELLS@", &first_words(&zlaunch, COMPLETIONS.name)))
}

/// What completes the value of an option in bash, zsh and fish.
fn completion(arg: &Arg) -> [String; 3] {
    let is = |option: &Opt| arg.get_id() == option.name;
    let words = possible_values(arg);
    let [bash, zsh, fish] = match arg.get_value_hint() {
        _ if is(&launch::DEEPSPEED) => {
            ["-W \"auto $(_zlaunch_templates)\" -f", "config:_zlaunch_config", "-r -F -a 'auto (__zlaunch_templates)'"]
        }
        _ if is(&generate::FROM) => {
            ["-W \"$(_zlaunch_templates)\"", "template:_zlaunch_templates", "-x -a '(__zlaunch_templates)'"]
        }
        // Of a plan; a report is nothing to run, so it has no shell format.
        _ if is(&launch::FORMAT) => ["-W \"$formats\"", "format:_zlaunch_formats", "-x -a '(__zlaunch_formats)'"],
        _ if is(&launch::RECORD) => {
            ["-W auto -d", "folder:_zlaunch_record", "-x -a 'auto (__fish_complete_directories)'"]
        }
        _ if is(&launch::SET) => ["set", "key:_zlaunch_set", "-x -a '(__zlaunch_set)'"],
        _ if is(&launch::UNSET) => ["unset", "key:_zlaunch_keys", "-x -a '(__zlaunch_keys)'"],
        _ if !words.is_empty() => {
            return [format!("-W '{words}'"), format!("word:({words})"), format!("-x -a '{words}'")];
        }
        ValueHint::FilePath => ["-f", "file:_files", "-r -F"],
        ValueHint::DirPath => ["-d", "folder:_files -/", "-x -a '(__fish_complete_directories)'"],
        _ => ["", "value: ", "-x"],
    };
    [bash, zsh, fish].map(str::to_string)
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
    let others = [CHECK, DOCTOR, FIT, DIFF, GENERATE, TEMPLATES, EXPLAIN, SCHEMA].map(|subcommand| subcommand.name);
    let others = others.into_iter().filter_map(|name| Some((name.to_string(), zlaunch.find_subcommand(name)?)));
    let places = std::iter::once(("launch".to_string(), zlaunch)).chain(others);
    places.map(|(place, command)| (place, shown_options(command).collect())).collect()
}

/// The options in the help of a command, but for clap's own --help and --version, which have no heading.
pub fn shown_options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_positional() && !arg.is_hide_set() && arg.get_help_heading().is_some())
}

/// `--name`.
pub fn long(arg: &Arg) -> String {
    format!("--{}", arg.get_long().unwrap_or_default())
}

/// `-n`.
pub fn short(arg: &Arg) -> Option<String> {
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
        for arg in args.into_iter().filter(|arg| takes_value(arg) && seen.insert(long(arg))) {
            let [bash, ..] = completion(arg);
            let reply = match bash.as_str() {
                "" => String::new(),
                "set" => "_zlaunch_keys '='; ".to_string(),
                "unset" => "_zlaunch_keys ''; ".to_string(),
                words => format!("_zlaunch_reply {words}; "),
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
    script
        .replace("@COMMANDS@", &commands.collect::<String>())
        .replace("@NAMES@", &names("|"))
        .replace("@WORDS@", &names(" "))
}

fn zsh_quoted(text: &str) -> String {
    text.replace('\'', "'\\''").replace(['[', ']'], "").replace(':', "\\:")
}

/// A line for `_arguments`.
fn zsh_spec(arg: &Arg) -> String {
    let takes_value = takes_value(arg);
    let (plus, equals) = if takes_value { ("+", "=") } else { ("", "") };
    let action = if takes_value { format!(":{}", completion(arg)[1]) } else { String::new() };
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
            let action = if takes_value(arg) { format!(" {}", completion(arg)[2]) } else { String::new() };
            let (long, help) = (arg.get_long().unwrap_or_default(), quoted(&help(arg)));
            script += &format!("complete -c zlaunch -n '__zlaunch_at {place}'{short} -l {long} -d '{help}'{action}\n");
        }
    }
    script
}
