//! Unit tests of `src/check/optimizer.rs`.

use super::*;

#[test]
fn some_optimizers_survive_offload() {
    for good in ["adamw_torch", "adamw_torch_fused", "adagrad", "lion_32bit"] {
        assert!(survives_offload(good), "{good}");
    }
    for bad in ["sgd", "adafactor", "adamw_8bit", "adamw_bnb_8bit", "muon", "rmsprop", "lion_8bit", "galore_adamw"] {
        assert!(!survives_offload(bad), "{bad}");
    }
}

#[test]
fn the_schedulers_are_recorded() {
    for name in SCHEDULERS {
        assert!(schema::parameters("scheduler", name, schema::newest()).count() > 3, "{name}");
    }
    assert!(schema::parameters("optimizer", "adamw", schema::newest()).count() > 8);
}
