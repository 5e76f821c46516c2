//! The programs that run another command, from the recorded table. Its head says how it is written.

/// A program that runs another command, and which words are its own.
#[derive(Default)]
pub struct PrefixProgram {
    /// `nice`, `uv run`, with commas.
    pub names: &'static str,
    /// Options that take a value, in the next word or joined to them.
    pub(super) with_value: &'static str,
    /// Options without a value, or with one only after `=`. `-#` is a dash and a number.
    pub(super) switches: &'static str,
    /// Those of the options with which zlaunch would find another folder, or none of the variables it was given.
    pub barring: &'static str,
    /// The option without which it drops all variables.
    pub keeps_variables: Option<&'static str>,
    /// How many words stand between the options and the command.
    pub(super) words: usize,
    /// `NAME=value` in front of the command sets a variable.
    pub(super) sets_variables: bool,
    /// It runs what is installed in an environment of its own, so that PATH says nothing.
    pub own_python: bool,
    pub container: bool,
}

/// Every program of the table.
pub fn all() -> impl Iterator<Item = PrefixProgram> {
    include_str!("../../recorded/prefixes.txt").split("\n\n").filter_map(parse)
}

/// One block. The first one only has comments.
fn parse(block: &'static str) -> Option<PrefixProgram> {
    let mut lines = block.lines().filter(|line| !line.starts_with('#'));
    let (names, traits) = lines.next().map(|head| head.split_once(" | ").unwrap_or((head, "")))?;
    let mut program = PrefixProgram { names, ..PrefixProgram::default() };
    for (word, value) in traits.split(' ').map(|word| word.split_once('=').unwrap_or((word, ""))) {
        match word {
            "words" => program.words = value.parse().unwrap_or_default(),
            "needs" => program.keeps_variables = Some(value),
            "assignments" => program.sets_variables = true,
            "python" => program.own_python = true,
            "container" => program.container = true,
            _ => {}
        }
    }
    for (list, options) in lines.filter_map(|line| line.split_once(' ')) {
        match list {
            "value" => program.with_value = options,
            "switch" => program.switches = options,
            "outside" => program.barring = options,
            _ => {}
        }
    }
    Some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read() {
        let text = include_str!("../../recorded/prefixes.txt");
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
            let has = |option| {
                [program.with_value, program.switches].iter().any(|list| list.split(' ').any(|own| own == option))
            };
            assert!(program.barring.split_terminator(' ').chain(program.keeps_variables).all(has), "{head}");
        }
        assert_eq!(all().count(), programs);
    }
}
