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
use super::deepspeed;
use super::spec::ExistingLauncher;
use crate::base::source::{Source, Sourced};
use crate::command::job::Job;
use crate::host::Host;
use crate::report::fix::drop_word;
use crate::report::{Place, Problem, Rule, reading};

/// Refuses what the runner cannot hand on of the line that it makes for the shells, with these arguments of the trainer:
/// `cd FOLDER; PYTHON -m … --master_addr=ADDRESS … SCRIPT ARGUMENTS`.
pub(crate) fn check(context: &LaunchContext<'_>, arguments: &[OsString]) -> Vec<Problem> {
    if !deepspeed::uses_pdsh(context) {
        return Vec::new();
    }
    let options = deepspeed::SPEC.parse(context.extra);
    if let Some(launcher) = options
        .text("launcher")
        .filter(|launcher| !launcher.value.eq_ignore_ascii_case("pdsh"))
    {
        let what = "zlaunch reaches the machines of a hostfile through pdsh only";
        let place = Place::option("--launcher-arg", launcher.spelling());
        let fix = drop_word("--hostfile")
            .remark("with mpirun or srun in front, zlaunch gives each rank its place");
        return Problem::error(Rule::Launcher, what)
            .at(place)
            .fix(fix)
            .into();
    }
    let folder = Sourced::new(
        context.host.cwd.clone().into_os_string(),
        Source::Machine("the current folder"),
    );
    let python = Sourced::new(context.python(), Source::Machine("the interpreter"));
    let stated = [
        context.topology.master_addr.clone(),
        options.text("venv_script"),
        options.text("enable_each_rank_log"),
    ];
    let stated = stated
        .into_iter()
        .flatten()
        .map(|sourced| sourced.map(OsString::from));
    let problem = |word: &OsStr, place: Place, help: &str| {
        let word = word.display();
        let what = format!(
            "`{word}` would be read by the shell on every machine: DeepSpeed's runner does not quote it"
        );
        Problem::error(Rule::Hosts, what).at(place).fix(help)
    };
    let mut problems = Vec::new();
    for part in [folder, python]
        .into_iter()
        .chain(stated)
        .filter(|part| !is_shell_safe(part.value.as_bytes()))
    {
        let help = "use only letters, digits and `_-./=:,@+` there, or a link with such a name";
        problems.push(problem(&part.value, Place::from(&part.from), help));
    }
    let mut words = context.rank_words("--module");
    words.retain(|word| word != "--module" && word != "--no_python");
    words.extend_from_slice(arguments);
    if let Some(word) = changed_words(&words).next() {
        let help = "put it in a file, or drop --hostfile and start zlaunch on every machine: torchrun passes on any argument";
        problems.push(problem(word, Place::from("the command"), help));
    }
    problems
}

impl ExistingLauncher {
    /// Warns of words that a runner in the command passes through the shells of a hostfile's machines.
    pub(crate) fn changed_by_shells(&self, job: &Job, host: &Host) -> Option<Problem> {
        let is_pdsh = self
            .args
            .text("launcher")
            .is_none_or(|name| name.value.eq_ignore_ascii_case("pdsh"));
        let file = self
            .args
            .text("hostfile")
            .filter(|_| is_pdsh && !self.args.is_given("no_ssh"))?;
        let text = reading::text_if_any(&host.absolute(Path::new(&file.value))).unwrap_or_default();
        if self.spec.launcher != deepspeed::SPEC.launcher || text.matches("slots=").count() < 2 {
            return None;
        }
        let words = [
            &[job.target.word().to_os_string()],
            &job.rank_args(None)[..],
        ]
        .concat();
        // A word that is quoted for the shells already is meant so.
        let is_quoted = |word: &str| {
            word.len() > 1
                && ['\'', '"']
                    .iter()
                    .any(|it| word.starts_with(*it) && word.ends_with(*it))
        };
        let mut changed = changed_words(&words).map(|word| word.to_string_lossy());
        let (program, word) = (&self.name, changed.find(|word| !is_quoted(word))?);
        let what = format!(
            "`{program}` passes `{word}` through a shell on every machine, which may change it"
        );
        Some(Problem::warning(Rule::ChangedByShells, what).at(format!("{program} --hostfile")).fix(
            "put it in a file, or start zlaunch on every machine without the launcher: torchrun passes on any argument",
        ))
    }
}

/// The words of a script and its arguments that the shells or pdsh would change.
fn changed_words(words: &[OsString]) -> impl Iterator<Item = &OsString> {
    let changed = words.iter().enumerate().filter(|(at, word)| {
        let word = word.as_bytes();
        // The runner itself quotes an argument with a blank.
        let is_quoted = *at > 0 && word.contains(&b' ');
        let special: &[u8] = if is_quoted {
            b"$`\\%"
        } else {
            b" \t\n\"'\\$`;&|<>()*?{~#%"
        };
        word.is_empty()
            || !is_quoted && word[0] == b'='
            || word.iter().any(|byte| special.contains(byte))
    });
    changed.map(|(_, word)| word)
}

/// Neither pdsh nor any shell reads more into these bytes.
pub(crate) fn is_shell_safe(bytes: &[u8]) -> bool {
    !matches!(bytes, [] | [b'=', ..])
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || b"_-./=:,@+".contains(b))
}
