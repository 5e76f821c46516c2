//! The report as a table for people, and as a sentence for a launch.

use super::choice::{Judgement, MemoryKind, Recommendation, TemplateRow, Verdict};
use super::need::{Cluster, GpuUsage};
use super::{Accounting, Attention, FitReport, Tuner, View};
use crate::base::layout::{Line, TextTable, columns, visible, wrapped};
use crate::base::size::Size;
use crate::base::source::{Source, Sourced};

impl Verdict {
    pub(super) fn word(self) -> &'static str {
        match self {
            Verdict::Fits => "fits",
            Verdict::Tight => "tight",
            Verdict::Not => "no",
            Verdict::Unknown => "?",
        }
    }
}

impl MemoryKind {
    /// In a table, and in a sentence.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            MemoryKind::Gpu => ("GPU", "each GPU"),
            MemoryKind::Host => ("host", "the host"),
            MemoryKind::Disk => ("disk", "the disk"),
        }
    }
}

impl Judgement {
    /// `no: GPU, host`, `? host`.
    pub(super) fn words(&self) -> String {
        let word = self.verdict.word();
        let join = |kinds: &[MemoryKind]| kinds.iter().map(|kind| kind.words().0).collect::<Vec<_>>().join(", ");
        match self.verdict {
            Verdict::Not => format!("{word}: {}", join(&self.short)),
            Verdict::Unknown => format!("{word} {}", join(&self.unknown)),
            Verdict::Fits | Verdict::Tight => word.to_string(),
        }
    }
}

impl FitReport {
    /// What is in it came from files and arguments, and is made harmless here, since colours come on top.
    pub fn text(&self, view: View) -> String {
        format!("{}\n{}\n{}\n{}", self.head(view), self.table(view), self.bars(view), self.conclusion(view))
    }

    fn head(&self, view: View) -> TextTable {
        let mut rows = vec![("model", self.model_line())];
        if self.accounting == Accounting::Textbook {
            rows.push(("bytes", "2 per weight, 2 per gradient, 8 for Adam, nothing else (textbook)".to_string()));
        } else {
            rows.push(("trains", self.training_line()));
        }
        rows.push(("on", self.machine_line()));
        if !self.assumed.is_empty() {
            rows.push(("assumed", self.assumed.join("; ")));
        }
        let line = |(name, value): (&str, String)| {
            // As wide as "assumed", even if that is missing.
            let cells = vec![format!("{name:<7}"), value];
            view.width.map_or(Line::Row(cells.clone()), |width| Line::Wrapped(cells, width))
        };
        TextTable { lines: rows.into_iter().map(line).collect(), ..TextTable::new(0) }
    }

    pub(super) fn model_line(&self) -> String {
        let name = self.model.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        format!("{name}{} parameters ({})", billions(self.weights.params), self.weights.from)
    }

    pub(super) fn training_line(&self) -> String {
        let settings = &self.settings;
        let tuner = match settings.tuner {
            Tuner::Full => "all parameters".to_string(),
            Tuner::Lora => format!("LoRA of rank {}, {}", settings.lora_rank, billions(self.workload.trainable)),
            Tuner::Quantised(bits) => {
                let trainable = billions(self.workload.trainable);
                format!("LoRA of rank {} on {bits} bits, {trainable}", settings.lora_rank)
            }
        };
        let mut words = vec![tuner, settings.dtype.name().to_string(), settings.optimizer.name.to_string()];
        words.push(format!("{} × {} tokens", settings.micro_batch, settings.seq_len));
        let checkpointing = if settings.checkpointing { "" } else { "no " };
        words.push(format!("{checkpointing}gradient checkpointing"));
        words.extend((settings.attention == Some(Attention::Eager)).then(|| "eager attention".to_string()));
        words.extend(self.workload.fused_loss.then(|| "fused loss".to_string()));
        words.join(", ")
    }

    pub(super) fn machine_line(&self) -> String {
        let size = |memory: &Sourced<u64>| match &memory.from {
            Source::Flag(_) | Source::Variable(_) => self.size(memory.value),
            from => format!("{} ({from})", self.size(memory.value)),
        };
        let Cluster { nodes, gpus } = self.cluster;
        let each = if nodes > 1 { format!("{nodes} machines, each ") } else { String::new() };
        let plural = self.card.unwrap_or(if gpus == 1 { "GPU" } else { "GPUs" });
        let gpu = self.gpu_memory.as_ref().map_or("unknown size".to_string(), size);
        let host = self.host_memory.as_ref().map(|memory| format!(" and {} of host memory", size(memory)));
        format!("{each}{gpus} {plural} of {gpu}{}", host.unwrap_or_default())
    }

    /// The textbook accounting uses decimal units.
    pub(super) fn size(&self, bytes: u64) -> String {
        if self.accounting == Accounting::Textbook {
            format!("{} GB", self.number(bytes))
        } else {
            Size(bytes).to_string()
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    fn number(&self, bytes: u64) -> String {
        match self.accounting {
            Accounting::Real => format!("{:.1}", bytes as f64 / f64::from(1 << 30)),
            Accounting::Textbook => format!("{:.0}", bytes as f64 / 1e9),
        }
    }

    /// The parts in columns, or only their sum where the terminal is too narrow.
    fn table(&self, view: View) -> String {
        let whole = self.table_of(true).to_string();
        let is_too_wide = |width| whole.lines().any(|line| columns(line) > width);
        let text = if view.width.is_some_and(is_too_wide) { self.table_of(false).to_string() } else { whole };
        let mut lines = text.lines();
        let head = lines.next().unwrap_or_default();
        let painted = lines.zip(&self.rows).map(|(line, row)| {
            let words = row.judgement.words();
            let verdict = view.painted(&words, row.verdict().style());
            line.strip_suffix(&words).map_or_else(|| line.to_string(), |line| format!("{line}{verdict}")) + "\n"
        });
        let moment = "a row is the fullest moment of a step";
        format!("{head}\n{}{}", painted.collect::<String>(), wrapped(moment, 0, view.width.unwrap_or(usize::MAX)))
    }

    fn table_of(&self, with_parts: bool) -> TextTable {
        let unit = if self.accounting == Accounting::Real { "GiB" } else { "GB" };
        let titles = GpuUsage::default().columns().map(|(title, _)| title);
        let is_empty = |part: &usize| self.rows.iter().all(|row| row.need.usage.columns()[*part].1 == 0);
        let parts: Vec<usize> = (0..titles.len()).filter(|part| with_parts && !is_empty(part)).collect();
        let head = [unit].into_iter().chain(parts.iter().map(|part| titles[*part])).chain(["each GPU", "host"]);
        let mut lines = vec![Line::Row(head.map(str::to_string).collect())];
        let cell = |bytes: u64| if bytes == 0 { "-".to_string() } else { self.number(bytes) };
        for row in &self.rows {
            let mut cells = vec![row.name.clone()];
            cells.extend(parts.iter().map(|part| cell(row.need.usage.columns()[*part].1)));
            cells.extend([self.number(row.need.gpu()), cell(row.need.host)]);
            cells.extend(self.gpu_memory.as_ref().map(|_| row.judgement.words()));
            lines.push(Line::Row(cells));
        }
        TextTable { numbers: 1..parts.len() + 3, lines, ..TextTable::new(0) }
    }

    fn conclusion(&self, view: View) -> String {
        let line = |(indent, line): (usize, String)| match view.width {
            Some(width) => wrapped(&line, indent, width),
            None => format!("{:indent$}{}\n", "", visible(&line)),
        };
        self.conclusions().into_iter().map(line).collect()
    }

    /// Lines, and how far each is indented.
    fn conclusions(&self) -> Vec<(usize, String)> {
        let remedies = || self.remedies.iter().map(|remedy| (2, format!("with {}", remedy.sentence())));
        let mut lines = Vec::new();
        let is_real = self.accounting == Accounting::Real;
        if is_real && self.gpu_memory.is_some() {
            lines.push((0, self.allocator_line()));
        }
        // One that says otherwise than the table would only confuse.
        let agrees = |rule: &&&str| {
            self.recommended.as_ref().is_some_and(|chosen| rule.split([' ', ',']).any(|word| word == chosen.template))
        };
        lines.extend(self.rules_of_thumb.iter().filter(agrees).map(|rule| (0, format!("rule of thumb: {rule}"))));
        lines.extend(self.named().map(|row| (0, self.judgement_of(row))));
        let most = self.recommended.as_ref().filter(|_| is_real).map(|chosen| chosen.largest_micro_batch);
        let most = most.map_or_else(String::new, |most| format!(", up to a micro batch of {most}"));
        // The last line is what to use.
        if self.recommended.is_some() {
            lines.extend(remedies());
        }
        lines.push((0, self.recommendation() + &most));
        if self.recommended.is_none() {
            lines.extend(remedies());
        }
        lines
    }

    fn recommendation(&self) -> String {
        let line = match (&self.recommended, &self.gpu_memory) {
            (Some(chosen), _) => return format!("use {}: {}", chosen.template, chosen.why),
            (None, None) => "the memory of the GPUs is not known here: --gpu-memory 80GiB",
            _ if self.if_host_allows().is_some() => {
                "nothing fits on the GPUs alone, and the memory of the host is not known: --host-memory 1TiB"
            }
            _ if self.remedies.is_empty() => {
                "nothing fits; LoRA, shorter sequences or more of these GPUs would not be enough"
            }
            _ if self.named.is_some() => "no other template fits either",
            _ => "nothing fits",
        };
        line.to_string()
    }

    /// What is to be said about the config that was named: `zero0 does not fit: each GPU is 12.3 GiB short`.
    fn judgement_of(&self, row: &TemplateRow) -> String {
        let Judgement { verdict, short, unknown } = &row.judgement;
        let words = match verdict {
            Verdict::Fits if self.accounting == Accounting::Textbook => "fits".to_string(),
            Verdict::Fits => {
                let most = self.named.as_ref().map_or(0, |named| named.largest_micro_batch);
                format!("fits, up to a micro batch of {most}")
            }
            Verdict::Tight => "is tight: nothing is left for gaps between allocations".to_string(),
            Verdict::Not => {
                let short: Vec<String> = short.iter().map(|kind| self.shortage(row, *kind)).collect();
                format!("does not fit: {}", short.join(", "))
            }
            Verdict::Unknown if unknown.is_empty() => "may fit: its optimizer was not measured".to_string(),
            Verdict::Unknown => {
                let of: Vec<&str> = unknown.iter().map(|kind| kind.words().1).collect();
                format!("may fit: the memory of {} is not known", of.join(" and "))
            }
        };
        format!("{} {words}", row.name)
    }

    fn shortage(&self, row: &TemplateRow, kind: MemoryKind) -> String {
        let (need, there) = match kind {
            MemoryKind::Gpu => (row.need.gpu(), self.gpu_memory.as_ref().map(|memory| memory.value)),
            MemoryKind::Host => (row.need.host, self.host_memory.as_ref().map(|memory| memory.value)),
            MemoryKind::Disk => (row.need.disk, self.free_disk),
        };
        format!("{} is {} short", kind.words().1, self.size(need.saturating_sub(there.unwrap_or(0))))
    }

    /// What `fits` leaves for gaps, and what the allocator has to do with it.
    fn allocator_line(&self) -> String {
        let gaps = |row: &TemplateRow| row.allocator.kind.gaps(row.need.fragments);
        let is_usual = |row: &&TemplateRow| row.allocator == self.allocator;
        let percents = || self.rows.iter().filter(is_usual).map(gaps);
        let percent = match (percents().min(), percents().max()) {
            (Some(least), Some(most)) if least < most => format!("{least} to {most}"),
            (least, _) => least.unwrap_or_default().to_string(),
        };
        let only = |row: &&TemplateRow| row.verdict() == Verdict::Fits && row.plain != Verdict::Fits;
        let rows: Vec<&str> = self.rows.iter().filter(only).map(|row| row.name.as_str()).collect();
        let with = match (&self.allocator.said, self.allocator.is_ours()) {
            (Some(said), _) => format!(", as with {said}"),
            (None, true) if rows.is_empty() => String::new(),
            (None, true) => format!("; only with expandable segments, which zlaunch sets: {}", rows.join(", ")),
            (None, false) => ", as without expandable segments".to_string(),
        };
        let own = self.rows.iter().find(|row| !is_usual(row)).map_or(String::new(), |row| {
            let said = row.allocator.said.as_deref().unwrap_or_default();
            format!("; {} % for {}, which sets {said}", gaps(row), row.name)
        });
        format!("this is an estimate; `fits` leaves {percent} % for gaps between allocations{with}{own}")
    }

    /// One line per template, for an error.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |row: &TemplateRow| {
            let (gpu, host) = (Size(row.need.gpu()), Size(row.need.host));
            format!("{} needs {gpu} on each GPU and {host} on the host", row.name)
        };
        self.rows.iter().map(line).collect()
    }

    /// What the named config needs, and whether it fits.
    pub(crate) fn verdict_line(&self) -> Option<String> {
        let row = self.named()?;
        let of = self.gpu_memory.as_ref().map(|memory| format!(" of {}", Size(memory.value))).unwrap_or_default();
        let verdict = self.gpu_memory.as_ref().map(|_| format!(": {}", row.judgement.words())).unwrap_or_default();
        Some(format!("{} needs about {}{of} on each GPU{verdict}", row.name, Size(row.need.gpu())))
    }

    /// Why a launch uses this template.
    pub(super) fn sentence(&self, chosen: &Recommendation) -> String {
        let row = self.rows.iter().find(|row| row.name == chosen.template);
        let need = row.map_or(0, |row| row.need.gpu());
        let memory = self.gpu_memory.as_ref().map_or(0, |memory| memory.value);
        format!(
            "{} needs about {} of {} on {} for {} parameters: {}",
            chosen.template,
            Size(need),
            Size(memory),
            match self.cluster.world_size() {
                1 => "the GPU".to_string(),
                gpus => format!("each of {gpus} GPUs"),
            },
            billions(self.weights.params),
            chosen.why
        )
    }
}

/// `8.19 B`, `40.4 M`.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn billions(number: u64) -> String {
    let number = number as f64;
    match number {
        n if n >= 1e9 => format!("{} B", digits(n / 1e9)),
        n if n >= 1e6 => format!("{} M", digits(n / 1e6)),
        n => format!("{n:.0}"),
    }
}

/// Three digits, without trailing zeros.
fn digits(number: f64) -> String {
    let places = match number {
        n if n >= 100.0 => 0,
        n if n >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{number:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}
