//! What would help if no template fits. Each change is tried with the same sums.

use super::choice::{Scenario, largest};
use super::need::Cluster;
use super::settings::{TrainingSettings, Tuner};
use crate::base::size::Size;

/// Sequences are shortened in steps of this many tokens.
const SEQ_LEN_STEP: u64 = 64;

type Change = fn(&mut TrainingSettings);

/// Changes that save memory. Applying one that is already in use changes nothing, so it will not help either.
const CHANGES: &[(&str, Change)] = &[
    ("a micro batch of 1", |settings| settings.micro_batch.value = 1),
    ("gradient checkpointing", |settings| settings.checkpointing.value = true),
    ("a fused loss (Liger)", |settings| settings.fused_loss.value = true),
    ("LoRA", |settings| settings.tuner.value = Tuner::Lora),
    ("QLoRA in 4 bits", |settings| settings.tuner.value = Tuner::Quantised(4)),
];

/// One sentence for each change that makes a template fit, with that template.
pub(super) fn remedies(scenario: &Scenario) -> Vec<String> {
    let changes = CHANGES.iter().filter_map(|(name, apply)| {
        let mut settings = scenario.settings.clone();
        apply(&mut settings);
        let changed = Scenario { settings: &settings, ..*scenario };
        changed.first_fit().map(|template| format!("{name}: {template}"))
    });
    let mut found: Vec<String> = changes.collect();
    found.extend(shorter_sequences(scenario));
    found.extend(more_gpus(scenario));
    found.extend(disk(scenario));
    if found.is_empty() {
        found.push(
            "machines with more memory: LoRA, shorter sequences or more of these GPUs would not be enough".to_string(),
        );
    }
    found
}

fn shorter_sequences(scenario: &Scenario) -> Option<String> {
    let fit_with = |steps: u64| {
        let mut settings = scenario.settings.clone();
        settings.seq_len.value = SEQ_LEN_STEP * steps;
        let changed = Scenario { settings: &settings, ..*scenario };
        changed.first_fit().map(str::to_string)
    };
    let steps = largest(scenario.settings.seq_len.value / SEQ_LEN_STEP, |steps| fit_with(steps).is_some());
    let template = fit_with(steps).filter(|_| steps > 0)?;
    Some(format!("sequences of {} tokens: {template}", SEQ_LEN_STEP * steps))
}

/// More GPUs in each node, up to eight, then more nodes.
fn more_gpus(scenario: &Scenario) -> Option<String> {
    let Cluster { nodes, gpus } = scenario.cluster;
    let wider = (1..=3).map(|power| Cluster { nodes, gpus: gpus << power }).filter(|cluster| cluster.gpus <= 8);
    let more = (1..=10).map(|power| Cluster { nodes: nodes << power, gpus });
    wider.chain(more).find_map(|cluster| {
        let changed = Scenario { cluster, ..*scenario };
        let template = changed.first_fit()?;
        let Cluster { nodes, gpus } = cluster;
        let machines =
            if nodes > 1 { format!("{nodes} machines with {gpus} GPUs each") } else { format!("{gpus} GPUs") };
        Some(format!("{machines}: {template}"))
    })
}

fn disk(scenario: &Scenario) -> Option<String> {
    let workload = scenario.workload();
    let (name, strategy) = scenario.templates.iter().find(|(name, _)| name == "zero3_nvme")?;
    let need = scenario.need(&workload, strategy);
    let fits = scenario.fits(&workload, strategy);
    fits.then(|| format!("a local NVMe disk with {} free: {name}", Size(need.disk)))
}
