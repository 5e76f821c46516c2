//! An option that zlaunch does not have: another launcher's, a misspelt one, or the trainer's own in the wrong place.

use std::ffi::OsString;

use crate::base::options::{Arity, CHECK, DOCTOR, FIT, GENERATE, Opt, SUBCOMMANDS, fit, generate, launch};
use crate::base::shell;
use crate::command::arguments;
use crate::config::template::Search;
use crate::host::Host;
use crate::report::{self, Problem};

/// What other launchers call our options, with `_`.
const ELSEWHERE: &[(&str, Opt)] = &[
    ("num_processes", launch::NPROC_PER_NODE),
    ("num_procs", launch::NPROC_PER_NODE),
    ("nproc", launch::NPROC_PER_NODE),
    ("np", launch::NPROC_PER_NODE),
    ("ngpus", launch::NPROC_PER_NODE),
    ("n_gpus", launch::NPROC_PER_NODE),
    ("gpus_per_node", launch::NPROC_PER_NODE),
    ("ntasks_per_node", launch::NPROC_PER_NODE),
    ("num_machines", launch::NNODES),
    ("nodes", launch::NNODES),
    ("machine_rank", launch::NODE_RANK),
    ("main_process_ip", launch::MASTER_ADDR),
    ("main_process_port", launch::MASTER_PORT),
    ("deepspeed_config", launch::DEEPSPEED),
    ("deepspeed_config_file", launch::DEEPSPEED),
    ("ds_config", launch::DEEPSPEED),
    ("template", launch::DEEPSPEED),
    ("templates", launch::TEMPLATE_DIR),
    ("dryrun", launch::DRY_RUN),
    ("dry", launch::DRY_RUN),
    ("save_config", launch::CONFIG_OUT),
];

/// The refusal. The option, which stands at `at`, goes from the words with its value, or behind the command if it belongs
/// there: then the refusal has no help, since that is the whole line as it is in the end.
pub(super) fn unknown_option(given: &str, at: usize, words: &mut Vec<OsString>, host: &Host) -> Problem {
    let name = given.trim_start_matches('-').replace('-', "_");
    let first = words.first().and_then(|word| word.to_str());
    let place = SUBCOMMANDS.iter().map(|known| known.name).find(|name| Some(*name) == first).unwrap_or_default();
    if Search::default().knows(given.trim_start_matches('-')) {
        words.remove(at);
        let meant = format!("--deepspeed {}", given.trim_start_matches('-'));
        return report::unknown_option(given, Some(&meant));
    }
    let elsewhere = ELSEWHERE.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| *ours);
    let is_trainers = || arguments::is_recorded(&name);
    let near = elsewhere.or_else(|| if is_trainers() { None } else { nearest_option(&name, place) });
    let own_value = words[at].to_string_lossy().contains('=');
    if let Some(option) = near {
        let count = 1 + usize::from(option.arity != Arity::Switch && !own_value && has_value(words, at, host));
        words.drain(at..at + count);
        return report::unknown_option(given, Some(&spelt(&option, place)));
    }
    let count = 1 + usize::from(!own_value && has_value(words, at, host));
    let moved: Vec<OsString> = words.drain(at..at + count).collect();
    let has_command = ["", CHECK.name, DOCTOR.name, FIT.name].contains(&place) && command_at(words, host).is_some();
    if !has_command {
        return report::unknown_option(given, None);
    }
    words.extend(moved);
    report::option_of_the_trainer(given)
}

/// As the help of the place spells it.
fn spelt(option: &Opt, place: &str) -> String {
    if place == FIT.name && *option == launch::NPROC_PER_NODE { "--gpus".to_string() } else { option.flag() }
}

/// An option of this place that is spelt almost like it, or begins with it.
fn nearest_option(name: &str, place: &str) -> Option<Opt> {
    let tables: &[&[Opt]] = match place {
        _ if place == FIT.name => &[fit::ALL, launch::ALL],
        _ if place == GENERATE.name => &[generate::ALL, &[launch::TEMPLATE_DIR]],
        _ => &[launch::ALL],
    };
    let all = || tables.iter().copied().flatten();
    let spellings = || all().flat_map(|option| option.aliases.iter().chain([&option.name]));
    let near = report::nearest(name, spellings().copied());
    let found = near.or_else(|| {
        let begins = |spelling: &&&str| name.len() >= 3 && spelling.replace('-', "_").starts_with(name);
        spellings().find(begins).copied()
    })?;
    all().find(|option| option.name == found || option.aliases.contains(&found)).copied()
}

/// Whether the next word is the value of the option, and not the command.
fn has_value(words: &[OsString], at: usize, host: &Host) -> bool {
    let Some(next) = words.get(at + 1) else { return false };
    let is_option = next.as_encoded_bytes().starts_with(b"-");
    !is_option && (words[at..].iter().any(|word| word == "--") || host.find_program(next).is_none())
}

/// Where the command begins, if there is one behind the options.
fn command_at(words: &[OsString], host: &Host) -> Option<usize> {
    let dashes = words.iter().position(|word| word == "--").map(|at| at + 1);
    let program = || words.iter().position(|word| !word.is_empty() && host.find_program(word).is_some());
    dashes.or_else(program).filter(|at| *at < words.len())
}

/// The line that was probably meant.
pub(super) fn line(words: &[OsString]) -> String {
    let words = [&[OsString::from("zlaunch")], words].concat();
    shell::line(&words).to_string_lossy().into_owned()
}
