//! The accounting of textbooks: 2 bytes per weight, 2 per gradient, 8 for Adam, and nothing else.

use super::need::{Cluster, GpuUsage, MemoryNeed, StepPhase};
use super::strategy::{StateLocation, Strategy};

pub(crate) fn need(params: u64, strategy: &Strategy, cluster: Cluster) -> MemoryNeed {
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
