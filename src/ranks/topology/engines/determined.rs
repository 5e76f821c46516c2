//! Determined. Every container of a task runs its entry point. Where they are is in a file
//! (github.com/determined-ai/determined, harness/determined/_info.py); without it, the trial's configuration still says how
//! many slots it has, and DET_SLOT_IDS how many of them are here.

use std::path::Path;

use serde_json::Value;

use super::nodes::Nodes;
use crate::base::source::{Source, Sourced};
use crate::host::Host;
use crate::ranks::topology::engine::{Detected, Engine};
use crate::ranks::topology::variables::text;
use crate::report::{self, reading};

pub(super) const ENGINE: Engine = Engine { name: "Determined", detect: |_, host| detect(host) };

const RENDEZVOUS: &str = "/run/determined/info/rendezvous.json";
const SLOTS: &str = "DET_SLOT_IDS";
const CONFIG: &str = "DET_EXPERIMENT_CONFIG";

fn detect(host: &Host) -> Option<Detected> {
    // Somebody may have the client's variables, such as DET_MASTER, on any machine.
    let slots = text(SLOTS, host);
    let config = text(CONFIG, host);
    if slots.is_none() && config.is_none() {
        return None;
    }
    if let Some(file) = reading::text_if_any(Path::new(RENDEZVOUS)) {
        return Some(of_file(&file));
    }
    let here = slots.as_ref().and_then(|slots| serde_json::from_str::<Vec<Value>>(&slots.value).ok());
    let all = config.as_ref().map_or(Ok(None), |config| slots_per_trial(&config.value));
    match (here, all) {
        (Some(here), Ok(Some(all))) if all <= here.len() as u64 => None,
        (Some(_), Ok(None)) | (None, Ok(Some(0 | 1))) => None,
        _ => {
            let set = [slots, config].into_iter().flatten().map(|set| set.from.to_string()).collect::<Vec<_>>();
            Some(Err(report::place_unknown(ENGINE.name, &set, "where its containers are").into()))
        }
    }
}

/// `resources.slots_per_trial` of an experiment.
fn slots_per_trial(config: &str) -> Result<Option<u64>, ()> {
    let config: Value = serde_json::from_str(config).map_err(|_| ())?;
    Ok(config.pointer("/resources/slots_per_trial").and_then(Value::as_u64))
}

fn of_file(file: &str) -> Detected {
    let from = Source::Machine(RENDEZVOUS);
    let json: Value = serde_json::from_str(file).unwrap_or_default();
    let addresses = json["container_addrs"].as_array();
    let index = json["container_rank"].as_u64().and_then(|rank| u32::try_from(rank).ok());
    let (Some(addresses), Some(index)) = (addresses, index) else {
        return Err(report::engine_not_understood(ENGINE.name, RENDEZVOUS).into());
    };
    let addresses: Vec<String> = addresses.iter().filter_map(Value::as_str).map(str::to_string).collect();
    let first = addresses.first().map(|first| Sourced::new(first.clone(), from.clone()));
    let index = Some(Sourced::new(index, from.clone()));
    Nodes { engine: ENGINE.name, count: None, index, listed: Some(Sourced::new(addresses, from)), first }.allocate()
}
