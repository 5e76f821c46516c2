//! What the options of `fit` take, and the options of a launch that its help shows.

use crate::{
    base::options::Words,
    fit::{Accounting, Attention, Dtype, FitFormat, OPTIMIZERS, Optimizer, Tuner},
};

pub const FORMATS: Words<FitFormat> = || FitFormat::NAMES.to_vec();
pub const TUNERS: Words<Tuner> = || Tuner::NAMES.to_vec();
pub const BITS: Words<u64> = || vec![("4", 4), ("8", 8)];
pub const DTYPES: Words<Dtype> = || Dtype::NAMES.to_vec();
pub const OPTIMIZER_NAMES: Words<Optimizer> = || {
    OPTIMIZERS
        .iter()
        .flat_map(|row| row.names)
        .map(|name| (*name, Optimizer::named(name)))
        .collect()
};
pub const ATTENTIONS: Words<Attention> = || Attention::NAMES.to_vec();
pub const ACCOUNTINGS: Words<Accounting> = || Accounting::NAMES.to_vec();

pub const SHOWN: &[&str] = &[
    "deepspeed",
    "template_dir",
    "gpu_memory",
    "host_memory",
    "seq_len",
    "nproc_per_node",
    "nnodes",
    "trainer",
    "format",
];
