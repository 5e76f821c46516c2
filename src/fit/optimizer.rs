//! Optimizers by their names, with the memory they take.

use super::tables::optimizers::{AS_MUCH_AS_ANY, NOTHING, OPTIMIZERS, OptimizerMemory};

const NOT_MEASURED: &str = "an optimizer that was not measured";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optimizer {
    pub name: &'static str,
    pub(crate) memory: OptimizerMemory,
}

impl Optimizer {
    /// One that is not in the table is taken to need as much as any.
    const UNKNOWN: Optimizer = Optimizer {
        name: NOT_MEASURED,
        memory: AS_MUCH_AS_ANY,
    };

    /// The least that an optimizer which was not measured can need: no states at all.
    pub(super) const LEAST: Optimizer = Optimizer {
        name: NOT_MEASURED,
        memory: NOTHING,
    };

    pub fn is_measured(self) -> bool {
        self.name != NOT_MEASURED
    }

    /// By the name that a trainer gives it.
    pub fn named(name: &str) -> Self {
        let name = name.to_lowercase().replace('-', "_");
        Self::of_trainers()
            .find(|(known, _)| *known == name)
            .map_or(Self::UNKNOWN, |(_, optimizer)| optimizer)
    }

    /// By the `type` of DeepSpeed's `optimizer` section.
    pub fn of_deepspeed(name: &str) -> Self {
        let wanted = name.to_lowercase();
        let known = OPTIMIZERS.iter().find_map(|row| {
            let name = row.of_deepspeed.iter().find(|name| **name == wanted)?;
            Some(Optimizer {
                name,
                memory: row.memory,
            })
        });
        known.unwrap_or(Self::UNKNOWN)
    }

    /// Those that a trainer can name, with their names.
    pub(crate) fn of_trainers() -> impl Iterator<Item = (&'static str, Self)> {
        OPTIMIZERS.iter().flat_map(|row| {
            let memory = row.memory;
            row.names
                .iter()
                .map(move |name| (*name, Optimizer { name, memory }))
        })
    }
}
