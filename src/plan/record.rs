//! The launch record: what was launched, from what, with which versions, on which machine, so that it can be looked up,
//! launched again by its script, and compared with another launch. Secrets are never in it.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use super::{config::files_read, decision::Plan};
use crate::{
    base::{bytes::fnv1a, json, shell::quoted, vars},
    command::{job::Job, trainer},
    report::{
        Place, Problem, Rule,
        fix::{give, run},
        reading,
        secrets::Secrets,
    },
    request::understood::UnderstoodLaunch,
};

const VERSION: u64 = 1;

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
    /// `--record auto` writes to this folder inside the trainer's output folder.
    pub const AUTO: &'static str = "zlaunch";

    /// `None` if nobody asked for one. `problems`: what the judges say about the plan.
    pub fn of(plan: &Plan, problems: &[Problem], now: SystemTime) -> Result<Option<Self>, Problem> {
        let UnderstoodLaunch {
            launch,
            machine,
            host,
            job,
            ..
        } = &plan.understood;
        let Some(folder) = Self::folder(&plan.understood)? else {
            return Ok(None);
        };
        let words = launch.options.iter().chain(&launch.command);
        let words: Value = words.map(|word| word.to_string_lossy()).collect();
        let variables = machine.env.iter().filter_map(|(name, value)| {
            let name = name.to_str().filter(|name| vars::lists(RECORDED, name))?;
            Some((name.to_string(), value.to_string_lossy()))
        });
        let secrets = Secrets::of(machine);
        let mut content = secrets.hide(json!({
            "version": VERSION,
            "zlaunch": env!("CARGO_PKG_VERSION"),
            "host": host.hostname,
            "folder": host.cwd.to_string_lossy(),
            "packages": packages(job),
            "plan": plan.json(problems),
            "words": words,
            "variables": variables.collect::<Value>(),
        }));
        content["sources"] = sources(plan);
        content["time"] = timestamp(now).into();
        let config = plan.config.as_ref();
        let mut script = Self::SCRIPT_START.as_bytes().to_vec();
        script.extend([b"cd ", &quoted(host.cwd.as_os_str())[..], b" || exit\n"].concat());
        script.extend(plan.shell_lines(&secrets));
        Ok(Some(Record {
            folder,
            text: format!("{content:#}\n"),
            config: config.map(|config| json::write(&secrets.hide(config.value().clone()))),
            script,
        }))
    }

    /// The folder that was asked for.
    pub fn folder(understood: &UnderstoodLaunch) -> Result<Option<PathBuf>, Problem> {
        let UnderstoodLaunch {
            launch, host, job, ..
        } = understood;
        let Some(asked) = &launch.record else {
            return Ok(None);
        };
        let refused = |what: &str, given: &str| {
            Problem::error(Rule::Record, what).at(Place::option(asked.from.to_string(), given))
        };
        if asked.value.as_os_str().is_empty() {
            let what = "the name of the folder for the launch record is empty";
            let fix = give("--record", "DIR").lead("check that the variable that names it is set");
            return Err(refused(what, "''").fix(fix));
        }
        if asked.value.as_os_str() != "auto" {
            return Ok(Some(host.absolute(&asked.value)));
        }
        let Some(output) = job.args.text("output_dir") else {
            let what = "the command has no `--output_dir` for the record";
            return Err(refused(what, "auto").fix(give("--record", "DIR")));
        };
        let output = host.absolute(&PathBuf::from(output.value));
        Ok(Some(output.join(Self::AUTO)))
    }
}

fn packages(job: &Job) -> Value {
    let Some(python) = &job.python else {
        return json!({});
    };
    let versions = trainer::packages()
        .into_iter()
        .filter_map(|package| Some((package.replace('-', "_"), python.version_text(package)?)));
    let own = python
        .own_version()
        .map(|version| ("python".to_string(), version));
    own.into_iter().chain(versions).collect()
}

/// The files that were read or named, each with a hash of its content. Files that are not text, or larger than a config can
/// be, are left out.
fn sources(plan: &Plan) -> Value {
    let UnderstoodLaunch { launch, host, .. } = &plan.understood;
    let template = plan.config.as_ref().map(|config| &config.layered.template);
    let words = launch.options.iter().chain(&launch.command);
    let named = words.filter_map(|word| {
        let text = word.to_str()?;
        let value = text.split_once('=').map_or(text, |(_, value)| value);
        Some(host.absolute(Path::new(value)))
    });
    let out = launch.config_out.as_ref();
    let out = out.map(|out| host.absolute(&out.value));
    let files = files_read(template, &plan.understood)
        .into_iter()
        .chain(named);
    let hashed = files
        .filter(|path| Some(path) != out.as_ref())
        .filter_map(|path| {
            let text = reading::read_text(&path).ok()?;
            let name = path.to_string_lossy().into_owned();
            Some((name, format!("{:016x}", fnv1a(text.as_bytes()))))
        });
    hashed.collect()
}

/// A file in the folder that is no part of a record, so that it must not be overwritten. `config.json` is part of one if
/// the record next to it holds the same config.
pub fn foreign(folder: &Path) -> Option<PathBuf> {
    let text = |name: &str| {
        let path = folder.join(name);
        let text = reading::read_text(&path).ok();
        text.filter(|_| !path.is_symlink())
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
    let foreign = is_ours.into_iter().filter(|(_, is_ours)| !is_ours);
    let mut paths = foreign.map(|(name, _)| folder.join(name));
    paths.find(|path| fs::symlink_metadata(path).is_ok())
}

fn is_record(content: &Value) -> bool {
    content["zlaunch"].is_string() && content["words"].is_array() && content["plan"].is_object()
}

/// `2026-01-31T23:59:59Z`
pub fn timestamp(time: SystemTime) -> String {
    let seconds = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_secs();
    let rest = seconds % 86_400;
    let (year, month, day) = date(seconds / 86_400);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

/// Year, month and day of a day counted from 1970.
fn date(mut days: u64) -> (u64, u64, u64) {
    let mut year: u64 = 1970;
    loop {
        let leap =
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let february = if leap { 29 } else { 28 };
        for (month, length) in (1..).zip([31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]) {
            if days < length {
                return (year, month, days + 1);
            }
            days -= length;
        }
        year += 1;
    }
}

/// The content of the record in a folder, or in the folder that `--record auto` writes to inside of it.
pub fn read(folder: &Path) -> Result<Value, Problem> {
    let path =
        [folder.to_path_buf(), folder.join(Record::AUTO)].map(|folder| folder.join(Record::FILE));
    let path = path.into_iter().find(|path| path.exists()).ok_or_else(|| {
        Problem::error(Rule::Record, "there is no launch record in this folder")
            .at(&*folder)
            .fix("name the folder that --record wrote to; for --record auto, the trainer's output_dir")
    })?;
    let content = json::parse_exactly(&reading::read_text(&path)?)
        .ok()
        .filter(is_record)
        .ok_or_else(|| {
            Problem::error(Rule::Record, "this is not a launch record")
                .at(&*path)
                .fix(run("zlaunch --record DIR -- COMMAND").remark("to write one"))
        })?;
    let version = &content["version"];
    if *version != VERSION {
        let what =
            format!("this record has version {version}, but this zlaunch reads version {VERSION}");
        return Err(Problem::error(Rule::Record, what)
            .at(&*path)
            .fix("use the zlaunch that wrote it; its version is in the field `zlaunch`"));
    }
    Ok(content)
}
