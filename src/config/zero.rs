//! The ZeRO stage and the offload devices of a config as DeepSpeed reads them, with pydantic's coercions and old names.
//! `check`, `fit` and `doctor` all ask here.

use std::fmt;

use serde_json::{Map, Value};

use crate::base::json;
use crate::config::schema;

/// What a section is offloaded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Device {
    None,
    Cpu,
    Nvme,
    /// An "auto" that is still open, or what DeepSpeed refuses.
    Other,
}

impl Device {
    fn of(value: &Value) -> Self {
        match value.as_str() {
            Some("none") => Device::None,
            Some("cpu") => Device::Cpu,
            Some("nvme") => Device::Nvme,
            _ => Device::Other,
        }
    }

    pub(crate) fn is_off_gpu(self) -> bool {
        matches!(self, Device::Cpu | Device::Nvme)
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Device::None => "none",
            Device::Cpu => "cpu",
            Device::Nvme => "nvme",
            Device::Other => "another device",
        })
    }
}

/// `zero_optimization`.
pub(crate) struct Zero<'a> {
    pub(crate) section: Option<&'a Map<String, Value>>,
    /// Unknown while it is "auto", or where DeepSpeed refuses it.
    pub(crate) stage: Option<u8>,
    pub(crate) optimizer: Device,
    pub(crate) param: Device,
}

impl<'a> Zero<'a> {
    pub(crate) fn of(config: &'a Value) -> Self {
        let off = Zero { section: None, stage: Some(0), optimizer: Device::None, param: Device::None };
        let section = match json::get(config, "zero_optimization") {
            Some(Value::Bool(on)) => return Zero { stage: Some(u8::from(*on)), ..off },
            Some(Value::Object(section)) => section,
            _ => return off,
        };
        let stage = section.get("stage").map_or(Some(0.0), schema::whole);
        Zero {
            section: Some(section),
            stage: stage.and_then(|stage| (0..=3).find(|known| (stage - f64::from(*known)).abs() < f64::EPSILON)),
            optimizer: device(section, "offload_optimizer", "cpu_offload"),
            param: device(section, "offload_param", "cpu_offload_param"),
        }
    }

    /// For scripts where nothing fills an "auto" stage: DeepSpeed drops it and uses its default.
    pub(crate) fn without_auto(mut self) -> Self {
        let stage = self.section.and_then(|section| section.get("stage"));
        if stage.is_some_and(|stage| stage == "auto") {
            self.stage = Some(0);
        }
        self
    }
}

/// The old key counts where the new one is missing. DeepSpeed refuses both together.
fn device(section: &Map<String, Value>, key: &str, old: &str) -> Device {
    if let Some(Value::Object(offload)) = section.get(key) {
        return offload.get("device").map_or(Device::None, Device::of);
    }
    let on = section.get(old).and_then(schema::truth) == Some(true);
    if on { Device::Cpu } else { Device::None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(section: &Value) -> (Option<u8>, Device, Device) {
        let config = json!({ "zero_optimization": section });
        let zero = Zero::of(&config);
        (zero.stage, zero.optimizer, zero.param)
    }

    /// Each was seen on DeepSpeed 0.19.8 with pydantic 2.14.
    #[test]
    fn a_stage_is_what_pydantic_takes_for_one() {
        for stage in [json!(3), json!("3"), json!(" 3 "), json!("3.0"), json!("+3"), json!("0_3")] {
            assert_eq!(read(&json!({ "stage": stage })).0, Some(3), "{stage}");
        }
        assert_eq!([true, false].map(|stage| read(&json!({ "stage": stage })).0), [Some(1), Some(0)]);
        assert_eq!([true, false].map(|on| read(&json!(on)).0), [Some(1), Some(0)]);
        for refused in [json!("true"), json!(null), json!("weights"), json!(4), json!("4"), json!(-1)] {
            assert_eq!(read(&json!({ "stage": refused })).0, None, "{refused}");
        }
        assert_eq!((read(&json!({})).0, Zero::of(&json!({})).stage), (Some(0), Some(0)));
        let auto = json!({"zero_optimization": {"stage": "auto"}});
        assert_eq!((Zero::of(&auto).stage, Zero::of(&auto).without_auto().stage), (None, Some(0)));
        let wrong = json!({"zero_optimization": {"stage": 4}});
        assert_eq!(Zero::of(&wrong).without_auto().stage, None);
    }

    /// Each was seen on DeepSpeed 0.19.8 with pydantic 2.14.
    #[test]
    fn devices_by_their_new_and_old_names() {
        use Device::{Cpu, None, Nvme, Other};
        for (section, optimizer, param) in [
            (json!({}), None, None),
            (json!({"offload_optimizer": {"device": "nvme"}, "offload_param": {"device": "cpu"}}), Nvme, Cpu),
            (json!({"offload_optimizer": {}, "offload_param": null}), None, None),
            (json!({"offload_optimizer": {"device": "none"}, "offload_param": {"device": "CPU"}}), None, Other),
            (json!({"cpu_offload": true, "cpu_offload_param": "on"}), Cpu, Cpu),
            (json!({"cpu_offload": false, "cpu_offload_param": null}), None, None),
            (json!({"cpu_offload": "auto", "cpu_offload_param": 1}), None, Cpu),
            // An "auto" is dropped before the names are compared.
            (json!({"cpu_offload": true, "offload_optimizer": "auto"}), Cpu, None),
            // No such key.
            (json!({"cpu_offload_params": true}), None, None),
        ] {
            let (_, one, two) = read(&section);
            assert_eq!((one, two), (optimizer, param), "{section}");
        }
    }
}
