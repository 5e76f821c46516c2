//! Bytes for people.

use std::fmt;

/// The short form, to be read at a glance: `64 MiB`, `1.5 GiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let step = (0..UNITS.len() - 1).take_while(|step| bytes >> (10 * step) >= 1024).count();
    // One decimal, rounded down, without a float.
    let tenths = (u128::from(bytes) * 10) >> (10 * step);
    let (whole, tenth) = (tenths / 10, tenths % 10);
    if tenth == 0 || whole >= 100 {
        format!("{whole} {}", UNITS[step])
    } else {
        format!("{whole}.{tenth} {}", UNITS[step])
    }
}

/// The form for columns of sizes that are compared: GiB or TiB, always with one decimal.
pub(crate) struct Size(pub(crate) u64);

impl fmt::Display for Size {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gib = self.0 as f64 / f64::from(1 << 30);
        if gib >= 1024.0 { write!(f, "{:.1} TiB", gib / 1024.0) } else { write!(f, "{gib:.1} GiB") }
    }
}

#[cfg(test)]
mod tests {
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
}
