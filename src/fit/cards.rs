//! GPUs by their names, and their memory. NVML would report it exactly, but calling it needs unsafe code.

use crate::base::size::parse_bytes;
use crate::host::machine::is_model;

const CARDS: &str = include_str!("cards.txt");

/// A line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Card {
    /// As people call it.
    pub(crate) name: &'static str,
    /// Bytes, as the driver reports them.
    pub(crate) memory: u64,
    /// The gigabytes it is sold with.
    sold: u64,
    /// The names the driver has for it, separated by commas.
    driver: &'static str,
}

/// GPUs as they are said: `H100x8`, `8xH100`, `RTX 4090`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cards {
    pub(crate) card: Card,
    pub(crate) count: Option<u32>,
}

fn all() -> impl Iterator<Item = Card> {
    CARDS.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (mib, rest) = line.split_once(' ')?;
        let (sold, names) = rest.split_once(' ')?;
        let (name, driver) = names.split_once(": ").unwrap_or((names, names));
        Some(Card { name, memory: mib.parse::<u64>().ok()? << 20, sold: sold.parse().ok()?, driver })
    })
}

/// The memory of a GPU that the driver gives this name.
pub(crate) fn memory(model: &str) -> Option<u64> {
    of_driver(model).map(|card| card.memory)
}

fn of_driver(model: &str) -> Option<Card> {
    // A card of the same name has less memory in a laptop.
    let is_listed = !model.contains("Laptop");
    all().filter(|_| is_listed).find(|card| card.driver.split(", ").any(|name| is_model(model, name)))
}

/// The memory of a card that is sold with this many gigabytes: makers count in GiB, and the driver keeps a part. Of
/// several such cards it is the one that has least.
fn sold_with(gigabytes: u64) -> Option<u64> {
    all().filter(|card| card.sold == gigabytes).map(|card| card.memory).min()
}

/// The memory of a GPU as people write it. `GB` is what its maker calls so, if cards are sold with that many.
pub(crate) fn parse_memory(text: &str) -> Option<u64> {
    let upper = text.trim().to_ascii_uppercase();
    let gigabytes = upper.strip_suffix("GB").and_then(|number| number.trim_end().parse().ok());
    gigabytes.and_then(sold_with).or_else(|| parse_bytes(text))
}

/// The names of all cards, for a suggestion.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    all().map(|card| card.name)
}

/// A card by what people write: `h100`, `4090`, `A100 80GB`.
fn named(text: &str) -> Option<Card> {
    let wanted = plain(text);
    let is_it = |card: &Card| {
        let name = plain(card.name);
        let without_size = name.strip_suffix(&format!("{}GB", card.sold)).unwrap_or(&name);
        let with_size = |unit: &&str| wanted.strip_prefix(without_size) == Some(&format!("{}{unit}", card.sold));
        wanted == name || ["G", "GB", "GIB"].iter().any(with_size)
    };
    all().find(is_it)
}

/// Without the maker, the series, spaces and case.
fn plain(name: &str) -> String {
    const SERIES: &[&str] = &["NVIDIA", "GEFORCE", "QUADRO", "TESLA", "RTX", "AMD", "INSTINCT"];
    let upper = name.to_ascii_uppercase();
    let words = upper.split(|c: char| c.is_whitespace() || c == '-' || c == '_');
    words.map(|word| SERIES.iter().find_map(|series| word.strip_prefix(series)).unwrap_or(word)).collect()
}

/// Reads `H100x8`, `8 × H100`, `H100:8` (as Slurm and SkyPilot write it), or a card alone, also by the driver's name.
pub(crate) fn parse(text: &str) -> Option<Cards> {
    const TIMES: [char; 5] = ['x', 'X', '×', '*', ':'];
    let text = text.trim();
    // The driver starts with the maker. Other texts that only contain a name may mean another card.
    let pasted = |text: &str| of_driver(text).filter(|_| ["NVIDIA ", "Tesla "].iter().any(|it| text.starts_with(it)));
    let counted = |card: &str, count: &str| {
        let count = count.trim().parse().ok().filter(|count| *count > 0)?;
        Some(Cards { card: named(card).or_else(|| pasted(card))?, count: Some(count) })
    };
    let alone = |card| Cards { card, count: None };
    (named(text).map(alone))
        .or_else(|| text.rsplit_once(TIMES).and_then(|(card, count)| counted(card, count)))
        .or_else(|| text.split_once(TIMES).and_then(|(count, card)| counted(card, count)))
        .or_else(|| pasted(text).map(alone))
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
            ("NVIDIA RTX A4000", Some(15)),
            ("NVIDIA RTX A400", None),
            ("NVIDIA GeForce RTX 4070 Ti SUPER", Some(15)),
            ("NVIDIA GeForce RTX 4070 Ti", Some(11)),
            ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
            ("NVIDIA A800 40GB Active", Some(40)),
            ("Tesla V100-SXM2-32GB", Some(32)),
        ] {
            assert_eq!(memory(model).map(|bytes| bytes >> 30), gib, "{model}");
        }
    }

    #[test]
    fn cards_are_named_as_people_name_them() {
        for (text, name, count) in [
            ("H100x8", "H100", Some(8)),
            ("8xh100", "H100", Some(8)),
            ("8 × H100", "H100", Some(8)),
            ("H100:4", "H100", Some(4)),
            ("h100-80gb", "H100", None),
            ("NVIDIA H100 80GB HBM3", "H100", None),
            ("H100 NVL x2", "H100 NVL", Some(2)),
            ("RTX 4090", "RTX 4090", None),
            ("rtx4090x2", "RTX 4090", Some(2)),
            ("4090", "RTX 4090", None),
            ("RTX 4070 Ti SUPER", "RTX 4070 Ti SUPER", None),
            ("A6000", "RTX A6000", None),
            ("A100", "A100", None),
            ("A100 80GB", "A100", None),
            ("A100-40G*4", "A100-40GB", Some(4)),
            ("MI300X", "MI300X", None),
            ("MI300Xx8", "MI300X", Some(8)),
        ] {
            let cards = parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((cards.card.name, cards.count), (name, count), "{text}");
        }
        for text in ["", "x8", "H100x0", "H100x", "RTX 4096", "H1", "A100-41GB", "8"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn gigabytes_are_those_of_the_maker() {
        for (text, mib) in
            [("80GB", 81559), ("24 gb", 23028), ("141GB", 143_771), ("80GiB", 81920), ("24564MiB", 24564)]
        {
            assert_eq!(parse_memory(text), Some(mib << 20), "{text}");
        }
        // No card is sold with that many.
        assert_eq!(parse_memory("44GB"), Some(44_000_000_000));
    }

    #[test]
    fn every_line_is_read() {
        assert_eq!(all().count(), CARDS.lines().filter(|line| !line.starts_with('#')).count());
        for card in all() {
            assert_eq!(named(card.name), Some(card));
            let reported = card.memory >> 20;
            assert!((card.sold * 925..=card.sold * 1030).contains(&reported), "{card:?}");
        }
    }
}
