//! GPUs by their names, and their memory. NVML would report it exactly, but calling it needs unsafe code.

use serde::Deserialize;

use crate::base::rows::{self, Row};
use crate::base::size::parse_bytes;
use crate::host::machine::is_model;

pub const CARDS: &str = include_str!("cards.txt");

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    #[serde(skip)]
    pub name: &'static str,
    /// The memory as the driver reports it.
    mib: u64,
    sold: u64,
}

impl Card {
    fn of(row: Row) -> Option<Self> {
        Some(Card {
            name: row.names().next()?,
            ..row.read()?
        })
    }

    pub fn memory(&self) -> u64 {
        self.mib << 20
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cards {
    pub card: Card,
    pub count: Option<u32>,
}

fn all() -> impl Iterator<Item = Card> {
    rows::rows(CARDS).filter_map(Card::of)
}

pub fn memory(model: &str) -> Option<u64> {
    of_driver(model).map(|card| card.memory())
}

fn of_driver(model: &str) -> Option<Card> {
    // A card of the same name has less memory in a laptop.
    if model.contains("Laptop") {
        return None;
    }
    // If a row has several names, the first is not the driver's.
    let is_driver_name = |row: &Row| {
        row.names()
            .skip(usize::from(row.names().count() > 1))
            .any(|name| is_model(model, name))
    };
    rows::rows(CARDS).find(is_driver_name).and_then(Card::of)
}

/// `80GB` is the least memory of the cards that are sold as such: makers count in GiB, and the driver keeps a part.
pub fn parse_memory(text: &str) -> Option<u64> {
    let upper = text.trim().to_ascii_uppercase();
    let sold: Option<u64> = upper
        .strip_suffix("GB")
        .and_then(|number| number.trim_end().parse().ok());
    let memory = all()
        .filter(|card| Some(card.sold) == sold)
        .map(|card| card.memory())
        .min();
    memory.or_else(|| parse_bytes(text))
}

pub fn names() -> impl Iterator<Item = &'static str> {
    all().map(|card| card.name)
}

/// A card by what people write: `h100`, `4090`, `A100 80GB`.
fn named(text: &str) -> Option<Card> {
    let wanted = plain(text);
    all().find(|card| {
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

/// Without the maker, the series, spaces and case.
fn plain(name: &str) -> String {
    const SERIES: &[&str] = &[
        "NVIDIA", "GEFORCE", "QUADRO", "TESLA", "RTX", "AMD", "INSTINCT",
    ];
    let upper = name.to_ascii_uppercase();
    let words = upper.split(|c: char| c.is_whitespace() || c == '-' || c == '_');
    words
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
    const TIMES: [char; 5] = ['x', 'X', '×', '*', ':'];
    let text = text.trim();
    // The driver starts with the maker. Other texts that only contain a name may mean another card.
    let pasted = |text: &str| {
        let is_of_driver = text.starts_with("NVIDIA ") || text.starts_with("Tesla ");
        if is_of_driver { of_driver(text) } else { None }
    };
    let counted = |card: &str, count: &str| {
        let count = count.trim().parse().ok().filter(|count| *count > 0)?;
        Some(Cards {
            card: named(card).or_else(|| pasted(card))?,
            count: Some(count),
        })
    };
    let alone = |card| Cards { card, count: None };
    (named(text).map(alone))
        .or_else(|| {
            text.rsplit_once(TIMES)
                .and_then(|(card, count)| counted(card, count))
        })
        .or_else(|| {
            text.split_once(TIMES)
                .and_then(|(count, card)| counted(card, count))
        })
        .or_else(|| pasted(text).map(alone))
}
