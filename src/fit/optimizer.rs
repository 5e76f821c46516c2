//! Optimizers, by the memory they take: `optimizers.txt` has those that were measured, and says what its cells mean.

use serde::Deserialize;

use crate::base::rows;

pub const OPTIMIZERS: &str = include_str!("optimizers.txt");

/// Names in DeepSpeed's `optimizer` section stand in the table with this in front.
const OF_DEEPSPEED: &str = "deepspeed.";
const NOT_MEASURED: &str = "an optimizer that was not measured";

/// The numbers are hundredths of a byte for each trained parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Optimizer {
    #[serde(skip)]
    pub name: &'static str,
    pub(crate) flat_states: u64,
    pub(crate) flat_step: u64,
    pub(crate) states: u64,
    pub(crate) step: u64,
    pub(crate) all_at_once: bool,
    pub(crate) follows_dtype: bool,
    pub(crate) outside: Option<u64>,
    pub(crate) embedding: Option<u64>,
    pub(crate) casts: bool,
}

impl Optimizer {
    /// An optimizer that nobody measured, with so much for its states and for its step. The least is 0: no states at all.
    pub(crate) fn not_measured(each: u64) -> Self {
        let (name, all_at_once) = (NOT_MEASURED, true);
        Optimizer {
            name,
            flat_states: each,
            flat_step: each,
            states: each,
            step: each,
            all_at_once,
            ..Self::default()
        }
    }

    pub fn is_measured(self) -> bool {
        self.name != NOT_MEASURED
    }

    /// By the name that a trainer gives it.
    pub fn named(name: &str) -> Self {
        Self::find(&name.to_lowercase().replace('-', "_"))
    }

    /// By the `type` of DeepSpeed's `optimizer` section.
    pub fn of_deepspeed(name: &str) -> Self {
        Self::find(&format!("{OF_DEEPSPEED}{}", name.to_lowercase()))
    }

    /// One that is not in the table is taken to need as much as any.
    fn find(name: &str) -> Self {
        Self::all()
            .find(|(known, _)| *known == name)
            .map_or(Self::not_measured(800), |(_, optimizer)| optimizer)
    }

    pub(crate) fn of_trainers() -> impl Iterator<Item = (&'static str, Self)> {
        Self::all().filter(|(name, _)| !name.starts_with(OF_DEEPSPEED))
    }

    fn all() -> impl Iterator<Item = (&'static str, Self)> {
        rows::rows(OPTIMIZERS).flat_map(|row| {
            let optimizer: Optimizer = row.read().unwrap_or_default();
            row.names().map(move |name| {
                (
                    name,
                    Optimizer {
                        name: name.trim_start_matches(OF_DEEPSPEED),
                        ..optimizer
                    },
                )
            })
        })
    }
}
