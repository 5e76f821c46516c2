//! Unit tests of `src/check/environment.rs`.

use super::*;

#[test]
fn allocator_settings() {
    let list = "roundup_power2_divisions:[256:1,512:2,>:4]";
    for good in ["", "expandable_segments:True", "a:1,", "a:1,,b:2", "a:1, b:2", "a:1,b:[2:3,4:5],c:0.9", list] {
        assert_eq!(wrong_item(good), None, "{good}");
    }
    for bad in ["x", "a:", "expandable_segments=True", ":1"] {
        assert_eq!(wrong_item(bad), Some(bad));
    }
    assert_eq!(wrong_item("a:1,b"), Some("b"));
}
