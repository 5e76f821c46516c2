//! The options as clap knows them: every text of the help in Chinese, and what to give instead of the options of other programs.

use std::collections::BTreeSet;

use zlaunch::testing::cli::tables::foreign_options::{FOREIGN_OPTIONS, Instead, Place};
use zlaunch::testing::cli::{TOOLS, command, help_of, page_of};
use zlaunch::testing::options::{flag, takes_value};
use zlaunch::testing::texts::Entry;

/// Texts of the help that are no page of a sub-command.
const TITLES: &[&str] = &[
    "zlaunch",
    "overview",
    "Usage",
    "Examples",
    "Commands",
    "More commands",
    "Arguments",
    "Options",
    "Print help",
    "Print version",
];

/// The entries that every page of the help has texts from, by their names.
fn used() -> Vec<(String, Entry)> {
    let zlaunch = command(&TOOLS);
    let page = |name: &str| {
        let entry = page_of(name).unwrap_or_else(|| panic!("src/cli/pages.txt has no {name}"));
        (name.to_string(), entry)
    };
    let mut used: Vec<_> = TITLES.iter().map(|name| page(name)).collect();
    for command in zlaunch.get_subcommands().chain([&zlaunch]) {
        let place = command.get_name();
        used.push(page(place));
        let shown = command.get_arguments().filter(|arg| {
            !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str())
        });
        for arg in shown {
            used.extend(arg.get_help_heading().map(page));
            let help = help_of(place, arg);
            used.extend(help.map(|help| (format!("{place} {}", arg.get_id()), help)));
            // An operand may say everything by its name and its values.
            let is_known = help.is_some() || arg.is_positional();
            assert!(is_known, "{place} {}", arg.get_id());
        }
    }
    used
}

#[test]
fn every_text_has_a_chinese_one_and_none_is_left_over() {
    let used = used();
    for (name, entry) in &used {
        for (english, chinese) in [("en", "zh"), ("more", "more.zh")] {
            let mut english = entry.fields(english);
            // The name of a title is its text.
            if entry.field("more").is_none() && chinese == "zh" && english.is_empty() {
                english.push(entry.name());
            }
            let chinese = entry.fields(chinese);
            assert_eq!(english.len(), chinese.len(), "{name}");
            for (english, chinese) in english.iter().zip(chinese) {
                assert!(!chinese.is_ascii(), "{name}: {chinese}");
                assert_eq!(
                    untranslated(english),
                    untranslated(chinese),
                    "{english}\n{chinese}"
                );
            }
        }
    }
    let used: BTreeSet<&str> = used.iter().map(|(_, entry)| entry.name()).collect();
    for file in [
        include_str!("../../src/cli/pages.txt"),
        include_str!("../../src/cli/options.txt"),
    ] {
        for entry in zlaunch::testing::texts::entries(file) {
            assert!(used.contains(entry.name()), "{} is not used", entry.name());
        }
    }
}

/// The first sentence is also what package indexes show.
#[test]
fn the_description_is_that_of_the_package() {
    let zlaunch = page_of("zlaunch").unwrap();
    assert_eq!(zlaunch.field("en"), Some(env!("CARGO_PKG_DESCRIPTION")));
}

/// What is typed, and numbers.
fn untranslated(text: &str) -> Vec<&str> {
    let numbers = text
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty());
    let mut words: Vec<&str> = text.split('`').skip(1).step_by(2).chain(numbers).collect();
    words.sort_unstable();
    words
}

/// The options that are to be given instead of those of other programs exist where they are asked for, and take a value.
#[test]
fn what_is_given_instead_are_options() {
    let zlaunch = command(&TOOLS);
    for row in FOREIGN_OPTIONS {
        let places: &[&str] = match row.place {
            Place::Launch => &["zlaunch"],
            Place::Only(places) => places,
        };
        let Instead::Option(name, _) = row.instead else {
            continue;
        };
        for place in places {
            let command = zlaunch.find_subcommand(place).unwrap_or(&zlaunch);
            let option = command.get_arguments().find(|arg| flag(arg) == name);
            assert!(option.is_some_and(takes_value), "{place}: {:?}", row.names);
        }
    }
}

/// The first words of the lines of a recorded parser.
fn recorded(parser: &str) -> impl Iterator<Item = &str> {
    parser
        .lines()
        .filter_map(|line| line.split_whitespace().next())
}

#[test]
fn what_a_launch_does_not_need_is_an_option_of_a_launcher() {
    let torchrun = include_str!("../../src/recorded/torchrun.txt");
    let accelerate = include_str!("../../src/recorded/accelerate.txt");
    let known: BTreeSet<&str> = recorded(torchrun).chain(recorded(accelerate)).collect();
    for row in FOREIGN_OPTIONS {
        let is_needless = matches!(row.instead, Instead::Needless(_));
        // Of the options of launchers, only these are our own words for them.
        for name in row
            .names
            .iter()
            .filter(|name| is_needless && **name != "gpu")
        {
            assert!(known.contains(name), "{name}");
        }
    }
}
