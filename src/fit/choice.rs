//! Judges the templates on one cluster, and recommends one.

use super::architecture::Weights;
use super::candidates::Candidate;
use super::memory;
use super::need::{Accounting, Cluster, Memories, MemoryNeed};
use super::optimizer::Optimizer;
use super::settings::TrainingSettings;
use super::strategy::{MemoryKind, Strategy};
use super::workload::Workload;
use crate::command::allocator::Segments;

pub(super) const LARGEST_MICRO_BATCH: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fits,
    /// It fits, but without the margin.
    Tight,
    Not,
    Unknown,
}

/// A template, and what was found about it.
#[derive(Clone, Debug)]
pub(super) struct TemplateRow {
    pub(super) candidate: Candidate,
    pub(super) need: MemoryNeed,
    pub(super) verdict: Verdict,
    /// The verdict without expandable segments.
    pub(super) plain: Verdict,
    pub(super) short: Vec<MemoryKind>,
    /// Needed, and of unknown size.
    pub(super) unknown: Vec<MemoryKind>,
}

pub(super) struct Recommendation {
    pub(super) template: String,
    pub(super) need: MemoryNeed,
    pub(super) why: String,
    pub(super) largest_micro_batch: u64,
}

impl Segments {
    /// Percent of the peak that must be free on top. On capped GPUs, trainings needed up to 2 % with expandable segments,
    /// more than 5 and up to 8 % where stage 3 gathers parameters, answers come in pairs or an evaluation needs most, and up to 28 %
    /// without; the rest is for the estimate (`tests/data/capped-h200.jsonl`, `tests/data/phases-h200.jsonl`).
    pub(super) fn gaps(self, need: &MemoryNeed) -> u64 {
        match self {
            Segments::Expandable if need.fragments => 9,
            Segments::Expandable => 5,
            Segments::Fixed => 30,
        }
    }
}

/// The smallest GPU on which it fits: the need, what the allocator loses to gaps, and room to start.
pub(super) fn with_margin(need: &MemoryNeed, segments: Segments) -> u64 {
    let gaps = need.allocated() * segments.gaps(need) / 100;
    (need.gpu() + gaps).max(need.start)
}

/// One training on one cluster, and the templates to choose from.
#[derive(Clone, Copy)]
pub(super) struct Scenario<'a> {
    pub(super) weights: &'a Weights,
    pub(super) settings: &'a TrainingSettings,
    pub(super) cluster: Cluster,
    pub(super) memories: Memories,
    pub(super) accounting: Accounting,
    /// Instead of those of each template.
    pub(super) segments: Option<Segments>,
    pub(super) templates: &'a [Candidate],
    /// Names of templates, the fastest first.
    pub(super) order: &'a [&'a str],
}

impl Scenario<'_> {
    pub(super) fn rows(&self) -> Vec<TemplateRow> {
        let workload = Workload::new(self.weights, self.settings);
        self.templates
            .iter()
            .map(|candidate| self.judge(&workload, candidate))
            .collect()
    }

    fn need(&self, workload: &Workload, strategy: &Strategy) -> MemoryNeed {
        match self.accounting {
            Accounting::Real => memory::need(workload, strategy, self.cluster),
            Accounting::Textbook => {
                MemoryNeed::of_textbook(workload.params, strategy, self.cluster)
            }
        }
    }

    fn judge(&self, workload: &Workload, candidate: &Candidate) -> TemplateRow {
        let strategy = &candidate.strategy;
        let need = self.need(workload, strategy);
        let is_real = self.accounting == Accounting::Real;
        let may_fit = is_real && self.may_fit(workload, strategy);
        let is_short = |kind: &MemoryKind| {
            let is_excused = *kind == MemoryKind::Gpu && may_fit;
            let there = self.memories.of(*kind);
            there.is_some_and(|there| need.of(*kind) > there) && !is_excused
        };
        let is_unknown = |kind: &MemoryKind| {
            let is_needed = match kind {
                MemoryKind::Gpu => true,
                // The memory that loading takes for a moment is not a reason to doubt a template.
                MemoryKind::Host => strategy.offloads(),
                MemoryKind::Disk => need.disk > 0,
            };
            is_needed && self.memories.of(*kind).is_none()
        };
        let kinds = [MemoryKind::Gpu, MemoryKind::Host, MemoryKind::Disk];
        let short: Vec<MemoryKind> = kinds.into_iter().filter(is_short).collect();
        let unknown: Vec<MemoryKind> = kinds.into_iter().filter(is_unknown).collect();
        let verdict = |segments: Segments| {
            let has_no_margin = |memory| with_margin(&need, segments) > memory;
            let is_tight = is_real && self.memories.gpu.is_some_and(has_no_margin);
            let is_uncounted = is_real && self.settings.algorithm.uncounted;
            if !short.is_empty() {
                Verdict::Not
            } else if is_tight && may_fit || !unknown.is_empty() || is_uncounted {
                Verdict::Unknown
            } else if is_tight {
                Verdict::Tight
            } else {
                Verdict::Fits
            }
        };
        TemplateRow {
            verdict: verdict(self.segments.unwrap_or(candidate.allocator.segments)),
            plain: verdict(Segments::Fixed),
            candidate: candidate.clone(),
            need,
            short,
            unknown,
        }
    }

    /// An optimizer that nobody measured needs something between the least and the most.
    fn may_fit(&self, workload: &Workload, strategy: &Strategy) -> bool {
        let own = strategy.own_optimizer;
        if own.unwrap_or(workload.settings.optimizer).is_measured() {
            return false;
        }
        let mut least = workload.clone();
        least.settings.optimizer = Optimizer::LEAST;
        let strategy = Strategy {
            own_optimizer: own.map(|_| Optimizer::LEAST),
            ..strategy.clone()
        };
        let need = self.need(&least, &strategy).gpu();
        self.memories.gpu.is_some_and(|memory| need <= memory)
    }

    /// The fastest template that fits.
    pub(super) fn first_fit(&self) -> Option<TemplateRow> {
        let workload = Workload::new(self.weights, self.settings);
        let mut rows = self.order.iter().filter_map(|name| {
            let candidate = self.templates.iter().find(|known| known.name == *name)?;
            Some(self.judge(&workload, candidate))
        });
        rows.find(|row| row.verdict == Verdict::Fits)
    }

    pub(super) fn recommend(&self) -> Option<Recommendation> {
        let TemplateRow {
            candidate, need, ..
        } = self.first_fit()?;
        let faster: Vec<&str> = self
            .order
            .iter()
            .copied()
            .take_while(|name| *name != candidate.name)
            .collect();
        let mut why = match faster[..] {
            [] => "the fastest template that fits".to_string(),
            [one] => format!("{one} does not fit"),
            _ => format!("{} do not fit", faster.join(", ")),
        };
        if candidate.strategy.offloads() {
            // As a common guide says; not measured here.
            why += "; offload makes a step 2–3× slower";
        }
        Some(Recommendation {
            largest_micro_batch: match self.accounting {
                Accounting::Real => self.largest_micro_batch(&candidate),
                Accounting::Textbook => self.settings.micro_batch,
            },
            template: candidate.name,
            need,
            why,
        })
    }

    pub(super) fn largest_micro_batch(&self, candidate: &Candidate) -> u64 {
        largest(LARGEST_MICRO_BATCH, |micro_batch| {
            let settings = TrainingSettings {
                micro_batch,
                ..self.settings.clone()
            };
            let workload = Workload::new(self.weights, &settings);
            self.judge(&workload, candidate).verdict == Verdict::Fits
        })
    }
}

/// The largest number up to `limit` that passes, or 0. Every number below one that passes must pass too.
pub(super) fn largest(limit: u64, passes: impl Fn(u64) -> bool) -> u64 {
    let mut low = 0;
    let mut high = limit + 1;
    while low + 1 < high {
        let middle = low.midpoint(high);
        if passes(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
