//! Sentences about the command and its arguments.

use std::fmt;

use super::fix::{Fix, Owner, drop_given, drop_word, give, meant, rename_option, say};
use super::place::Place;
use super::problem::Problem;
use super::suggestion::nearest;
use super::tables::rules::Rule;
use crate::base::size::number_meant;
use crate::base::source::Sourced;

/// `known` are the sub-commands of the program that take a config.
pub(crate) fn no_way_to_hand_over(
    spec: &Sourced<String>,
    command: &str,
    known: &[&str],
    right_order: Fix,
) -> Problem {
    let (program, word) = command.split_once(' ').unwrap_or((command, ""));
    let unknown = format!("zlaunch does not know how `{command}` takes a DeepSpeed config");
    let (what, help) = match nearest(word, known.iter().copied()) {
        Some(near) if near == word => (unknown, drop_given(spec)),
        Some(near) => {
            let problem = Problem::error(
                Rule::HandOver,
                format!("`{program}` has no sub-command `{word}`"),
            );
            return problem
                .at(command)
                .fix(meant(format_args!("{program} {near}")));
        }
        None if !known.is_empty() && !right_order.is_command() => {
            let words = format!(
                "give the config to `{program} {}`, with its arguments on the command line",
                known[0]
            );
            (unknown, say(words))
        }
        None => (unknown, right_order),
    };
    Problem::error(Rule::HandOver, what).at(spec).fix(help)
}

pub(crate) fn trainer_has_no_option(trainer: &str, word: &str, meant: Option<&str>) -> Problem {
    let fix = meant
        .map_or_else(|| drop_word(word), |meant| rename_option(word, meant))
        .of(Owner::Trainer);
    Problem::error(Rule::Argument, format!("{trainer} has no option `{word}`"))
        .at(Place::option(word, ""))
        .fix(fix)
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
                write!(
                    f,
                    "one of {} and {} more",
                    choices[..SHOWN].join(", "),
                    choices.len() - SHOWN
                )
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
                Wanted::Int.meant(name, value)
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
            Wanted::Text if option == "--deepspeed" => "zero2",
            Wanted::Text | Wanted::Mapping | Wanted::OneOf([]) => "VALUE",
        }
    }
}

/// `option` has no dashes if it stands in a run file.
pub(crate) fn argument_of_wrong_type(option: &str, value: &str, wanted: Wanted) -> Problem {
    let place = Place::option(option, value);
    let fix = match wanted.meant(option, value) {
        _ if value == "=" => give(option, "VALUE").remark("without the `=`"),
        Some(meant) => give(option, meant),
        None => give(option, wanted.example(option)).remark("for example"),
    };
    let fix = fix.of(Owner::Trainer);
    let what = format!("the trainer refuses `{place}`: it expects {wanted}");
    Problem::error(Rule::Argument, what).at(place).fix(fix)
}

pub(crate) fn argument_without_value(option: &str, wanted: Wanted) -> Problem {
    let fix = give(option, wanted.example(option)).of(Owner::Trainer);
    let fixes = match wanted {
        Wanted::Int | Wanted::Number => {
            fix.see(format!("{option}=VALUE for a value that starts with `-`"))
        }
        _ => fix.into(),
    };
    Problem::error(
        Rule::Argument,
        format!("the trainer refuses `{option}` alone: it expects {wanted}"),
    )
    .at(Place::option(option, ""))
    .fix(fixes)
}
