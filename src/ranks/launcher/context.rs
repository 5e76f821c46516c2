//! The values that the command lines of the launchers are made from.

use std::ffi::OsString;
use std::fmt;
use std::iter;
use std::path::PathBuf;
use std::slice::from_ref;

use super::tables::launchers::Launcher;
use crate::base::recorded::Version;
use crate::base::source::{Source, Sourced};
use crate::command::job::Job;
use crate::command::python::Python;
use crate::command::target::Target;
use crate::host::Host;
use crate::ranks::topology::{HostFlags, RankFlags, Topology};
use crate::report::fix::{drop_word, give};
use crate::report::{Problem, Rule};

/// A launcher that cannot start the ranks.
pub(super) fn refused(what: impl Into<String>) -> Problem {
    Problem::error(Rule::Launcher, what)
}

impl Launcher {
    /// True if it starts zlaunch again, which then writes the files and starts the ranks.
    pub(crate) fn runs_zlaunch(self) -> bool {
        matches!(self, Launcher::Srun | Launcher::Prefix(_))
    }
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let option = Launcher::NAMES
            .iter()
            .find(|(_, launcher)| *launcher == Some(*self));
        f.write_str(match self {
            Launcher::Accelerate => "accelerate",
            Launcher::Prefix(name) => name,
            _ => option.map_or("", |(name, _)| name),
        })
    }
}

/// `--log-dir` and `--prefix`.
#[derive(Default)]
pub(crate) struct OutputFlags {
    pub(crate) log_dir: Option<Sourced<PathBuf>>,
    pub(crate) prefix: Option<Source>,
}

impl OutputFlags {
    /// Those given as flags. A variable may be set for a whole site, and gives way.
    pub(super) fn flags(&self) -> impl Iterator<Item = &Source> {
        let given = self
            .log_dir
            .iter()
            .map(|folder| &folder.from)
            .chain(&self.prefix);
        given.filter(|from| from.is_flag())
    }

    pub(super) fn check(&self, launcher: Launcher) -> Result<(), Problem> {
        let (Launcher::Local, Some(from)) = (launcher, self.flags().next()) else {
            return Ok(());
        };
        let what = "`local` does not log the ranks' output: log folders and prefixes need torchrun";
        let torchrun = give("--launcher", "torchrun").remark("where torch is installed");
        Err(refused(what).at(from).fix(torchrun.or(drop_word(from))))
    }

    /// Warns of these flags where zlaunch does not tell torchrun to start the ranks: their output is not its own. Behind `srun`
    /// or a prefix it looks again.
    /// `in_command`: the launcher is the command's own.
    pub(crate) fn without_effect(&self, launcher: Launcher, in_command: bool) -> Vec<Problem> {
        if launcher == Launcher::Torchrun && !in_command || launcher.runs_zlaunch() {
            return Vec::new();
        }
        let problems = self.flags().map(|from| {
            let what = format!("{from} has no effect: `{launcher}` starts the ranks, not zlaunch");
            let help = "let zlaunch start the ranks, or use the launcher's own option";
            Problem::warning(Rule::OutputWithoutEffect, what)
                .at(from)
                .fix(help)
        });
        problems.collect()
    }
}

/// `python -m` for versions that cannot leave the current folder out: it is removed before anything is imported from it.
const WITHOUT_FOLDER: &str = "import sys; del sys.path[0], sys.argv[0]; import runpy; \
     runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)";

pub(crate) struct LaunchContext<'a> {
    pub(crate) job: &'a Job,
    pub(crate) topology: &'a Topology,
    pub(crate) flags: &'a RankFlags,
    pub(crate) hosts: &'a HostFlags,
    /// The user's options for the launcher.
    pub(crate) extra: &'a [OsString],
    /// `None`: the command's own launcher decides.
    pub(crate) output: Option<&'a OutputFlags>,
    pub(crate) host: &'a Host,
}

impl LaunchContext<'_> {
    /// The interpreter of the command. If it is not known, a name for the error message.
    pub(super) fn python(&self) -> OsString {
        let python = self.job.python.as_ref();
        python.map_or_else(
            || "python3".into(),
            |python| python.program.clone().into_os_string(),
        )
    }

    /// The interpreter runs a launcher as the launcher's console script would: without the current folder on `sys.path`.
    pub(super) fn launcher_words(&self, script: Option<&str>, module: &str) -> Vec<OsString> {
        let python = self.job.python.as_ref();
        let version = python
            .and_then(Python::own_version)
            .map(|version| Version::parse(&version));
        if version.is_some_and(|version| !version.is_before([3, 11, 0])) {
            return vec![self.python(), "-P".into(), "-m".into(), module.into()];
        }
        match python.and_then(|python| Some(python.program.parent()?.join(script?))) {
            Some(script) if script.is_file() => vec![self.python(), script.into_os_string()],
            _ => vec![
                self.python(),
                "-c".into(),
                WITHOUT_FOLDER.into(),
                module.into(),
            ],
        }
    }

    /// One process without a launcher, up to the trainer's arguments.
    pub(super) fn process_words(&self) -> Vec<OsString> {
        match &self.job.target {
            Target::Script { options, path } => {
                [&[self.python()], &options[..], from_ref(path)].concat()
            }
            Target::Module { options, name } => {
                [&[self.python()], &options[..], &["-m".into(), name.clone()]].concat()
            }
            Target::Program(word) => {
                vec![
                    self.host
                        .find_program(word)
                        .map_or_else(|| word.clone(), PathBuf::into_os_string),
                ]
            }
        }
    }

    /// A launcher starts this as each rank: a script, a module after the launcher's option for one, or a program.
    pub(super) fn rank_words(&self, module_option: &str) -> Vec<OsString> {
        // Launchers start each rank with `python -u`, and cannot pass other options to the interpreter.
        let plain = |options: &[OsString]| options.iter().all(|option| option == "-u");
        match &self.job.target {
            Target::Script { options, path } if plain(options) => vec![path.clone()],
            Target::Module { options, name } if plain(options) => {
                vec![module_option.into(), name.clone()]
            }
            _ => iter::once("--no_python".into())
                .chain(self.process_words())
                .collect(),
        }
    }
}
