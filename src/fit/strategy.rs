//! What of a DeepSpeed config decides about memory.

use serde_json::Value;

use crate::base::json;
use crate::config::zero::{Device, Zero};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    Gpu,
    Host,
    Disk,
}

impl Location {
    fn of(device: Device) -> Self {
        match device {
            Device::Cpu => Location::Host,
            Device::Nvme => Location::Disk,
            Device::None | Device::Other => Location::Gpu,
        }
    }
}

/// What of a DeepSpeed config decides about memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Strategy {
    /// `None`: DeepSpeed is not used.
    pub(crate) stage: Option<u64>,
    pub(crate) optimizer: Location,
    pub(crate) params: Location,
    pub(super) bucket: u64,
    pub(super) buckets: u64,
    pub(super) sub_group: u64,
    /// Parameters that stage 3 may keep whole.
    pub(super) live: u64,
    pub(super) disk_buffers: u64,
}

impl Strategy {
    pub(crate) const NONE: Strategy = Strategy {
        stage: None,
        optimizer: Location::Gpu,
        params: Location::Gpu,
        bucket: 0,
        buckets: 0,
        sub_group: 0,
        live: 0,
        disk_buffers: 0,
    };

    /// Reads a config; what is "auto" becomes what the trainer would make of it.
    pub(crate) fn of(config: &Value, hidden: u64) -> Self {
        let number = |key: &str, default: u64| {
            let value = json::get(config, &format!("zero_optimization.{key}"));
            // More elements than any model has are as many as it has.
            value.and_then(Value::as_u64).unwrap_or(default).min(1 << 40)
        };
        let zero = Zero::of(config);
        let stage = zero.stage.unwrap_or(0);
        let overlap = json::get(config, "zero_optimization.overlap_comm").and_then(Value::as_bool);
        let auto = json::get(config, "zero_optimization.reduce_bucket_size").is_some_and(Value::is_string);
        Strategy {
            stage: Some(u64::from(stage)),
            optimizer: if stage == 0 { Location::Gpu } else { Location::of(zero.optimizer) },
            params: if stage == 3 { Location::of(zero.param) } else { Location::Gpu },
            bucket: if auto { hidden * hidden } else { number("reduce_bucket_size", 500_000_000) },
            buckets: if overlap.unwrap_or(stage == 3) && stage < 3 { 2 } else { 1 },
            sub_group: number("sub_group_size", 1_000_000_000),
            live: number("stage3_max_reuse_distance", 1_000_000_000)
                .max(number("stage3_max_live_parameters", 1_000_000_000)),
            disk_buffers: number("offload_optimizer.buffer_count", 4),
        }
    }

    pub(crate) fn offloads(&self) -> bool {
        self.optimizer != Location::Gpu || self.params != Location::Gpu
    }
}
