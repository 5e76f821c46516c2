//! What the rules may look at, and what they answer.

use std::cell::OnceCell;

use serde_json::Value;

use crate::base::source::{Source, Sourced, TrainerDefault};
use crate::command::argv::ArgumentError;
use crate::command::front_end::AutoFiller;
use crate::command::job::Job;
use crate::command::model::{self, HiddenSize};
use crate::command::script::ArgumentFlow;
use crate::host::Host;
use crate::ranks::topology::Topology;
use crate::report::Problem;

/// What the rules may look at.
pub(crate) struct FillContext<'a> {
    pub(crate) job: &'a Job,
    pub(crate) topology: &'a Topology,
    pub(crate) config: &'a Value,
    pub(crate) host: &'a Host,
    /// Who fills what zlaunch leaves.
    pub(crate) fills_auto: Option<AutoFiller>,
    /// Why the launcher of the command leaves nothing to fill. What the config has is compared all the same.
    pub(crate) by_launcher: Option<&'static str>,
    /// Nothing is filled, but what the trainer would refuse is refused.
    pub(crate) no_fill: bool,
    /// A value of the config is compared: what the trainer takes for an argument that is not given counts too.
    pub(super) compares: bool,
    hidden_size: OnceCell<Result<HiddenSize, String>>,
    flow: OnceCell<Option<ArgumentFlow<'a>>>,
}

impl<'a> FillContext<'a> {
    pub(crate) fn new(job: &'a Job, topology: &'a Topology, config: &'a Value, host: &'a Host) -> Self {
        let fills_auto = job.trainer.config.filler;
        let (hidden_size, flow) = (OnceCell::new(), OnceCell::new());
        let (by_launcher, no_fill, compares) = (None, false, false);
        FillContext { job, topology, config, host, fills_auto, by_launcher, no_fill, compares, hidden_size, flow }
    }

    /// The context for the values that the config has.
    pub(super) fn comparing(&self) -> Self {
        FillContext { compares: true, ..Self::new(self.job, self.topology, self.config, self.host) }
    }

    /// Whether what the script does with its arguments cannot be seen.
    pub(super) fn is_unseen(&self) -> bool {
        self.job.trainer.launch.consoles.is_empty() && self.flow().is_none()
    }

    /// How the arguments get through the user's script. Read only where one of them decides something.
    pub(super) fn flow(&self) -> Option<&ArgumentFlow<'a>> {
        self.flow.get_or_init(|| self.job.flow()).as_ref()
    }

    /// Why the trainer fills this key by rules of its own.
    pub(super) fn filled_by_trainer(&self, key: &str) -> Option<&'static str> {
        self.fills_auto.and_then(AutoFiller::source)?(key)
    }

    /// Looked up when a rule first asks for it: most configs need none, and it means reading files.
    pub(super) fn hidden_size(&self) -> Result<&HiddenSize, Unfilled> {
        let name = self.job.trainer.model.argument;
        let doubt = || self.flow().filter(|_| self.job.args.is_given(name))?.doubt_about_model(name);
        let look = || match doubt() {
            Some(why) => Err(format!("needs the model's hidden_size: {why}")),
            None => hidden_size(self.job, self.host),
        };
        let size = self.hidden_size.get_or_init(look);
        size.as_ref().map_err(|why| Unfilled::Deferred(why.clone()))
    }
}

/// The model's hidden size, or why it is not known.
pub(crate) fn hidden_size(job: &Job, host: &Host) -> Result<HiddenSize, String> {
    let name = job.trainer.model.argument;
    let Some(model) = job.args.text(name) else {
        return Err(format!("needs the model's hidden_size: --{name} is not given"));
    };
    if let Some((option, _)) = ["config_name", "config_overrides"].iter().find_map(|name| job.args.list(name)) {
        return Err(format!("needs the model's hidden_size: {option} decides too"));
    }
    let hub = (job.trainer.model.hub)(&job.args, host);
    let revision = job.args.text("model_revision").map(|revision| revision.value);
    model::hidden_size(&model.value, revision.as_deref(), hub, job.trainer.model.hidden_size, host)
        .map_err(|why| format!("needs the model's hidden_size: {why}"))
}

/// The value, or why the "auto" stays.
pub(super) type Answer = Result<FilledValue, Unfilled>;

pub(super) struct FilledValue {
    pub(super) value: Value,
    /// Where it comes from, for a person.
    pub(super) from: String,
    /// Every argument that counts.
    pub(super) arguments: Vec<Source>,
}

impl FilledValue {
    /// A value that no argument decides.
    pub(super) fn fixed(value: impl Into<Value>, from: impl Into<String>) -> Self {
        FilledValue { value: value.into(), from: from.into(), arguments: Vec::new() }
    }

    /// Why the trainer may compute something else.
    pub(super) fn doubt(&self) -> Option<&str> {
        self.arguments.iter().find_map(Source::doubt)
    }

    /// The arguments that are not given.
    pub(super) fn defaults(&self) -> impl Iterator<Item = &TrainerDefault> {
        self.arguments.iter().filter_map(Source::trainer_default)
    }
}

impl<T: Into<Value>> From<Sourced<T>> for FilledValue {
    fn from(argument: Sourced<T>) -> Self {
        FilledValue { value: argument.value.into(), from: argument.from.to_string(), arguments: vec![argument.from] }
    }
}

/// Why an "auto" stays.
#[derive(Debug)]
pub(crate) enum Unfilled {
    /// The trainer fills it, for this reason.
    Deferred(String),
    /// The trainer does not fill it either.
    Unsupported,
    /// The argument itself is wrong: the trainer would refuse it.
    Invalid(Problem),
}

impl Unfilled {
    pub(super) fn deferred(why: impl Into<String>) -> Self {
        Unfilled::Deferred(why.into())
    }
}

impl From<ArgumentError> for Unfilled {
    fn from(unread: ArgumentError) -> Self {
        match unread {
            ArgumentError::Unresolved(argument) => Unfilled::Deferred(format!("{argument} is not resolved yet")),
            ArgumentError::Refused(problem) => Unfilled::Invalid(problem),
        }
    }
}
