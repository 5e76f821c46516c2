//! "Did you mean": the known word that is nearest to what was typed.

use std::cmp::Reverse;

use super::tables::other_names::OTHER_NAMES;

/// The known word that was probably meant: another name of it, or at most three slips away, and no more than a third of the
/// word. Of several, the one that begins like it.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let known: Vec<&str> = known.into_iter().collect();
    let same = lower.replace('-', "_");
    let rows = OTHER_NAMES.iter().filter(|row| row.contains(&&*same));
    let other = rows
        .copied()
        .flatten()
        .find_map(|name| known.iter().find(|known| *known == name));
    let near = known.iter().filter_map(|candidate| {
        let alike = lower
            .chars()
            .zip(candidate.chars())
            .take_while(|(a, b)| a == b)
            .count();
        Some(((slips(&lower, candidate)?, Reverse(alike)), candidate))
    });
    other
        .or_else(|| Some(near.min_by_key(|(rank, _)| *rank)?.1))
        .copied()
}

/// The edits between a known word and one in lower case, if they are few.
fn slips(word: &str, candidate: &str) -> Option<usize> {
    let length = word.chars().count();
    let most = 3.min((length + 1) / 3);
    // The length differs by one per slip at most. Comparing is slow: it takes the product of both lengths.
    let near = candidate.chars().count().abs_diff(length) <= most;
    near.then(|| strsim::damerau_levenshtein(word, &candidate.to_lowercase()))
        .filter(|slips| *slips <= most)
}

pub(crate) fn did_you_mean(nearest: Option<&str>, otherwise: &str) -> String {
    nearest.map_or_else(
        || otherwise.to_string(),
        |word| format!("did you mean `{word}`? {otherwise}"),
    )
}
