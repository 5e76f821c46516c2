//! Judges the memory of a launch: a warning if its config does not fit.

use serde_json::Value;

use super::candidates::Candidate;
use super::choice::{Scenario, TemplateRow, Verdict};
use super::need::Accounting;
use super::settings::{TrainingArgs, Tuner};
use super::strategy::Strategy;
use super::{FitInputs, cluster_of, remedies};
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
    let used = Allocator::of(Some(job), host).with(config.env);
    let cluster = cluster_of(topology)?;
    let inputs = FitInputs::new(TrainingArgs::default(), Some(job), cluster, launch, host);
    JudgedConfig::new(config, inputs.of_config(config.value), host)?.short(&used, host)
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
        let (weights, workload) = inputs
            .training(host)
            .ok()
            .filter(|(_, of)| !of.settings.algorithm.uncounted)?;
        let guesses = inputs
            .assumed(&weights, &workload.settings)
            .into_iter()
            .filter(|(is_guess, _)| *is_guess);
        // The memory of this machine says nothing about one that is described.
        let is_described =
            inputs.launch.memory.host.is_none() && inputs.launch.memory.gpu.is_some();
        let host_memory = if is_described {
            None
        } else {
            inputs.host_memory()
        };
        let strategy = Strategy::of(config.value, weights.shape.hidden);
        let templates = [Candidate {
            name: config.name.to_string(),
            strategy,
            allocator: Allocator::OURS,
        }];
        let scenario = Scenario {
            weights: &weights,
            settings: &workload.settings,
            cluster: inputs.cluster,
            gpu_memory: Some(gpu_memory.value),
            host_memory: Some(host_memory.map_or(u64::MAX, |memory| memory.value)),
            disk: Some(u64::MAX),
            accounting: Accounting::Real,
            segments: None,
            templates: &templates,
            order: &[],
        };
        let row = scenario.rows().pop()?;
        Some(JudgedConfig {
            config,
            gpu_memory,
            row,
            guesses: guesses.map(|(_, text)| text).collect(),
            inputs,
        })
    }

    fn short(&self, used: &Allocator, host: &Host) -> Option<Problem> {
        let JudgedConfig {
            config,
            gpu_memory,
            row,
            guesses,
            ..
        } = self;
        let needs = |bytes: u64, rest: &str| {
            Problem::warning(
                Rule::MemoryShort,
                format!("{} needs about {} {rest}", config.name, Size(bytes)),
            )
            .at(format!(
                "GPUs of {} ({})",
                Size(gpu_memory.value),
                gpu_memory.from
            ))
        };
        let (on_gpu, is_between) = (row.need.gpu(), row.need.peak.is_between_steps());
        match (if used.segments == Segments::Expandable { row.verdict } else { row.plain }, &used.said) {
            (Verdict::Not, _) => {
                let is_certain = guesses.is_empty() || self.is_short_at_least(host);
                let runs = if is_certain { "will run" } else { "may run" };
                let (bytes, place) = if on_gpu > gpu_memory.value {
                    let first = format!("on each GPU in its first {}", row.need.peak.name());
                    (on_gpu, if is_between { first } else { "on each GPU".to_string() })
                } else {
                    (row.need.host, "of host memory on each machine".to_string())
                };
                let problem = needs(bytes, &format!("{place}: this run {runs} out of memory"));
                if is_certain {
                    return Some(problem.fix(self.would_fit(host)));
                }
                let problem = problem.at(format!("assumed: {}", guesses.join("; ")));
                let fixes = give("--seq-len", 1024).remark("the length of the sequences").or(run("zlaunch fit"));
                Some(Problem { severity: Severity::Note, ..problem }.fix(fixes))
            }
            // It would fit with expandable segments, but a variable says otherwise.
            (Verdict::Tight, Some(said)) if row.verdict == Verdict::Fits => Some(
                needs(on_gpu, "on each GPU, which leaves too little for the gaps between allocations")
                    .at(said)
                    .fix("add expandable_segments:True to that variable: it keeps the gaps between allocations small"),
            ),
            _ => None,
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
        match self
            .inputs
            .report(host)
            .map(|report| (report.recommended, report.remedies))
        {
            Ok((_, remedies)) if self.row.need.peak.is_between_steps() && !remedies.is_empty() => {
                remedies::sentences(&remedies[..1])
            }
            Ok((Some(chosen), _)) => format!("--deepspeed {}", chosen.template),
            Ok((None, remedies)) if !remedies.is_empty() => remedies::sentences(&remedies),
            _ => "zlaunch fit shows what would fit".to_string(),
        }
    }
}
