//! The answer of `zlaunch fit`: as a text for people, as JSON, and as a sentence for a launch. `picture.rs` draws it.

use serde_json::{Value, json};

use super::architecture::Weights;
use super::candidates::NONE;
use super::choice::{Recommendation, TemplateRow, Verdict, with_margin};
use super::need::{Accounting, Cluster, GpuUsage, Phase};
use super::remedies::Remedy;
use super::settings::{Attention, Evaluation, TrainingSettings, Tuner};
use super::strategy::MemoryKind;
use super::workload::Workload;
use crate::base::layout::{Line, TextTable, columns, wrapped};
use crate::base::size::Size;
use crate::base::source::{Source, Sourced};
use crate::command::allocator::Allocator;

pub struct FitReport {
    pub(super) model: Option<String>,
    pub(super) weights: Weights,
    pub(super) workload: Workload,
    pub(super) cluster: Cluster,
    pub(super) card: Option<&'static str>,
    pub(super) gpu_memory: Option<Sourced<u64>>,
    pub(super) host_memory: Option<Sourced<u64>>,
    /// On the disk that the named config offloads to.
    pub(super) free_disk: Option<u64>,
    pub(super) allocator: Allocator,
    pub(super) accounting: Accounting,
    pub(super) rows: Vec<TemplateRow>,
    /// The row of the config that the user named, and its largest micro batch.
    pub(super) named: Option<(usize, u64)>,
    pub(super) recommended: Option<Recommendation>,
    /// Changes that would make the named config fit, or some template.
    pub(super) remedies: Vec<Remedy>,
    pub(super) assumed: Vec<String>,
}

#[derive(Clone, Copy)]
pub struct View {
    pub width: Option<usize>,
    pub colour: bool,
}

impl MemoryKind {
    /// Its name in a table, and in a sentence.
    fn words(self) -> (&'static str, &'static str) {
        [
            ("GPU", "each GPU"),
            ("host", "the host"),
            ("disk", "the disk"),
        ][self as usize]
    }
}

impl TemplateRow {
    pub(super) fn title(&self) -> &str {
        if self.name == NONE {
            "no DeepSpeed"
        } else {
            &self.name
        }
    }

    /// `fits`, `no: GPU, host`, `? host`.
    pub(super) fn words(&self) -> String {
        let (word, ..) = self.verdict.shown();
        let join = |kinds: &[MemoryKind]| {
            kinds
                .iter()
                .map(|kind| kind.words().0)
                .collect::<Vec<_>>()
                .join(", ")
        };
        match self.verdict {
            Verdict::Not => format!("{word}: {}", join(&self.short)),
            Verdict::Unknown => format!("{word} {}", join(&self.unknown)),
            Verdict::Fits | Verdict::Tight => word.to_string(),
        }
    }
}

impl FitReport {
    fn named(&self) -> Option<&TemplateRow> {
        self.rows.get(self.named?.0)
    }

    fn is_real(&self) -> bool {
        self.accounting == Accounting::Real
    }

    /// The named config does not fit; or none was named, and no row of the table fits.
    pub(crate) fn does_not_fit(&self) -> bool {
        match self.named() {
            Some(row) => row.verdict == Verdict::Not,
            None if self.gpu_memory.is_none() || self.may_fit_with_offload() => false,
            None => !self
                .rows
                .iter()
                .any(|row| matches!(row.verdict, Verdict::Fits | Verdict::Tight)),
        }
    }

    /// A template fits on the GPUs, and only the memory of the hosts is not known.
    pub(super) fn may_fit_with_offload(&self) -> bool {
        self.rows
            .iter()
            .any(|row| row.unknown == [MemoryKind::Host] && row.verdict == Verdict::Unknown)
    }

    /// Control characters from files and arguments are escaped here, since colours come on top.
    pub fn text(&self, view: View) -> String {
        format!(
            "{}\n{}\n{}\n{}",
            self.head(view),
            self.table(view),
            self.bars(view),
            self.conclusion(view)
        )
    }

    fn head(&self, view: View) -> TextTable {
        let textbook = "2 per weight, 2 per gradient, 8 for Adam, nothing else (textbook)";
        let training = if self.is_real() {
            ("trains", self.training_line())
        } else {
            ("bytes", textbook.to_string())
        };
        let mut rows = vec![
            ("model", self.model_line()),
            training,
            ("on", self.machine_line()),
        ];
        if !self.assumed.is_empty() {
            rows.push(("assumed", self.assumed.join("; ")));
        }
        // As wide as "assumed", even if that is missing.
        let rows = rows
            .into_iter()
            .map(|(name, value)| (format!("{name:<7}"), value));
        TextTable::of_pairs(0, rows).fitted(view.width)
    }

    pub(super) fn model_line(&self) -> String {
        let name = self
            .model
            .as_ref()
            .map(|name| format!("{name}: "))
            .unwrap_or_default();
        format!(
            "{name}{} parameters ({})",
            billions(self.weights.params),
            self.weights.from
        )
    }

    pub(super) fn training_line(&self) -> String {
        let settings = &self.workload.settings;
        let (rank, trainable) = (settings.lora_rank, billions(self.workload.trainable));
        let mut words = vec![
            match settings.tuner {
                Tuner::Full => "all parameters".to_string(),
                Tuner::Lora => format!("LoRA of rank {rank}, {trainable}"),
                Tuner::Quantised(bits) => {
                    format!("LoRA of rank {rank} on {bits} bits, {trainable}")
                }
            },
            settings.dtype.name().to_string(),
            settings.optimizer.name.to_string(),
            format!("{} × {} tokens", settings.micro_batch, settings.seq_len),
            format!(
                "{}gradient checkpointing",
                if settings.checkpointing { "" } else { "no " }
            ),
        ];
        words.extend(
            (settings.attention == Some(Attention::Eager)).then(|| "eager attention".to_string()),
        );
        words.extend(settings.fused_loss.then(|| "fused loss".to_string()));
        words.join(", ")
    }

    pub(super) fn machine_line(&self) -> String {
        let size = |memory: &Sourced<u64>| match &memory.from {
            Source::Flag(_) | Source::Variable(_) => self.size(memory.value),
            from => format!("{} ({from})", self.size(memory.value)),
        };
        let Cluster { nodes, gpus } = self.cluster;
        let each = if nodes > 1 {
            format!("{nodes} machines, each ")
        } else {
            String::new()
        };
        let plural = self.card.unwrap_or(if gpus == 1 { "GPU" } else { "GPUs" });
        let gpu = self
            .gpu_memory
            .as_ref()
            .map_or("unknown size".to_string(), size);
        let host = self
            .host_memory
            .as_ref()
            .map(|memory| format!(" and {} of host memory", size(memory)));
        format!("{each}{gpus} {plural} of {gpu}{}", host.unwrap_or_default())
    }

    /// The textbook accounting uses decimal units.
    pub(super) fn size(&self, bytes: u64) -> String {
        if self.is_real() {
            Size(bytes).to_string()
        } else {
            format!("{} GB", self.number(bytes))
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    fn number(&self, bytes: u64) -> String {
        let bytes = bytes as f64;
        if self.is_real() {
            format!("{:.1}", bytes / f64::from(1 << 30))
        } else {
            format!("{:.0}", bytes / 1e9)
        }
    }

    /// The parts in columns, or only their sum if the terminal is too narrow.
    fn table(&self, view: View) -> String {
        let width = view.width.unwrap_or(usize::MAX);
        let titles = GpuUsage::default().columns().map(|(title, _)| title);
        let used = (0..titles.len()).filter(|part| {
            self.rows
                .iter()
                .any(|row| row.need.usage.columns()[*part].1 > 0)
        });
        let parts: Vec<usize> = used.collect();
        let mut text = self.table_of(&parts).to_string();
        let mut note = "each row is the peak of the whole run".to_string();
        if text.lines().any(|line| columns(line) > width) {
            text = self.table_of(&[]).to_string();
            let left_out: Vec<&str> = parts.iter().map(|part| titles[*part]).collect();
            note += &format!("; a wider terminal also shows {}", left_out.join(", "));
        }
        let mut lines = text.lines();
        let mut painted = format!("{}\n", lines.next().unwrap_or_default());
        for (line, row) in lines.zip(&self.rows) {
            let words = row.words();
            painted += &match line.strip_suffix(&words) {
                Some(rest) => format!("{rest}{}\n", view.painted(&words, row.verdict.shown().1)),
                None => format!("{line}\n"),
            };
        }
        painted += &wrapped(&note, 0, width);
        painted
            + &self
                .between_steps()
                .map_or(String::new(), |line| wrapped(&line, 0, width))
    }

    /// `evaluation: 11.7 GiB with zero3, batch 2, and a step 9.4 GiB: --per_device_eval_batch_size 1`, for the named row or the first template.
    fn between_steps(&self) -> Option<String> {
        let mut rows = self.named().into_iter().chain(self.rows.iter().skip(1));
        let row = rows.find(|row| row.need.peak.is_between_steps())?;
        let TrainingSettings {
            micro_batch,
            rollout,
            evaluation,
            algorithm,
            ..
        } = self.workload.settings;
        let of_rollout = if algorithm.groups {
            "--steps_per_generation "
        } else {
            "--gradient_accumulation_steps "
        };
        let (count, each, spelling) = match (row.need.peak, rollout, evaluation) {
            (Phase::Generation, Some(given), _) => (given.micro_batches, micro_batch, of_rollout),
            (_, _, given) => given.map(
                |Evaluation {
                     batch, spelling, ..
                 }| (batch, 1, spelling),
            )?,
        };
        let (need, of_batch) = (row.need, row.need.usage.activations + row.need.usage.logits);
        // The batch with which it needs no more than a step.
        let room = need.step.saturating_sub(need.gpu() - of_batch);
        let smaller = (count.saturating_mul(room) / of_batch.max(1)).max(1);
        // The answers to one prompt, a power of two, stay together.
        let (batch, smaller) = (
            count * each,
            if each > 1 {
                1 << smaller.ilog2()
            } else {
                smaller
            },
        );
        let fix = if smaller < count {
            format!(": {spelling}{smaller}")
        } else {
            String::new()
        };
        let [most, step] = [need.gpu(), need.step].map(|bytes| self.size(bytes));
        Some(format!(
            "{}: {most} with {}, batch {batch}, and a step {step}{fix}",
            need.peak.name(),
            row.title()
        ))
    }

    fn table_of(&self, parts: &[usize]) -> TextTable {
        let unit = if self.is_real() { "GiB" } else { "GB" };
        let titles = GpuUsage::default().columns().map(|(title, _)| title);
        let has_phases = self.rows.iter().any(|row| row.need.peak.is_between_steps());
        let ends = ["each GPU", "host"]
            .into_iter()
            .chain(has_phases.then_some("at"));
        let head = [unit]
            .into_iter()
            .chain(parts.iter().map(|part| titles[*part]))
            .chain(ends);
        let mut lines = vec![Line::Row(head.map(str::to_string).collect())];
        let cell = |bytes: u64| {
            if bytes == 0 {
                "-".to_string()
            } else {
                self.number(bytes)
            }
        };
        for row in &self.rows {
            let mut cells = vec![row.title().to_string()];
            cells.extend(
                parts
                    .iter()
                    .map(|part| cell(row.need.usage.columns()[*part].1)),
            );
            cells.extend([self.number(row.need.gpu()), cell(row.need.host)]);
            let at = if row.need.peak.is_between_steps() {
                row.need.peak.name()
            } else {
                "step"
            };
            cells.extend(has_phases.then(|| at.to_string()));
            cells.extend(self.gpu_memory.as_ref().map(|_| row.words()));
            lines.push(Line::Row(cells));
        }
        TextTable {
            numbers: 1..parts.len() + 3,
            lines,
            ..TextTable::new(0)
        }
    }

    fn conclusion(&self, view: View) -> String {
        // Indentations and lines.
        let mut lines = Vec::new();
        if self.is_real() && self.gpu_memory.is_some() {
            lines.push((0, self.allocator_line()));
        }
        lines.extend(self.named().map(|row| (0, self.judgement_of(row))));
        let end = lines.len();
        lines.extend(
            self.remedies
                .iter()
                .map(|remedy| (2, format!("with {}", remedy.sentence()))),
        );
        // The last line is the template to use, if there is one.
        let at = if self.recommended.is_some() {
            lines.len()
        } else {
            end
        };
        lines.insert(at, (0, self.recommendation()));
        let width = view.width.unwrap_or(usize::MAX);
        lines
            .into_iter()
            .map(|(indent, line)| wrapped(&line, indent, width))
            .collect()
    }

    fn recommendation(&self) -> String {
        let tight = self
            .rows
            .iter()
            .filter(|row| row.verdict == Verdict::Tight)
            .map(TemplateRow::title);
        let (tight, is_open) = (tight.collect::<Vec<_>>().join(", "), self.named.is_none());
        let line = match (&self.recommended, &self.gpu_memory) {
            (Some(chosen), _) => {
                let most = format!(" (micro batch up to {})", chosen.largest_micro_batch);
                let most = if self.is_real() { most } else { String::new() };
                return format!("use {}: {}{most}", chosen.template, chosen.why);
            }
            (None, None) => "the memory of the GPUs is unknown: --gpu-memory 80GiB",
            _ if self.workload.settings.algorithm.uncounted => {
                "no verdict: this training is not fully counted"
            }
            _ if self.may_fit_with_offload() => {
                "no template fits on the GPUs alone, and the host memory is unknown: --host-memory 1TiB"
            }
            _ if is_open && self.rows[0].verdict == Verdict::Fits => {
                "no template fits; `no DeepSpeed` does"
            }
            _ if is_open && !tight.is_empty() => {
                return format!("nothing fits with a margin; tight: {tight}");
            }
            _ if self.remedies.is_empty() => {
                "nothing fits; LoRA, shorter sequences or more of these GPUs would not be enough"
            }
            _ if self.named.is_some() => "no other template fits either",
            _ => "nothing fits",
        };
        line.to_string()
    }

    /// A line about the named config: `zero0 does not fit: each GPU is 12.3 GiB short`.
    fn judgement_of(&self, row: &TemplateRow) -> String {
        let words = match row.verdict {
            Verdict::Fits if !self.is_real() => "fits".to_string(),
            Verdict::Fits => format!(
                "fits (micro batch up to {})",
                self.named.unwrap_or_default().1
            ),
            Verdict::Tight => "is tight: nothing is left for gaps between allocations".to_string(),
            Verdict::Not => {
                let shortages = row.short.iter().map(|kind| {
                    let (need, there) = match kind {
                        MemoryKind::Gpu => (
                            row.need.gpu(),
                            self.gpu_memory.as_ref().map(|memory| memory.value),
                        ),
                        MemoryKind::Host => (
                            row.need.host,
                            self.host_memory.as_ref().map(|memory| memory.value),
                        ),
                        MemoryKind::Disk => (row.need.disk, self.free_disk),
                    };
                    format!(
                        "{} is {} short",
                        kind.words().1,
                        self.size(need.saturating_sub(there.unwrap_or(0)))
                    )
                });
                format!("does not fit: {}", shortages.collect::<Vec<_>>().join(", "))
            }
            Verdict::Unknown if self.workload.settings.algorithm.uncounted => {
                "may fit: not all of this run is counted".to_string()
            }
            Verdict::Unknown if row.unknown.is_empty() => {
                "may fit: its optimizer was not measured".to_string()
            }
            Verdict::Unknown => {
                let of: Vec<&str> = row.unknown.iter().map(|kind| kind.words().1).collect();
                format!("may fit: the memory of {} is unknown", of.join(" and "))
            }
        };
        format!("{} {words}", row.title())
    }

    /// The percentage that `fits` leaves for gaps, and the allocator that it follows from.
    fn allocator_line(&self) -> String {
        let gaps = |row: &TemplateRow| row.allocator.segments.gaps(row.need.fragments);
        let (usual, other): (Vec<&TemplateRow>, Vec<&TemplateRow>) = self
            .rows
            .iter()
            .partition(|row| row.allocator == self.allocator);
        let percents = || usual.iter().map(|row| gaps(row));
        let percent = match (percents().min(), percents().max()) {
            (Some(least), Some(most)) if least < most => format!("{least} to {most}"),
            (least, _) => least.unwrap_or_default().to_string(),
        };
        let only = self
            .rows
            .iter()
            .filter(|row| row.verdict == Verdict::Fits && row.plain != Verdict::Fits);
        let only: Vec<&str> = only.map(TemplateRow::title).collect();
        let with = match (&self.allocator.said, self.allocator.is_ours()) {
            (Some(said), _) => format!(", with {said}"),
            (None, true) if only.is_empty() => String::new(),
            (None, true) => format!(
                "; only with expandable segments, which zlaunch sets: {}",
                only.join(", ")
            ),
            (None, false) => ", without expandable segments".to_string(),
        };
        let own = other.first().map_or(String::new(), |row| {
            let said = row.allocator.said.as_deref().unwrap_or_default();
            format!("; {} % for {}, which sets {said}", gaps(row), row.name)
        });
        format!(
            "this is an estimate; `fits` leaves {percent} % for gaps between allocations{with}{own}"
        )
    }

    /// Of a model whose shape is known.
    pub(crate) fn verdict_line(&self) -> Option<String> {
        let row = self.model.as_ref().and(self.named())?;
        let need = Size(row.need.gpu());
        Some(match &self.gpu_memory {
            Some(memory) => {
                format!(
                    "{} needs about {need} of {} on each GPU: {}",
                    row.title(),
                    Size(memory.value),
                    row.words()
                )
            }
            None => format!("{} needs about {need} on each GPU", row.title()),
        })
    }

    /// The reason for a launch to use this template.
    pub(super) fn sentence(&self, chosen: &Recommendation) -> String {
        let row = self.rows.iter().find(|row| row.name == chosen.template);
        let need = Size(row.map_or(0, |row| row.need.gpu()));
        let memory = Size(self.gpu_memory.as_ref().map_or(0, |memory| memory.value));
        let gpus = match self.cluster.world_size() {
            1 => "the GPU".to_string(),
            gpus => format!("each of {gpus} GPUs"),
        };
        let params = billions(self.weights.params);
        format!(
            "{} needs about {need} of {memory} on {gpus} for {params} parameters: {}",
            chosen.template, chosen.why
        )
    }

    pub fn json(&self) -> Value {
        let settings = &self.workload.settings;
        let tuner = match settings.tuner {
            Tuner::Full => "full",
            Tuner::Lora => "lora",
            Tuner::Quantised(_) => "qlora",
        };
        let would_fit = self.remedies.iter().map(
            |Remedy {
                 change,
                 template,
                 need,
             }| {
                json!({
                    "change": change, "template": template,
                    "gpu_bytes": need.gpu(), "host_bytes": need.host, "disk_bytes": need.disk,
                })
            },
        );
        let chosen = self.recommended.as_ref();
        json!({
            "version": 1,
            "model": self.model, "params": self.weights.params, "params_from": self.weights.from,
            "trainable": self.workload.trainable,
            "accounting": self.accounting,
            "training": {
                "tuner": tuner, "dtype": settings.dtype.name(), "optimizer": settings.optimizer.name,
                "micro_batch": settings.micro_batch, "seq_len": settings.seq_len,
                "gradient_accumulation_steps": settings.grad_accum,
                "gradient_checkpointing": settings.checkpointing,
                "eval_batch": settings.evaluation.map(|evaluation| evaluation.batch),
            },
            "nodes": self.cluster.nodes, "gpus_per_node": self.cluster.gpus, "gpu": self.card,
            "gpu_memory": self.gpu_memory.as_ref().map(|memory| memory.value),
            "host_memory": self.host_memory.as_ref().map(|memory| memory.value),
            "rows": self.rows.iter().map(|row| self.row_json(row)).collect::<Vec<_>>(),
            "judged": self.named().map(|row| &row.name),
            "recommended": chosen.map(|chosen| &chosen.template),
            "why": chosen.map(|chosen| &chosen.why),
            "largest_micro_batch": chosen.map(|chosen| chosen.largest_micro_batch),
            "would_fit": would_fit.collect::<Vec<_>>(),
            "assumed": self.assumed,
        })
    }

    fn row_json(&self, row: &TemplateRow) -> Value {
        let TemplateRow {
            name,
            need,
            verdict,
            short,
            unknown,
            plain,
            allocator,
            ..
        } = row;
        let fits = match verdict {
            Verdict::Fits => Some(true),
            Verdict::Unknown => None,
            Verdict::Tight | Verdict::Not => Some(false),
        };
        let real = (need.allocated(), with_margin(need, allocator.segments));
        let (allocated, enough) = if self.is_real() {
            real
        } else {
            (need.gpu(), need.gpu())
        };
        json!({
            "template": name,
            "gpu_bytes": need.gpu(), "allocated_bytes": allocated, "parts": need.usage, "fullest_at": need.peak.name(), "step_bytes": need.step,
            "host_bytes": need.host, "disk_bytes": need.disk,
            "fits": fits, "verdict": verdict.shown().0, "short": short, "unknown": unknown,
            "verdict_without_expandable_segments": plain.shown().0, "fits_from_bytes": enough,
        })
    }
}

/// `8.19 B`, `40.4 M`.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn billions(number: u64) -> String {
    let (number, unit) = match number as f64 {
        n if n >= 1e9 => (n / 1e9, "B"),
        n if n >= 1e6 => (n / 1e6, "M"),
        n => return format!("{n:.0}"),
    };
    let places = if number >= 100.0 {
        0
    } else {
        1 + usize::from(number < 10.0)
    };
    let text = format!("{number:.places$}");
    let text = if places > 0 {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text} {unit}")
}
