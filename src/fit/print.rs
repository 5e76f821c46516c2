//! How the answer prints: a table for a person, JSON for a program, a line for a launch.

use serde_json::{Map, Value, json};

use super::choice::{Recommended, Row, Verdict};
use super::memory::Parts;
use super::{Accounting, Attention, FitReport, Size, Tuner};
use crate::base::source::{Source, Sourced};

/// Characters of a bar that stands for all of a GPU's memory.
const BAR: usize = 24;

/// Short heads for the columns of `Parts::NAMES`.
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
    /// `bars`: somebody looks at it in a terminal.
    pub(crate) fn text(&self, bars: bool) -> String {
        let mut text = self.head();
        text.push('\n');
        text += &self.table(bars);
        text.push('\n');
        text += &self.conclusion();
        text
    }

    fn head(&self) -> String {
        let mut rows = vec![("model", self.model_line())];
        if self.accounting == Accounting::Textbook {
            rows.push(("bytes", "2 a weight, 2 a gradient, 8 of Adam; nothing else (textbook)".to_string()));
        } else {
            rows.push(("trains", self.training_line()));
        }
        rows.push(("on", self.machine_line()));
        if !self.assumed.is_empty() {
            rows.push(("assumed", self.assumed.join("; ")));
        }
        rows.iter().map(|(name, value)| format!("{name:<9}{value}\n")).collect()
    }

    fn model_line(&self) -> String {
        let name = self.model.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        format!("{name}{} parameters ({})", billions(self.weights.params), self.weights.from)
    }

    fn training_line(&self) -> String {
        let settled = &self.settled;
        let tuner = match settled.tuner.value {
            Tuner::Full => "all of them".to_string(),
            Tuner::Lora => format!("LoRA of rank {}, {}", settled.lora_rank.value, billions(self.training.trainable)),
            Tuner::Quantised(bits) => {
                format!(
                    "LoRA of rank {} on {bits} bits, {}",
                    settled.lora_rank.value,
                    billions(self.training.trainable)
                )
            }
        };
        let mut words = vec![tuner, settled.dtype.value.name().to_string(), settled.optimizer.value.name.to_string()];
        words.push(format!("{} × {} tokens", settled.micro_batch.value, settled.seq_len.value));
        let checkpointing = if settled.checkpointing.value { "" } else { "no " };
        words.push(format!("{checkpointing}gradient checkpointing"));
        words.extend((settled.attention.value == Attention::Eager).then(|| "eager attention".to_string()));
        words.extend(self.training.fused_loss.then(|| "fused loss".to_string()));
        words.join(", ")
    }

    fn machine_line(&self) -> String {
        let size = |sourced: &Option<Sourced<u64>>| match sourced {
            Some(Sourced { value, from: Source::Flag(_) | Source::Variable(_) }) => self.size(*value),
            Some(sourced) => format!("{} ({})", self.size(sourced.value), sourced.from),
            None => "unknown size".to_string(),
        };
        let machines = self.machines;
        let each = if machines.nodes > 1 { format!("{} machines, each ", machines.nodes) } else { String::new() };
        let plural = if machines.gpus == 1 { "GPU" } else { "GPUs" };
        let host = match &self.host_memory {
            None => String::new(),
            some => format!(" and {} of host memory", size(some)),
        };
        format!("{each}{} {plural} of {}{host}", machines.gpus, size(&self.gpu_memory))
    }

    /// The textbook counts in decimal units.
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

    /// The columns that hold anything.
    fn columns(&self) -> Vec<usize> {
        (0..HEADS.len()).filter(|at| self.rows.iter().any(|row| row.need.parts.values()[*at] > 0)).collect()
    }

    fn table(&self, bars: bool) -> String {
        let columns = self.columns();
        let unit = if self.accounting == Accounting::Real { "GiB" } else { "GB" };
        let mut head = vec![unit.to_string()];
        head.extend(columns.iter().map(|at| HEADS[*at].to_string()));
        head.extend(["each GPU", "host"].map(str::to_string));
        let cells = |row: &Row| {
            let values = row.need.parts.values();
            let mut cells = vec![row.name.clone()];
            cells.extend(
                columns.iter().map(|at| if values[*at] == 0 { "-".to_string() } else { self.number(values[*at]) }),
            );
            cells.push(self.number(row.need.gpu()));
            cells.push(if row.need.host == 0 { "-".to_string() } else { self.number(row.need.host) });
            cells
        };
        let table: Vec<Vec<String>> = std::iter::once(head).chain(self.rows.iter().map(cells)).collect();
        let width = |at: usize| table.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        let mut text = String::new();
        for (line, row) in table.iter().enumerate() {
            let mut words = vec![format!("{:<1$}", row[0], width(0))];
            words.extend(row.iter().enumerate().skip(1).map(|(at, cell)| format!("{cell:>0$}", width(at))));
            if let Some(row) = line.checked_sub(1).map(|at| &self.rows[at]) {
                words.extend(bars.then(|| self.bar(row)));
                words.push(if self.gpu_memory.is_some() { row.verdict.word().to_string() } else { String::new() });
            }
            text += &format!("{}\n", words.join("  ").trim_end());
        }
        text
    }

    /// How full the GPU would be.
    fn bar(&self, row: &Row) -> String {
        let Some(memory) = self.gpu_memory.as_ref().map(|sourced| sourced.value.max(1)) else { return String::new() };
        let full = u128::from(row.need.gpu()) * BAR as u128 / u128::from(memory);
        let full = usize::try_from(full).unwrap_or(BAR);
        let end = if full > BAR { "▶" } else { "│" };
        let full = full.min(BAR);
        format!("{}{}{end}", "█".repeat(full), "·".repeat(BAR - full))
    }

    fn conclusion(&self) -> String {
        let mut text = String::new();
        match (&self.recommended, &self.gpu_memory) {
            (Some(chosen), _) => {
                text += &format!("take {}: {}\n", chosen.template, chosen.why);
                if self.accounting == Accounting::Real {
                    text += &format!("the largest micro batch that fits is {}\n", chosen.largest_micro_batch);
                }
            }
            (None, None) => text += "how much memory the GPUs have is not known here: --gpu-memory 80GiB\n",
            (None, Some(_)) => {
                text += "nothing fits\n";
                for way in &self.would {
                    text += &format!("  with {way}\n");
                }
            }
        }
        for rule in &self.rules_of_thumb {
            text += &format!("rule of thumb: {rule}\n");
        }
        if self.accounting == Accounting::Real && self.gpu_memory.is_some() {
            text += "an estimate: `fits` leaves a tenth for gaps between allocations\n";
        }
        text
    }

    /// One line a row, for a refusal.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |row: &Row| {
            format!("{} needs {} on each GPU and {} on the host", row.name, Size(row.need.gpu()), Size(row.need.host))
        };
        self.rows.iter().map(line).collect()
    }

    /// One line for a launch.
    pub(super) fn sentence(&self, chosen: &Recommended) -> String {
        let row = self.rows.iter().find(|row| row.name == chosen.template);
        let need = row.map_or(0, |row| row.need.gpu());
        let memory = self.gpu_memory.as_ref().map_or(0, |sourced| sourced.value);
        format!(
            "{} needs about {} of {} on each of {} GPUs for {} parameters: {}",
            chosen.template,
            Size(need),
            Size(memory),
            self.machines.world(),
            billions(self.weights.params),
            chosen.why
        )
    }

    pub(crate) fn json(&self) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(|row| self.row_json(row)).collect();
        let sourced = |sourced: &Option<Sourced<u64>>| sourced.as_ref().map(|sourced| sourced.value);
        let settled = &self.settled;
        let chosen = self.recommended.as_ref();
        json!({
            "version": 1,
            "model": self.model,
            "params": self.weights.params,
            "params_from": self.weights.from,
            "trainable": self.training.trainable,
            "accounting": if self.accounting == Accounting::Real { "real" } else { "textbook" },
            "training": {
                "tuner": match settled.tuner.value { Tuner::Full => "full", Tuner::Lora => "lora", Tuner::Quantised(_) => "qlora" },
                "dtype": settled.dtype.value.name(),
                "optimizer": settled.optimizer.value.name,
                "micro_batch": settled.micro_batch.value,
                "seq_len": settled.seq_len.value,
                "gradient_accumulation_steps": settled.grad_accum.value,
                "gradient_checkpointing": settled.checkpointing.value,
            },
            "nodes": self.machines.nodes,
            "gpus_per_node": self.machines.gpus,
            "gpu_memory": sourced(&self.gpu_memory),
            "host_memory": sourced(&self.host_memory),
            "rows": rows,
            "recommended": chosen.map(|it| it.template.clone()),
            "why": chosen.map(|it| it.why.clone()),
            "largest_micro_batch": chosen.map(|it| it.largest_micro_batch),
            "would_fit": self.would,
            "rules_of_thumb": self.rules_of_thumb,
            "assumed": self.assumed,
        })
    }

    fn row_json(&self, row: &Row) -> Value {
        let parts: Map<String, Value> = Parts::NAMES
            .iter()
            .zip(row.need.parts.values())
            .map(|(name, bytes)| ((*name).to_string(), bytes.into()))
            .collect();
        json!({
            "template": row.name,
            "gpu_bytes": row.need.gpu(),
            "allocated_bytes": if self.accounting == Accounting::Real { row.need.allocated() } else { row.need.gpu() },
            "parts": parts,
            "fullest_at": row.need.moment.name(),
            "host_bytes": row.need.host,
            "disk_bytes": row.need.disk,
            "fits": match row.verdict { Verdict::Fits => json!(true), Verdict::Unknown => Value::Null, _ => json!(false) },
            "verdict": row.verdict.word(),
        })
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

/// Three of them, without zeros at the end.
fn digits(number: f64) -> String {
    let places = if number >= 100.0 {
        0
    } else if number >= 10.0 {
        1
    } else {
        2
    };
    let text = format!("{number:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_parameters() {
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
