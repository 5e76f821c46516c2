//! The phases of a training in which memory use can peak: those of a step, then those before, between or after them.

#[derive(Clone, Copy, PartialEq)]
pub struct Phase {
    pub name: &'static str,
    pub is_between_steps: bool,
    /// What to do if such a phase needs most.
    pub advice: &'static str,
}

/// The backward pass starts with the gradient of the logits, while all activations are still there.
pub const LOSS: Phase = Phase {
    name: "loss",
    is_between_steps: false,
    advice: "",
};

/// The backward pass is in the last layer.
pub const BACKWARD: Phase = Phase {
    name: "backward",
    is_between_steps: false,
    advice: "",
};

pub const END_OF_BACKWARD: Phase = Phase {
    name: "end of backward",
    is_between_steps: false,
    advice: "",
};

pub const OPTIMIZER_STEP: Phase = Phase {
    name: "step",
    is_between_steps: false,
    advice: "",
};

/// Before the first step.
pub const LOADING: Phase = Phase {
    name: "loading",
    is_between_steps: true,
    advice: "quantised weights are whole on every GPU at first",
};

/// The loss of a batch of the evaluation set, while the optimizer's states are still there.
pub const EVALUATION: Phase = Phase {
    name: "evaluation",
    is_between_steps: true,
    advice: "lower --per_device_eval_batch_size",
};

/// Answers are generated for such a batch.
pub const GENERATION: Phase = Phase {
    name: "generation",
    is_between_steps: true,
    advice: "lower --steps_per_generation, or the batch size",
};

/// Stage 3 gathers the weights, tensor by tensor.
pub const SAVING: Phase = Phase {
    name: "saving",
    is_between_steps: true,
    advice: "",
};

/// The textbook accounting knows no phases.
pub const WHOLE: Phase = Phase {
    name: "always",
    is_between_steps: false,
    advice: "",
};

/// Of two that need the same, the last counts: a phase of a step, and its first.
pub const PHASES: [Phase; 8] = [
    LOADING,
    SAVING,
    GENERATION,
    EVALUATION,
    OPTIMIZER_STEP,
    END_OF_BACKWARD,
    BACKWARD,
    LOSS,
];
