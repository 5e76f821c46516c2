//! Unit tests of `src/plan/record.rs`.

use super::*;

#[test]
fn times_are_those_of_date() {
    // date -u -d @N +%FT%TZ
    for (seconds, text) in [
        (0, "1970-01-01T00:00:00Z"),
        (951_827_696, "2000-02-29T12:34:56Z"),
        (1_709_251_199, "2024-02-29T23:59:59Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
        (1_794_720_000, "2026-11-15T05:20:00Z"),
    ] {
        assert_eq!(timestamp(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)), text);
    }
}
