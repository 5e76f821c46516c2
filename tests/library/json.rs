//! JSON as people write it is read, and its faults have a place.

use serde_json::json;

use serde_json::Value;
use zlaunch::testing::json::*;

fn value(text: &str) -> Value {
    parse(text).unwrap()
}

#[test]
fn comments_and_trailing_commas_are_accepted() {
    assert_eq!(
        value("// a\n{\"a\": 1, /* b\n */ \"c\": [1, 2,], }"),
        json!({"a": 1, "c": [1, 2]})
    );
    assert_eq!(
        value(r#"{"url": "http://x/*y*/,}"}"#),
        json!({"url": "http://x/*y*/,}"})
    );
    assert_eq!(value("{\"a\": 1, // last\n}"), json!({"a": 1}));
    assert_eq!(value("\u{feff}{}"), json!({}));
}

#[test]
fn integral_numbers_become_integers_and_others_keep_their_value() {
    for (text, written) in [
        ("2e8", "200000000"),
        ("1.0", "1"),
        ("-3E2", "-300"),
        ("5e-5", "0.00005"),
        ("0.1", "0.1"),
        ("1e-8", "1e-8"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("123456789.125", "123456789.125"),
        ("9223372036854775807", "9223372036854775807"),
        ("1e300", "1e+300"),
        ("-0.0", "0"),
    ] {
        assert_eq!(value(text).to_string(), written, "{text}");
        assert_eq!(value(written).to_string(), written, "{written} read again");
    }
}

#[test]
fn faults_have_a_place() {
    for (text, line, column, word) in [
        ("", 1, 1, "empty"),
        ("// nothing\n", 1, 1, "empty"),
        ("{", 1, 1, "ends inside an object"),
        ("{\"a\": 1,\n \"a\": 2}", 2, 2, "`a` appears twice"),
        ("{\"a\": NaN}", 1, 7, "are not JSON"),
        (
            "{\"a\": 1,\n\"steps_per_print\": Infinity}",
            2,
            20,
            "are not JSON",
        ),
        ("{\"a\": -Infinity}", 1, 8, "are not JSON"),
        ("{\"a\": 1e400}", 1, 11, "are not JSON"),
        ("{\"a\": nan}", 1, 8, "a JSON value"),
        ("{\"a\": {\"b\": 2,,}}", 1, 15, "comma"),
        ("{,}", 1, 2, "comma"),
        ("[,]", 1, 2, "comma"),
        ("{} {}", 1, 4, "after the end"),
        ("{\n  /* x", 2, 3, "is not closed"),
        ("{'a': 1}", 1, 2, "double quotes"),
    ] {
        let fault = parse(text).unwrap_err();
        assert_eq!(
            (fault.line, fault.column),
            (line, column),
            "{text}: {fault:?}"
        );
        assert!(fault.what.contains(word), "{text}: {fault:?}");
    }
    assert!(
        parse(&"[".repeat(100_000))
            .unwrap_err()
            .what
            .contains("128 levels")
    );
}

#[test]
fn digits_in_a_text_are_no_integer() {
    let text = r#"{"id": "123456789012345678901234567890", "n": 18446744073709551615}"#;
    assert_eq!(
        parse_exactly(text).unwrap().to_string(),
        text.replace(": ", ":").replace(", ", ",")
    );
}

#[test]
fn keys_have_a_position() {
    let text = "// c\n{\"a\": 1, \"x\": {\"a\": [\"b\", {\"b\": 1}, 2],\n  /* \"b\": */ \"b\" : \"a\", \"c.d\": 1},\n\t\"b\": {}}";
    for (key, place) in [
        ("a", (2, 2)),
        ("x", (2, 10)),
        ("x.a", (2, 16)),
        ("x.b", (3, 14)),
        ("x.c.d", (3, 25)),
        ("b", (4, 2)),
    ] {
        assert_eq!(positions(text).unwrap().get(key), Some(&place), "{key}");
    }
    assert_eq!(positions(text).unwrap().get("x.a.b"), Some(&(2, 28)));
    assert_eq!(positions(text).unwrap().get("y"), None);
}
