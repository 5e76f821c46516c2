//! "Did you mean": the known word that is nearest to what was typed.

use std::cmp::Reverse;

use super::tables::other_names::{OTHER_NAMES, REAL_WORDS};

/// The known word that was probably meant: another name of it, or at most three slips away, and no more than a third of the
/// word. Of several, the one that begins like it.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let known: Vec<&str> = known.into_iter().collect();
    let same = lower.replace('-', "_");
    let other = OTHER_NAMES
        .iter()
        .filter(|row| row.contains(&&*same))
        .copied()
        .flatten()
        .find_map(|name| known.iter().find(|known| *known == name));
    let near = known.iter().filter_map(|candidate| {
        let alike = lower
            .chars()
            .zip(candidate.chars())
            .take_while(|(a, b)| a == b)
            .count();
        // `qwen2_5` is rather `qwen2` than `qwen2_vl`.
        let rank = (
            slips(&lower, candidate)?,
            alike < candidate.len(),
            Reverse(alike),
        );
        Some((rank, candidate))
    });
    let alike = known.iter().find(|known| **known == same);
    // `gpu-mem`, if nothing else begins like it.
    let mut longer = known
        .iter()
        .filter(|it| lower.len() > 3 && it.starts_with(&lower));
    let only = longer.next().filter(|first| longer.all(|it| it == *first));
    alike
        .or(other)
        .or_else(|| near.min_by_key(|(rank, _)| *rank).map(|(_, near)| near))
        .or(only)
        .filter(|found| {
            let is_same = found.eq_ignore_ascii_case(word) || Some(*found) == other;
            is_same || !REAL_WORDS.contains(&&*same)
        })
        .copied()
}

/// The edits between a known word and one in lower case, if they are few.
fn slips(word: &str, candidate: &str) -> Option<usize> {
    let length = word.chars().count();
    let most = 3.min((length + 1) / 3);
    // `qwen2` is not meant by `qwen3`.
    let mut digits = word
        .matches(char::is_numeric)
        .zip(candidate.matches(char::is_numeric));
    // The length differs by one per slip at most. Comparing is slow: it takes the product of both lengths.
    let near = candidate.chars().count().abs_diff(length) <= most
        && digits.all(|(given, known)| given == known);
    near.then(|| strsim::damerau_levenshtein(word, &candidate.to_lowercase()))
        .filter(|slips| *slips <= most)
}
