//! The input of the rules: config, command, ranks and environment of one launch.

use serde_json::{Map, Value};

use super::tables::names::PRECISION_MODELS;
use crate::{
    base::{
        json,
        recorded::{Version, VersionMatch},
        source::{Source, Sourced},
    },
    command::{argv::hf_bool, job::Job, python::Python, script::ScriptSource, target::Target},
    config::{
        schema::{self, KeySpec, Known, UnknownKeys, ValueFault},
        zero::Zero,
    },
    host::Host,
    ranks::{
        launcher::{ExistingLauncher, Launcher},
        topology::{Role, Topology},
    },
    report::{Place, Severity},
};

pub struct Subject<'a> {
    /// The final config, or null.
    pub config: &'a Value,
    pub job: &'a Job,
    pub topology: Option<&'a Topology>,
    pub launcher: Option<Launcher>,
    /// The command starts with it.
    pub existing_launcher: Option<&'a ExistingLauncher>,
    /// The variables as the user left them.
    pub host: &'a Host,
    /// The place where a key of the config was written.
    pub place: &'a dyn Fn(&str) -> Place,
    /// The keys of all sections that DeepSpeed reads.
    pub keys: Vec<Key<'a>>,
    pub zero: Zero<'a>,
    /// The recorded DeepSpeed whose rules apply.
    pub judge: VersionMatch,
}

/// `DeepSpeed 0.16.9`, and the version whose rules are used if it is another.
pub fn deepspeed_in_words(python: Option<&Python>) -> String {
    let judge = schema::in_environment(python).version();
    let installed = python.and_then(|python| python.version("deepspeed"));
    match installed.filter(|installed| *installed != judge) {
        Some(installed) => {
            format!("DeepSpeed {judge} ({installed} is installed, which is not recorded)")
        }
        None => format!("DeepSpeed {judge}"),
    }
}

/// One key of the config that DeepSpeed reads.
pub struct Key<'a> {
    pub path: String,
    pub value: &'a Value,
    pub entry: Option<KeySpec>,
    pub policy: UnknownKeys,
    /// The value is "auto", which pydantic drops before it looks at the names.
    pub is_dropped: bool,
    pub fault: Option<ValueFault>,
}

impl Key<'_> {
    /// DeepSpeed's model of the section gets it.
    pub fn is_read(&self) -> bool {
        self.policy != UnknownKeys::Ignored && !self.is_dropped
    }
}

impl<'a> Subject<'a> {
    /// A config with the command and the variables, of which nothing is known about the ranks.
    pub fn new(
        config: &'a Value,
        job: &'a Job,
        host: &'a Host,
        place: &'a dyn Fn(&str) -> Place,
    ) -> Self {
        let zero = Zero::of(config);
        let mut subject = Subject {
            config,
            job,
            topology: None,
            launcher: None,
            existing_launcher: None,
            host,
            place,
            keys: vec![],
            zero: if job.trainer.is_raw_deepspeed() {
                zero.without_auto()
            } else {
                zero
            },
            judge: schema::in_environment(job.python.as_ref()),
        };
        if let Some(object) = config.as_object() {
            subject.walk("", object, UnknownKeys::Ignored);
        }
        subject
    }

    /// Collects the keys of a section and those in it. `prefix` ends with a dot.
    fn walk(&mut self, prefix: &str, section: &'a Map<String, Value>, policy: UnknownKeys) {
        // Every pydantic model of DeepSpeed accepts `strict`.
        let has_model = policy == UnknownKeys::Refused;
        let keeps_auto = policy == UnknownKeys::RefusedPlainly
            || has_model && section.get("strict").is_some_and(schema::is_true);
        for (name, value) in section {
            let path = [prefix, name].concat();
            // The old name only counts where the new one is missing.
            let is_replaced =
                path == "bfloat16" && section.get("bf16").is_some_and(|it| !it.is_null());
            if is_replaced || has_model && name == "strict" {
                continue;
            }
            let is_dropped = value == "auto" && !keeps_auto;
            // DeepSpeed does not split a name at its dots.
            let entry = schema::find(&path, self.version()).filter(|_| !name.contains('.'));
            let judged = entry
                .filter(|entry| entry.known() == Known::Yes)
                .filter(|entry| entry.checked && !is_dropped);
            let inside = [&path, "."].concat();
            self.keys.push(Key {
                path,
                value,
                entry,
                policy,
                is_dropped,
                fault: judged.and_then(|entry| entry.fault(value)),
            });
            if let Some(policy) = entry.and_then(|entry| entry.policy())
                && let Some(object) = value.as_object()
            {
                self.walk(&inside, object, policy);
            }
        }
    }

    /// A key of the config. Those of ZeRO that begin with `stage3_` have a second name without it.
    pub fn get(&self, key: &str) -> Option<&'a Value> {
        json::get(self.config, key).or_else(|| {
            self.zero
                .section?
                .get(key.strip_prefix("zero_optimization.stage3_")?)
        })
    }

    /// A key of `fp16` or `bf16`, which counts by its old name, too.
    fn of_precision(&self, section: &str, key: &str) -> Option<&'a Value> {
        let is_old_name = section == "bf16" && self.get("bf16").is_none_or(Value::is_null);
        let section = if is_old_name { "bfloat16" } else { section };
        self.get(&format!("{section}.{key}"))
    }

    /// `fp16` or `bf16` is enabled. In old versions any value that Python calls true enables it, even "auto".
    pub fn has_precision(&self, section: &str) -> bool {
        let is_before = self.is_before(PRECISION_MODELS);
        self.of_precision(section, "enabled")
            .is_some_and(|on| match is_before {
                true if on == "auto" => self.job.trainer.is_raw_deepspeed(),
                true => schema::is_true(on),
                false => schema::truth(on) == Some(true),
            })
    }

    /// A key of `fp16` or `bf16` is on and read by this version. Before the models, that of fp16 only counted if fp16 was on, and
    /// bf16 had none.
    pub fn has_precision_setting(&self, key: &str) -> bool {
        let (section, name) = key.split_once('.').unwrap_or((key, ""));
        let value = self.of_precision(section, name);
        if self.is_before(PRECISION_MODELS) {
            let is_on = value.is_some_and(schema::is_true);
            return is_on && section == "fp16" && self.has_precision(section);
        }
        value.and_then(schema::truth) == Some(true) && self.reads(key)
    }

    pub fn text(&self, key: &str) -> Option<&'a str> {
        self.get(key)
            .and_then(Value::as_str)
            .filter(|text| *text != "auto")
    }

    pub fn whole(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(schema::whole)
    }

    /// An argument of the trainer as it is spelled, with its value, if it has one.
    pub fn given(&self, name: &str) -> Option<Sourced<Option<&'a str>>> {
        let args = &self.job.args;
        let (option, values) = args.list(name)?;
        let value = values.first().and_then(|value| value.to_str());
        Some(Sourced::new(value, Source::Argument(option)))
    }

    /// The value of an argument, `true` if it stands alone. `None` also if something that zlaunch does not see decides it.
    pub fn argument(&self, name: &str) -> Option<&'a str> {
        let value = self.given(name)?.value.unwrap_or("true");
        (self.is_seen(name) && !value.contains('$')).then_some(value)
    }

    pub fn spelled(&self, name: &str) -> String {
        self.given(name)
            .map_or_else(|| format!("--{name}"), |given| given.from.to_string())
    }

    /// False if the argument may get a value from something that zlaunch does not see.
    pub fn is_seen(&self, name: &str) -> bool {
        !self.job.unread.iter().any(|unread| unread == name)
    }

    pub fn is_hf(&self) -> bool {
        self.job.trainer.is_hf()
    }

    pub fn world(&self) -> Option<u64> {
        self.topology?.world_size.as_ref().map(|world| world.value)
    }

    /// The number of ranks, for calculations.
    #[expect(clippy::cast_precision_loss, reason = "nobody has 2^53 ranks")]
    pub fn ranks(&self) -> Option<f64> {
        self.world().map(|world| world as f64)
    }

    /// The recorded version whose rules apply; the newest if DeepSpeed is not found.
    pub fn version(&self) -> Version {
        self.judge.version()
    }

    pub fn is_before(&self, version: [u32; 3]) -> bool {
        self.version().is_before(version)
    }

    /// This version knows the key and the sections around it.
    pub fn reads(&self, key: &str) -> bool {
        let entry = schema::find(key, self.version());
        entry.is_some_and(|entry| entry.known() == Known::Yes)
            && key
                .rsplit_once('.')
                .is_none_or(|(section, _)| self.reads(section))
    }

    /// Less certain if the installed version was not recorded.
    pub fn severity_of_keys(&self) -> Severity {
        Severity::error_if(self.judge.is_certain())
    }

    pub fn deepspeed(&self) -> String {
        deepspeed_in_words(self.job.python.as_ref())
    }

    /// True if the text of the script has one of these. `None` if there is no text.
    pub fn script_says(&self, texts: &[&str]) -> Option<bool> {
        let script = match (&self.job.source, &self.job.target) {
            (Some(source), _) => source.text.clone(),
            (None, Target::Script { path, .. }) => ScriptSource::of_script(path, self.host)?.text,
            _ => return None,
        };
        Some(texts.iter().any(|text| script.contains(text)))
    }

    /// Where the run file has the value, or else this place.
    pub fn place_of(&self, value: &str, otherwise: Place) -> Place {
        self.job
            .place_in_run_file(value, self.host)
            .unwrap_or(otherwise)
    }

    /// `srun` and DeepSpeed's runner start ranks on other machines.
    pub fn runs_here(&self) -> bool {
        self.topology.is_none_or(|topology| {
            let by_runner =
                topology.has_several_nodes() && self.launcher == Some(Launcher::Deepspeed);
            !by_runner && !matches!(topology.role, Role::Shell { .. })
        })
    }

    pub fn trains_on_cpu(&self) -> bool {
        let on = |value: &str| hf_bool(value) == Some(true);
        let is_on = |name: &&str| self.argument(name).is_some_and(on);
        self.host.var("DS_ACCELERATOR") == Some("cpu")
            || self.host.var("ACCELERATE_USE_CPU").is_some_and(on)
            || ["use_cpu", "no_cuda"].iter().any(is_on)
    }
}
