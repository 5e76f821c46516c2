//! Sentences about the options of `fit`.

use super::problem::Problem;
use super::rule::Rule;
use crate::base::source::Sourced;

pub(crate) fn nothing_to_fit() -> Problem {
    Problem::error(Rule::Usage, "no model is given")
        .at("zlaunch fit")
        .fix("zlaunch fit --params 8B --gpu H100x8, or the training command: zlaunch fit --gpus 8 -- swift sft --model Qwen/Qwen3-8B")
}

/// A number of nvidia-smi is in MiB; what people know of a machine is in GiB.
pub(crate) fn size_without_unit(size: &Sourced<String>) -> Problem {
    let number = size.value.trim();
    let unit = if number.parse::<f64>().is_ok_and(|number| number >= 4096.0) { "MiB" } else { "GiB" };
    Problem::error(Rule::Usage, format!("`{number}` has no unit"))
        .at(&size)
        .fix(size.from.with(format!("{number}{unit}")))
}

pub(crate) fn count_without_unit(count: &Sourced<String>) -> Problem {
    let number = count.value.trim();
    Problem::error(Rule::Usage, format!("`{number}` has no unit")).at(&count).fix(count.from.with(format!("{number}B")))
}

pub(crate) fn unknown_card(name: &Sourced<String>, nearest: Option<&str>) -> Problem {
    let is_number = name.value.trim().parse::<u32>().is_ok();
    let quoted = nearest.map(|name| if name.contains(' ') { format!("\"{name}\"") } else { name.to_string() });
    let help = match quoted {
        _ if is_number => format!("did you mean `--gpus`? --gpus {}", name.value.trim()),
        Some(nearest) => format!("did you mean `--gpu {nearest}`? or say its memory: --gpus 8 --gpu-memory 80GiB"),
        None => "say its memory instead: --gpus 8 --gpu-memory 80GiB".to_string(),
    };
    Problem::error(Rule::Usage, format!("zlaunch does not know a GPU named `{}`", name.value)).at(&name).fix(help)
}
