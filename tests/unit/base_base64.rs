//! Unit tests of `src/base/base64.rs`.

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
    for coded in ["eyJhPz4iOiJ+fn4/Pj4+w78ifQ==", "eyJhPz4iOiJ-fn4_Pj4-w78ifQ==", "eyJhPz4iOiJ+fn4/\nPj4+w78ifQ==\n"] {
        assert_eq!(object_in(coded).as_deref(), Some(text), "{coded}");
    }
    assert_eq!(object_in("CiB7fQo=").as_deref(), Some("\n {}\n"));
    for other in ["", "zero2", "zero3_offload", "eyJhPz4iOiJ+fn4/Pj4+w78ifQ", "WzFd", "====", "e30=.json", "/ds/zero"] {
        assert_eq!(object_in(other), None, "{other}");
    }
}
