//! For the tests of front ends: a machine with one installed trainer, and what its commands are taken for.
#![expect(clippy::disallowed_methods, reason = "the tests' own files")]

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::base::vars;
use crate::command::target::{ParsedCommand, Target};
use crate::command::trainer::{self, Job};
use crate::host::Host;

/// A folder with a virtual environment `env` and the folder `work` in which commands are given.
pub(crate) struct Installed {
    root: TempDir,
    host: Host,
}

impl Installed {
    /// A trainer with its console script, in this version and with these files in site-packages.
    pub(crate) fn new(console: &str, distribution: &str, version: &str, files: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let env = [(OsString::from(vars::PATH), root.path().join("env/bin").into())].into();
        let host = Host { env, cwd: root.path().join("work"), ..Host::default() };
        let installed = Installed { root, host };
        installed.plant("work/.keep", "");
        installed.plant("env/pyvenv.cfg", "home = /usr/bin\n");
        let python = installed.plant("env/bin/python3.11", "");
        let script = installed.plant(&format!("env/bin/{console}"), &format!("#!{}\n", python.display()));
        for program in [python, script] {
            fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        let info = format!("{}-{version}.dist-info/METADATA", distribution.replace('-', "_"));
        for file in files.iter().copied().chain([info.as_str()]) {
            installed.plant(&format!("env/lib/python3.11/site-packages/{file}"), "");
        }
        installed
    }

    /// A file below the root.
    pub(crate) fn plant(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn set(&mut self, variable: &str, value: &str) {
        self.host.env.insert(variable.into(), value.into());
    }

    /// What a command line (words without spaces) is taken for.
    pub(crate) fn job(&self, line: &str) -> Job {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        trainer::recognise(&ParsedCommand::parse(&words), None, &self.host)
    }

    /// The trainer, and what each rank runs with the config `CONFIG`; `SITE` stands for site-packages.
    pub(crate) fn rank(&self, line: &str) -> (&'static str, String) {
        let job = self.job(line);
        let mut words = match &job.target {
            Target::Script { path: word, .. } | Target::Program(word) => vec![word.clone()],
            Target::Module { name, .. } => vec!["-m".into(), name.clone()],
        };
        words.extend(job.rank_args(Some("CONFIG".as_ref())));
        let line = words.join(" ".as_ref()).into_string().unwrap();
        let site = self.root.path().join("env/lib/python3.11/site-packages");
        (job.trainer.name, line.replace(site.to_str().unwrap(), "SITE"))
    }
}
