//! Small parts: hashes, tokens of a script, the nearest word, the embedded templates.

use std::ffi::OsString;
use std::fs;

use zlaunch::testing::bytes::fnv1a;
use zlaunch::testing::cli::{Asked, TOOLS, command, parse};
use zlaunch::testing::script::tokens::tokens;
use zlaunch::testing::{BUILT_IN, Host, nearest};

#[test]
fn fnv1a_is_fnv1a() {
    // The published vectors of the 64-bit variant.
    assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
}

#[test]
fn the_embedded_list_is_the_folder() {
    let mut files: Vec<String> = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/templates"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let mut embedded: Vec<_> = BUILT_IN
        .iter()
        .map(|(name, _)| format!("{name}.json"))
        .collect();
    embedded.sort();
    assert_eq!(files, embedded);
}

#[test]
fn clap_accepts_the_structs() {
    command(&TOOLS).debug_assert();
}

#[test]
fn a_command_begins_where_our_options_end() {
    for (line, expected) in [
        ("swift sft --deepspeed x", "swift sft --deepspeed x"),
        ("-- swift", "swift"),
        ("--dry-run swift", "swift"),
        ("-nq swift -n", "swift -n"),
        ("-n checks", "checks"),
        ("--deepspeed zero3 swift", "swift"),
        ("--deepspeed=zero3 -n -- -x", "-x"),
        ("--num_gpus 2 swift -", "swift -"),
        ("--launcher-arg --foo --launcher-arg -- swift", "swift"),
        ("swift -- check", "swift -- check"),
    ] {
        let argv: Vec<OsString> = ["zlaunch"]
            .into_iter()
            .chain(line.split(' '))
            .map(OsString::from)
            .collect();
        let Ok(Asked::Request(request)) = parse(&argv, &Host::default(), &TOOLS) else {
            panic!("{line}")
        };
        let launch = request.into_launch().unwrap();
        let command: Vec<_> = launch
            .command
            .iter()
            .filter_map(|word| word.to_str())
            .collect();
        assert_eq!(command.join(" "), expected, "{line}");
    }
}

#[test]
fn the_nearest_word_is_near() {
    let known = ["zero2", "zero3", "zero3_offload", "hf_zero3"];
    assert_eq!(nearest("zero3_ofload", known), Some("zero3_offload"));
    assert_eq!(nearest("ZERO_3", known), Some("zero3"));
    assert_eq!(nearest("fsdp", known), None);
    // A text may name it twice.
    let twice = ["accuracy_reward", "format", "accuracy_reward"];
    assert_eq!(nearest("accuracy", twice), Some("accuracy_reward"));
    let several = ["accuracy_reward", "accuracy_metric"];
    assert_eq!(nearest("accuracy", several), None);
    assert_eq!(nearest("", known), None);
}

/// Found by fuzzing: a long word was compared with every name there is. This would take minutes.
#[test]
fn a_long_word_is_near_to_none() {
    let known = ["zero2"; 1000];
    assert_eq!(nearest(&"zero".repeat(50_000), known), None);
}

#[test]
fn sources_are_split_into_words() {
    let source = "x = f(a=1.5,  # note\n  b='it\\'s', c=\"\"\"two\nlines\"\"\")\nif y_1 ** 2 == -3.5:\n    pass\n";
    let found = tokens(source);
    let words: Vec<&str> = found.iter().map(|token| token.text).collect();
    let expected = [
        "x",
        "=",
        "f",
        "(",
        "a",
        "=",
        "1.5",
        ",",
        "b",
        "=",
        "'it\\'s'",
        ",",
        "c",
        "=",
        "\"\"\"two\nlines\"\"\"",
        ")",
    ];
    assert_eq!(words[..16], expected);
    assert_eq!(
        words[16..],
        ["if", "y_1", "**", "2", "==", "-", "3.5", ":", "pass"]
    );
    let starts: Vec<_> = found
        .iter()
        .filter_map(|token| Some((token.line, token.indent?)))
        .collect();
    assert_eq!(starts, [(1, 0), (4, 0), (5, 4)]);
    // A string goes on behind a backslash, so that what is in it closes nothing.
    let continued = tokens("raise E('one ) \\\n two')\nx");
    assert_eq!(continued.len(), 6);
    assert_eq!(continued[5].indent, Some(0));
    // Whatever it is, it ends.
    for odd in ["'", "\"\"\"", "x = 'a\nb", "é = \"ü", "1", ".", "\\"] {
        tokens(odd);
    }
}
