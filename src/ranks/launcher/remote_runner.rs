//! How DeepSpeed's runner reaches the machines of a hostfile, and what happens to the words of a command on the way.
//!
//! pdsh joins its words by blanks and gives the line to ssh, so that the login shell of every machine reads it. DeepSpeed
//! (`PDSHRunner.parse_user_args`, alike in 0.14 to 0.19) puts an argument with a blank into double quotes and escapes only
//! the quotes in it; all else, the script included, it leaves as it is. pdsh itself replaces `%h`, `%n` and `%u`.
//! `mpirun` and `srun` send the words in a message of their own, which no shell reads. `srun` takes off the quotes that
//! DeepSpeed puts around a variable with a blank; `mpirun` leaves them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use super::context::LaunchContext;
use crate::base::source::{Source, Sourced};
use crate::command::argv::Args;
use crate::command::target::Target;
use crate::host::Host;
use crate::report::{Problem, Rule, reading};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteRunner {
    /// Nothing: the ranks run on this machine.
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

/// What a word is to the runner.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// The script, or the program after `--no_python`: taken as it is.
    Script,
    /// What follows it.
    Argument,
}

impl RemoteRunner {
    /// `options`: the user's own for the runner.
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

    /// The word that the runner must be given, so that this one arrives.
    pub fn word(self, word: &OsStr, kind: Word) -> OsString {
        let bytes = word.as_bytes();
        if self != RemoteRunner::Pdsh || is_shell_safe(bytes) {
            return word.to_os_string();
        }
        // The runner itself adds the quotes around such an argument, and escapes those in it.
        if kind == Word::Argument && bytes.contains(&b' ') {
            return OsString::from_vec(in_double_quotes(bytes, b"\\$`"));
        }
        OsString::from_vec([b"\"", in_double_quotes(bytes, b"\\$`\"").as_slice(), b"\""].concat())
    }

    /// What the runner hands on in a way that zlaunch cannot make safe.
    pub(super) fn check(self, context: &LaunchContext<'_>, options: &Args, words: &[OsString]) -> Vec<Problem> {
        match self {
            RemoteRunner::Pdsh => read_by_shells(context, options),
            RemoteRunner::OpenMpi | RemoteRunner::Hydra | RemoteRunner::Mvapich
                if words.iter().any(|word| word == ":") =>
            {
                let what = "`mpirun` starts another program after the word `:`";
                let help = "drop it, or --launcher-arg=--launcher=pdsh";
                Problem::error(Rule::Hosts, what).at("`:` in the command").fix(help).into()
            }
            // `SlurmRunner.get_cmd` starts `python -u SCRIPT`, whatever is to be run (0.14 to 0.19).
            RemoteRunner::Slurm if !matches!(context.job.target, Target::Script { .. }) => {
                let target = context.job.target.name();
                let what = format!("deepspeed's runner for Slurm starts scripts of Python only, not `{target}`");
                let problem = Problem::error(Rule::Launcher, what).at("--launcher-arg=--launcher=slurm");
                let help = "in a Slurm job, drop --hostfile and --launcher-arg: zlaunch starts itself on each machine \
                            through srun";
                problem.fix(help).into()
            }
            _ => Vec::new(),
        }
    }

    /// What the ranks need to find each other and do not have: these runners tell a rank neither its number nor how many
    /// there are, and DeepSpeed asks mpi4py.
    pub(crate) fn missing_ranks(self, context: &LaunchContext<'_>) -> Option<Problem> {
        let python = context.job.python.as_ref()?;
        let asks_mpi = matches!(self, RemoteRunner::OpenMpi | RemoteRunner::Mvapich | RemoteRunner::Slurm);
        (asks_mpi && python.lacks("mpi4py/__init__.py", "mpi4py")).then(|| {
            let what = "deepspeed's runner for Open MPI, MVAPICH or Slurm sets neither RANK nor WORLD_SIZE, and mpi4py, by \
                        which deepspeed finds them, is not installed: most trainers would fail, or train alone";
            let help = "pip install mpi4py; or drop --hostfile, and start zlaunch with mpirun or in a Slurm job: it gives \
                        each rank its place";
            Problem::warning(Rule::RanksByMpi, what).at("--launcher-arg=--launcher=…").fix(help)
        })
    }

    /// The user's options for the runner, and one that names variables for `mpirun` to hand on.
    pub(super) fn options(self, options: &Args, variables: &[String]) -> Vec<OsString> {
        if self != RemoteRunner::OpenMpi || variables.is_empty() {
            return options.words().to_vec();
        }
        let own = options.text("launcher_args").map(|own| own.value).into_iter();
        let named = variables.iter().map(|name| format!("-x {name}"));
        let value = own.chain(named).collect::<Vec<_>>().join(" ");
        if options.is_given("launcher_args") {
            return options.with("launcher_args", OsStr::new(&value));
        }
        // Joined, because argparse would take a value that begins with a dash for an option.
        [options.words(), &[format!("--launcher_args={value}").into()]].concat()
    }
}

/// What DeepSpeed puts between the words without quotes: `cd FOLDER; PYTHON -m … --master_addr=ADDRESS`.
fn read_by_shells(context: &LaunchContext<'_>, options: &Args) -> Vec<Problem> {
    let option = |name: &str| options.text(name);
    let folder = Sourced::new(context.host.cwd.clone().into_os_string(), Source::Machine("the folder you are in"));
    let python = Sourced::new(context.python(), Source::Machine("the interpreter"));
    let stated = [context.topology.master_addr.clone(), option("venv_script"), option("enable_each_rank_log")];
    let stated = stated.into_iter().flatten().map(|sourced| sourced.map(OsString::from));
    let unsafe_ones = [folder, python].into_iter().chain(stated).filter(|word| !is_shell_safe(word.value.as_bytes()));
    let problem = |unsafe_one: Sourced<OsString>| {
        let value = unsafe_one.value.to_string_lossy();
        let what =
            format!("`{value}` would be read by the shell of every machine: deepspeed's runner does not quote it");
        Problem::error(Rule::Hosts, what)
            .at(&unsafe_one.from)
            .fix("use letters, digits and `_-./=:,@+` there, or a link with such a name")
    };
    unsafe_ones.map(problem).collect()
}

/// The first word of a command that `deepspeed --hostfile` would send through the shells of several machines, and that they
/// would change. One that is quoted for them already is meant so.
pub(super) fn changed_word<'w>(options: &Args, words: &'w [OsString], host: &Host) -> Option<&'w OsStr> {
    let file = host.absolute(Path::new(&options.text("hostfile")?.value));
    let pdsh = options.text("launcher").is_none_or(|name| name.value.eq_ignore_ascii_case("pdsh"));
    if !pdsh || options.is_given("no_ssh") {
        return None;
    }
    let machines = reading::text_if_any(&file)?.lines().filter(|line| line.contains("slots=")).count();
    let word = words.iter().find(|word| is_changed(word.as_bytes()));
    word.filter(|_| machines > 1).map(OsString::as_os_str)
}

fn is_changed(word: &[u8]) -> bool {
    let quoted = |quote: u8| word.len() > 1 && word.starts_with(&[quote]) && word.ends_with(&[quote]);
    // The runner itself quotes an argument with a blank, though not for `$`.
    let special: &[u8] = if word.contains(&b' ') { b"$`\\" } else { b"\"'\\$`;&|<>()\n" };
    word.is_empty() || !quoted(b'\'') && !quoted(b'"') && word.iter().any(|byte| special.contains(byte))
}

/// Whether neither pdsh nor any shell reads more into these bytes.
pub(crate) fn is_shell_safe(bytes: &[u8]) -> bool {
    let is_safe = |b: &u8| b.is_ascii_alphanumeric() || b"_-./=:,@+".contains(b);
    !bytes.is_empty() && !bytes.starts_with(b"=") && bytes.iter().all(is_safe)
}

/// A text for between double quotes, and through pdsh.
pub(crate) fn in_double_quotes(text: &[u8], special: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(text.len() + 8);
    for byte in text {
        match byte {
            b'%' => escaped.push(b'%'),
            _ if special.contains(byte) => escaped.push(b'\\'),
            _ => {}
        }
        escaped.push(*byte);
    }
    escaped
}
