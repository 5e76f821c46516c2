//! Sizes in bytes and numbers of parameters, as people write them.

use std::fmt;

use super::tables::units::{NUMBER_WORDS, OF_BYTES, OF_PARAMETERS, UNITS, UNITS_OF_NUMBERS};

/// The short form: `64 MiB`, `1.5 GiB`.
pub fn size(bytes: u64) -> String {
    let step = (bytes.max(1).ilog2() as usize / 10).min(4);
    // One decimal, rounded down, without a float.
    let tenths = (u128::from(bytes) * 10) >> (10 * step);
    let whole = tenths / 10;
    let tenth = tenths % 10;
    let unit = UNITS[step];
    if tenth == 0 || whole >= 100 {
        format!("{whole} {unit}")
    } else {
        format!("{whole}.{tenth} {unit}")
    }
}

/// The form for columns of sizes that are compared: GiB or TiB, always with one decimal.
pub struct Size(pub u64);

impl fmt::Display for Size {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let gib = self.0 as f64 / f64::from(1 << 30);
        if gib >= 1024.0 {
            write!(f, "{:.1} TiB", gib / 1024.0)
        } else {
            write!(f, "{gib:.1} GiB")
        }
    }
}

/// `8B`, `1.7b`, `350M`, `8e9`, `8000000000`.
pub fn parse_count(text: &str) -> Option<u64> {
    with_unit(text, OF_PARAMETERS)
}

/// Reads `three`, `200M`, `4k`, `16.0` or `5,000` as the whole number that `name` wants. `0,5` and `8 16` are none.
pub fn number_meant(text: &str, name: &str) -> Option<u64> {
    let mut groups = text.trim().split([',', ' ']).skip(1);
    if text.starts_with("0,")
        || text.contains("e_")
        || groups.any(|group| group.len() != 3 && !group.contains(char::is_alphabetic))
    {
        return None;
    }
    let text = text.trim().replace([',', '_', ' '], "").to_lowercase();
    if let Some(number) = NUMBER_WORDS.iter().position(|word| *word == text) {
        return u64::try_from(number).ok();
    }
    // 0 is what fp16's loss scale is called by.
    if text == "dynamic" && name.ends_with("loss_scale") {
        return Some(0);
    }
    let (_, units) = UNITS_OF_NUMBERS
        .iter()
        .find(|(part, _)| name.contains(part))?;
    with_unit(&text, units)
}

/// `80GiB`, `80G` (the same), `80GB` (decimal, so a little less), `81559MiB`, or bytes without a unit.
pub fn parse_bytes(text: &str) -> Option<u64> {
    with_unit(text.trim(), OF_BYTES)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers out of range are refused"
)]
fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let upper = text.to_ascii_uppercase();
    let (number, unit) = units
        .iter()
        .find_map(|(suffix, unit)| Some((upper.strip_suffix(suffix)?, unit)))?;
    let number = number.trim_end().parse::<f64>().ok()? * unit;
    // `2.5epochs` is no whole number.
    let is_part = *unit <= 1.0 && number.fract() > 0.0;
    (!is_part && (1.0..1e18).contains(&number)).then_some(number as u64)
}
