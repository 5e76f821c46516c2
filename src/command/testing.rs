//! For the tests of front ends: a machine with one installed trainer, and what its commands are taken for.

use std::ffi::OsString;

use crate::command::target::{ParsedCommand, Target};
use crate::command::trainer::{self, Job};
use crate::laws::fake::Sandbox;

pub(crate) struct Installed {
    pub(crate) sandbox: Sandbox,
}

impl Installed {
    /// A trainer with its console script, in this version and with these files in site-packages.
    pub(crate) fn new(console: &str, distribution: &str, version: &str, files: &[&str]) -> Self {
        let sandbox = Sandbox::new();
        sandbox.console_script(console);
        sandbox.installed(&distribution.replace('-', "_"), version);
        for file in files {
            sandbox.put(&format!("env/lib/python3.11/site-packages/{file}"), "");
        }
        Installed { sandbox }
    }

    /// What a command line (words without spaces) is taken for.
    pub(crate) fn job(&self, line: &str) -> Job {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        trainer::recognise(&ParsedCommand::parse(&words), None, &self.sandbox.host())
    }

    /// The trainer, and what each rank runs with the config `CONFIG`; `SITE` stands for site-packages.
    pub(crate) fn rank(&self, line: &str) -> (&'static str, String) {
        let job = self.job(line);
        let module = matches!(job.target, Target::Module { .. }).then(|| "-m".into());
        let target = module.into_iter().chain([job.target.word().to_os_string()]);
        let words: Vec<OsString> = target.chain(job.rank_args(Some("CONFIG".as_ref()))).collect();
        let line = words.join(" ".as_ref()).into_string().unwrap();
        (job.trainer.name, line.replace(self.sandbox.site().to_str().unwrap(), "SITE"))
    }
}
