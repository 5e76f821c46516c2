//! What an estimate is made of: a training and the machines it runs on, the configs that are compared for it, and what is found.
//! Judges the configs, recommends one, and finds changes that would make a training fit.

use std::iter;

use super::{
    architecture::Weights,
    memory,
    need::{Cluster, MemoryNeed, only_if},
    settings::{Assumption, TrainingSettings},
    strategy::Strategy,
    tables::{
        memories::{DISK, GPU, HOST, MemoryKind},
        usual::{LARGEST_MICRO_BATCH, SEQ_LEN_STEP},
        verdicts::{FITS, NOT, TIGHT, UNKNOWN, Verdict},
        words::{Accounting, REAL, Tuner},
    },
    workload::Workload,
};
use crate::{
    base::{layout::plural, size::Size, source::Sourced},
    command::allocator::Allocator,
    request::Launch,
};

/// A training and the machines it runs on.
#[derive(Clone)]
pub struct FitInputs<'a> {
    pub model: Option<String>,
    pub weights: Weights,
    pub workload: Workload,
    /// The settings with the least that could be meant where nothing is said.
    pub least: TrainingSettings,
    pub assumed: Vec<Assumption>,
    /// The config that is judged, besides the templates.
    pub config: Option<Sourced<String>>,
    pub card: Option<&'static str>,
    /// Not on this machine, so its memory says nothing.
    pub is_elsewhere: bool,
    pub cluster: Cluster,
    pub launch: &'a Launch,
    pub allocator: Allocator,
    pub accounting: Accounting,
    pub memories: Memories,
    pub templates: Vec<Candidate>,
    /// Names of templates, the fastest first.
    pub order: Vec<String>,
}

/// A config that is compared.
#[derive(Clone)]
pub struct Candidate {
    pub name: String,
    pub strategy: Strategy,
    pub allocator: Allocator,
    /// The user named it.
    pub is_named: bool,
}

/// The memories that there are, in bytes of each GPU and of each machine, where they are known.
#[derive(Clone, Copy, Default)]
pub struct Memories {
    pub gpu: Option<u64>,
    pub host: Option<u64>,
    pub disk: Option<u64>,
}

/// A template, and what was found about it.
#[derive(Clone)]
pub struct TemplateRow {
    pub candidate: Candidate,
    pub need: MemoryNeed,
    pub verdict: Verdict,
    pub short: Vec<Shortage>,
    /// Needed, and of unknown size.
    pub unknown: Vec<MemoryKind>,
}

#[derive(Clone)]
pub struct Shortage {
    pub kind: MemoryKind,
    pub bytes: u64,
}

/// A change with which a template would fit.
pub struct Remedy {
    pub change: String,
    pub row: TemplateRow,
}

impl TemplateRow {
    /// Percent of the peak that must be free on top. On capped GPUs, trainings needed up to 2 % with expandable segments,
    /// more than 5 and up to 8 % where stage 3 gathers parameters, answers come in pairs or an evaluation needs most, and up to 28 %
    /// without; the rest is for the estimate (`tests/data/capped-h200.jsonl`, `tests/data/phases-h200.jsonl`).
    pub fn gaps(&self) -> u64 {
        if !self.candidate.allocator.expands {
            30
        } else if self.need.fragments {
            9
        } else {
            5
        }
    }

    /// The smallest GPU on which it fits: the need, what the allocator loses to gaps, and room to start.
    pub fn with_margin(&self) -> u64 {
        let gaps = self.need.allocated() * self.gaps() / 100;
        (self.need.gpu() + gaps).max(self.need.start)
    }
}

impl Remedy {
    /// `LoRA: zero3, 41.0 GiB on each GPU`.
    pub fn sentence(&self) -> String {
        let size = Size(self.row.need.gpu());
        format!(
            "{}: {}, {size} on each GPU",
            self.change, self.row.candidate.name
        )
    }
}

impl FitInputs<'_> {
    pub fn judge(&self, candidate: &Candidate) -> TemplateRow {
        let strategy = &candidate.strategy;
        let need = if self.accounting == REAL {
            memory::need(&self.workload, strategy, self.cluster)
        } else {
            MemoryNeed::of_textbook(self.workload.params, strategy, self.cluster)
        };
        // How much an optimizer needs that nobody measured is not known.
        let optimizer = strategy.own_optimizer.unwrap_or(self.settings().optimizer);
        let may_fit = !optimizer.is_measured();
        let mut row = TemplateRow {
            candidate: candidate.clone(),
            need,
            verdict: FITS,
            short: vec![],
            unknown: vec![],
        };
        let mut look = |kind, bytes, there, is_needed| match there {
            Some(there) if bytes > there => row.short.push(Shortage {
                kind,
                bytes: bytes - there,
            }),
            None if is_needed => row.unknown.push(kind),
            _ => {}
        };
        let Memories { gpu, host, disk } = self.memories;
        look(GPU, only_if(!may_fit, need.gpu()), gpu, true);
        // The memory that loading takes for a moment is not a reason to doubt a template.
        look(HOST, need.host, host, strategy.offloads());
        look(DISK, need.disk, disk, need.disk > 0);
        if !row.short.is_empty() {
            row.verdict = NOT;
        } else if may_fit || !row.unknown.is_empty() || self.weights.uncounted.is_some() {
            row.verdict = UNKNOWN;
        } else if gpu.is_some_and(|memory| row.with_margin() > memory) {
            row.verdict = TIGHT;
        }
        row
    }

    /// The fastest template that fits.
    pub fn first_fit(&self) -> Option<TemplateRow> {
        self.order
            .iter()
            .filter_map(|name| {
                Some(self.judge(self.templates.iter().find(|known| known.name == *name)?))
            })
            .find(|row| row.verdict == FITS)
    }

    /// With the fastest template that fits.
    pub fn largest_micro_batch(&self) -> Option<u64> {
        let largest = self
            .with_order(vec![self.first_fit()?.candidate.name])
            .largest(LARGEST_MICRO_BATCH, set_micro_batch);
        (largest < LARGEST_MICRO_BATCH).then_some(largest)
    }

    pub fn with_order(&self, order: Vec<String>) -> Self {
        FitInputs {
            order,
            ..self.clone()
        }
    }

    pub fn with_settings(&self, settings: &TrainingSettings) -> Self {
        FitInputs {
            workload: Workload::new(&self.weights, settings),
            ..self.clone()
        }
    }

    fn first_fit_with(&self, change: impl Fn(&mut TrainingSettings)) -> Option<TemplateRow> {
        let mut settings = self.settings().clone();
        change(&mut settings);
        self.with_settings(&settings).first_fit()
    }

    /// The largest number up to `limit` with which a template fits, or 0. Every smaller one must fit, too.
    fn largest(&self, limit: u64, change: fn(&mut TrainingSettings, u64)) -> u64 {
        let mut low = 0;
        let mut high = limit + 1;
        while low + 1 < high {
            let middle = low.midpoint(high);
            if self
                .first_fit_with(|settings| change(settings, middle))
                .is_some()
            {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Changes that would make a training fit, from the cheapest to the dearest. Each is tried with the same sums; a setting that
    /// is already in use changes nothing, so it does not help either. `others`: with the templates to fall back to, if these
    /// inputs are about one config.
    pub fn remedies(&self, others: &Self) -> Vec<Remedy> {
        let settings = self.settings();
        let with = |change: &str, apply: fn(&mut TrainingSettings)| {
            remedy(change.to_string(), self.first_fit_with(apply))
        };
        let evaluation = settings.evaluation.and_then(|given| {
            let set = |settings: &mut TrainingSettings, batch| {
                if let Some(evaluation) = &mut settings.evaluation {
                    evaluation.batch = batch;
                }
            };
            self.with_less(given.batch, set, |batch| {
                format!("an evaluation batch of {batch}")
            })
        });
        let mut found = vec![
            evaluation,
            self.with_less(settings.micro_batch, set_micro_batch, |batch| {
                format!("a micro batch of {batch}")
            }),
            with("gradient checkpointing", |it| it.checkpointing = true),
            with("a fused loss (Liger)", |it| it.fused_loss = true),
            self.with_less(
                settings.seq_len.div_ceil(SEQ_LEN_STEP),
                |settings, steps| settings.seq_len = SEQ_LEN_STEP * steps,
                |steps| format!("sequences of {} tokens", SEQ_LEN_STEP * steps),
            ),
        ];
        if others.first_fit().is_none() {
            found.extend([others.offload(), others.disk()]);
        }
        found.extend([
            with("LoRA", |it| it.tuner = Tuner::Lora),
            with("QLoRA in 4 bits", |it| it.tuner = Tuner::Quantised(4)),
            self.more_gpus(),
        ]);
        found.into_iter().flatten().collect()
    }

    /// With the largest number below the present one that helps.
    fn with_less(
        &self,
        present: u64,
        change: fn(&mut TrainingSettings, u64),
        describe: impl Fn(u64) -> String,
    ) -> Option<Remedy> {
        let limit = present.saturating_sub(1).min(LARGEST_MICRO_BATCH);
        let most = self.largest(limit, change);
        let row = self.first_fit_with(|settings| change(settings, most));
        remedy(describe(most), row).filter(|_| most > 0)
    }

    fn offload(&self) -> Option<Remedy> {
        let mut with_memory = self.clone();
        with_memory.memories.host = Some(u64::MAX);
        let row = with_memory.first_fit()?;
        let change = format!("{} of host memory", Size(row.need.host));
        Some(Remedy { change, row })
    }

    fn disk(&self) -> Option<Remedy> {
        let mut with_disk = self.with_order(vec!["zero3_nvme".to_string()]);
        with_disk.memories.disk = Some(u64::MAX);
        let row = with_disk.first_fit()?;
        let change = format!("a local NVMe disk with {} free", Size(row.need.disk));
        Some(Remedy { change, row })
    }

    /// More GPUs in each machine, up to eight, then more machines.
    fn more_gpus(&self) -> Option<Remedy> {
        let double = |cluster: &Cluster| {
            let mut larger = *cluster;
            if larger.nodes == self.cluster.nodes && larger.gpus <= 4 {
                larger.gpus *= 2;
            } else {
                larger.nodes *= 2;
            }
            Some(larger)
        };
        let mut larger = iter::successors(double(&self.cluster), double).take(12);
        larger.find_map(|cluster| {
            let gpus = plural(cluster.gpus, "GPU", "s");
            let change = match cluster.nodes {
                1 => gpus,
                nodes => format!("{nodes} machines with {gpus} each"),
            };
            let larger = FitInputs {
                cluster,
                ..self.clone()
            };
            remedy(change, larger.first_fit())
        })
    }
}

fn remedy(change: String, row: Option<TemplateRow>) -> Option<Remedy> {
    Some(Remedy { change, row: row? })
}

fn set_micro_batch(settings: &mut TrainingSettings, batch: u64) {
    settings.micro_batch = batch;
}
