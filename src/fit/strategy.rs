//! The part of a DeepSpeed config that decides how much memory is needed.

use serde_json::Value;

use super::optimizer::Optimizer;
use crate::base::json;
use crate::config::zero::{Device, Zero};

/// Where parameters or optimizer states are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateLocation {
    Gpu,
    Host,
    Disk,
}

impl StateLocation {
    fn of(device: Device) -> Self {
        match device {
            Device::Cpu => StateLocation::Host,
            Device::Nvme => StateLocation::Disk,
            Device::None | Device::Other => StateLocation::Gpu,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// `None`: DeepSpeed is not used.
    pub(crate) stage: Option<u64>,
    pub(crate) optimizer: StateLocation,
    pub(crate) params: StateLocation,
    /// Elements of a bucket for reducing gradients.
    pub(super) bucket_size: u64,
    pub(super) buckets: u64,
    pub(super) sub_group_size: u64,
    /// Parameters that stage 3 may keep gathered.
    pub(super) live_params: u64,
    /// Ranks over which ZeRO++ splits its second copy of the parameters, or 1.
    pub(super) second_partition: u64,
    pub(super) disk_buffers: u64,
    /// Of the config's own `optimizer` section, which wins over the trainer's.
    pub(super) own_optimizer: Option<Optimizer>,
}

impl Strategy {
    pub const NONE: Strategy = Strategy {
        stage: None,
        optimizer: StateLocation::Gpu,
        params: StateLocation::Gpu,
        bucket_size: 0,
        buckets: 0,
        sub_group_size: 0,
        live_params: 0,
        second_partition: 1,
        disk_buffers: 0,
        own_optimizer: None,
    };

    /// `hidden`: the model's hidden size, from which the trainer fills an "auto" bucket size.
    pub fn of(config: &Value, hidden: u64) -> Self {
        let number = |key: &str, default: u64| {
            let value = json::get(config, &format!("zero_optimization.{key}"));
            // No model has more elements than this.
            value.and_then(Value::as_u64).unwrap_or(default).min(1 << 40)
        };
        let zero = Zero::of(config);
        let stage = zero.stage.unwrap_or(0);
        let overlap = json::get(config, "zero_optimization.overlap_comm").and_then(Value::as_bool);
        let auto = json::get(config, "zero_optimization.reduce_bucket_size").is_some_and(Value::is_string);
        Strategy {
            stage: Some(u64::from(stage)),
            optimizer: if stage == 0 { StateLocation::Gpu } else { StateLocation::of(zero.optimizer) },
            params: if stage == 3 { StateLocation::of(zero.param) } else { StateLocation::Gpu },
            bucket_size: if auto { hidden * hidden } else { number("reduce_bucket_size", 500_000_000) },
            buckets: match json::get(config, "zero_optimization.contiguous_gradients").and_then(Value::as_bool) {
                Some(false) => 0,
                _ if overlap.unwrap_or(stage == 3) && stage < 3 => 2,
                _ => 1,
            },
            sub_group_size: number("sub_group_size", 1_000_000_000),
            live_params: number("stage3_max_reuse_distance", 1_000_000_000)
                .max(number("stage3_max_live_parameters", 1_000_000_000)),
            second_partition: number("zero_hpz_partition_size", 1),
            disk_buffers: number("offload_optimizer.buffer_count", 4),
            own_optimizer: own_optimizer(config),
        }
    }

    /// The same, where an optimizer of its own takes the least that one can.
    pub(super) fn with_least_optimizer(&self) -> Self {
        Strategy { own_optimizer: self.own_optimizer.map(|_| Optimizer::LEAST), ..self.clone() }
    }

    pub(crate) fn offloads(&self) -> bool {
        self.optimizer != StateLocation::Gpu || self.params != StateLocation::Gpu
    }
}

fn own_optimizer(config: &Value) -> Option<Optimizer> {
    let name = json::get(config, "optimizer.type")?.as_str()?;
    let is_adam = name.to_lowercase().starts_with("adam");
    let by_torch = json::get(config, "optimizer.params.torch_adam").and_then(Value::as_bool).unwrap_or(false);
    Some(if is_adam && by_torch { Optimizer::named("adamw_torch") } else { Optimizer::of_deepspeed(name) })
}
