//! The options as clap knows them: every text of the help in Chinese, and what to give instead of the options of other programs.

use zlaunch::testing::cli::{FIRST, MORE, TOOLS, command, foreign_options, in_chinese};
use zlaunch::testing::options::{flag, takes_value};

/// Every text of every page, but for names and examples.
fn texts() -> Vec<String> {
    let zlaunch = command(&TOOLS);
    let mut texts: Vec<String> = [
        FIRST,
        MORE,
        "Usage",
        "Examples",
        "Commands",
        "More commands",
        "Arguments",
        "Options",
        "Print help",
        "Print version",
    ]
    .map(str::to_string)
    .to_vec();
    let commands = zlaunch.get_subcommands().chain([&zlaunch]);
    for command in commands {
        texts.extend(command.get_about().map(ToString::to_string));
        let more = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines = more.lines().filter(|line| !line.is_empty() && !line.starts_with(' '));
        texts.extend(lines.map(|line| line.trim_end_matches(':').to_string()));
        for arg in command
            .get_arguments()
            .filter(|arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str()))
        {
            texts.extend(arg.get_help().map(ToString::to_string));
            texts.extend(arg.get_help_heading().map(str::to_string));
        }
    }
    texts
}

#[test]
fn every_text_has_a_chinese_one_and_none_is_left_over() {
    let mut texts = texts();
    texts.sort();
    texts.dedup();
    let missing: Vec<&String> = texts.iter().filter(|text| in_chinese(text).is_none_or(str::is_ascii)).collect();
    assert!(missing.is_empty(), "src/cli/help.zh.txt has none of {missing:#?}");
    let translated = include_str!("../../src/cli/help.zh.txt").lines().step_by(2).collect::<Vec<_>>();
    let unused: Vec<_> = translated.into_iter().filter(|line| !texts.iter().any(|text| text == line)).collect();
    assert!(unused.is_empty(), "{unused:#?}");
    for text in &texts {
        let chinese = in_chinese(text).unwrap();
        assert_eq!(untranslated(text), untranslated(chinese), "{text}\n{chinese}");
    }
}

/// What is typed, and numbers.
fn untranslated(text: &str) -> Vec<&str> {
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let mut words: Vec<&str> = text.split('`').skip(1).step_by(2).chain(numbers).collect();
    words.sort_unstable();
    words
}

/// The options that are to be given instead of those of other programs, with a value if they take one.
#[test]
fn what_is_given_instead_are_options() {
    let zlaunch = command(&TOOLS);
    for (names, words) in foreign_options().filter(|(_, words)| words.starts_with("--") && !words.starts_with("-- ")) {
        let place = names.split(' ').next().unwrap();
        let command = zlaunch.find_subcommand(place).unwrap_or(&zlaunch);
        let option = command.get_arguments().find(|arg| Some(flag(arg).as_str()) == words.split(' ').next());
        let option = option.unwrap_or_else(|| panic!("{names}: {words}"));
        assert_eq!(takes_value(option), words.contains(' '), "{names}: {words}");
    }
}
