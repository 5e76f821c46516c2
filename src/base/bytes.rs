//! Bytes as text and as a number: base64 and a hash.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// 64-bit FNV-1a: the name of a file and the port of a job need no cryptography.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Base64 with `-` and `_`, as DeepSpeed's launcher decodes its list of machines (`base64.urlsafe_b64decode`).
pub fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let three = [0, 1, 2].map(|at| chunk.get(at).copied().unwrap_or(0));
        let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) & 63;
            text.push(if digit <= chunk.len() {
                char::from(DIGITS[value as usize])
            } else {
                '='
            });
        }
    }
    text
}

/// The JSON object in base64 of either alphabet: accelerate and DeepSpeed take a config in this form too.
pub fn object_in_base64(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut bits = 1; // a one in front of the bits that are not yet written
    for letter in text.bytes().filter(|letter| !letter.is_ascii_whitespace()) {
        let six = match letter {
            b'+' => 62,
            b'/' => 63,
            b'=' => 0,
            _ => {
                DIGITS
                    .iter()
                    .zip(0_u32..)
                    .find(|(digit, _)| **digit == letter)?
                    .1
            }
        };
        bits = bits << 6 | six;
        if let [1, three @ ..] = bits.to_be_bytes() {
            bytes.extend(three);
            bits = 1;
        }
    }
    bytes.truncate(bytes.len().saturating_sub(text.matches('=').count()));
    String::from_utf8(bytes)
        .ok()
        .filter(|text| bits == 1 && text.trim_start().starts_with('{'))
}
