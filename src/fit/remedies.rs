//! Changes that would make a training fit, from the cheapest to the dearest. Each is tried with the same sums.

use super::choice::{LARGEST_MICRO_BATCH, Scenario, TemplateRow, largest};
use super::need::{Cluster, Memories, MemoryNeed};
use super::settings::{Evaluation, TrainingSettings, Tuner};
use crate::base::layout::plural;
use crate::base::size::Size;
use crate::base::vars;
use crate::command::allocator::{EXPANDABLE, Segments};

const SEQ_LEN_STEP: u64 = 64;
/// Shorter sequences are not worth training on.
const SHORTEST: u64 = 256;

#[derive(Clone, Debug)]
pub(super) struct Remedy {
    pub(super) change: String,
    pub(super) template: String,
    pub(super) need: MemoryNeed,
}

impl Remedy {
    fn new(change: impl Into<String>, row: TemplateRow) -> Self {
        Remedy {
            change: change.into(),
            template: row.candidate.name,
            need: row.need,
        }
    }

    /// `LoRA: zero3, 41.0 GiB on each GPU`.
    pub(super) fn sentence(&self) -> String {
        let size = Size(self.need.gpu());
        format!("{}: {}, {size} on each GPU", self.change, self.template)
    }
}

pub(super) fn sentences(remedies: &[Remedy]) -> String {
    let sentences: Vec<String> = remedies.iter().map(Remedy::sentence).collect();
    sentences.join("; or ")
}

/// `others`: the templates to fall back to, if the scenario is about one config.
pub(super) fn remedies(scenario: &Scenario, others: &Scenario) -> Vec<Remedy> {
    // A setting that is already in use changes nothing, so it does not help either.
    let with = |change: &str, apply: fn(&mut TrainingSettings)| {
        with_settings(scenario, change.to_string(), apply)
    };
    let mut found = vec![
        other_allocator(scenario),
        smaller_evaluation(scenario),
        with_most(scenario.settings.micro_batch - 1, |most| {
            with_settings(scenario, format!("a micro batch of {most}"), |settings| {
                settings.micro_batch = most;
            })
        }),
        with("gradient checkpointing", |settings| {
            settings.checkpointing = true;
        }),
        with("a fused loss (Liger)", |settings| {
            settings.fused_loss = true;
        }),
        shorter_sequences(scenario),
    ];
    if others.first_fit().is_none() {
        found.extend([offload(others), disk(others)]);
    }
    found.extend([
        with("LoRA", |settings| settings.tuner = Tuner::Lora),
        with("QLoRA in 4 bits", |settings| {
            settings.tuner = Tuner::Quantised(4);
        }),
        more_gpus(scenario),
    ]);
    found.into_iter().flatten().collect()
}

fn with_settings(
    scenario: &Scenario,
    change: String,
    apply: impl Fn(&mut TrainingSettings),
) -> Option<Remedy> {
    let mut settings = scenario.settings.clone();
    apply(&mut settings);
    let changed = Scenario {
        settings: &settings,
        ..*scenario
    };
    Some(Remedy::new(change, changed.first_fit()?))
}

/// Expandable segments, if a variable keeps torch from using them.
fn other_allocator(scenario: &Scenario) -> Option<Remedy> {
    let expandable = Scenario {
        segments: Some(Segments::Expandable),
        ..*scenario
    };
    let row = expandable.first_fit()?;
    let change = format!("{}={EXPANDABLE}", vars::PYTORCH_CUDA_ALLOC_CONF);
    (row.candidate.allocator.segments == Segments::Fixed).then(|| Remedy::new(change, row))
}

/// With the largest number up to `limit` that helps.
fn with_most(limit: u64, with: impl Fn(u64) -> Option<Remedy>) -> Option<Remedy> {
    let helps = |number| with(number).is_some();
    match largest(limit.min(LARGEST_MICRO_BATCH), helps) {
        0 => None,
        most => with(most),
    }
}

fn smaller_evaluation(scenario: &Scenario) -> Option<Remedy> {
    let given = scenario.settings.evaluation?;
    with_most(given.batch - 1, |batch| {
        let change = format!("an evaluation batch of {batch} ({}{batch})", given.spelling);
        with_settings(scenario, change, |settings| {
            settings.evaluation = Some(Evaluation { batch, ..given });
        })
    })
}

fn shorter_sequences(scenario: &Scenario) -> Option<Remedy> {
    let with = |tokens: u64| {
        let change = format!("sequences of {tokens} tokens");
        with_settings(scenario, change, |settings| settings.seq_len = tokens)
    };
    let limit = scenario.settings.seq_len.saturating_sub(1) / SEQ_LEN_STEP;
    let tokens = SEQ_LEN_STEP * largest(limit, |steps| with(SEQ_LEN_STEP * steps).is_some());
    if tokens < SHORTEST {
        return None;
    }
    with(tokens)
}

/// Offload, if nothing else helps: to the memory that is there, or that would have to be.
fn offload(scenario: &Scenario) -> Option<Remedy> {
    let with_memory = Scenario {
        memories: Memories {
            host: Some(u64::MAX),
            ..scenario.memories
        },
        ..*scenario
    };
    let row = with_memory.first_fit()?;
    let size = Size(row.need.host);
    let change = match scenario.memories.host {
        Some(memory) if row.need.host <= memory => "offload".to_string(),
        _ => format!("offload to machines with {size} of memory"),
    };
    (row.candidate.strategy.offloads()).then(|| Remedy::new(change, row))
}

fn disk(scenario: &Scenario) -> Option<Remedy> {
    let with_disk = Scenario {
        order: &["zero3_nvme"],
        memories: Memories {
            disk: Some(u64::MAX),
            ..scenario.memories
        },
        ..*scenario
    };
    let row = with_disk.first_fit()?;
    let change = format!("a local NVMe disk with {} free", Size(row.need.disk));
    Some(Remedy::new(change, row))
}

/// More GPUs in each machine, up to eight, then more machines.
fn more_gpus(scenario: &Scenario) -> Option<Remedy> {
    let Cluster { nodes, gpus } = scenario.cluster;
    let wider = (1..=3)
        .map(|power| gpus << power)
        .filter(|gpus| *gpus <= 8)
        .map(|gpus| Cluster { nodes, gpus });
    let more = (1..=10).map(|power| Cluster {
        nodes: nodes << power,
        gpus,
    });
    wider.chain(more).find_map(|cluster| {
        let larger = Scenario {
            cluster,
            ..*scenario
        };
        let gpus = plural(cluster.gpus, "GPU", "s");
        let change = match cluster.nodes {
            1 => gpus,
            nodes => format!("{nodes} machines with {gpus} each"),
        };
        Some(Remedy::new(change, larger.first_fit()?))
    })
}
