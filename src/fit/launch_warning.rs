//! Judges the memory of a launch: a warning if its config does not fit.

use serde_json::Value;

use super::candidates::Candidate;
use super::choice::{TemplateRow, Verdict};
use super::inputs::FitInputs;
use super::need::Memories;
use super::settings::{TrainingArgs, Tuner};
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
    let inputs = FitInputs::new(TrainingArgs::default(), Some(job), cluster, launch, host);
    let judged = JudgedConfig::new(config, inputs.of_config(config.value), host)?;
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

struct JudgedConfig<'a> {
    config: LaunchConfig<'a>,
    inputs: FitInputs<'a>,
    gpu_memory: Sourced<u64>,
    row: TemplateRow,
    guesses: Vec<String>,
}

impl<'a> JudgedConfig<'a> {
    fn new(config: LaunchConfig<'a>, inputs: FitInputs<'a>, host: &Host) -> Option<Self> {
        let gpu_memory = inputs.gpu_memory(host)?;
        let training = inputs.training(host).ok()?;
        if training.workload.settings.algorithm.uncounted {
            return None;
        }
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
            strategy: Strategy::of(config.value, training.weights.shape.hidden),
            allocator: Allocator::OURS,
        };
        let scenario = inputs.scenario(&training, memories, std::slice::from_ref(&candidate));
        let row = scenario.rows().pop()?;
        let assumed = inputs.assumed(&training.weights, &training.workload.settings);
        let guesses = assumed.into_iter().filter(|assumption| assumption.is_guess);
        Some(JudgedConfig {
            config,
            gpu_memory,
            row,
            guesses: guesses.map(|guess| guess.text).collect(),
            inputs,
        })
    }

    fn needs(&self, bytes: u64, rest: &str) -> Problem {
        let what = format!("{} needs about {} {rest}", self.config.name, Size(bytes));
        let memory = &self.gpu_memory;
        let gpus = format!("GPUs of {} ({})", Size(memory.value), memory.from);
        Problem::warning(Rule::MemoryShort, what).at(gpus)
    }

    fn short(&self, host: &Host) -> Problem {
        let is_certain = self.guesses.is_empty() || self.is_short_at_least(host);
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
        let problem = problem.at(format!("assumed: {}", self.guesses.join("; ")));
        Problem {
            severity: Severity::Note,
            ..problem.fix(fixes)
        }
    }

    /// It does not fit even with the smallest values of the settings that were guessed.
    fn is_short_at_least(&self, host: &Host) -> bool {
        let mut least = self.inputs.clone();
        least.args.seq_len.get_or_insert(1);
        least.args.micro_batch.get_or_insert(1);
        least.args.tuner.get_or_insert(Tuner::Lora);
        let least = JudgedConfig::new(self.config, least, host);
        least.is_some_and(|least| least.guesses.is_empty() && least.row.verdict == Verdict::Not)
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
