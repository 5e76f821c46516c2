//! Numbers as Python reads, compares and writes them.

use serde_json::Value;

/// `int(text)`, if it fits.
pub fn int(text: &str) -> Option<i64> {
    whole(text)?.parse().ok()
}

/// `int(text)` of any size, as a float: Python's integers are unbounded.
pub fn large_int(text: &str) -> Option<f64> {
    whole(text)?.parse().ok()
}

pub fn float(text: &str) -> Option<f64> {
    without_underscores(text)?.parse().ok()
}

fn whole(text: &str) -> Option<String> {
    let text = without_underscores(text)?;
    let digits = text.strip_prefix(['+', '-']).unwrap_or(&text);
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some(text)
}

/// Python allows spaces around a number, and single underscores between its digits.
fn without_underscores(text: &str) -> Option<String> {
    let text = text.trim();
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let is_lawful = text
        .match_indices('_')
        .all(|(at, _)| at > 0 && is_digit(at - 1) && is_digit(at + 1));
    is_lawful.then(|| text.replace('_', ""))
}

/// A JSON value as a number. A bool is a number in Python.
pub fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        other => other.as_f64(),
    }
}

/// `repr(value)`: the shortest digits, an exponent below 1e-4 and from 1e16 on.
pub fn repr_float(value: f64) -> String {
    if value.is_nan() || value.is_infinite() {
        return format!("{value}").to_lowercase();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value != 0.0 && !(-4..16).contains(&exponent) {
        return format!(
            "{digits}e{}{:02}",
            if exponent < 0 { '-' } else { '+' },
            exponent.abs()
        );
    }
    let plain = format!("{value}");
    if plain.contains('.') {
        plain
    } else {
        plain + ".0"
    }
}
