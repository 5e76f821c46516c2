//! Unit tests of `src/tools/diff.rs`.

use super::*;

#[test]
fn a_missing_key_has_the_default_unless_its_section_is_off() {
    let sides = [json!({"zero_optimization": {"stage": 2, "reduce_bucket_size": 5e8}}), json!({"fp16": {}})];
    let sides = sides.map(|config| Side { name: String::new(), config, record: None });
    let default = |key: &str| default(key, &sides, schema::newest());
    assert_eq!(default("zero_optimization.stage"), Some(json!(0)));
    assert_eq!(default("zero_optimization.offload_param.device"), None);
    assert_eq!(default("no_such_key"), None);
    let (found, equal) = differences(&sides, schema::newest());
    assert_eq!((found.len(), equal), (2, 0));
    assert!(found[1].is_default(), "5e8 is the default");
    assert_eq!(found[0].mark(), "-");
}
