//! Numbers as Python reads, compares and writes them.

use serde_json::Value;

/// `int(text)`, where it fits.
pub fn int(text: &str) -> Option<i64> {
    whole(text)?.parse().ok()
}

/// `int(text)` of any size, as a float: Python's integers are unbounded.
pub(crate) fn large_int(text: &str) -> Option<f64> {
    whole(text)?.parse().ok()
}

/// `float(text)`.
pub fn float(text: &str) -> Option<f64> {
    without_underscores(text)?.parse().ok()
}

/// Spaces around, a sign, single underscores between digits.
fn whole(text: &str) -> Option<String> {
    without_underscores(text).filter(|text| {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    })
}

fn without_underscores(text: &str) -> Option<String> {
    let text = text.trim();
    let digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let lawful = |at: usize| at > 0 && digit(at - 1) && digit(at + 1);
    text.match_indices('_').all(|(at, _)| lawful(at)).then(|| text.replace('_', ""))
}

/// A JSON value as a number. A bool is a number in Python.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        other => other.as_f64(),
    }
}

/// A JSON value with its Python type, since `"8"` and `8` print alike.
pub(crate) fn typed(value: &Value) -> String {
    let kind = match value {
        Value::Null => "None",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "str",
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
    };
    format!("{value} ({kind})")
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
        return format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
    }
    let plain = format!("{value}");
    if plain.contains('.') { plain } else { plain + ".0" }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Derived with CPython 3.11's `int` and `float`.
    #[test]
    fn numbers_as_python_reads_them() {
        for (text, value) in
            [("4", Some(4)), (" +4 ", Some(4)), ("1_000", Some(1000)), ("-3", Some(-3)), ("007", Some(7))]
        {
            assert_eq!(int(text), value, "{text}");
        }
        for text in ["", "4.0", "4_", "_4", "4__0", "0x10", "1e3", "four", "+", "+_4", "inf"] {
            assert_eq!((int(text), large_int(text)), (None, None), "{text}");
        }
        assert_eq!((int("1_0000000000000000000"), large_int("1_0000000000000000000")), (None, Some(1e19)));
        for (text, value) in [("1e-5", 1e-5), ("1.", 1.0), (".5", 0.5), ("1_0.5", 10.5), (" 2 ", 2.0), ("+1E3", 1000.0)]
        {
            assert_eq!(float(text), Some(value), "{text}");
        }
        assert!(float("nan").is_some_and(f64::is_nan));
        assert_eq!(float("-Infinity"), Some(f64::NEG_INFINITY));
        for text in ["", "1e", "e5", "infin", "1,5", "_1", "0x1p3", ".", "+-1", "1_e5"] {
            assert_eq!(float(text), None, "{text}");
        }
    }

    /// Derived with CPython's `repr`.
    #[test]
    fn floats_as_python_writes_them() {
        for (value, text) in [
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (1.0, "1.0"),
            (1e16, "1e+16"),
            (123_456.789, "123456.789"),
            (5e-324, "5e-324"),
            (0.1, "0.1"),
            (1e22, "1e+22"),
            (-2.5e-7, "-2.5e-07"),
            (0.0, "0.0"),
        ] {
            assert_eq!(repr_float(value), text);
        }
    }
}
