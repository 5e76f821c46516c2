//! Unit tests of `src/cli.rs`.

use super::*;
use crate::base::options::SUBCOMMANDS;

#[test]
fn clap_accepts_the_structs() {
    command().debug_assert();
    let names: Vec<_> = command().get_subcommands().map(|command| command.get_name().to_string()).collect();
    assert_eq!(names, SUBCOMMANDS);
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
        ("--num_gpus 2 - swift", "- swift"),
        ("--launcher-arg --foo --launcher-arg -- swift", "swift"),
        ("swift -- check", "swift -- check"),
    ] {
        let argv: Vec<OsString> = ["zlaunch"].into_iter().chain(line.split(' ')).map(OsString::from).collect();
        let Ok(Request::Launch(launch)) = parse(&argv, &Host::default()) else { panic!("{line}") };
        let command: Vec<_> = launch.command.iter().filter_map(|word| word.to_str()).collect();
        assert_eq!(command.join(" "), expected, "{line}");
    }
}
