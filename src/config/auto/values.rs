//! The values for "auto", and the facts they are computed from: arguments of the command, defaults of the trainer, the
//! ranks, the model. An argument that a script may change fills nothing, and a difference from it is only a warning. The
//! trainer's defaults are only compared: an "auto" that no argument decides is left to the trainer.

use std::cell::OnceCell;

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    base::{
        json, python_value,
        recorded::Version,
        source::{DoubtfulArgument, Source, Sourced, TrainerDefault},
    },
    command::{
        argument_class::{ArgumentClass, RecordedDefault},
        argv::{Args, ArgumentError, Typed, hf_bool},
        job::Job,
        model::{self, HiddenSize},
        script::flow::ArgumentFlow,
        tables::front_end::{ArgumentParser, HalfPrecision},
    },
    config::tables::{AutoRule, Formula, PRECISION_ARGUMENTS, RULES},
    host::Host,
    ranks::topology::Topology,
    report::Problem,
};

pub struct FillContext<'a> {
    pub job: &'a Job,
    pub topology: &'a Topology,
    pub config: &'a Value,
    pub host: &'a Host,
    /// The reason why the launcher of the command leaves nothing to fill. Values of the config are compared all the same.
    pub by_launcher: Option<&'static str>,
    /// Nothing is filled, but what the trainer would refuse is refused.
    pub no_fill: bool,
    /// A value of the config is compared, so the trainer's defaults count too.
    compares: bool,
    flow: OnceCell<Option<ArgumentFlow<'a>>>,
    /// Several keys need it.
    hidden_size: OnceCell<Result<HiddenSize, Unfilled>>,
}

impl<'a> FillContext<'a> {
    pub fn new(job: &'a Job, topology: &'a Topology, config: &'a Value, host: &'a Host) -> Self {
        FillContext {
            job,
            topology,
            config,
            host,
            by_launcher: None,
            no_fill: false,
            compares: false,
            flow: OnceCell::new(),
            hidden_size: OnceCell::new(),
        }
    }

    pub fn comparing(&self) -> Self {
        FillContext {
            compares: true,
            ..Self::new(self.job, self.topology, self.config, self.host)
        }
    }

    /// True if the script is the user's own and cannot be followed.
    pub fn is_unseen(&self) -> bool {
        self.job.trainer.launch.consoles.is_empty() && self.flow().is_none()
    }

    /// The arguments' way through the user's script, which is read when one of them decides something.
    fn flow(&self) -> Option<&ArgumentFlow<'a>> {
        self.flow.get_or_init(|| self.job.flow()).as_ref()
    }

    fn find_hidden_size(&self) -> Result<HiddenSize, Unfilled> {
        let needs = |why: String| defer(format!("needs the model's hidden_size: {why}"));
        let args = &self.job.args;
        let of_trainer = &self.job.trainer.model;
        let name = of_trainer.argument;
        let Some(model) = args.text(name) else {
            return needs(format!("--{name} is not set"));
        };
        let doubt = |flow: &ArgumentFlow| flow.doubt(name).or_else(|| flow.doubt("hidden_size"));
        if let Some(why) = self.flow().and_then(doubt) {
            return needs(why);
        }
        if let Some((option, _)) = ["config_name", "config_overrides"]
            .iter()
            .find_map(|name| args.list(name))
        {
            return needs(format!("{option} decides too"));
        }
        let hub = self.job.hub(self.host);
        let revision = args.text("model_revision");
        let revision = revision.map(|revision| revision.value);
        let size = of_trainer.hidden_size;
        model::hidden_size(&model.value, revision.as_deref(), hub, size, self.host).or_else(needs)
    }

    fn doubt(&self, argument: &str) -> Option<String> {
        // HfArgumentParser adds this option for a bool that is true by default.
        let off = format!("no_{argument}");
        if self.job.args.is_given(&off) {
            return Some(format!("--{off} is also set"));
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
    pub fn can_be_given(
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

    /// The value of arguments that are given, if the trainer gets all of them as they are.
    fn given<T>(
        &self,
        names: &[&str],
        read: impl Fn(&Args) -> Typed<T>,
    ) -> Result<Option<Sourced<T>>, Unfilled> {
        let args = &self.job.args;
        let mut given = names.iter().filter(|name| args.is_given(name));
        let Some(why) = given.find_map(|name| self.doubt(name)) else {
            return Ok(read(args)?);
        };
        if !self.compares {
            return defer(why);
        }
        Ok(read(args).ok().flatten().map(|given| doubtful(given, why)))
    }

    /// An argument that is given, or the trainer's default for it.
    fn argument<T>(
        &self,
        name: &'static str,
        given: impl Fn(&Args) -> Typed<T>,
        default: fn(&str) -> Option<T>,
    ) -> Result<Sourced<T>, Unfilled> {
        self.given(&[name], given)?
            .or_else(|| self.default(name, default))
            .ok_or_else(|| not_set(name))
    }

    /// A float argument as JSON; Python keeps `1` given to a float as 1.0.
    fn float(&self, name: &'static str) -> Result<Sourced<Value>, Unfilled> {
        let argument = self.argument(name, |args| args.float(name), python_value::float)?;
        match serde_json::Number::from_f64(argument.value) {
            Some(number) => Ok(Sourced::new(Value::Number(number), argument.from)),
            None => defer(format!("{} cannot be written as JSON", argument.spelling())),
        }
    }

    /// A batch argument, unless something rewrites the batch later.
    fn batch(&self, name: &'static str) -> Result<Sourced<i64>, Unfilled> {
        let args = &self.job.args;
        let tries = args.bool("auto_find_batch_size")?;
        let parallel = args.int("sequence_parallel_size")?;
        let is_elastic = args.words().iter().any(|word| word == "deepspeed_elastic");
        let why = if tries.is_some_and(|tries| tries.value) {
            "--auto_find_batch_size tries several"
        } else if args.is_given("parallelism_config") {
            "--parallelism_config may divide it"
        } else if parallel.is_some_and(|size| size.value > 1) {
            "--sequence_parallel_size changes how it counts"
        } else if args.is_given("callbacks") && is_elastic {
            "the deepspeed_elastic callback rewrites it"
        } else {
            return self.argument(name, |args| args.int(name), python_value::int);
        };
        defer(why)
    }

    fn precision(&self, half: HalfPrecision) -> Answer {
        let args = &self.job.args;
        let model = &self.job.trainer.model;
        // Apex changes which section is used, in the versions that have these arguments.
        if args.is_given("half_precision_backend") || args.is_given("fp16_backend") {
            return defer("--half_precision_backend decides too");
        }
        let said = self.given(PRECISION_ARGUMENTS, |args| {
            (self.job.trainer.precision)(args, half)
        })?;
        match (said, model.precision_unknown) {
            (Some(given), _) => Ok(given.into()),
            (None, Some(why)) => defer(why),
            (None, None) => self
                .default_precision(half)
                .ok_or_else(|| not_set(half.name)),
        }
    }

    /// Half precision that no argument decides.
    fn default_precision(&self, half: HalfPrecision) -> Option<FilledValue> {
        let default = self.default_text(half.name)?;
        let on = match default.value.as_str() {
            // TRL's bf16: on, unless fp16 is.
            "!fp16" => !self
                .job
                .args
                .bool("fp16")
                .ok()?
                .is_some_and(|fp16| fp16.value),
            text => hf_bool(text)?,
        };
        Some(Sourced::new(on, default.from).into())
    }

    /// The steps of a warmup that no argument asks for. From 5.18 on transformers makes them at least one.
    fn no_warmup(&self) -> Option<FilledValue> {
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
        let is_unread = job.unread.iter().any(|name| name == argument);
        if !self.compares || is_unread || job.args.is_given(argument) {
            return None;
        }
        if job.trainer.arguments.parser != ArgumentParser::Script {
            return self.recorded(job.recorded_defaults()?, argument, None);
        }
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
            let computed = self.job.trainer.computed;
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
    fn installed_before(&self, distribution: &str, version: [u32; 3]) -> bool {
        self.job.trainer.is_hf() && self.job.has_older(distribution, version)
    }

    fn is_stage3(&self) -> bool {
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

type Answer = Result<FilledValue, Unfilled>;

#[derive(PartialEq, Serialize)]
pub struct FilledValue {
    pub value: Value,
    pub from: String,
    /// Every argument that counts.
    #[serde(skip)]
    pub arguments: Vec<Source>,
}

impl FilledValue {
    /// A value that no argument decides.
    fn fixed(value: impl Into<Value>, from: impl Into<String>) -> Self {
        FilledValue {
            value: value.into(),
            from: from.into(),
            arguments: vec![],
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

#[derive(Clone)]
pub enum Unfilled {
    /// The trainer fills it, for this reason.
    Deferred(String),
    /// The trainer does not fill it either.
    Unsupported,
    /// The argument itself is wrong: the trainer would refuse it.
    Invalid(Problem),
}

pub fn defer<T>(why: impl Into<String>) -> Result<T, Unfilled> {
    Err(Unfilled::Deferred(why.into()))
}

fn not_set(name: &str) -> Unfilled {
    Unfilled::Deferred(format!("--{name} is not set"))
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

const NEEDS_DATASET: &str = "needs the length of the dataset";

impl AutoRule {
    pub fn value(&self, context: &FillContext) -> Answer {
        match self.how {
            Formula::Batch(argument) => Ok(context.batch(argument)?.into()),
            Formula::Float(argument) => Ok(context.float(argument)?.into()),
            Formula::Precision(precision) => context.precision(precision),
            // The variable overrides the default later.
            Formula::Accelerate { variable, .. } if context.host.var_os(variable).is_some() => {
                defer(format!("accelerate reads it from {variable}"))
            }
            Formula::Accelerate { default, .. } => Ok(FilledValue::fixed(
                json::parse_built_in(default),
                "accelerate's default",
            )),
            Formula::Zero => Ok(FilledValue::fixed(0, "always 0")),
            Formula::LeftOpen(why) => defer(why),
            Formula::GlobalBatch => global_batch(context),
            Formula::Betas => betas(context),
            Formula::TotalSteps => total_steps(context),
            Formula::WarmupSteps => warmup_steps(context),
            Formula::ReduceBucket => sized(context, "hidden_size²", true, |h| json!(h * h)),
            Formula::PrefetchBucket => prefetch_bucket(context),
            Formula::PersistenceThreshold => {
                sized(context, "10 · hidden_size", false, |h| json!(10 * h))
            }
            Formula::Apex if context.installed_before("transformers", [5, 0, 0]) => {
                defer("transformers before 5.0 fills it in")
            }
            Formula::Apex => Err(Unfilled::Unsupported),
        }
    }
}

impl FillContext<'_> {
    /// Half precision by the arguments and the trainer's defaults, as far as they are known.
    pub fn is_on(&self, key: &str) -> Option<Sourced<bool>> {
        let filled = RULES
            .iter()
            .find(|rule| rule.key == key && self.job.trainer.source_of_auto(key).is_none())?
            .value(&self.comparing())
            .ok()?;
        Some(Sourced::new(
            filled.value.as_bool()?,
            filled.arguments.into_iter().next()?,
        ))
    }
}

/// A size that follows from the model. Below stage 3, accelerate fills two of the three, without a look at `text_config`.
fn sized(
    context: &FillContext,
    formula: &str,
    at_every_stage: bool,
    of: impl Fn(u64) -> Value,
) -> Answer {
    // TRL initialises a reference model before transformers fills these sizes; DeepSpeed drops an "auto" there.
    if context.job.has_reference() {
        return defer("the reference model gets it unchanged");
    }
    let HiddenSize {
        value,
        at_top,
        file,
    } = context
        .hidden_size
        .get_or_init(|| context.find_hidden_size())
        .clone()?;
    if !at_every_stage && !context.is_stage3() && !at_top {
        return defer("below stage 3 accelerate does not look into text_config");
    }
    if !at_top && context.installed_before("transformers", [4, 46, 0]) {
        return defer("transformers before 4.46 does not look into text_config");
    }
    if value == 0 || value > 1 << 24 {
        return defer(format!("hidden_size {value} is implausible"));
    }
    let from = format!("{formula}, hidden_size {value} in {}", file.display());
    Ok(FilledValue::fixed(of(value), from))
}

fn betas(context: &FillContext) -> Answer {
    let one = context.float("adam_beta1")?;
    let two = context.float("adam_beta2")?;
    let from = format!("{}, {}", one.from, two.from);
    Ok(FilledValue {
        value: json!([one.value, two.value]),
        from,
        arguments: vec![one.from, two.from],
    })
}

fn total_steps(context: &FillContext) -> Answer {
    let steps = context.given(&["max_steps"], |args| args.int("max_steps"))?;
    let steps = steps.filter(|steps| steps.value > 0);
    steps.map_or_else(|| defer(NEEDS_DATASET), |steps| Ok(steps.into()))
}

fn prefetch_bucket(context: &FillContext) -> Answer {
    let kind = context.job.args.text("rlhf_type");
    if kind.is_some_and(|kind| kind.value == "grpo") {
        return defer("ms-swift sets it to 0 for GRPO at stage 3");
    }
    // transformers fills it at stage 3, accelerate below. Old versions of both do not round.
    let keeps_fractions = if context.is_stage3() {
        context.installed_before("transformers", [4, 45, 0])
    } else {
        context.installed_before("accelerate", [0, 31, 0])
    };
    let formula = if keeps_fractions {
        "0.9 · hidden_size²"
    } else {
        "⌊0.9 · hidden_size²⌋"
    };
    sized(context, formula, false, |h| {
        nine_tenths_squared(h, !keeps_fractions)
    })
}

/// Python's `int(0.9 * h * h)`, or the same without `int`. DeepSpeed takes 23592960.0 for a whole number, and refuses a
/// number with a fraction.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "h is below 2^24"
)]
fn nine_tenths_squared(h: u64, rounded: bool) -> Value {
    let size = 0.9 * h as f64 * h as f64;
    if rounded || size.fract() == 0.0 {
        json!(size as u64)
    } else {
        json!(size)
    }
}

fn global_batch(context: &FillContext) -> Answer {
    let micro = context.batch("per_device_train_batch_size")?;
    let steps = context.batch("gradient_accumulation_steps")?;
    let Some(world) = &context.topology.world_size else {
        return defer("the launcher leaves the number of ranks open");
    };
    let product = i128::from(world.value) * i128::from(micro.value) * i128::from(steps.value);
    let Ok(product) = i64::try_from(product) else {
        return defer("the product is too large");
    };
    let from = format!(
        "{} × {} × {} ({}, {}, {})",
        world.value, micro.value, steps.value, world.from, micro.from, steps.from
    );
    Ok(FilledValue {
        value: product.into(),
        from,
        arguments: vec![micro.from, steps.from],
    })
}

/// From 1 on, `warmup_steps` is a number of steps. Below, it is a share of the steps, which depend on the dataset.
fn warmup_steps(context: &FillContext) -> Answer {
    let Some(warmup) = context.given(&["warmup_steps"], |args| args.float("warmup_steps"))? else {
        return context.no_warmup().ok_or_else(|| not_set("warmup_steps"));
    };
    if warmup.value < 1.0 || warmup.value > 1e15 || context.job.args.is_given("warmup_ratio") {
        return defer(NEEDS_DATASET);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "Python's int() truncates too; the range was checked"
    )]
    let steps = warmup.value as i64;
    Ok(Sourced::new(steps, warmup.from).into())
}
