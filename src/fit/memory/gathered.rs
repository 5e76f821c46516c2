//! The parameters that stage 3 has gathered from all ranks, or from the host.

use super::MemoryModel;
use crate::fit::need::StepPhase;
use crate::fit::strategy::StateLocation;
use crate::fit::workload::Workload;

impl MemoryModel<'_> {
    /// A single rank gathers nothing, unless the parameters are offloaded.
    pub(super) fn gathers(&self) -> bool {
        self.strategy.stage == Some(3) && (self.world_size > 1 || self.strategy.params != StateLocation::Gpu)
    }

    /// Bytes of the gathered parameters: as many as stage 3 may keep, and the current module.
    pub(super) fn gathered_at(&self, phase: StepPhase) -> u64 {
        if phase == StepPhase::OptimizerStep || !self.gathers() {
            return 0;
        }
        let Workload { params, weights, shape, .. } = self.workload;
        let kept = match phase {
            // In the backward pass a layer is released once it was used.
            StepPhase::EndOfBackward => shape.embedding.saturating_add(self.largest_module()),
            StepPhase::Loss if self.runs_twice() => 0,
            _ if shape.tied => self.live(),
            StepPhase::Loss => self.live_at_head(),
            // A head of its own is released before the layers.
            _ if self.strategy.live_params < shape.embedding => self.live().min(params.saturating_sub(shape.embedding)),
            _ => self.live_at_head().saturating_sub(shape.embedding),
        };
        let bytes = u128::from(*weights) * u128::from(kept.min(*params)) / u128::from((*params).max(1));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Parameters that are live once a head of its own, the last module, was used. A vision tower has no part in it.
    fn live_at_head(&self) -> u64 {
        let shape = &self.workload.shape;
        let behind_embedding = shape.layers * shape.layer + shape.embedding;
        match self.strategy.live_params {
            live if live < shape.embedding => shape.embedding,
            // A module is kept if few enough parameters come behind it, whatever its own size.
            live if behind_embedding <= live => behind_embedding + shape.embedding,
            _ => self.live(),
        }
    }

    fn live(&self) -> u64 {
        let live = if self.runs_twice() { 0 } else { self.strategy.live_params };
        live.saturating_add(self.largest_module())
    }

    /// A model with adapters is also its own reference, and runs twice in a step. DeepSpeed then cannot tell which parameters come
    /// next, and keeps none.
    fn runs_twice(&self) -> bool {
        self.workload.algorithm.has_reference && self.workload.reference == 0
    }

    /// Parameters are gathered module by module; the experts of a layer are one.
    fn largest_module(&self) -> u64 {
        let shape = &self.workload.shape;
        let linear = shape.linears.iter().map(|(_, inputs, outputs)| inputs * outputs).max();
        linear.filter(|_| shape.routed == 0).unwrap_or(shape.layer)
    }
}
