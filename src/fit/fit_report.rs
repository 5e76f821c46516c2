//! The answer of `zlaunch fit`: as a text for people, as JSON, and as a sentence for a launch. `picture.rs` draws it.

use serde_json::{Value, json};

use super::candidates::{Candidates, NONE};
use super::choice::{Recommendation, Scenario, TemplateRow, Verdict, with_margin};
use super::inputs::FitInputs;
use super::need::{Accounting, Cluster, Memories, Phase};
use super::remedies::{self, Remedy};
use super::settings::{Attention, TrainingSettings, Tuner};
use super::strategy::MemoryKind;
use super::tables::parts::{COLUMNS, Column};
use crate::base::layout::{Line, TextTable, columns, wrapped};
use crate::base::size::Size;
use crate::base::source::{Source, Sourced};
use crate::host::Host;
use crate::report::Problem;

pub struct FitReport<'a> {
    pub(super) inputs: FitInputs<'a>,
    /// The GPUs and the host memory, in words.
    pub(super) machine: String,
    pub(super) memories: Memories,
    pub(super) rows: Vec<TemplateRow>,
    pub(super) judged: Option<Judged>,
    pub(super) recommended: Option<Recommendation>,
    /// Changes that would make the judged config fit, or some template.
    pub(super) remedies: Vec<Remedy>,
}

/// The config that the user named.
pub(super) struct Judged {
    pub(super) row: usize,
    pub(super) largest_micro_batch: u64,
}

#[derive(Clone, Copy)]
pub struct View {
    pub width: Option<usize>,
    pub colour: bool,
}

impl MemoryKind {
    /// In a table.
    fn name(self) -> &'static str {
        match self {
            MemoryKind::Gpu => "GPU",
            MemoryKind::Host => "host",
            MemoryKind::Disk => "disk",
        }
    }

    /// In a sentence.
    fn subject(self) -> &'static str {
        match self {
            MemoryKind::Gpu => "each GPU",
            MemoryKind::Host => "the host",
            MemoryKind::Disk => "the disk",
        }
    }
}

fn joined<T: Copy>(items: &[T], name: fn(T) -> &'static str, separator: &str) -> String {
    let names: Vec<&str> = items.iter().map(|item| name(*item)).collect();
    names.join(separator)
}

impl TemplateRow {
    pub(super) fn title(&self) -> &str {
        match self.candidate.name.as_str() {
            NONE => "no DeepSpeed",
            name => name,
        }
    }

    /// `fits`, `no: GPU, host`, `? host`.
    pub(super) fn words(&self) -> String {
        let word = self.verdict.look().word;
        match self.verdict {
            Verdict::Not => format!("{word}: {}", joined(&self.short, MemoryKind::name, ", ")),
            Verdict::Unknown => {
                format!("{word} {}", joined(&self.unknown, MemoryKind::name, ", "))
            }
            Verdict::Fits | Verdict::Tight => word.to_string(),
        }
    }
}

impl Accounting {
    fn unit(self) -> &'static str {
        match self {
            Accounting::Real => "GiB",
            Accounting::Textbook => "GB",
        }
    }

    /// A size in this unit. The textbook accounting uses decimal ones.
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    fn number(self, bytes: u64) -> String {
        let bytes = bytes as f64;
        match self {
            Accounting::Real => format!("{:.1}", bytes / f64::from(1 << 30)),
            Accounting::Textbook => format!("{:.0}", bytes / 1e9),
        }
    }

    pub(super) fn size(self, bytes: u64) -> String {
        match self {
            Accounting::Real => Size(bytes).to_string(),
            Accounting::Textbook => format!("{} {}", self.number(bytes), self.unit()),
        }
    }
}

impl<'a> FitInputs<'a> {
    pub(super) fn report(&self, host: &Host) -> Result<FitReport<'a>, Vec<Problem>> {
        let gpu_memory = self.gpu_memory(host);
        let host_memory = self.host_memory();
        let candidates = Candidates::read(
            self.config.as_ref(),
            self.launch,
            self.weights.shape.hidden,
            &self.allocator,
            host,
        )?;
        let memories = Memories {
            gpu: gpu_memory.as_ref().map(|memory| memory.value),
            host: host_memory.as_ref().map(|memory| memory.value),
            disk: candidates.free_disk.filter(|_| !self.is_elsewhere),
        };
        let scenario = self.scenario(self.settings(), memories, &candidates.all);
        let rows = scenario.rows();
        let recommended = scenario.recommend();
        let judged = candidates.named.map(|row| Judged {
            row,
            largest_micro_batch: scenario.largest_micro_batch(&candidates.all[row]),
        });
        let row = judged.as_ref().map(|judged| &rows[judged.row]);
        let fits = row.map_or(recommended.is_some(), |row| row.verdict != Verdict::Not);
        let remedies = match row {
            _ if fits || memories.gpu.is_none() => Vec::new(),
            _ if self.accounting == Accounting::Textbook => Vec::new(),
            Some(row) => {
                let alone = Scenario {
                    order: &[&row.candidate.name],
                    ..scenario
                };
                remedies::remedies(&alone, &scenario)
            }
            None => remedies::remedies(&scenario, &scenario),
        };
        Ok(FitReport {
            machine: self.machine(gpu_memory.as_ref(), host_memory.as_ref()),
            inputs: self.clone(),
            memories,
            rows,
            judged,
            recommended,
            remedies,
        })
    }

    /// `2 machines, each 8 H100 of 79.6 GiB and 1.0 TiB of host memory`.
    fn machine(
        &self,
        gpu_memory: Option<&Sourced<u64>>,
        host_memory: Option<&Sourced<u64>>,
    ) -> String {
        let size = |memory: &Sourced<u64>| {
            let size = self.accounting.size(memory.value);
            match &memory.from {
                Source::Flag(_) | Source::Variable(_) => size,
                from => format!("{size} ({from})"),
            }
        };
        let Cluster { nodes, gpus } = self.cluster;
        let kind = match (self.card, gpus) {
            (Some(card), _) => card,
            (None, 1) => "GPU",
            (None, _) => "GPUs",
        };
        let gpu = gpu_memory.map_or("unknown size".to_string(), size);
        let mut line = format!("{gpus} {kind} of {gpu}");
        if nodes > 1 {
            line = format!("{nodes} machines, each {line}");
        }
        if let Some(memory) = host_memory {
            line += &format!(" and {} of host memory", size(memory));
        }
        line
    }
}

impl FitReport<'_> {
    fn judged_row(&self) -> Option<&TemplateRow> {
        Some(&self.rows[self.judged.as_ref()?.row])
    }

    fn settings(&self) -> &TrainingSettings {
        self.inputs.settings()
    }

    fn assumed(&self) -> Vec<&str> {
        let assumed = self.inputs.assumed.iter().filter(|_| self.is_real());
        assumed.map(|assumption| assumption.text.as_str()).collect()
    }

    pub(super) fn is_uncounted(&self) -> bool {
        self.settings().algorithm.uncounted
    }

    fn is_real(&self) -> bool {
        self.inputs.accounting == Accounting::Real
    }

    pub(super) fn size(&self, bytes: u64) -> String {
        self.inputs.accounting.size(bytes)
    }

    /// The judged config does not fit; or none was named, and no row of the table fits.
    pub(crate) fn does_not_fit(&self) -> bool {
        let fits = |row: &TemplateRow| matches!(row.verdict, Verdict::Fits | Verdict::Tight);
        match self.judged_row() {
            Some(row) => row.verdict == Verdict::Not,
            None if self.memories.gpu.is_none() || self.may_fit_with_offload() => false,
            None => !self.rows.iter().any(fits),
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
        // As wide as "assumed", even if that is missing.
        let mut rows = vec![("model  ", self.model_line())];
        rows.push(match self.inputs.accounting {
            Accounting::Real => ("trains ", self.training_line()),
            Accounting::Textbook => ("bytes  ", textbook.to_string()),
        });
        rows.push(("on     ", self.machine.clone()));
        if !self.assumed().is_empty() {
            rows.push(("assumed", self.assumed().join("; ")));
        }
        TextTable::of_pairs(0, rows).fitted(view.width)
    }

    pub(super) fn model_line(&self) -> String {
        let weights = &self.inputs.weights;
        let size = format!("{} parameters ({})", billions(weights.params), weights.from);
        match &self.inputs.model {
            Some(name) => format!("{name}: {size}"),
            None => size,
        }
    }

    pub(super) fn training_line(&self) -> String {
        let settings = self.settings();
        let rank = settings.lora_rank;
        let trainable = billions(self.inputs.workload.trainable);
        let tuner = match settings.tuner {
            Tuner::Full => "all parameters".to_string(),
            Tuner::Lora => format!("LoRA of rank {rank}, {trainable}"),
            Tuner::Quantised(bits) => format!("LoRA of rank {rank} on {bits} bits, {trainable}"),
        };
        let mut line = format!(
            "{tuner}, {}, {}, {} × {} tokens",
            settings.dtype.name(),
            settings.optimizer.name,
            settings.micro_batch,
            settings.seq_len
        );
        line += if settings.checkpointing {
            ", gradient checkpointing"
        } else {
            ", no gradient checkpointing"
        };
        if settings.attention == Some(Attention::Eager) {
            line += ", eager attention";
        }
        if settings.fused_loss {
            line += ", fused loss";
        }
        line
    }

    /// The parts in columns, or only their sum if the terminal is too narrow.
    fn table(&self, view: View) -> String {
        let width = view.width.unwrap_or(usize::MAX);
        let usages = || self.rows.iter().map(|row| row.need.usage);
        let is_used = |column: &&Column| usages().any(|usage| usage.of(column.part) > 0);
        let used: Vec<&Column> = COLUMNS.iter().filter(is_used).collect();
        let mut text = self.table_of(&used).to_string();
        let mut note = "each row is the peak of the whole run".to_string();
        if text.lines().any(|line| columns(line) > width) {
            text = self.table_of(&[]).to_string();
            note += "; a wider terminal also shows ";
            note += &joined(&used, |column| column.title, ", ");
        }
        let (head, lines) = text.split_once('\n').unwrap_or_default();
        let mut painted = format!("{head}\n");
        for (line, row) in lines.lines().zip(&self.rows) {
            let words = row.words();
            painted += &match line.strip_suffix(&words) {
                Some(rest) => rest.to_string() + &view.painted(&words, row.verdict.look().style),
                None => line.to_string(),
            };
            painted += "\n";
        }
        painted += &wrapped(&note, 0, width);
        if let Some(line) = self.between_steps() {
            painted += &wrapped(&line, 0, width);
        }
        painted
    }

    fn table_of(&self, parts: &[&Column]) -> TextTable {
        let accounting = self.inputs.accounting;
        let has_phases = self.rows.iter().any(|row| row.need.peak.is_between_steps());
        let mut head = vec![accounting.unit()];
        head.extend(parts.iter().map(|column| column.title));
        head.extend(["each GPU", "host"]);
        head.extend(has_phases.then_some("at"));
        let mut lines = vec![Line::Row(head.into_iter().map(str::to_string).collect())];
        let cell = |bytes: u64| match bytes {
            0 => "-".to_string(),
            _ => accounting.number(bytes),
        };
        for row in &self.rows {
            let need = &row.need;
            let mut cells = vec![row.title().to_string()];
            cells.extend(parts.iter().map(|column| cell(need.usage.of(column.part))));
            cells.push(accounting.number(need.gpu()));
            cells.push(cell(need.host));
            if has_phases {
                let is_between = need.peak.is_between_steps();
                let at = if is_between { need.peak.name() } else { "step" };
                cells.push(at.to_string());
            }
            if self.memories.gpu.is_some() {
                cells.push(row.words());
            }
            lines.push(Line::Row(cells));
        }
        TextTable {
            numbers: 1..parts.len() + 3,
            lines,
            ..TextTable::new(0)
        }
    }

    /// `evaluation: 11.7 GiB with zero3, batch 2, and a step 9.4 GiB: --per_device_eval_batch_size 1`, for the judged row or the first template.
    fn between_steps(&self) -> Option<String> {
        let mut rows = self.judged_row().into_iter().chain(&self.rows[1..]);
        let row = rows.find(|row| row.need.peak.is_between_steps())?;
        let need = &row.need;
        let settings = self.settings();
        // So many are computed at once, of so many sequences each.
        let (count, each, spelling) = match (need.peak, settings.rollout) {
            (Phase::Generation, Some(rollout)) if settings.algorithm.groups => (
                rollout.micro_batches,
                settings.micro_batch,
                "--steps_per_generation ",
            ),
            (Phase::Generation, Some(rollout)) => (
                rollout.micro_batches,
                settings.micro_batch,
                "--gradient_accumulation_steps ",
            ),
            _ => {
                let evaluation = settings.evaluation?;
                (evaluation.batch, 1, evaluation.spelling)
            }
        };
        let of_batch = need.usage.activations + need.usage.logits;
        // The batch with which it needs no more than a step.
        let room = need.step.saturating_sub(need.gpu() - of_batch);
        let mut smaller = (count.saturating_mul(room) / of_batch.max(1)).max(1);
        if each > 1 {
            // The answers to one prompt, a power of two, stay together.
            smaller = 1 << smaller.ilog2();
        }
        let mut line = format!(
            "{}: {} with {}, batch {}, and a step {}",
            need.peak.name(),
            self.size(need.gpu()),
            row.title(),
            count * each,
            self.size(need.step)
        );
        if smaller < count {
            line += &format!(": {spelling}{smaller}");
        }
        Some(line)
    }

    fn conclusion(&self, view: View) -> String {
        let mut text = String::new();
        let mut add = |indent, line: &str| {
            text += &wrapped(line, indent, view.width.unwrap_or(usize::MAX));
        };
        if self.is_real() && self.memories.gpu.is_some() {
            add(0, &self.allocator_line());
        }
        if let Some(row) = self.judged_row() {
            add(0, &self.judgement_of(row));
        }
        // The last line is the template to use, if there is one.
        if self.recommended.is_none() {
            add(0, &self.recommendation());
        }
        for remedy in &self.remedies {
            add(2, &format!("with {}", remedy.sentence()));
        }
        if self.recommended.is_some() {
            add(0, &self.recommendation());
        }
        text
    }

    fn recommendation(&self) -> String {
        if let Some(chosen) = &self.recommended {
            let use_it = format!("use {}: {}", chosen.template, chosen.why);
            return match self.inputs.accounting {
                Accounting::Real => {
                    let most = chosen.largest_micro_batch;
                    format!("{use_it} (micro batch up to {most})")
                }
                Accounting::Textbook => use_it,
            };
        }
        let is_open = self.judged.is_none();
        let tight = self.rows_with(|row| row.verdict == Verdict::Tight);
        let line = if self.memories.gpu.is_none() {
            "the memory of the GPUs is unknown: --gpu-memory 80GiB"
        } else if self.is_uncounted() {
            "no verdict: this training is not fully counted"
        } else if self.may_fit_with_offload() {
            "no template fits on the GPUs alone, and the host memory is unknown: --host-memory 1TiB"
        } else if is_open && self.rows[0].verdict == Verdict::Fits {
            "no template fits; `no DeepSpeed` does"
        } else if is_open && !tight.is_empty() {
            return format!("nothing fits with a margin; tight: {tight}");
        } else if self.remedies.is_empty() {
            "nothing fits; LoRA, shorter sequences or more of these GPUs would not be enough"
        } else if is_open {
            "nothing fits"
        } else {
            "no other template fits either"
        };
        line.to_string()
    }

    /// The titles of some rows.
    fn rows_with(&self, is_meant: impl Fn(&TemplateRow) -> bool) -> String {
        let rows = self.rows.iter().filter(|row| is_meant(row));
        let titles: Vec<&str> = rows.map(TemplateRow::title).collect();
        titles.join(", ")
    }

    /// A line about the judged config: `zero0 does not fit: each GPU is 12.3 GiB short`.
    fn judgement_of(&self, row: &TemplateRow) -> String {
        let words = match (row.verdict, &self.judged) {
            (Verdict::Fits, Some(judged)) if self.is_real() => {
                format!("fits (micro batch up to {})", judged.largest_micro_batch)
            }
            (Verdict::Fits, _) => "fits".to_string(),
            (Verdict::Tight, _) => {
                "is tight: nothing is left for gaps between allocations".to_string()
            }
            (Verdict::Not, _) => {
                let shortages = row.short.iter().map(|kind| {
                    let there = self.memories.of(*kind).unwrap_or(0);
                    let lacking = self.size(row.need.of(*kind).saturating_sub(there));
                    format!("{} is {lacking} short", kind.subject())
                });
                format!("does not fit: {}", shortages.collect::<Vec<_>>().join(", "))
            }
            (Verdict::Unknown, _) if self.is_uncounted() => {
                "may fit: not all of this run is counted".to_string()
            }
            (Verdict::Unknown, _) if row.unknown.is_empty() => {
                "may fit: its optimizer was not measured".to_string()
            }
            (Verdict::Unknown, _) => {
                let of = joined(&row.unknown, MemoryKind::subject, " and ");
                format!("may fit: the memory of {of} is unknown")
            }
        };
        format!("{} {words}", row.title())
    }

    /// The percentage that `fits` leaves for gaps, and the allocator that it follows from.
    fn allocator_line(&self) -> String {
        let allocator = &self.inputs.allocator;
        let gaps = |row: &TemplateRow| row.candidate.allocator.segments.gaps(&row.need);
        let is_usual = |row: &&TemplateRow| row.candidate.allocator == *allocator;
        let percents = || self.rows.iter().filter(is_usual).map(gaps);
        let least = percents().min().unwrap_or_default();
        let most = percents().max().unwrap_or_default();
        let mut line = "this is an estimate; `fits` leaves ".to_string();
        line += &if least < most {
            format!("{least} to {most} % for gaps between allocations")
        } else {
            format!("{least} % for gaps between allocations")
        };
        let only = self.rows_with(|row| row.verdict == Verdict::Fits && row.plain != Verdict::Fits);
        if let Some(said) = &allocator.said {
            line += &format!(", with {said}");
        } else if !allocator.is_ours() {
            line += ", without expandable segments";
        } else if !only.is_empty() {
            line += &format!("; only with expandable segments, which zlaunch sets: {only}");
        }
        if let Some(row) = self.rows.iter().find(|row| !is_usual(row)) {
            let said = row.candidate.allocator.said.as_deref().unwrap_or_default();
            let name = &row.candidate.name;
            line += &format!("; {} % for {name}, which sets {said}", gaps(row));
        }
        line
    }

    /// Of a model whose shape is known.
    pub(crate) fn verdict_line(&self) -> Option<String> {
        let row = self.inputs.model.as_ref().and(self.judged_row())?;
        let needs = format!("{} needs about {}", row.title(), Size(row.need.gpu()));
        Some(match self.memories.gpu {
            Some(memory) => format!("{needs} of {} on each GPU: {}", Size(memory), row.words()),
            None => format!("{needs} on each GPU"),
        })
    }

    /// The reason for a launch to use this template.
    pub(super) fn sentence(&self, chosen: &Recommendation) -> String {
        let gpus = match self.inputs.cluster.world_size() {
            1 => "the GPU".to_string(),
            gpus => format!("each of {gpus} GPUs"),
        };
        format!(
            "{} needs about {} of {} on {gpus} for {} parameters: {}",
            chosen.template,
            Size(chosen.need.gpu()),
            Size(self.memories.gpu.unwrap_or(0)),
            billions(self.inputs.weights.params),
            chosen.why
        )
    }

    pub fn json(&self) -> Value {
        let FitInputs {
            model,
            weights,
            workload,
            cluster,
            card,
            accounting,
            ..
        } = &self.inputs;
        let settings = self.settings();
        let tuner = match settings.tuner {
            Tuner::Full => "full",
            Tuner::Lora => "lora",
            Tuner::Quantised(_) => "qlora",
        };
        let chosen = self.recommended.as_ref();
        let rows: Vec<Value> = self.rows.iter().map(|row| self.row_json(row)).collect();
        let would_fit = self.remedies.iter().map(|remedy| {
            json!({
                "change": remedy.change, "template": remedy.template, "gpu_bytes": remedy.need.gpu(),
                "host_bytes": remedy.need.host, "disk_bytes": remedy.need.disk,
            })
        });
        json!({
            "version": 1,
            "model": model, "params": weights.params, "params_from": weights.from,
            "trainable": workload.trainable,
            "accounting": accounting,
            "training": {
                "tuner": tuner, "dtype": settings.dtype.name(), "optimizer": settings.optimizer.name,
                "micro_batch": settings.micro_batch, "seq_len": settings.seq_len,
                "gradient_accumulation_steps": settings.grad_accum,
                "gradient_checkpointing": settings.checkpointing,
                "eval_batch": settings.evaluation.map(|evaluation| evaluation.batch),
            },
            "nodes": cluster.nodes, "gpus_per_node": cluster.gpus, "gpu": card,
            "gpu_memory": self.memories.gpu,
            "host_memory": self.memories.host,
            "rows": rows,
            "judged": self.judged_row().map(|row| &row.candidate.name),
            "recommended": chosen.map(|chosen| &chosen.template),
            "why": chosen.map(|chosen| &chosen.why),
            "largest_micro_batch": chosen.map(|chosen| chosen.largest_micro_batch),
            "would_fit": would_fit.collect::<Vec<_>>(),
            "assumed": self.assumed(),
        })
    }

    fn row_json(&self, row: &TemplateRow) -> Value {
        let need = &row.need;
        let fits = match row.verdict {
            Verdict::Fits => Some(true),
            Verdict::Unknown => None,
            Verdict::Tight | Verdict::Not => Some(false),
        };
        let (allocated, enough) = match self.inputs.accounting {
            Accounting::Real => {
                let segments = row.candidate.allocator.segments;
                (need.allocated(), with_margin(need, segments))
            }
            Accounting::Textbook => (need.gpu(), need.gpu()),
        };
        json!({
            "template": row.candidate.name,
            "gpu_bytes": need.gpu(), "allocated_bytes": allocated, "parts": need.usage,
            "fullest_at": need.peak.name(), "step_bytes": need.step,
            "host_bytes": need.host, "disk_bytes": need.disk,
            "fits": fits, "verdict": row.verdict.look().word, "short": row.short, "unknown": row.unknown,
            "verdict_without_expandable_segments": row.plain.look().word, "fits_from_bytes": enough,
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
    let text = match number {
        n if n >= 100.0 => return format!("{n:.0} {unit}"),
        n if n >= 10.0 => format!("{n:.1}"),
        n => format!("{n:.2}"),
    };
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} {unit}")
}
