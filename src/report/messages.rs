//! Messages that more than one place needs: about what was typed, the arguments of the trainer, files and programs.

use std::{
    ffi::OsStr, fmt, io, ops::RangeInclusive, os::unix::process::ExitStatusExt, path::Path,
    process::ExitStatus,
};

use super::{
    fix::{Fix, Fixes, Owner, drop_given, drop_word, give, give_as, run, say},
    nearest::nearest,
    problem::{NOT_EXECUTABLE, NOT_FOUND, Place, Problem, REFUSED},
    tables::{outputs::OutputFile, rules::Rule},
};
use crate::base::{
    size::number_meant,
    source::{Source, Sourced},
};

fn usage_error(what: impl Into<String>) -> Problem {
    Rule::Usage.error(what)
}

pub fn nothing_to_launch(subcommand: &str, config: &str) -> Problem {
    let zlaunch = if subcommand.is_empty() {
        "zlaunch".to_string()
    } else {
        format!("zlaunch {subcommand}")
    };
    usage_error("there is no command to launch")
        .at(format!("{zlaunch} [OPTIONS] [--] COMMAND [ARGS]..."))
        .fix(
            run(format!("{zlaunch} --deepspeed {config} -- swift sft --model Qwen/Qwen3-8B --dataset data.jsonl"))
                .or("see the overview: zlaunch -h"),
        )
}

/// The last word is only a space, which stands behind a `\` that should end the line.
pub fn only_a_space() -> Problem {
    let what = "the command ends with a space after a `\\`, so the next line is not part of it";
    usage_error(what)
        .at("` `")
        .fix("remove the space after the last `\\`")
}

pub fn not_one_of(given: &Sourced<String>, known: &[&str]) -> Problem {
    let all = one_of(known, if known.len() > 20 { 10 } else { 20 });
    let value = given.value.as_str();
    let fixes = match nearest(value, known.iter().copied()) {
        Some(word) => give_as(&given.from, word).meaning(word).or(all),
        None => Fixes::from(all),
    };
    usage_error(format!("invalid value `{value}` for {}", given.from))
        .at(given)
        .fix(fixes)
}

/// `wanted` completes the sentence: `a dotted key`. `meant` is what was probably meant, or else an example.
pub fn is_not(wanted: &str, sourced: &Sourced<String>, meant: Result<&str, &str>) -> Problem {
    let give = |word| give_as(&sourced.from, word);
    usage_error(format!("`{}` is not {wanted}", sourced.value))
        .at(sourced)
        .fix(match meant {
            Ok(meant) => give(meant).correcting(meant),
            Err(example) => say(format_args!("write it as in `{example}`")),
        })
}

pub fn not_a_number(
    sourced: &Sourced<String>,
    range: &RangeInclusive<u64>,
    example: &str,
) -> Problem {
    let least = range.start();
    let wanted = if *range.end() >= u64::from(u32::MAX) {
        format!("a whole number of at least {least}")
    } else {
        format!("a whole number from {least} to {}", range.end())
    };
    // The end of a range: `1:4`.
    let last = sourced.value.rsplit(':').next().unwrap_or_default();
    let meant = number_meant(last, &sourced.from.to_string())
        .filter(|it| range.contains(it))
        .map(|it| it.to_string());
    is_not(&wanted, sourced, meant.as_deref().ok_or(example))
}

pub fn meant(word: &str, what: &str, line: &str) -> Problem {
    usage_error(format!("`{word}` is {what}"))
        .at(word)
        .fix(run(line))
}

/// `command` is what was typed: `zlaunch shims`.
pub fn missing_argument(name: &str, command: &str, usage: &str) -> Problem {
    usage_error(format!("`{command}` needs {name}"))
        .at(command)
        .fix(run(usage))
}

pub fn unexpected_argument(word: &str, command: &str, usage: &str) -> Problem {
    usage_error(format!("unexpected argument `{word}`"))
        .at(command)
        .fix(run(usage))
}

pub fn would_overwrite(path: &Path) -> Problem {
    Rule::Generate
        .error(format!("`{}` already exists", path.display()))
        .at(Place::option("-o", path.display().to_string()))
        .fix(give("--force", "").remark("to overwrite it"))
}

pub fn contradicting_options(one: &str, two: &str, help: &str) -> Problem {
    usage_error(format!("`{one}` cannot be used with `{two}`"))
        .at(format!("{one} {two}"))
        .fix(help)
}

pub fn nothing_to_fit() -> Problem {
    usage_error("no model is given").at("zlaunch fit").fix(
        run("zlaunch fit --params 8B --gpu H100x8").or(run(
            "zlaunch fit --gpus 8 -- swift sft --model Qwen/Qwen3-8B",
        )
        .remark("for a training command")),
    )
}

pub fn unknown_card(name: &Sourced<String>, nearest: Option<&str>) -> Problem {
    let memory = say("give its memory instead of its name: --gpus N --gpu-memory SIZE");
    let fixes = match nearest {
        _ if name.value.trim().parse::<u32>().is_ok() => {
            let number = give("--gpus", name.value.trim());
            drop_given(name).and(number).meaning("--gpus").into()
        }
        Some(nearest) => give("--gpu", nearest).meaning(nearest).or(memory),
        None => memory.into(),
    };
    usage_error(format!("unknown GPU `{}`", name.value))
        .at(name)
        .fix(fixes)
}

/// The first words of a list, and how many more there are.
fn one_of(words: &[&str], shown: usize) -> String {
    match words.split_at_checked(shown) {
        Some((first, more @ [_, ..])) => {
            format!("one of {} and {} more", first.join(", "), more.len())
        }
        _ => format!("one of {}", words.join(", ")),
    }
}

#[derive(Clone, Copy)]
pub enum Wanted<'a> {
    Bool,
    Int,
    Number,
    Text,
    /// A mapping, which no word of a command line can be.
    Mapping,
    OneOf(&'a [&'a str]),
}

use Wanted::{Bool, Int, Mapping, Number, OneOf, Text};

impl fmt::Display for Wanted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Bool => f.write_str("true or false"),
            Int => f.write_str("an integer"),
            Number => f.write_str("a number"),
            Text => f.write_str("a value"),
            Mapping => f.write_str("a mapping, which cannot be an argument"),
            OneOf(choices) => f.write_str(&one_of(choices, 8)),
        }
    }
}

impl Wanted<'_> {
    pub fn meant(self, name: &str, value: &str) -> Option<String> {
        // `4096，`, `8;`
        let value = value.trim_matches(|c: char| !c.is_alphanumeric() && !"+-.%".contains(c));
        match self {
            Bool => nearest(value, ["true", "false"]).map(str::to_string),
            Int => number_meant(value, name).map(|number| number.to_string()),
            Number => {
                if let Some(Ok(percent)) = value.strip_suffix('%').map(str::parse::<f64>) {
                    return Some((percent / 100.0).to_string());
                }
                // `2,000` is rather 2000 than 2, and `1e_5` is 1e-5.
                let with_point = value.replacen(',', ".", 1).replace("e_", "e-");
                Int.meant(name, value)
                    .or_else(|| with_point.parse::<f64>().is_ok().then_some(with_point))
            }
            OneOf(choices) => nearest(value, choices.iter().copied()).map(str::to_string),
            Text | Mapping => None,
        }
    }

    /// Nobody but the user knows the value.
    fn to_be_given(self, option: &str) -> Fix {
        match self {
            Int | Number => give(option, "NUMBER"),
            Text | Mapping => give(option, "VALUE"),
            Bool | OneOf(_) => say("choose one of them"),
        }
    }
}

/// `option` has no dashes if it stands in a run file.
pub fn argument_of_wrong_type(option: &str, value: &str, wanted: Wanted) -> Problem {
    refused_value(Owner::Trainer, "the trainer", option, value, wanted)
}

/// `owner` and `who` tell whose option it is.
pub fn refused_value(
    owner: Owner,
    who: &str,
    option: &str,
    value: &str,
    wanted: Wanted,
) -> Problem {
    let place = Place::option(option, value);
    let fix = match wanted.meant(option, value) {
        Some(meant) => give(option, &meant).correcting(&meant),
        // Only a config can leave it to the trainer.
        None if value == "auto" && matches!(wanted, Int | Number) => drop_word(&place),
        None => wanted.to_be_given(option),
    };
    let what = format!("{who} refuses `{place}`: it expects {wanted}");
    Rule::Argument.error(what).at(place).fix(fix.of(owner))
}

pub fn argument_without_value(option: &str, wanted: Wanted) -> Problem {
    let fix = match wanted {
        Bool => give(option, "true"),
        _ => wanted.to_be_given(option),
    };
    Rule::Argument
        .error(format!(
            "the trainer refuses `{option}` alone: it expects {wanted}"
        ))
        .at(Place::option(option, ""))
        .fix(fix.of(Owner::Trainer))
}

pub fn cannot_write(output: OutputFile, path: &Path, why: &io::Error) -> Problem {
    let what = format!("{} cannot be written: {why}", output.what);
    Rule::Write.error(what).at(path).fix(output.help)
}

pub fn unusable_port(port: &Sourced<u16>, why: &str) -> Problem {
    let fixes: Fixes = match &port.from {
        Source::Default => give("--master_port", "PORT").of(Owner::Launcher).into(),
        from => drop_word(from)
            .remark("torchrun takes a free one on a single machine")
            .or(give_as(from, "PORT").remark("the same on every machine")),
    };
    Rule::Port
        .error(format!("port {} on this machine {why}", port.value))
        .at(port)
        .fix(fixes)
}

pub fn cannot_execute(program: &OsStr, why: &io::Error) -> Problem {
    let name = program.to_string_lossy();
    let what = match why.kind() {
        io::ErrorKind::NotFound => "was not found",
        io::ErrorKind::PermissionDenied => "is not executable",
        _ => &format!("cannot be executed: {why}"),
    };
    Rule::Exec
        .error(format!("`{name}` {what}"))
        .at(name.as_ref())
        .fix("check the command, and that its environment is active")
        .status(if why.kind() == io::ErrorKind::NotFound {
            NOT_FOUND
        } else {
            NOT_EXECUTABLE
        })
}

pub fn cannot_start_ranks(what: &str, why: &io::Error) -> Problem {
    Rule::Ranks
        .error(format!("{what}: {why}"))
        .at(Place::option("--launcher", "local"))
        .fix("`ulimit -a` shows the limits of this session")
}

/// The exit status is that of the rank, as a shell reports it.
pub fn rank_failed(rank: usize, ending: ExitStatus, several: bool) -> Problem {
    let signal = ending.signal();
    let status = ending.code().unwrap_or(128 + signal.unwrap_or_default());
    let others = if several {
        "; the others were stopped"
    } else {
        ""
    };
    Rule::Rank.error(format!("rank {rank} failed ({ending}){others}"))
        .at(format!("rank {rank}"))
        .fix(match signal {
            Some(9) => "`dmesg` shows whether the system ran out of memory",
            _ => "see its output above; --launcher torchrun --launcher-arg=--log-dir=DIR --launcher-arg=--redirects=3 writes each rank's output to its own files",
        })
        .status(u8::try_from(status).unwrap_or(REFUSED))
}

pub fn did_you_mean(nearest: Option<&str>, otherwise: &str) -> String {
    nearest.map_or_else(
        || otherwise.to_string(),
        |word| format!("did you mean `{word}`? {otherwise}"),
    )
}
