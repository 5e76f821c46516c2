//! DeepSpeed's runner reaches the machines of a hostfile through one of these programs.
//!
//! pdsh joins its words by blanks and gives the line to ssh, so that the login shell of every machine reads it. DeepSpeed
//! (`PDSHRunner.parse_user_args`, alike in 0.14 to 0.19) puts an argument with a blank into double quotes and escapes only
//! the quotes in it; all else, the script included, it leaves as it is. pdsh itself replaces `%h`, `%n` and `%u`.
//! zlaunch refuses a word that would not arrive as it is.
//! `mpirun` and `srun` send the words in a message of their own, which no shell reads. `srun` takes off the quotes that
//! DeepSpeed puts around a variable with a blank; `mpirun` leaves them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::context::LaunchContext;
use crate::base::source::{Source, Sourced};
use crate::command::argv::Args;
use crate::command::target::Target;
use crate::host::Host;
use crate::report::{Place, Problem, Rule, reading};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemoteRunner {
    Nothing,
    Pdsh,
    OpenMpi,
    /// The `mpirun` of MPICH and Intel MPI, which hands on the whole environment.
    Hydra,
    /// The same `mpirun`, but nobody numbers the ranks.
    Mvapich,
    /// Hands on the whole environment as well.
    Slurm,
}

impl RemoteRunner {
    pub(super) fn of(machines: usize, options: &Args) -> Self {
        let several = machines > 1 || options.is_given("force_multi");
        if !several || options.is_given("no_ssh") {
            return RemoteRunner::Nothing;
        }
        let name = options.text("launcher").map(|name| name.value.to_lowercase());
        match name.as_deref() {
            Some("openmpi") => RemoteRunner::OpenMpi,
            Some("mpich" | "impi") => RemoteRunner::Hydra,
            Some("mvapich") => RemoteRunner::Mvapich,
            Some("slurm") => RemoteRunner::Slurm,
            _ => RemoteRunner::Pdsh,
        }
    }

    /// Refuses what the runner cannot hand on. `words`: the script and its arguments.
    pub(super) fn check(self, context: &LaunchContext<'_>, options: &Args, words: &[OsString]) -> Vec<Problem> {
        match self {
            RemoteRunner::Pdsh => read_by_shells(context, options, words),
            RemoteRunner::OpenMpi | RemoteRunner::Hydra | RemoteRunner::Mvapich
                if words.iter().any(|word| word == ":") =>
            {
                let what = "`mpirun` starts another program after a `:`";
                let help = "drop it, or --launcher-arg=--launcher=pdsh";
                Problem::error(Rule::Hosts, what).at("`:` in the command").fix(help).into()
            }
            // `SlurmRunner.get_cmd` starts `python -u SCRIPT`, whatever is to be run (0.14 to 0.19).
            RemoteRunner::Slurm if !matches!(context.job.target, Target::Script { .. }) => {
                let target = context.job.target.name();
                let what = format!("DeepSpeed's Slurm runner only starts Python scripts, not `{target}`");
                let problem = Problem::error(Rule::Launcher, what).at("--launcher-arg=--launcher=slurm");
                let help = "in a Slurm job, drop --hostfile and --launcher-arg: zlaunch starts itself on each machine \
                            through srun";
                problem.fix(help).into()
            }
            _ => Vec::new(),
        }
    }

    /// Some runners tell a rank neither its number nor how many there are. DeepSpeed then asks mpi4py.
    pub(crate) fn missing_ranks(self, context: &LaunchContext<'_>) -> Option<Problem> {
        let asks_mpi = matches!(self, RemoteRunner::OpenMpi | RemoteRunner::Mvapich | RemoteRunner::Slurm);
        if !asks_mpi || !context.job.python.as_ref()?.lacks("mpi4py/__init__.py", "mpi4py") {
            return None;
        }
        let what = "DeepSpeed's runner for Open MPI, MVAPICH or Slurm sets neither RANK nor WORLD_SIZE, and mpi4py, \
                    which DeepSpeed then asks, is not installed: most trainers would fail, or train alone";
        let help = "pip install mpi4py; or drop --hostfile, and start zlaunch with mpirun or in a Slurm job: it tells \
                    each rank its place";
        Some(Problem::warning(Rule::RanksByMpi, what).at("--launcher-arg=--launcher=…").fix(help))
    }

    /// The user's options for the runner, and one that names variables for `mpirun` to hand on.
    pub(super) fn options(self, options: &Args, variables: &[String]) -> Vec<OsString> {
        if self != RemoteRunner::OpenMpi || variables.is_empty() {
            return options.words().to_vec();
        }
        let own = options.text("launcher_args").map(|own| own.value);
        let value: Vec<String> = own.into_iter().chain(variables.iter().map(|name| format!("-x {name}"))).collect();
        let value = value.join(" ");
        if options.is_given("launcher_args") {
            return options.with("launcher_args", OsStr::new(&value));
        }
        // Joined, because argparse would take a value that begins with a dash for an option.
        [options.words(), &[format!("--launcher_args={value}").into()]].concat()
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
