//! The algorithms of preference and online tuning as TRL 0.29 runs them. The bytes of a logit were measured in 16 bits
//! (tests/data/memory-h200-more.jsonl, tests/data/phases-h200.jsonl).

pub(crate) struct AlgorithmRow {
    /// As an argument names it, or the script that runs.
    pub(crate) names: &'static [&'static str],
    /// The front end runs code of its own for it, not TRL's.
    pub(crate) is_own: bool,
    pub(crate) algorithm: Algorithm,
}

/// How a training computes its loss.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a trait of its own")]
pub struct Algorithm {
    /// It compares two answers.
    pub(crate) pairs: bool,
    /// A second model is kept, but not with LoRA, whose base model serves as one. If it generates, arguments decide that.
    pub has_reference: bool,
    /// A reward model has one output instead of a head.
    pub headless: bool,
    /// Bytes of a logit.
    pub(crate) logit: u64,
    /// Bytes of a logit of one sequence besides, because sequences are computed one after another.
    pub(crate) logit_of_one: u64,
    /// Percent that are added to these bytes where logits are fp32.
    pub(crate) more_in_fp32: u64,
    /// Bytes of a logit in an evaluation, if its loss is not the usual one.
    pub(crate) evaluated: Option<u64>,
    /// An evaluation runs the model more than once, even if it is not its own reference.
    pub(crate) repeats: bool,
    /// It trains on answers that it generates.
    pub(crate) generates: bool,
    /// The answers to a prompt are compared, and only these have logits. If it generates without, a dataset may have longer ones.
    pub(crate) groups: bool,
    /// It trains a value model besides, and keeps the logits of all answers.
    pub(crate) critic: bool,
    /// It keeps models or generates text that is not counted.
    pub(crate) uncounted: bool,
}

pub(crate) const NO_LOSS: Algorithm = Algorithm {
    pairs: false,
    has_reference: false,
    headless: false,
    logit: 0,
    logit_of_one: 0,
    more_in_fp32: 0,
    evaluated: None,
    repeats: false,
    generates: false,
    groups: false,
    critic: false,
    uncounted: false,
};

/// Without preferences: a logit's fp32 log-softmax and two gradients of that.
pub(crate) const SUPERVISED: Algorithm = Algorithm {
    logit: 12,
    ..NO_LOSS
};

const GRPO: Algorithm = Algorithm {
    generates: true,
    groups: true,
    logit: 4,
    logit_of_one: 2,
    more_in_fp32: 175,
    evaluated: Some(4),
    ..NO_LOSS
};

/// The first row that has the name counts: `swift rlhf --rlhf_type dpo` has that of its script, too.
pub(crate) const ALGORITHMS: &[AlgorithmRow] = &[
    AlgorithmRow {
        names: &["dpo"],
        is_own: false,
        algorithm: Algorithm {
            pairs: true,
            has_reference: true,
            logit: 10,
            logit_of_one: 4,
            more_in_fp32: 50,
            evaluated: Some(9),
            ..NO_LOSS
        },
    },
    AlgorithmRow {
        names: &["kto"],
        is_own: false,
        algorithm: Algorithm {
            has_reference: true,
            repeats: true,
            logit: 8,
            more_in_fp32: 100,
            evaluated: Some(6),
            ..NO_LOSS
        },
    },
    AlgorithmRow {
        names: &["orpo", "cpo", "simpo"],
        is_own: false,
        algorithm: Algorithm {
            pairs: true,
            logit: 5,
            more_in_fp32: 185,
            evaluated: Some(4),
            ..NO_LOSS
        },
    },
    AlgorithmRow {
        names: &["rm", "reward"],
        is_own: false,
        algorithm: Algorithm {
            pairs: true,
            headless: true,
            ..NO_LOSS
        },
    },
    AlgorithmRow {
        names: &["grpo"],
        is_own: false,
        algorithm: GRPO,
    },
    AlgorithmRow {
        names: &["rloo"],
        is_own: false,
        algorithm: Algorithm {
            has_reference: true,
            ..GRPO
        },
    },
    AlgorithmRow {
        names: &["ppo"],
        is_own: true,
        algorithm: Algorithm {
            generates: true,
            has_reference: true,
            critic: true,
            logit: 6,
            more_in_fp32: 150,
            ..NO_LOSS
        },
    },
    AlgorithmRow {
        names: &["gkd"],
        is_own: true,
        algorithm: Algorithm {
            generates: true,
            logit: 28,
            more_in_fp32: 100,
            evaluated: Some(15),
            ..NO_LOSS
        },
    },
    AlgorithmRow {
        names: &["gkd"],
        is_own: false,
        algorithm: Algorithm {
            generates: true,
            logit: 34,
            more_in_fp32: 100,
            evaluated: Some(24),
            ..NO_LOSS
        },
    },
    AlgorithmRow {
        names: &["ppo", "rlhf"],
        is_own: false,
        algorithm: Algorithm {
            uncounted: true,
            ..SUPERVISED
        },
    },
];
