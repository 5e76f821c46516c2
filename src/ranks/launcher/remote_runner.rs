//! DeepSpeed's runner reaches the machines of a hostfile through pdsh.
//!
//! pdsh joins its words by blanks and gives the line to ssh, so that the login shell of every machine reads it. DeepSpeed
//! (`PDSHRunner.parse_user_args`, alike in 0.14 to 0.19) puts an argument with a blank into double quotes and escapes only
//! the quotes in it; all else, the script included, it leaves as it is. pdsh itself replaces `%h`, `%n` and `%u`.
//! zlaunch refuses a word that would not arrive as it is, and the runner's other ways: under `mpirun` and `srun` it
//! numbers no ranks.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::context::LaunchContext;
use crate::base::source::{Source, Sourced};
use crate::command::argv::Args;
use crate::host::Host;
use crate::report::fix::drop_word;
use crate::report::{Place, Problem, Rule, reading};

/// Refuses what the runner cannot hand on. `words`: the script and its arguments.
pub(super) fn check(context: &LaunchContext<'_>, options: &Args, words: &[OsString]) -> Vec<Problem> {
    match options.text("launcher").filter(|launcher| !launcher.value.eq_ignore_ascii_case("pdsh")) {
        Some(launcher) => {
            let what = "zlaunch reaches the machines of a hostfile through pdsh only";
            let place = Place::option("--launcher-arg", launcher.spelling());
            let fix = drop_word("--hostfile").remark("with mpirun or srun in front, zlaunch gives each rank its place");
            Problem::error(Rule::Launcher, what).at(place).fix(fix).into()
        }
        None => read_by_shells(context, options, words),
    }
}

/// The line that DeepSpeed makes for the shells: `cd FOLDER; PYTHON -m … --master_addr=ADDRESS … SCRIPT ARGUMENTS`.
fn read_by_shells(context: &LaunchContext<'_>, options: &Args, words: &[OsString]) -> Vec<Problem> {
    let folder = Sourced::new(context.host.cwd.clone().into_os_string(), Source::Machine("the current folder"));
    let python = Sourced::new(context.python(), Source::Machine("the interpreter"));
    let stated =
        [context.topology.master_addr.clone(), options.text("venv_script"), options.text("enable_each_rank_log")];
    let stated = stated.into_iter().flatten().map(|sourced| sourced.map(OsString::from));
    let problem = |word: &OsStr, place: Place, help: &str| {
        let word = word.display();
        let what =
            format!("`{word}` would be read by the shell on every machine: DeepSpeed's runner does not quote it");
        Problem::error(Rule::Hosts, what).at(place).fix(help)
    };
    let mut problems = Vec::new();
    for part in [folder, python].into_iter().chain(stated).filter(|part| !is_shell_safe(part.value.as_bytes())) {
        let help = "use only letters, digits and `_-./=:,@+` there, or a link with such a name";
        problems.push(problem(&part.value, Place::from(&part.from), help));
    }
    if let Some(word) = changed_words(words).next() {
        let help =
            "put it in a file, or drop --hostfile and start zlaunch on every machine: torchrun passes on any argument";
        problems.push(problem(word, Place::from("the command"), help));
    }
    problems
}

pub(super) fn uses_shells(options: &Args, host: &Host) -> bool {
    let pdsh = options.text("launcher").is_none_or(|name| name.value.eq_ignore_ascii_case("pdsh"));
    let Some(file) = options.text("hostfile") else { return false };
    let text = reading::text_if_any(&host.absolute(Path::new(&file.value))).unwrap_or_default();
    pdsh && !options.is_given("no_ssh") && text.lines().filter(|line| line.contains("slots=")).count() > 1
}

/// The words of a script and its arguments that the shells or pdsh would change.
pub(super) fn changed_words(words: &[OsString]) -> impl Iterator<Item = &OsString> {
    let is_changed = |(at, word): &(usize, &OsString)| {
        let word = word.as_bytes();
        // The runner itself quotes an argument with a blank.
        let is_quoted = *at > 0 && word.contains(&b' ');
        let special: &[u8] = if is_quoted { b"$`\\%" } else { b" \t\n\"'\\$`;&|<>()*?{~#%" };
        word.is_empty() || !is_quoted && word[0] == b'=' || word.iter().any(|byte| special.contains(byte))
    };
    words.iter().enumerate().filter(is_changed).map(|(_, word)| word)
}

/// Neither pdsh nor any shell reads more into these bytes.
pub(crate) fn is_shell_safe(bytes: &[u8]) -> bool {
    let is_safe = |b: &u8| b.is_ascii_alphanumeric() || b"_-./=:,@+".contains(b);
    !bytes.is_empty() && !bytes.starts_with(b"=") && bytes.iter().all(is_safe)
}
