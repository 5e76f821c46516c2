//! What preference tuning adds to a training: answers that are computed together, a reference model, and a loss of its own.

/// One algorithm, as TRL 0.29 runs it. The bytes were measured (`tests/data/memory-h200-more.jsonl`).
#[derive(Debug)]
pub struct Algorithm {
    pub(crate) names: &'static [&'static str],
    /// Sequences of one sample.
    pub(crate) sequences: u64,
    /// Without LoRA, whose base model serves as one, a second model is kept.
    pub(crate) has_reference: bool,
    /// A reward model has one output instead of a head.
    pub has_head: bool,
    /// Bytes per logit at the loss.
    pub(crate) logit: u64,
    /// The same for the logits of one sequence, which are computed one after another.
    pub(crate) logit_of_one: u64,
    /// All of it is counted: it keeps no other models and generates no text.
    pub(crate) is_counted: bool,
}

/// Fine-tuning without preferences: a logit's fp32 log-softmax and two gradients of that.
pub(crate) const FINE_TUNING: &Algorithm = &Algorithm {
    names: &[],
    sequences: 1,
    has_reference: false,
    has_head: true,
    logit: 12,
    logit_of_one: 0,
    is_counted: true,
};

/// What is named more exactly comes first: `swift rlhf --rlhf_type dpo`.
const ALL: &[Algorithm] = &[
    Algorithm { names: &["dpo"], sequences: 2, has_reference: true, logit: 10, logit_of_one: 4, ..*FINE_TUNING },
    Algorithm { names: &["kto"], has_reference: true, logit: 8, ..*FINE_TUNING },
    Algorithm { names: &["orpo", "cpo", "simpo"], sequences: 2, logit: 5, ..*FINE_TUNING },
    Algorithm { names: &["rm", "reward"], sequences: 2, has_head: false, logit: 0, ..*FINE_TUNING },
    Algorithm { names: &["ppo", "grpo", "rloo", "gkd", "rlhf"], is_counted: false, ..*FINE_TUNING },
];

pub fn find(is_named: impl Fn(&str) -> bool) -> Option<&'static Algorithm> {
    ALL.iter().find(|algorithm| algorithm.names.iter().any(|name| is_named(name)))
}
