//! Whether the config of a launch fits, for `check` and for the allocator of the launch.

use serde_json::Value;

use super::allocator::{Allocator, UsedAllocator};
use super::candidates::Candidate;
use super::choice::{Scenario, TemplateRow, Verdict};
use super::need::Accounting;
use super::strategy::Strategy;
use super::{FitInputs, TrainingArgs, Tuner, cluster_of, remedies};
use crate::base::size::Size;
use crate::base::source::{Source, Sourced};
use crate::command::job::Job;
use crate::host::Host;
use crate::ranks::topology::Topology;
use crate::report::fix::{give, run};
use crate::report::{Problem, Rule, Severity};
use crate::request::Launch;

/// The config of a launch, as it will be written.
#[derive(Clone, Copy)]
pub(crate) struct LaunchConfig<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a Value,
    /// Variables of the template.
    pub(crate) env: &'a [(String, String)],
    /// By zlaunch.
    pub(crate) is_chosen: bool,
}

#[derive(Default)]
pub(crate) struct JudgedLaunch {
    /// Why torch's allocator is to use expandable segments: unless they are not needed for sure, or can do harm.
    pub(crate) expandable: Option<&'static str>,
    pub(crate) short: Option<Problem>,
}

/// Nothing is judged where the model, the ranks or the memory of the GPUs is not known, or where the training keeps models
/// that are not counted.
pub(crate) fn judge(
    config: LaunchConfig,
    job: &Job,
    topology: &Topology,
    launch: &Launch,
    host: &Host,
) -> JudgedLaunch {
    if launch.memory.gpu.is_none() && host.nvidia_gpus.is_none() || job.trainer.is_passthrough() {
        return JudgedLaunch::default();
    }
    let used = UsedAllocator::of(Some(job), host).with(config.env);
    let inputs = cluster_of(topology).map(|cluster| FitInputs::new(Some(job), cluster, launch, host));
    let inputs = inputs.map(|inputs| inputs.of_config(config.value)).filter(|inputs| !inputs.needs_more());
    let known = inputs.and_then(|inputs| {
        let memory = inputs.gpu_memory(host)?;
        let (row, guesses) = inputs.row(&config, memory.value, host)?;
        Some((inputs, memory, row, guesses))
    });
    let expandable = match &known {
        _ if !used.is_ours() => None,
        _ if config.is_chosen => Some("as `auto` counts on it"),
        Some((.., row, guesses)) if guesses.is_empty() && row.plain == Verdict::Fits => None,
        Some((.., row, guesses)) if guesses.is_empty() && row.verdict() == Verdict::Fits => Some("needed to fit"),
        _ => Some("may be needed to fit"),
    };
    let short = known.and_then(|(inputs, memory, row, guesses)| {
        let gpus = format!("GPUs of {} ({})", Size(memory.value), memory.from);
        let needs = |bytes: u64, what: &str| {
            Problem::warning(Rule::MemoryShort, format!("{} needs about {} {what}", config.name, Size(bytes))).at(&gpus)
        };
        let (on_gpu, on_host) = (row.need.gpu(), row.need.host);
        match (if used.kind == Allocator::Expandable { row.verdict() } else { row.plain }, &used.said) {
            (Verdict::Not, _) => {
                let is_certain = guesses.is_empty() || inputs.is_short_at_least(&config, memory.value, host);
                let runs = if is_certain { "will run" } else { "may run" };
                let (bytes, place) = if on_gpu > memory.value {
                    (on_gpu, "on each GPU")
                } else {
                    (on_host, "of host memory on each machine")
                };
                let problem = needs(bytes, &format!("{place}: this training {runs} out of memory"));
                Some(if is_certain {
                    problem.fix(inputs.would_fit(host))
                } else {
                    let guesses = guesses.join("; ");
                    Problem { severity: Severity::Note, ..problem.at(format!("assumed: {guesses}")) }
                        .fix(give("--seq-len", 1024).remark("the length of the sequences").or(run("zlaunch fit")))
                })
            }
            // It would fit with expandable segments, but a variable says otherwise.
            (Verdict::Tight, Some(said)) if row.verdict() == Verdict::Fits => Some(
                needs(on_gpu, "on each GPU, which leaves too little for the gaps between allocations")
                    .at(said)
                    .fix("add expandable_segments:True to that variable: it keeps the gaps between allocations small"),
            ),
            _ => None,
        }
    });
    JudgedLaunch { expandable, short }
}

impl FitInputs<'_> {
    /// Whether it does not fit either with the least that what was guessed can be.
    fn is_short_at_least(&self, config: &LaunchConfig, memory: u64, host: &Host) -> bool {
        let (one, tuner) = (Some(Sourced::new(1, Source::Default)), Some(Sourced::new(Tuner::Lora, Source::Default)));
        let least = TrainingArgs { seq_len: one.clone(), micro_batch: one, tuner, ..TrainingArgs::default() };
        let least = FitInputs { args: self.args.clone().or(least), ..self.clone() };
        let judged = least.row(config, memory, host);
        judged.is_some_and(|(row, guesses)| guesses.is_empty() && row.verdict() == Verdict::Not)
    }

    /// What this config needs, judged with expandable segments and without; and what had to be guessed.
    fn row(&self, config: &LaunchConfig, memory: u64, host: &Host) -> Option<(TemplateRow, Vec<String>)> {
        let (weights, settings, _) = self.training(host).ok()?;
        let guesses = self.assumed(&weights, &settings).into_iter().filter(|(is_guess, _)| *is_guess);
        let guesses = guesses.map(|(_, text)| text).collect();
        // The memory of this machine says nothing about one that is described.
        let is_here = self.launch.memory.host.is_some() || self.launch.memory.gpu.is_none();
        let host_memory = self.host_memory().filter(|_| is_here).map_or(u64::MAX, |memory| memory.value);
        let strategy = Strategy::of(config.value, weights.shape.hidden);
        let templates = [Candidate { name: config.name.to_string(), strategy, allocator: UsedAllocator::EXPANDABLE }];
        let scenario = Scenario {
            weights: &weights,
            settings: &settings,
            cluster: self.cluster,
            gpu_memory: Some(memory),
            host_memory: Some(host_memory),
            disk: Some(u64::MAX),
            accounting: Accounting::Real,
            allocator: None,
            templates: &templates,
            order: &[],
        };
        Some((scenario.rows().pop()?, guesses))
    }

    /// A template that fits, or changes that would help.
    fn would_fit(&self, host: &Host) -> String {
        let (recommended, remedies) =
            self.report(host).map_or((None, Vec::new()), |report| (report.recommended, report.remedies));
        match recommended {
            Some(chosen) => format!("--deepspeed {}", chosen.template),
            None if remedies.is_empty() => "zlaunch fit shows what would fit".to_string(),
            None => remedies::sentences(&remedies),
        }
    }
}
