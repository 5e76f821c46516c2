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
use crate::command::front_end::NoConfig;
use crate::command::job::Job;
use crate::command::trainer;
use crate::config::auto::Resolved;
use crate::config::places::Places;
use crate::config::template::Template;
use crate::host::Host;
use crate::report::fix::{give_as, run};
use crate::report::secrets::Secrets;
use crate::report::{self, Place, Problem, Rule};
use crate::request::Launch;
use crate::request::understood::UnderstoodLaunch;

/// The config that was asked for.
pub(crate) struct AskedConfig {
    /// A template, a file or JSON: of our flag, else of the command.
    pub(crate) spec: Sourced<String>,
    /// What the command itself names, as it stands there.
    pub(crate) own: Option<Sourced<String>>,
}

impl AskedConfig {
    pub(super) fn of(understood: &UnderstoodLaunch) -> Option<Self> {
        let own = understood.own_config();
        let spec = match &understood.launch.deepspeed {
            Some(flag) => flag.clone(),
            // Trainers treat an empty value as no config.
            None => understood.own_file(own.clone().filter(|own| !own.value.is_empty())?),
        };
        Some(AskedConfig { spec, own })
    }

    /// Refuses a config that cannot reach the trainer at all.
    pub(super) fn can_be_handed_over(&self, understood: &UnderstoodLaunch) -> Result<(), Problem> {
        let UnderstoodLaunch { launch, job, .. } = understood;
        // A config that the command itself names needs no way from us.
        if understood.takes_config()
            || understood.launcher_takes_config() && launch.deepspeed.is_none()
        {
            return Ok(());
        }
        if let Some(NoConfig { why, help }) = &job.no_config {
            let problem = Problem::error(Rule::HandOver, why).at(&self.spec);
            return Err(problem.fix(help.as_str()));
        }
        // A missing program is the more useful error.
        Err(job.blocker.clone().unwrap_or_else(|| {
            let runs = understood.what_runs();
            let known = trainer::commands_of(runs.split(' ').next().unwrap_or_default());
            report::no_way_to_hand_over(&self.spec, &runs, known, understood.right_order())
        }))
    }
}

/// A template with the user's layers, before any "auto" is filled in.
pub struct LayeredConfig {
    pub template: Template,
    /// The reason for this template, if `auto` was asked for.
    pub(crate) chosen: Option<String>,
    /// `None`: no layer changes the template.
    pub(super) changed: Option<Value>,
}

impl LayeredConfig {
    pub(crate) fn value(&self) -> &Value {
        self.changed.as_ref().unwrap_or(&self.template.config)
    }

    /// Tells where a key was written.
    pub(crate) fn places<'p>(&'p self, understood: &'p UnderstoodLaunch) -> Places<'p> {
        let layers = &understood.launch.layers;
        Places::new(self.value(), &self.template, layers, &understood.host)
    }
}

pub struct PlannedConfig {
    pub layered: LayeredConfig,
    pub(crate) resolved: Resolved,
    pub file: PlannedFile,
    /// A copy of the command's run file that names the config.
    pub(crate) run_file: Option<PlannedFile>,
}

impl PlannedConfig {
    pub fn value(&self) -> &Value {
        &self.resolved.config
    }

    /// `zero2, modified`. Comparing costs time, so only where an option may have changed something.
    pub(crate) fn title(&self) -> String {
        let is_modified = self.layered.changed.is_some() && !self.changed().is_empty();
        self.layered.template.name.clone() + if is_modified { ", modified" } else { "" }
    }

    /// The keys whose values are not the template's. An "auto" that was filled is not a change.
    pub(super) fn changed(&self) -> Vec<String> {
        let mut changed = json::differing(&self.layered.template.config, &self.resolved.config);
        changed.retain(|key| !self.resolved.fills.iter().any(|fill| fill.key == *key));
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
        let (template, changed) = (&self.layered.template, self.changed());
        let rows = changed.iter().map(|key| {
            match (
                json::get(&template.config, key),
                json::get(&self.resolved.config, key),
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
            .resolved
            .fills
            .iter()
            .map(|fill| (format!("{} = {}", fill.key, fill.value), fill.from.clone()));
        section("filled", rows.collect());
        let rows = self.resolved.left.iter().enumerate().map(|(at, left)| {
            let again = at > 0 && self.resolved.left[at - 1].why == left.why;
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

/// A file that the launch writes.
pub struct PlannedFile {
    pub path: PathBuf,
    pub(crate) kind: FileKind,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Named after its content, in a folder of ours.
    Ours,
    /// `--config-out` names it.
    Named,
}

impl PlannedFile {
    pub(super) fn of_config(
        config: &Value,
        template: &Template,
        understood: &UnderstoodLaunch,
    ) -> Result<Self, Problem> {
        let text = json::write(config);
        match &understood.launch.config_out {
            Some(out) => Ok(PlannedFile {
                path: named_path(out, template, understood)?,
                kind: FileKind::Named,
                text,
            }),
            None => Ok(Self::in_our_folder(
                &template.name,
                "json",
                text,
                &understood.host,
            )),
        }
    }

    /// A copy of the run file of the launcher in the command, or of the trainer, that names our config.
    pub(super) fn of_run_file(config: &Path, understood: &UnderstoodLaunch) -> Option<Self> {
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
        let name = source.file_stem()?.to_string_lossy();
        Some(Self::in_our_folder(&name, &ending, text, host))
    }

    /// A file named after its source and its content. Long names are cut: a file name has at most 255 bytes.
    fn in_our_folder(made_from: &str, ending: &str, text: String, host: &Host) -> Self {
        const LONGEST: usize = 200;
        let stem = made_from
            .char_indices()
            .take_while(|(at, letter)| at + letter.len_utf8() <= LONGEST);
        let stem: String = stem.map(|(_, letter)| letter).collect();
        let name = format!("{stem}-{:016x}.{ending}", fnv1a(text.as_bytes()));
        PlannedFile {
            path: host.configs_folder().join(name),
            kind: FileKind::Ours,
            text,
        }
    }
}

/// The file of `--config-out`, which must not be one that the launch reads.
fn named_path(
    out: &Sourced<PathBuf>,
    template: &Template,
    understood: &UnderstoodLaunch,
) -> Result<PathBuf, Problem> {
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
    Ok(path)
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
