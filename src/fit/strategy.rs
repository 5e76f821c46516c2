//! The configs that are compared (no DeepSpeed, the templates, and the one that the user named), and the part of each that
//! decides how much memory is needed.

use serde_json::Value;

pub use super::tables::optimizers::Optimizer;
use super::tables::{
    memories::{DISK, GPU, HOST, MemoryKind},
    optimizers::{MOST_OF_ANY, NOT_MEASURED, OPTIMIZERS, OptimizerRow},
};
use crate::{
    base::json,
    config::zero::{Device, Zero},
};

#[derive(Clone)]
pub struct Strategy {
    /// `None`: DeepSpeed is not used.
    pub stage: Option<u64>,
    pub optimizer: MemoryKind,
    pub params: MemoryKind,
    /// Elements of a bucket for reducing gradients.
    pub bucket_size: u64,
    pub buckets: u64,
    pub sub_group_size: u64,
    /// Parameters that stage 3 may keep gathered.
    pub live_params: u64,
    /// Ranks over which ZeRO++ splits its second copy of the parameters; 0 and 1 mean that there is none.
    pub second_partition: u64,
    pub disk_buffers: u64,
    /// The first rank gathers all weights to save them.
    pub saves_whole: bool,
    /// Of the config's own `optimizer` section, which wins over the trainer's.
    pub own_optimizer: Option<Optimizer>,
}

impl Strategy {
    /// `hidden`: the model's hidden size, from which the trainer fills an "auto" bucket size.
    pub fn of(config: &Value, hidden: u64) -> Self {
        let setting = |key: &str| json::get(config, &format!("zero_optimization.{key}"));
        // No model has more elements than this.
        let number = |key, default| {
            setting(key)
                .and_then(Value::as_u64)
                .unwrap_or(default)
                .min(1 << 40)
        };
        let is = |key, on: bool| setting(key).and_then(Value::as_bool) == Some(on);
        let memory = |device: Device| match device {
            Device::Cpu => HOST,
            Device::Nvme => DISK,
            Device::None | Device::Other => GPU,
        };
        let zero = Zero::of(config);
        let stage = zero.stage.unwrap_or(0);
        let own_optimizer = json::get(config, "optimizer.type").and_then(Value::as_str);
        let is_auto = setting("reduce_bucket_size").is_some_and(Value::is_string);
        Strategy {
            stage: Some(u64::from(stage)),
            optimizer: match stage {
                0 => GPU,
                _ => memory(zero.optimizer),
            },
            params: match stage {
                3 => memory(zero.param),
                _ => GPU,
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
            own_optimizer: own_optimizer.map(Optimizer::of_deepspeed),
        }
    }

    pub fn offloads(&self) -> bool {
        self.optimizer != GPU || self.params != GPU
    }
}

impl Optimizer {
    pub fn is_measured(self) -> bool {
        self.name != NOT_MEASURED
    }

    /// By the name that a trainer gives it.
    pub fn named(name: &str) -> Self {
        Self::find(&name.replace('-', "_"), |row| row.names)
    }

    /// By the `type` of DeepSpeed's `optimizer` section.
    pub fn of_deepspeed(name: &str) -> Self {
        Self::find(name, |row| row.of_deepspeed)
    }

    fn find(name: &str, names: fn(&OptimizerRow) -> &'static [&'static str]) -> Self {
        let name = name.to_lowercase();
        OPTIMIZERS
            .iter()
            .find_map(|row| {
                let name = names(row).iter().find(|known| **known == name)?;
                let memory = row.memory;
                Some(Optimizer { name, memory })
            })
            .unwrap_or(MOST_OF_ANY)
    }
}
