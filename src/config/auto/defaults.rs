//! What the trainer takes for an argument that is not given. It counts where the config has a value to compare, and never
//! fills an "auto": that is left to the trainer.

use std::ffi::OsString;

use super::context::{FillContext, FilledValue};
use crate::base::recorded::Version;
use crate::base::source::{Source, Sourced, TrainerDefault};
use crate::command::argument_class::{ArgumentClass, RecordedDefault};
use crate::command::argv::hf_bool;
use crate::command::front_end::DefaultArguments;

impl FillContext<'_> {
    /// The default of an argument, if it is known and of that type.
    pub(super) fn default<T>(&self, argument: &'static str, read: fn(&str) -> Option<T>) -> Option<Sourced<T>> {
        let default = self.default_text(argument)?;
        Some(Sourced::new(read(&default.value)?, default.from))
    }

    /// The default as it would be written on a command line.
    fn default_text(&self, argument: &'static str) -> Option<Sourced<String>> {
        let job = self.job;
        let hidden = job.args.unclear(argument).is_some() || job.unread.iter().any(|name| name == argument);
        if !self.compares || hidden || job.args.is_given(argument) {
            return None;
        }
        match job.trainer.arguments.defaults {
            DefaultArguments::Recorded(class) => self.recorded(class(&job.args, &job.target)?, argument, None),
            DefaultArguments::Script => {
                let flow = self.flow()?;
                let config_option = |word: &OsString| word.to_string_lossy().starts_with("--config");
                // `TrlParser` reads a file with arguments there, which zlaunch does not follow.
                if flow.has(&["TrlParser"]) && job.args.words().iter().any(config_option) {
                    return None;
                }
                // A script may do more than its text shows, so nothing is certain.
                self.recorded(flow.default_class(argument)?, argument, Some("the script changes it"))
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
            // Without one, the newest counts.
            let version = version.unwrap_or(Version([u32::MAX; 3]));
            let world_size = self.topology.world_size.as_ref().map(|world| world.value);
            (self.job.trainer.arguments.computed)(argument, &self.job.args, version, world_size)?
        } else {
            value.to_string()
        };
        let unless = unless.or((!certain).then_some("the version has another default"));
        let default = TrainerDefault { argument, whose: format!("default of {of}"), unless };
        Some(Sourced::new(text, Source::TrainerDefault(Box::new(default))))
    }

    /// Half precision that no argument speaks of.
    pub(super) fn default_precision(&self, name: &'static str) -> Option<FilledValue> {
        let given = |name| Some(self.job.args.bool(name, true).ok()?.map(|given| given.value));
        let is_on = |default: &Sourced<String>| match default.value.as_str() {
            // TRL's bf16: on, unless fp16 is.
            "!fp16" => given("fp16")?.or_else(|| Some(self.default("fp16", hf_bool)?.value)).map(|fp16| !fp16),
            text => hf_bool(text),
        };
        let full_eval = if name == "fp16" { "fp16_full_eval" } else { "bf16_full_eval" };
        let (default, full) = (self.default_text(name)?, given(full_eval)?);
        let on = is_on(&default)? || full.or_else(|| is_on(&self.default_text(full_eval)?))?;
        Some(Sourced::new(on, default.from).into())
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
