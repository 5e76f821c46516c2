//! What preference tuning adds to a training: answers that are computed together, a reference model, and a loss of its own.

/// One algorithm, as TRL 0.29 runs it. The bytes were measured (`tests/data/memory-h200-more.jsonl`).
#[derive(Debug)]
pub(crate) struct Algorithm {
    pub(crate) names: &'static [&'static str],
    /// Sequences of one sample.
    pub(crate) sequences: u64,
    /// Without LoRA, whose base model serves as one, a second model is kept.
    pub(crate) has_reference: bool,
    /// Bytes per logit at the loss.
    pub(crate) logit: u64,
    /// The same for the logits of one sequence, which are computed one after another.
    pub(crate) logit_of_one: u64,
}

/// Fine-tuning without preferences: a logit's fp32 log-softmax and two gradients of that.
pub(crate) const FINE_TUNING: &Algorithm =
    &Algorithm { names: &[], sequences: 1, has_reference: false, logit: 12, logit_of_one: 0 };

pub(crate) const DPO: &Algorithm =
    &Algorithm { names: &["dpo"], sequences: 2, has_reference: true, logit: 8, logit_of_one: 12 };

const COUNTED: &[&Algorithm] = &[
    DPO,
    &Algorithm { names: &["kto"], sequences: 1, has_reference: true, logit: 8, logit_of_one: 0 },
    &Algorithm { names: &["orpo", "cpo", "simpo"], sequences: 2, has_reference: false, logit: 5, logit_of_one: 0 },
];

/// These keep models that are not counted, or generate text.
const UNCOUNTED: &[&str] = &["ppo", "grpo", "rloo", "gkd", "rm", "reward", "rlhf"];

/// `Err`: the algorithm is one of those whose memory is not known.
pub(crate) fn named(is_named: impl Fn(&str) -> bool) -> Result<Option<&'static Algorithm>, ()> {
    let counted = COUNTED.iter().find(|it| it.names.iter().any(|name| is_named(name)));
    match counted {
        Some(algorithm) => Ok(Some(algorithm)),
        None if UNCOUNTED.iter().any(|name| is_named(name)) => Err(()),
        None => Ok(None),
    }
}
