//! Diagnostics: what DeepSpeed, accelerate or torch would refuse minutes later, ignore without a word, or do otherwise than
//! one may think. A rule is one entry in the table of its subject, with its name, severity, sentence, check and test; nothing
//! here changes the plan.

mod batch;
mod combinations;
mod effects;
mod environment;
mod keys;
pub(crate) mod machine;
mod optimizer;
mod precision;
mod values;

use std::cell::OnceCell;
use std::ffi::OsStr;

use serde_json::{Map, Value};

use crate::base::json;
use crate::command::python::Version;
use crate::command::target::Target;
use crate::command::trainer::{self, Family, Job};
use crate::config::auto;
use crate::config::schema::{self, Entry, Fault, Policy};
use crate::config::zero::Zero;
use crate::host::Host;
use crate::ranks::launcher::Launcher;
use crate::ranks::topology::Topology;
use crate::report::{self, Problem, Severity, When};

/// Rules about the config, by subject. Their order is that of the output.
const CONFIG: &[&[Rule]] = &[
    keys::RULES,
    values::RULES,
    batch::RULES,
    precision::RULES,
    combinations::RULES,
    optimizer::RULES,
    effects::RULES,
];

pub(crate) struct Rule {
    pub(crate) name: &'static str,
    pub(crate) severity: Severity,
    pub(crate) when: When,
    pub(crate) doc: &'static str,
    check: fn(&Subject, &mut Findings),
}

/// Every rule.
pub(crate) fn rules() -> impl Iterator<Item = &'static Rule> {
    CONFIG.iter().copied().flatten().chain(environment::RULES)
}

/// Whether a rule is one of those about the batch.
pub(crate) fn is_about_batch(rule: &str) -> bool {
    batch::RULES.iter().any(|it| it.name == rule)
}

/// The names that `--allow` takes: every rule here, and those that only warn about the launch or the machine.
pub(crate) fn allowable() -> Vec<&'static str> {
    report::warnings().chain(rules().map(|rule| rule.name)).collect()
}

/// What the rules about a config find. Notes cost a little, so only where they are read.
pub(crate) fn config(subject: &Subject, allow: &[String], notes: bool) -> Vec<Problem> {
    run(CONFIG.iter().copied().flatten(), subject, allow, notes)
}

/// What the rules about the environment find.
pub(crate) fn environment(subject: &Subject, allow: &[String], notes: bool) -> Vec<Problem> {
    run(environment::RULES.iter(), subject, allow, notes)
}

fn run<'r>(rules: impl Iterator<Item = &'r Rule>, subject: &Subject, allow: &[String], notes: bool) -> Vec<Problem> {
    let mut found = Vec::new();
    for rule in rules {
        if rule.severity == Severity::Note && !notes || allow.iter().any(|name| name == rule.name) {
            continue;
        }
        let mut findings = Findings { rule, subject, list: &mut found };
        (rule.check)(subject, &mut findings);
    }
    found.retain(|problem| notes || problem.severity != Severity::Note);
    found
}

/// What the rules may look at.
pub(crate) struct Subject<'a> {
    /// The final config; null where there is none.
    pub(crate) config: &'a Value,
    pub(crate) job: &'a Job,
    pub(crate) topology: Option<&'a Topology>,
    pub(crate) launcher: Option<Launcher>,
    /// The variables as the user left them.
    pub(crate) host: &'a Host,
    /// Variables that the template brings where the user has none.
    pub(crate) template_env: &'a [(String, String)],
    place: &'a dyn Fn(&str) -> String,
    keys: Vec<Key<'a>>,
    zero: Zero<'a>,
    version: OnceCell<Option<Version>>,
    script: OnceCell<Option<String>>,
}

/// One key of the config that DeepSpeed's readers come upon.
struct Key<'a> {
    path: String,
    value: &'a Value,
    entry: Option<Entry>,
    /// Of the section it stands in.
    policy: Policy,
    /// The section says `"strict": true`, so that its "auto" is not dropped.
    keeps_auto: bool,
    /// What the newest version has against the value, where it looks.
    fault: Option<Fault>,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(
        config: &'a Value,
        job: &'a Job,
        topology: Option<&'a Topology>,
        launcher: Option<Launcher>,
        host: &'a Host,
        template_env: &'a [(String, String)],
        place: &'a dyn Fn(&str) -> String,
    ) -> Self {
        let mut keys = Vec::new();
        if let Some(object) = config.as_object() {
            keys.reserve(64);
            walk(&mut String::new(), object, Policy::Loose, &mut keys);
        }
        let zero = Zero::of(config);
        let zero = if job.trainer.family == Family::Plain { zero.without_auto() } else { zero };
        Subject {
            config,
            job,
            topology,
            launcher,
            host,
            template_env,
            place,
            keys,
            zero,
            version: OnceCell::new(),
            script: OnceCell::new(),
        }
    }

    /// A dotted key.
    fn get(&self, key: &str) -> Option<&'a Value> {
        json::get(self.config, key)
    }

    /// A key of `zero_optimization`, by either of its names.
    fn zero(&self, key: &str) -> Option<&'a Value> {
        let section = self.zero.section?;
        json::entry(section, key).or_else(|| json::entry(section, key.strip_prefix("stage3_")?))
    }

    /// A bool as DeepSpeed understands it; an "auto" or a wrong value says nothing.
    fn is_on(&self, key: &str) -> Option<bool> {
        self.get(key).and_then(schema::truth)
    }

    fn zero_is_on(&self, key: &str) -> Option<bool> {
        self.zero(key).and_then(schema::truth)
    }

    fn stage_is(&self, stages: &[u8]) -> bool {
        self.zero.stage.is_some_and(|stage| stages.contains(&stage))
    }

    fn offloads_optimizer(&self) -> bool {
        self.zero.optimizer.is_off_gpu()
    }

    fn is_hf(&self) -> bool {
        self.job.trainer.family == Family::Hf
    }

    fn is_plain(&self) -> bool {
        self.job.trainer.family == Family::Plain
    }

    fn world(&self) -> Option<u64> {
        self.topology?.world_size.as_ref().map(|world| world.value)
    }

    /// Older than that, as far as the trainer's environment shows; what is not found counts as the newest.
    fn is_before(&self, version: [u32; 3]) -> bool {
        self.version().is_some_and(|found| found.is_before(version))
    }

    /// Looked up only when a rule depends on it: it means listing site-packages.
    fn version(&self) -> Option<&Version> {
        self.version.get_or_init(|| self.job.python.as_ref()?.version("deepspeed")).as_ref()
    }

    /// `DeepSpeed 0.16.9`.
    fn deepspeed(&self) -> String {
        self.version().map_or_else(|| format!("DeepSpeed {}", schema::NEWEST), |version| format!("DeepSpeed {version}"))
    }

    /// The text of the script that is run, if it can be seen. Read only when a rule is in doubt.
    fn script(&self) -> Option<&str> {
        let read = || match &self.job.target {
            Target::Script { path, .. } => trainer::script_text(path, self.host),
            _ => None,
        };
        self.script.get_or_init(read).as_deref()
    }

    /// The model's hidden size, where its config.json is at hand. Read only when a rule needs it.
    fn hidden_size(&self) -> Option<u64> {
        auto::model_size(self.job, self.host).ok().map(|hidden| hidden.value)
    }

    /// The value a rank will see, the template's included.
    fn variable(&self, name: &str) -> Option<&OsStr> {
        let template_env = || {
            self.template_env.iter().find(|(template_env, _)| template_env == name).map(|(_, value)| OsStr::new(value))
        };
        self.host.raw(name).or_else(template_env)
    }
}

/// Collects the keys of all sections that DeepSpeed knows.
fn walk<'a>(prefix: &mut String, section: &'a Map<String, Value>, policy: Policy, keys: &mut Vec<Key<'a>>) {
    let length = prefix.len();
    let strict = matches!(policy, Policy::Strict(_));
    let keeps_auto = strict && section.get("strict").is_some_and(schema::is_true);
    for (name, value) in section {
        // Taken by the signature of every model.
        if strict && name == "strict" {
            continue;
        }
        // The old name is read where the new one is not there.
        if length == 0 && name == "bfloat16" && section.get("bf16").is_some_and(|bf16| !bf16.is_null()) {
            continue;
        }
        if length > 0 {
            prefix.push('.');
        }
        prefix.push_str(name);
        let entry = schema::find(prefix);
        let judged = entry.filter(|entry| entry.checked && (keeps_auto || value != "auto"));
        let fault = judged.and_then(|entry| entry.fault(value, |_| false));
        keys.push(Key { path: prefix.clone(), value, entry, policy, keeps_auto, fault });
        if let (Some(inner), Some(object)) = (entry.and_then(|entry| entry.policy()), value.as_object()) {
            walk(prefix, object, inner, keys);
        }
        prefix.truncate(length);
    }
}

/// Where a rule puts what it found.
struct Findings<'a> {
    rule: &'a Rule,
    subject: &'a Subject<'a>,
    list: &'a mut Vec<Problem>,
}

impl Findings<'_> {
    /// About keys of the config.
    fn key(&mut self, keys: &[&str], what: String, help: impl Into<String>) {
        let places = keys.iter().map(|key| (self.subject.place)(key)).collect();
        self.add(self.rule.severity, places, what, help.into());
    }

    /// The same, but not so sure.
    fn soft_key(&mut self, severity: Severity, keys: &[&str], what: String, help: impl Into<String>) {
        let places = keys.iter().map(|key| (self.subject.place)(key)).collect();
        self.add(severity, places, what, help.into());
    }

    /// About anything else.
    fn at(&mut self, places: &[String], what: String, help: impl Into<String>) {
        self.add(self.rule.severity, places.to_vec(), what, help.into());
    }

    fn add(&mut self, severity: Severity, places: Vec<String>, what: String, help: String) {
        let problem = Problem::found(self.rule.name, severity, self.rule.when, what).help(help);
        self.list.push(places.into_iter().fold(problem, Problem::at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_rule_says_what_it_is() {
        let all: Vec<&Rule> = rules().collect();
        for (at, rule) in all.iter().enumerate() {
            assert!(all[at + 1..].iter().all(|other| other.name != rule.name), "{}", rule.name);
            assert!(rule.doc.len() > 20 && !rule.doc.ends_with('.'), "{}: {}", rule.name, rule.doc);
            assert!(
                rule.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
                "{}",
                rule.name
            );
            // What nobody notices is no reason to refuse.
            assert!(rule.when != When::Silent || rule.severity != Severity::Error, "{}", rule.name);
        }
    }
}
