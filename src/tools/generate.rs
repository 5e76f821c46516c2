//! `zlaunch generate`: a ready config from a few numbers. Nothing in it is "auto", and the global batch size is right.

use std::path::{Path, PathBuf};

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
    pub(crate) precision: HalfPrecision,
    pub(crate) from: Option<Sourced<String>>,
    pub(crate) output: Destination,
    pub(crate) force: bool,
    pub(crate) search: Search,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HalfPrecision {
    Bf16,
    Fp16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    Stdout,
    File(PathBuf),
    /// A folder for three configs.
    Tiers(PathBuf),
}

#[derive(Default)]
pub(crate) struct Generated {
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
    /// Micro batch and accumulation steps, from those that were asked for.
    batch: fn(u64, u64) -> (u64, u64),
}

const TIERS: &[Tier] = &[
    Tier {
        name: "small",
        about: "little GPU memory: stage 3 with offload, small buffers, micro batch 1",
        zero: ZeroSetup { stage: 3, offload: true, buffers: &SMALL },
        batch: |micro, accum| (1, micro * accum),
    },
    Tier {
        name: "medium",
        about: "stage 3",
        zero: ZeroSetup { stage: 3, offload: false, buffers: &USUAL },
        batch: |micro, accum| (micro, accum),
    },
    Tier {
        name: "large",
        about: "much GPU memory: stage 2, twice the micro batch if the accumulation steps are even",
        zero: ZeroSetup { stage: 2, offload: false, buffers: &USUAL },
        batch: |micro, accum| if accum.is_multiple_of(2) { (2 * micro, accum / 2) } else { (micro, accum) },
    },
];

pub(crate) fn generate(request: &GenerateRequest, host: &Host) -> Result<Generated, Vec<Problem>> {
    let mut generated = Generated::default();
    match &request.output {
        Destination::Tiers(folder) => generated.add_tiers(folder, request),
        Destination::File(path) => generated.add_single(Some(path.clone()), request, host)?,
        Destination::Stdout => generated.add_single(None, request, host)?,
    }
    let taken = generated.files.iter().filter_map(|(path, _)| path.as_ref()).find(|path| host.absolute(path).exists());
    match taken.filter(|_| !request.force) {
        Some(path) => Err(report::would_overwrite(path).into()),
        None => Ok(generated),
    }
}

impl Generated {
    fn add_tiers(&mut self, folder: &Path, request: &GenerateRequest) {
        for tier in TIERS {
            let (micro, accum) = (tier.batch)(request.micro_batch, request.grad_accum);
            let batch = Batch { micro, accum, world: request.world_size };
            let config = ready(&batch, &tier.zero, request.precision);
            let path = folder.join(format!("{}.json", tier.name));
            self.add(Some(path), &config, &batch, Some(tier.about));
        }
    }

    fn add_single(
        &mut self,
        path: Option<PathBuf>,
        request: &GenerateRequest,
        host: &Host,
    ) -> Result<(), Vec<Problem>> {
        let batch = Batch { micro: request.micro_batch, accum: request.grad_accum, world: request.world_size };
        let config = match &request.from {
            Some(from) => {
                let (config, notes) = from_template(from, &batch, request, host)?;
                self.notes.extend(notes);
                config
            }
            None => {
                let (stage, offload) = (request.stage.unwrap_or(3), request.offload);
                ready(&batch, &ZeroSetup { stage, offload, buffers: &USUAL }, request.precision)
            }
        };
        self.add(path, &config, &batch, None);
        Ok(())
    }

    fn add(&mut self, path: Option<PathBuf>, config: &Value, batch: &Batch, about: Option<&str>) {
        if let Some(path) = &path {
            let about = about.map(|about| format!(" ({about})")).unwrap_or_default();
            self.notes.push(format!("{}: {batch}{about}", path.display()));
        }
        self.files.push((path, json::write(config)));
    }
}

/// The three numbers whose product is the global batch size.
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

fn ready(batch: &Batch, zero: &ZeroSetup, precision: HalfPrecision) -> Value {
    json!({
        "train_batch_size": batch.global(),
        "train_micro_batch_size_per_gpu": batch.micro,
        "gradient_accumulation_steps": batch.accum,
        "gradient_clipping": 1.0,
        "steps_per_print": 50,
        "bf16": { "enabled": precision == HalfPrecision::Bf16 },
        "fp16": fp16(precision),
        "zero_optimization": zero.section(),
    })
}

/// A loss scale of 0 means a dynamic one.
fn fp16(precision: HalfPrecision) -> Value {
    match precision {
        HalfPrecision::Bf16 => json!({ "enabled": false }),
        HalfPrecision::Fp16 => json!({
            "enabled": true, "loss_scale": 0, "initial_scale_power": 12, "loss_scale_window": 1000, "hysteresis": 2, "min_loss_scale": 1
        }),
    }
}

impl ZeroSetup {
    fn section(&self) -> Value {
        let ZeroSetup { stage, offload, buffers } = *self;
        let mut zero = json!({ "stage": stage });
        if stage == 0 {
            return zero;
        }
        let cpu = json!({ "device": "cpu", "pin_memory": true });
        if offload {
            zero["offload_optimizer"] = cpu.clone();
        }
        if offload && stage == 3 {
            zero["offload_param"] = cpu;
        }
        zero["overlap_comm"] = json!(true);
        zero["contiguous_gradients"] = json!(true);
        zero["reduce_bucket_size"] = json!(buffers.reduce);
        if stage == 3 {
            zero["sub_group_size"] = json!(buffers.live);
            zero["stage3_prefetch_bucket_size"] = json!(buffers.prefetch);
            zero["stage3_param_persistence_threshold"] = json!(buffers.persistence);
            zero["stage3_max_live_parameters"] = json!(buffers.live);
            zero["stage3_max_reuse_distance"] = json!(buffers.live);
            zero["stage3_gather_16bit_weights_on_model_save"] = json!(true);
        } else {
            zero["reduce_scatter"] = json!(true);
            zero["allgather_bucket_size"] = json!(buffers.reduce);
        }
        zero
    }
}

/// A template with its "auto" values filled, except those that only transformers knows, and notes about it.
fn from_template(
    from: &Sourced<String>,
    batch: &Batch,
    request: &GenerateRequest,
    host: &Host,
) -> Result<(Value, Vec<String>), Vec<Problem>> {
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
        ("bf16.enabled", json!(request.precision == HalfPrecision::Bf16)),
        ("fp16.enabled", json!(request.precision == HalfPrecision::Fp16)),
        ("zero_optimization.reduce_bucket_size", json!(USUAL.reduce)),
        ("zero_optimization.stage3_prefetch_bucket_size", json!(USUAL.prefetch)),
        ("zero_optimization.stage3_param_persistence_threshold", json!(USUAL.persistence)),
    ];
    for (key, value) in values {
        if let Some(place) = json::get_mut(&mut config, key).filter(|place| *place == "auto") {
            *place = value;
        }
    }
    let mut notes = Vec::new();
    let left = json::leaves(&config, |value| value == "auto");
    if !left.is_empty() {
        notes.push(format!("still \"auto\", for transformers to fill: {}", left.join(", ")));
    }
    if !template.env.is_empty() {
        let names: Vec<&str> = template.env.iter().map(|(name, _)| name.as_str()).collect();
        notes.push(format!("the template also sets {}, which a plain config cannot do", names.join(", ")));
    }
    Ok((config, notes))
}
