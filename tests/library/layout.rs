//! Lines that fit a terminal.

use zlaunch::testing::layout::*;

#[test]
fn lines_break_between_words_and_between_chinese_characters() {
    assert_eq!(wrapped("one two three", 2, 10), "  one two\n  three\n");
    assert_eq!(
        wrapped("切分到每张 GPU，然后释放。", 0, 14),
        "切分到每张\nGPU，然后释\n放。\n"
    );
    // A full stop is never alone on a line.
    assert_eq!(wrapped("参数。", 0, 4), "参\n数。\n");
    assert_eq!(wrapped("", 2, 10), "  \n");
    // An emoji and a rare character take two columns too.
    assert_eq!(
        (columns("🚀"), columns("\u{20000}"), columns("é—…")),
        (2, 2, 3)
    );
}

#[test]
fn what_would_deceive_is_written_as_in_json() {
    let deceptive = "a\x1b[31m\x7f\u{9b}\u{202e}\u{2066}\u{200b}\u{feff}\u{e0041}é数\n\tb";
    let shown = r"a\u001b[31m\u007f\u009b\u202e\u2066\u200b\ufeff\udb40\udc41é数";
    assert_eq!(escape_controls(deceptive), format!("{shown}\n\tb"));
    assert_eq!(visible(deceptive), format!("{shown}\\n\\tb"));
    let table = TextTable::of_pairs(0, [("a\u{202e}", "x\r\ny".to_string())]);
    assert_eq!(table.to_string(), "a\\u202e  x\\u000d\\ny\n");
    let json = serde_json::Value::from(&deceptive[..deceptive.len() - 3]).to_string();
    assert_eq!(
        serde_json::from_str::<String>(&escape_controls(&json)).unwrap(),
        deceptive[..deceptive.len() - 3]
    );
}

#[test]
fn the_middle_of_a_very_long_text_is_left_out() {
    let end = |text: &str| text.chars().rev().take(10).collect::<String>();
    for (length, is_whole) in [(100, true), (4000, true), (5000, false), (100_000, false)] {
        let text = "数".repeat(length - 10) + "0123456789";
        let shown = visible(&text);
        assert_eq!(shown == text, is_whole, "{length}");
        assert!(
            end(&shown) == end(&text) && shown.chars().count() < 4010,
            "{length}"
        );
        assert_eq!(shown.contains("数 … 数"), !is_whole, "{length}");
    }
}

#[test]
fn cells_are_aligned_and_the_last_one_wraps() {
    let cells = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_string()).collect();
    let lines = vec![
        Line::Row(cells(&["a", "first"])),
        Line::Heading("more".to_string()),
        Line::Row(cells(&["类型", "one two three"])),
        Line::Row(cells(&["much too wide", ""])),
    ];
    let table = TextTable {
        widest: 8,
        limit: 15,
        lines,
        ..TextTable::new(2)
    };
    assert_eq!(
        table.to_string(),
        "  a     first\nmore\n  类型  one two\n        three\n  much too wide\n"
    );
    let lines = vec![
        Line::Row(cells(&["GiB", "all", "host"])),
        Line::Row(cells(&["zero3", "12.5", "-", "fits"])),
    ];
    let table = TextTable {
        numbers: 1..3,
        lines,
        ..TextTable::new(0)
    };
    assert_eq!(
        table.to_string(),
        "GiB     all  host\nzero3  12.5     -  fits\n"
    );
}
