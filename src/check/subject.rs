//! What the rules look at: the config, the command, the ranks and the environment of one launch.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ffi::OsStr;
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::base::json;
use crate::base::recorded::{Version, VersionMatch};
use crate::command::argv::hf_bool;
use crate::command::job::Job;
use crate::command::script_source::ScriptSource;
use crate::command::target::Target;
use crate::config::auto;
use crate::config::schema::{self, KeySpec, Known, UnknownKeys, ValueFault};
use crate::config::zero::Zero;
use crate::host::Host;
use crate::ranks::launcher::Launcher;
use crate::ranks::topology::{Role, Topology};
use crate::report::{Place, Severity, reading};

pub(super) const STAGE: &str = "zero_optimization.stage";

/// What the rules may look at.
pub(crate) struct Subject<'a> {
    /// The final config; null where there is none.
    pub(crate) config: &'a Value,
    pub(crate) job: &'a Job,
    pub(crate) topology: Option<&'a Topology>,
    pub(crate) launcher: Option<Launcher>,
    /// The variables as the user left them.
    pub(crate) host: &'a Host,
    /// Variables of the template that are set where the user has none.
    pub(crate) template_env: &'a [(String, String)],
    /// Where a key of the config was written.
    pub(crate) place: &'a dyn Fn(&str) -> Place,
    /// Whether somebody reads more than the problems that are printed. Of the others, rule and severity are enough.
    pub(crate) in_full: bool,
    pub(crate) derived: Derived<'a>,
}

/// What follows from the config, and what is only looked up when a rule asks for it.
pub(crate) struct Derived<'a> {
    keys: Vec<Key<'a>>,
    zero: Zero<'a>,
    judge: VersionMatch,
    script: OnceCell<Option<String>>,
}

impl<'a> Derived<'a> {
    pub(crate) fn new(config: &'a Value, job: &Job) -> Self {
        let judge = schema::in_environment(job.python.as_ref());
        let zero = Zero::of(config);
        let zero = if job.trainer.is_raw_deepspeed() { zero.without_auto() } else { zero };
        let mut derived = Derived { keys: Vec::new(), zero, judge, script: OnceCell::new() };
        if let Some(object) = config.as_object() {
            derived.walk("", object, UnknownKeys::Ignored);
        }
        derived
    }

    /// Collects the keys of all sections that this version reads.
    fn walk(&mut self, prefix: &str, section: &'a Map<String, Value>, policy: UnknownKeys) {
        let strict = policy == UnknownKeys::Refused && section.get("strict").is_some_and(schema::is_true);
        let keeps_auto = strict || policy == UnknownKeys::RefusedPlainly;
        for (name, value) in section {
            // Every pydantic model of DeepSpeed accepts `strict`, and the old name only counts where the new one is missing.
            let is_accepted = policy == UnknownKeys::Refused && name == "strict";
            let is_replaced = || section.get("bf16").is_some_and(|bf16| !bf16.is_null());
            if is_accepted || prefix.is_empty() && name == "bfloat16" && is_replaced() {
                continue;
            }
            let path = if prefix.is_empty() { Cow::from(name) } else { Cow::from(format!("{prefix}.{name}")) };
            let entry = schema::find(&path, self.judge.version());
            let known = entry.filter(|entry| entry.known() == Known::Yes);
            let judged = known.filter(|entry| entry.checked && (keeps_auto || value != "auto"));
            let fault = judged.and_then(|entry| entry.fault(value));
            self.keys.push(Key { path: path.clone(), value, entry, policy, keeps_auto, fault });
            if let (Some(inner), Some(object)) = (known.and_then(|entry| entry.policy()), value.as_object()) {
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
    /// How its section treats unknown keys.
    pub(super) policy: UnknownKeys,
    /// The section says `"strict": true`, so that its "auto" is not dropped.
    pub(super) keeps_auto: bool,
    /// Why DeepSpeed refuses the value.
    pub(super) fault: Option<ValueFault>,
}

impl<'a> Subject<'a> {
    pub(super) fn keys(&self) -> &[Key<'a>] {
        &self.derived.keys
    }

    pub(super) fn zero(&self) -> &Zero<'a> {
        &self.derived.zero
    }

    /// A dotted key.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        json::get(self.config, key)
    }

    /// A key of `zero_optimization`, by either of its names.
    pub(super) fn zero_key(&self, key: &str) -> Option<&'a Value> {
        let section = self.derived.zero.section?;
        section.get(key).or_else(|| section.get(key.strip_prefix("stage3_")?))
    }

    /// The value of a key for a message; nothing if it is missing.
    pub(super) fn shown(&self, key: &str) -> String {
        self.get(key).map(Value::to_string).unwrap_or_default()
    }

    /// A bool as DeepSpeed understands it; an "auto" or a wrong value says nothing.
    pub(super) fn is_on(&self, key: &str) -> Option<bool> {
        self.get(key).and_then(schema::truth)
    }

    /// A text that is not "auto".
    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.get(key).and_then(Value::as_str).filter(|text| *text != "auto")
    }

    pub(super) fn whole(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(schema::whole)
    }

    pub(super) fn zero_is_on(&self, key: &str) -> Option<bool> {
        self.zero_key(key).and_then(schema::truth)
    }

    pub(super) fn stage_is(&self, stages: &[u8]) -> bool {
        self.derived.zero.stage.is_some_and(|stage| stages.contains(&stage))
    }

    pub(super) fn offloads_optimizer(&self) -> bool {
        self.derived.zero.optimizer.is_off_gpu()
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

    /// The recorded DeepSpeed whose rules count; the newest if none is found.
    pub(super) fn version(&self) -> Version {
        self.derived.judge.version()
    }

    pub(super) fn is_before(&self, version: [u32; 3]) -> bool {
        self.version().is_before(version)
    }

    pub(super) fn judge(&self) -> VersionMatch {
        self.derived.judge
    }

    /// A key as this version knows it.
    pub(super) fn spec(&self, key: &str) -> Option<KeySpec> {
        schema::find(key, self.version())
    }

    /// Whether this version reads the key, and the sections around it.
    pub(super) fn reads(&self, key: &str) -> bool {
        let ends = key.match_indices('.').map(|(end, _)| end).chain([key.len()]);
        ends.into_iter().all(|end| self.spec(&key[..end]).is_some_and(|entry| entry.known() == Known::Yes))
    }

    /// How sure it is that DeepSpeed refuses a key: less so where nobody recorded the installed version.
    pub(super) fn severity_of_keys(&self) -> Severity {
        if matches!(self.derived.judge, VersionMatch::Nearest(_)) { Severity::Warning } else { Severity::Error }
    }

    /// Whether another package is installed and older than that.
    pub(super) fn has_before(&self, package: &str, version: [u32; 3]) -> bool {
        self.package(package).is_some_and(|found| found.is_before(version))
    }

    pub(super) fn package(&self, name: &str) -> Option<Version> {
        self.job.python.as_ref()?.version(name)
    }

    /// Whether a file of an installed package has this text: what is installed speaks for itself.
    pub(super) fn installed_says(&self, file: &str, text: &str) -> bool {
        let source = self.job.installed_file(file).and_then(|file| reading::text_if_any(&file));
        source.is_some_and(|source| source.contains(text))
    }

    /// Where the model is that the command names, if it is on this machine.
    pub(super) fn model_folder(&self) -> Option<PathBuf> {
        let model = self.job.args.raw(self.job.trainer.model.argument)?;
        Some(self.host.cwd.join(model.value)).filter(|folder| folder.is_dir())
    }

    /// `DeepSpeed`, with versions only where another one judges.
    pub(super) fn judging_deepspeed(&self) -> String {
        if matches!(self.derived.judge, VersionMatch::Exact(_)) { "DeepSpeed".to_string() } else { self.deepspeed() }
    }

    /// `DeepSpeed 0.16.9`, and which version judges for it if that is another.
    pub(super) fn deepspeed(&self) -> String {
        let judge = self.version();
        match (self.derived.judge, self.package("deepspeed")) {
            (VersionMatch::Exact(_), Some(installed)) => format!("DeepSpeed {installed}"),
            (_, None) => format!("DeepSpeed {judge}"),
            (_, Some(installed)) => format!("DeepSpeed {judge} ({installed} is installed, which is not recorded)"),
        }
    }

    /// The text of the script that is run, if it can be seen. Read only when a rule is in doubt.
    pub(super) fn script(&self) -> Option<&str> {
        let read = || match &self.job.target {
            Target::Script { path, .. } => ScriptSource::of_script(path, self.host).map(|source| source.text),
            _ => None,
        };
        let known = self.job.source.as_ref().map(|source| source.text.as_str());
        known.or_else(|| self.derived.script.get_or_init(read).as_deref())
    }

    pub(super) fn script_says(&self, text: &str) -> bool {
        self.script().is_some_and(|script| script.contains(text))
    }

    /// The model's hidden size, where its config.json is at hand. Read only when a rule needs it.
    pub(super) fn hidden_size(&self) -> Option<u64> {
        auto::hidden_size(self.job, self.host).ok().map(|hidden| hidden.value)
    }

    /// Whether the ranks run on this machine: `srun` and DeepSpeed's runner start them on others.
    pub(super) fn runs_here(&self) -> bool {
        let several = self.topology.is_some_and(Topology::has_several_nodes);
        let through_runner = several && self.launcher == Some(Launcher::Deepspeed);
        let through_srun = self.topology.is_some_and(|topology| matches!(topology.role, Role::Shell { .. }));
        !through_runner && !through_srun
    }

    /// Whether the arguments or the environment say that no GPU is used.
    pub(super) fn trains_on_cpu(&self) -> bool {
        let on = |value: &str| hf_bool(value) == Some(true);
        let is_switch = |name: &&str| {
            let given = self.job.args.list(name);
            given.is_some_and(|(_, values)| values.first().is_none_or(|value| value.to_str().is_some_and(on)))
        };
        self.host.var("DS_ACCELERATOR") == Some("cpu")
            || self.host.var("ACCELERATE_USE_CPU").is_some_and(on)
            || ["use_cpu", "no_cuda"].iter().any(is_switch)
    }

    /// Whether an option has this value.
    pub(super) fn argument_is(&self, name: &str, value: &str) -> bool {
        self.job.args.list(name).is_some_and(|(_, values)| values.first().is_some_and(|given| *given == value))
    }

    /// The value a rank will see, including those of the template.
    pub(super) fn variable(&self, name: &str) -> Option<&OsStr> {
        let in_template = || self.template_env.iter().find(|(known, _)| known == name);
        self.host.var_os(name).or_else(|| in_template().map(|(_, value)| OsStr::new(value)))
    }
}
