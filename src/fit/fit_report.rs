//! The answer of `zlaunch fit`: as a text for people, as JSON, as a picture, and as a sentence for a launch.

use serde_json::{Value, json};

use super::{
    estimate::{FitInputs, Memories, Remedy, TemplateRow},
    memory::scaled,
    need::Cluster,
    tables::{
        memories::{DISK, HOST, MemoryKind},
        parts::{BAR, COLUMNS, Column, LEFT, LINE, WIDTH},
        templates::NONE,
        verdicts::{NOT, TIGHT},
        words::Tuner,
    },
};
use crate::{
    base::{
        layout::{Line, TextTable, columns, plural, visible, wrapped},
        size::Size,
        source::Given,
    },
    host::Host,
    report::Problems,
};

/// What is said about a training.
pub struct FitReport<'a> {
    inputs: FitInputs<'a>,
    pub rows: Vec<TemplateRow>,
    /// The fastest template that fits.
    pub recommended: Option<TemplateRow>,
    /// With that template. `None`: what is counted does not depend on it.
    largest_micro_batch: Option<u64>,
    /// Changes that would make the judged config fit, or some template.
    pub remedies: Vec<Remedy>,
}

fn names(kinds: impl Iterator<Item = MemoryKind>) -> String {
    let names: Vec<&str> = kinds.map(|kind| kind.name).collect();
    names.join(", ")
}

impl TemplateRow {
    pub fn title(&self) -> &str {
        match self.candidate.name.as_str() {
            NONE => "no DeepSpeed",
            name => name,
        }
    }

    /// `zero2 needs about 39.2 GiB on each GPU`.
    pub fn needs(&self) -> String {
        let need = Size(self.need.gpu());
        format!("{} needs about {need} on each GPU", self.title())
    }

    pub fn why(&self) -> &'static str {
        if self.candidate.strategy.offloads() {
            // As a common guide says; not measured here.
            "the fastest template that fits; offload makes a step 2–3× slower"
        } else {
            "the fastest template that fits"
        }
    }

    /// `fits`, `no: GPU, host`, `? host`.
    fn words(&self) -> String {
        let word = self.verdict.word;
        if !self.short.is_empty() {
            format!(
                "{word}: {}",
                names(self.short.iter().map(|shortage| shortage.kind))
            )
        } else if !self.unknown.is_empty() {
            format!("{word} {}", names(self.unknown.iter().copied()))
        } else {
            word.to_string()
        }
    }

    fn json(&self) -> Value {
        let need = &self.need;
        let short: Vec<_> = self
            .short
            .iter()
            .map(|shortage| shortage.kind.key)
            .collect();
        let unknown: Vec<_> = self.unknown.iter().map(|kind| kind.key).collect();
        json!({
            "template": self.candidate.name,
            "gpu_bytes": need.gpu(), "allocated_bytes": need.allocated(), "parts": need.usage,
            "fullest_at": need.peak.name, "step_bytes": need.step,
            "host_bytes": need.host, "disk_bytes": need.disk,
            "fits": self.verdict.fits, "verdict": self.verdict.word, "short": short, "unknown": unknown,
            "fits_from_bytes": self.with_margin(),
        })
    }
}

impl<'a> FitInputs<'a> {
    pub fn report(&self, host: &Host) -> Result<FitReport<'a>, Problems> {
        let memories = Memories {
            gpu: self.gpu_memory(host).value(),
            host: self.host_memory().value(),
            disk: None,
        };
        let inputs = FitInputs {
            memories,
            templates: self.candidates(host)?,
            ..self.clone()
        };
        let mut report = FitReport {
            rows: inputs.templates.iter().map(|it| inputs.judge(it)).collect(),
            largest_micro_batch: inputs.largest_micro_batch(),
            recommended: inputs.first_fit(),
            remedies: vec![],
            inputs,
        };
        let row = report.judged_row();
        let fits = row.map_or(report.recommended.is_some(), |row| row.verdict != NOT);
        if !fits && report.memories().gpu.is_some() {
            let inputs = &report.inputs;
            let name = row.map(|row| vec![row.candidate.name.clone()]);
            let judged = inputs.with_order(name.unwrap_or(inputs.order.clone()));
            report.remedies = judged.remedies(inputs);
        }
        Ok(report)
    }
}

impl FitReport<'_> {
    /// The config that the user named.
    fn judged_row(&self) -> Option<&TemplateRow> {
        self.rows.iter().find(|row| row.candidate.is_named)
    }

    pub fn memories(&self) -> Memories {
        self.inputs.memories
    }

    fn assumed(&self) -> Vec<&str> {
        self.inputs
            .assumed
            .iter()
            .map(|it| it.text.as_str())
            .collect()
    }

    /// What is not counted, if something is.
    pub fn uncounted(&self) -> Option<&str> {
        self.inputs.weights.uncounted.as_deref()
    }

    /// The judged config does not fit; or none was named, and no row of the table may fit without a disk.
    pub fn does_not_fit(&self) -> bool {
        let may_fit = |row: &TemplateRow| row.verdict != NOT && !row.unknown.contains(&DISK);
        match self.judged_row() {
            Some(row) => row.verdict == NOT,
            None => !self.rows.iter().any(may_fit),
        }
    }

    /// A template fits on the GPUs, and only the memory of the hosts is not known.
    pub fn may_fit_with_offload(&self) -> bool {
        let is_open = |row: &TemplateRow| row.unknown == [HOST] && row.short.is_empty();
        self.rows.iter().any(is_open)
    }

    /// Control characters from files and arguments are escaped here, since colours come on top.
    pub fn text(&self, width: Option<usize>) -> String {
        let head = self.head().fitted(width);
        let width = width.unwrap_or(usize::MAX);
        format!("{head}\n{}\n{}", self.table(width), self.conclusion(width))
    }

    fn head(&self) -> TextTable {
        let mut rows = vec![
            ("model", self.model_line()),
            ("trains", self.training_line()),
            ("on", self.machine()),
        ];
        if !self.assumed().is_empty() {
            rows.push(("assumed", self.assumed().join("; ")));
        }
        TextTable::of_pairs(0, rows)
    }

    fn model_line(&self) -> String {
        let weights = &self.inputs.weights;
        let size = format!("{} parameters ({})", billions(weights.params), weights.from);
        match &self.inputs.model {
            Some(name) => format!("{name}: {size}"),
            None => size,
        }
    }

    /// `2 machines, each 8 H100 of 79.6 GiB and 1.0 TiB of host memory`.
    fn machine(&self) -> String {
        let Cluster { nodes, gpus } = self.inputs.cluster;
        let cards = match self.inputs.card {
            Some(card) => format!("{gpus} {card}"),
            None => plural(gpus, "GPU", "s"),
        };
        let cards = match nodes {
            1 => cards,
            _ => format!("{nodes} machines, each {cards}"),
        };
        let size =
            |memory: Option<u64>| memory.map_or("unknown size".into(), |it| Size(it).to_string());
        let Memories { gpu, host, .. } = self.memories();
        format!("{cards} of {} and host memory of {}", size(gpu), size(host))
    }

    fn training_line(&self) -> String {
        let settings = self.inputs.settings();
        let rank = settings.lora_rank;
        let trainable = billions(self.inputs.workload.trainable);
        let tuner = match settings.tuner {
            Tuner::Full => "all parameters".to_string(),
            Tuner::Lora => format!("LoRA of rank {rank}, {trainable}"),
            Tuner::Quantised(bits) => format!("LoRA of rank {rank} on {bits} bits, {trainable}"),
        };
        let no = if settings.checkpointing { "" } else { "no " };
        format!(
            "{tuner}, {}, {}, {} × {} tokens, {no}gradient checkpointing",
            settings.dtype.name, settings.optimizer.name, settings.micro_batch, settings.seq_len
        )
    }

    /// The parts in columns, or only their sum if the terminal is too narrow.
    fn table(&self, width: usize) -> String {
        let mut text = self.table_of(&COLUMNS);
        let mut note = self.inputs.accounting.note;
        if text.lines().any(|line| columns(line) > width) {
            text = self.table_of(&[]);
            note = "each row is its fullest moment; a wider terminal also shows its parts";
        }
        let (head, lines) = text.split_once('\n').unwrap_or_default();
        let mut painted = format!("{head}\n");
        for (line, row) in lines.lines().zip(&self.rows) {
            let words = row.words();
            let style = row.verdict.style;
            let rest = line.strip_suffix(&words).unwrap_or_default();
            painted += &format!("{rest}{style}{words}{style:#}\n");
        }
        painted += &wrapped(note, 0, width);
        if let Some(line) = self.between_steps() {
            painted += &wrapped(&line, 0, width);
        }
        painted
    }

    fn table_of(&self, parts: &[Column]) -> String {
        let accounting = self.inputs.accounting;
        #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
        let number = |bytes: u64| {
            let units = bytes as f64 / accounting.unit_bytes as f64;
            format!("{units:.*}", accounting.decimals)
        };
        let cell = |bytes: u64| match bytes {
            0 => "-".to_string(),
            _ => number(bytes),
        };
        let mut head = vec![accounting.unit];
        head.extend(parts.iter().map(|part| part.title));
        head.extend(["each GPU", "host"]);
        let mut table = TextTable::new(0);
        table.numbers = 1..parts.len() + 3;
        table.lines = vec![Line::Row(head.into_iter().map(str::to_string).collect())];
        for row in &self.rows {
            let need = &row.need;
            let mut cells = vec![row.title().to_string()];
            cells.extend(need.usage.parts().map(cell).into_iter().take(parts.len()));
            cells.push(number(need.gpu()));
            cells.push(cell(need.host));
            cells.push(row.words());
            table.lines.push(Line::Row(cells));
        }
        table.to_string()
    }

    /// `evaluation: 11.7 GiB with zero3, and a step 9.4 GiB: lower --per_device_eval_batch_size`, for the judged row or the
    /// first template whose fullest moment is not in a step.
    fn between_steps(&self) -> Option<String> {
        let row = self
            .judged_row()
            .into_iter()
            .chain(&self.rows[1..])
            .find(|row| row.need.peak.is_between_steps)?;
        let peak = row.need.peak;
        Some(format!(
            "{}: {} with {}, and a step {}: {}",
            peak.name,
            Size(row.need.gpu()),
            row.title(),
            Size(row.need.step),
            peak.advice
        ))
    }

    fn conclusion(&self, width: usize) -> String {
        let estimate = "this is an estimate; `fits` leaves room for gaps between allocations";
        let mut text = wrapped(estimate, 0, width);
        let with = |remedy: &Remedy| wrapped(&format!("with {}", remedy.sentence()), 2, width);
        let remedies: String = self.remedies.iter().map(with).collect();
        let end = wrapped(&self.recommendation(), 0, width);
        let Some(row) = self.judged_row() else {
            return text + &end + &remedies;
        };
        let line = if row.verdict == NOT {
            let short: Vec<_> = row
                .short
                .iter()
                .map(|it| format!("{} short ({})", Size(it.bytes), it.kind.name))
                .collect();
            format!("{} does not fit: {}", row.title(), short.join(", "))
        } else {
            format!("{}: {}", row.needs(), row.words())
        };
        text += &wrapped(&line, 0, width);
        text + &remedies + &end
    }

    pub fn remedy_sentences(&self) -> String {
        let sentences: Vec<String> = self.remedies.iter().map(Remedy::sentence).collect();
        sentences.join("; or ")
    }

    fn recommendation(&self) -> String {
        if let Some(chosen) = &self.recommended {
            let use_it = format!("use {}: {}", chosen.title(), chosen.why());
            return match self.largest_micro_batch {
                Some(most) => format!("{use_it} (micro batch up to {most})"),
                None => use_it,
            };
        }
        let is_judged = self.judged_row().is_some();
        let line = if self.memories().gpu.is_none() {
            "the memory of the GPUs is unknown: --gpu-memory 80GiB"
        } else if let Some(why) = self.uncounted() {
            &format!("no template fits for certain: {why}")
        } else if self.may_fit_with_offload() {
            "no template fits on the GPUs alone, and the host memory is unknown: --host-memory 1TiB"
        } else if is_judged {
            "no other template fits either"
        } else if self.rows.iter().any(|row| row.verdict == TIGHT) {
            "no template fits with a margin"
        } else {
            "no template fits"
        };
        line.to_string()
    }

    /// Of a model whose shape is known.
    pub fn verdict_line(&self) -> Option<String> {
        let row = self.inputs.model.as_ref().and(self.judged_row())?;
        Some(format!("{}: {}", row.needs(), row.words()))
    }

    pub fn json(&self) -> Value {
        let inputs = &self.inputs;
        let settings = inputs.settings();
        let tuner = match settings.tuner {
            Tuner::Full => "full",
            Tuner::Lora => "lora",
            Tuner::Quantised(_) => "qlora",
        };
        let chosen = self.recommended.as_ref();
        let rows: Vec<Value> = self.rows.iter().map(TemplateRow::json).collect();
        let would_fit = self.remedies.iter().map(|remedy| {
            let need = &remedy.row.need;
            json!({
                "change": remedy.change, "template": remedy.row.candidate.name, "gpu_bytes": need.gpu(),
                "host_bytes": need.host, "disk_bytes": need.disk,
            })
        });
        json!({
            "version": 1,
            "model": inputs.model, "params": inputs.weights.params, "params_from": inputs.weights.from,
            "trainable": inputs.workload.trainable,
            "accounting": inputs.accounting.name,
            "training": {
                "tuner": tuner, "dtype": settings.dtype.name, "optimizer": settings.optimizer.name,
                "micro_batch": settings.micro_batch, "seq_len": settings.seq_len,
                "gradient_accumulation_steps": settings.grad_accum,
                "gradient_checkpointing": settings.checkpointing,
                "eval_batch": settings.evaluation.map(|evaluation| evaluation.batch),
            },
            "nodes": inputs.cluster.nodes, "gpus_per_node": inputs.cluster.gpus, "gpu": inputs.card,
            "gpu_memory": self.memories().gpu,
            "host_memory": self.memories().host,
            "rows": rows,
            "judged": self.judged_row().map(|row| &row.candidate.name),
            "recommended": chosen.map(TemplateRow::title),
            "why": chosen.map(TemplateRow::why),
            "largest_micro_batch": self.largest_micro_batch,
            "would_fit": would_fit.collect::<Vec<_>>(),
            "uncounted": self.uncounted(),
            "assumed": self.assumed(),
        })
    }

    /// A bar for the memory of each row, and a line where the GPU ends. A part of a bar has its name as a tooltip.
    pub fn svg(&self) -> String {
        let gpu = self.memories().gpu;
        let most = self
            .rows
            .iter()
            .map(|row| row.need.gpu())
            .chain(gpu)
            .max()
            .unwrap_or(1);
        let at = |bytes: u64| LEFT + scaled(BAR, bytes, most);
        let mut y = LINE;
        let mut body = svg_text(8, y, &self.model_line());
        for row in &self.rows {
            y += LINE;
            body += &svg_text(8, y, row.title());
            let mut bytes = 0;
            for (part, column) in row.need.usage.parts().into_iter().zip(&COLUMNS) {
                let start = at(bytes);
                bytes += part;
                body += &format!(
                    "<rect x=\"{start}\" y=\"{}\" width=\"{}\" height=\"16\" fill=\"{}\"><title>{}</title></rect>\n",
                    y - 13,
                    at(bytes) - start,
                    column.fill,
                    column.title
                );
            }
            let words = format!("{}, {}", Size(bytes), row.words());
            body += &svg_text(LEFT + BAR + 8, y, &words);
        }
        let height = y + LINE;
        if let Some(memory) = gpu {
            let x = at(memory);
            body += &format!(
                "<path d=\"M{x} {LINE}V{height}\" stroke=\"#d62728\" stroke-width=\"2\"/>\n"
            );
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n{body}</svg>\n"
        )
    }
}

fn svg_text(x: u64, y: u64, text: &str) -> String {
    let escaped = visible(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    format!("<text x=\"{x}\" y=\"{y}\">{escaped}</text>\n")
}

/// `8.19 B`, `40.37 M`.
#[expect(clippy::cast_precision_loss, reason = "two decimals are shown")]
fn billions(number: u64) -> String {
    let (number, unit) = match number as f64 {
        n if n >= 1e9 => (n / 1e9, " B"),
        n if n >= 1e6 => (n / 1e6, " M"),
        _ => return number.to_string(),
    };
    format!("{number:.2}{unit}")
}
