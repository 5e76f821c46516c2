//! The variables that a template may set: they only tune, and decide neither which code runs nor which ranks take part.

/// The file says how it is written.
const TUNING: &str = include_str!("tuning.txt");

pub fn only_tunes(name: &str) -> bool {
    let lines = |sign: &'static str| {
        TUNING.lines().filter_map(move |line| line.strip_prefix(sign)).flat_map(str::split_whitespace)
    };
    let plain = || TUNING.lines().filter(|line| !line.starts_with(['#', '-', '+'])).flat_map(str::split_whitespace);
    let is_listed =
        || plain().any(|known| known == name || known.strip_suffix('*').is_some_and(|start| name.starts_with(start)));
    let leads_on = || name.split('_').any(|part| lines("- ").any(|word| word == part));
    lines("+ ").any(|known| known == name) || is_listed() && !leads_on()
}
