//! The input of the rules: config, command, ranks and environment of one launch.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ffi::OsStr;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::tables::names::PRECISION_MODELS;
use crate::base::json;
use crate::base::recorded::{Version, VersionMatch};
use crate::base::source::{Source, Sourced};
use crate::command::argv::hf_bool;
use crate::command::job::Job;
use crate::command::python::Python;
use crate::command::script::ScriptSource;
use crate::command::target::Target;
use crate::config::schema::{self, KeySpec, Known, UnknownKeys, ValueFault};
use crate::config::zero::Zero;
use crate::host::Host;
use crate::ranks::launcher::Launcher;
use crate::ranks::topology::{Role, Topology};
use crate::report::{Place, Severity};

pub(crate) struct Subject<'a> {
    /// The final config, or null.
    pub(crate) config: &'a Value,
    pub(crate) job: &'a Job,
    pub(crate) topology: Option<&'a Topology>,
    pub(crate) launcher: Option<Launcher>,
    /// The variables as the user left them.
    pub(crate) host: &'a Host,
    /// Variables of the template that are set where the user has none.
    pub(crate) template_env: &'a [(String, String)],
    /// The place where a key of the config was written.
    pub(crate) place: &'a dyn Fn(&str) -> Place,
    pub(crate) derived: Derived<'a>,
}

/// `DeepSpeed 0.16.9`, and the version whose rules are used if it is another.
pub(crate) fn deepspeed_in_words(python: Option<&Python>) -> String {
    let judge = schema::in_environment(python);
    match python.and_then(|python| python.version("deepspeed")) {
        Some(installed) if matches!(judge, VersionMatch::Exact(_)) => {
            format!("DeepSpeed {installed}")
        }
        Some(installed) => format!(
            "DeepSpeed {} ({installed} is installed, which is not recorded)",
            judge.version()
        ),
        None => format!("DeepSpeed {}", judge.version()),
    }
}

pub(crate) struct Derived<'a> {
    keys: Vec<Key<'a>>,
    zero: Zero<'a>,
    pub(super) judge: VersionMatch,
    script: OnceCell<Option<String>>,
}

impl<'a> Derived<'a> {
    pub(crate) fn new(config: &'a Value, job: &Job) -> Self {
        let judge = schema::in_environment(job.python.as_ref());
        let zero = Zero::of(config);
        let zero = if job.trainer.is_raw_deepspeed() {
            zero.without_auto()
        } else {
            zero
        };
        let mut derived = Derived {
            keys: Vec::new(),
            zero,
            judge,
            script: OnceCell::new(),
        };
        if let Some(object) = config.as_object() {
            derived.walk("", object, UnknownKeys::Ignored);
        }
        derived
    }

    /// Collects the keys of all sections that this version reads.
    fn walk(&mut self, prefix: &str, section: &'a Map<String, Value>, policy: UnknownKeys) {
        let strict =
            policy == UnknownKeys::Refused && section.get("strict").is_some_and(schema::is_true);
        let keeps_auto = strict || policy == UnknownKeys::RefusedPlainly;
        for (name, value) in section {
            // Every pydantic model of DeepSpeed accepts `strict`, and the old name only counts where the new one is missing.
            let is_accepted = policy == UnknownKeys::Refused && name == "strict";
            let is_replaced = prefix.is_empty()
                && name == "bfloat16"
                && section.get("bf16").is_some_and(|it| !it.is_null());
            if is_accepted || is_replaced {
                continue;
            }
            let path = if prefix.is_empty() {
                Cow::from(name)
            } else {
                Cow::from(format!("{prefix}.{name}"))
            };
            let entry = schema::find(&path, self.judge.version());
            let known = entry.filter(|entry| entry.known() == Known::Yes);
            let judged = known.filter(|entry| entry.checked && (keeps_auto || value != "auto"));
            let fault = judged.and_then(|entry| entry.fault(value));
            self.keys.push(Key {
                path: path.clone(),
                value,
                entry,
                policy,
                keeps_auto,
                fault,
            });
            if let (Some(inner), Some(object)) =
                (known.and_then(|entry| entry.policy()), value.as_object())
            {
                self.walk(&path, object, inner);
            }
        }
    }
}

/// One key of the config that DeepSpeed reads.
pub(super) struct Key<'a> {
    pub(super) path: Cow<'a, str>,
    pub(super) value: &'a Value,
    pub(super) entry: Option<KeySpec>,
    pub(super) policy: UnknownKeys,
    /// The section says `"strict": true`, so that its "auto" is not dropped.
    pub(super) keeps_auto: bool,
    pub(super) fault: Option<ValueFault>,
}

impl Key<'_> {
    /// pydantic drops an "auto" before it looks at the names.
    pub(super) fn reaches_schema(&self) -> bool {
        self.value != "auto" || self.keeps_auto
    }
}

impl<'a> Subject<'a> {
    pub(super) fn keys(&self) -> &[Key<'a>] {
        &self.derived.keys
    }

    pub(super) fn zero(&self) -> &Zero<'a> {
        &self.derived.zero
    }

    /// A key of the config. Those of ZeRO that begin with `stage3_` have a second name without it.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        json::get(self.config, key).or_else(|| {
            let name = key.strip_prefix("zero_optimization.stage3_")?;
            self.derived.zero.section?.get(name)
        })
    }

    pub(super) fn shown(&self, key: &str) -> String {
        self.get(key).map(Value::to_string).unwrap_or_default()
    }

    /// As DeepSpeed reads it. `None` for "auto" and for wrong values.
    pub(super) fn is_on(&self, key: &str) -> Option<bool> {
        self.get(key).and_then(schema::truth)
    }

    /// Like [`Self::is_on`] for a key of `fp16` or `bf16`, which counts by its old name, too.
    pub(super) fn is_on_in(&self, section: &str, key: &str) -> bool {
        let is_old_name = section == "bf16" && self.get("bf16").is_none_or(Value::is_null);
        let section = if is_old_name { "bfloat16" } else { section };
        self.is_on(&format!("{section}.{key}")) == Some(true)
    }

    /// `fp16` or `bf16` is enabled. In old versions any value that Python calls true enables it, even "auto".
    pub(super) fn has_precision(&self, section: &str) -> bool {
        if !self.is_before(PRECISION_MODELS) {
            return self.is_on_in(section, "enabled");
        }
        // The new name counts, whatever it holds.
        let is_old_name = section == "bf16" && self.get("bf16").is_none();
        let section = if is_old_name { "bfloat16" } else { section };
        self.get(&format!("{section}.enabled"))
            .is_some_and(|on| schema::is_true(on) && (on != "auto" || self.is_plain()))
    }

    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.get(key)
            .and_then(Value::as_str)
            .filter(|text| *text != "auto")
    }

    pub(super) fn whole(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(schema::whole)
    }

    pub(super) fn stage_is(&self, stages: &[u8]) -> bool {
        self.derived
            .zero
            .stage
            .is_some_and(|stage| stages.contains(&stage))
    }

    pub(super) fn offloads_optimizer(&self) -> bool {
        self.derived.zero.optimizer.is_off_gpu()
    }

    /// An argument of the trainer as it is spelled, with its value, if it has one.
    pub(super) fn given(&self, name: &str) -> Option<Sourced<Option<&'a str>>> {
        let args = &self.job.args;
        if let Some((option, values)) = args.list(name) {
            let value = values.first().and_then(|value| value.to_str());
            return Some(Sourced::new(value, Source::Argument(option)));
        }
        let abbreviated = args.raw(name)?;
        Some(abbreviated.map(|value| value.to_str()))
    }

    /// The value of an argument, `true` if it stands alone. `None` also if something that zlaunch does not see decides it.
    pub(super) fn argument(&self, name: &str) -> Option<&'a str> {
        let value = self.given(name)?.value.unwrap_or("true");
        (self.is_seen(name) && !value.contains('$')).then_some(value)
    }

    pub(super) fn spelled(&self, name: &str) -> String {
        let given = self.given(name).map(|given| given.from.to_string());
        given.unwrap_or_else(|| format!("--{name}"))
    }

    /// False if the argument may get a value from something that zlaunch does not see.
    pub(super) fn is_seen(&self, name: &str) -> bool {
        !self.job.unread.iter().any(|unread| unread == name)
    }

    pub(super) fn is_hf(&self) -> bool {
        self.job.trainer.is_hf()
    }

    pub(super) fn is_plain(&self) -> bool {
        self.job.trainer.is_raw_deepspeed()
    }

    pub(super) fn world(&self) -> Option<u64> {
        self.topology?.world_size.as_ref().map(|world| world.value)
    }

    /// The recorded version whose rules apply; the newest if DeepSpeed is not found.
    pub(super) fn version(&self) -> Version {
        self.derived.judge.version()
    }

    pub(super) fn is_before(&self, version: [u32; 3]) -> bool {
        self.version().is_before(version)
    }

    /// This version knows the key and the sections around it.
    pub(super) fn reads(&self, key: &str) -> bool {
        let mut ends = key
            .match_indices('.')
            .map(|(end, _)| end)
            .chain([key.len()]);
        ends.all(|end| {
            schema::find(&key[..end], self.version())
                .is_some_and(|entry| entry.known() == Known::Yes)
        })
    }

    /// Less certain if the installed version was not recorded.
    pub(super) fn severity_of_keys(&self) -> Severity {
        Severity::error_if(!matches!(self.derived.judge, VersionMatch::Nearest(_)))
    }

    pub(super) fn has_before(&self, package: &str, version: [u32; 3]) -> bool {
        self.package(package)
            .is_some_and(|found| found.is_before(version))
    }

    pub(super) fn package(&self, name: &str) -> Option<Version> {
        self.job.python.as_ref()?.version(name)
    }

    pub(super) fn model_folder(&self) -> Option<PathBuf> {
        let model = self.job.args.raw(self.job.trainer.model.argument)?;
        Some(self.host.cwd.join(model.value)).filter(|folder| folder.is_dir())
    }

    pub(super) fn deepspeed(&self) -> String {
        deepspeed_in_words(self.job.python.as_ref())
    }

    /// The text of the script, read on demand.
    pub(super) fn script(&self) -> Option<&str> {
        if let Some(source) = &self.job.source {
            return Some(&source.text);
        }
        let Target::Script { path, .. } = &self.job.target else {
            return None;
        };
        self.derived
            .script
            .get_or_init(|| Some(ScriptSource::of_script(path, self.host)?.text))
            .as_deref()
    }

    pub(super) fn script_says(&self, text: &str) -> bool {
        self.script().is_some_and(|script| script.contains(text))
    }

    /// `srun` and DeepSpeed's runner start ranks on other machines.
    pub(super) fn runs_here(&self) -> bool {
        self.topology.is_none_or(|topology| {
            let by_runner =
                topology.has_several_nodes() && self.launcher == Some(Launcher::Deepspeed);
            !by_runner && !matches!(topology.role, Role::Shell { .. })
        })
    }

    pub(super) fn trains_on_cpu(&self) -> bool {
        let on = |value: &str| hf_bool(value) == Some(true);
        let is_on = |name: &&str| self.argument(name).is_some_and(on);
        self.host.var("DS_ACCELERATOR") == Some("cpu")
            || self.host.var("ACCELERATE_USE_CPU").is_some_and(on)
            || ["use_cpu", "no_cuda"].iter().any(is_on)
    }

    /// The value that the ranks get, possibly from the template.
    pub(super) fn variable(&self, name: &str) -> Option<&OsStr> {
        let mut in_template = self.template_env.iter().filter(|(known, _)| known == name);
        self.host
            .var_os(name)
            .or_else(|| in_template.next().map(|(_, value)| OsStr::new(value)))
    }
}
