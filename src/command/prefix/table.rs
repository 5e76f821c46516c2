//! The programs that run another command, from the recorded table. Its head says how it is written.

/// A program that runs another command, and which words are its own.
#[derive(Default)]
pub struct PrefixProgram {
    /// `nice`, `uv run`, with commas.
    pub names: &'static str,
    /// Options that take a value, in the next word or joined to them.
    pub with_value: &'static str,
    /// Options without a value, or with one only after `=`. `-#` is a dash and a number.
    pub switches: &'static str,
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
