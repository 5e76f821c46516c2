//! Sentences about what was typed.

use std::ffi::OsStr;

use super::problem::Problem;
use super::suggestion::{did_you_mean, nearest};
use crate::base::source::Sourced;

pub(crate) fn nothing_to_launch() -> Problem {
    Problem::error("usage", "there is no command to launch")
        .at("zlaunch [OPTIONS] [--] COMMAND [ARGS]...")
        .help("zlaunch --deepspeed zero2 -- swift sft --model Qwen/Qwen3-8B; `zlaunch --help` has the options")
}

/// `line`: the command line that was probably meant.
pub(crate) fn meant(word: &str, what: &str, line: &str) -> Problem {
    Problem::error("usage", format!("`{word}` is {what}")).at(word).help(line)
}

pub(crate) fn unknown_option(given: &str, nearest: Option<&str>) -> Problem {
    let all = "`zlaunch --help` lists the options; the trainer's own come after its name";
    Problem::error("usage", format!("zlaunch has no option `{given}`")).at(given).help(did_you_mean(nearest, all))
}

/// Its help is the whole line with the option where it belongs.
pub(crate) fn option_of_the_trainer(given: &str) -> Problem {
    let what = format!("zlaunch has no option `{given}`: the options of the training come behind its command");
    Problem::error("usage", what).at(given)
}

/// `line`: the command line with the option in front.
pub(crate) fn dry_run_behind(word: &str, line: &str) -> Problem {
    let what = format!("`{word}` stands behind the command: the training gets it, and is started");
    Problem::warning("behind-the-command", what).at(word).help(line)
}

pub(crate) fn option_needs_value(given: &str) -> Problem {
    let name = given.split(' ').next().unwrap_or(given);
    Problem::error("usage", format!("`{name}` needs a value")).at(given).help(format!("{given}: `zlaunch --help`"))
}

pub(crate) fn takes_no_value(name: &str, value: &str) -> Problem {
    let help = match value.to_ascii_lowercase().as_str() {
        "text" | "json" | "shell" if name == "--dry-run" => format!("--dry-run --format {value}"),
        "0" | "false" | "no" | "off" => format!("leave {name} out"),
        _ => name.to_string(),
    };
    Problem::error("usage", format!("`{name}` takes no value")).at(format!("{name}={value}")).help(help)
}

pub(crate) fn usage(what: &str) -> Problem {
    Problem::error("usage", what).at("the command line").help("`zlaunch --help` lists the options")
}

pub(crate) fn not_text(from: &str, value: &OsStr) -> Problem {
    Problem::error("usage", format!("the value of `{from}` is not UTF-8 text"))
        .at(format!("{from} {}", value.to_string_lossy()))
        .help("use plain text here; arguments after the command may be any bytes")
}

pub(crate) fn not_a_switch(sourced: &Sourced<String>) -> Problem {
    Problem::error("usage", format!("`{}` is neither on nor off", sourced.value))
        .at(sourced.place())
        .help(sourced.from.with("1"))
}

pub(crate) fn not_one_of(sourced: &Sourced<String>, known: &[&str]) -> Problem {
    let all = format!("one of {}", known.join(", "));
    Problem::error("usage", format!("`{}` does not know `{}`", sourced.from, sourced.value))
        .at(sourced.place())
        .help(did_you_mean(nearest(&sourced.value, known.iter().copied()), &all))
}

/// A value is not what it must be: `a dotted key`.
pub(crate) fn is_not(wanted: &str, sourced: &Sourced<String>, example: &str) -> Problem {
    Problem::error("usage", format!("`{}` is not {wanted}", sourced.value))
        .at(sourced.place())
        .help(sourced.from.with(example))
}

pub(crate) fn not_a_number(sourced: &Sourced<String>, least: u64, most: u64, example: &str) -> Problem {
    is_not(&format!("a whole number from {least} to {most}"), sourced, example)
}

pub(crate) fn format_without_dry_run() -> Problem {
    Problem::error("usage", "`--format` is only for a plan that is printed").at("--format").help("add --dry-run")
}

pub(crate) fn unknown_variable(name: &str, nearest: Option<&str>) -> Problem {
    let all = "`zlaunch --help` lists the options, and each has a variable";
    Problem::warning("unknown-variable", format!("zlaunch does not read `{name}`"))
        .at(format!("variable {name}"))
        .help(did_you_mean(nearest, all))
}

pub(crate) fn unknown_subject(words: &str, nearest: Option<&str>) -> Problem {
    Problem::error("usage", format!("zlaunch has no explanation for `{words}`"))
        .at(format!("explain {words}"))
        .help(did_you_mean(nearest, "`zlaunch explain` lists what can be explained"))
}

/// `usage` is that of a sub-command.
pub(crate) fn missing_argument(name: &str, usage: &str) -> Problem {
    let command = sub_command(usage);
    Problem::error("usage", format!("`{command}` needs {name}")).at(command).help(usage)
}

pub(crate) fn no_such_command(name: &str, nearest: Option<&str>) -> Problem {
    Problem::error("usage", format!("zlaunch has no command `{name}`")).at(format!("help {name}")).help(did_you_mean(
        nearest,
        "`zlaunch help` lists them; `zlaunch explain WORD` explains keys, variables and rules",
    ))
}

pub(crate) fn unexpected_argument(word: &str, usage: &str) -> Problem {
    Problem::error("usage", format!("`{word}` is not understood here")).at(sub_command(usage)).help(usage)
}

/// `zlaunch replay` of `zlaunch replay DIR`.
fn sub_command(usage: &str) -> String {
    usage.split(' ').take(2).collect::<Vec<_>>().join(" ")
}
