//! The words that options take.

use crate::{
    base::{options::Words, vars},
    command::{job::Trainer, trainer},
    config::template::search::BUILT_IN,
    ranks::launcher::Launcher,
    report::Rule,
    request::Format,
};

pub const CONFIGS: Words<()> = || [("auto", ())].into_iter().chain(TEMPLATES()).collect();
pub const TEMPLATES: Words<()> = || BUILT_IN.iter().map(|(name, _)| (*name, ())).collect();
pub const LAUNCHERS: Words<Option<Launcher>> = || Launcher::NAMES.to_vec();
pub const TRAINERS: Words<&Trainer> = || {
    trainer::ALL
        .iter()
        .map(|trainer| (trainer.name, *trainer))
        .collect()
};
pub const RULES: Words<Rule> = || {
    Rule::allowable()
        .into_iter()
        .map(|rule| (rule.name(), rule))
        .collect()
};

pub const FORMATS: Words<Format> = || {
    vec![
        ("text", Format::Text),
        ("json", Format::Json),
        ("shell", Format::Shell),
    ]
};
pub const REPORT_FORMATS: Words<Format> = || vec![("text", Format::Text), ("json", Format::Json)];
pub const BOOLS: Words<bool> = || vec![("true", true), ("false", false)];
pub const SHIM_ACTIONS: Words<&str> = || {
    vec![
        ("install", "install"),
        ("remove", "remove"),
        ("list", "list"),
    ]
};

/// Variables of zlaunch that stand for no option.
pub const NOT_OPTIONS: [&str; 3] = [
    vars::ZLAUNCH_LANG,
    vars::ZLAUNCH_SHIM,
    vars::ZLAUNCH_SHIM_OF,
];
