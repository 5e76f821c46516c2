//! Sentences about what is laid over a template.

use super::problem::Problem;
use super::rule::Rule;
use super::suggestion::did_you_mean;
use crate::base::source::{Source, Sourced};

pub(crate) fn not_a_patch(place: &str, why: &str) -> Problem {
    Problem::error(Rule::Patch, format!("not a patch: {why}"))
        .at(place)
        .help(r#"a list such as [{"op": "replace", "path": "/steps_per_print", "value": 10}], or an object to merge"#)
}

pub(crate) fn patch_failed(place: &str, operation: usize, path: &str, what: &str) -> Problem {
    Problem::error(Rule::Patch, format!("operation {} of the patch fails at `{path}`: {what}", operation + 1))
        .at(place)
        .help("`zlaunch templates NAME` shows the config it is applied to; paths start with `/`")
}

pub(crate) fn header_in_config() -> Problem {
    Problem::error(Rule::Set, "`$zlaunch` cannot be set here: it belongs to a template file")
        .at("--set, --patch")
        .help("set variables with --env, choose a template with --deepspeed")
}

pub(crate) fn no_longer_an_object() -> Problem {
    Problem::error(Rule::Patch, "after the patch the config is not a JSON object")
        .at("--patch")
        .help("an operation with the path \"\" replaces the whole config: give it a path")
}

pub(crate) fn nothing_to_unset(sourced: &Sourced<String>, nearest: Option<&str>) -> Problem {
    Problem::error(Rule::Unset, format!("the config has no key `{}` to remove", sourced.value))
        .at(sourced.place())
        .help(did_you_mean(nearest, "`zlaunch templates NAME` shows the keys"))
}

pub(crate) fn set_below_a_value(key: &str, blocked: &str, from: &Source) -> Problem {
    Problem::error(Rule::Set, format!("`{key}` cannot be set: `{blocked}` is a value, not a section"))
        .at(format!("{from} {key}=…"))
        .help(format!("--set {blocked}=VALUE, or another key"))
}

pub(crate) fn layers_without_config(places: Vec<String>) -> Problem {
    let problem = Problem::error(Rule::NoConfig, "there is no DeepSpeed config to change");
    places.into_iter().fold(problem.help("add --deepspeed zero2"), Problem::at)
}
