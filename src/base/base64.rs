//! Base64: how DeepSpeed's launcher takes its list of machines, and how accelerate and DeepSpeed also take a config.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// With `-` and `_`, as `base64.urlsafe_b64decode` reads it.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let three = [0, 1, 2].map(|at| chunk.get(at).copied().unwrap_or(0));
        let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) & 63;
            text.push(if digit <= chunk.len() { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    text
}

/// The JSON object in a text of either alphabet.
pub(crate) fn object_in(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut bits = 1; // a one before those that are not written yet
    for letter in text.bytes().filter(|letter| !letter.is_ascii_whitespace()) {
        let six = match letter {
            b'+' => 62,
            b'/' => 63,
            b'=' => 0,
            _ => DIGITS.iter().zip(0_u32..).find(|(digit, _)| **digit == letter)?.1,
        };
        bits = bits << 6 | six;
        if let [1, three @ ..] = bits.to_be_bytes() {
            bytes.extend(three);
            bits = 1;
        }
    }
    bytes.truncate(bytes.len().saturating_sub(text.matches('=').count()));
    String::from_utf8(bytes).ok().filter(|text| bits == 1 && text.trim_start().starts_with('{'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_every_length() {
        // The vectors of RFC 4648, and the two digits that differ for URLs.
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE=")]
        {
            assert_eq!(encode(bytes.as_bytes()), text);
        }
        assert_eq!(encode(&[0xfb, 0xff, 0xff]), "-___");
    }

    #[test]
    fn base64_of_either_alphabet() {
        let text = "{\"a?>\":\"~~~?>>>ÿ\"}";
        for coded in
            ["eyJhPz4iOiJ+fn4/Pj4+w78ifQ==", "eyJhPz4iOiJ-fn4_Pj4-w78ifQ==", "eyJhPz4iOiJ+fn4/\nPj4+w78ifQ==\n"]
        {
            assert_eq!(object_in(coded).as_deref(), Some(text), "{coded}");
        }
        assert_eq!(object_in("CiB7fQo=").as_deref(), Some("\n {}\n"));
        for other in
            ["", "zero2", "zero3_offload", "eyJhPz4iOiJ+fn4/Pj4+w78ifQ", "WzFd", "====", "e30=.json", "/ds/zero"]
        {
            assert_eq!(object_in(other), None, "{other}");
        }
    }
}
