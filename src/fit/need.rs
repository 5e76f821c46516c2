//! The memory that a training needs, as `memory` sums it up, or textbooks do.

use serde::Serialize;

use super::strategy::{MemoryKind, Strategy};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Accounting {
    /// All that DeepSpeed and transformers allocate.
    Real,
    /// 2 bytes per weight, 2 per gradient, 8 for Adam, and nothing else.
    Textbook,
}

/// The machines, each with so many GPUs, and one rank per GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cluster {
    pub nodes: u64,
    pub gpus: u64,
}

impl Cluster {
    pub(crate) fn world_size(self) -> u64 {
        self.nodes * self.gpus
    }
}

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
    /// The titles of the columns in the report, with their bytes.
    pub(crate) fn columns(&self) -> [(&'static str, u64); 7] {
        [
            ("params", self.parameters),
            ("grads", self.gradients),
            ("optim", self.optimizer),
            ("activ", self.activations),
            ("buffers", self.buffers),
            ("logits", self.logits),
            ("other", self.overhead),
        ]
    }

    pub(crate) fn total(&self) -> u64 {
        self.columns().iter().map(|(_, bytes)| bytes).sum()
    }
}

/// The phases of a training in which memory use can peak: those of a step, then those between two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The backward pass starts with the gradient of the logits, while all activations are still there.
    Loss,
    /// The backward pass is in the last layer.
    Backward,
    EndOfBackward,
    OptimizerStep,
    /// The loss of a batch of the evaluation set, while the optimizer's states are still there.
    Evaluation,
    /// Answers are generated for such a batch.
    Generation,
    /// Stage 3 gathers the weights, tensor by tensor.
    Saving,
    /// The textbook accounting knows no phases.
    Whole,
}

impl Phase {
    pub fn is_between_steps(self) -> bool {
        matches!(self, Phase::Evaluation | Phase::Generation | Phase::Saving)
    }

    pub fn name(self) -> &'static str {
        match self {
            Phase::Loss => "loss",
            Phase::Backward => "backward",
            Phase::EndOfBackward => "end of backward",
            Phase::OptimizerStep => "step",
            Phase::Evaluation => "evaluation",
            Phase::Generation => "generation",
            Phase::Saving => "saving",
            Phase::Whole => "always",
        }
    }
}

/// Bytes that torch allocates in every measured run beyond what is accounted for: about two cuBLAS workspaces.
pub(super) const WORKSPACE: u64 = 67_000_000;

/// The memory that a training needs under one template, in bytes of each GPU and each machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryNeed {
    /// In the phase that needs most.
    pub(crate) usage: GpuUsage,
    pub peak: Phase,
    /// Bytes of each GPU in the phase of a step that needs most.
    pub step: u64,
    /// More is lost to gaps between allocations than usual.
    pub(crate) fragments: bool,
    /// While DeepSpeed starts.
    pub(crate) start: u64,
    pub host: u64,
    pub(crate) disk: u64,
}

impl MemoryNeed {
    pub(crate) fn of_textbook(params: u64, strategy: &Strategy, cluster: Cluster) -> Self {
        let stage = strategy.stage.unwrap_or(0);
        let split_from = |first_stage: u64, bytes: u64| {
            let ranks = if stage >= first_stage {
                cluster.world_size().max(1)
            } else {
                1
            };
            (bytes * params).div_ceil(ranks)
        };
        let (parameters, gradients, optimizer) =
            (split_from(3, 2), split_from(2, 2), split_from(1, 8));
        let parameters_in = |kind: MemoryKind| {
            if strategy.params == kind {
                parameters
            } else {
                0
            }
        };
        let optimizer_in = |kind: MemoryKind| {
            if strategy.optimizer == kind {
                optimizer
            } else {
                0
            }
        };
        let of_machine =
            |kind: MemoryKind| cluster.gpus * (parameters_in(kind) + optimizer_in(kind));
        let (on_gpu, optimizer) = (
            parameters_in(MemoryKind::Gpu),
            optimizer_in(MemoryKind::Gpu),
        );
        let usage = GpuUsage {
            parameters: on_gpu,
            gradients,
            optimizer,
            ..GpuUsage::default()
        };
        let (host, disk) = (of_machine(MemoryKind::Host), of_machine(MemoryKind::Disk));
        MemoryNeed {
            usage,
            peak: Phase::Whole,
            step: usage.total(),
            fragments: false,
            start: 0,
            host,
            disk,
        }
    }

    pub fn gpu(&self) -> u64 {
        self.usage.total()
    }

    /// Bytes that torch's `max_memory_allocated` would show.
    pub fn allocated(&self) -> u64 {
        self.gpu() - self.usage.overhead + WORKSPACE
    }
}
