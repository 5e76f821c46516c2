//! Which templates fit, and which one to use.

use serde::Serialize;

use super::allocator::{Allocator, UsedAllocator};
use super::architecture::Weights;
use super::candidates::Candidate;
use super::memory;
use super::need::{Accounting, Cluster, MemoryNeed};
use super::settings::TrainingSettings;
use super::strategy::Strategy;
use super::workload::Workload;

/// The largest micro batch that is tried.
pub(super) const LARGEST_MICRO_BATCH: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fits,
    /// It fits, but without the margin.
    Tight,
    Not,
    Unknown,
}

/// A memory that can be short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MemoryKind {
    Gpu,
    Host,
    Disk,
}

/// A verdict, and the memories behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) short: Vec<MemoryKind>,
    /// Needed, and of unknown size.
    pub(crate) unknown: Vec<MemoryKind>,
}

/// What one template needs, and whether that is there.
#[derive(Clone, Debug)]
pub(crate) struct TemplateRow {
    pub(crate) name: String,
    pub(crate) need: MemoryNeed,
    pub(crate) judgement: Judgement,
    pub(crate) allocator: UsedAllocator,
    /// The verdict for torch's allocator as it comes, without expandable segments.
    pub(crate) plain: Verdict,
}

impl TemplateRow {
    pub(crate) fn verdict(&self) -> Verdict {
        self.judgement.verdict
    }
}

pub(crate) struct Recommendation {
    pub(crate) template: String,
    pub(crate) why: String,
    pub(crate) largest_micro_batch: u64,
}

/// The smallest GPU on which it fits: the need, what the allocator loses to gaps, and room to start.
pub(crate) fn with_margin(need: &MemoryNeed, allocator: Allocator) -> u64 {
    let gaps = need.allocated() * allocator.gaps(need.fragments) / 100;
    (need.gpu() + gaps).max(need.start)
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
    /// Bytes that are free on the disk of each node.
    pub(super) disk: Option<u64>,
    pub(super) accounting: Accounting,
    /// Instead of that of each template.
    pub(super) allocator: Option<Allocator>,
    pub(super) templates: &'a [Candidate],
    /// Names of templates, the fastest first.
    pub(super) order: &'a [&'a str],
}

impl<'a> Scenario<'a> {
    pub(super) fn workload(&self) -> Workload {
        Workload::new(self.weights, self.settings)
    }

    pub(super) fn rows(&self) -> Vec<TemplateRow> {
        let workload = self.workload();
        let row = |candidate: &Candidate| {
            let need = self.need(&workload, &candidate.strategy);
            let judgement = self.judge(&workload, &need, candidate);
            let plain = Scenario { allocator: Some(Allocator::Plain), ..*self };
            let plain = plain.judge(&workload, &need, candidate).verdict;
            let (name, allocator) = (candidate.name.clone(), candidate.allocator.clone());
            TemplateRow { name, need, judgement, allocator, plain }
        };
        self.templates.iter().map(row).collect()
    }

    pub(super) fn need(&self, workload: &Workload, strategy: &Strategy) -> MemoryNeed {
        match self.accounting {
            Accounting::Real => memory::need(workload, strategy, self.cluster),
            Accounting::Textbook => MemoryNeed::of_textbook(workload.params, strategy, self.cluster),
        }
    }

    fn judge(&self, workload: &Workload, need: &MemoryNeed, candidate: &Candidate) -> Judgement {
        let strategy = &candidate.strategy;
        let memories = [
            (MemoryKind::Gpu, need.gpu(), self.gpu_memory, true),
            // What loading takes for a moment is not a reason to doubt a template.
            (MemoryKind::Host, need.host, self.host_memory, strategy.offloads()),
            (MemoryKind::Disk, need.disk, self.disk, need.disk > 0),
        ];
        let kinds = |is_it: &dyn Fn(u64, Option<u64>, bool) -> bool| {
            let those = memories.iter().filter(|(_, need, there, asked)| is_it(*need, *there, *asked));
            those.map(|(kind, ..)| *kind).collect::<Vec<_>>()
        };
        let mut short = kinds(&|need, there, _| there.is_some_and(|there| need > there));
        let unknown = kinds(&|_, there, asked| there.is_none() && asked);
        let is_real = self.accounting == Accounting::Real;
        let allocator = self.allocator.unwrap_or(candidate.allocator.kind);
        let with_margin = if is_real { with_margin(need, allocator) } else { need.gpu() };
        let is_less = self.gpu_memory.is_some_and(|memory| with_margin > memory);
        let may_fit = is_real && is_less && self.may_fit(workload, strategy);
        if may_fit {
            short.retain(|kind| *kind != MemoryKind::Gpu);
        }
        let verdict = match self.gpu_memory {
            _ if !short.is_empty() => Verdict::Not,
            _ if may_fit || !unknown.is_empty() => Verdict::Unknown,
            Some(gpu_memory) if with_margin > gpu_memory => Verdict::Tight,
            _ => Verdict::Fits,
        };
        Judgement { verdict, short, unknown }
    }

    /// An optimizer that nobody measured needs something between the least and the most.
    fn may_fit(&self, workload: &Workload, strategy: &Strategy) -> bool {
        let is_measured = strategy.own_optimizer.unwrap_or(workload.optimizer).is_measured();
        let least = || self.need(&workload.with_least_optimizer(), &strategy.with_least_optimizer()).gpu();
        !is_measured && self.gpu_memory.is_some_and(|memory| least() <= memory)
    }

    /// The fastest template that fits, and what it needs.
    pub(super) fn first_fit(&self) -> Option<(&'a Candidate, MemoryNeed)> {
        let workload = self.workload();
        self.order.iter().find_map(|name| {
            let candidate = self.templates.iter().find(|known| known.name == *name)?;
            let need = self.need(&workload, &candidate.strategy);
            (self.judge(&workload, &need, candidate).verdict == Verdict::Fits).then_some((candidate, need))
        })
    }

    pub(super) fn recommend(&self) -> Option<Recommendation> {
        let (candidate, _) = self.first_fit()?;
        let faster: Vec<&str> = self.order.iter().copied().take_while(|name| *name != candidate.name).collect();
        let mut why = if faster.is_empty() {
            "the fastest, and it fits".to_string()
        } else {
            format!("the first that fits after {}", faster.join(", "))
        };
        if candidate.strategy.offloads() {
            // As a common guide says; not measured here.
            why += "; offload makes a step 2–3× slower";
        }
        let largest_micro_batch = match self.accounting {
            Accounting::Real => self.largest_micro_batch(candidate),
            Accounting::Textbook => self.settings.micro_batch,
        };
        Some(Recommendation { template: candidate.name.clone(), why, largest_micro_batch })
    }

    pub(super) fn largest_micro_batch(&self, candidate: &Candidate) -> u64 {
        let workload = self.workload();
        largest(LARGEST_MICRO_BATCH, |micro_batch| {
            let workload = Workload { micro_batch, ..workload.clone() };
            let need = self.need(&workload, &candidate.strategy);
            self.judge(&workload, &need, candidate).verdict == Verdict::Fits
        })
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
