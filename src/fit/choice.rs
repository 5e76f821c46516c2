//! Which templates fit, and which one to use.

use super::advice::Advice;
use super::need::{Accounting, Cluster, MemoryNeed};
use super::settings::TrainingSettings;
use super::strategy::Strategy;
use super::weights::Weights;
use super::workload::Workload;
use super::{memory, textbook};

/// The largest micro batch that is tried.
const LARGEST_MICRO_BATCH: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fits,
    /// It fits, but without the margin.
    Tight,
    Not,
    Unknown,
}

/// What one template needs, and whether that is there.
#[derive(Clone, Debug)]
pub(crate) struct TemplateRow {
    pub(crate) name: String,
    pub(crate) strategy: Strategy,
    pub(crate) need: MemoryNeed,
    pub(crate) verdict: Verdict,
}

pub(crate) struct Recommendation {
    pub(crate) template: String,
    pub(crate) why: String,
    pub(crate) largest_micro_batch: u64,
}

/// The need with a tenth on top, because the allocator loses memory to fragmentation. The tenth is a choice: in the measured
/// runs, with most of the card free, the allocator reserved 1 to 44 % more than was allocated. How little it gets by with
/// when memory is short was not measured.
pub(crate) fn with_margin(need: &MemoryNeed) -> u64 {
    need.gpu() + need.allocated() / 10
}

/// One training on one cluster, and the templates to choose from.
#[derive(Clone, Copy)]
pub(super) struct Scenario<'a> {
    pub(super) weights: &'a Weights,
    pub(super) settings: &'a TrainingSettings,
    pub(super) cluster: Cluster,
    /// Bytes of each GPU.
    pub(super) gpu_memory: Option<u64>,
    /// Bytes of each node.
    pub(super) host_memory: Option<u64>,
    pub(super) accounting: Accounting,
    pub(super) templates: &'a [(String, Strategy)],
    /// Names of templates, the fastest first.
    pub(super) order: &'a [&'a str],
}

impl<'a> Scenario<'a> {
    pub(super) fn workload(&self) -> Workload {
        Workload::new(self.weights, self.settings)
    }

    pub(super) fn rows(&self) -> Vec<TemplateRow> {
        let workload = self.workload();
        let row = |(name, strategy): &(String, Strategy)| {
            let need = self.need(&workload, strategy);
            let verdict = self.verdict(&need, strategy);
            TemplateRow { name: name.clone(), strategy: strategy.clone(), need, verdict }
        };
        self.templates.iter().map(row).collect()
    }

    pub(super) fn need(&self, workload: &Workload, strategy: &Strategy) -> MemoryNeed {
        match self.accounting {
            Accounting::Real => memory::need(workload, strategy, self.cluster),
            Accounting::Textbook => textbook::need(workload.params, strategy, self.cluster),
        }
    }

    fn verdict(&self, need: &MemoryNeed, strategy: &Strategy) -> Verdict {
        let Some(gpu_memory) = self.gpu_memory else { return Verdict::Unknown };
        let with_margin = if self.accounting == Accounting::Real { with_margin(need) } else { need.gpu() };
        match self.host_memory {
            _ if need.gpu() > gpu_memory => Verdict::Not,
            Some(host_memory) if need.host > host_memory => Verdict::Not,
            None if strategy.offloads() => Verdict::Unknown,
            _ if with_margin > gpu_memory => Verdict::Tight,
            _ => Verdict::Fits,
        }
    }

    pub(super) fn fits(&self, workload: &Workload, strategy: &Strategy) -> bool {
        self.verdict(&self.need(workload, strategy), strategy) == Verdict::Fits
    }

    /// The fastest template that fits.
    pub(super) fn first_fit(&self) -> Option<&'a str> {
        let workload = self.workload();
        self.order.iter().copied().find(|name| {
            let template = self.templates.iter().find(|(known, _)| known == name);
            template.is_some_and(|(_, strategy)| self.fits(&workload, strategy))
        })
    }

    pub(super) fn recommend(&self, rows: &[TemplateRow], advice: &Advice) -> Option<Recommendation> {
        let mut known = self.order.iter().filter_map(|name| rows.iter().find(|row| row.name == **name));
        let row = known.find(|row| row.verdict == Verdict::Fits)?;
        let faster: Vec<&str> = self.order.iter().copied().take_while(|name| *name != row.name).collect();
        let mut why = if faster.is_empty() {
            "the fastest, and it fits".to_string()
        } else {
            format!("the first that fits after {}", faster.join(", "))
        };
        if row.strategy.offloads() {
            why += &format!("; offload makes a step {}× slower", advice.offload_factor());
        }
        let largest_micro_batch = match self.accounting {
            Accounting::Real => self.largest_micro_batch(&row.strategy),
            Accounting::Textbook => self.settings.micro_batch.value,
        };
        Some(Recommendation { template: row.name.clone(), why, largest_micro_batch })
    }

    fn largest_micro_batch(&self, strategy: &Strategy) -> u64 {
        let workload = self.workload();
        let fits = |micro_batch| self.fits(&Workload { micro_batch, ..workload.clone() }, strategy);
        largest(LARGEST_MICRO_BATCH, fits)
    }
}

/// The largest number up to `limit` that passes, or 0. Every number below one that passes must pass too.
pub(super) fn largest(limit: u64, passes: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, limit + 1);
    while low + 1 < high {
        let middle = low.midpoint(high);
        if passes(middle) { low = middle } else { high = middle }
    }
    low
}
