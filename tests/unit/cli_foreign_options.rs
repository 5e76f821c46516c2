//! Unit tests of `src/cli/foreign_options.rs`.

use super::*;
use crate::base::options::{flag, takes_value};
use crate::cli::commands::command_of;

/// With a value if it takes one.
#[test]
fn what_is_given_instead_are_options() {
    for (place, names, words) in TABLE.iter().filter(|(.., words)| words.starts_with("--") && !words.starts_with("-- "))
    {
        let command = command_of(place);
        let option = command.get_arguments().find(|arg| Some(flag(arg).as_str()) == words.split(' ').next());
        let option = option.unwrap_or_else(|| panic!("{place} {names}: {words}"));
        assert_eq!(takes_value(option), words.contains(' '), "{place} {names}: {words}");
    }
}
