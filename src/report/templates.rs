//! Sentences about templates and their names.

use std::fmt;
use std::path::{Path, PathBuf};

use super::problem::Problem;
use super::rule::Rule;
use super::suggestion::{did_you_mean, nearest};
use crate::base::source::Sourced;

pub(crate) fn unknown_template(spec: &Sourced<String>, nearest: Option<&str>) -> Problem {
    if spec.value.is_empty() {
        return Problem::error(
            Rule::Template,
            "the name of the config is empty: a variable of the shell may not be set",
        )
        .at(spec.place())
        .help("--deepspeed zero3; `zlaunch templates` lists all of them");
    }
    Problem::error(Rule::Template, format!("no DeepSpeed template is named `{}`", spec.value))
        .at(spec.place())
        .help(did_you_mean(nearest, "`zlaunch templates` lists all of them"))
}

/// `zero4`.
pub(crate) fn no_such_stage(spec: &Sourced<String>, nearest: &str) -> Problem {
    Problem::error(
        Rule::Template,
        format!("no DeepSpeed template is named `{}`: ZeRO has the stages 0 to 3", spec.value),
    )
    .at(spec.place())
    .help(format!("did you mean `{nearest}`? `zlaunch templates` lists all of them"))
}

pub(crate) fn no_template_folder(given: &Sourced<PathBuf>, nearest: Option<PathBuf>) -> Problem {
    let help = match nearest {
        Some(nearest) => given.from.with(nearest.display()),
        None => "check the path (it is relative to the current folder)".to_string(),
    };
    Problem::error(Rule::Template, format!("there is no folder `{}` with templates", given.value.display()))
        .at(given.from.with(given.value.display()))
        .help(help)
}

pub(crate) fn file_for_template_folder(given: &Sourced<PathBuf>) -> Problem {
    Problem::error(Rule::Template, format!("`{}` is a file, not a folder with templates", given.value.display()))
        .at(given.from.with(given.value.display()))
        .help(format!("--deepspeed {}", given.value.display()))
}

pub(crate) fn no_site_folder(folder: &Path) -> Problem {
    let what = format!("there is no folder `{}`, so templates come from elsewhere", folder.display());
    Problem::warning(Rule::TemplateDir, what)
        .at(format!("ZLAUNCH_TEMPLATE_DIR={}", folder.display()))
        .help("correct the variable, or unset it")
}

pub(crate) fn missing_config(spec: &Sourced<String>, template: Option<&str>) -> Problem {
    let help = match template {
        Some(name) => format!("check the path, or take the template of that name: --deepspeed {name}"),
        None => "check the path (it is relative to the current folder); `zlaunch templates` lists what needs no file"
            .to_string(),
    };
    Problem::error(Rule::Template, format!("the config `{}` does not exist", spec.value)).at(spec.place()).help(help)
}

pub(crate) fn old_spelling(spec: &Sourced<String>, new: &str) -> Problem {
    Problem::warning(Rule::OldSpelling, format!("`{}` is an old spelling of `{new}`", spec.value))
        .at(spec.place())
        .help(format!("--deepspeed {new}"))
}

pub(crate) fn unknown_parent(
    origin: &impl fmt::Display,
    spec: &Sourced<String>,
    parent: &str,
    nearest: Option<&str>,
) -> Problem {
    Problem::error(Rule::Template, format!("the template extends `{parent}`, which does not exist"))
        .at(format!("{origin}, $zlaunch.extends"))
        .at(spec.place())
        .help(did_you_mean(nearest, "`zlaunch templates` lists all of them"))
}

pub(crate) fn template_cycle(origin: &impl fmt::Display, chain: &[&str]) -> Problem {
    Problem::error(Rule::Template, format!("templates extend each other in a circle: {}", chain.join(" → ")))
        .at(format!("{origin}, $zlaunch.extends"))
        .help("one of them must extend another template, or none")
}

pub(crate) fn not_an_object(origin: &impl fmt::Display) -> Problem {
    Problem::error(Rule::Template, "a DeepSpeed config is a JSON object").at(origin).help("it starts with `{`")
}

pub(crate) fn bad_header(origin: &impl fmt::Display, key: &str, wanted: &str) -> Problem {
    Problem::error(Rule::Template, format!("`{key}` must be {wanted}"))
        .at(format!("{origin}, {key}"))
        .help(r#""$zlaunch": {"about": "…", "extends": "zero3", "env": {"NCCL_DEBUG": "WARN"}}"#)
}

pub(crate) fn unknown_header(origin: &impl fmt::Display, key: &str, known: &[&str]) -> Problem {
    let all = format!("known are {}", known.join(", "));
    Problem::error(Rule::Template, format!("`$zlaunch` has no entry `{key}`"))
        .at(format!("{origin}, $zlaunch.{key}"))
        .help(did_you_mean(nearest(key, known.iter().copied()), &all))
}

pub(crate) fn forbidden_variable(origin: &impl fmt::Display, name: &str, value: &str) -> Problem {
    Problem::error(Rule::Template, format!("a template may not set `{name}`: it changes what is executed"))
        .at(format!("{origin}, $zlaunch.env.{name}"))
        .help(format!("remove it there; for one launch: --env {name}={value}"))
}

pub(crate) fn template_needs(template: &str, key: &str, why: &str, example: &str) -> Problem {
    Problem::error(Rule::Template, format!("the template `{template}` needs `{key}`: {why}"))
        .at(format!("template {template}"))
        .help(format!("--set {key}={example}"))
}
