//! How serde_json's tokens become a value.

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

/// A value without what JSON readers disagree about, such as duplicate keys.
pub(super) struct Strict(pub(super) Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "only whole numbers that fit are cast")]
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        if value.fract() == 0.0 && value.abs() < 9.2e18 {
            return Ok(Value::from(value as i64));
        }
        if value.fract() == 0.0 && (0.0..1.8e19).contains(&value) {
            return Ok(Value::from(value as u64));
        }
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("this number is too large"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        // Most sections of a config have a few keys.
        let mut object = Map::with_capacity(8);
        while let Some(key) = entries.next_key::<String>()? {
            match object.entry(key) {
                Entry::Vacant(place) => place.insert(entries.next_value::<Strict>()?.0),
                Entry::Occupied(there) => {
                    return Err(de::Error::custom(format!("the key `{}` stands here twice", there.key())));
                }
            };
        }
        Ok(Value::Object(object))
    }
}
