//! The programs that run another command, with their options as the real ones print them.

/// A program that runs another command, and which words are its own.
pub(super) struct PrefixProgram {
    /// `nice`, `uv run`.
    pub(super) names: &'static [&'static str],
    /// Options that take a value, in the next word or joined to them.
    pub(super) with_value: &'static str,
    /// Options without a value, or with one only after `=`. `-#` is a dash and a number.
    pub(super) switches: &'static str,
    /// Those of the options with which zlaunch would find another folder, or none of the variables it was given.
    pub(super) barring: &'static str,
    /// The option without which it drops all variables.
    pub(super) keeps_variables: Option<&'static str>,
    /// How many words stand between the options and the command.
    pub(super) words: usize,
    /// `NAME=value` in front of the command sets a variable, and `-u NAME` removes one.
    pub(super) sets_variables: bool,
    /// It runs what is installed in an environment of its own, so that PATH says nothing.
    pub(super) own_python: bool,
    pub(super) container: bool,
}

const PLAIN: PrefixProgram = PrefixProgram {
    names: &[],
    with_value: "",
    switches: "",
    barring: "",
    keeps_variables: None,
    words: 0,
    sets_variables: false,
    own_python: false,
    container: false,
};

pub(super) const ENV: &PrefixProgram = &PrefixProgram {
    names: &["env"],
    with_value: "-u --unset -C --chdir",
    switches: "- -0 --null -i --ignore-environment -v --debug --block-signal --default-signal --ignore-signal --list-signal-handling",
    barring: "- -i --ignore-environment -C --chdir",
    sets_variables: true,
    ..PLAIN
};

pub(super) const TABLE: &[&PrefixProgram] = &[
    ENV,
    &PrefixProgram { names: &["nice"], with_value: "-n --adjustment", switches: "-#", ..PLAIN },
    &PrefixProgram { names: &["nohup"], ..PLAIN },
    &PrefixProgram { names: &["setsid"], switches: "-c --ctty -f --fork -w --wait", ..PLAIN },
    &PrefixProgram { names: &["stdbuf"], with_value: "-i --input -o --output -e --error", ..PLAIN },
    &PrefixProgram {
        names: &["timeout"],
        with_value: "-k --kill-after -s --signal",
        switches: "-f --foreground -p --preserve-status -v --verbose",
        words: 1,
        ..PLAIN
    },
    &PrefixProgram { names: &["taskset"], switches: "-c --cpu-list -a --all-tasks", words: 1, ..PLAIN },
    &PrefixProgram {
        names: &["chrt"],
        switches: "-b --batch -f --fifo -i --idle -o --other -r --rr -R --reset-on-fork -v --verbose",
        words: 1,
        ..PLAIN
    },
    &PrefixProgram { names: &["ionice"], with_value: "-c --class -n --classdata", switches: "-t --ignore", ..PLAIN },
    &PrefixProgram {
        names: &["numactl"],
        with_value: "-i --interleave -p --preferred -N --cpunodebind -C --physcpubind -m --membind -w --weighted-interleave",
        switches: "-l --localalloc -a --all -b --balancing",
        ..PLAIN
    },
    &PrefixProgram {
        names: &["time"],
        with_value: "-f --format -o --output",
        switches: "-a --append -p --portability -q --quiet -v --verbose",
        ..PLAIN
    },
    &PrefixProgram {
        names: &["uv run"],
        with_value: "--extra --with",
        switches: "--all-extras",
        own_python: true,
        ..PLAIN
    },
    &PrefixProgram { names: &["poetry run", "pipenv run"], own_python: true, ..PLAIN },
    &PrefixProgram {
        names: &["conda run"],
        with_value: "-n --name -p --prefix",
        switches: "--no-capture-output",
        own_python: true,
        ..PLAIN
    },
    &PrefixProgram { names: &["nsys profile"], with_value: "-o --output -t --trace -f --force-overwrite", ..PLAIN },
    &PrefixProgram { names: &["sudo"], switches: "-E", keeps_variables: Some("-E"), own_python: true, ..PLAIN },
    &PrefixProgram { names: &["docker run"], with_value: "--gpus -v", words: 1, container: true, ..PLAIN },
];
