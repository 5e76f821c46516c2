//! The types of weights, with the names that arguments and configs have for them.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dtype {
    /// The one that is shown.
    pub name: &'static str,
    /// Of one element.
    pub bytes: u64,
}

pub const BF16: Dtype = Dtype {
    name: "bf16",
    bytes: 2,
};

pub const FP16: Dtype = Dtype {
    name: "fp16",
    bytes: 2,
};

pub const FP32: Dtype = Dtype {
    name: "fp32",
    bytes: 4,
};

impl Dtype {
    pub const NAMES: &'static [(&'static str, Dtype)] = &[
        ("bf16", BF16),
        ("bfloat16", BF16),
        ("fp16", FP16),
        ("float16", FP16),
        ("fp32", FP32),
        ("float32", FP32),
    ];
}
