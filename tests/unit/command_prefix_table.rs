//! Unit tests of `src/command/prefix/table.rs`.

use super::*;

#[test]
fn every_line_of_the_table_is_read() {
    let text = include_str!("../../src/recorded/prefixes.txt");
    let mut programs = 0;
    for block in text.split("\n\n") {
        let mut lines = block.lines().filter(|line| !line.starts_with('#'));
        let Some(head) = lines.next() else { continue };
        programs += 1;
        for word in head.split_once(" | ").map_or("", |(_, traits)| traits).split_terminator(' ') {
            let known = ["words=1", "assignments", "python", "container"].contains(&word);
            assert!(known || word.starts_with("needs=-"), "{head}: {word}");
        }
        let program = parse(block).unwrap();
        for line in lines {
            let (list, options) = line.split_once(' ').unwrap();
            assert!(["value", "switch", "outside"].contains(&list), "{head}: {line}");
            assert!(options.split(' ').all(|option| option.starts_with('-')), "{head}: {line}");
        }
        let has =
            |option| [program.with_value, program.switches].iter().any(|list| list.split(' ').any(|own| own == option));
        assert!(program.barring.split_terminator(' ').chain(program.keeps_variables).all(has), "{head}");
    }
    assert_eq!(all().count(), programs);
}
