//! The flags and settings of `accelerate launch` that zlaunch reads.

/// A setting of accelerate for DeepSpeed: a flag, or an entry of `deepspeed_config` in the run file.
pub struct Setting {
    pub name: &'static str,
    /// The key of a DeepSpeed config that it becomes (`plugin_to_config_mapping` of accelerate's
    /// DeepSpeedPlugin). accelerate refuses such an entry in its run file beside a config.
    pub key: Option<&'static str>,
    pub reads: Reads,
    pub beside_config: BesideConfig,
}

/// How accelerate reads the value of a setting.
#[derive(Clone, Copy)]
pub enum Reads {
    Number,
    /// A word in any case.
    Device,
    Text,
    Switch,
}

/// What becomes of a flag beside a DeepSpeed config.
#[derive(Clone, Copy, PartialEq)]
pub enum BesideConfig {
    /// It fills an "auto" before transformers compares it.
    FillsAuto,
    /// It has no effect, and the user is told so.
    Ignored,
    /// Nothing is said about it.
    Silent,
}

/// The config that accelerate's DeepSpeedPlugin makes without settings.
pub const DEFAULT_CONFIG: &str = r#"{
    "train_batch_size": "auto",
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto",
    "gradient_clipping": "auto",
    "zero_optimization": {
        "stage": 2,
        "offload_optimizer": { "device": "none", "nvme_path": null },
        "offload_param": { "device": "none", "nvme_path": null }
    }
}"#;

pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "gradient_accumulation_steps",
        key: Some("gradient_accumulation_steps"),
        reads: Reads::Number,
        beside_config: BesideConfig::FillsAuto,
    },
    Setting {
        name: "gradient_clipping",
        key: Some("gradient_clipping"),
        reads: Reads::Number,
        beside_config: BesideConfig::FillsAuto,
    },
    Setting {
        name: "zero_stage",
        key: Some("zero_optimization.stage"),
        reads: Reads::Number,
        beside_config: BesideConfig::Ignored,
    },
    Setting {
        name: "offload_optimizer_device",
        key: Some("zero_optimization.offload_optimizer.device"),
        reads: Reads::Device,
        beside_config: BesideConfig::Ignored,
    },
    Setting {
        name: "offload_param_device",
        key: Some("zero_optimization.offload_param.device"),
        reads: Reads::Device,
        beside_config: BesideConfig::Ignored,
    },
    Setting {
        name: "offload_optimizer_nvme_path",
        key: Some("zero_optimization.offload_optimizer.nvme_path"),
        reads: Reads::Text,
        beside_config: BesideConfig::Silent,
    },
    Setting {
        name: "offload_param_nvme_path",
        key: Some("zero_optimization.offload_param.nvme_path"),
        reads: Reads::Text,
        beside_config: BesideConfig::Silent,
    },
    Setting {
        name: "zero3_save_16bit_model",
        key: Some("zero_optimization.stage3_gather_16bit_weights_on_model_save"),
        reads: Reads::Switch,
        beside_config: BesideConfig::Ignored,
    },
    Setting {
        name: "zero3_init_flag",
        key: None,
        reads: Reads::Switch,
        beside_config: BesideConfig::Silent,
    },
];

/// The option for the DeepSpeed config, and its name in the run file.
pub const CONFIG: &str = "deepspeed_config_file";

/// The settings that show that DeepSpeed is wanted.
pub const OF_DEEPSPEED: &[&str] = &[CONFIG, "zero_stage", "offload_optimizer_device"];

/// Without this switch, the flag for the config has no effect.
pub const SWITCH: &str = "use_deepspeed";

/// accelerate takes only one of these and the switch.
pub const OTHER_SWITCHES: &[&str] = &["multi_gpu", "cpu", "tpu", "use_fsdp"];

/// With these it starts the ranks through torchrun, as with the switch for DeepSpeed.
pub const TORCHRUN_SWITCHES: &[&str] = &["multi_gpu", "use_fsdp", "use_megatron_lm"];

/// What starts the ranks of several machines.
pub const RUNNER: &str = "deepspeed_multinode_launcher";

pub const HOSTFILE: &str = "deepspeed_hostfile";

pub const RUN_FILE: &str = "config_file";

pub const OF_A_SECTION: &str = "put it into its section, as `deepspeed_config`, or remove it";

/// The installed file that names the keys of its run file.
pub const RUN_FILE_CLASSES: &str = "accelerate/commands/config/config_args.py";
