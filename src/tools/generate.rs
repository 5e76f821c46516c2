//! A ready config from a few numbers: nothing in it is "auto", and the global batch is the true one. Decides; `exec`
//! writes.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::base::json;
use crate::base::source::Sourced;
use crate::config::layers::{self, Layers};
use crate::config::template::{self, Search};
use crate::host::Host;
use crate::report::{self, Problem};

pub(crate) struct GenerateRequest {
    pub(crate) micro_batch: u64,
    pub(crate) grad_accum: u64,
    pub(crate) world_size: u64,
    pub(crate) stage: Option<u64>,
    pub(crate) offload: bool,
    pub(crate) precision: Precision,
    pub(crate) from: Option<Sourced<String>>,
    pub(crate) output: Output,
    pub(crate) force: bool,
    pub(crate) search: Search,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Bf16,
    Fp16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Stdout,
    File(PathBuf),
    /// A folder for three of them.
    Tiers(PathBuf),
}

/// What is to be written, by paths as they were said; or printed where there is none.
pub(crate) struct Generated {
    pub(crate) files: Vec<(Option<PathBuf>, String)>,
    /// What is worth saying, a line each.
    pub(crate) notes: Vec<String>,
}

/// How a config spends GPU memory: the elements of its buffers, and what it keeps of stage 3's parameters.
struct Buffers {
    reduce: u64,
    prefetch: u64,
    persistence: u64,
    live: u64,
}

/// DeepSpeed's own numbers.
const USUAL: Buffers = Buffers { reduce: 500_000_000, prefetch: 50_000_000, persistence: 100_000, live: 1_000_000_000 };
/// A tenth of the memory for them, and more waiting.
const SMALL: Buffers = Buffers { reduce: 50_000_000, prefetch: 10_000_000, persistence: 10_000, live: 300_000_000 };

/// Three configs with the same global batch, for GPUs of different memory.
struct Tier {
    name: &'static str,
    about: &'static str,
    stage: u64,
    offload: bool,
    buffers: &'static Buffers,
    batch: fn(u64, u64) -> (u64, u64),
}

const TIERS: &[Tier] = &[
    Tier {
        name: "small",
        about: "little GPU memory: stage 3 with offload, small buffers, micro batch 1",
        stage: 3,
        offload: true,
        buffers: &SMALL,
        batch: |micro, accum| (1, micro * accum),
    },
    Tier {
        name: "medium",
        about: "stage 3",
        stage: 3,
        offload: false,
        buffers: &USUAL,
        batch: |micro, accum| (micro, accum),
    },
    Tier {
        name: "large",
        about: "much GPU memory: stage 2, a doubled micro batch where that goes",
        stage: 2,
        offload: false,
        buffers: &USUAL,
        batch: |micro, accum| if accum.is_multiple_of(2) { (2 * micro, accum / 2) } else { (micro, accum) },
    },
];

pub(crate) fn generate(request: &GenerateRequest, host: &Host) -> Result<Generated, Vec<Problem>> {
    let whole = Batch { micro: request.micro_batch, accum: request.grad_accum, world: request.world_size };
    let mut generated = Generated { files: Vec::new(), notes: Vec::new() };
    match &request.output {
        Output::Tiers(folder) => {
            for tier in TIERS {
                let (micro, accum) = (tier.batch)(whole.micro, whole.accum);
                let batch = Batch { micro, accum, ..whole };
                let config = ready(&batch, tier.stage, tier.offload, tier.buffers, request.precision);
                let path = folder.join(format!("{}.json", tier.name));
                generated.add(Some(path), &config, &batch, Some(tier.about));
            }
        }
        output => {
            let path = match output {
                Output::File(path) => Some(path.clone()),
                _ => None,
            };
            let config = match &request.from {
                Some(from) => from_template(from, &whole, request, host, &mut generated.notes)?,
                None => ready(&whole, request.stage.unwrap_or(3), request.offload, &USUAL, request.precision),
            };
            generated.add(path, &config, &whole, None);
        }
    }
    let taken = generated.files.iter().filter_map(|(path, _)| path.as_ref()).find(|path| host.absolute(path).exists());
    match taken.filter(|_| !request.force) {
        Some(path) => Err(report::would_overwrite(path).into()),
        None => Ok(generated),
    }
}

impl Generated {
    fn add(&mut self, path: Option<PathBuf>, config: &Value, batch: &Batch, about: Option<&str>) {
        if let Some(path) = &path {
            let about = about.map(|about| format!(" ({about})")).unwrap_or_default();
            self.notes.push(format!("{}: {batch}{about}", path.display()));
        }
        self.files.push((path, json::write(config)));
    }
}

/// The batch triangle.
struct Batch {
    micro: u64,
    accum: u64,
    world: u64,
}

impl Batch {
    fn global(&self) -> u64 {
        self.micro * self.accum * self.world
    }
}

impl std::fmt::Display for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Batch { micro, accum, world } = self;
        write!(f, "train_batch_size {} = {micro} × {accum} × {world} GPUs", self.global())
    }
}

fn ready(batch: &Batch, stage: u64, offload: bool, buffers: &Buffers, precision: Precision) -> Value {
    json!({
        "train_batch_size": batch.global(),
        "train_micro_batch_size_per_gpu": batch.micro,
        "gradient_accumulation_steps": batch.accum,
        "gradient_clipping": 1.0,
        "steps_per_print": 50,
        "bf16": { "enabled": precision == Precision::Bf16 },
        "fp16": half(precision),
        "zero_optimization": zero(stage, offload, buffers),
    })
}

/// A loss scale of 0 is a dynamic one.
fn half(precision: Precision) -> Value {
    match precision {
        Precision::Bf16 => json!({ "enabled": false }),
        Precision::Fp16 => json!({
            "enabled": true, "loss_scale": 0, "initial_scale_power": 12, "loss_scale_window": 1000, "hysteresis": 2, "min_loss_scale": 1
        }),
    }
}

fn zero(stage: u64, offload: bool, buffers: &Buffers) -> Value {
    let mut zero = json!({ "stage": stage });
    let add = |zero: &mut Value, more: Value| crate::config::patch::merge(zero, more);
    if stage == 0 {
        return zero;
    }
    if offload {
        add(&mut zero, json!({ "offload_optimizer": { "device": "cpu", "pin_memory": true } }));
    }
    if offload && stage == 3 {
        add(&mut zero, json!({ "offload_param": { "device": "cpu", "pin_memory": true } }));
    }
    add(&mut zero, json!({ "overlap_comm": true, "contiguous_gradients": true, "reduce_bucket_size": buffers.reduce }));
    if stage == 3 {
        let fine = json!({
            "sub_group_size": buffers.live,
            "stage3_prefetch_bucket_size": buffers.prefetch,
            "stage3_param_persistence_threshold": buffers.persistence,
            "stage3_max_live_parameters": buffers.live,
            "stage3_max_reuse_distance": buffers.live,
            "stage3_gather_16bit_weights_on_model_save": true,
        });
        add(&mut zero, fine);
    } else {
        add(&mut zero, json!({ "reduce_scatter": true, "allgather_bucket_size": buffers.reduce }));
    }
    zero
}

/// A template with its "auto"s replaced. What only transformers can know stays.
fn from_template(
    from: &Sourced<String>,
    batch: &Batch,
    request: &GenerateRequest,
    host: &Host,
    notes: &mut Vec<String>,
) -> Result<Value, Vec<Problem>> {
    let template = template::resolve(from, &request.search, host)?;
    let config = layers::with_layers(&template, &Layers::default(), host)?;
    let mut config = config.into_owned();
    let numbers = [
        ("train_batch_size", json!(batch.global())),
        ("train_micro_batch_size_per_gpu", json!(batch.micro)),
        ("gradient_accumulation_steps", json!(batch.accum)),
    ];
    for (key, value) in numbers {
        config[key] = value;
    }
    let values = [
        ("gradient_clipping", json!(1.0)),
        ("bf16.enabled", json!(request.precision == Precision::Bf16)),
        ("fp16.enabled", json!(request.precision == Precision::Fp16)),
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
        notes.push(format!("the template also sets {}, a plain file cannot", names.join(", ")));
    }
    Ok(config)
}
