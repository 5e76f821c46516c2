//! Optimizers, by the memory they take. `optimizers.txt` has one line for each that was measured.

const TABLE: &str = include_str!("optimizers.txt");

/// Names in DeepSpeed's `optimizer` section stand in the table with this in front.
const OF_DEEPSPEED: &str = "deepspeed.";

/// Hundredths of a byte for each trained parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bytes {
    /// Kept from step to step.
    pub(crate) states: u64,
    /// Made during the step.
    pub(crate) step: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optimizer {
    pub(crate) name: &'static str,
    /// On the flat fp32 tensors of ZeRO 1 to 3.
    pub(crate) flat: Bytes,
    /// Where each tensor keeps its shape: at stage 0, and without DeepSpeed.
    pub(crate) shaped: Bytes,
    /// There, what a step makes exists for all tensors at once, not for one after another.
    pub(crate) all_at_once: bool,
    /// Without DeepSpeed the states have the dtype of the parameters.
    pub(crate) follows_dtype: bool,
    /// States of embedding and head, where they differ.
    pub(crate) outside: Option<u64>,
    /// States of the embedding without DeepSpeed, where they differ.
    pub(crate) embedding: Option<u64>,
    /// Without DeepSpeed, a 16-bit tensor and its gradient are cast to fp32 for the step.
    pub(crate) casts: bool,
}

impl Optimizer {
    /// The most that an optimizer which nobody measured is taken to need.
    const MOST: Optimizer = Optimizer {
        name: "an optimizer that was not measured",
        flat: Bytes { states: 800, step: 800 },
        shaped: Bytes { states: 800, step: 800 },
        all_at_once: true,
        follows_dtype: false,
        outside: None,
        embedding: None,
        casts: false,
    };

    /// The least that such an optimizer can need: no states at all.
    pub(crate) const LEAST: Optimizer =
        Optimizer { flat: Bytes { states: 0, step: 0 }, shaped: Bytes { states: 0, step: 0 }, ..Self::MOST };

    pub(crate) fn is_measured(self) -> bool {
        self.name != Self::MOST.name
    }

    /// By the name that a trainer gives it.
    pub fn named(name: &str) -> Self {
        Self::find(&name.to_lowercase().replace('-', "_"))
    }

    /// By the `type` of DeepSpeed's `optimizer` section.
    pub(crate) fn of_deepspeed(name: &str) -> Self {
        Self::find(&format!("{OF_DEEPSPEED}{}", name.to_lowercase()))
    }

    fn find(name: &str) -> Self {
        Self::all().find(|(known, _)| *known == name).map_or(Self::MOST, |(_, optimizer)| optimizer)
    }

    /// The names that trainers use.
    pub(crate) fn of_trainers() -> impl Iterator<Item = (&'static str, Self)> {
        Self::all().filter(|(name, _)| !name.starts_with(OF_DEEPSPEED))
    }

    fn all() -> impl Iterator<Item = (&'static str, Self)> {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(read).flat_map(|(names, row)| {
            names.split(',').map(move |name| (name, Optimizer { name: name.trim_start_matches(OF_DEEPSPEED), ..row }))
        })
    }
}

/// The names of a line, and what it says about them.
fn read(line: &'static str) -> Option<(&'static str, Optimizer)> {
    let mut words = line.split(' ');
    let names = words.next()?;
    let mut bytes = || {
        let mut number = || words.next()?.parse().ok();
        Some(Bytes { states: number()?, step: number()? })
    };
    let (flat, shaped) = (bytes()?, bytes()?);
    let mut row = Optimizer { name: names, flat, shaped, all_at_once: false, ..Optimizer::MOST };
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("outside", states) => row.outside = Some(states.parse().ok()?),
            ("embedding", states) => row.embedding = Some(states.parse().ok()?),
            ("each", "") => row.all_at_once = false,
            ("all", "") => row.all_at_once = true,
            ("follows", "") => row.follows_dtype = true,
            ("casts", "") => row.casts = true,
            _ => return None,
        }
    }
    Some((names, row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        let rows: Vec<_> = TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(read).collect();
        assert_eq!(rows.len(), lines);
        assert!(rows.iter().all(|(names, _)| names.split(',').all(|name| Optimizer::all().any(|(it, _)| it == name))));
    }

    #[test]
    fn a_name_nobody_measured_is_not_taken_for_another() {
        for name in ["galore_adamw", "apollo_adamw", "lomo", "came_pytorch"] {
            assert!(!Optimizer::named(name).is_measured(), "{name}");
        }
        assert_eq!(Optimizer::named("adamw_torch").flat, Bytes { states: 800, step: 400 });
        assert_eq!(Optimizer::named("paged_adamw_8bit").flat, Bytes { states: 3, step: 0 });
        assert_eq!(Optimizer::of_deepspeed("AdamW").name, "adamw");
        assert!(!Optimizer::of_deepspeed("OneBitAdam").is_measured());
    }
}
