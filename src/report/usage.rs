//! Sentences about what was typed.

use std::ffi::OsStr;
use std::path::Path;

use super::fix::{Fixes, give, give_as, run};
use super::place::Place;
use super::problem::Problem;
use super::suggestion::{did_you_mean, nearest};
use super::tables::rules::Rule;
use crate::base::size::number_meant;
use crate::base::source::Sourced;

pub(crate) fn nothing_to_launch(subcommand: &str, config: &str) -> Problem {
    let zlaunch = if subcommand.is_empty() {
        "zlaunch".to_string()
    } else {
        format!("zlaunch {subcommand}")
    };
    Problem::error(Rule::Usage, "there is no command to launch")
        .at(format!("{zlaunch} [OPTIONS] [--] COMMAND [ARGS]..."))
        .fix(
            run(format!("{zlaunch} --deepspeed {config} -- swift sft --model Qwen/Qwen3-8B --dataset data.jsonl"))
                .see("`zlaunch -h` prints an overview"),
        )
}

/// The last word is only a space, which stands behind a `\` that should end the line.
pub(crate) fn only_a_space() -> Problem {
    let what = "the command ends with a space after a `\\`, so the next line is not part of it";
    Problem::error(Rule::Usage, what)
        .at("` `")
        .fix("remove the space after the last `\\`")
}

/// `line`: the command line with the option in front.
pub(crate) fn dry_run_behind(word: &str, line: &str) -> Problem {
    let what =
        format!("`{word}` comes after the command, so it goes to the trainer and training starts");
    Problem::warning(Rule::AfterTheCommand, what)
        .at(word)
        .fix(run(line))
}

pub(crate) fn not_text(from: &str, value: &OsStr) -> Problem {
    Problem::error(
        Rule::Usage,
        format!("the value of `{from}` is not UTF-8 text"),
    )
    .at(Place::option(from, value.to_string_lossy()))
    .fix("use UTF-8 here; arguments after the command may be any bytes")
}

pub(crate) fn not_one_of(given: &Sourced<String>, known: &[&str]) -> Problem {
    let all = match known.len() {
        count if count > 20 => format!("one of {} and {} more", known[..10].join(", "), count - 10),
        _ => format!("one of {}", known.join(", ")),
    };
    let value = given.value.as_str();
    let mut words = known.iter().copied();
    let near = nearest(value, words.clone())
        .or_else(|| words.find(|word| value.len() >= 4 && word.starts_with(value)));
    let fixes = match near {
        Some(word) => give_as(&given.from, word).meaning(word).see(all),
        None => Fixes::from(all),
    };
    Problem::error(
        Rule::Usage,
        format!("invalid value `{value}` for {}", given.from),
    )
    .at(given)
    .fix(fixes)
}

/// `wanted` completes the sentence: `a dotted key`.
pub(crate) fn is_not(wanted: &str, sourced: &Sourced<String>, example: &str) -> Problem {
    Problem::error(Rule::Usage, format!("`{}` is not {wanted}", sourced.value))
        .at(sourced)
        .fix(give_as(&sourced.from, example))
}

pub(crate) fn not_a_number(
    sourced: &Sourced<String>,
    least: u64,
    most: u64,
    example: &str,
) -> Problem {
    let wanted = if most >= u64::from(u32::MAX) {
        format!("a whole number of at least {least}")
    } else {
        format!("a whole number from {least} to {most}")
    };
    // torchrun takes a range of machines, `1:2`.
    let last = sourced
        .value
        .rsplit_once(':')
        .map(|(_, last)| last)
        .filter(|last| last.parse::<u32>().is_ok());
    match number_meant(&sourced.value, &sourced.from.to_string()) {
        Some(meant) if (least..=most).contains(&meant) => {
            is_not(&wanted, sourced, &meant.to_string())
        }
        _ => is_not(&wanted, sourced, last.unwrap_or(example)),
    }
}

/// Suggests the number in `8gpus`, and `gpu` for `all`.
pub(crate) fn not_a_number_of_ranks(sourced: &Sourced<String>) -> Problem {
    let number = sourced
        .value
        .trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let meant = match number.parse::<u32>() {
        Ok(1..) => number,
        _ if sourced.value.eq_ignore_ascii_case("all") => "gpu",
        _ => "N",
    };
    is_not(
        "a number of ranks: a whole number of at least 1, `gpu` or `cpu`",
        sourced,
        meant,
    )
}

/// `next`: the word behind it, if that is not an option.
pub(crate) fn not_an_assignment(
    sourced: &Sourced<String>,
    form: &str,
    next: Option<&str>,
) -> Problem {
    let (name, _) = form.split_once('=').unwrap_or((form, ""));
    let is_key = !sourced.value.is_empty() && !sourced.value.contains(['=', ':', ' ', '{']);
    let key = if is_key { &sourced.value } else { name };
    is_not(form, sourced, &format!("{key}={}", next.unwrap_or("VALUE")))
}

/// `containing`: the names that the word is a part of.
pub(crate) fn unknown_subject(words: &str, nearest: Option<&str>, containing: &[&str]) -> Problem {
    // A word that is a part of others is not a typo.
    let nearest = nearest.filter(|near| containing.is_empty() || containing.contains(near));
    let help = match containing {
        [] => "`zlaunch explain` lists what it can explain".to_string(),
        [one] if nearest.is_none() => format!("did you mean `{one}`?"),
        _ => format!(
            "names that contain it: {}",
            containing[..containing.len().min(12)].join(", ")
        ),
    };
    Problem::error(
        Rule::Usage,
        format!("zlaunch has no explanation for `{words}`"),
    )
    .at(format!("explain {words}"))
    .fix(did_you_mean(nearest, &help))
}

pub(crate) fn meant(word: &str, what: &str, line: &str) -> Problem {
    Problem::error(Rule::Usage, format!("`{word}` is {what}"))
        .at(word)
        .fix(run(line))
}

/// `command` is what was typed: `zlaunch shims`.
pub(crate) fn missing_argument(name: &str, command: &str, usage: &str) -> Problem {
    Problem::error(Rule::Usage, format!("`{command}` needs {name}"))
        .at(command)
        .fix(run(usage))
}

pub(crate) fn unexpected_argument(word: &str, command: &str, usage: &str) -> Problem {
    Problem::error(Rule::Usage, format!("unexpected argument `{word}`"))
        .at(command)
        .fix(run(usage))
}

pub(crate) fn would_overwrite(path: &Path) -> Problem {
    Problem::error(
        Rule::Generate,
        format!("`{}` already exists", path.display()),
    )
    .at(Place::option("-o", path.display().to_string()))
    .fix(give("--force", "").remark("to overwrite it"))
}

pub(crate) fn contradicting_options(one: &str, two: &str, help: &str) -> Problem {
    Problem::error(Rule::Usage, format!("`{one}` cannot be used with `{two}`"))
        .at(format!("{one} {two}"))
        .fix(help)
}

pub(crate) fn nothing_to_fit() -> Problem {
    Problem::error(Rule::Usage, "no model is given")
        .at("zlaunch fit")
        .fix(
            run("zlaunch fit --params 8B --gpu H100x8").or(run(
                "zlaunch fit --gpus 8 -- swift sft --model Qwen/Qwen3-8B",
            )
            .remark("for a training command")),
        )
}

/// A number of nvidia-smi is in MiB; what people know of a machine is in GiB.
pub(crate) fn size_without_unit(size: &Sourced<String>) -> Problem {
    let is_large = size
        .value
        .trim()
        .parse::<f64>()
        .is_ok_and(|number| number >= 4096.0);
    without_unit(size, if is_large { "MiB" } else { "GiB" })
}

pub(crate) fn without_unit(given: &Sourced<String>, unit: &str) -> Problem {
    let number = given.value.trim();
    let fix = give_as(&given.from, format!("{number}{unit}"));
    Problem::error(Rule::Usage, format!("`{number}` has no unit"))
        .at(given)
        .fix(fix)
}

pub(crate) fn unknown_card(name: &Sourced<String>, nearest: Option<&str>) -> Problem {
    let memory = give("--gpus", 8)
        .and(give("--gpu-memory", "80GiB"))
        .remark("give its memory instead of its name");
    let fixes = match nearest {
        _ if name.value.trim().parse::<u32>().is_ok() => {
            give("--gpus", name.value.trim()).meaning("--gpus").into()
        }
        Some(nearest) => give("--gpu", nearest).meaning(nearest).or(memory),
        None => memory.into(),
    };
    Problem::error(Rule::Usage, format!("unknown GPU `{}`", name.value))
        .at(name)
        .fix(fixes)
}
