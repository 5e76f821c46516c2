//! The configs that are compared: no DeepSpeed, the templates, and the one that the user named.

use std::path::Path;

use serde_json::Value;

use super::strategy::Strategy;
use crate::base::json;
use crate::base::source::{Source, Sourced};
use crate::command::allocator::Allocator;
use crate::config::layers;
use crate::config::template::{self, Template};
use crate::host::Host;
use crate::host::machine::Machine;
use crate::report::Problem;
use crate::request::{AUTO, Launch};

/// The first row: the same training without DeepSpeed.
pub(super) const NONE: &str = "none";

/// The templates that are compared, after that row.
const TEMPLATES: &[&str] = &[
    "zero0",
    "zero1",
    "zero2",
    "zero2_offload",
    "zero3",
    "zero3_offload",
    "zero3_nvme",
];

/// A common guide says zero1 or zero2 first, zero3 when that does not fit, then offload. Corrected: zero1 communicates no more
/// than zero2 and needs no reduction in every micro batch.
pub(super) const FASTEST_FIRST: &[&str] =
    &["zero1", "zero2", "zero3", "zero2_offload", "zero3_offload"];
/// On one GPU, zero1 and zero2 only add copies: 22 bytes per parameter were measured, against 20 at stage 0.
pub(super) const FASTEST_FIRST_ON_ONE_GPU: &[&str] =
    &["zero0", "zero3", "zero2_offload", "zero3_offload"];

#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) name: String,
    pub(super) strategy: Strategy,
    pub(super) allocator: Allocator,
}

pub(super) struct Candidates {
    pub(super) all: Vec<Candidate>,
    /// Where the one that the user named stands among them.
    pub(super) named: Option<usize>,
    /// Bytes that are free on the fullest disk that the named config offloads to, if all of them are of this machine.
    pub(super) free_disk: Option<u64>,
}

pub(super) fn config_of(
    spec: &Sourced<String>,
    launch: &Launch,
    host: &Host,
) -> Result<(Template, Value), Vec<Problem>> {
    let template = template::resolve(spec, &launch.search, host)?;
    let config = layers::with_layers(&template, &launch.layers, host)?;
    Ok((template, config))
}

impl Candidates {
    /// `config`: the one that the user named. `hidden`: the model's hidden size. `allocator`: if a template names no other.
    pub(super) fn read(
        config: Option<&Sourced<String>>,
        launch: &Launch,
        hidden: u64,
        allocator: &Allocator,
        host: &Host,
    ) -> Result<Self, Vec<Problem>> {
        let candidate = |name: String, config: &Value, template: &Template| Candidate {
            name,
            strategy: Strategy::of(config, hidden),
            allocator: allocator.with(&template.env),
        };
        let mut all = vec![Candidate {
            name: NONE.to_string(),
            strategy: Strategy::default(),
            allocator: allocator.clone(),
        }];
        for name in TEMPLATES {
            let spec = Sourced::new((*name).to_string(), Source::Default);
            let template = template::resolve(&spec, &launch.search, host)?;
            all.push(candidate(
                template.name.clone(),
                &template.config,
                &template,
            ));
        }
        let mut candidates = Candidates {
            all,
            named: None,
            free_disk: None,
        };
        let Some(spec) = config.filter(|spec| spec.value != AUTO) else {
            return Ok(candidates);
        };
        if launch.layers.is_empty() {
            candidates.named = candidates.position(&spec.value);
        }
        if candidates.named.is_none() {
            let (template, config) = config_of(spec, launch, host)?;
            let name = match candidates.position(&template.name) {
                Some(_) => format!("{}, yours", template.name),
                None => template.name.clone(),
            };
            candidates.free_disk = free_disk(&config);
            candidates.named = Some(candidates.all.len());
            candidates.all.push(candidate(name, &config, &template));
        }
        Ok(candidates)
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.all.iter().position(|candidate| candidate.name == name)
    }
}

fn free_disk(config: &Value) -> Option<u64> {
    let keys = [
        "zero_optimization.offload_optimizer.nvme_path",
        "zero_optimization.offload_param.nvme_path",
    ];
    let paths = keys
        .iter()
        .filter_map(|key| json::get(config, key)?.as_str());
    let free: Option<Vec<u64>> = paths
        .map(|path| Machine::here().free(Path::new(path)))
        .collect();
    free?.into_iter().min()
}
