//! The options as clap knows them: every text of the help in Chinese, and what to give instead of the options of other programs.

use clap::builder::StyledStr;

use zlaunch::testing::cli::{FIRST, MORE, TOOLS, command, foreign_options, in_chinese};
use zlaunch::testing::options::{flag, takes_value};

/// Every text of every page but for names and examples, with its Chinese: beside it, or in the file.
fn texts() -> Vec<(String, Option<String>)> {
    let zlaunch = command(&TOOLS);
    let ours = |text: &str| (text.to_string(), in_chinese(text).map(str::to_string));
    let translated = |english: Option<&StyledStr>, chinese: Option<&StyledStr>| {
        let english = english?.to_string();
        Some(chinese.map_or_else(
            || ours(&english),
            |chinese| (english.clone(), Some(chinese.to_string())),
        ))
    };
    let titles = "Usage,Examples,Commands,More commands,Arguments,Options,Print help,Print version"
        .split(',');
    let mut texts: Vec<_> = [FIRST, MORE].into_iter().chain(titles).map(ours).collect();
    for command in zlaunch.get_subcommands().chain([&zlaunch]) {
        texts.extend(translated(command.get_about(), command.get_long_about()));
        let [more, chinese] = [command.get_after_help(), command.get_after_long_help()]
            .map(|text| text.map(ToString::to_string).unwrap_or_default());
        let lines = more
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':'));
        let mut chinese = chinese.lines();
        texts.extend(lines.map(|line| {
            chinese
                .next()
                .map_or_else(|| ours(line), |it| (line.into(), Some(it.into())))
        }));
        assert_eq!(
            chinese.next(),
            None,
            "{}: a translation of nothing",
            command.get_name()
        );
        for arg in command.get_arguments().filter(|arg| {
            !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str())
        }) {
            texts.extend(translated(arg.get_help(), arg.get_long_help()));
            texts.extend(arg.get_help_heading().map(ours));
        }
    }
    texts
}

#[test]
fn every_text_has_a_chinese_one_and_none_is_left_over() {
    let texts = texts();
    for (text, chinese) in &texts {
        let chinese = chinese.as_deref().filter(|chinese| !chinese.is_ascii());
        let chinese = chinese
            .unwrap_or_else(|| panic!("neither beside it nor in src/cli/help.zh.txt: {text}"));
        assert_eq!(
            untranslated(text),
            untranslated(chinese),
            "{text}\n{chinese}"
        );
    }
    let translated = include_str!("../../src/cli/help.zh.txt")
        .lines()
        .step_by(2)
        .collect::<Vec<_>>();
    let is_used = |line: &&&str| {
        texts
            .iter()
            .any(|(text, chinese)| text == **line && chinese.as_deref() == in_chinese(line))
    };
    let unused: Vec<_> = translated.iter().filter(|line| !is_used(line)).collect();
    assert!(unused.is_empty(), "{unused:#?}");
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

/// The options that are to be given instead of those of other programs, with a value if they take one.
#[test]
fn what_is_given_instead_are_options() {
    let zlaunch = command(&TOOLS);
    for (names, words) in
        foreign_options().filter(|(_, words)| words.starts_with("--") && !words.starts_with("-- "))
    {
        let place = names.split(' ').next().unwrap();
        let command = zlaunch.find_subcommand(place).unwrap_or(&zlaunch);
        let option = command
            .get_arguments()
            .find(|arg| Some(flag(arg).as_str()) == words.split(' ').next());
        let option = option.unwrap_or_else(|| panic!("{names}: {words}"));
        assert_eq!(takes_value(option), words.contains(' '), "{names}: {words}");
    }
}
