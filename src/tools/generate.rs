//! `zlaunch generate`: a ready config from a few numbers. Nothing in it is "auto", and the global batch size is right.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::output::{err, out};
use crate::base::json;
use crate::base::layout::{plural, wrapped};
use crate::base::source::Sourced;
use crate::config::layers::{self, Layers};
use crate::config::template::{self, Search};
use crate::exec;
use crate::host::{Host, terminal};
use crate::report::{self, Problem};

#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct GenerateRequest {
    pub(crate) batch: Batch,
    pub(crate) stage: Option<u64>,
    pub(crate) offload: bool,
    /// Instead of bf16.
    pub(crate) fp16: bool,
    pub(crate) from: Option<Sourced<String>>,
    /// A file, or the folder of the tiers; without it, the config is printed.
    pub(crate) out: Option<PathBuf>,
    pub(crate) tiers: bool,
    pub(crate) force: bool,
    pub(crate) search: Search,
}

/// The three numbers whose product is the global batch size.
#[derive(Clone, Copy)]
pub(crate) struct Batch {
    pub(crate) micro: u64,
    pub(crate) accum: u64,
    pub(crate) world: u64,
}

impl Batch {
    fn global(self) -> u64 {
        self.micro * self.accum * self.world
    }
}

impl std::fmt::Display for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Batch { micro, accum, world } = self;
        write!(f, "train_batch_size {} = {micro} × {accum} × {}", self.global(), plural(*world, "GPU", "s"))
    }
}

#[derive(Default)]
pub struct Generated {
    /// The configs with the paths they are written to; one without a path is printed.
    pub(crate) files: Vec<(Option<PathBuf>, String)>,
    /// Lines for the user.
    pub(crate) notes: Vec<String>,
}

/// Sizes in elements that trade GPU memory for speed.
struct Buffers {
    reduce: u64,
    prefetch: u64,
    persistence: u64,
    live: u64,
}

/// DeepSpeed's defaults.
const USUAL: Buffers = Buffers { reduce: 500_000_000, prefetch: 50_000_000, persistence: 100_000, live: 1_000_000_000 };
/// These need a tenth of the memory, and are slower.
const SMALL: Buffers = Buffers { reduce: 50_000_000, prefetch: 10_000_000, persistence: 10_000, live: 300_000_000 };

/// How ZeRO is set up.
struct ZeroSetup {
    stage: u64,
    offload: bool,
    buffers: &'static Buffers,
}

/// One of three configs with the same global batch size, for GPUs with different memory.
struct Tier {
    name: &'static str,
    about: &'static str,
    zero: ZeroSetup,
    /// The batch, from the one that was asked for.
    batch: fn(Batch) -> Batch,
}

const TIERS: &[Tier] = &[
    Tier {
        name: "small",
        about: "small GPU memory: stage 3 with offload, small buffers, micro batch 1",
        zero: ZeroSetup { stage: 3, offload: true, buffers: &SMALL },
        batch: |batch| Batch { micro: 1, accum: batch.micro * batch.accum, ..batch },
    },
    Tier {
        name: "medium",
        about: "stage 3",
        zero: ZeroSetup { stage: 3, offload: false, buffers: &USUAL },
        batch: |batch| batch,
    },
    Tier {
        name: "large",
        about: "large GPU memory: stage 2, twice the micro batch if the accumulation steps are even",
        zero: ZeroSetup { stage: 2, offload: false, buffers: &USUAL },
        batch: |batch| {
            let factor = if batch.accum.is_multiple_of(2) { 2 } else { 1 };
            Batch { micro: factor * batch.micro, accum: batch.accum / factor, ..batch }
        },
    },
];

pub(crate) fn run(request: &GenerateRequest, host: &Host) -> Result<(), Vec<Problem>> {
    let generated = generate(request, host)?;
    for (path, text) in &generated.files {
        let Some(path) = path else {
            out(text)?;
            continue;
        };
        exec::write_new(&host.absolute(path), text, request.force)?;
    }
    let width = terminal::width_of_stderr().unwrap_or(usize::MAX);
    generated.notes.iter().for_each(|note| err(&wrapped(note, 0, width)));
    Ok(())
}

pub fn generate(request: &GenerateRequest, host: &Host) -> Result<Generated, Vec<Problem>> {
    let mut generated = Generated::default();
    match &request.out {
        Some(folder) if request.tiers => {
            for tier in TIERS {
                let batch = (tier.batch)(request.batch);
                let config = ready(batch, &tier.zero, request.fp16);
                let path = folder.join(format!("{}.json", tier.name));
                generated.add(Some(path), &config, &format!("{batch} ({})", tier.about));
            }
        }
        path => {
            let zero = ZeroSetup { stage: request.stage.unwrap_or(3), offload: request.offload, buffers: &USUAL };
            let config = match &request.from {
                Some(from) => from_template(from, request, host, &mut generated.notes)?,
                None => ready(request.batch, &zero, request.fp16),
            };
            generated.add(path.clone(), &config, &request.batch.to_string());
        }
    }
    let taken = generated.files.iter().filter_map(|(path, _)| path.as_ref()).find(|path| host.absolute(path).exists());
    match taken.filter(|_| !request.force) {
        Some(path) => Err(report::would_overwrite(path).into()),
        None => Ok(generated),
    }
}

impl Generated {
    fn add(&mut self, path: Option<PathBuf>, config: &Value, about: &str) {
        self.notes.extend(path.as_ref().map(|path| format!("{}: {about}", path.display())));
        self.files.push((path, json::write(config)));
    }
}

fn ready(batch: Batch, zero: &ZeroSetup, fp16: bool) -> Value {
    // A loss scale of 0 means a dynamic one.
    let half = json!({
        "enabled": true, "loss_scale": 0, "initial_scale_power": 12, "loss_scale_window": 1000, "hysteresis": 2, "min_loss_scale": 1
    });
    json!({
        "train_batch_size": batch.global(),
        "train_micro_batch_size_per_gpu": batch.micro,
        "gradient_accumulation_steps": batch.accum,
        "gradient_clipping": 1.0,
        "steps_per_print": 50,
        "bf16": { "enabled": !fp16 },
        "fp16": if fp16 { half } else { json!({ "enabled": false }) },
        "zero_optimization": zero.section(),
    })
}

impl ZeroSetup {
    fn section(&self) -> Value {
        let ZeroSetup { stage, offload, buffers } = *self;
        let cpu = json!({ "device": "cpu", "pin_memory": true });
        let (partitions, is_3) = (stage > 0, stage == 3);
        let entries = [
            (true, "stage", json!(stage)),
            (partitions && offload, "offload_optimizer", cpu.clone()),
            (is_3 && offload, "offload_param", cpu),
            (partitions, "overlap_comm", json!(true)),
            (partitions, "contiguous_gradients", json!(true)),
            (partitions, "reduce_bucket_size", json!(buffers.reduce)),
            (is_3, "sub_group_size", json!(buffers.live)),
            (is_3, "stage3_prefetch_bucket_size", json!(buffers.prefetch)),
            (is_3, "stage3_param_persistence_threshold", json!(buffers.persistence)),
            (is_3, "stage3_max_live_parameters", json!(buffers.live)),
            (is_3, "stage3_max_reuse_distance", json!(buffers.live)),
            (is_3, "stage3_gather_16bit_weights_on_model_save", json!(true)),
            (partitions && !is_3, "reduce_scatter", json!(true)),
            (partitions && !is_3, "allgather_bucket_size", json!(buffers.reduce)),
        ];
        entries.into_iter().filter(|(wanted, ..)| *wanted).map(|(_, key, value)| (key, value)).collect()
    }
}

/// A template with its "auto" values filled, except those that only transformers knows.
fn from_template(
    from: &Sourced<String>,
    request: &GenerateRequest,
    host: &Host,
    notes: &mut Vec<String>,
) -> Result<Value, Vec<Problem>> {
    let template = template::resolve(from, &request.search, host)?;
    let mut config = layers::with_layers(&template, &Layers::default(), host)?.into_owned();
    config["train_batch_size"] = json!(request.batch.global());
    config["train_micro_batch_size_per_gpu"] = json!(request.batch.micro);
    config["gradient_accumulation_steps"] = json!(request.batch.accum);
    let values = [
        ("gradient_clipping", json!(1.0)),
        ("bf16.enabled", json!(!request.fp16)),
        ("fp16.enabled", json!(request.fp16)),
        ("zero_optimization.reduce_bucket_size", json!(USUAL.reduce)),
        ("zero_optimization.stage3_prefetch_bucket_size", json!(USUAL.prefetch)),
        ("zero_optimization.stage3_param_persistence_threshold", json!(USUAL.persistence)),
    ];
    for (key, value) in values {
        if let Some(place) = json::get_mut(&mut config, key).filter(|place| *place == "auto") {
            *place = value;
        }
    }
    let left = json::leaves(&config, |value| value == "auto");
    if !left.is_empty() {
        notes.push(format!("still \"auto\", for transformers to fill: {}", left.join(", ")));
    }
    if !template.env.is_empty() {
        let names: Vec<&str> = template.env.iter().map(|(name, _)| name.as_str()).collect();
        notes.push(format!("the template also sets {}, which a plain config cannot do", names.join(", ")));
    }
    Ok(config)
}
