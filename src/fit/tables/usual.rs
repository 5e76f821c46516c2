//! What is taken where nothing is said, and how far a search goes.

use crate::command::tables::training::{self, TrainingDefaults};

/// Tokens of a prompt, if no argument limits them.
pub const PROMPT: u64 = 512;
pub const SEQ_LEN: u64 = 2048;

/// The defaults without a training command: the settings most people start with.
pub const WITHOUT_COMMAND: TrainingDefaults = TrainingDefaults {
    micro_batch: 1,
    checkpointing: true,
    ..training::HF
};

pub const LARGEST_MICRO_BATCH: u64 = 4096;
/// Shorter sequences are not worth training on.
pub const SEQ_LEN_STEP: u64 = 256;

/// Words behind the name of a model that say nothing about its size, and so do four digits.
pub const VARIANTS: &[&str] = &["base", "chat", "instruct", "it", "pt", "thinking"];
/// Numbers of these types hold several quantised weights.
pub const PACKED: &[&str] = &["U8", "I8", "I32"];
/// No real header of a checkpoint comes near this size.
pub const LONGEST_HEADER: u64 = 100 << 20;

/// Said if a config.json is all that is known of a new architecture.
pub const GUESSED_SIZE: &str =
    "its architecture is new, so its size is a guess: download its weights or give --params NUMBER";
