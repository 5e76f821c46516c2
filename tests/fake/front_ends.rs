//! For the unit tests of front ends: one more trainer in the sandbox, and what its commands are taken for.

use std::ffi::OsString;

use crate::command::target::{ParsedCommand, Target};
use crate::command::trainer::{self, Job};
use crate::fake::Sandbox;

impl Sandbox {
    /// One more trainer: its console script, its version, and these files in site-packages.
    pub(crate) fn with_trainer(console: &str, package: &str, version: &str, files: &[&str]) -> Self {
        let sandbox = Sandbox::new();
        sandbox.console_script(console);
        sandbox.installed(package, version);
        for file in files {
            sandbox.put(&format!("env/lib/python3.11/site-packages/{file}"), "");
        }
        sandbox
    }

    /// What a command line (words without spaces) is taken for.
    pub(crate) fn job(&self, line: &str) -> Job {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        trainer::recognise(&ParsedCommand::parse(&words), None, &self.host())
    }

    /// The trainer, and what each rank runs with the config `CONFIG`; `SITE` stands for site-packages.
    pub(crate) fn rank(&self, line: &str) -> (&'static str, String) {
        let job = self.job(line);
        let module = matches!(job.target, Target::Module { .. }).then(|| "-m".into());
        let target = module.into_iter().chain([job.target.word().to_os_string()]);
        let words: Vec<OsString> = target.chain(job.rank_args(Some("CONFIG".as_ref()))).collect();
        let line = words.join(" ".as_ref()).into_string().unwrap();
        (job.trainer.name, line.replace(self.site().to_str().unwrap(), "SITE"))
    }
}
