//! "Did you mean": the known word that is nearest to what was typed.

use std::cmp::Reverse;

/// What people call options and values, as the file says.
const OTHER_NAMES: &str = include_str!("other_names.txt");

/// The known word that was probably meant: another name of it, or at most three slips away, and no more than a third of the
/// word. Of several, the one that begins like it.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let known: Vec<&str> = known.into_iter().collect();
    let same = lower.replace('-', "_");
    let rows = OTHER_NAMES.lines().filter(|row| !row.starts_with('#') && row.split(' ').any(|name| name == same));
    let other = rows.flat_map(|row| row.split(' ')).find_map(|name| known.iter().find(|known| **known == name));
    let near = || known.iter().filter_map(|candidate| Some((slips(&lower, candidate)?, candidate)));
    let alike = |candidate: &str| lower.chars().zip(candidate.chars()).take_while(|(a, b)| a == b).count();
    let near = || near().min_by_key(|(slips, candidate)| (*slips, Reverse(alike(candidate)))).map(|(_, found)| found);
    other.or_else(near).copied()
}

/// How far a known word is from one in lower case, if it is near.
fn slips(word: &str, candidate: &str) -> Option<usize> {
    let length = word.chars().count();
    let most = 3.min((length + 1) / 3);
    // Each slip makes it longer or shorter by one at most, and comparing takes the time of both lengths multiplied.
    let near = candidate.chars().count().abs_diff(length) <= most;
    near.then(|| strsim::damerau_levenshtein(word, &candidate.to_lowercase())).filter(|slips| *slips <= most)
}

pub(crate) fn did_you_mean(nearest: Option<&str>, otherwise: &str) -> String {
    nearest.map_or_else(|| otherwise.to_string(), |word| format!("did you mean `{word}`? {otherwise}"))
}
