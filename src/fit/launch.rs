//! Whether the config of a launch fits, for `check` and for the allocator of the launch.

use serde_json::Value;

use super::allocator::{Allocator, UsedAllocator};
use super::candidates::Candidate;
use super::choice::{Scenario, TemplateRow, Verdict};
use super::need::Accounting;
use super::strategy::Strategy;
use super::{FitInputs, cluster_of, remedies};
use crate::base::size::Size;
use crate::command::trainer::Job;
use crate::host::Host;
use crate::ranks::topology::Topology;
use crate::report::{Problem, Rule};
use crate::request::Launch;

/// The config of a launch, as it will be written.
#[derive(Clone, Copy)]
pub(crate) struct LaunchConfig<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a Value,
    /// Variables of the template.
    pub(crate) env: &'a [(String, String)],
}

pub(crate) struct JudgedLaunch {
    /// Expandable segments are safe, and no variable says anything about the allocator.
    pub(crate) is_settable: bool,
    /// And it fits with them, but not without.
    pub(crate) needs_expandable: bool,
    pub(crate) short: Option<Problem>,
}

/// Nothing where the model, the ranks or the memory of the GPUs is not known, or where the training keeps models that are
/// not counted.
pub(crate) fn judge(
    config: LaunchConfig,
    job: &Job,
    topology: &Topology,
    launch: &Launch,
    host: &Host,
) -> Option<JudgedLaunch> {
    if launch.memory.gpu.is_none() && host.nvidia_gpus.is_none() || job.trainer.is_passthrough() {
        return None;
    }
    let inputs = FitInputs::new(Some(job), cluster_of(topology)?, launch, host);
    let memory = inputs.gpu_memory(host).filter(|_| !inputs.needs_more())?;
    let row = inputs.row(&config, memory.value, host)?;
    let used = inputs.allocator.with(config.env);
    let verdict = if used.kind == Allocator::Expandable { row.verdict() } else { row.plain };
    let gpus = format!("GPUs of {} ({})", Size(memory.value), memory.from);
    let needs = |bytes: u64, what: &str| {
        Problem::warning(Rule::MemoryShort, format!("{} needs about {} {what}", config.name, Size(bytes))).at(&gpus)
    };
    let (on_gpu, on_host) = (row.need.gpu(), row.need.host);
    let short = match (verdict, &used.said) {
        (Verdict::Not, _) => {
            let problem = if on_gpu > memory.value {
                needs(on_gpu, "on each GPU: this training will run out of memory")
            } else {
                needs(on_host, "of host memory on each machine: this training will run out of memory")
            };
            Some(problem.help(inputs.would_fit(host)))
        }
        // It would fit with expandable segments, but a variable says otherwise.
        (Verdict::Tight, Some(said)) if row.verdict() == Verdict::Fits => Some(
            needs(on_gpu, "on each GPU, which leaves too little for the gaps between allocations")
                .at(said)
                .help("add expandable_segments:True to that variable: it keeps the gaps between allocations small"),
        ),
        _ => None,
    };
    let is_settable = used.is_ours();
    let needs_expandable = is_settable && row.verdict() == Verdict::Fits && row.plain != Verdict::Fits;
    Some(JudgedLaunch { is_settable, needs_expandable, short })
}

impl FitInputs<'_> {
    /// What this config needs, judged with expandable segments and without.
    fn row(&self, config: &LaunchConfig, memory: u64, host: &Host) -> Option<TemplateRow> {
        let (weights, settings, _) = self.training(host).ok()?;
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
        scenario.rows().pop()
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
