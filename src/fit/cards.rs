//! The memory of a GPU by its model name. NVML would report it exactly, but calling it needs unsafe code.

use crate::host::machine::is_model;

const CARDS: &str = include_str!("cards.txt");

/// Bytes, from the first line of the table that names the model.
pub(crate) fn memory(model: &str) -> Option<u64> {
    let lines = CARDS.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' '));
    let (mib, _) = lines.into_iter().find(|(_, name)| is_model(model, name))?;
    mib.parse::<u64>().ok().map(|mib| mib << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_not_confused() {
        for (model, gib) in [
            ("NVIDIA H200", Some(140)),
            ("NVIDIA GH200 480GB", Some(95)),
            ("NVIDIA A100-SXM4-80GB", Some(80)),
            ("NVIDIA A100-SXM4-40GB", Some(40)),
            ("NVIDIA L4", Some(22)),
            ("NVIDIA L40S", Some(44)),
            ("NVIDIA L40", Some(44)),
            ("NVIDIA RTX A4000", None),
            ("Tesla V100-SXM2-32GB", Some(32)),
        ] {
            assert_eq!(memory(model).map(|bytes| bytes >> 30), gib, "{model}");
        }
    }
}
