//! Whether the config of a launch fits, for `check` and for the allocator of the launch.

use serde_json::Value;

use super::allocator::{Allocator, UsedAllocator};
use super::candidates::Candidate;
use super::choice::{Scenario, TemplateRow, Verdict};
use super::need::Accounting;
use super::remedies::Remedy;
use super::settings::TrainingSettings;
use super::strategy::Strategy;
use super::workload::Workload;
use super::{FitInputs, cluster_of, weights};
use crate::command::trainer::Job;
use crate::host::Host;
use crate::ranks::topology::Topology;
use crate::report::{self, Problem};
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
    let inputs = FitInputs::of_job(job, cluster_of(topology)?, launch, host);
    let memory = inputs.gpu_memory(host).filter(|_| !inputs.needs_more())?;
    let row = inputs.row(&config, memory.value, host)?;
    let used = inputs.allocator.with(config.env);
    let verdict = if used.kind == Allocator::Expandable { row.verdict() } else { row.plain };
    let gaps_are_short = verdict == Verdict::Tight && row.verdict() == Verdict::Fits;
    let short = match (verdict, &used.said) {
        (Verdict::Not, _) => {
            let would = inputs.would_fit(host);
            let need = if row.need.gpu() > memory.value { row.need.gpu() } else { row.need.host };
            let where_ = if need == row.need.gpu() { "on each GPU" } else { "of host memory on each machine" };
            Some(report::memory_short(config.name, need, where_, &memory, &would))
        }
        (_, Some(said)) if gaps_are_short => Some(report::gaps_short(config.name, row.need.gpu(), &memory, said)),
        _ => None,
    };
    let is_settable = used.is_ours();
    let needs_expandable = is_settable && row.verdict() == Verdict::Fits && row.plain != Verdict::Fits;
    Some(JudgedLaunch { is_settable, needs_expandable, short })
}

impl FitInputs<'_> {
    /// What this config needs, judged with expandable segments and without.
    fn row(&self, config: &LaunchConfig, memory: u64, host: &Host) -> Option<TemplateRow> {
        let weights = weights::find(&self.args, &self.lookup, host).ok()?;
        let settings = TrainingSettings::new(&self.args, self.trainer);
        if !Workload::new(&weights, &settings).is_plausible(self.cluster) {
            return None;
        }
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
    fn would_fit(&self, host: &Host) -> Vec<String> {
        let Ok(report) = self.report(host) else { return Vec::new() };
        match report.recommended {
            Some(chosen) => vec![format!("--deepspeed {}", chosen.template)],
            None => report.remedies.iter().map(Remedy::sentence).collect(),
        }
    }
}
