//! What a trainer refuses once its arguments are read, though its parser took them: values that do not go together, or
//! not with the config, the files and the packages that are there. One table for each who refuses.

mod llamafactory;
mod refusal;
mod swift;
mod transformers;
mod trl;

use crate::command::trainer::Trainer;
pub(super) use refusal::Refusal;

/// Everything that a trainer may refuse.
pub(super) fn all(trainer: &Trainer) -> impl Iterator<Item = &'static Refusal> + use<> {
    let own: &[Refusal] = match trainer.name {
        "llamafactory" => llamafactory::REFUSALS,
        "swift" => swift::REFUSALS,
        "trl" => trl::REFUSALS,
        _ => &[],
    };
    transformers::REFUSALS.iter().chain(own)
}
