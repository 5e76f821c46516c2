//! What `generate` writes into the section of ZeRO below `stage`.

use crate::base::options::Words;

pub const STAGES: Words<u64> = || vec![("0", 0), ("1", 1), ("2", 2), ("3", 3)];

/// What every generated config has beside the batch and the section of ZeRO. A loss scale of 0 means a dynamic one.
pub const IN_BF16: &str = r#"{
    "gradient_clipping": 1.0, "steps_per_print": 50, "bf16": {"enabled": true}, "fp16": {"enabled": false}
}"#;
pub const IN_FP16: &str = r#"{
    "gradient_clipping": 1.0, "steps_per_print": 50, "bf16": {"enabled": false},
    "fp16": {
        "enabled": true, "loss_scale": 0, "initial_scale_power": 12, "loss_scale_window": 1000, "hysteresis": 2,
        "min_loss_scale": 1
    }
}"#;

pub struct ZeroKey {
    pub key: &'static str,
    pub stages: &'static [u64],
    pub value: Setting,
}

#[derive(Clone, Copy)]
pub enum Setting {
    True,
    /// DeepSpeed's default, and what needs a tenth of the GPU memory and is slower.
    Size {
        usual: u64,
        small: u64,
    },
    /// To the CPU with pinned memory; only if offloading is asked for.
    Offload,
}

use Setting::{Offload, Size, True};

pub const ZERO_KEYS: &[ZeroKey] = &[
    ZeroKey {
        key: "offload_optimizer",
        stages: &[1, 2, 3],
        value: Offload,
    },
    ZeroKey {
        key: "offload_param",
        stages: &[3],
        value: Offload,
    },
    ZeroKey {
        key: "overlap_comm",
        stages: &[1, 2, 3],
        value: True,
    },
    ZeroKey {
        key: "contiguous_gradients",
        stages: &[1, 2, 3],
        value: True,
    },
    ZeroKey {
        key: "reduce_bucket_size",
        stages: &[1, 2, 3],
        value: Size {
            usual: 500_000_000,
            small: 50_000_000,
        },
    },
    ZeroKey {
        key: "sub_group_size",
        stages: &[3],
        value: Size {
            usual: 1_000_000_000,
            small: 300_000_000,
        },
    },
    ZeroKey {
        key: "stage3_prefetch_bucket_size",
        stages: &[3],
        value: Size {
            usual: 50_000_000,
            small: 10_000_000,
        },
    },
    ZeroKey {
        key: "stage3_param_persistence_threshold",
        stages: &[3],
        value: Size {
            usual: 100_000,
            small: 10_000,
        },
    },
    ZeroKey {
        key: "stage3_max_live_parameters",
        stages: &[3],
        value: Size {
            usual: 1_000_000_000,
            small: 300_000_000,
        },
    },
    ZeroKey {
        key: "stage3_max_reuse_distance",
        stages: &[3],
        value: Size {
            usual: 1_000_000_000,
            small: 300_000_000,
        },
    },
    ZeroKey {
        key: "stage3_gather_16bit_weights_on_model_save",
        stages: &[3],
        value: True,
    },
    ZeroKey {
        key: "reduce_scatter",
        stages: &[1, 2],
        value: True,
    },
    ZeroKey {
        key: "allgather_bucket_size",
        stages: &[1, 2],
        value: Size {
            usual: 500_000_000,
            small: 50_000_000,
        },
    },
];
