//! The memory that a training needs, as `memory` sums it up, or textbooks do.

use serde::Serialize;

use super::strategy::{StateLocation, Strategy};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Accounting {
    /// What DeepSpeed and transformers really allocate.
    Real,
    /// 2 + 2 + 8 bytes per parameter.
    Textbook,
}

/// The machines, with one rank per GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cluster {
    pub nodes: u64,
    /// GPUs of each node.
    pub gpus: u64,
}

impl Cluster {
    pub(crate) fn world_size(self) -> u64 {
        self.nodes * self.gpus
    }
}

/// Bytes on one GPU, by what they are used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct GpuUsage {
    pub(crate) parameters: u64,
    pub(crate) gradients: u64,
    pub(crate) optimizer: u64,
    pub(crate) activations: u64,
    pub(crate) buffers: u64,
    pub(crate) logits: u64,
    pub(crate) overhead: u64,
}

impl GpuUsage {
    /// With a short title for each.
    pub(crate) fn columns(&self) -> [(&'static str, u64); 7] {
        let GpuUsage { parameters, gradients, optimizer, activations, buffers, logits, overhead } = *self;
        [
            ("params", parameters),
            ("grads", gradients),
            ("optim", optimizer),
            ("activ", activations),
            ("buffers", buffers),
            ("logits", logits),
            ("other", overhead),
        ]
    }

    pub(crate) fn total(&self) -> u64 {
        self.columns().iter().map(|(_, bytes)| bytes).sum()
    }
}

/// The phases of a training step in which memory use can peak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepPhase {
    /// The backward pass starts with the gradient of the logits, while all activations are still there.
    Loss,
    /// The backward pass is in the last layer.
    Backward,
    /// All gradients are there.
    EndOfBackward,
    /// The optimizer updates the parameters.
    OptimizerStep,
    /// The textbook accounting knows no phases.
    Whole,
}

impl StepPhase {
    pub fn name(self) -> &'static str {
        match self {
            StepPhase::Loss => "loss",
            StepPhase::Backward => "backward",
            StepPhase::EndOfBackward => "end of backward",
            StepPhase::OptimizerStep => "step",
            StepPhase::Whole => "always",
        }
    }
}

/// Memory that torch allocates in every measured run beyond what is accounted for: about two cuBLAS workspaces.
pub(super) const WORKSPACE: u64 = 67_000_000;

/// What a training needs under one template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryNeed {
    /// On each GPU, in the phase that needs most.
    pub(crate) usage: GpuUsage,
    pub peak: StepPhase,
    /// More is lost to gaps between allocations than usual.
    pub(crate) fragments: bool,
    /// Bytes on each GPU while DeepSpeed starts.
    pub(crate) start: u64,
    /// Bytes of memory on each node.
    pub host: u64,
    /// Bytes of disk on each node.
    pub(crate) disk: u64,
}

impl MemoryNeed {
    /// The accounting of textbooks: 2 bytes per weight, 2 per gradient, 8 for Adam, and nothing else.
    pub(crate) fn of_textbook(params: u64, strategy: &Strategy, cluster: Cluster) -> Self {
        let world_size = cluster.world_size().max(1);
        let stage = strategy.stage.unwrap_or(0);
        let split_from = |first_stage: u64, bytes: u64| {
            if stage >= first_stage { (bytes * params).div_ceil(world_size) } else { bytes * params }
        };
        let (parameters, gradients, optimizer) = (split_from(3, 2), split_from(2, 2), split_from(1, 8));
        let on = |location: StateLocation| {
            let bytes = |placed: StateLocation, bytes: u64| if placed == location { bytes } else { 0 };
            (bytes(strategy.params, parameters), bytes(strategy.optimizer, optimizer))
        };
        let on_node = |location: StateLocation| {
            let (parameters, optimizer) = on(location);
            cluster.gpus * (parameters + optimizer)
        };
        let (parameters, optimizer) = on(StateLocation::Gpu);
        MemoryNeed {
            usage: GpuUsage { parameters, gradients, optimizer, ..GpuUsage::default() },
            peak: StepPhase::Whole,
            fragments: false,
            start: 0,
            host: on_node(StateLocation::Host),
            disk: on_node(StateLocation::Disk),
        }
    }

    /// Bytes on each GPU.
    pub(crate) fn gpu(&self) -> u64 {
        self.usage.total()
    }

    /// What torch's `max_memory_allocated` would show.
    pub fn allocated(&self) -> u64 {
        self.gpu() - self.usage.overhead + WORKSPACE
    }
}
