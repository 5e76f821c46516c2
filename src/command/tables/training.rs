//! The defaults of trainers that decide how much memory a training needs.

/// Defaults that hold for a training if nothing is said.
pub struct TrainingDefaults {
    pub micro_batch: u64,
    /// Sequences of a step on all ranks together, up to which gradients are accumulated.
    pub batch: u64,
    pub seq_len: Option<u64>,
    pub lora: bool,
    pub lora_rank: u64,
    pub checkpointing: bool,
    /// LoRA has dropout on its inputs.
    pub dropout: bool,
    /// It loads a model in 16 bits, whatever the model's config says.
    pub half: bool,
    /// Sequences at once in an evaluation, unless they are as many as in a step.
    pub eval_batch: Option<u64>,
    /// The arguments that name an evaluation set, if the training is evaluated as soon as it has one.
    pub eval_sets: &'static [&'static str],
    /// What GRPO does by default; `None` if its arguments are not TRL's.
    pub online: Option<OnlineDefaults>,
    /// Its PPO and GKD are its own, not TRL's.
    pub own_ppo_and_gkd: bool,
    /// The memory of its losses was measured, not only that of the usual one.
    pub measured_losses: bool,
    pub towers: Towers,
}

/// What happens to the vision tower of a model, and to the projector behind it, unless an argument says otherwise.
#[derive(Clone, Copy, PartialEq)]
pub enum Towers {
    Trained,
    /// It may still keep activations.
    Frozen,
    /// It runs without a graph.
    FrozenWithoutGraph,
}

#[derive(Clone, Copy)]
pub struct OnlineDefaults {
    /// Tokens of a generated answer.
    pub answer: u64,
    pub reference: Reference,
}

/// The trainings with GRPO that have a reference model.
#[derive(Clone, Copy)]
pub enum Reference {
    Always,
    /// Those with an older TRL than this.
    BeforeTrl([u32; 3]),
}

/// As transformers documents them.
pub const HF: TrainingDefaults = TrainingDefaults {
    micro_batch: 8,
    batch: 0,
    seq_len: None,
    lora: false,
    lora_rank: 8,
    checkpointing: false,
    dropout: false,
    half: false,
    eval_batch: Some(8),
    eval_sets: &[],
    online: Some(OnlineDefaults {
        answer: 256,
        // The default of --beta was 0.04 before.
        reference: Reference::BeforeTrl([0, 19, 0]),
    }),
    own_ppo_and_gkd: false,
    measured_losses: false,
    towers: Towers::Trained,
};

/// Read from the sources of ms-swift 4.6.
pub const SWIFT: TrainingDefaults = TrainingDefaults {
    micro_batch: 1,
    batch: 16,
    lora: true,
    checkpointing: true,
    dropout: true,
    half: true,
    eval_batch: Some(1),
    eval_sets: &["val_dataset", "cached_val_dataset", "split_dataset_ratio"],
    online: Some(OnlineDefaults {
        answer: 512,
        reference: Reference::Always,
    }),
    own_ppo_and_gkd: true,
    towers: Towers::FrozenWithoutGraph,
    ..HF
};

/// Read from the sources of LLaMA-Factory 0.9.5.
pub const LLAMAFACTORY: TrainingDefaults = TrainingDefaults {
    seq_len: Some(2048),
    lora: true,
    checkpointing: true,
    half: true,
    towers: Towers::Frozen,
    ..HF
};

/// As axolotl documents them.
pub const AXOLOTL: TrainingDefaults = TrainingDefaults {
    micro_batch: 1,
    eval_batch: None,
    eval_sets: &["val_set_size", "test_datasets"],
    online: None,
    ..HF
};

/// Read from the sources of TRL 0.29.
pub const TRL: TrainingDefaults = TrainingDefaults {
    seq_len: Some(1024),
    lora_rank: 16,
    checkpointing: true,
    measured_losses: true,
    ..HF
};
