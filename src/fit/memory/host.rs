//! Memory of a machine and its disk: the processes, the model while it is loaded, and what is offloaded.

use super::{FP32, MemoryModel, scaled};
use crate::fit::architecture::Linear;
use crate::fit::strategy::MemoryKind;

/// Host memory of a Python process that has imported torch, transformers and DeepSpeed, as measured.
const PROCESS: u64 = 1_530_000_000;
/// Additional host memory of such a process with offload, fitted to the measured runs.
const OFFLOADING: u64 = 500_000_000;

impl MemoryModel<'_> {
    /// Memory of one machine: its processes, and the larger of what loading the model and what offloading and saving it take.
    pub(super) fn host(&self) -> u64 {
        let ranks = self.cluster.gpus;
        let weights = self.workload.weights;
        let loading = match self.strategy.stage {
            // Rank 0 reads the weights and broadcasts them.
            Some(3) => 2 * weights + self.element * self.shape.embedding,
            _ => ranks * (weights + self.workload.reference),
        };
        let offloaded = ranks * (self.offloaded_optimizer() + self.offloaded_params());
        let process = if self.strategy.offloads() {
            PROCESS + OFFLOADING
        } else {
            PROCESS
        };
        let saved = if self.strategy.saves_whole {
            weights
        } else {
            0
        };
        ranks * process + loading.max(offloaded + saved)
    }

    fn offloaded_optimizer(&self) -> u64 {
        let element = self.element;
        let trainable = self.workload.trainable;
        let own = self.share(trainable);
        // DeepSpeed's optimizer for the CPU is Adam whatever the trainer asks for, and the others were seen to take no less.
        let states = 2 * FP32 * own;
        match (self.strategy.stage, self.strategy.optimizer) {
            (_, MemoryKind::Gpu) => 0,
            (Some(3), MemoryKind::Disk) => {
                let group = own.min(self.strategy.sub_group_size);
                self.strategy.disk_buffers * pinned(FP32 * group) + pinned(element * group)
            }
            (Some(3), _) => {
                // The fp32 gradients are pinned group by group.
                let group = self.strategy.sub_group_size.clamp(1, own.max(1));
                let gradients = (own / group) * pinned(FP32 * group) + pinned(FP32 * (own % group));
                pinned(element * own) + gradients + FP32 * own + states
            }
            _ => {
                let accumulated = if self.workload.accumulates {
                    self.pieces(trainable, 1) / self.world_size
                } else {
                    0
                };
                let staged = pinned(element * self.largest());
                2 * pinned(FP32 * own) + pinned(element * own) + states + accumulated + staged
            }
        }
    }

    fn offloaded_params(&self) -> u64 {
        let params = self.workload.params;
        let reference = self.workload.reference;
        match self.strategy.params {
            MemoryKind::Gpu => 0,
            // The buffer, and the pinned pieces it was assembled from: pinned memory is never freed.
            MemoryKind::Host => {
                pinned(self.share(self.workload.weights + reference))
                    + self.pieces(params + reference / self.element, self.world_size)
            }
            MemoryKind::Disk => self.element * self.share(params).min(1_000_000_000) + (1 << 30),
        }
    }

    /// Bytes of this many parameters if each tensor is pinned separately, in `split` parts.
    fn pieces(&self, params: u64, split: u64) -> u64 {
        let piece = |size: u64| split * pinned((self.element * size).div_ceil(split));
        let layers = self.shape.layers;
        let of_layer = self.shape.linears.iter().map(Linear::weights);
        let plain = self.element * (layers * of_layer.clone().sum::<u64>() + self.shape.embedding);
        let rounded = layers * of_layer.map(piece).sum::<u64>() + piece(self.shape.embedding);
        scaled(self.element * params, rounded, plain) / split
    }

    pub(super) fn disk(&self) -> u64 {
        let states = 4 * FP32 * self.share(self.workload.trainable);
        let weights = self.share(self.workload.weights + self.workload.reference);
        let on_disk = |place, bytes| match place {
            MemoryKind::Disk => self.cluster.gpus * bytes,
            MemoryKind::Gpu | MemoryKind::Host => 0,
        };
        on_disk(self.strategy.optimizer, states) + on_disk(self.strategy.params, weights)
    }
}

/// torch rounds every pinned allocation up to a power of two.
fn pinned(bytes: u64) -> u64 {
    if bytes == 0 {
        0
    } else {
        bytes.checked_next_power_of_two().unwrap_or(bytes)
    }
}
