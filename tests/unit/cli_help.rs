//! Unit tests of `src/cli/help.rs`.

use super::*;

/// Every text of every page, but for names and examples.
fn texts() -> Vec<String> {
    let zlaunch = command();
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
    let translated = CHINESE.lines().step_by(2).collect::<Vec<_>>();
    let unused: Vec<_> = translated.into_iter().filter(|line| !texts.iter().any(|text| text == line)).collect();
    assert!(unused.is_empty(), "{unused:#?}");
}
