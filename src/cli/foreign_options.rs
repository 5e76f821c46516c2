//! What the options of other programs are called here: torchrun's, deepspeed's, accelerate's, and what people expect.

/// What to give instead of an option. In the words, `{}` stands for its value and `{name}` for its name.
#[derive(Clone)]
pub(super) enum Replacement {
    /// Words in the same place.
    Words(String),
    /// An argument of the training.
    Behind(&'static str),
    /// Nothing: why it is not needed.
    Nothing(&'static str),
}

/// The place and the names of options, and the words to give instead; the file says how they are written.
pub fn table() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("foreign_options.txt").lines().filter_map(|line| line.split_once(" -> "))
}

/// What to give in a place instead of an option, by its name with `_`.
pub(super) fn replacement(name: &str, place: &str, describes_launch: bool) -> Option<Replacement> {
    let find = |place: &str| {
        let is_it =
            |names: &str| names.split(' ').next() == Some(place) && names.split(' ').skip(1).any(|it| it == name);
        table().find(|(names, _)| is_it(names)).map(|(_, words)| words)
    };
    let words = find(place).or_else(|| find("launch").filter(|_| describes_launch))?;
    Some(match words.split_once(' ') {
        Some(("!", why)) => Replacement::Nothing(why),
        Some((">", words)) => Replacement::Behind(words),
        _ => Replacement::Words(words.to_string()),
    })
}
