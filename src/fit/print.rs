//! The report as a table for people, as JSON for programs, and as a sentence for a launch.

use serde_json::{Map, Value, json};

use super::choice::{Recommendation, TemplateRow, Verdict};
use super::need::{Cluster, GpuUsage};
use super::{Accounting, Attention, FitReport, Tuner};
use crate::base::layout::{Line, TextTable};
use crate::base::size::Size;
use crate::base::source::{Source, Sourced};

/// Characters of a bar that stands for all the memory of a GPU.
const BAR: usize = 24;

/// Short titles for the columns of `GpuUsage::NAMES`.
const HEADS: [&str; 7] = ["params", "grads", "optim", "activ", "buffers", "logits", "other"];

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Verdict::Fits => "fits",
            Verdict::Tight => "tight",
            Verdict::Not => "no",
            Verdict::Unknown => "?",
        }
    }
}

impl FitReport {
    /// `bars`: also draw how full each GPU would be, for a terminal.
    pub(crate) fn text(&self, bars: bool) -> String {
        format!("{}\n{}\n{}", self.head(), self.table(bars), self.conclusion())
    }

    fn head(&self) -> TextTable {
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
        // As wide as "assumed", even if that is missing.
        TextTable::of_pairs(0, rows.into_iter().map(|(name, value)| (format!("{name:<7}"), value)))
    }

    fn model_line(&self) -> String {
        let name = self.model.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        format!("{name}{} parameters ({})", billions(self.weights.params), self.weights.from)
    }

    fn training_line(&self) -> String {
        let settings = &self.settings;
        let tuner = match settings.tuner.value {
            Tuner::Full => "all parameters".to_string(),
            Tuner::Lora => format!("LoRA of rank {}, {}", settings.lora_rank.value, billions(self.workload.trainable)),
            Tuner::Quantised(bits) => {
                let trainable = billions(self.workload.trainable);
                format!("LoRA of rank {} on {bits} bits, {trainable}", settings.lora_rank.value)
            }
        };
        let mut words = vec![tuner, settings.dtype.value.name().to_string(), settings.optimizer.value.name.to_string()];
        words.push(format!("{} × {} tokens", settings.micro_batch.value, settings.seq_len.value));
        let checkpointing = if settings.checkpointing.value { "" } else { "no " };
        words.push(format!("{checkpointing}gradient checkpointing"));
        words.extend((settings.attention.value == Attention::Eager).then(|| "eager attention".to_string()));
        words.extend(self.workload.fused_loss.then(|| "fused loss".to_string()));
        words.join(", ")
    }

    fn machine_line(&self) -> String {
        let size = |memory: &Sourced<u64>| match &memory.from {
            Source::Flag(_) | Source::Variable(_) => self.size(memory.value),
            from => format!("{} ({from})", self.size(memory.value)),
        };
        let Cluster { nodes, gpus } = self.cluster;
        let each = if nodes > 1 { format!("{nodes} machines, each ") } else { String::new() };
        let plural = if gpus == 1 { "GPU" } else { "GPUs" };
        let gpu = self.gpu_memory.as_ref().map_or("unknown size".to_string(), size);
        let host = self.host_memory.as_ref().map(|memory| format!(" and {} of host memory", size(memory)));
        format!("{each}{gpus} {plural} of {gpu}{}", host.unwrap_or_default())
    }

    /// The textbook accounting uses decimal units.
    fn size(&self, bytes: u64) -> String {
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

    /// The columns that are not empty.
    fn columns(&self) -> Vec<usize> {
        (0..HEADS.len()).filter(|column| self.rows.iter().any(|row| row.need.usage.values()[*column] > 0)).collect()
    }

    fn table(&self, bars: bool) -> TextTable {
        let columns = self.columns();
        let unit = if self.accounting == Accounting::Real { "GiB" } else { "GB" };
        let heads = columns.iter().map(|column| HEADS[*column]);
        let head = [unit].into_iter().chain(heads).chain(["each GPU", "host"]);
        let mut lines = vec![Line::Row(head.map(str::to_string).collect())];
        let cell = |bytes: u64| if bytes == 0 { "-".to_string() } else { self.number(bytes) };
        for row in &self.rows {
            let values = row.need.usage.values();
            let mut cells = vec![row.name.clone()];
            cells.extend(columns.iter().map(|column| cell(values[*column])));
            cells.extend([self.number(row.need.gpu()), cell(row.need.host)]);
            if let Some(memory) = &self.gpu_memory {
                cells.extend(bars.then(|| bar(row.need.gpu(), memory.value)));
                cells.push(row.verdict.word().to_string());
            }
            lines.push(Line::Row(cells));
        }
        TextTable { numbers: 1..columns.len() + 3, lines, ..TextTable::new(0) }
    }

    fn conclusion(&self) -> String {
        let mut text = String::new();
        match (&self.recommended, &self.gpu_memory) {
            (Some(chosen), _) => {
                text += &format!("use {}: {}\n", chosen.template, chosen.why);
                if self.accounting == Accounting::Real {
                    text += &format!("the largest micro batch that fits is {}\n", chosen.largest_micro_batch);
                }
            }
            (None, None) => text += "the memory of the GPUs is not known here: --gpu-memory 80GiB\n",
            (None, Some(_)) => {
                text += "nothing fits\n";
                for remedy in &self.remedies {
                    text += &format!("  with {remedy}\n");
                }
            }
        }
        for rule in &self.rules_of_thumb {
            text += &format!("rule of thumb: {rule}\n");
        }
        if self.accounting == Accounting::Real && self.gpu_memory.is_some() {
            text += "this is an estimate; `fits` leaves a tenth for fragmentation\n";
        }
        text
    }

    /// One line per template, for an error.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |row: &TemplateRow| {
            let (gpu, host) = (Size(row.need.gpu()), Size(row.need.host));
            format!("{} needs {gpu} on each GPU and {host} on the host", row.name)
        };
        self.rows.iter().map(line).collect()
    }

    /// Why a launch uses this template.
    pub(super) fn sentence(&self, chosen: &Recommendation) -> String {
        let row = self.rows.iter().find(|row| row.name == chosen.template);
        let need = row.map_or(0, |row| row.need.gpu());
        let memory = self.gpu_memory.as_ref().map_or(0, |memory| memory.value);
        format!(
            "{} needs about {} of {} on each of {} GPUs for {} parameters: {}",
            chosen.template,
            Size(need),
            Size(memory),
            self.cluster.world_size(),
            billions(self.weights.params),
            chosen.why
        )
    }

    pub(crate) fn json(&self) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(|row| self.row_json(row)).collect();
        let bytes = |memory: &Option<Sourced<u64>>| memory.as_ref().map(|memory| memory.value);
        let settings = &self.settings;
        let chosen = self.recommended.as_ref();
        json!({
            "version": 1,
            "model": self.model,
            "params": self.weights.params,
            "params_from": self.weights.from,
            "trainable": self.workload.trainable,
            "accounting": if self.accounting == Accounting::Real { "real" } else { "textbook" },
            "training": {
                "tuner": match settings.tuner.value { Tuner::Full => "full", Tuner::Lora => "lora", Tuner::Quantised(_) => "qlora" },
                "dtype": settings.dtype.value.name(),
                "optimizer": settings.optimizer.value.name,
                "micro_batch": settings.micro_batch.value,
                "seq_len": settings.seq_len.value,
                "gradient_accumulation_steps": settings.grad_accum.value,
                "gradient_checkpointing": settings.checkpointing.value,
            },
            "nodes": self.cluster.nodes,
            "gpus_per_node": self.cluster.gpus,
            "gpu_memory": bytes(&self.gpu_memory),
            "host_memory": bytes(&self.host_memory),
            "rows": rows,
            "recommended": chosen.map(|it| it.template.clone()),
            "why": chosen.map(|it| it.why.clone()),
            "largest_micro_batch": chosen.map(|it| it.largest_micro_batch),
            "would_fit": self.remedies,
            "rules_of_thumb": self.rules_of_thumb,
            "assumed": self.assumed,
        })
    }

    fn row_json(&self, row: &TemplateRow) -> Value {
        let parts = GpuUsage::NAMES.iter().zip(row.need.usage.values());
        let parts: Map<String, Value> = parts.map(|(name, bytes)| ((*name).to_string(), bytes.into())).collect();
        json!({
            "template": row.name,
            "gpu_bytes": row.need.gpu(),
            "allocated_bytes": if self.accounting == Accounting::Real { row.need.allocated() } else { row.need.gpu() },
            "parts": parts,
            "fullest_at": row.need.peak.name(),
            "host_bytes": row.need.host,
            "disk_bytes": row.need.disk,
            "fits": match row.verdict { Verdict::Fits => json!(true), Verdict::Unknown => Value::Null, _ => json!(false) },
            "verdict": row.verdict.word(),
        })
    }
}

/// `███·····│`: how full a GPU would be, with `▶` if the need is larger than its memory.
fn bar(need: u64, memory: u64) -> String {
    let full = u128::from(need) * BAR as u128 / u128::from(memory.max(1));
    let full = usize::try_from(full).unwrap_or(usize::MAX);
    let end = if full > BAR { "▶" } else { "│" };
    let full = full.min(BAR);
    format!("{}{}{end}", "█".repeat(full), "·".repeat(BAR - full))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_parameters_are_short() {
        for (number, text) in [
            (8_190_735_360, "8.19 B"),
            (8_000_000_000, "8 B"),
            (671_026_404_352, "671 B"),
            (40_370_176, "40.4 M"),
            (192, "192"),
            (10_000_000, "10 M"),
        ] {
            assert_eq!(billions(number), text);
        }
    }
}
