//! Unit tests of `src/check/batch.rs`.

use super::*;

/// Each was seen on DeepSpeed 0.19.8 with 8 ranks.
#[test]
fn the_triangle_of_eight_ranks() {
    let judge = |global: f64, micro: f64, steps: f64| {
        let given = |size: f64| (size != 0.0).then_some(size);
        Triangle { global: given(global), micro: given(micro), steps: given(steps) }.judge(8.0)
    };
    for (global, micro, steps) in
        [(16.0, 2.0, 1.0), (16.0, 2.0, 0.0), (16.0, 0.0, 2.0), (0.0, 2.0, 3.0), (64.0, 0.0, 0.0), (0.0, 3.0, 0.0)]
    {
        assert_eq!(judge(global, micro, steps), Ok(()), "{global} {micro} {steps}");
    }
    assert_eq!(judge(0.0, 0.0, 4.0), Err(Wrong::Missing));
    assert_eq!(judge(60.0, 0.0, 0.0), Err(Wrong::Product { global: 60.0, micro: 7.0, steps: 1.0 }));
    assert_eq!(judge(4.0, 0.0, 0.0), Err(Wrong::Product { global: 4.0, micro: 0.0, steps: 1.0 }));
    assert_eq!(judge(-8.0, 1.0, 0.0), Err(Wrong::NotPositive));
}
