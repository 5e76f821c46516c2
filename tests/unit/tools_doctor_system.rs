//! Unit tests of `src/tools/doctor/system.rs`.

use super::*;

#[test]
fn gpus_are_counted_and_their_memory_is_known_by_the_model() {
    let gpus = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect::<Vec<_>>();
    assert_eq!(gpu_memory(&gpus(&["NVIDIA A100-SXM4-80GB"; 2])).as_deref(), Some("80 GiB"));
    assert_eq!(gpu_memory(&gpus(&["NVIDIA A100-SXM4-80GB", "NVIDIA H200"])).as_deref(), Some("80 GiB, 140 GiB"));
    assert_eq!(gpu_memory(&gpus(&["NVIDIA A100-SXM4-80GB", "Unheard Of 9000"])), None);
    assert_eq!(gpu_memory(&[]), None);
    assert_eq!(count_models(&gpus(&["A", "B", "A"])).as_deref(), Some("2 × A, 1 × B"));
}
