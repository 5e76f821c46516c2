//! The facts that the rules compute from: arguments of the command, defaults of the trainer, the ranks, the model. An
//! argument that a script may change fills nothing, and a difference from it is only a warning. The trainer's defaults are
//! only compared: an "auto" that no argument decides is left to the trainer.

use std::cell::OnceCell;

use serde_json::{Value, json};

use crate::base::recorded::Version;
use crate::base::source::{DoubtfulArgument, Source, Sourced, TrainerDefault};
use crate::base::{json, python_value};
use crate::command::argument_class::{ArgumentClass, RecordedDefault};
use crate::command::argv::{Args, ArgumentError, Typed, hf_bool, is_spelling};
use crate::command::front_end::{DefaultArguments, HalfPrecision};
use crate::command::job::Job;
use crate::command::model::{self, HiddenSize};
use crate::command::script::ArgumentFlow;
use crate::host::Host;
use crate::ranks::topology::Topology;
use crate::report::Problem;

pub(crate) struct FillContext<'a> {
    pub(crate) job: &'a Job,
    pub(crate) topology: &'a Topology,
    pub(crate) config: &'a Value,
    pub(crate) host: &'a Host,
    /// The reason why the launcher of the command leaves nothing to fill. Values of the config are compared all the same.
    pub(crate) by_launcher: Option<&'static str>,
    /// Nothing is filled, but what the trainer would refuse is refused.
    pub(crate) no_fill: bool,
    /// A value of the config is compared, so the trainer's defaults count too.
    compares: bool,
    hidden_size: OnceCell<Result<HiddenSize, String>>,
    flow: OnceCell<Option<ArgumentFlow<'a>>>,
}

impl<'a> FillContext<'a> {
    pub(crate) fn new(
        job: &'a Job,
        topology: &'a Topology,
        config: &'a Value,
        host: &'a Host,
    ) -> Self {
        FillContext {
            job,
            topology,
            config,
            host,
            by_launcher: None,
            no_fill: false,
            compares: false,
            hidden_size: OnceCell::new(),
            flow: OnceCell::new(),
        }
    }

    pub(super) fn comparing(&self) -> Self {
        FillContext {
            compares: true,
            ..Self::new(self.job, self.topology, self.config, self.host)
        }
    }

    /// True if the script is the user's own and cannot be followed.
    pub(super) fn is_unseen(&self) -> bool {
        self.job.trainer.launch.consoles.is_empty() && self.flow().is_none()
    }

    /// The arguments' way through the user's script, which is read when one of them decides something.
    fn flow(&self) -> Option<&ArgumentFlow<'a>> {
        self.flow.get_or_init(|| self.job.flow()).as_ref()
    }

    /// Looked up when a rule first asks for it: most configs need none, and it means reading files.
    pub(super) fn hidden_size(&self) -> Result<&HiddenSize, Unfilled> {
        let size = self.hidden_size.get_or_init(|| {
            let name = self.job.trainer.model.argument;
            if self.job.args.is_given(name)
                && let Some(why) = self.flow().and_then(|flow| flow.doubt_about_model(name))
            {
                return Err(format!("needs the model's hidden_size: {why}"));
            }
            hidden_size(self.job, self.host)
        });
        size.as_ref().map_err(Unfilled::deferred)
    }

    fn doubt(&self, argument: &str) -> Option<String> {
        // HfArgumentParser adds this option for a bool that is true by default.
        let off = format!("--no_{argument}");
        if self
            .job
            .args
            .words()
            .iter()
            .any(|word| word.to_str().is_some_and(|word| is_spelling(word, &off)))
        {
            return Some(format!("{off} is also set"));
        }
        let flow = self.flow()?;
        // `--trainer` lets the argument fill; a value that contradicts it may still be the script's doing.
        if self.job.is_named && !self.compares {
            flow.overrides(argument)
        } else {
            flow.doubt(argument)
        }
    }

    /// The command can have this argument, and the trainer would get it as it is.
    pub(super) fn can_be_given(
        &self,
        TrainerDefault {
            argument, unless, ..
        }: &TrainerDefault,
    ) -> bool {
        unless.is_none()
            || self.flow().is_some_and(|flow| {
                flow.has_option(argument) == Some(true) && flow.doubt(argument).is_none()
            })
    }

    /// An argument that is given, if the trainer gets it as it is.
    pub(super) fn given<T>(
        &self,
        name: &str,
        read: impl Fn(&Args) -> Typed<T>,
    ) -> Result<Option<Sourced<T>>, Unfilled> {
        let args = &self.job.args;
        if !args.is_given(name) {
            return Ok(None);
        }
        let Some(why) = self.doubt(name) else {
            return Ok(read(args)?);
        };
        if !self.compares {
            return Err(Unfilled::Deferred(why));
        }
        Ok(read(args).ok().flatten().map(|given| doubtful(given, why)))
    }

    pub(super) fn not_given(&self, name: &str) -> Unfilled {
        Unfilled::Deferred(match self.job.args.unclear(name) {
            Some(word) => format!("{word} may abbreviate --{name}: write it out"),
            None => format!("--{name} is not set"),
        })
    }

    /// An argument that is given, or the trainer's default for it.
    fn argument<T>(
        &self,
        name: &'static str,
        given: impl Fn(&Args) -> Typed<T>,
        default: fn(&str) -> Option<T>,
    ) -> Result<Sourced<T>, Unfilled> {
        let found = self.given(name, given)?;
        found
            .or_else(|| self.default(name, default))
            .ok_or_else(|| self.not_given(name))
    }

    /// A float argument as JSON; Python keeps `1` given to a float as 1.0.
    pub(super) fn float(&self, name: &'static str) -> Result<Sourced<Value>, Unfilled> {
        let argument = self.argument(name, |args| args.float(name), python_value::float)?;
        match serde_json::Number::from_f64(argument.value) {
            Some(number) => Ok(Sourced::new(Value::Number(number), argument.from)),
            None => Err(Unfilled::Deferred(format!(
                "{} cannot be written as JSON",
                argument.spelling()
            ))),
        }
    }

    /// A batch argument, unless something rewrites the batch later.
    pub(super) fn batch(&self, name: &'static str) -> Result<Sourced<i64>, Unfilled> {
        let args = &self.job.args;
        let tries = args.bool("auto_find_batch_size", true)?;
        let parallel = args.int("sequence_parallel_size")?;
        let is_elastic = args.words().iter().any(|word| word == "deepspeed_elastic");
        if tries.is_some_and(|tries| tries.value) {
            return Err(Unfilled::deferred("--auto_find_batch_size tries several"));
        }
        if args.is_given("parallelism_config") {
            return Err(Unfilled::deferred("--parallelism_config may divide it"));
        }
        if parallel.is_some_and(|size| size.value > 1) {
            return Err(Unfilled::deferred(
                "--sequence_parallel_size changes how it counts",
            ));
        }
        if args.is_given("callbacks") && is_elastic {
            return Err(Unfilled::deferred(
                "the deepspeed_elastic callback rewrites it",
            ));
        }
        self.argument(name, |args| args.int(name), python_value::int)
    }

    pub(super) fn precision(&self, half: HalfPrecision) -> Answer {
        let args = &self.job.args;
        let model = &self.job.trainer.model;
        // Apex changes which section is used, in the versions that have these arguments.
        if args.is_given("half_precision_backend") || args.is_given("fp16_backend") {
            return Err(Unfilled::deferred("--half_precision_backend decides too"));
        }
        let mut given = ["fp16", "fp16_full_eval", "bf16", "bf16_full_eval"]
            .iter()
            .filter(|name| args.is_given(name));
        let doubt = given.find_map(|name| self.doubt(name));
        let said = match &doubt {
            Some(why) if !self.compares => return Err(Unfilled::deferred(why)),
            Some(_) => (model.precision)(args, half).ok().flatten(),
            None => (model.precision)(args, half)?,
        };
        match (said, model.precision_unknown) {
            (Some(given), _) => Ok(if let Some(why) = doubt {
                doubtful(given, why)
            } else {
                given
            }
            .into()),
            (None, Some(why)) => Err(Unfilled::deferred(why)),
            (None, None) => self
                .default_precision(half)
                .ok_or_else(|| self.not_given(half.name())),
        }
    }

    /// Half precision that no argument decides.
    fn default_precision(&self, half: HalfPrecision) -> Option<FilledValue> {
        let given = |name| {
            Some(
                self.job
                    .args
                    .bool(name, true)
                    .ok()?
                    .map(|given| given.value),
            )
        };
        let is_on = |default: &Sourced<String>| match default.value.as_str() {
            // TRL's bf16: on, unless fp16 is.
            "!fp16" => given("fp16")?
                .or_else(|| Some(self.default("fp16", hf_bool)?.value))
                .map(|fp16| !fp16),
            text => hf_bool(text),
        };
        let default = self.default_text(half.name())?;
        let full = given(half.full_eval())?;
        let on =
            is_on(&default)? || full.or_else(|| is_on(&self.default_text(half.full_eval())?))?;
        Some(Sourced::new(on, default.from).into())
    }

    /// The steps of a warmup that no argument asks for. From 5.18 on transformers makes them at least one.
    pub(super) fn no_warmup(&self) -> Option<FilledValue> {
        let none_or_zero = |text: &str| (text == "none" || text.parse() == Ok(0.0)).then_some(());
        self.default("warmup_ratio", none_or_zero)?;
        let from = self.default("warmup_steps", none_or_zero)?.from;
        let steps = i64::from(!self.installed_before("transformers", [5, 18, 0]));
        Some(Sourced::new(steps, from).into())
    }

    fn default<T>(
        &self,
        argument: &'static str,
        read: fn(&str) -> Option<T>,
    ) -> Option<Sourced<T>> {
        let default = self.default_text(argument)?;
        Some(Sourced::new(read(&default.value)?, default.from))
    }

    /// The trainer's default as it would be written on a command line.
    fn default_text(&self, argument: &'static str) -> Option<Sourced<String>> {
        let job = self.job;
        let hidden =
            job.args.unclear(argument).is_some() || job.unread.iter().any(|name| name == argument);
        if !self.compares || hidden || job.args.is_given(argument) {
            return None;
        }
        match job.trainer.arguments.defaults {
            DefaultArguments::Recorded(class) => {
                self.recorded(class(&job.args, &job.target)?, argument, None)
            }
            DefaultArguments::Unknown => None,
            DefaultArguments::Script => {
                let flow = self.flow()?;
                let mut words = job.args.words().iter().map(|word| word.to_string_lossy());
                // `TrlParser` reads a file with arguments there, which zlaunch does not follow.
                if flow.has(&["TrlParser"]) && words.any(|word| word.starts_with("--config")) {
                    return None;
                }
                // A script may do more than its text shows, so nothing is certain.
                self.recorded(
                    flow.default_class(argument)?,
                    argument,
                    Some("the script changes it"),
                )
            }
        }
    }

    fn recorded(
        &self,
        class: ArgumentClass,
        argument: &'static str,
        unless: Option<&'static str>,
    ) -> Option<Sourced<String>> {
        let python = self.job.python.as_ref();
        let RecordedDefault { value, of, certain } = class.default(argument, python)?;
        let text = if value == "?" {
            let version = python.and_then(|python| python.version(class.distribution));
            let newest = Version([u32::MAX; 3]);
            let world_size = self.topology.world_size.as_ref().map(|world| world.value);
            let computed = self.job.trainer.arguments.computed;
            computed(
                argument,
                &self.job.args,
                version.unwrap_or(newest),
                world_size,
            )?
        } else {
            value.to_string()
        };
        let unless = unless.or((!certain).then_some("your version has another default"));
        let default = TrainerDefault {
            argument,
            whose: format!("default of {of}"),
            unless,
        };
        Some(Sourced::new(
            text,
            Source::TrainerDefault(Box::new(default)),
        ))
    }

    /// True if an HF trainer's environment is known to have an older version.
    pub(super) fn installed_before(&self, distribution: &str, version: [u32; 3]) -> bool {
        let python = self.job.python.as_ref();
        let found = python.and_then(|python| python.version(distribution));
        self.job.trainer.is_hf() && found.is_some_and(|found| found.is_before(version))
    }

    pub(super) fn is_stage3(&self) -> bool {
        json::get(self.config, "zero_optimization.stage") == Some(&json!(3))
    }
}

fn doubtful<T>(given: Sourced<T>, why: String) -> Sourced<T> {
    let argument = given.from.to_string();
    Sourced::new(
        given.value,
        Source::Doubtful(Box::new(DoubtfulArgument { argument, why })),
    )
}

pub(crate) fn hidden_size(job: &Job, host: &Host) -> Result<HiddenSize, String> {
    let name = job.trainer.model.argument;
    let Some(model) = job.args.text(name) else {
        return Err(format!(
            "needs the model's hidden_size: --{name} is not set"
        ));
    };
    if let Some((option, _)) = ["config_name", "config_overrides"]
        .iter()
        .find_map(|name| job.args.list(name))
    {
        return Err(format!(
            "needs the model's hidden_size: {option} decides too"
        ));
    }
    let hub = (job.trainer.model.hub)(&job.args, host);
    let revision = job
        .args
        .text("model_revision")
        .map(|revision| revision.value);
    model::hidden_size(
        &model.value,
        revision.as_deref(),
        hub,
        job.trainer.model.hidden_size,
        host,
    )
    .map_err(|why| format!("needs the model's hidden_size: {why}"))
}

pub(super) type Answer = Result<FilledValue, Unfilled>;

pub(super) struct FilledValue {
    pub(super) value: Value,
    pub(super) from: String,
    /// Every argument that counts.
    pub(super) arguments: Vec<Source>,
}

impl FilledValue {
    /// A value that no argument decides.
    pub(super) fn fixed(value: impl Into<Value>, from: impl Into<String>) -> Self {
        FilledValue {
            value: value.into(),
            from: from.into(),
            arguments: Vec::new(),
        }
    }
}

impl<T: Into<Value>> From<Sourced<T>> for FilledValue {
    fn from(argument: Sourced<T>) -> Self {
        FilledValue {
            value: argument.value.into(),
            from: argument.from.to_string(),
            arguments: vec![argument.from],
        }
    }
}

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
            ArgumentError::Unresolved(argument) => {
                Unfilled::Deferred(format!("{argument} is not resolved yet"))
            }
            ArgumentError::Refused(problem) => Unfilled::Invalid(problem),
        }
    }
}
