//! `zlaunch generate`: a complete config from a few numbers.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::output::{err, out};
use crate::base::json;
use crate::base::layout::{plural, wrapped};
use crate::base::options::{AnyValue, Given, SearchOptions};
use crate::base::source::Sourced;
use crate::cli::values::{self, TEMPLATES, Words, one_of};
use crate::cli::{Reader, Request, Requested, Tool};
use crate::config::layers::{self, Layers};
use crate::config::template::{self, Search};
use crate::exec;
use crate::host::{Host, terminal};
use crate::report::fix::give;
use crate::report::{self, Problem, Rule};

#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[derive(Args)]
#[command(next_help_heading = "Training")]
pub(crate) struct GenerateArgs {
    micro_batch: Option<Given>,
    grad_accum: Option<Given>,
    world_size: Option<Given>,
    #[arg(help_heading = "Config", value_parser = AnyValue(STAGES))]
    stage: Option<Given>,
    #[arg(help_heading = "Config")]
    offload: bool,
    #[arg(help_heading = "Config")]
    bf16: bool,
    #[arg(help_heading = "Config")]
    fp16: bool,
    #[arg(help_heading = "Config", value_parser = AnyValue(TEMPLATES))]
    from: Option<Given>,
    #[arg(short, help_heading = "Output")]
    out: Option<Given>,
    #[arg(help_heading = "Output")]
    tiers: bool,
    #[arg(help_heading = "Output")]
    force: bool,
    #[command(flatten, next_help_heading = "Config")]
    search: SearchOptions,
}

/// The limit of each of the three numbers, whose product DeepSpeed reads.
const MOST: u64 = 1 << 20;

const STAGES: Words<u64> = || vec![("0", 0), ("1", 1), ("2", 2), ("3", 3)];

impl Tool for GenerateArgs {
    fn read(self, mut reader: Reader) -> Requested {
        let [micro, accum, world] = [self.micro_batch, self.grad_accum, self.world_size]
            .map(|given| reader.one(given, values::number(1, MOST, "1")).map_or(1, |number| number.value));
        let request = GenerateRequest {
            batch: Batch { micro, accum, world },
            out: reader.one(self.out, values::path).map(|path| path.value),
            stage: reader.one(self.stage, one_of(STAGES)).map(|stage| stage.value),
            offload: self.offload,
            fp16: self.fp16,
            from: reader.one(self.from, values::text),
            tiers: self.tiers,
            force: self.force,
            search: reader.search(self.search),
        };
        reader.problems.extend(contradictions(&request, self.bf16));
        reader.answer(request)
    }
}

fn contradictions(request: &GenerateRequest, bf16: bool) -> Vec<Problem> {
    const EACH: &str = "--tiers: each of the three has its own";
    let (tiers, from) = (request.tiers, request.from.is_some());
    let shaped = request.stage.is_some() || request.offload;
    let mut problems = Vec::new();
    if tiers && request.out.is_none() {
        let problem = Problem::error(Rule::Usage, "`--tiers` writes three files and needs a folder for them");
        problems.push(problem.at("--tiers").fix(give("--tiers", "").and(give("-o", "configs"))));
    }
    if request.offload && request.stage == Some(0) {
        let problem = Problem::error(Rule::Generate, "stage 0 partitions nothing, so nothing can be offloaded");
        problems.push(problem.at("--stage 0 --offload").fix(give("--stage", 2).and(give("--offload", ""))));
    }
    for (is_wrong, one, two, help) in [
        (bf16 && request.fp16, "--bf16", "--fp16", "--bf16"),
        (shaped && from, "--from", "--stage, --offload", "--from zero3_offload"),
        (shaped && tiers, "--tiers", "--stage, --offload", EACH),
        (tiers && from, "--tiers", "--from", EACH),
    ] {
        problems.extend(is_wrong.then(|| report::contradicting_options(one, two, help)));
    }
    problems
}

#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct GenerateRequest {
    batch: Batch,
    stage: Option<u64>,
    offload: bool,
    /// Instead of bf16.
    fp16: bool,
    from: Option<Sourced<String>>,
    /// A file, or the folder of the tiers; without it, the config is printed.
    out: Option<PathBuf>,
    tiers: bool,
    force: bool,
    search: Search,
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
}

impl std::fmt::Display for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Batch { micro, accum, world } = self;
        write!(f, "train_batch_size {} = {micro} × {accum} × {}", self.global(), plural(*world, "GPU", "s"))
    }
}

#[derive(Default)]
pub struct Generated {
    /// A config without a path is printed.
    files: Vec<(Option<PathBuf>, String)>,
    notes: Vec<String>,
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

struct ZeroSetup {
    stage: u64,
    offload: bool,
    buffers: &'static Buffers,
}

impl Request for GenerateRequest {
    fn run(self: Box<Self>, host: &Host) -> Result<u8, Vec<Problem>> {
        let generated = generate(&self, host)?;
        for (path, text) in &generated.files {
            match path {
                Some(path) => exec::write_new(&host.absolute(path), text, self.force)?,
                None => drop(out(text)?),
            }
        }
        let width = terminal::width_of_stderr().unwrap_or(usize::MAX);
        generated.notes.iter().for_each(|note| err(&wrapped(note, 0, width)));
        Ok(0)
    }
}

pub fn generate(request: &GenerateRequest, host: &Host) -> Result<Generated, Vec<Problem>> {
    let mut generated = Generated::default();
    let GenerateRequest { batch, fp16, .. } = *request;
    match (&request.out, &request.from) {
        (Some(folder), _) if request.tiers => add_tiers(&mut generated, folder, batch, fp16),
        (path, from) => {
            let zero = ZeroSetup { stage: request.stage.unwrap_or(3), offload: request.offload, buffers: &USUAL };
            let config = match from {
                Some(from) => from_template(from, request, host, &mut generated.notes)?,
                None => ready(batch, &zero, fp16),
            };
            generated.add(path.clone(), &config, &batch.to_string());
        }
    }
    let mut paths = generated.files.iter().filter_map(|(path, _)| path.as_ref());
    match paths.find(|path| !request.force && host.absolute(path).exists()) {
        Some(path) => Err(report::would_overwrite(path).into()),
        None => Ok(generated),
    }
}

/// Three configs with the same global batch size, for GPUs with different memory.
fn add_tiers(generated: &mut Generated, folder: &Path, batch: Batch, fp16: bool) {
    let factor = if batch.accum.is_multiple_of(2) { 2 } else { 1 };
    let larger = Batch { micro: factor * batch.micro, accum: batch.accum / factor, ..batch };
    let smallest = Batch { micro: 1, accum: batch.micro * batch.accum, ..batch };
    let small = "small GPU memory: stage 3 with offload, small buffers, micro batch 1";
    let large = "large GPU memory: stage 2, twice the micro batch if the accumulation steps are even";
    for (name, about, stage, offload, buffers, batch) in [
        ("small", small, 3, true, &SMALL, smallest),
        ("medium", "stage 3", 3, false, &USUAL, batch),
        ("large", large, 2, false, &USUAL, larger),
    ] {
        let config = ready(batch, &ZeroSetup { stage, offload, buffers }, fp16);
        generated.add(Some(folder.join(format!("{name}.json"))), &config, &format!("{batch} ({about})"));
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
