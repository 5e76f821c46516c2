//! The report as JSON.

use serde_json::{Value, json};

use super::choice::{TemplateRow, Verdict, with_margin};
use super::{Accounting, FitReport, Tuner};

impl FitReport {
    pub fn json(&self) -> Value {
        let settings = &self.settings;
        let tuner = match settings.tuner {
            Tuner::Full => "full",
            Tuner::Lora => "lora",
            Tuner::Quantised(_) => "qlora",
        };
        let would_fit = self.remedies.iter().map(|remedy| {
            json!({
                "change": remedy.change,
                "template": remedy.template,
                "gpu_bytes": remedy.need.gpu(),
                "host_bytes": remedy.need.host,
                "disk_bytes": remedy.need.disk,
            })
        });
        let chosen = self.recommended.as_ref();
        json!({
            "version": 1,
            "model": self.model,
            "params": self.weights.params,
            "params_from": self.weights.from,
            "trainable": self.workload.trainable,
            "accounting": self.accounting,
            "training": {
                "tuner": tuner,
                "dtype": settings.dtype.name(),
                "optimizer": settings.optimizer.name,
                "micro_batch": settings.micro_batch,
                "seq_len": settings.seq_len,
                "gradient_accumulation_steps": settings.grad_accum,
                "gradient_checkpointing": settings.checkpointing,
            },
            "nodes": self.cluster.nodes,
            "gpus_per_node": self.cluster.gpus,
            "gpu": self.card,
            "gpu_memory": self.gpu_memory.as_ref().map(|memory| memory.value),
            "host_memory": self.host_memory.as_ref().map(|memory| memory.value),
            "rows": self.rows.iter().map(|row| self.row_json(row)).collect::<Vec<_>>(),
            "judged": self.named().map(|row| &row.name),
            "recommended": chosen.map(|chosen| &chosen.template),
            "why": chosen.map(|chosen| &chosen.why),
            "largest_micro_batch": chosen.map(|chosen| chosen.largest_micro_batch),
            "would_fit": would_fit.collect::<Vec<_>>(),
            "rules_of_thumb": self.rules_of_thumb,
            "assumed": self.assumed,
        })
    }

    fn row_json(&self, row: &TemplateRow) -> Value {
        let is_real = self.accounting == Accounting::Real;
        let fits = match row.verdict() {
            Verdict::Fits => Some(true),
            Verdict::Unknown => None,
            Verdict::Tight | Verdict::Not => Some(false),
        };
        json!({
            "template": row.name,
            "gpu_bytes": row.need.gpu(),
            "allocated_bytes": if is_real { row.need.allocated() } else { row.need.gpu() },
            "parts": row.need.usage,
            "fullest_at": row.need.peak.name(),
            "host_bytes": row.need.host,
            "disk_bytes": row.need.disk,
            "fits": fits,
            "verdict": row.verdict().word(),
            "short": row.judgement.short,
            "unknown": row.judgement.unknown,
            "verdict_without_expandable_segments": row.plain.word(),
            "fits_from_bytes": if is_real { with_margin(&row.need, row.allocator.kind) } else { row.need.gpu() },
        })
    }
}
