//! The memory that a training needs, as `memory` sums it up, or textbooks do.

use serde::Serialize;

use super::strategy::{MemoryKind, Strategy};
use super::tables::parts::{COLUMNS, Part};

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

/// The memories that there are, in bytes of each GPU and of each machine, where they are known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memories {
    pub(crate) gpu: Option<u64>,
    pub(crate) host: Option<u64>,
    pub(crate) disk: Option<u64>,
}

impl Memories {
    pub(crate) fn of(self, kind: MemoryKind) -> Option<u64> {
        match kind {
            MemoryKind::Gpu => self.gpu,
            MemoryKind::Host => self.host,
            MemoryKind::Disk => self.disk,
        }
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
    pub(crate) fn of(&self, part: Part) -> u64 {
        match part {
            Part::Parameters => self.parameters,
            Part::Gradients => self.gradients,
            Part::Optimizer => self.optimizer,
            Part::Activations => self.activations,
            Part::Buffers => self.buffers,
            Part::Logits => self.logits,
            Part::Overhead => self.overhead,
        }
    }

    pub(crate) fn total(&self) -> u64 {
        COLUMNS.iter().map(|column| self.of(column.part)).sum()
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
        let split_from = |first_stage: u64, bytes: u64| {
            let is_split = strategy.stage.is_some_and(|stage| stage >= first_stage);
            let ranks = if is_split { cluster.world_size() } else { 1 };
            (bytes * params).div_ceil(ranks.max(1))
        };
        let only_in = |kind: MemoryKind, place: MemoryKind, bytes: u64| {
            if kind == place { bytes } else { 0 }
        };
        let kept_in = |kind: MemoryKind| GpuUsage {
            parameters: only_in(kind, strategy.params, split_from(3, 2)),
            optimizer: only_in(kind, strategy.optimizer, split_from(1, 8)),
            ..GpuUsage::default()
        };
        let usage = GpuUsage {
            gradients: split_from(2, 2),
            ..kept_in(MemoryKind::Gpu)
        };
        MemoryNeed {
            usage,
            peak: Phase::Whole,
            step: usage.total(),
            fragments: false,
            start: 0,
            host: cluster.gpus * kept_in(MemoryKind::Host).total(),
            disk: cluster.gpus * kept_in(MemoryKind::Disk).total(),
        }
    }

    pub(crate) fn of(&self, kind: MemoryKind) -> u64 {
        match kind {
            MemoryKind::Gpu => self.gpu(),
            MemoryKind::Host => self.host,
            MemoryKind::Disk => self.disk,
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
