//! ZeRO's section, as DeepSpeed reads it.

use serde_json::json;

use serde_json::Value;
use zlaunch::testing::zero::*;

fn read(section: &Value) -> (Option<u8>, Device, Device) {
    let config = json!({ "zero_optimization": section });
    let zero = Zero::of(&config);
    (zero.stage, zero.optimizer, zero.param)
}

/// Each was seen on DeepSpeed 0.19.8 with pydantic 2.14.
#[test]
fn a_stage_is_what_pydantic_takes_for_one() {
    for stage in [
        json!(3),
        json!("3"),
        json!(" 3 "),
        json!("3.0"),
        json!("+3"),
        json!("0_3"),
    ] {
        assert_eq!(read(&json!({ "stage": stage })).0, Some(3), "{stage}");
    }
    assert_eq!(
        [true, false].map(|stage| read(&json!({ "stage": stage })).0),
        [Some(1), Some(0)]
    );
    assert_eq!(
        [true, false].map(|on| read(&json!(on)).0),
        [Some(1), Some(0)]
    );
    for refused in [
        json!("true"),
        json!(null),
        json!("weights"),
        json!(4),
        json!("4"),
        json!(-1),
    ] {
        assert_eq!(read(&json!({ "stage": refused })).0, None, "{refused}");
    }
    assert_eq!(
        (read(&json!({})).0, Zero::of(&json!({})).stage),
        (Some(0), Some(0))
    );
    let auto = json!({"zero_optimization": {"stage": "auto"}});
    assert_eq!(
        (Zero::of(&auto).stage, Zero::of(&auto).without_auto().stage),
        (None, Some(0))
    );
    let wrong = json!({"zero_optimization": {"stage": 4}});
    assert_eq!(Zero::of(&wrong).without_auto().stage, None);
}

/// Each was seen on DeepSpeed 0.19.8 with pydantic 2.14.
#[test]
fn devices_by_their_new_and_old_names() {
    use Device::{Cpu, None, Nvme, Other};
    for (section, optimizer, param) in [
        (json!({}), None, None),
        (
            json!({"offload_optimizer": {"device": "nvme"}, "offload_param": {"device": "cpu"}}),
            Nvme,
            Cpu,
        ),
        (
            json!({"offload_optimizer": {}, "offload_param": null}),
            None,
            None,
        ),
        (
            json!({"offload_optimizer": {"device": "none"}, "offload_param": {"device": "CPU"}}),
            None,
            Other,
        ),
        (
            json!({"cpu_offload": true, "cpu_offload_param": "on"}),
            Cpu,
            Cpu,
        ),
        (
            json!({"cpu_offload": false, "cpu_offload_param": null}),
            None,
            None,
        ),
        (
            json!({"cpu_offload": "auto", "cpu_offload_param": 1}),
            None,
            Cpu,
        ),
        // An "auto" is dropped before the names are compared.
        (
            json!({"cpu_offload": true, "offload_optimizer": "auto"}),
            Cpu,
            None,
        ),
        // No such key.
        (json!({"cpu_offload_params": true}), None, None),
    ] {
        let (_, one, two) = read(&section);
        assert_eq!((one, two), (optimizer, param), "{section}");
    }
}
