//! What the command line of a launcher is made from.

use std::ffi::OsString;
use std::path::PathBuf;
use std::slice::from_ref;

use super::output::OutputFlags;
use crate::command::target::Target;
use crate::command::trainer::Job;
use crate::host::Host;
use crate::ranks::topology::{HostFlags, RankFlags, Topology};

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
