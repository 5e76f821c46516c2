//! The memory that a training needs, as `memory` sums it up, or textbooks do.

use serde::Serialize;

use super::{
    strategy::Strategy,
    tables::{
        memories::GPU,
        phases::{Phase, WHOLE},
        sizes::WORKSPACE,
    },
};

/// A number that counts only under a condition.
pub fn only_if(is_counted: bool, number: u64) -> u64 {
    if is_counted { number } else { 0 }
}

/// The machines, each with so many GPUs, and one rank per GPU.
#[derive(Clone, Copy)]
pub struct Cluster {
    pub nodes: u64,
    pub gpus: u64,
}

impl Cluster {
    pub fn world_size(self) -> u64 {
        (self.nodes * self.gpus).max(1)
    }
}

#[derive(Clone, Copy, Default, Serialize)]
pub struct GpuUsage {
    pub parameters: u64,
    pub gradients: u64,
    pub optimizer: u64,
    pub activations: u64,
    pub buffers: u64,
    pub logits: u64,
    pub overhead: u64,
}

impl GpuUsage {
    pub fn parts(&self) -> [u64; 7] {
        [
            self.parameters,
            self.gradients,
            self.optimizer,
            self.activations,
            self.buffers,
            self.logits,
            self.overhead,
        ]
    }

    pub fn total(&self) -> u64 {
        self.parts().iter().sum()
    }
}

/// The memory that a training needs under one template, in bytes of each GPU and each machine.
#[derive(Clone, Copy)]
pub struct MemoryNeed {
    /// In the phase that needs most.
    pub usage: GpuUsage,
    pub peak: Phase,
    /// Bytes of each GPU in the phase of a step that needs most.
    pub step: u64,
    /// More is lost to gaps between allocations than usual.
    pub fragments: bool,
    /// While DeepSpeed starts.
    pub start: u64,
    pub host: u64,
    pub disk: u64,
}

impl MemoryNeed {
    pub fn of_textbook(params: u64, strategy: &Strategy, cluster: Cluster) -> Self {
        let split_from = |first_stage: u64, bytes: u64| {
            let is_split = strategy.stage >= Some(first_stage);
            let ranks = if is_split { cluster.world_size() } else { 1 };
            (bytes * params).div_ceil(ranks)
        };
        let usage = GpuUsage {
            parameters: only_if(strategy.params == GPU, split_from(3, 2)),
            gradients: split_from(2, 2),
            optimizer: only_if(strategy.optimizer == GPU, split_from(1, 8)),
            ..GpuUsage::default()
        };
        MemoryNeed {
            usage,
            peak: WHOLE,
            step: usage.total(),
            fragments: false,
            start: 0,
            host: 0,
            disk: 0,
        }
    }

    pub fn gpu(&self) -> u64 {
        self.usage.total()
    }

    /// Bytes that torch's `max_memory_allocated` would show.
    pub fn allocated(&self) -> u64 {
        self.gpu() - self.usage.overhead.saturating_sub(WORKSPACE)
    }
}
