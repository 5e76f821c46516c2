//! Judges the memory of a launch: a warning if its config does not fit.

use serde_json::Value;

use super::assumptions::{Assumption, Certainty};
use super::candidates::Candidate;
use super::choice::{TemplateRow, Verdict};
use super::inputs::FitInputs;
use super::need::Memories;
use super::settings::TrainingSettings;
use super::strategy::Strategy;
use super::{cluster_of, remedies};
use crate::base::size::Size;
use crate::base::source::Sourced;
use crate::command::allocator::{Allocator, Segments};
use crate::host::Host;
use crate::ranks::topology::Topology;
use crate::report::fix::{give, run};
use crate::report::{Problem, Rule, Severity};
use crate::request::understood::UnderstoodLaunch;

/// The config of a launch, as it will be written.
#[derive(Clone, Copy)]
pub(crate) struct LaunchConfig<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a Value,
    pub(crate) env: &'a [(String, String)],
}

/// Nothing is judged unless the model, the ranks and the memory of the GPUs are known, and all of the training is counted.
pub(crate) fn judge(
    config: LaunchConfig,
    topology: &Topology,
    understood: &UnderstoodLaunch,
) -> Option<Problem> {
    let UnderstoodLaunch {
        job, launch, host, ..
    } = understood;
    if launch.memory.gpu.is_none() && host.nvidia_gpus.is_none() || job.trainer.is_passthrough() {
        return None;
    }
    let cluster = cluster_of(topology)?;
    let inputs = FitInputs::of_launch(job, Some(config.value), cluster, launch, host).ok()?;
    if inputs.settings().algorithm.uncounted {
        return None;
    }
    let gpu_memory = inputs.gpu_memory(host)?;
    let judged = JudgedConfig {
        row: row(&inputs, inputs.settings(), config, &gpu_memory)?,
        config,
        inputs,
        gpu_memory,
    };
    let allocator = Allocator::of(Some(job), host).with(config.env);
    let verdict = match allocator.segments {
        Segments::Expandable => judged.row.verdict,
        Segments::Fixed => judged.row.plain,
    };
    match (verdict, &allocator.said) {
        (Verdict::Not, _) => Some(judged.short(host)),
        // It would fit with expandable segments, but a variable says otherwise.
        (Verdict::Tight, Some(said)) if judged.row.verdict == Verdict::Fits => {
            let rest = "on each GPU, which leaves too little for the gaps between allocations";
            Some(judged.needs(judged.row.need.gpu(), rest).at(said).fix(
                "add expandable_segments:True to that variable: it keeps the gaps between allocations small",
            ))
        }
        _ => None,
    }
}

/// The verdict on the config with these settings.
fn row(
    inputs: &FitInputs,
    settings: &TrainingSettings,
    config: LaunchConfig,
    gpu_memory: &Sourced<u64>,
) -> Option<TemplateRow> {
    let memory = &inputs.launch.memory;
    // The memory of this machine says nothing about one that is described.
    let host_memory = if memory.host.is_none() && memory.gpu.is_some() {
        None
    } else {
        inputs.host_memory()
    };
    let memories = Memories {
        gpu: Some(gpu_memory.value),
        host: Some(host_memory.map_or(u64::MAX, |memory| memory.value)),
        disk: Some(u64::MAX),
    };
    let candidate = Candidate {
        name: config.name.to_string(),
        strategy: Strategy::of(config.value, inputs.weights.shape.hidden),
        allocator: Allocator::OURS,
    };
    inputs
        .scenario(settings, memories, &[candidate])
        .rows()
        .pop()
}

struct JudgedConfig<'a> {
    config: LaunchConfig<'a>,
    inputs: FitInputs<'a>,
    gpu_memory: Sourced<u64>,
    row: TemplateRow,
}

impl JudgedConfig<'_> {
    fn needs(&self, bytes: u64, rest: &str) -> Problem {
        let what = format!("{} needs about {} {rest}", self.config.name, Size(bytes));
        let memory = &self.gpu_memory;
        let gpus = format!("GPUs of {} ({})", Size(memory.value), memory.from);
        Problem::warning(Rule::MemoryShort, what).at(gpus)
    }

    fn short(&self, host: &Host) -> Problem {
        let assumed = self.inputs.assumed.iter();
        let guesses: Vec<&Assumption> = assumed
            .filter(|assumption| assumption.certainty != Certainty::Default)
            .collect();
        let is_certain = guesses.is_empty() || self.is_short_at_least(&guesses);
        let need = &self.row.need;
        let (bytes, place) = if need.gpu() <= self.gpu_memory.value {
            (need.host, "of host memory on each machine".to_string())
        } else if need.peak.is_between_steps() {
            let first = format!("on each GPU in its first {}", need.peak.name());
            (need.gpu(), first)
        } else {
            (need.gpu(), "on each GPU".to_string())
        };
        let runs = if is_certain { "will run" } else { "may run" };
        let problem = self.needs(bytes, &format!("{place}: this run {runs} out of memory"));
        if is_certain {
            return problem.fix(self.would_fit(host));
        }
        let fixes = give("--seq-len", 1024)
            .remark("the length of the sequences")
            .or(run("zlaunch fit"));
        let guesses: Vec<&str> = guesses.iter().map(|guess| guess.text.as_str()).collect();
        let problem = problem.at(format!("assumed: {}", guesses.join("; ")));
        Problem {
            severity: Severity::Note,
            ..problem.fix(fixes)
        }
    }

    /// It does not fit even with the least that could be meant.
    fn is_short_at_least(&self, guesses: &[&Assumption]) -> bool {
        let least = row(
            &self.inputs,
            &self.inputs.least,
            self.config,
            &self.gpu_memory,
        );
        guesses
            .iter()
            .all(|guess| guess.certainty == Certainty::AtLeast)
            && least.is_some_and(|least| least.verdict == Verdict::Not)
    }

    fn would_fit(&self, host: &Host) -> String {
        let Ok(report) = self.inputs.report(host) else {
            return "zlaunch fit shows what would fit".to_string();
        };
        match (&report.recommended, &report.remedies[..]) {
            (_, [first, ..]) if self.row.need.peak.is_between_steps() => first.sentence(),
            (Some(chosen), _) => format!("--deepspeed {}", chosen.template),
            (None, []) => "zlaunch fit shows what would fit".to_string(),
            (None, remedies) => remedies::sentences(remedies),
        }
    }
}
