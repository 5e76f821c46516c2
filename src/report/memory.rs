//! Sentences about the options of `fit`.

use super::fix::{give, give_as, run};
use super::problem::Problem;
use super::rule::Rule;
use crate::base::source::Sourced;

pub(crate) fn nothing_to_fit() -> Problem {
    Problem::error(Rule::Usage, "no model is given").at("zlaunch fit").fix(
        run("zlaunch fit --params 8B --gpu H100x8")
            .or(run("zlaunch fit --gpus 8 -- swift sft --model Qwen/Qwen3-8B").remark("with the training command")),
    )
}

/// A number of nvidia-smi is in MiB; what people know of a machine is in GiB.
pub(crate) fn size_without_unit(size: &Sourced<String>) -> Problem {
    let number = size.value.trim();
    let unit = if number.parse::<f64>().is_ok_and(|number| number >= 4096.0) { "MiB" } else { "GiB" };
    Problem::error(Rule::Usage, format!("`{number}` has no unit"))
        .at(size)
        .fix(give_as(&size.from, format!("{number}{unit}")))
}

pub(crate) fn count_without_unit(count: &Sourced<String>) -> Problem {
    let number = count.value.trim();
    Problem::error(Rule::Usage, format!("`{number}` has no unit"))
        .at(count)
        .fix(give_as(&count.from, format!("{number}B")))
}

pub(crate) fn unknown_card(name: &Sourced<String>, nearest: Option<&str>) -> Problem {
    let is_number = name.value.trim().parse::<u32>().is_ok();
    let memory = give("--gpus", 8).and(give("--gpu-memory", "80GiB")).remark("its memory instead of its name");
    let fixes = match nearest {
        _ if is_number => give("--gpus", name.value.trim()).meaning("--gpus").into(),
        Some(nearest) => give("--gpu", nearest).meaning(nearest).or(memory),
        None => memory.into(),
    };
    Problem::error(Rule::Usage, format!("zlaunch does not know a GPU named `{}`", name.value)).at(name).fix(fixes)
}
