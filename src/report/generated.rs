//! Sentences about `generate`.

use std::path::Path;

use super::problem::Problem;
use super::rule::Rule;

pub(crate) fn would_overwrite(path: &Path) -> Problem {
    Problem::error(Rule::Generate, format!("`{}` already exists", path.display()))
        .at(format!("-o {}", path.display()))
        .help("--force overwrites it")
}

pub(crate) fn contradicting_options(one: &str, two: &str, help: &str) -> Problem {
    Problem::error(Rule::Usage, format!("`{one}` cannot be used with `{two}`")).at(format!("{one} {two}")).help(help)
}
