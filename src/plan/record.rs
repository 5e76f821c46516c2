//! The launch record: what was launched, from what, with which versions, on which machine, so that it can be looked up,
//! launched again by its script, and compared with another launch. Secrets are never in it.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde_json::{Value, json};

use super::{config::files_read, decision::Plan};
use crate::{
    base::{bytes::fnv1a, json, shell::quoted, source::Sourced, vars},
    command::{job::Job, trainer},
    host::Host,
    report::{prelude::*, secrets::Secrets},
    request::understood::UnderstoodLaunch,
};

/// Variables that change a training although zlaunch leaves them alone.
const RECORDED: &str = "ZLAUNCH_ PATH PYTHONPATH PYTHONHASHSEED PYTHONNOUSERSITE LD_ VIRTUAL_ENV CONDA_PREFIX \
    NPROC_PER_NODE NNODES NODE_RANK MASTER_ PET_ CUDA_ CUBLAS_ HIP_ ROCR_ ASCEND_ HCCL_ NCCL_ GLOO_ UCX_ FI_ OMP_ MKL_ \
    TORCH_ TORCHINDUCTOR_ TORCHDYNAMO_ PYTORCH_ TRITON_ HF_ HUGGINGFACE_ TRANSFORMERS_ TOKENIZERS_ MODELSCOPE_ \
    ACCELERATE_ DEEPSPEED_ DS_ WANDB_ SWIFT_ MAX_PIXELS VIDEO_ FPS_ USE_ OPTIM_TORCH";

/// The launch record: its folder and its files.
pub struct Record {
    pub folder: PathBuf,
    pub text: String,
    pub config: Option<String>,
    pub script: Vec<u8>,
}

impl Record {
    pub const FILE: &'static str = "launch.json";
    pub const CONFIG: &'static str = "config.json";
    pub const SCRIPT: &'static str = "launch.sh";
    /// No other `launch.sh` starts like this.
    pub const SCRIPT_START: &'static str =
        "#!/bin/sh\n# A launch that zlaunch recorded: launch.json says more.\n";

    /// `problems`: what the judges say about the plan.
    pub fn of(folder: PathBuf, plan: &Plan, problems: &[Problem]) -> Self {
        let UnderstoodLaunch {
            launch,
            machine,
            host,
            job,
            ..
        } = &plan.understood;
        let words: Value = launch
            .options
            .iter()
            .chain(&launch.command)
            .map(|word| word.to_string_lossy())
            .collect();
        let variables = machine.env.iter().filter_map(|(name, value)| {
            let name = name.to_str().filter(|name| vars::lists(RECORDED, name))?;
            Some((name.to_string(), value.to_string_lossy()))
        });
        let secrets = Secrets::of(machine);
        let mut content = secrets.hide(json!({
            "version": 1,
            "zlaunch": env!("CARGO_PKG_VERSION"),
            "host": host.hostname,
            "folder": host.cwd.to_string_lossy(),
            "packages": packages(job),
            "plan": plan.json(problems),
            "words": words,
            "variables": variables.collect::<Value>(),
        }));
        content["sources"] = sources(plan);
        // In seconds, as `date -d @N` reads it.
        let now = SystemTime::UNIX_EPOCH.elapsed();
        content["time"] = now.map_or(0, |now| now.as_secs()).into();
        let config = plan.config.as_ref();
        let mut script = Self::SCRIPT_START.as_bytes().to_vec();
        script.extend([b"cd ", &quoted(host.cwd.as_os_str())[..], b" || exit\n"].concat());
        script.extend(plan.shell_lines(&secrets));
        Record {
            folder,
            text: format!("{content:#}\n"),
            config: config.map(|config| json::write(&secrets.hide(config.value().clone()))),
            script,
        }
    }

    /// Refuses a folder without a name.
    pub fn folder(asked: &Sourced<PathBuf>, host: &Host) -> Result<PathBuf, Problem> {
        if !asked.value.as_os_str().is_empty() {
            return Ok(host.absolute(&asked.value));
        }
        let fix = give("--record", "DIR").lead("check that the variable that names it is set");
        let place = Place::option(asked.from.to_string(), "''");
        Err(Rule::Record
            .error("the name of the folder for the launch record is empty")
            .at(place)
            .fix(fix))
    }
}

fn packages(job: &Job) -> Value {
    let Some(python) = &job.python else {
        return json!({});
    };
    let versions = trainer::packages()
        .into_iter()
        .filter_map(|package| Some((package.replace('-', "_"), python.version_text(package)?)));
    python
        .own_version()
        .map(|version| ("python".to_string(), version))
        .into_iter()
        .chain(versions)
        .collect()
}

/// The files that were read or named, each with a hash of its content. Files that are not text, or larger than a config can
/// be, are left out.
fn sources(plan: &Plan) -> Value {
    let UnderstoodLaunch { launch, host, .. } = &plan.understood;
    let template = plan.config.as_ref().map(|config| &config.layered.template);
    let named = launch
        .options
        .iter()
        .chain(&launch.command)
        .filter_map(|word| {
            let text = word.to_str()?;
            Some(host.absolute(Path::new(
                text.split_once('=').map_or(text, |(_, value)| value),
            )))
        });
    let out = launch.config_out.as_ref();
    let out = out.map(|out| host.absolute(&out.value));
    files_read(template, &plan.understood)
        .into_iter()
        .chain(named)
        .filter(|path| Some(path) != out.as_ref())
        .filter_map(|path| {
            let text = reading::read_text(&path).ok()?;
            let name = path.to_string_lossy().into_owned();
            Some((name, format!("{:016x}", fnv1a(text.as_bytes()))))
        })
        .collect()
}

/// A file in the folder that is no part of a record, so that it must not be overwritten. `config.json` is part of one if
/// the record next to it holds the same config.
pub fn foreign(folder: &Path) -> Option<PathBuf> {
    let text = |name: &str| {
        let path = folder.join(name);
        reading::read_text(&path)
            .ok()
            .filter(|_| !path.is_symlink())
    };
    let parsed = |name: &str| json::parse_exactly(&text(name)?).ok();
    let record = parsed(Record::FILE).filter(is_record);
    let config = record.as_ref().map(|record| &record["plan"]["config"]);
    let script = text(Record::SCRIPT);
    let is_ours = [
        (Record::FILE, record.is_some()),
        (
            Record::CONFIG,
            config.is_some() && parsed(Record::CONFIG).as_ref() == config,
        ),
        (
            Record::SCRIPT,
            script.is_some_and(|text| text.starts_with(Record::SCRIPT_START)),
        ),
    ];
    is_ours
        .into_iter()
        .filter(|(_, is_ours)| !is_ours)
        .map(|(name, _)| folder.join(name))
        .find(|path| fs::symlink_metadata(path).is_ok())
}

fn is_record(content: &Value) -> bool {
    content["zlaunch"].is_string() && content["words"].is_array() && content["plan"].is_object()
}

/// The content of the record in a folder.
pub fn read(folder: &Path) -> Result<Value, Problem> {
    let path = folder.join(Record::FILE);
    if !path.exists() {
        let what = "there is no launch record in this folder";
        return Err(Rule::Record
            .error(what)
            .at(folder)
            .fix("name the folder that --record wrote to"));
    }
    json::parse_exactly(&reading::read_text(&path)?)
        .ok()
        .filter(is_record)
        .ok_or_else(|| {
            Rule::Record
                .error("this is not a launch record")
                .at(&*path)
                .fix(run("zlaunch --record DIR -- COMMAND").remark("to write one"))
        })
}
