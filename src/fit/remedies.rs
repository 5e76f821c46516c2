//! Changes that would make a training fit, from the cheapest to the dearest. Each is tried with the same sums.

use super::choice::{LARGEST_MICRO_BATCH, Scenario, largest};
use super::need::{Cluster, MemoryNeed};
use super::settings::{Evaluation, TrainingSettings, Tuner};
use crate::base::layout::plural;
use crate::base::size::Size;
use crate::base::vars;
use crate::command::allocator::{EXPANDABLE, Segments};

const SEQ_LEN_STEP: u64 = 64;
/// Shorter sequences are not worth training on.
const SHORTEST: u64 = 256;

#[derive(Clone, Debug)]
pub(crate) struct Remedy {
    pub(crate) change: String,
    pub(crate) template: String,
    pub(crate) need: MemoryNeed,
}

impl Remedy {
    /// `LoRA: zero3, 41.0 GiB on each GPU`.
    pub(crate) fn sentence(&self) -> String {
        format!(
            "{}: {}, {} on each GPU",
            self.change,
            self.template,
            Size(self.need.gpu())
        )
    }
}

pub(super) fn sentences(remedies: &[Remedy]) -> String {
    remedies
        .iter()
        .map(Remedy::sentence)
        .collect::<Vec<_>>()
        .join("; or ")
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

fn fit(scenario: &Scenario, change: String) -> Option<Remedy> {
    let (candidate, need) = scenario.first_fit()?;
    Some(Remedy {
        change,
        template: candidate.name.clone(),
        need,
    })
}

fn with_settings(
    scenario: &Scenario,
    change: String,
    apply: impl Fn(&mut TrainingSettings),
) -> Option<Remedy> {
    let mut settings = scenario.settings.clone();
    apply(&mut settings);
    fit(
        &Scenario {
            settings: &settings,
            ..*scenario
        },
        change,
    )
}

/// Expandable segments, if a variable keeps torch from using them.
fn other_allocator(scenario: &Scenario) -> Option<Remedy> {
    let expandable = Scenario {
        segments: Some(Segments::Expandable),
        ..*scenario
    };
    let (candidate, _) = expandable.first_fit()?;
    if candidate.allocator.segments == Segments::Expandable {
        return None;
    }
    fit(
        &expandable,
        format!("{}={EXPANDABLE}", vars::PYTORCH_CUDA_ALLOC_CONF),
    )
}

/// With the largest number up to `limit` that helps.
fn with_most(limit: u64, with: impl Fn(u64) -> Option<Remedy>) -> Option<Remedy> {
    let most = largest(limit.min(LARGEST_MICRO_BATCH), |number| {
        with(number).is_some()
    });
    if most > 0 { with(most) } else { None }
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
    let with = |tokens| {
        with_settings(
            scenario,
            format!("sequences of {tokens} tokens"),
            |settings| settings.seq_len = tokens,
        )
    };
    let limit = scenario.settings.seq_len.saturating_sub(1) / SEQ_LEN_STEP;
    let tokens = SEQ_LEN_STEP * largest(limit, |steps| with(SEQ_LEN_STEP * steps).is_some());
    if tokens >= SHORTEST {
        with(tokens)
    } else {
        None
    }
}

/// Offload, if nothing else helps: to the memory that is there, or that would have to be.
fn offload(scenario: &Scenario) -> Option<Remedy> {
    let with_memory = Scenario {
        host_memory: Some(u64::MAX),
        ..*scenario
    };
    let (candidate, need) = with_memory.first_fit()?;
    let is_there = scenario
        .host_memory
        .is_some_and(|memory| need.host <= memory);
    let change = if is_there {
        "offload".to_string()
    } else {
        format!("offload to machines with {} of memory", Size(need.host))
    };
    candidate.strategy.offloads().then(|| Remedy {
        change,
        template: candidate.name.clone(),
        need,
    })
}

fn disk(scenario: &Scenario) -> Option<Remedy> {
    let with_disk = Scenario {
        order: &["zero3_nvme"],
        disk: Some(u64::MAX),
        ..*scenario
    };
    let (_, need) = with_disk.first_fit()?;
    fit(
        &with_disk,
        format!("a local NVMe disk with {} free", Size(need.disk)),
    )
}

/// More GPUs in each machine, up to eight, then more machines.
fn more_gpus(scenario: &Scenario) -> Option<Remedy> {
    let Cluster { nodes, gpus } = scenario.cluster;
    let wider = (1..=3)
        .map(|power| Cluster {
            nodes,
            gpus: gpus << power,
        })
        .filter(|cluster| cluster.gpus <= 8);
    let more = (1..=10).map(|power| Cluster {
        nodes: nodes << power,
        gpus,
    });
    wider.chain(more).find_map(|cluster| {
        let gpus = plural(cluster.gpus, "GPU", "s");
        let change = if cluster.nodes > 1 {
            format!("{} machines with {gpus} each", cluster.nodes)
        } else {
            gpus
        };
        fit(
            &Scenario {
                cluster,
                ..*scenario
            },
            change,
        )
    })
}
