//! The config of a plan and the files it is written to.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::base::bytes::fnv1a;
use crate::base::json;
use crate::base::source::Sourced;
use crate::command::trainer::Job;
use crate::config::auto::{Fill, LeftAuto, Resolved};
use crate::config::template::Template;
use crate::host::Host;
use crate::ranks::launcher::ExistingLauncher;
use crate::report::{self, Problem};
use crate::request::understood::UnderstoodLaunch;

/// The config and the file it will be written to.
pub struct PlannedConfig {
    pub template: Template,
    /// Why `auto` became this template.
    pub(crate) chosen: Option<String>,
    pub value: Value,
    pub text: String,
    pub(crate) fills: Vec<Fill>,
    pub(crate) left: Vec<LeftAuto>,
    pub(crate) file: PlannedFile,
    /// A copy of the command's run file that names the config.
    pub(crate) run_file: Option<(PathBuf, String)>,
}

impl PlannedConfig {
    pub(super) fn new(
        template: Template,
        chosen: Option<String>,
        resolved: Resolved,
        understood: &UnderstoodLaunch,
    ) -> Result<Self, Problem> {
        let UnderstoodLaunch { launch, existing_launcher, job, host, .. } = understood;
        let Resolved { config, fills, left, .. } = resolved;
        let text = json::write(&config);
        let file = match &launch.config_out {
            Some(out) => named_file(out, host)?,
            None => {
                let path = in_our_folder(&template.name, &text, "json", host);
                PlannedFile { path, kind: FileKind::Ours }
            }
        };
        let launchers =
            existing_launcher.as_ref().and_then(|existing| launchers_run_file(&file.path, existing, job, host));
        let run_file = launchers.or_else(|| run_file(&file.path, job, host));
        Ok(PlannedConfig { template, chosen, value: config, text, fills, left, file, run_file })
    }

    /// The file the trainer is given.
    pub(super) fn handed_over(&self) -> &OsStr {
        self.run_file.as_ref().map_or(self.file.path.as_os_str(), |(path, _)| path.as_os_str())
    }
}

pub(crate) struct PlannedFile {
    pub(crate) path: PathBuf,
    pub(crate) kind: FileKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Named after its content, in a folder of ours.
    Ours,
    /// Where the user wants it.
    Named,
}

fn named_file(out: &Sourced<PathBuf>, host: &Host) -> Result<PlannedFile, Problem> {
    let path = host.absolute(&out.value);
    if path.exists() && !path.is_file() {
        return Err(report::not_a_file(&path));
    }
    if !path.parent().is_some_and(Path::is_dir) {
        return Err(report::no_such_folder(&path));
    }
    Ok(PlannedFile { path, kind: FileKind::Named })
}

/// The run file that holds all arguments, naming our config.
fn run_file(config: &Path, job: &Job, host: &Host) -> Option<(PathBuf, String)> {
    let text = job.run_file.as_ref()?.with(job.config_argument(), &config.to_string_lossy());
    let source = Path::new(job.rank_args(None).first()?).to_path_buf();
    let path = in_our_folder(&source.file_stem()?.to_string_lossy(), &text, source.extension()?.to_str()?, host);
    Some((path, text))
}

/// The run file of the launcher in the command, naming our config.
fn launchers_run_file(config: &Path, existing: &ExistingLauncher, job: &Job, host: &Host) -> Option<(PathBuf, String)> {
    let (source, text) = existing.run_file(job, config, host)?;
    let ending = source.extension().map_or("yaml".into(), OsStr::to_string_lossy);
    Some((in_our_folder(&source.file_stem()?.to_string_lossy(), &text, &ending, host), text))
}

/// A file named after its source and its content. Long names are cut: a file name has at most 255 bytes.
fn in_our_folder(made_from: &str, text: &str, ending: &str, host: &Host) -> PathBuf {
    const LONGEST: usize = 200;
    let fits = |(at, letter): &(usize, char)| at + letter.len_utf8() <= LONGEST;
    let stem: String = made_from.char_indices().take_while(fits).map(|(_, letter)| letter).collect();
    host.configs_folder().join(format!("{stem}-{:016x}.{ending}", fnv1a(text.as_bytes())))
}
