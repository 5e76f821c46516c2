//! `zlaunch check FILE.json…`: configs by themselves, without a command.

use crate::{
    base::{
        json,
        source::{Source, Sourced},
    },
    check::{self, Subject},
    command::{python::Python, target::ParsedCommand, trainer},
    config::{
        auto,
        layers::{self, Places},
        template,
    },
    host::Host,
    report::Problems,
    request::{self, Launch},
};

/// The configs that stand in the place of a command, and the one that `--deepspeed` names.
pub fn specs(launch: &Launch) -> impl Iterator<Item = Sourced<String>> {
    let words = launch.command.iter().map(|word| {
        Sourced::new(
            word.to_string_lossy().into_owned(),
            Source::Operand("check".to_string()),
        )
    });
    launch.deepspeed.iter().cloned().chain(words)
}

pub fn check_config(
    mut spec: Sourced<String>,
    launch: &Launch,
    host: &Host,
) -> Result<Problems, Problems> {
    request::read_if_piped(&mut spec, host)?;
    let template = template::resolve(&spec, &launch.search, host)?;
    let config = layers::with_layers(&template, &launch.layers, host)?;
    // No trainer: rules that depend on one say nothing. The DeepSpeed that is installed counts.
    let nobody = Sourced::new(trainer::passthrough(), Source::Default);
    let mut job = trainer::recognise(&ParsedCommand::parse(&[]), Some(&nobody), host);
    job.python = Python::on_path(host);
    let places = Places::new(&config, &template, &launch.layers, host);
    let place = |key: &str| places.of(key);
    let subject = Subject::new(&config, &job, host, &place);
    let found = check::diagnose_config(&subject, &launch.allow);
    // Only a warning: a trainer of the user's own may fill an "auto" that no known trainer fills.
    let unfilled = json::leaves(&config, |value| value == "auto")
        .into_iter()
        .filter(|key| !auto::may_be_filled(key))
        .map(|key| auto::filled_by_nobody(&key, places.of(&key)).into_warning());
    Ok(template
        .notes
        .iter()
        .cloned()
        .chain(found)
        .chain(unfilled)
        .collect())
}
