//! Judges the templates on one cluster, and recommends one.

use super::architecture::Weights;
use super::candidates::Candidate;
use super::memory;
use super::need::{Accounting, Cluster, MemoryNeed};
use super::optimizer::Optimizer;
use super::settings::TrainingSettings;
use super::strategy::{MemoryKind, Strategy};
use super::workload::Workload;
use crate::command::allocator::{Allocator, Segments};

pub(super) const LARGEST_MICRO_BATCH: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fits,
    /// It fits, but without the margin.
    Tight,
    Not,
    Unknown,
}

#[derive(Clone, Debug)]
pub(crate) struct TemplateRow {
    pub(crate) name: String,
    pub(crate) need: MemoryNeed,
    pub(crate) verdict: Verdict,
    pub(crate) short: Vec<MemoryKind>,
    /// Needed, and of unknown size.
    pub(crate) unknown: Vec<MemoryKind>,
    pub(crate) allocator: Allocator,
    pub(crate) plain: Verdict,
}

pub(crate) struct Recommendation {
    pub(crate) template: String,
    pub(crate) why: String,
    pub(crate) largest_micro_batch: u64,
}

impl Segments {
    /// Percent of the peak that must be free on top. On capped GPUs, trainings needed up to 2 % with expandable segments,
    /// more than 5 and up to 8 % where stage 3 gathers parameters, answers come in pairs or an evaluation needs most, and up to 28 %
    /// without; the rest is for the estimate (`tests/data/capped-h200.jsonl`, `tests/data/phases-h200.jsonl`).
    pub(super) fn gaps(self, fragments: bool) -> u64 {
        match self {
            Segments::Expandable if fragments => 9,
            Segments::Expandable => 5,
            Segments::Fixed => 30,
        }
    }
}

/// The smallest GPU on which it fits: the need, what the allocator loses to gaps, and room to start.
pub(crate) fn with_margin(need: &MemoryNeed, segments: Segments) -> u64 {
    let gaps = need.allocated() * segments.gaps(need.fragments) / 100;
    (need.gpu() + gaps).max(need.start)
}

/// One training on one cluster, and the templates to choose from. The memories are in bytes of each GPU and each machine.
#[derive(Clone, Copy)]
pub(super) struct Scenario<'a> {
    pub(super) weights: &'a Weights,
    pub(super) settings: &'a TrainingSettings,
    pub(super) cluster: Cluster,
    pub(super) gpu_memory: Option<u64>,
    pub(super) host_memory: Option<u64>,
    pub(super) disk: Option<u64>,
    pub(super) accounting: Accounting,
    /// Instead of that of each template.
    pub(super) segments: Option<Segments>,
    pub(super) templates: &'a [Candidate],
    /// Names of templates, the fastest first.
    pub(super) order: &'a [&'a str],
}

impl<'a> Scenario<'a> {
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
        let Candidate {
            strategy,
            allocator,
            ..
        } = candidate;
        let need = self.need(workload, strategy);
        let may_fit = self.may_fit(workload, strategy);
        let memories = [
            (MemoryKind::Gpu, need.gpu(), self.gpu_memory, true),
            // The memory that loading takes for a moment is not a reason to doubt a template.
            (
                MemoryKind::Host,
                need.host,
                self.host_memory,
                strategy.offloads(),
            ),
            (MemoryKind::Disk, need.disk, self.disk, need.disk > 0),
        ];
        let (mut short, mut unknown) = (Vec::new(), Vec::new());
        for (kind, need, there, is_needed) in memories {
            match there {
                Some(there) if need > there && !(kind == MemoryKind::Gpu && may_fit) => {
                    short.push(kind);
                }
                None if is_needed => unknown.push(kind),
                _ => {}
            }
        }
        let verdict = |segments| {
            let is_real = self.accounting == Accounting::Real;
            let is_tight = is_real
                && self
                    .gpu_memory
                    .is_some_and(|memory| with_margin(&need, segments) > memory);
            if !short.is_empty() {
                Verdict::Not
            } else if is_tight && may_fit
                || !unknown.is_empty()
                || is_real && self.settings.algorithm.uncounted
            {
                Verdict::Unknown
            } else if is_tight {
                Verdict::Tight
            } else {
                Verdict::Fits
            }
        };
        let (verdict, plain) = (
            verdict(self.segments.unwrap_or(allocator.segments)),
            verdict(Segments::Fixed),
        );
        let Candidate {
            name, allocator, ..
        } = candidate.clone();
        TemplateRow {
            name,
            need,
            verdict,
            short,
            unknown,
            allocator,
            plain,
        }
    }

    /// An optimizer that nobody measured needs something between the least and the most.
    fn may_fit(&self, workload: &Workload, strategy: &Strategy) -> bool {
        let is_measured = strategy
            .own_optimizer
            .unwrap_or(workload.settings.optimizer)
            .is_measured();
        if is_measured || self.accounting == Accounting::Textbook {
            return false;
        }
        let own_optimizer = strategy.own_optimizer.map(|_| Optimizer::LEAST);
        let mut least = workload.clone();
        least.settings.optimizer = Optimizer::LEAST;
        let need = self.need(
            &least,
            &Strategy {
                own_optimizer,
                ..strategy.clone()
            },
        );
        self.gpu_memory.is_some_and(|memory| need.gpu() <= memory)
    }

    pub(super) fn first_fit(&self) -> Option<(&'a Candidate, MemoryNeed)> {
        let workload = Workload::new(self.weights, self.settings);
        self.order.iter().find_map(|name| {
            let candidate = self.templates.iter().find(|known| known.name == *name)?;
            let row = self.judge(&workload, candidate);
            (row.verdict == Verdict::Fits).then_some((candidate, row.need))
        })
    }

    pub(super) fn recommend(&self) -> Option<Recommendation> {
        let (candidate, _) = self.first_fit()?;
        let faster: Vec<&str> = self
            .order
            .iter()
            .copied()
            .take_while(|name| *name != candidate.name)
            .collect();
        let mut why = if faster.is_empty() {
            "the fastest template that fits".to_string()
        } else {
            format!(
                "{} {} not fit",
                faster.join(", "),
                if faster.len() == 1 { "does" } else { "do" }
            )
        };
        if candidate.strategy.offloads() {
            // As a common guide says; not measured here.
            why += "; offload makes a step 2–3× slower";
        }
        let is_real = self.accounting == Accounting::Real;
        let largest_micro_batch = if is_real {
            self.largest_micro_batch(candidate)
        } else {
            self.settings.micro_batch
        };
        Some(Recommendation {
            template: candidate.name.clone(),
            why,
            largest_micro_batch,
        })
    }

    pub(super) fn largest_micro_batch(&self, candidate: &Candidate) -> u64 {
        largest(LARGEST_MICRO_BATCH, |micro_batch| {
            let settings = TrainingSettings {
                micro_batch,
                ..self.settings.clone()
            };
            self.judge(&Workload::new(self.weights, &settings), candidate)
                .verdict
                == Verdict::Fits
        })
    }
}

/// The largest number up to `limit` that passes, or 0. Every number below one that passes must pass too.
pub(super) fn largest(limit: u64, passes: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, limit + 1);
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
