//! The ZeRO stage and the offload devices of a config as DeepSpeed reads them, with pydantic's coercions and old names.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{base::json, config::schema};

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    None,
    Cpu,
    Nvme,
    /// An "auto" that is still open, or a word that DeepSpeed refuses.
    #[serde(skip)]
    Other,
}

impl Device {
    pub fn is_off_gpu(self) -> bool {
        matches!(self, Device::Cpu | Device::Nvme)
    }
}

pub struct Zero<'a> {
    pub section: Option<&'a Map<String, Value>>,
    /// `None` while it is "auto", or if DeepSpeed refuses it.
    pub stage: Option<u8>,
    pub optimizer: Device,
    pub param: Device,
}

impl<'a> Zero<'a> {
    pub fn of(config: &'a Value) -> Self {
        let off = Zero {
            section: None,
            stage: Some(0),
            optimizer: Device::None,
            param: Device::None,
        };
        let section = match json::get(config, "zero_optimization") {
            Some(Value::Bool(on)) => {
                return Zero {
                    stage: Some(u8::from(*on)),
                    ..off
                };
            }
            Some(Value::Object(section)) => section,
            _ => return off,
        };
        let stage = section.get("stage").map_or(Some(0.0), schema::whole);
        Zero {
            section: Some(section),
            stage: stage.and_then(|stage| {
                (0..=3).find(|known| (stage - f64::from(*known)).abs() < f64::EPSILON)
            }),
            optimizer: device(section, "offload_optimizer", "cpu_offload"),
            param: device(section, "offload_param", "cpu_offload_param"),
        }
    }

    /// For scripts where nothing fills an "auto" stage: DeepSpeed drops it and uses its default.
    pub fn without_auto(self) -> Self {
        let is_auto = self
            .section
            .is_some_and(|section| section.get("stage").is_some_and(|stage| stage == "auto"));
        if is_auto {
            Zero {
                stage: Some(0),
                ..self
            }
        } else {
            self
        }
    }
}

/// The old key counts if the new one is missing. DeepSpeed refuses both together.
fn device(section: &Map<String, Value>, key: &str, old: &str) -> Device {
    if let Some(Value::Object(offload)) = section.get(key) {
        return offload.get("device").map_or(Device::None, |device| {
            Device::deserialize(device).unwrap_or(Device::Other)
        });
    }
    if section.get(old).and_then(schema::truth) == Some(true) {
        Device::Cpu
    } else {
        Device::None
    }
}
