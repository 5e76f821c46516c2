//! Unit tests of `src/base/size.rs`.

use super::*;

#[test]
fn sizes_are_short_or_in_columns() {
    for (bytes, short, column) in [
        (0, "0 bytes", "0.0 GiB"),
        (1023, "1023 bytes", "0.0 GiB"),
        (64 << 20, "64 MiB", "0.1 GiB"),
        (3 << 29, "1.5 GiB", "1.5 GiB"),
        (144_000_000_000, "134 GiB", "134.1 GiB"),
        (3 << 40, "3 TiB", "3.0 TiB"),
        (u64::MAX, "16777215 TiB", "16777216.0 TiB"),
    ] {
        assert_eq!((size(bytes).as_str(), Size(bytes).to_string().as_str()), (short, column));
    }
}

#[test]
fn sizes_are_read_as_people_write_them() {
    for (text, size) in
        [("8B", 8_000_000_000), ("1.7b", 1_700_000_000), ("350M", 350_000_000), ("8e9", 8_000_000_000), ("5", 5)]
    {
        assert_eq!(parse_count(text), Some(size), "{text}");
    }
    for (text, size) in [
        ("80GiB", 80 << 30),
        ("80G", 80 << 30),
        ("44GB", 44_000_000_000),
        ("1.5 TiB", 3 << 39),
        ("81559MiB", 81559 << 20),
        ("85899345920", 80 << 30),
    ] {
        assert_eq!(parse_bytes(text), Some(size), "{text}");
    }
    for text in ["", "B", "GiB", "x8B", "-1B", "0", "nan", "inf", "1e30"] {
        assert_eq!((parse_count(text), parse_bytes(text)), (None, None), "{text}");
    }
}
