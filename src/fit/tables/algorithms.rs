//! The algorithms of preference and online tuning as TRL 0.29 runs them. The bytes of a logit were measured in 16 bits
//! (tests/data/memory-h200-more.jsonl, tests/data/phases-h200.jsonl).

pub struct AlgorithmRow {
    /// As an argument names it, or the script that runs.
    pub names: &'static [&'static str],
    /// The front end runs code of its own for it, not TRL's.
    pub is_own: bool,
    pub algorithm: Algorithm,
    #[cfg_attr(not(feature = "testing"), expect(dead_code, reason = "for tests"))]
    pub example: AlgorithmExample,
}

/// The MB that a small llama takes on one GPU, in bf16 with 32 × 512 tokens, half of which are generated where it generates.
#[cfg_attr(not(feature = "testing"), expect(dead_code, reason = "for tests"))]
pub struct AlgorithmExample {
    pub zero2: u64,
    pub without_deepspeed: u64,
    /// With zero2 and evaluations of 512 sequences.
    pub evaluated: u64,
}

/// How a training computes its loss.
#[derive(Clone, Copy)]
pub struct Algorithm {
    /// It compares two answers.
    pub pairs: bool,
    /// A second model is kept, but not with LoRA, whose base model serves as one. If it generates, arguments decide that.
    pub has_reference: bool,
    /// A reward model has one output instead of a head.
    pub headless: bool,
    /// Bytes of a logit.
    pub logit: u64,
    /// Bytes of a logit of one sequence besides, because sequences are computed one after another.
    pub logit_of_one: u64,
    /// Percent that are added to these bytes where logits are fp32.
    pub more_in_fp32: u64,
    /// Bytes of a logit in an evaluation, if its loss is not the usual one.
    pub evaluated: Option<u64>,
    /// An evaluation runs the model more than once, even if it is not its own reference.
    pub repeats: bool,
    /// It trains on answers that it generates.
    pub generates: bool,
    /// The answers to a prompt are compared, and only these have logits. If it generates without, a dataset may have longer ones.
    pub groups: bool,
    /// It trains a value model besides, and keeps the logits of all answers.
    pub critic: bool,
    /// It keeps models or generates text that is not counted.
    pub uncounted: bool,
}

pub const NO_LOSS: Algorithm = Algorithm {
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
pub const SUPERVISED: Algorithm = Algorithm {
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
pub const ALGORITHMS: &[AlgorithmRow] = &[
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
        example: AlgorithmExample {
            zero2: 11_008,
            without_deepspeed: 16_148,
            evaluated: 151_652,
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
        example: AlgorithmExample {
            zero2: 4601,
            without_deepspeed: 8659,
            evaluated: 51_896,
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
        example: AlgorithmExample {
            zero2: 5666,
            without_deepspeed: 15_229,
            evaluated: 67_700,
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
        example: AlgorithmExample {
            zero2: 939,
            without_deepspeed: 468,
            evaluated: 2355,
        },
    },
    AlgorithmRow {
        names: &["grpo"],
        is_own: false,
        algorithm: GRPO,
        example: AlgorithmExample {
            zero2: 1438,
            without_deepspeed: 3165,
            evaluated: 17_242,
        },
    },
    AlgorithmRow {
        names: &["rloo"],
        is_own: false,
        algorithm: Algorithm {
            has_reference: true,
            ..GRPO
        },
        example: AlgorithmExample {
            zero2: 1472,
            without_deepspeed: 3199,
            evaluated: 17_276,
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
        example: AlgorithmExample {
            zero2: 6750,
            without_deepspeed: 13_621,
            evaluated: 36_013,
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
        example: AlgorithmExample {
            zero2: 15_053,
            without_deepspeed: 29_597,
            evaluated: 126_286,
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
        example: AlgorithmExample {
            zero2: 18_198,
            without_deepspeed: 35_888,
            evaluated: 201_783,
        },
    },
    AlgorithmRow {
        names: &["ppo", "rlhf"],
        is_own: false,
        algorithm: Algorithm {
            uncounted: true,
            ..SUPERVISED
        },
        example: AlgorithmExample {
            zero2: 6664,
            without_deepspeed: 6528,
            evaluated: 84_343,
        },
    },
];
