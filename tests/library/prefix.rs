//! Programs that run another command.

use std::ffi::{OsStr, OsString};

use zlaunch::testing::prefix::*;

fn words(line: &str) -> Vec<OsString> {
    line.split(' ').map(OsString::from).collect()
}

fn joined(words: &[OsString]) -> String {
    words.join(OsStr::new(" ")).into_string().unwrap()
}

#[test]
fn the_command_begins_behind_the_options() {
    for line in [
        "env A=1 B= | swift sft",
        "env -u BAR -uX --unset=Y -- A=1 | swift sft",
        "A=1 B=2 | swift sft",
        "nice | swift sft -n 3",
        "nice -n 5 | swift sft",
        "nice -n5 nice -5 nice --adjustment=5 nice --adjustment 5 | swift sft",
        "timeout -k 5 --signal=INT -v 60 | swift sft",
        "nohup setsid -wf stdbuf -oL -e 0 --input=L | python train.py",
        "taskset -c 0-3 chrt -r 5 ionice -c2 -n 7 numactl --cpunodebind=0 -m 0 | swift sft",
        "/usr/bin/env A=1 /usr/bin/time -v uv run --with x --extra=y -- | python train.py",
        "conda run -n x --no-capture-output poetry run | swift sft",
        "nsys profile -o out --trace=cuda --force-overwrite true | swift sft",
    ] {
        let (front, command) = line.split_once(" | ").unwrap();
        let given = words(&line.replace(" |", ""));
        let prefix = Prefix::split(&given).unwrap_or_else(|| panic!("{line}"));
        assert_eq!(joined(&prefix.command), command, "{line}");
        let again = joined(&prefix.in_front_of(prefix.command.clone()));
        assert_eq!(
            again
                .strip_prefix("env ")
                .filter(|_| front.starts_with("A="))
                .unwrap_or(&again),
            joined(&given)
        );
    }
}

/// As `tests/real/prefixes.py` has seen them.
#[test]
fn real_programs_take_the_same_words() {
    for taken in include_str!("../data/prefixes.txt").lines() {
        let given = words(&format!("{taken} swift sft --model m"));
        let prefix = Prefix::split(&given).unwrap_or_else(|| panic!("{taken}"));
        assert_eq!(joined(&prefix.command), "swift sft --model m", "{taken}");
    }
}

#[test]
fn what_is_not_known_is_not_split() {
    for line in [
        "nice",
        "nice --help",
        "timeout 60",
        "ionice -p 17",
        "env",
        "uv sync",
        "uv run --no-such x",
        "srun nice x",
    ] {
        assert!(Prefix::split(&words(line)).is_none(), "{line}");
    }
    assert_eq!(
        joined(&Prefix::split(&words("nice timeout")).unwrap().command),
        "timeout"
    );
}

#[test]
fn variables_and_barriers() {
    let prefix = Prefix::split(&words("env -u A --unset B C=1 D=x=y swift sft")).unwrap();
    assert_eq!((prefix.unset, prefix.set.len()), (words("A B"), 2));
    assert_eq!(prefix.set[1], ("D".into(), "x=y".into()));
    let barrier = |line| Prefix::split(&words(line)).unwrap().barrier;
    assert!(matches!(
        barrier("docker run --gpus all -v a:b image swift sft"),
        Some(Barrier::Container("docker run"))
    ));
    assert!(
        matches!(barrier("env -i swift sft"), Some(Barrier::Option(option)) if option == "env -i")
    );
    assert!(
        matches!(barrier("env -C dir swift sft"), Some(Barrier::Option(option)) if option == "env -C")
    );
    assert!(matches!(
        barrier("sudo swift sft"),
        Some(Barrier::Without("sudo", "-E"))
    ));
    assert!(barrier("sudo -E swift sft").is_none() && barrier("nice swift sft").is_none());
    assert_eq!(
        Prefix::split(&words("nice uv run swift sft"))
            .unwrap()
            .own_python,
        Some("uv run")
    );
}

#[test]
fn every_option_is_one_and_what_bars_is_known() {
    assert!(PROGRAMS.len() > 40);
    for PrefixProgram {
        names,
        keeps_variables_with,
        with_value,
        switches,
        barring,
        ..
    } in PROGRAMS
    {
        let all = [*with_value, *switches].concat();
        assert!(
            all.iter().all(|option| option.starts_with('-')),
            "{names:?}"
        );
        assert!(
            barring
                .iter()
                .chain(keeps_variables_with)
                .all(|option| all.contains(option)),
            "{names:?}"
        );
        for (at, option) in all.iter().enumerate() {
            assert!(!all[at + 1..].contains(option), "{names:?}: {option}");
        }
    }
}
