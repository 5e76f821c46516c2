//! Sentences about `fit` and `--deepspeed auto`.

use std::path::Path;

use super::problem::Problem;
use super::rule::Rule;
use crate::base::size::Size;
use crate::base::source::Sourced;

pub(crate) fn bad_checkpoint(path: &Path, why: &str) -> Problem {
    Problem::error(Rule::Checkpoint, format!("not a safetensors checkpoint: {why}"))
        .at(path.display())
        .help("download it again; a file of a few bytes is a Git LFS pointer")
}

pub(crate) fn cannot_count(path: &Path) -> Problem {
    Problem::error(Rule::Fit, "the size of the model cannot be computed from this config")
        .at(path.display())
        .help("--params 8B")
}

pub(crate) fn beyond_counting(params: u64, micro_batch: u64, seq_len: u64, nodes: u64, gpus: u64) -> Problem {
    let place = format!(
        "{params} parameters, {micro_batch} × {seq_len} tokens at once, {nodes} machines with {gpus} GPUs each"
    );
    Problem::error(Rule::Fit, "these numbers are too large for any training")
        .at(place)
        .help("--micro-batch 1 --seq-len 2048 --gpus 8")
}

pub(crate) fn model_is_not_here(name: &Sourced<String>) -> Problem {
    let what = format!("`{}` is neither a folder nor in the Hugging Face or ModelScope cache", name.value);
    Problem::error(Rule::Fit, what)
        .at(name.place())
        .help("download it first (its config.json is enough), or ask `zlaunch fit --params 8B`")
}

pub(crate) fn nothing_to_fit() -> Problem {
    Problem::error(Rule::Usage, "no model is given")
        .at("zlaunch fit")
        .help("zlaunch fit --params 8B --gpu H100x8, or the training command: zlaunch fit --gpus 8 -- swift sft --model Qwen/Qwen3-8B")
}

/// A number of nvidia-smi is in MiB; what people know of a machine is in GiB.
pub(crate) fn size_without_unit(size: &Sourced<String>) -> Problem {
    let number = size.value.trim();
    let unit = if number.parse::<f64>().is_ok_and(|number| number >= 4096.0) { "MiB" } else { "GiB" };
    Problem::error(Rule::Usage, format!("`{number}` has no unit"))
        .at(size.place())
        .help(size.from.with(format!("{number}{unit}")))
}

pub(crate) fn count_without_unit(count: &Sourced<String>) -> Problem {
    let number = count.value.trim();
    Problem::error(Rule::Usage, format!("`{number}` has no unit"))
        .at(count.place())
        .help(count.from.with(format!("{number}B")))
}

pub(crate) fn unknown_card(name: &Sourced<String>, nearest: Option<&str>) -> Problem {
    let is_number = name.value.trim().parse::<u32>().is_ok();
    let quoted = nearest.map(|name| if name.contains(' ') { format!("\"{name}\"") } else { name.to_string() });
    let help = match quoted {
        _ if is_number => format!("did you mean `--gpus`? --gpus {}", name.value.trim()),
        Some(nearest) => format!("did you mean --gpu {nearest}? say its memory instead: --gpus 8 --gpu-memory 80GiB"),
        None => "say its memory instead: --gpus 8 --gpu-memory 80GiB".to_string(),
    };
    Problem::error(Rule::Usage, format!("zlaunch does not know a GPU named `{}`", name.value))
        .at(name.place())
        .help(help)
}

pub(crate) fn gpus_not_said() -> Problem {
    Problem::error(Rule::Usage, "the command does not say how many GPUs it runs on").at("zlaunch fit").help("--gpus 8")
}

fn cannot_choose(spec: &Sourced<String>, why: &str) -> Problem {
    Problem::error(Rule::AutoTemplate, format!("a template cannot be chosen: {why}")).at(spec.place())
}

pub(crate) fn auto_without_ranks(spec: &Sourced<String>) -> Problem {
    cannot_choose(spec, "the number of GPUs is unknown").help("name one: --deepspeed zero3")
}

pub(crate) fn auto_without_model(spec: &Sourced<String>, argument: Option<&str>) -> Problem {
    let argument = argument.map(|name| format!("add --{name} to the command, or ")).unwrap_or_default();
    cannot_choose(spec, "the command names no model").help(format!("{argument}name a template: --deepspeed zero3"))
}

pub(crate) fn auto_counts_one_model(spec: &Sourced<String>) -> Problem {
    cannot_choose(spec, "this training keeps more than one model or generates text, which zlaunch does not count")
        .help("name one: --deepspeed zero3")
}

pub(crate) fn auto_without_memory(spec: &Sourced<String>, rows: Vec<String>) -> Problem {
    let problem = cannot_choose(spec, "the memory of the GPUs is unknown");
    rows.into_iter().fold(problem, Problem::at).help("--gpu-memory 80GiB")
}

/// `where_`: which memory it is.
pub(crate) fn memory_short(name: &str, need: u64, where_: &str, memory: &Sourced<u64>, would: &[String]) -> Problem {
    let what = format!("{name} needs about {} {where_}: this training will run out of memory", Size(need));
    let help = if would.is_empty() { "zlaunch fit shows what would fit".to_string() } else { would.join("; or ") };
    Problem::warning(Rule::MemoryShort, what).at(gpus_of(memory)).help(help)
}

/// It would fit with expandable segments, but a variable says otherwise.
pub(crate) fn gaps_short(name: &str, need: u64, memory: &Sourced<u64>, said: &str) -> Problem {
    let what = format!(
        "{name} needs about {} on each GPU, which leaves too little for the gaps between allocations",
        Size(need)
    );
    let help = "add expandable_segments:True to that variable: it keeps the gaps between allocations small";
    Problem::warning(Rule::MemoryShort, what).at(gpus_of(memory)).at(said).help(help)
}

fn gpus_of(memory: &Sourced<u64>) -> String {
    format!("GPUs of {} ({})", Size(memory.value), memory.from)
}

pub(crate) fn auto_fits_nothing(spec: &Sourced<String>, rows: Vec<String>, would: &[String]) -> Problem {
    let problem = Problem::error(Rule::AutoTemplate, "this training fits with no template").at(spec.place());
    let help = if would.is_empty() { "a smaller model, or more GPUs".to_string() } else { would.join("; or ") };
    rows.into_iter().fold(problem, Problem::at).help(help)
}
