//! Sizes of groups that do not go together with the ranks.

use serde_json::Value;

use super::findings::Findings;
use super::subject::Subject;
use crate::report::Severity;
use crate::report::fix::{set, unset};

pub(super) fn partition_size(subject: &Subject, found: &mut Findings) {
    let key = "zero_optimization.zero_hpz_partition_size";
    let size = subject.get(key).and_then(Value::as_u64);
    let (Some(size), Some(world), true) = (size, subject.world(), subject.stage_is(&[3])) else {
        return;
    };
    if size > 1 && size > world {
        let what =
            format!("`{key}` is {size}, but there are {world} ranks: DeepSpeed reduces it to that");
        found.key(&[key], what, set(key, world)).severity = Severity::Note;
    } else if size > 1 && world % size != 0 {
        let what = format!("`{key}` is {size}, which does not divide {world} ranks");
        found.key(&[key], what, set(key, 1));
    }
}

pub(super) fn tensor_parallel_size(subject: &Subject, found: &mut Findings) {
    let inner = "tensor_parallel.tp.tp_size";
    let outer = "tensor_parallel.autotp_size";
    let Some(size) = subject.whole(outer) else {
        return;
    };
    #[expect(clippy::cast_precision_loss, reason = "nobody has 2^53 ranks")]
    let ranks = subject.world().map(|world| world as f64);
    if let Some(ranks) = ranks.filter(|ranks| *ranks < size)
        && subject.reads("tensor_parallel")
    {
        let what = format!("`{outer}` is {size}, and there are {ranks} ranks");
        found.key(&[outer], what, set(outer, ranks));
    }
    if let Some(other) = subject.whole(inner)
        && size > 1.0
        && (other - 1.0).abs() > 0.0
        && (other - size).abs() > 0.0
    {
        let what = format!("`{inner}` is {other}, but `{outer}` is {size}: they must agree");
        found.key(&[inner, outer], what, unset(inner));
    }
}
