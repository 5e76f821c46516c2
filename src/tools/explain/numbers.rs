//! What the numbers of a line say: who holds the memory, how many ranks DeepSpeed counted, which two values differ.

use super::tables::numbers::{SIZES, Size};
use crate::base::size::parse_bytes;

/// A sentence for each thing that the line says by numbers.
pub fn read(line: &str) -> Vec<String> {
    let mut said = memory(line);
    said.extend(product(line));
    said.extend(mismatch(line));
    said
}

fn memory(line: &str) -> Vec<String> {
    const GIB: u64 = 1 << 30;
    if !line.contains("out of memory") {
        return vec![];
    }
    let sizes = SIZES.iter().filter_map(|row| {
        let (before, after) = line.split_once(row.words)?;
        let number: String = if row.is_in_front {
            after.split_whitespace().take(2).collect()
        } else {
            let words: Vec<&str> = before.split_whitespace().collect();
            words[words.len().saturating_sub(2)..].concat()
        };
        let number = number.trim_matches(|c: char| !c.is_alphanumeric());
        Some((
            row.size,
            parse_bytes(number)?,
            format!("{number} {}", row.shown),
        ))
    });
    let sizes: Vec<(Size, u64, String)> = sizes.collect();
    let of = |size: Size| sizes.iter().find(|it| it.0 == size).map(|it| it.1);
    let listed: Vec<&str> = sizes.iter().map(|it| &*it.2).collect();
    let mut said = vec![];
    said.extend((listed.len() > 1).then(|| listed.join("; ")));
    let total = of(Size::Total);
    if let (Some(total), Some(free), Some(ours)) = (total, of(Size::Free), of(Size::Ours)) {
        let others = total.saturating_sub(free + ours);
        if others > total / 10 {
            said.push(format!(
                "other processes hold {} GiB: `nvidia-smi` names them",
                others / GIB
            ));
        }
        let unused = ours.saturating_sub(of(Size::Allocated).unwrap_or(ours));
        if unused > total / 8 {
            said.push(format!("{} GiB of this process are in no tensor: --env PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", unused / GIB));
        }
    }
    if of(Size::Asked) >= Some(total.map_or(4 * GIB, |total| total / 8)) {
        said.push("a single piece of this size is the flat copy of the weights that DeepSpeed makes at initialization (with stages 0 to 2: --deepspeed zero3, or zero3_offload), or the logits of a batch (a smaller micro batch)".to_string());
    }
    said
}

/// `16 != 1 * 1 * 1`: batch, micro batch, accumulation, ranks.
fn product(line: &str) -> Option<String> {
    let factors: Option<Vec<u64>> = line
        .split_once(" != ")?
        .1
        .split(" * ")
        .map(|it| it.trim().parse().ok())
        .collect();
    let [micro, steps, ranks] = factors?[..] else {
        return None;
    };
    let right = micro.checked_mul(steps)?.checked_mul(ranks)?;
    let counted = if ranks == 1 {
        "DeepSpeed counts one rank. With more GPUs, the script runs without a launcher, or reads the config before torch.distributed is initialized: zlaunch --nproc-per-node GPUS -- COMMAND sets RANK, WORLD_SIZE and MASTER_ADDR. For one rank: "
    } else {
        ""
    };
    Some(format!(
        "{counted}--set train_batch_size={right}, or --unset train_batch_size"
    ))
}

/// `- ds KEY=VALUE vs hf ARGUMENT=VALUE`.
fn mismatch(line: &str) -> Option<String> {
    let (ours, theirs) = line.split_once("- ds ")?.1.split_once(" vs hf ")?;
    let (key, value) = ours.split_once('=')?;
    let argument = theirs.split(['|', '=', '+', ' ']).next()?;
    let value = if value == "None" {
        ""
    } else {
        &value.to_lowercase()
    };
    let other = format!(", or --{argument} {value}");
    let is_given = !theirs.contains("(calculated)") && !value.is_empty();
    Some(format!(
        "--set {key}=auto{}",
        if is_given { &*other } else { "" }
    ))
}
