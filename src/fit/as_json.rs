//! The report as JSON.

use serde_json::{Map, Value, json};

use super::choice::{MemoryKind, TemplateRow, Verdict, with_margin};
use super::need::GpuUsage;
use super::remedies::Remedy;
use super::{Accounting, FitReport, Tuner};
use crate::base::source::Sourced;

fn names(kinds: &[MemoryKind]) -> Vec<&'static str> {
    kinds.iter().map(|kind| kind.name()).collect()
}

impl Remedy {
    fn json(&self) -> Value {
        json!({
            "change": self.change,
            "template": self.template,
            "gpu_bytes": self.need.gpu(),
            "host_bytes": self.need.host,
            "disk_bytes": self.need.disk,
        })
    }
}

impl FitReport {
    pub fn json(&self) -> Value {
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
            "gpu": self.card,
            "gpu_memory": bytes(&self.gpu_memory),
            "host_memory": bytes(&self.host_memory),
            "rows": rows,
            "judged": self.named().map(|row| row.name.clone()),
            "recommended": chosen.map(|it| it.template.clone()),
            "why": chosen.map(|it| it.why.clone()),
            "largest_micro_batch": chosen.map(|it| it.largest_micro_batch),
            "would_fit": self.remedies.iter().map(Remedy::json).collect::<Vec<_>>(),
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
            "fits": match row.verdict() { Verdict::Fits => json!(true), Verdict::Unknown => Value::Null, _ => json!(false) },
            "verdict": row.verdict().word(),
            "short": names(&row.judgement.short),
            "unknown": names(&row.judgement.unknown),
            "verdict_without_expandable_segments": row.plain.word(),
            "fits_from_bytes": if self.accounting == Accounting::Real { with_margin(&row.need, row.allocator.kind) } else { row.need.gpu() },
        })
    }
}
