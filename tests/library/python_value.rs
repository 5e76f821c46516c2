//! Numbers as Python reads and writes them.

use zlaunch::testing::python_value::*;

/// Derived with CPython 3.11's `int` and `float`.
#[test]
fn numbers_as_python_reads_them() {
    for (text, value) in [
        ("4", Some(4)),
        (" +4 ", Some(4)),
        ("1_000", Some(1000)),
        ("-3", Some(-3)),
        ("007", Some(7)),
    ] {
        assert_eq!(int(text), value, "{text}");
    }
    for text in [
        "", "4.0", "4_", "_4", "4__0", "0x10", "1e3", "four", "+", "+_4", "inf",
    ] {
        assert_eq!((int(text), large_int(text)), (None, None), "{text}");
    }
    assert_eq!(
        (
            int("1_0000000000000000000"),
            large_int("1_0000000000000000000")
        ),
        (None, Some(1e19))
    );
    for (text, value) in [
        ("1e-5", 1e-5),
        ("1.", 1.0),
        (".5", 0.5),
        ("1_0.5", 10.5),
        (" 2 ", 2.0),
        ("+1E3", 1000.0),
    ] {
        assert_eq!(float(text), Some(value), "{text}");
    }
    assert!(float("nan").is_some_and(f64::is_nan));
    assert_eq!(float("-Infinity"), Some(f64::NEG_INFINITY));
    for text in [
        "", "1e", "e5", "infin", "1,5", "_1", "0x1p3", ".", "+-1", "1_e5",
    ] {
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
