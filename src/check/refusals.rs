//! Arguments that a trainer's parser takes and the trainer then refuses.

use super::conditions::listed;
use super::subject::Subject;
use super::tables::refusals::REFUSALS;
use super::tables::types::{Condition, Refusal, Refuser};
use crate::command::job::Trainer;
use crate::command::parser::Parser;
use crate::report::fix::{Fixes, Owner, give};
use crate::report::nearest;

pub(super) fn all(trainer: &Trainer) -> impl Iterator<Item = &'static Refusal> {
    REFUSALS
        .iter()
        .filter(|refusal| refusal.by.iter().any(|refuser| refuser.is(trainer)))
}

impl Refuser {
    fn is(&self, trainer: &Trainer) -> bool {
        match self {
            Refuser::Transformers => true,
            Refuser::Only(only) => only.name == trainer.name,
        }
    }
}

impl Refusal {
    /// The argument that it is about, if that is missing.
    pub(super) fn missing(&self) -> Option<&'static str> {
        match self.when[0] {
            Condition::LeftOut(name) => Some(name),
            _ => None,
        }
    }

    pub(super) fn holds(&self, subject: &Subject, parser: &Parser) -> bool {
        self.when
            .iter()
            .all(|condition| condition.holds(subject, Some(parser)))
    }

    /// The nearest of the listed values, or the fixes of the row.
    pub(super) fn fixes(&self, subject: &Subject, option: &str, value: &str) -> Fixes {
        if let Condition::Unlisted { files, .. } = self.when[0]
            && let Some(near) = nearest(value, listed(subject, files).iter().map(String::as_str))
        {
            return give(option, near).of(Owner::Trainer).into();
        }
        Fixes(
            self.fixes
                .iter()
                .map(|remedy| remedy.fix(subject))
                .collect(),
        )
    }
}
