//! What the trainer takes for an argument that is not given. It counts where the config has a value to compare, and never
//! fills an "auto": that is left to the trainer.

use super::context::{FillContext, FilledValue};
use crate::base::recorded::Version;
use crate::base::source::{Source, Sourced, TrainerDefault};
use crate::command::argv::hf_bool;
use crate::command::defaults::{ArgumentClass, RecordedDefault};
use crate::command::trainer::DefaultArguments;

/// A default as it would be written on a command line.
struct DefaultText {
    text: String,
    whose: String,
    unless: Option<&'static str>,
}

impl FillContext<'_> {
    /// The default of an argument, if it is known and of that type.
    pub(super) fn default<T>(&self, argument: &'static str, read: fn(&str) -> Option<T>) -> Option<Sourced<T>> {
        let DefaultText { text, whose, unless } = self.default_text(argument)?;
        let from = TrainerDefault { argument, whose, unless };
        Some(Sourced::new(read(&text)?, Source::TrainerDefault(Box::new(from))))
    }

    fn default_text(&self, argument: &'static str) -> Option<DefaultText> {
        let job = self.job;
        let hidden = job.args.unclear(argument).is_some() || job.unread.iter().any(|name| name == argument);
        if !self.compares || hidden || job.args.is_given(argument) {
            return None;
        }
        match job.trainer.arguments.defaults {
            DefaultArguments::Recorded(class) => self.recorded(class(&job.args, &job.target)?, argument),
            DefaultArguments::Script => self.of_script(argument),
        }
    }

    fn recorded(&self, class: ArgumentClass, argument: &str) -> Option<DefaultText> {
        let python = self.job.python.as_ref();
        let RecordedDefault { value, of, certain } = class.default(argument, python)?;
        let text = if value == "?" {
            let version = python.and_then(|python| python.version(class.distribution));
            // Without one, the newest counts.
            let version = version.unwrap_or(Version([u32::MAX; 3]));
            let world_size = self.topology.world_size.as_ref().map(|world| world.value);
            (self.job.trainer.arguments.computed)(argument, &self.job.args, version, world_size)?
        } else {
            value.to_string()
        };
        let unless = (!certain).then_some("the version has another default");
        Some(DefaultText { text, whose: format!("default of {of}"), unless })
    }

    /// A script may do more than its text shows, so nothing is certain.
    fn of_script(&self, argument: &str) -> Option<DefaultText> {
        let flow = self.flow()?;
        let config_option = |word: &std::ffi::OsString| word.to_string_lossy().starts_with("--config");
        if flow.reads_config_option() && self.job.args.words().iter().any(config_option) {
            return None;
        }
        let found = self.recorded(flow.default_class(argument)?, argument)?;
        Some(DefaultText { unless: Some("the script changes it"), ..found })
    }

    /// Half precision that no argument speaks of.
    pub(super) fn default_precision(&self, name: &'static str) -> Option<FilledValue> {
        let of = |name| match self.default_text(name)? {
            // TRL's bf16: on, unless fp16 is.
            DefaultText { text, .. } if text == "!fp16" => {
                let given = self.job.args.bool("fp16", true).ok()?.map(|given| given.value);
                given.or_else(|| Some(self.default("fp16", hf_bool)?.value)).map(|fp16| !fp16)
            }
            DefaultText { text, .. } => hf_bool(&text),
        };
        let full_eval = if name == "fp16" { "fp16_full_eval" } else { "bf16_full_eval" };
        let DefaultText { whose, unless, .. } = self.default_text(name)?;
        let given = self.job.args.bool(full_eval, true).ok()?.map(|given| given.value);
        let on = of(name)? || given.or_else(|| of(full_eval))?;
        let from = Source::TrainerDefault(Box::new(TrainerDefault { argument: name, whose, unless }));
        Some(Sourced::new(on, from).into())
    }

    /// The steps of a warmup that no argument asks for. From 5.18 on transformers makes them at least one.
    pub(super) fn no_warmup(&self) -> Option<FilledValue> {
        let none_or_zero = |text: &str| (text == "none" || text.parse() == Ok(0.0)).then_some(());
        self.default("warmup_ratio", none_or_zero)?;
        let from = self.default("warmup_steps", none_or_zero)?.from;
        let steps = i64::from(!self.transformers_before([5, 18, 0]));
        Some(Sourced::new(steps, from).into())
    }
}
