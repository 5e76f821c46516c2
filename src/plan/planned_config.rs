//! The config of a plan, the files it is written to, and the text about it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::base::bytes::fnv1a;
use crate::base::json;
use crate::base::layout::TextTable;
use crate::base::shell;
use crate::base::source::Sourced;
use crate::command::job::Job;
use crate::config::auto::{Fill, LeftAuto, Resolved};
use crate::config::template::Template;
use crate::host::Host;
use crate::report::fix::{give_as, run};
use crate::report::secrets::Secrets;
use crate::report::{self, Place, Problem, Rule};
use crate::request::Launch;
use crate::request::understood::UnderstoodLaunch;

pub struct PlannedConfig {
    pub template: Template,
    pub(crate) chosen: Option<String>,
    pub value: Value,
    pub text: String,
    pub(crate) fills: Vec<Fill>,
    pub(crate) left: Vec<LeftAuto>,
    has_layers: bool,
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
        let Resolved {
            config,
            fills,
            left,
            ..
        } = resolved;
        let text = json::write(&config);
        let file = match &understood.launch.config_out {
            Some(out) => named_file(out, &template, understood)?,
            None => {
                let path = in_our_folder(&template.name, &text, "json", &understood.host);
                PlannedFile {
                    path,
                    kind: FileKind::Ours,
                }
            }
        };
        let run_file = run_file(&file.path, understood);
        let has_layers = !understood.launch.layers.is_empty();
        Ok(PlannedConfig {
            template,
            chosen,
            value: config,
            text,
            fills,
            left,
            has_layers,
            file,
            run_file,
        })
    }

    /// `zero2, modified`. Comparing costs time, so only where an option may have changed something.
    pub(crate) fn title(&self) -> String {
        let is_modified = self.has_layers && !self.changed().is_empty();
        self.template.name.clone() + if is_modified { ", modified" } else { "" }
    }

    pub(super) fn handed_over(&self) -> &OsStr {
        self.run_file
            .as_ref()
            .map_or(self.file.path.as_os_str(), |(path, _)| path.as_os_str())
    }

    /// The keys whose values are not the template's. An "auto" that was filled is not a change.
    pub(super) fn changed(&self) -> Vec<String> {
        let mut changed = json::differing(&self.template.config, &self.value);
        changed.retain(|key| !self.fills.iter().any(|fill| fill.key == *key));
        changed
    }

    /// The sections of the plan about the config. `width`: the columns of a terminal.
    pub(super) fn text_of_plan(&self, secrets: &Secrets, width: Option<usize>) -> String {
        let mut text = String::new();
        let mut section = |title: &str, rows: Vec<(String, String)>| {
            if !rows.is_empty() {
                let rows = rows
                    .iter()
                    .map(|(key, text)| (secrets.hide_in_text(key), secrets.hide_in_text(text)));
                text += &format!("\n{title}\n{}", TextTable::of_pairs(2, rows).fitted(width));
            }
        };
        // The marks are those of `zlaunch diff`.
        let (template, changed) = (&self.template, self.changed());
        let rows = changed.iter().map(|key| {
            match (
                json::get(&template.config, key),
                json::get(&self.value, key),
            ) {
                (Some(template), Some(value)) => (
                    format!("~ {key} = {value}"),
                    format!("{template} in the template"),
                ),
                (Some(template), None) => {
                    (format!("- {key}"), format!("{template} in the template"))
                }
                (None, value) => {
                    let value = value.map(ToString::to_string).unwrap_or_default();
                    (
                        format!("+ {key} = {value}"),
                        "not in the template".to_string(),
                    )
                }
            }
        });
        section(&format!("differs from {}", template.name), rows.collect());
        let rows = self
            .fills
            .iter()
            .map(|fill| (format!("{} = {}", fill.key, fill.value), fill.from.clone()));
        section("filled", rows.collect());
        let rows = self.left.iter().enumerate().map(|(at, left)| {
            let again = at > 0 && self.left[at - 1].why == left.why;
            (
                left.key.clone(),
                if again {
                    "likewise".to_string()
                } else {
                    left.why.clone()
                },
            )
        });
        section("not filled", rows.collect());
        text
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
    /// `--config-out` names it.
    Named,
}

/// The file of `--config-out`, which must not be one that the launch reads.
fn named_file(
    out: &Sourced<PathBuf>,
    template: &Template,
    understood: &UnderstoodLaunch,
) -> Result<PlannedFile, Problem> {
    let UnderstoodLaunch {
        launch, job, host, ..
    } = understood;
    let path = host.absolute(&out.value);
    let inode = |path: &Path| fs::metadata(path).ok().map(|seen| (seen.dev(), seen.ino()));
    let mut read = files_read(Some(template), launch, job, host).into_iter();
    if let Some(own) = inode(&path)
        && let Some(file) = read.find(|file| inode(file) == Some(own))
    {
        let what = format!(
            "the resolved config would overwrite `{}`, an input of this launch",
            file.display()
        );
        let place = out.clone().map(|path| path.display().to_string());
        return Err(Problem::error(Rule::ConfigOut, what)
            .at(&place)
            .fix(give_as(&out.from, "resolved.json")));
    }
    if path.exists() && !path.is_file() {
        return Err(report::not_a_file(&path));
    }
    if !path.parent().is_some_and(Path::is_dir) {
        let make = run(shell::text(&[
            "mkdir".into(),
            "-p".into(),
            path.parent().unwrap_or(&path).into(),
        ]));
        let problem = Problem::error(
            Rule::ConfigOut,
            "the folder for the resolved config does not exist",
        );
        return Err(problem
            .at(Place::option("--config-out", path.display().to_string()))
            .fix(make));
    }
    Ok(PlannedFile {
        path,
        kind: FileKind::Named,
    })
}

/// Templates, patches, the hostfile, the model's config.json, run files.
pub(super) fn files_read(
    template: Option<&Template>,
    launch: &Launch,
    job: &Job,
    host: &Host,
) -> Vec<PathBuf> {
    let chain = template
        .into_iter()
        .flat_map(Template::files)
        .map(Path::to_path_buf);
    let named = launch
        .layers
        .patch
        .iter()
        .chain(&launch.hosts.hostfile)
        .map(|sourced| host.absolute(&sourced.value));
    let model = job.args.text(job.trainer.model.argument);
    let model = model.map(|model| host.absolute(Path::new(&model.value)).join("config.json"));
    // The value of an option may be anything; only these options name run files.
    let words = launch.command.windows(2).filter(|pair| {
        pair[0].to_str().is_none_or(|word| {
            !word.starts_with('-') || ["--config", "--config_file"].contains(&word)
        })
    });
    let run_files = words.map(|pair| host.absolute(Path::new(&pair[1])));
    chain.chain(named).chain(model).chain(run_files).collect()
}

/// A copy of the run file of the launcher in the command, or of the trainer, that names our config.
fn run_file(config: &Path, understood: &UnderstoodLaunch) -> Option<(PathBuf, String)> {
    let UnderstoodLaunch {
        existing_launcher,
        job,
        host,
        ..
    } = understood;
    let launchers = existing_launcher
        .as_ref()
        .and_then(|existing| existing.run_file(job, config, host));
    let (source, text) = match launchers {
        Some(copy) => copy,
        None => {
            let text = job
                .run_file
                .as_ref()?
                .with(job.config_argument(), &config.to_string_lossy());
            (PathBuf::from(job.rank_args(None).first()?), text)
        }
    };
    let ending = source
        .extension()
        .map_or("yaml".into(), OsStr::to_string_lossy);
    Some((
        in_our_folder(&source.file_stem()?.to_string_lossy(), &text, &ending, host),
        text,
    ))
}

/// A file named after its source and its content. Long names are cut: a file name has at most 255 bytes.
fn in_our_folder(made_from: &str, text: &str, ending: &str, host: &Host) -> PathBuf {
    const LONGEST: usize = 200;
    let stem = made_from
        .char_indices()
        .take_while(|(at, letter)| at + letter.len_utf8() <= LONGEST);
    let stem: String = stem.map(|(_, letter)| letter).collect();
    host.configs_folder()
        .join(format!("{stem}-{:016x}.{ending}", fnv1a(text.as_bytes())))
}
