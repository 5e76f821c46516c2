//! The files a launch reads. The record lists them, and nothing the launch writes may overwrite them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::base::source::Sourced;
use crate::command::job::Job;
use crate::config::template::Template;
use crate::host::Host;
use crate::report::{self, Problem};
use crate::request::Launch;

/// Options that name a run file, or the launcher's own.
const RUN_FILE: &[&str] = &["--config", "--config_file"];

/// Templates, patches, the hostfile, the model's config.json, run files.
pub(crate) fn of(template: Option<&Template>, launch: &Launch, job: &Job, host: &Host) -> Vec<PathBuf> {
    let chain = template.into_iter().flat_map(Template::files).map(Path::to_path_buf);
    let absolute = |path: &PathBuf| host.absolute(path);
    let sourced = launch.layers.patch.iter().chain(&launch.hosts.hostfile).map(|sourced| absolute(&sourced.value));
    let model = job.args.text(job.trainer.model.argument);
    let model = model.map(|model| host.absolute(Path::new(&model.value)).join("config.json"));
    // The value of an option may be anything; only these options name run files.
    let is_option = |word: &OsStr| word.to_str().is_some_and(|word| word.starts_with('-') && !RUN_FILE.contains(&word));
    let run_files =
        launch.command.windows(2).filter(|pair| !is_option(&pair[0])).map(|pair| absolute(&(&pair[1]).into()));
    chain.chain(sourced).chain(model).chain(run_files).collect()
}

/// Refuses `--config-out` where it names a file that the launch reads.
pub(crate) fn refuse_overwriting(
    out: &Sourced<PathBuf>,
    template: &Template,
    launch: &Launch,
    job: &Job,
    host: &Host,
) -> Result<(), Problem> {
    let path = host.absolute(&out.value);
    match of(Some(template), launch, job, host).iter().find(|file| is_same(file, &path)) {
        Some(file) => Err(report::would_overwrite_an_input(out, file)),
        None => Ok(()),
    }
}

fn is_same(one: &Path, two: &Path) -> bool {
    match (fs::metadata(one), fs::metadata(two)) {
        (Ok(one), Ok(two)) => (one.dev(), one.ino()) == (two.dev(), two.ino()),
        _ => false,
    }
}
