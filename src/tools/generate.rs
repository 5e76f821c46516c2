//! `zlaunch generate`: a complete config from a few numbers.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{
    prelude::*,
    tables::generate::{IN_BF16, IN_FP16, STAGES, Setting, ZERO_KEYS},
};
use crate::{
    base::{
        json,
        layout::{plural, wrapped},
    },
    exec,
};

/// The limit of each of the three numbers, whose product DeepSpeed reads.
const MOST: u64 = 1 << 20;

#[derive(Args)]
#[command(next_help_heading = "Config")]
pub struct GenerateArgs {
    micro_batch: Option<Given>,
    grad_accum: Option<Given>,
    world_size: Option<Given>,
    #[arg(value_parser = AnyValue(STAGES))]
    stage: Option<Given>,
    offload: bool,
    bf16: bool,
    #[arg(conflicts_with = "bf16")]
    fp16: bool,
    #[arg(short)]
    out: Option<Given>,
    #[arg(requires = "out", conflicts_with_all = ["stage", "offload"])]
    tiers: bool,
    force: bool,
}

impl Tool for GenerateArgs {
    fn read(self, mut reader: Reader) -> Requested {
        let [micro, accum, world] =
            [self.micro_batch, self.grad_accum, self.world_size].map(|given| {
                reader
                    .one(given, values::number(1, MOST, "1"))
                    .map_or(1, |number| number.value)
            });
        let batch = Batch {
            micro,
            accum,
            world,
        };
        let path = reader.one(self.out, values::path).map(|path| path.value);
        let stage = reader.one(self.stage, one_of(STAGES));
        let stage = stage.map_or(3, |stage| stage.value);
        if self.offload && stage == 0 {
            reader.problems.push(
                Rule::Generate
                    .error("stage 0 partitions nothing, so nothing can be offloaded")
                    .at("--stage 0 --offload")
                    .fix(give("--stage", 2).and(give("--offload", ""))),
            );
        }
        reader.answer(move |host: &Host| {
            let files = match path {
                Some(folder) if self.tiers => tiers(&folder, batch, self.fp16),
                path => vec![Generated {
                    path,
                    config: ready(batch, &zero(stage, self.offload, false), self.fp16),
                    about: batch.in_words(),
                }],
            };
            write(&files, self.force, host)
        })
    }
}

/// The three numbers whose product is the global batch size.
#[derive(Clone, Copy)]
struct Batch {
    micro: u64,
    accum: u64,
    world: u64,
}

impl Batch {
    fn global(self) -> u64 {
        self.micro * self.accum * self.world
    }

    fn in_words(self) -> String {
        format!(
            "train_batch_size {} = {} × {} × {}",
            self.global(),
            self.micro,
            self.accum,
            plural(self.world, "GPU", "s")
        )
    }
}

struct Generated {
    /// Without one, it is printed.
    path: Option<PathBuf>,
    config: Value,
    about: String,
}

fn write(files: &[Generated], force: bool, host: &Host) -> Outcome {
    if let Some(path) = files
        .iter()
        .filter_map(|file| file.path.as_ref())
        .find(|path| !force && host.absolute(path).exists())
    {
        return Err(report::would_overwrite(path).into());
    }
    for file in files {
        let text = json::write(&file.config);
        let Some(path) = &file.path else {
            return out(&text);
        };
        exec::write_new(&host.absolute(path), &text, force)?;
        let note = format!("{}: {}", path.display(), file.about);
        let width = terminal::width_of_stderr().unwrap_or(usize::MAX);
        err(&wrapped(&note, 0, width));
    }
    Ok(0)
}

/// Three configs with the same global batch size, for GPUs with different memory.
fn tiers(folder: &Path, batch: Batch, fp16: bool) -> Vec<Generated> {
    let factor = if batch.accum.is_multiple_of(2) { 2 } else { 1 };
    let larger = Batch {
        micro: factor * batch.micro,
        accum: batch.accum / factor,
        ..batch
    };
    let smallest = Batch {
        micro: 1,
        accum: batch.micro * batch.accum,
        ..batch
    };
    let tier = |name: &str, batch: Batch, zero: &Value, about: &str| Generated {
        path: Some(folder.join(name)),
        config: ready(batch, zero, fp16),
        about: format!("{} ({about})", batch.in_words()),
    };
    let small = "small GPU memory: stage 3 with offload, small buffers, micro batch 1";
    let large =
        "large GPU memory: stage 2, twice the micro batch if the accumulation steps are even";
    vec![
        tier("small.json", smallest, &zero(3, true, true), small),
        tier("medium.json", batch, &zero(3, false, false), "stage 3"),
        tier("large.json", larger, &zero(2, false, false), large),
    ]
}

fn ready(batch: Batch, zero: &Value, fp16: bool) -> Value {
    let mut config = json!({
        "train_batch_size": batch.global(),
        "train_micro_batch_size_per_gpu": batch.micro,
        "gradient_accumulation_steps": batch.accum,
    });
    let rest = serde_json::from_str(if fp16 { IN_FP16 } else { IN_BF16 }).unwrap_or_default();
    json::merge(&mut config, &rest);
    config["zero_optimization"] = zero.clone();
    config
}

/// The section of ZeRO. `small`: with buffers for small GPU memory.
fn zero(stage: u64, offload: bool, small: bool) -> Value {
    let mut section = json!({ "stage": stage });
    for row in ZERO_KEYS.iter().filter(|row| row.stages.contains(&stage)) {
        section[row.key] = match row.value {
            Setting::True => true.into(),
            Setting::Size { small: size, .. } if small => size.into(),
            Setting::Size { usual, .. } => usual.into(),
            Setting::Offload if offload => json!({ "device": "cpu", "pin_memory": true }),
            Setting::Offload => continue,
        };
    }
    section
}
