//! Sentences about the command and its arguments.

use std::path::Path;

use super::problem::Problem;
use super::rule::Rule;
use super::suggestion::{did_you_mean, nearest};
use crate::base::size::number_meant;
use crate::base::source::Sourced;

/// `known`: sub-commands of the program.
pub(crate) fn no_way_to_hand_over(spec: &Sourced<String>, command: &str, known: &[&str], right_order: &str) -> Problem {
    let (program, word) = command.split_once(' ').unwrap_or((command, ""));
    let help = match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{program} {near}`?"),
        None if !known.is_empty() && !right_order.starts_with("zlaunch ") => {
            format!("give the config to `{program} {}`, with its arguments on the command line", known[0])
        }
        None => right_order.to_string(),
    };
    Problem::error(Rule::HandOver, format!("zlaunch does not know how `{command}` takes a DeepSpeed config"))
        .at(spec.spelling())
        .help(help)
}

pub(crate) fn takes_no_config(spec: &Sourced<String>, why: &str, help: &str) -> Problem {
    Problem::error(Rule::HandOver, why).at(spec.spelling()).help(help)
}

/// `reads`: the package that reads the script's options.
pub(crate) fn script_has_no_option(spec: &Sourced<String>, script: &str, reads: &str, option: &str) -> Problem {
    let what = format!("`{script}` has no option `--{option}`, and {reads} refuses what it does not know");
    Problem::warning(Rule::NoSuchOption, what)
        .at(spec.spelling())
        .help("--trainer in_code hands the config to transformers' Trainer without an option, --trainer accelerate to a loop with Accelerator()")
}

pub(crate) fn two_configs(flag: &Sourced<String>, own: &Sourced<String>) -> Problem {
    Problem::warning(Rule::TwoConfigs, format!("`{}` is used, not the command's own `{}`", flag.value, own.value))
        .at(flag.spelling())
        .at(own.spelling())
        .help(format!("drop one of them; without {} the command's own is resolved", flag.from))
}

/// `keys`: where they differ.
pub(crate) fn own_config_differs(
    spec: &Sourced<String>,
    name: &str,
    trainer: &str,
    file: &Path,
    keys: &[String],
) -> Problem {
    const SHOWN: usize = 3;
    let more = keys.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let keys = keys.iter().take(SHOWN).map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    let what =
        format!("zlaunch's `{name}` is used, which differs from the one that comes with {trainer}: {keys}{more}");
    Problem::warning(Rule::OwnConfigDiffers, what)
        .at(spec.spelling())
        .at(file.display())
        .help(format!("for {trainer}'s own: --deepspeed {}", file.display()))
}

pub(crate) fn trainer_has_no_config(spec: &Sourced<String>, trainer: &str) -> Problem {
    let what = format!("{trainer} has no config `{}`: zlaunch's template of that name is used", spec.value);
    Problem::warning(Rule::OwnConfigDiffers, what).at(spec.spelling())
}

/// `tolerant`: how this trainer is made to tolerate such options.
pub(crate) fn trainer_has_no_option(trainer: &str, word: &str, meant: Option<&str>, tolerant: &str) -> Problem {
    Problem::error(Rule::Argument, format!("{trainer} has no option `{word}`"))
        .at(word)
        .help(did_you_mean(meant, tolerant).trim_end())
}

pub(crate) fn argument_of_wrong_type(spelled: &str, value: &str, wanted: &str, example: &str) -> Problem {
    Problem::error(Rule::Argument, format!("the trainer refuses `{spelled} {value}`: it wants {wanted}"))
        .at(format!("{spelled} {value}"))
        .help(match value_meant(spelled, value, wanted) {
            Some(meant) => format!("{spelled} {meant}"),
            None => format!("{spelled} {}, for example", usual(spelled, example)),
        })
}

/// What a value that is not `wanted` was probably meant to be.
pub(crate) fn value_meant(name: &str, value: &str, wanted: &str) -> Option<String> {
    match wanted {
        _ if value == "=" => Some("VALUE, without the `=`".to_string()),
        "true or false" => nearest(value, ["true", "false"]).map(str::to_string),
        "an integer" => number_meant(value, name).map(|number| number.to_string()),
        // A comma of another language, or a word.
        "a number" => {
            let with_point = value.replacen(',', ".", 1);
            let percent = || Some((value.strip_suffix('%')?.parse::<f64>().ok()? / 100.0).to_string());
            let number = || percent().or_else(|| number_meant(value, name).map(|number| number.to_string()));
            if with_point.parse::<f64>().is_ok() { Some(with_point) } else { number() }
        }
        listed => nearest(value, listed.split(", ")).map(str::to_string),
    }
}

/// An example as it is, or a number of the size that the option usually has.
pub(crate) fn usual<'a>(spelled: &str, example: &'a str) -> &'a str {
    let is_any = |parts: &[&str]| parts.iter().any(|part| spelled.contains(part));
    match example {
        "1e-5" if is_any(&["ratio", "dropout", "decay", "beta", "alpha"]) => "0.1",
        "1e-5" if !is_any(&["learning_rate", "lr", "eps"]) => "1.0",
        _ => example,
    }
}

/// What to write where the value of an option is missing.
pub(crate) fn with_value(option: &str, example: &str) -> String {
    match usual(option, example) {
        "" => format!("{option} VALUE"),
        "true" => format!("{option} true"),
        example => format!("{option} {example}; a value that starts with `-` needs {option}=VALUE"),
    }
}

pub(crate) fn bad_run_file(kind: &str, name: &str, line: usize, column: usize, what: &str) -> Problem {
    Problem::error(Rule::RunFile, format!("not {kind}: {what}"))
        .at(format!("{name}:{line}:{column}"))
        .help("the trainer would refuse it too; check that place")
}
