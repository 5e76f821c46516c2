//! What the command line of a launcher is made from.

use std::ffi::OsString;
use std::path::PathBuf;
use std::slice::from_ref;

use super::output::OutputFlags;
use crate::base::recorded::Version;
use crate::command::job::Job;
use crate::command::python::Python;
use crate::command::target::Target;
use crate::host::Host;
use crate::ranks::topology::{HostFlags, RankFlags, Topology};

/// `python -m` for versions that cannot leave the current folder out: it is removed before anything is imported from it.
const WITHOUT_FOLDER: &str = "import sys; del sys.path[0], sys.argv[0]; import runpy; \
     runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)";

pub(crate) struct LaunchContext<'a> {
    pub(crate) job: &'a Job,
    pub(crate) topology: &'a Topology,
    /// Our own flags about ranks and hosts.
    pub(crate) flags: &'a RankFlags,
    pub(crate) hosts: &'a HostFlags,
    /// The user's options for the launcher.
    pub(crate) extra: &'a [OsString],
    /// What to do with the output of the ranks. `None`: the command's own launcher decides.
    pub(crate) output: Option<&'a OutputFlags>,
    pub(crate) host: &'a Host,
}

impl LaunchContext<'_> {
    /// The interpreter of the command. If it is not known, a name for the error message.
    pub(super) fn python(&self) -> OsString {
        let python = self.job.python.as_ref();
        python.map_or_else(|| "python3".into(), |python| python.program.clone().into_os_string())
    }

    /// How the interpreter runs a launcher: as its own script would, without the current folder on `sys.path`. `script` is that
    /// one's name, if it has one.
    pub(super) fn launcher_words(&self, script: Option<&str>, module: &str) -> Vec<OsString> {
        let python = self.job.python.as_ref();
        let version = python.and_then(Python::own_version).map(|version| Version::parse(&version));
        let has_safe_path = version.is_some_and(|version| !version.is_before([3, 11, 0]));
        let own = python.and_then(|python| Some(python.program.parent()?.join(script?))).filter(|own| own.is_file());
        let words: [OsString; 3] = match own {
            _ if has_safe_path => ["-P".into(), "-m".into(), module.into()],
            Some(own) => return vec![self.python(), own.into_os_string()],
            None => ["-c".into(), WITHOUT_FOLDER.into(), module.into()],
        };
        [&[self.python()], &words[..]].concat()
    }

    /// What one process executes without a launcher, up to the trainer's arguments.
    pub(super) fn process_words(&self) -> Vec<OsString> {
        let program = |word: &OsString| self.host.find_program(word).map(PathBuf::into_os_string);
        match &self.job.target {
            Target::Script { options, path } => [&[self.python()], &options[..], from_ref(path)].concat(),
            Target::Module { options, name } => [&[self.python()], &options[..], &["-m".into(), name.clone()]].concat(),
            Target::Program(word) => vec![program(word).unwrap_or_else(|| word.clone())],
        }
    }

    /// What a launcher starts as each rank: a script, a module after the launcher's option for one, or a program.
    pub(super) fn rank_words(&self, module_option: &str) -> Vec<OsString> {
        // Launchers start each rank with `python -u`, and cannot pass other options to the interpreter.
        let plain = |options: &[OsString]| options.iter().all(|option| option == "-u");
        match &self.job.target {
            Target::Script { options, path } if plain(options) => vec![path.clone()],
            Target::Module { options, name } if plain(options) => vec![module_option.into(), name.clone()],
            _ => std::iter::once("--no_python".into()).chain(self.process_words()).collect(),
        }
    }
}
