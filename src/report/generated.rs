//! Sentences about `generate`.

use std::path::Path;

use super::problem::Problem;
use super::rule::Rule;

pub(crate) fn would_overwrite(path: &Path) -> Problem {
    Problem::error(Rule::Generate, format!("`{}` already exists", path.display()))
        .at(format!("-o {}", path.display()))
        .help("--force overwrites it")
}

pub(crate) fn nothing_to_offload() -> Problem {
    Problem::error(Rule::Generate, "stage 0 partitions nothing, so nothing can be offloaded")
        .at("--stage 0 --offload")
        .help("--stage 2 --offload")
}

pub(crate) fn tiers_need_a_folder() -> Problem {
    Problem::error(Rule::Usage, "`--tiers` writes three files and needs a folder for them")
        .at("--tiers")
        .help("--tiers -o configs")
}

pub(crate) fn contradicting_options(one: &str, two: &str, help: &str) -> Problem {
    Problem::error(Rule::Usage, format!("`{one}` cannot be used with `{two}`")).at(format!("{one} {two}")).help(help)
}
