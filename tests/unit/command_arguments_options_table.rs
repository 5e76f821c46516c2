//! Unit tests of `src/command/arguments/options_table.rs`.

use super::*;
use crate::command::defaults::TRAINING_ARGUMENTS;

#[test]
fn the_table_is_sorted_and_every_line_is_found() {
    assert!(TABLE.lines().is_sorted() && TABLE.lines().count() > 1500);
    for line in TABLE.lines() {
        let words: Vec<&'static str> = line.splitn(4, ' ').collect();
        if let [distribution, name, argument, rest] = words[..]
            && name != "*"
        {
            assert_eq!(row(ArgumentClass { distribution, name }, argument), Some(rest), "{line}");
        }
    }
    assert!(["lr", "zzz", ""].iter().all(|name| row(TRAINING_ARGUMENTS, name).is_none()));
    assert!(names(TRAINING_ARGUMENTS).count() > 100 && recorded("zzz").is_none());
}
