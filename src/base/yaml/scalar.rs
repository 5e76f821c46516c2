//! Plain scalars: a word without quotes is a text, a number, a bool or null.

use serde_json::{Number, Value};

use crate::base::python_value::repr_float;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    PyYaml,
    OmegaConf,
}

/// By YAML 1.1's implicit types.
pub fn scalar(text: &str, dialect: Dialect) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => return Value::Bool(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => return Value::Bool(false),
        _ => {}
    }
    if let Some(integer) = integer(text) {
        return Value::from(integer);
    }
    let Some(float) = float(text, dialect) else { return Value::from(text) };
    Number::from_f64(float).map_or_else(|| Value::from(repr_float(float)), Value::Number)
}

fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let read = |digits: &str, radix: u32| {
        let plain = digits.replace('_', "");
        if plain.starts_with(['-', '+']) { None } else { i64::from_str_radix(&plain, radix).ok() }
    };
    let value = match digits.as_bytes() {
        [b'0', b'b', ..] => read(&digits[2..], 2)?,
        [b'0', b'x', ..] => read(&digits[2..], 16)?,
        b"0" => 0,
        [b'0', ..] => read(&digits[1..], 8)?,
        _ if digits.contains(':') => sexagesimal(digits)?,
        [b'0'..=b'9', ..] => read(digits, 10)?,
        _ => return None,
    };
    Some(if text.starts_with('-') { -value } else { value })
}

/// `1:30` is 90.
fn sexagesimal(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let mut value: i64 = parts.next()?.replace('_', "").parse().ok()?;
    for part in parts {
        let digit: i64 = part.parse().ok().filter(|digit| (0..60).contains(digit) && part.len() <= 2)?;
        value = value.checked_mul(60)?.checked_add(digit)?;
    }
    Some(value)
}

/// `1:30.5` is 90.5.
fn sexagesimal_float(text: &str) -> Option<f64> {
    let (whole, fraction) = text.split_once('.').filter(|(whole, _)| whole.contains(':'))?;
    let fraction = fraction.replace('_', "");
    let lawful = whole.starts_with(|c: char| c.is_ascii_digit()) && fraction.bytes().all(|b| b.is_ascii_digit());
    #[expect(clippy::cast_precision_loss, reason = "minutes and hours")]
    let seconds = sexagesimal(whole).filter(|_| lawful)? as f64;
    Some(seconds + format!("0.{fraction}").parse::<f64>().ok()?)
}

fn float(text: &str, dialect: Dialect) -> Option<f64> {
    let bare = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    match bare {
        ".inf" | ".Inf" | ".INF" => return Some(sign * f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" if bare == text => return Some(f64::NAN),
        _ => {}
    }
    if let Some(value) = sexagesimal_float(bare) {
        return Some(sign * value);
    }
    let (mantissa, exponent) = match bare.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (bare, None),
    };
    let omegaconf = dialect == Dialect::OmegaConf;
    let lawful_exponent = exponent.is_none_or(|exponent| {
        // PyYAML wants a sign.
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(if omegaconf { exponent } else { "" });
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    });
    let is_number = |digits: &str| {
        digits.starts_with(|c: char| c.is_ascii_digit()) && digits.bytes().all(|b| b.is_ascii_digit() || b == b'_')
    };
    let lawful_mantissa = match mantissa.split_once('.') {
        // A number that begins with the dot has no sign.
        Some((whole, fraction)) => (bare == text || !whole.is_empty()) && is_number(&[whole, fraction].concat()),
        // `1e-5` has no dot: a float for OmegaConf, a string for PyYAML.
        None => omegaconf && exponent.is_some() && is_number(mantissa),
    };
    if lawful_exponent && lawful_mantissa { text.replace('_', "").parse().ok() } else { None }
}
