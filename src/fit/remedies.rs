//! What would make a training fit, from the cheapest change to the dearest. Each is tried with the same sums.

use super::allocator::{Allocator, EXPANDABLE};
use super::choice::{LARGEST_MICRO_BATCH, Scenario, largest};
use super::need::{Cluster, MemoryNeed};
use super::settings::{TrainingSettings, Tuner};
use crate::base::layout::plural;
use crate::base::size::Size;
use crate::base::vars;

/// Sequences are shortened in steps of this many tokens.
const SEQ_LEN_STEP: u64 = 64;
/// Shorter sequences are not worth training on.
const SHORTEST: u64 = 256;

/// A change, and the template that then fits.
#[derive(Clone, Debug)]
pub(crate) struct Remedy {
    pub(crate) change: String,
    pub(crate) template: String,
    pub(crate) need: MemoryNeed,
}

impl Remedy {
    /// `LoRA: zero3, 41.0 GiB on each GPU`.
    pub(crate) fn sentence(&self) -> String {
        format!("{}: {}, {} on each GPU", self.change, self.template, Size(self.need.gpu()))
    }
}

/// What would help, one after another.
pub(super) fn sentences(remedies: &[Remedy]) -> String {
    remedies.iter().map(Remedy::sentence).collect::<Vec<_>>().join("; or ")
}

type Change = (&'static str, fn(&mut TrainingSettings));

/// Changes of one setting that cost time or nothing. One that is already in use changes nothing, so it will not help either.
const CHEAP: &[Change] = &[
    ("gradient checkpointing", |settings| settings.checkpointing = true),
    ("a fused loss (Liger)", |settings| settings.fused_loss = true),
];

/// Changes that train less.
const DEAR: &[Change] = &[
    ("LoRA", |settings| settings.tuner = Tuner::Lora),
    ("QLoRA in 4 bits", |settings| settings.tuner = Tuner::Quantised(4)),
];

/// `others`: the templates to fall back to, if the scenario is about one config.
pub(super) fn remedies(scenario: &Scenario, others: &Scenario) -> Vec<Remedy> {
    let of_settings =
        |changes: &'static [Change]| changes.iter().filter_map(|(name, apply)| with_settings(scenario, name, apply));
    let mut found: Vec<Remedy> = Vec::new();
    found.extend(other_allocator(scenario));
    found.extend(smaller_batch(scenario));
    found.extend(of_settings(CHEAP));
    found.extend(shorter_sequences(scenario));
    if others.first_fit().is_none() {
        found.extend(offload(others));
        found.extend(disk(others));
    }
    found.extend(of_settings(DEAR));
    found.extend(more_gpus(scenario));
    found
}

fn fit(scenario: &Scenario, change: impl FnOnce() -> String) -> Option<Remedy> {
    let (candidate, need) = scenario.first_fit()?;
    Some(Remedy { change: change(), template: candidate.name.clone(), need })
}

fn with_settings(scenario: &Scenario, name: &str, apply: impl Fn(&mut TrainingSettings)) -> Option<Remedy> {
    let mut settings = scenario.settings.clone();
    apply(&mut settings);
    fit(&Scenario { settings: &settings, ..*scenario }, || name.to_string())
}

/// Where a variable keeps torch from it.
fn other_allocator(scenario: &Scenario) -> Option<Remedy> {
    let expandable = Scenario { allocator: Some(Allocator::Expandable), ..*scenario };
    let (candidate, need) = expandable.first_fit().filter(|(found, _)| found.allocator.kind == Allocator::Plain)?;
    let change = format!("{}={EXPANDABLE}", vars::PYTORCH_CUDA_ALLOC_CONF);
    Some(Remedy { change, template: candidate.name.clone(), need })
}

fn smaller_batch(scenario: &Scenario) -> Option<Remedy> {
    let with = |micro_batch| with_settings(scenario, "", |settings| settings.micro_batch = micro_batch);
    let now = scenario.settings.micro_batch;
    let most = largest((now - 1).min(LARGEST_MICRO_BATCH), |micro_batch| with(micro_batch).is_some());
    Some(Remedy { change: format!("a micro batch of {most}"), ..with(most).filter(|_| most > 0)? })
}

fn shorter_sequences(scenario: &Scenario) -> Option<Remedy> {
    let with = |steps| with_settings(scenario, "", |settings| settings.seq_len = SEQ_LEN_STEP * steps);
    let now = scenario.settings.seq_len;
    let steps = largest(now.saturating_sub(1) / SEQ_LEN_STEP, |steps| with(steps).is_some());
    let tokens = SEQ_LEN_STEP * steps;
    Some(Remedy { change: format!("sequences of {tokens} tokens"), ..with(steps).filter(|_| tokens >= SHORTEST)? })
}

/// Where only offload helps: to the memory that is there, or that would have to be.
fn offload(scenario: &Scenario) -> Option<Remedy> {
    let with_memory = Scenario { host_memory: Some(u64::MAX), ..*scenario };
    let (candidate, need) = with_memory.first_fit().filter(|(found, _)| found.strategy.offloads())?;
    let is_there = scenario.host_memory.is_some_and(|memory| need.host <= memory);
    let change = if is_there {
        "offload".to_string()
    } else {
        format!("offload to machines with {} of memory", Size(need.host))
    };
    Some(Remedy { change, template: candidate.name.clone(), need })
}

fn disk(scenario: &Scenario) -> Option<Remedy> {
    let with_disk = Scenario { order: &["zero3_nvme"], disk: Some(u64::MAX), ..*scenario };
    let remedy = fit(&with_disk, String::new)?;
    Some(Remedy { change: format!("a local NVMe disk with {} free", Size(remedy.need.disk)), ..remedy })
}

/// More GPUs in each node, up to eight, then more nodes.
fn more_gpus(scenario: &Scenario) -> Option<Remedy> {
    let Cluster { nodes, gpus } = scenario.cluster;
    let wider = (1..=3).map(|power| Cluster { nodes, gpus: gpus << power }).filter(|cluster| cluster.gpus <= 8);
    let more = (1..=10).map(|power| Cluster { nodes: nodes << power, gpus });
    wider.chain(more).find_map(|cluster| {
        let Cluster { nodes, gpus } = cluster;
        fit(&Scenario { cluster, ..*scenario }, || {
            let gpus = plural(gpus, "GPU", "s");
            if nodes > 1 { format!("{nodes} machines with {gpus} each") } else { gpus }
        })
    })
}
