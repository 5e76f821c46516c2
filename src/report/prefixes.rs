//! Sentences about what stands in front of a command, and about commands that are not understood.

use super::problem::Problem;
use super::rule::Rule;

/// `order`: the same command with zlaunch behind the prefix.
pub(crate) fn container_in_between(prefix: &str, order: &str) -> Problem {
    Problem::error(Rule::Prefix, format!("zlaunch cannot look into the container that `{prefix}` starts"))
        .at(prefix)
        .help(format!("put zlaunch inside, into an image that has it: {order}"))
}

pub(crate) fn prefix_changes_place(option: &str, order: &str) -> Problem {
    let what =
        format!("with `{option}` the command runs in another folder or without the variables that zlaunch reads");
    Problem::error(Rule::Prefix, what).at(option).help(order)
}

pub(crate) fn prefix_drops_variables(prefix: &str, needed: &str, order: &str) -> Problem {
    Problem::error(Rule::Prefix, format!("`{prefix}` without {needed} drops the variables that zlaunch reads"))
        .at(prefix)
        .help(format!("{prefix} {needed} keeps them; or {order}"))
}

/// Only for a check and a dry run: at the launch, zlaunch checks again behind the prefix.
pub(crate) fn packages_not_seen(prefix: &str, order: &str) -> Problem {
    let what = format!("`{prefix}` brings its own Python: what depends on installed packages was not checked");
    Problem::warning(Rule::PackagesNotSeen, what).at(prefix).help(order)
}

pub(crate) fn not_understood(program: &str, help: &str) -> Problem {
    let what = format!("`{program}` is not a training command that zlaunch knows: it runs as it stands, unchecked");
    Problem::warning(Rule::NotUnderstood, what).at(program).help(help)
}

pub(crate) fn machines_for_unknown(program: &str, places: Vec<String>, help: &str) -> Problem {
    let what = format!("zlaunch does not know `{program}`, so it cannot place it on several machines");
    let problem = Problem::error(Rule::NotUnderstood, what);
    places.into_iter().fold(problem, Problem::at).help(help)
}
