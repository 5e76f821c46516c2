//! Judges the memory of a launch: a warning if its config does not fit.

use serde_json::Value;

use super::assumptions::{Assumption, Certainty};
use super::candidates::Candidate;
use super::choice::{TemplateRow, Verdict};
use super::inputs::FitInputs;
use super::need::{Memories, MemoryNeed};
use super::settings::TrainingSettings;
use super::strategy::Strategy;
use super::{cluster_of, remedies};
use crate::base::size::Size;
use crate::base::source::Sourced;
use crate::command::allocator::{Allocator, Segments};
use crate::config::template::Template;
use crate::host::Host;
use crate::ranks::topology::Topology;
use crate::report::fix::{give, run};
use crate::report::{Problem, Rule, Severity};
use crate::request::understood::UnderstoodLaunch;

/// `config`: as it will be written. Nothing is judged unless the model, the ranks and the memory of the GPUs are known, and all of
/// the training is counted.
pub(crate) fn judge(
    template: &Template,
    config: &Value,
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
    let inputs = FitInputs::of_launch(job, Some(config), cluster, launch, host).ok()?;
    if inputs.settings().algorithm.uncounted {
        return None;
    }
    let judged = JudgedConfig {
        template,
        config,
        gpu_memory: inputs.gpu_memory(host)?,
        inputs,
    };
    let row = judged.row(judged.inputs.settings())?;
    let allocator = Allocator::of(Some(job), host).with(&template.env);
    let verdict = match allocator.segments {
        Segments::Expandable => row.verdict,
        Segments::Fixed => row.plain,
    };
    match (verdict, &allocator.said) {
        (Verdict::Not, _) => Some(judged.short(&row.need, host)),
        // It would fit with expandable segments, but a variable says otherwise.
        (Verdict::Tight, Some(said)) if row.verdict == Verdict::Fits => {
            let rest = "on each GPU, which leaves too little for the gaps between allocations";
            let fix = "add expandable_segments:True to that variable: it keeps the gaps between allocations small";
            Some(judged.needs(row.need.gpu(), rest).at(said).fix(fix))
        }
        _ => None,
    }
}

struct JudgedConfig<'a> {
    template: &'a Template,
    config: &'a Value,
    inputs: FitInputs<'a>,
    gpu_memory: Sourced<u64>,
}

impl JudgedConfig<'_> {
    /// The verdict with these settings.
    fn row(&self, settings: &TrainingSettings) -> Option<TemplateRow> {
        let memory = &self.inputs.launch.memory;
        // The memory of this machine says nothing about one that is described.
        let host_memory = if memory.host.is_none() && memory.gpu.is_some() {
            None
        } else {
            self.inputs.host_memory()
        };
        let memories = Memories {
            gpu: Some(self.gpu_memory.value),
            host: Some(host_memory.map_or(u64::MAX, |memory| memory.value)),
            disk: Some(u64::MAX),
        };
        let candidates = [Candidate {
            name: self.template.name.clone(),
            strategy: Strategy::of(self.config, self.inputs.weights.shape.hidden),
            allocator: Allocator::OURS,
        }];
        let scenario = self.inputs.scenario(settings, memories, &candidates);
        scenario.rows().pop()
    }

    fn needs(&self, bytes: u64, rest: &str) -> Problem {
        let what = format!("{} needs about {} {rest}", self.template.name, Size(bytes));
        let memory = &self.gpu_memory;
        let gpus = format!("GPUs of {} ({})", Size(memory.value), memory.from);
        Problem::warning(Rule::MemoryShort, what).at(gpus)
    }

    fn short(&self, need: &MemoryNeed, host: &Host) -> Problem {
        let (bytes, place) = if need.gpu() <= self.gpu_memory.value {
            (need.host, "of host memory on each machine".to_string())
        } else if need.peak.is_between_steps() {
            let first = format!("on each GPU in its first {}", need.peak.name());
            (need.gpu(), first)
        } else {
            (need.gpu(), "on each GPU".to_string())
        };
        let assumed = self.inputs.assumed.iter();
        let guesses: Vec<&Assumption> = assumed
            .filter(|assumption| assumption.certainty != Certainty::Default)
            .collect();
        if guesses.is_empty() || self.is_short_at_least(&guesses) {
            let rest = format!("{place}: this run will run out of memory");
            return self.needs(bytes, &rest).fix(self.would_fit(need, host));
        }
        let guesses: Vec<&str> = guesses.iter().map(|guess| guess.text.as_str()).collect();
        let fixes = give("--seq-len", 1024)
            .remark("the length of the sequences")
            .or(run("zlaunch fit"));
        let problem = self
            .needs(bytes, &format!("{place}: this run may run out of memory"))
            .at(format!("assumed: {}", guesses.join("; ")))
            .fix(fixes);
        Problem {
            severity: Severity::Note,
            ..problem
        }
    }

    /// It does not fit even with the least that could be meant.
    fn is_short_at_least(&self, guesses: &[&Assumption]) -> bool {
        let has_least = |guess: &&Assumption| guess.certainty == Certainty::AtLeast;
        let least = self.row(&self.inputs.least);
        guesses.iter().all(has_least) && least.is_some_and(|row| row.verdict == Verdict::Not)
    }

    fn would_fit(&self, need: &MemoryNeed, host: &Host) -> String {
        let nothing = "zlaunch fit shows what would fit".to_string();
        let Ok(report) = self.inputs.report(host) else {
            return nothing;
        };
        match (&report.recommended, &report.remedies[..]) {
            (_, [first, ..]) if need.peak.is_between_steps() => first.sentence(),
            (Some(chosen), _) => format!("--deepspeed {}", chosen.template),
            (None, []) => nothing,
            (None, remedies) => remedies::sentences(remedies),
        }
    }
}
