//! Arguments that the command gives. They count where the trainer gets them as they are. Where a script may change one on
//! the way, it fills nothing, and what contradicts it is not an error.

use super::context::{Answer, FillContext, Unfilled};
use crate::base::source::{DoubtfulArgument, Source, Sourced};
use crate::command::argv::is_spelling;
use crate::command::argv::{Args, ArgumentError};
use crate::command::front_end::Precision;

/// Every argument that speaks of half precision.
const PRECISIONS: &[&str] = &["fp16", "fp16_full_eval", "bf16", "bf16_full_eval"];

impl FillContext<'_> {
    /// Why the trainer may get something else for an argument that is given.
    fn doubt(&self, argument: &str) -> Option<String> {
        // HfArgumentParser has it for a bool that is true by default.
        let off = format!("--no_{argument}");
        if self.job.args.words().iter().any(|word| word.to_str().is_some_and(|word| is_spelling(word, &off))) {
            return Some(format!("{off} is given too"));
        }
        let flow = self.flow()?;
        // The user's word fills; what contradicts it may still be the script's doing.
        if self.job.is_named && !self.compares { flow.overrides(argument) } else { flow.doubt(argument) }
    }

    /// An argument that is given: where the trainer may get something else, it fills nothing, and a difference is not an error.
    pub(super) fn given<T>(
        &self,
        name: &str,
        read: impl Fn(&Args) -> Result<Option<Sourced<T>>, ArgumentError>,
    ) -> Result<Option<Sourced<T>>, Unfilled> {
        let args = &self.job.args;
        if !args.is_given(name) {
            return Ok(None);
        }
        let Some(why) = self.doubt(name) else { return Ok(read(args)?) };
        if !self.compares {
            return Err(Unfilled::Deferred(why));
        }
        Ok(read(args).ok().flatten().map(|given| doubtful(given, why)))
    }

    /// What an argument of half precision says.
    pub(super) fn precision(&self, of: fn(&Args) -> Precision, name: &'static str) -> Answer {
        // Apex changes which section is used, in the versions that have these arguments.
        if ["half_precision_backend", "fp16_backend"].iter().any(|name| self.job.args.is_given(name)) {
            return Err(Unfilled::deferred("--half_precision_backend decides too"));
        }
        let args = &self.job.args;
        let mut given = PRECISIONS.iter().filter(|name| args.is_given(name));
        let doubt = given.find_map(|name| self.doubt(name));
        let said = match &doubt {
            Some(why) if !self.compares => return Err(Unfilled::deferred(why.as_str())),
            Some(_) => of(args).ok().flatten(),
            None => of(args)?,
        };
        match (said, self.job.trainer.model.precision_unknown) {
            (Some((on, from)), _) => {
                let given = Sourced::new(on, Source::Argument(from));
                Ok(if let Some(why) = doubt { doubtful(given, why) } else { given }.into())
            }
            (None, Some(why)) => Err(Unfilled::deferred(why)),
            (None, None) => self.default_precision(name).ok_or_else(|| self.not_given(name)),
        }
    }
}

fn doubtful<T>(given: Sourced<T>, why: String) -> Sourced<T> {
    let argument = given.from.to_string();
    Sourced::new(given.value, Source::Doubtful(Box::new(DoubtfulArgument { argument, why })))
}
