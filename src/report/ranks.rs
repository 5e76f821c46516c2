//! Sentences about ranks, machines and launchers that other folders than `ranks` need.

use std::fmt;
use std::path::Path;

use super::fix::{drop_word, give, unset_variable};
use super::place::Place;
use super::problem::Problem;
use super::rule::Rule;
use crate::base::source::{Source, Sourced};

pub(crate) fn hosts_of_the_command(sourced: &str, program: &str) -> Problem {
    let what = format!("the command already starts with `{program}`, which has its own options for this");
    Problem::error(Rule::Hosts, what).at(sourced).fix(format!("give it to `{program}`, or drop `{program}`"))
}

pub(crate) fn value_cannot_travel(name: &str) -> Problem {
    Problem::error(Rule::Hosts, "DeepSpeed's runner only passes on variables that are one line of text")
        .at(Place::bare_variable(name))
        .fix(unset_variable(name).or("set it on the machines"))
}

pub(crate) fn secrets_may_be_local<'a>(path: &Path, names: impl Iterator<Item = &'a String>) -> Problem {
    let names = names.map(String::as_str).collect::<Vec<_>>().join(", ");
    let what = format!("every machine must read {names} from this file: do they all see its folder?");
    Problem::warning(Rule::ConfigNotShared, what)
        .at(path)
        .fix("set XDG_CACHE_HOME to a folder that all machines share, or set the variables on the machines")
}

pub(crate) fn ranks_without_effect(from: &Source, program: &str, starts_ranks: bool) -> Problem {
    let help = if starts_ranks {
        "its own launcher decides this: give it the option, or drop the launcher's options"
    } else {
        "use --launcher torchrun to start it several times, or --trainer hf or deepspeed if it is a training command"
    };
    Problem::warning(Rule::RanksWithoutEffect, format!("`{program}` runs once, unchanged, so {from} has no effect"))
        .at(from)
        .fix(help)
}

pub(crate) fn already_a_launcher(asked: &Sourced<impl fmt::Display>, program: &str) -> Problem {
    Problem::error(Rule::Launcher, format!("the command already starts with `{program}`"))
        .at(asked)
        .fix(drop_word(&asked.from).or(drop_word(format_args!("`{program}` and its flags"))))
}

pub(crate) fn config_not_shared(path: &Path, machines: usize) -> Problem {
    Problem::error(Rule::Hosts, format!("{machines} machines must read the config, but only this one sees its folder"))
        .at(path)
        .fix(give("--config-out", "PATH").remark("in a folder that all machines share"))
}

/// `kind`: the file system of the folder.
pub(crate) fn config_may_be_local(path: &Path, machines: usize, kind: &str) -> Problem {
    let what =
        format!("{machines} machines must read the config at this path, and it is on {kind}: do they all see it?");
    let elsewhere = give("--config-out", "PATH").remark("in a folder that all machines share");
    Problem::warning(Rule::ConfigNotShared, what).at(path).fix(elsewhere.or(give("--allow", "config-not-shared")))
}

pub(crate) fn bad_environment_line(place: &str, line: &str) -> Problem {
    Problem::error(Rule::Hosts, format!("DeepSpeed's runner stops at `{line}`: every line must be NAME=VALUE"))
        .at(place)
        .fix("remove blank lines and comments")
}
