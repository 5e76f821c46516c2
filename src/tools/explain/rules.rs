//! The diagnostics that zlaunch names, each with one sentence.

use crate::check;
use crate::report::Rule;

/// Every rule with what it is about.
pub fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_launches = Rule::all().filter_map(|rule| Some((rule.name(), rule.about()?)));
    of_launches.chain(check::rules().map(|check| (check.rule.name(), check.doc)))
}
