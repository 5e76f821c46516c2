//! Unit tests of `src/command/trainer/accelerate.rs`.

use super::*;

#[test]
fn what_accelerate_refuses_is_nobodys() {
    assert_eq!(source_of("optimizer.params.betas"), None);
    assert_eq!(source_of("train_micro_batch_size_per_gpu"), Some("accelerate takes it from the dataloader"));
}
