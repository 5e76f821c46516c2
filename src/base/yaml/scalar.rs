//! Plain scalars: what a word without quotes is.

use serde_json::{Number, Value};

use crate::base::python_value::repr_float;

/// Whose rules count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    PyYaml,
    OmegaConf,
}

/// A plain scalar by YAML 1.1's implicit types.
pub fn scalar(text: &str, dialect: Dialect) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => return Value::Bool(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => return Value::Bool(false),
        _ => {}
    }
    let number = integer(text).map(Value::from).or_else(|| {
        let float = float(text, dialect)?;
        Some(Number::from_f64(float).map_or_else(|| Value::from(repr_float(float)), Value::Number))
    });
    number.unwrap_or_else(|| Value::from(text))
}

fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let read = |digits: &str, radix: u32| {
        let plain = digits.replace('_', "");
        let lawful = plain.chars().all(|c| c.is_digit(radix));
        i64::from_str_radix(&plain, radix).ok().filter(|_| lawful && !plain.is_empty())
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
    match bare {
        ".inf" | ".Inf" | ".INF" => return Some(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY }),
        ".nan" | ".NaN" | ".NAN" if bare == text => return Some(f64::NAN),
        _ => {}
    }
    if let Some(value) = sexagesimal_float(bare) {
        return Some(if text.starts_with('-') { -value } else { value });
    }
    let (mantissa, exponent) = match bare.find(['e', 'E']) {
        Some(at) => (&bare[..at], Some(&bare[at + 1..])),
        None => (bare, None),
    };
    let omegaconf = dialect == Dialect::OmegaConf;
    let lawful_exponent = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']);
        let digits = if omegaconf { Some(digits.unwrap_or(exponent)) } else { digits };
        digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    });
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let lawful_mantissa = match mantissa.split_once('.') {
        Some(("", fraction)) => bare == text && fraction.starts_with(|c: char| c.is_ascii_digit()) && digits(fraction),
        Some((whole, fraction)) => whole.starts_with(|c: char| c.is_ascii_digit()) && digits(whole) && digits(fraction),
        // `1e-5` has no dot: a float for OmegaConf, a string for PyYAML.
        None => {
            omegaconf && exponent.is_some() && mantissa.starts_with(|c: char| c.is_ascii_digit()) && digits(mantissa)
        }
    };
    if !lawful_exponent || !lawful_mantissa {
        return None;
    }
    text.replace('_', "").parse().ok()
}
