//! The config of a plan, the files it is written to, and the text about it.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    base::{bytes::fnv1a, json, shell, source::Sourced, yaml::Dialect},
    command::{
        front_end::NoConfig,
        run_file::{self, RunFile},
        tables::ACCELERATE_OPTIONS,
        trainer,
    },
    config::{auto::Resolved, layers::Places, template::Template},
    host::Host,
    report::{self, prelude::*},
    request::understood::UnderstoodLaunch,
};

/// The config that was asked for: a template, a file or JSON, of our flag, else of the command.
pub fn asked_config(understood: &UnderstoodLaunch) -> Option<Sourced<String>> {
    if let Some(flag) = &understood.launch.deepspeed {
        return Some(flag.clone());
    }
    // Trainers treat an empty value as no config.
    Some(
        understood.own_file(
            understood
                .own_config()
                .filter(|own| !own.value.is_empty())?,
        ),
    )
}

/// Refuses a config that cannot reach the trainer at all.
pub fn can_be_handed_over(
    spec: &Sourced<String>,
    understood: &UnderstoodLaunch,
) -> Result<(), Problem> {
    let UnderstoodLaunch { launch, job, .. } = understood;
    // A config that the command itself names needs no way from us.
    if understood.takes_config() || understood.launcher_takes_config() && launch.deepspeed.is_none()
    {
        return Ok(());
    }
    if let Some(NoConfig { why, help }) = &job.no_config {
        return Err(Rule::HandOver.error(why).at(spec).fix(help.as_str()));
    }
    // A missing program is the more useful error.
    Err(job
        .blocker
        .clone()
        .unwrap_or_else(|| no_way_to_hand_over(spec, understood)))
}

fn no_way_to_hand_over(spec: &Sourced<String>, understood: &UnderstoodLaunch) -> Problem {
    let command = understood.what_runs();
    let (program, word) = command.split_once(' ').unwrap_or((&command, ""));
    let commands = trainer::of_console(program).map_or(&[][..], |it| it.launch.commands);
    let is_known = commands.iter().any(|it| it.name == word);
    if let Some(line) = trainer::with_run_file(program, understood.command())
        .or_else(|| trainer::meant_command(program, word).filter(|_| !is_known))
    {
        let what = if is_known {
            format!("`{command}` has no option `--config`")
        } else {
            format!("`{program}` has no sub-command `{word}`")
        };
        return Rule::HandOver.error(what).at(&command).fix(meant(line));
    }
    let known: Vec<&str> = commands
        .iter()
        .filter(|it| it.defaults.is_some())
        .map(|it| it.name)
        .collect();
    let help: Fixes = if !understood.job.trainer.is_passthrough() {
        drop_given(spec).into()
    } else if is_known {
        let itself = "name a config file in the command itself, or in its run file";
        for_accelerate(understood).unwrap_or_else(|| itself.into())
    } else if known.is_empty() {
        understood.right_order().into()
    } else {
        let known = known.join(", ");
        say(format_args!("`{program}` takes one for {known}")).or(drop_given(spec))
    };
    let what = format!("zlaunch does not know how `{command}` takes a DeepSpeed config");
    Rule::HandOver.error(what).at(spec).fix(help)
}

/// TRL passes accelerate's options on to it, also those in its run file. zlaunch starts the ranks itself, so they are for
/// zlaunch.
fn for_accelerate(understood: &UnderstoodLaunch) -> Option<Fixes> {
    let words = &understood.launch.command;
    let options = words
        .iter()
        .filter_map(|word| word.to_str())
        .filter(|word| word.starts_with("--"))
        .map(|word| word.split('=').next().unwrap_or(word).to_string());
    let files = words
        .iter()
        .filter(|word| run_file::is_one(Path::new(word)));
    let keys = files
        .filter_map(|file| RunFile::read(file, Dialect::PyYaml, &understood.host).ok()?)
        .flat_map(|file| file.entries.into_iter().map(|(key, _)| key));
    let is_theirs = |name: &String| {
        let name = name.trim_start_matches("--").replace('-', "_");
        ACCELERATE_OPTIONS.contains(&&*name)
    };
    let theirs: Vec<String> = options.chain(keys).filter(is_theirs).collect();
    (!theirs.is_empty()).then(|| {
        format_args!(
            "leave {} to zlaunch, which starts the ranks itself (--nproc-per-node, --nnodes)",
            theirs.join(", ")
        )
        .into()
    })
}

/// A template with the user's layers, before any "auto" is filled in.
pub struct LayeredConfig {
    pub template: Template,
    /// The reason for this template, if `auto` was asked for.
    pub chosen: Option<String>,
    pub config: Value,
}

impl LayeredConfig {
    /// Tells where a key was written.
    pub fn places<'p>(&'p self, understood: &'p UnderstoodLaunch) -> Places<'p> {
        Places::new(
            &self.config,
            &self.template,
            &understood.launch.layers,
            &understood.host,
        )
    }
}

pub struct PlannedConfig {
    pub layered: LayeredConfig,
    pub resolved: Resolved,
    pub file: PlannedFile,
    /// A copy of the command's run file that names the config.
    pub run_file: Option<PlannedFile>,
}

impl PlannedConfig {
    pub fn value(&self) -> &Value {
        &self.resolved.config
    }

    /// `zero2, modified`
    pub fn title(&self) -> String {
        let LayeredConfig {
            template, config, ..
        } = &self.layered;
        let modified = if *config == template.config {
            ""
        } else {
            ", modified"
        };
        format!("{}{modified}", template.name)
    }

    /// The keys whose values are not the template's. An "auto" that was filled is not a change.
    pub fn changed(&self) -> Vec<String> {
        let mut changed = json::differing(&self.layered.template.config, &self.resolved.config);
        changed.retain(|key| !self.resolved.fills.iter().any(|fill| fill.key == *key));
        changed
    }

    /// The changed keys with their values, marked as in `zlaunch diff`.
    pub fn differences(&self) -> Vec<(String, String)> {
        let rows = self.changed().into_iter().map(|key| {
            let before = json::get(&self.layered.template.config, &key);
            let after = json::get(&self.resolved.config, &key);
            let row = match (before, after) {
                (Some(_), Some(value)) => format!("~ {key} = {value}"),
                (None, Some(value)) => format!("+ {key} = {value}"),
                (_, None) => format!("- {key}"),
            };
            let before = before.map_or("not".to_string(), Value::to_string);
            (row, format!("{before} in the template"))
        });
        rows.collect()
    }
}

/// A file that the launch writes.
pub struct PlannedFile {
    pub path: PathBuf,
    pub kind: FileKind,
    pub text: String,
}

#[derive(Clone, Copy, PartialEq)]
pub enum FileKind {
    /// Named after its content, in a folder of ours.
    Ours,
    /// `--config-out` names it.
    Named,
}

impl PlannedFile {
    pub fn of_config(
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
    pub fn of_run_file(config: &Path, understood: &UnderstoodLaunch) -> Option<Self> {
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

    /// A file named after its source and its content. A file name has at most 255 bytes.
    fn in_our_folder(made_from: &str, ending: &str, text: String, host: &Host) -> Self {
        let stem: String = made_from.chars().take(50).collect();
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
    let path = understood.host.absolute(&out.value);
    if let Ok(own) = path.canonicalize()
        && let Some(file) = files_read(Some(template), understood)
            .into_iter()
            .find(|file| file.canonicalize().is_ok_and(|file| file == own))
    {
        let place = out.clone().map(|path| path.display().to_string());
        return Err(Rule::ConfigOut
            .error(format!(
                "the resolved config would overwrite `{}`, an input of this launch",
                file.display()
            ))
            .at(&place)
            .fix(give_as(&out.from, "resolved.json")));
    }
    if path.exists() && !path.is_file() {
        return Err(report::not_a_file(&path));
    }
    let folder = path.parent().unwrap_or(&path);
    if !folder.is_dir() {
        let make = run(shell::text(&["mkdir".into(), "-p".into(), folder.into()]));
        let place = Place::option("--config-out", path.display().to_string());
        return Err(Rule::ConfigOut
            .error("the folder for the resolved config does not exist")
            .at(place)
            .fix(make));
    }
    Ok(path)
}

/// Templates, patches, the hostfile, the model's config.json, run files.
pub fn files_read(template: Option<&Template>, understood: &UnderstoodLaunch) -> Vec<PathBuf> {
    let UnderstoodLaunch {
        launch, job, host, ..
    } = understood;
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
    let run_files = launch
        .command
        .windows(2)
        .filter(|pair| {
            pair[0].to_str().is_none_or(|word| {
                !word.starts_with('-') || ["--config", "--config_file"].contains(&word)
            })
        })
        .map(|pair| host.absolute(Path::new(&pair[1])));
    chain.chain(named).chain(model).chain(run_files).collect()
}
