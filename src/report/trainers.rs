//! Sentences about the command and its arguments.

use std::fmt;
use std::path::Path;

use super::fix::{Fix, drop_word, give, meant, rename_option, say};
use super::place::Place;
use super::problem::Problem;
use super::rule::Rule;
use super::suggestion::nearest;
use crate::base::size::number_meant;
use crate::base::source::Sourced;

/// `known`: sub-commands of the program.
pub(crate) fn no_way_to_hand_over(spec: &Sourced<String>, command: &str, known: &[&str], right_order: Fix) -> Problem {
    let (program, word) = command.split_once(' ').unwrap_or((command, ""));
    let unknown = format!("zlaunch does not know how `{command}` takes a DeepSpeed config");
    let (what, help) = match nearest(word, known.iter().copied()) {
        Some(near) if near == word => (unknown, drop_word(spec.spelling())),
        Some(near) => (format!("`{program}` has no sub-command `{word}`"), meant(format_args!("{program} {near}"))),
        None if !known.is_empty() && !right_order.is_command() => {
            let words = format!("give the config to `{program} {}`, with its arguments on the command line", known[0]);
            (unknown, say(words))
        }
        None => (unknown, right_order),
    };
    Problem::error(Rule::HandOver, what).at(spec).fix(help)
}

pub(crate) fn takes_no_config(spec: &Sourced<String>, why: &str, help: &str) -> Problem {
    Problem::error(Rule::HandOver, why).at(spec).fix(help)
}

/// `reads`: the package that reads the script's options.
pub(crate) fn script_has_no_option(spec: &Sourced<String>, script: &str, reads: &str, option: &str) -> Problem {
    let what = format!("`{script}` has no option `--{option}`, and {reads} refuses unknown options");
    Problem::warning(Rule::NoSuchOption, what)
        .at(spec)
        .fix("--trainer in_code passes the config to transformers' Trainer without an option, --trainer accelerate to a loop with Accelerator()")
}

pub(crate) fn two_configs(flag: &Sourced<String>, own: &Sourced<String>) -> Problem {
    Problem::warning(Rule::TwoConfigs, format!("`{}` is used, not the command's own `{}`", flag.value, own.value))
        .at(flag)
        .at(own)
        .fix(drop_word(flag.spelling()).remark("to use the command's own").or(drop_word(own.spelling())))
}

/// `keys`: those that differ.
pub(crate) fn own_config_differs(
    spec: &Sourced<String>,
    name: &str,
    trainer: &str,
    file: &Path,
    keys: &[String],
) -> Problem {
    const SHOWN: usize = 3;
    let more = if keys.len() > SHOWN { format!(" and {} more", keys.len() - SHOWN) } else { String::new() };
    let keys = keys.iter().take(SHOWN).map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    let what =
        format!("zlaunch's `{name}` is used, which differs from the one that comes with {trainer}: {keys}{more}");
    Problem::warning(Rule::OwnConfigDiffers, what)
        .at(spec)
        .at(file)
        .fix(give("--deepspeed", file.display()).remark(format!("to use {trainer}'s own")))
}

pub(crate) fn trainer_has_no_config(spec: &Sourced<String>, trainer: &str) -> Problem {
    let what = format!("{trainer} has no config `{}`: zlaunch's template of that name is used", spec.value);
    Problem::warning(Rule::OwnConfigDiffers, what).at(spec)
}

pub(crate) fn trainer_has_no_option(trainer: &str, word: &str, meant: Option<&str>) -> Problem {
    let fix = meant.map_or_else(|| drop_word(word), |meant| rename_option(word, meant));
    Problem::error(Rule::Argument, format!("{trainer} has no option `{word}`")).at(Place::option(word, "")).fix(fix)
}

#[derive(Clone, Copy)]
pub(crate) enum Wanted<'a> {
    Bool,
    Int,
    Number,
    Text,
    /// A mapping, which no word of a command line can be.
    Mapping,
    OneOf(&'a [&'a str]),
}

impl fmt::Display for Wanted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        match self {
            Wanted::Bool => f.write_str("true or false"),
            Wanted::Int => f.write_str("an integer"),
            Wanted::Number => f.write_str("a number"),
            Wanted::Text => f.write_str("a value"),
            Wanted::Mapping => f.write_str("a mapping, which cannot be an argument"),
            Wanted::OneOf(choices) if choices.len() > SHOWN => {
                write!(f, "one of {} and {} more", choices[..SHOWN].join(", "), choices.len() - SHOWN)
            }
            Wanted::OneOf(choices) => write!(f, "one of {}", choices.join(", ")),
        }
    }
}

impl<'a> Wanted<'a> {
    pub(crate) fn meant(self, name: &str, value: &str) -> Option<String> {
        match self {
            Wanted::Bool => nearest(value, ["true", "false"]).map(str::to_string),
            Wanted::Int => number_meant(value, name).map(|number| number.to_string()),
            Wanted::Number => {
                let with_point = value.replacen(',', ".", 1);
                if with_point.parse::<f64>().is_ok() {
                    return Some(with_point);
                }
                let percent = value.strip_suffix('%').and_then(|percent| percent.parse::<f64>().ok());
                percent.map(|percent| (percent / 100.0).to_string()).or_else(|| Wanted::Int.meant(name, value))
            }
            Wanted::OneOf(choices) => nearest(value, choices.iter().copied()).map(str::to_string),
            Wanted::Text | Wanted::Mapping => None,
        }
    }

    /// A value of the size that the option usually has.
    pub(crate) fn example(self, option: &str) -> &'a str {
        let is_any = |parts: &[&str]| parts.iter().any(|part| option.contains(part));
        match self {
            Wanted::Bool => "true",
            Wanted::Int => "4",
            Wanted::Number if is_any(&["ratio", "dropout", "decay", "beta", "alpha"]) => "0.1",
            Wanted::Number if is_any(&["learning_rate", "lr", "eps"]) => "1e-5",
            Wanted::Number => "1.0",
            Wanted::OneOf([first, ..]) => first,
            Wanted::Text | Wanted::Mapping | Wanted::OneOf([]) => "VALUE",
        }
    }
}

/// In a run file the option has no dashes.
pub(crate) fn argument_of_wrong_type(option: &str, value: &str, wanted: Wanted) -> Problem {
    let place = Place::option(option, value);
    let fix = match wanted.meant(option, value) {
        _ if value == "=" => give(option, "VALUE").remark("without the `=`"),
        Some(meant) => give(option, meant),
        None => give(option, wanted.example(option)).remark("for example"),
    };
    let what = format!("the trainer refuses `{place}`: it expects {wanted}");
    Problem::error(Rule::Argument, what).at(place).fix(fix)
}

pub(crate) fn argument_without_value(option: &str, wanted: Wanted) -> Problem {
    let fix = give(option, wanted.example(option));
    let fixes = match wanted {
        Wanted::Int | Wanted::Number => fix.see(format!("{option}=VALUE for a value that starts with `-`")),
        _ => fix.into(),
    };
    Problem::error(Rule::Argument, format!("the trainer refuses `{option}` without a value: it expects {wanted}"))
        .at(Place::option(option, ""))
        .fix(fixes)
}
