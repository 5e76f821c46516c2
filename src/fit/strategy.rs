//! The part of a DeepSpeed config that decides how much memory is needed.

use serde::Serialize;
use serde_json::Value;

use super::optimizer::Optimizer;
use crate::base::json;
use crate::config::zero::{Device, Zero};

/// The memories that states can be kept in, and that can be short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MemoryKind {
    #[default]
    Gpu,
    Host,
    Disk,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strategy {
    /// `None`, which is the default: DeepSpeed is not used.
    pub(crate) stage: Option<u64>,
    pub(crate) optimizer: MemoryKind,
    pub(crate) params: MemoryKind,
    /// Elements of a bucket for reducing gradients.
    pub(super) bucket_size: u64,
    pub(super) buckets: u64,
    pub(super) sub_group_size: u64,
    /// Parameters that stage 3 may keep gathered.
    pub(super) live_params: u64,
    /// Ranks over which ZeRO++ splits its second copy of the parameters; 0 and 1 mean that there is none.
    pub(super) second_partition: u64,
    pub(super) disk_buffers: u64,
    /// The first rank gathers all weights to save them.
    pub(super) saves_whole: bool,
    /// Of the config's own `optimizer` section, which wins over the trainer's.
    pub(super) own_optimizer: Option<Optimizer>,
}

impl Strategy {
    /// `hidden`: the model's hidden size, from which the trainer fills an "auto" bucket size.
    pub fn of(config: &Value, hidden: u64) -> Self {
        let setting = |key: &str| json::get(config, &format!("zero_optimization.{key}"));
        // No model has more elements than this.
        let number = |key, default| {
            let given = setting(key).and_then(Value::as_u64);
            given.unwrap_or(default).min(1 << 40)
        };
        let is = |key, on: bool| setting(key).and_then(Value::as_bool) == Some(on);
        let memory = |device: Device| match device {
            Device::Cpu => MemoryKind::Host,
            Device::Nvme => MemoryKind::Disk,
            Device::None | Device::Other => MemoryKind::Gpu,
        };
        let zero = Zero::of(config);
        let stage = zero.stage.unwrap_or(0);
        let is_auto = setting("reduce_bucket_size").is_some_and(Value::is_string);
        Strategy {
            stage: Some(u64::from(stage)),
            optimizer: match stage {
                0 => MemoryKind::Gpu,
                _ => memory(zero.optimizer),
            },
            params: match stage {
                3 => memory(zero.param),
                _ => MemoryKind::Gpu,
            },
            bucket_size: if is_auto {
                hidden * hidden
            } else {
                number("reduce_bucket_size", 500_000_000)
            },
            buckets: match stage {
                _ if is("contiguous_gradients", false) => 0,
                0..=2 if is("overlap_comm", true) => 2,
                _ => 1,
            },
            sub_group_size: number("sub_group_size", 1_000_000_000),
            live_params: number("stage3_max_reuse_distance", 1_000_000_000)
                .max(number("stage3_max_live_parameters", 1_000_000_000)),
            second_partition: number("zero_hpz_partition_size", 1),
            disk_buffers: number("offload_optimizer.buffer_count", 4),
            saves_whole: stage == 3 && is("stage3_gather_16bit_weights_on_model_save", true),
            own_optimizer: own_optimizer(config),
        }
    }

    pub(crate) fn offloads(&self) -> bool {
        self.optimizer != MemoryKind::Gpu || self.params != MemoryKind::Gpu
    }
}

fn own_optimizer(config: &Value) -> Option<Optimizer> {
    let name = json::get(config, "optimizer.type")?.as_str()?;
    let is_of_torch = json::get(config, "optimizer.params.torch_adam") == Some(&Value::Bool(true));
    Some(if is_of_torch && name.to_lowercase().starts_with("adam") {
        Optimizer::named("adamw_torch")
    } else {
        Optimizer::of_deepspeed(name)
    })
}
