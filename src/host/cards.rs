//! GPUs by their names, and their memory. NVML would report it exactly, but calling it needs unsafe code.

use super::{
    machine::is_model,
    tables::cards::{SERIES, TIMES},
};
use crate::base::size::parse_bytes;

pub use super::tables::cards::{CARDS, Card, WITHOUT_BF16, WITHOUT_FP16};

/// A card as the user names it, and how many of them there are, if that is said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cards {
    pub card: &'static Card,
    pub count: Option<u32>,
}

impl Card {
    pub fn memory(&self) -> u64 {
        self.mib << 20
    }

    /// The card that the driver calls so. A card of the same name has less memory in a laptop.
    pub fn of_driver(model: &str) -> Option<&'static Self> {
        let is_meant = |card: &&Card| card.driver.iter().any(|name| is_model(model, name));
        CARDS
            .iter()
            .find(is_meant)
            .filter(|_| !model.contains("Laptop"))
    }

    /// The card that people call so: `h100`, `4090`, `A100 80GB`.
    fn named(text: &str) -> Option<&'static Self> {
        let wanted = plain(text);
        CARDS.iter().find(|card| {
            let name = plain(card.name);
            let without_size = name
                .strip_suffix(&format!("{}GB", card.sold))
                .unwrap_or(&name);
            let unit = wanted
                .strip_prefix(without_size)
                .and_then(|size| size.strip_prefix(&card.sold.to_string()));
            wanted == name || unit.is_some_and(|unit| ["G", "GB", "GIB"].contains(&unit))
        })
    }
}

/// `80GB` is the least memory of the cards that are sold as such: makers count in GiB, and the driver keeps a part.
pub fn parse_memory(text: &str) -> Option<u64> {
    let sold: Option<u64> = text
        .trim()
        .to_ascii_uppercase()
        .strip_suffix("GB")
        .and_then(|number| number.trim_end().parse().ok());
    CARDS
        .iter()
        .filter(|card| Some(card.sold) == sold)
        .map(Card::memory)
        .min()
        .or_else(|| parse_bytes(text))
}

/// A name without the maker, the series, spaces and case.
fn plain(name: &str) -> String {
    name.to_ascii_uppercase()
        .split(|c: char| c.is_whitespace() || c == '-' || c == '_')
        .map(|word| {
            SERIES
                .iter()
                .find_map(|series| word.strip_prefix(series))
                .unwrap_or(word)
        })
        .collect()
}

/// Reads `H100x8`, `8 × H100`, `H100:8` (as Slurm and SkyPilot write it), or a card alone, also by the driver's name.
pub fn parse(text: &str) -> Option<Cards> {
    let text = text.trim();
    // The driver starts with the maker. Other texts that only contain a name may mean another card.
    let card = |name: &str| {
        let is_of_driver = name.starts_with("NVIDIA ") || name.starts_with("Tesla ");
        let pasted = || Card::of_driver(name).filter(|_| is_of_driver);
        Card::named(name).or_else(pasted)
    };
    let count_first = text.split_once(TIMES).map(|(count, name)| (name, count));
    let counted = [text.rsplit_once(TIMES), count_first]
        .into_iter()
        .flatten()
        .find_map(|(name, count)| {
            let count = count.trim().parse().ok().filter(|count| *count > 0);
            Some(Cards {
                card: card(name)?,
                count: Some(count?),
            })
        });
    let alone = || {
        let card = card(text)?;
        Some(Cards { card, count: None })
    };
    counted.or_else(alone)
}
