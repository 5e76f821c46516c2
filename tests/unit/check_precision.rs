//! Unit tests of `src/check/precision.rs`.

use super::*;

#[test]
fn gpus_by_their_names() {
    let lacks = |name: &str, list: &[&str]| list.iter().any(|model| is_model(name, model));
    for name in ["Tesla V100-SXM2-32GB", "Tesla T4", "NVIDIA GeForce RTX 2080 Ti", "NVIDIA TITAN V"] {
        assert!(lacks(name, WITHOUT_BF16), "{name}");
    }
    for name in "A100-SXM4-80GB,H200,GeForce RTX 4090,T400,L4,A40,RTX 2000 Ada Generation".split(',') {
        let name = &format!("NVIDIA {name}");
        assert!(!lacks(name, WITHOUT_BF16) && !lacks(name, WITHOUT_FP16), "{name}");
    }
    assert!(lacks("NVIDIA GeForce GTX 1080", WITHOUT_FP16));
    assert!(lacks("Tesla P100-PCIE-16GB", WITHOUT_FP16) && !lacks("Tesla P100-PCIE-16GB", WITHOUT_BF16));
}
