//! DeepSpeed's keys and values, as the recorded versions judge them.

use serde_json::{Value, json};
use zlaunch::testing::recorded::Version;
use zlaunch::testing::schema::*;

fn fault(key: &str, value: &Value) -> Option<ValueFault> {
    find(key, newest()).unwrap().fault(value)
}

/// Each pair was seen on DeepSpeed 0.19.8 with pydantic 2.14.
#[test]
fn values_are_judged_as_pydantic_judges_them() {
    let key = "zero_optimization.sub_group_size";
    for good in [
        json!(true),
        json!(2),
        json!("2"),
        json!(" 1 "),
        json!("+1"),
        json!("1_000"),
        json!("1.00"),
    ] {
        assert_eq!(fault(key, &good), None, "{good}");
    }
    for bad in [
        json!(null),
        json!(1.5),
        json!(1e30),
        json!(""),
        json!("1__0"),
        json!("1."),
        json!("1e3"),
        json!([]),
        json!("１"),
    ] {
        assert_eq!(fault(key, &bad), Some(ValueFault::Type), "{bad}");
    }
    assert_eq!(fault(key, &json!(-1)), Some(ValueFault::Value));
    for (good, bad) in [
        (json!("Y"), json!(" true")),
        (json!(1), json!(2)),
        (json!("off"), json!(null)),
    ] {
        assert_eq!(
            fault("zero_optimization.reduce_scatter", &good),
            None,
            "{good}"
        );
        assert!(
            fault("zero_optimization.reduce_scatter", &bad).is_some(),
            "{bad}"
        );
    }
    assert_eq!(fault("zero_optimization.overlap_comm", &json!(null)), None);
    assert_eq!(fault("fp16.loss_scale", &json!("1_000")), None);
    assert!(
        fault("fp16.loss_scale", &json!(true)).is_some()
            && fault("fp16.loss_scale", &json!("nan")).is_some()
    );
    assert!(fault("fp16.loss_scale_window", &json!("1.0")).is_some());
    assert!(fault("zero_optimization.zenflow.topk_ratio", &json!(1)).is_some());
    assert_eq!(
        fault("zero_optimization.zenflow.update_interval", &json!(0)),
        Some(ValueFault::Value)
    );
    assert_eq!(fault("zero_optimization.stage", &json!("1.0")), None);
    assert_eq!(
        fault("zero_optimization.stage", &json!(4)),
        Some(ValueFault::Value)
    );
}

/// `int(value)` of Python, and a number or the word "auto".
#[test]
fn texts_are_judged_by_what_reads_them() {
    let key = "data_efficiency.data_sampling.dynamic_batching.max_batch_size";
    assert_eq!(
        [json!("12"), json!(1.5)].map(|good| fault(key, &good)),
        [None; 2]
    );
    assert_eq!(
        [json!("x"), json!("1.5"), json!([])].map(|bad| fault(key, &bad)),
        [Some(ValueFault::Type); 3]
    );
    assert_eq!(
        fault("zero_optimization.zenflow.update_interval", &json!("auto")),
        None
    );
    assert_eq!(
        fault("zero_optimization.zenflow.update_interval", &json!("4")),
        Some(ValueFault::Value)
    );
}

#[test]
fn a_range_is_that_of_the_version() {
    let fault = |version| {
        find("zero_optimization.reduce_bucket_size", Version(version))
            .unwrap()
            .fault(&json!(0))
    };
    assert_eq!(
        (fault([0, 19, 5]), fault([0, 19, 6])),
        (None, Some(ValueFault::Value))
    );
}

/// pydantic 1 looks a member up by its value, and Python's 2.0 is 2.
#[test]
fn a_member_is_exactly_that() {
    let fault = |value| {
        find("zero_optimization.stage", Version([0, 14, 2]))
            .unwrap()
            .fault(&value)
    };
    assert_eq!(fault(json!(2.0)), None);
    assert_eq!(fault(json!(1.0 + f64::EPSILON)), Some(ValueFault::Value));
}

#[test]
fn a_key_is_found_by_its_whole_name() {
    assert_eq!(
        find("zero_optimization.stage", newest()).unwrap().key,
        "zero_optimization.stage"
    );
    for wrong in ["", "zzz", "zero_optimization.", "zero_optimization.stag"] {
        assert!(find(wrong, newest()).is_none());
    }
}

#[test]
fn a_key_is_known_from_one_version_to_another() {
    let known = |key: &str, version| find(key, Version(version)).unwrap().known();
    assert_eq!(
        known("tensor_parallel", [0, 16, 3]),
        Known::Later(Version([0, 16, 4]))
    );
    assert_eq!(known("tensor_parallel", [0, 16, 4]), Known::Yes);
    assert_eq!(known("amp", [0, 19, 7]), Known::Yes);
    assert_eq!(
        known("amp", [0, 19, 8]),
        Known::Refused(Version([0, 19, 8]))
    );
    assert_eq!(
        known("aio.thread_count", [0, 16, 4]),
        Known::Dropped(Version([0, 16, 4]))
    );
    assert_eq!(
        [[0, 14, 3], [0, 14, 4], [0, 16, 6]].map(|version| known("compile", version)),
        [Known::Yes, Known::Paused, Known::Yes]
    );
}
