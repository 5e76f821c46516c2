//! `zlaunch generate`: a complete config from a few numbers.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::output::{err, out};
use super::tables::generate::{CONTRADICTIONS, FILLED, Flag, Setting, ZERO_KEYS};
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

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
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
        let [micro, accum, world] =
            [self.micro_batch, self.grad_accum, self.world_size].map(|given| {
                reader
                    .one(given, values::number(1, MOST, "1"))
                    .map_or(1, |number| number.value)
            });
        let request = GenerateRequest {
            batch: Batch {
                micro,
                accum,
                world,
            },
            out: reader.one(self.out, values::path).map(|path| path.value),
            stage: reader
                .one(self.stage, one_of(STAGES))
                .map(|stage| stage.value),
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
    let mut problems = Vec::new();
    if request.tiers && request.out.is_none() {
        let what = "`--tiers` writes three files and needs a folder for them";
        let fix = give("--tiers", "").and(give("-o", "configs"));
        problems.push(Problem::error(Rule::Usage, what).at("--tiers").fix(fix));
    }
    if request.offload && request.stage == Some(0) {
        let what = "stage 0 partitions nothing, so nothing can be offloaded";
        let fix = give("--stage", 2).and(give("--offload", ""));
        problems.push(
            Problem::error(Rule::Generate, what)
                .at("--stage 0 --offload")
                .fix(fix),
        );
    }
    let is_given = |flag: Flag| match flag {
        Flag::Bf16 => bf16,
        Flag::Fp16 => request.fp16,
        Flag::From => request.from.is_some(),
        Flag::Offload => request.offload,
        Flag::Stage => request.stage.is_some(),
        Flag::Tiers => request.tiers,
    };
    for row in CONTRADICTIONS {
        let [one, two] = row.flags;
        if is_given(one) && is_given(two) {
            let [one, two] = row.names;
            problems.push(report::contradicting_options(one, two, row.help));
        }
    }
    problems
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
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

    fn in_words(self) -> String {
        let Batch {
            micro,
            accum,
            world,
        } = self;
        format!(
            "train_batch_size {} = {micro} × {accum} × {}",
            self.global(),
            plural(world, "GPU", "s")
        )
    }
}

#[derive(Default)]
pub struct Generated {
    /// A config without a path is printed.
    files: Vec<(Option<PathBuf>, String)>,
    notes: Vec<String>,
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
        generated
            .notes
            .iter()
            .for_each(|note| err(&wrapped(note, 0, width)));
        Ok(0)
    }
}

pub fn generate(request: &GenerateRequest, host: &Host) -> Result<Generated, Vec<Problem>> {
    let mut generated = Generated::default();
    let GenerateRequest { batch, fp16, .. } = *request;
    match (&request.out, &request.from) {
        (Some(folder), _) if request.tiers => add_tiers(&mut generated, folder, batch, fp16),
        (path, from) => {
            let config = match from {
                Some(from) => from_template(from, request, host, &mut generated.notes)?,
                None => ready(
                    batch,
                    &zero(request.stage.unwrap_or(3), request.offload, false),
                    fp16,
                ),
            };
            generated.add(path.clone(), &config, &batch.in_words());
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
    let small = "small GPU memory: stage 3 with offload, small buffers, micro batch 1";
    let large =
        "large GPU memory: stage 2, twice the micro batch if the accumulation steps are even";
    for (name, about, zero, batch) in [
        ("small", small, zero(3, true, true), smallest),
        ("medium", "stage 3", zero(3, false, false), batch),
        ("large", large, zero(2, false, false), larger),
    ] {
        let config = ready(batch, &zero, fp16);
        generated.add(
            Some(folder.join(format!("{name}.json"))),
            &config,
            &format!("{} ({about})", batch.in_words()),
        );
    }
}

impl Generated {
    fn add(&mut self, path: Option<PathBuf>, config: &Value, about: &str) {
        self.notes.extend(
            path.as_ref()
                .map(|path| format!("{}: {about}", path.display())),
        );
        self.files.push((path, json::write(config)));
    }
}

fn ready(batch: Batch, zero: &Value, fp16: bool) -> Value {
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
        "zero_optimization": zero,
    })
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

/// A template with its "auto" values filled, except those that only transformers knows.
fn from_template(
    from: &Sourced<String>,
    request: &GenerateRequest,
    host: &Host,
    notes: &mut Vec<String>,
) -> Result<Value, Vec<Problem>> {
    let template = template::resolve(from, &request.search, host)?;
    let mut config = layers::with_layers(&template, &Layers::default(), host)?;
    let usual = ready(request.batch, &zero(3, false, false), request.fp16);
    for key in [
        "train_batch_size",
        "train_micro_batch_size_per_gpu",
        "gradient_accumulation_steps",
    ] {
        config[key] = usual[key].clone();
    }
    for key in FILLED {
        if let Some(place) = json::get_mut(&mut config, key).filter(|place| *place == "auto") {
            *place = json::get(&usual, key).cloned().unwrap_or_default();
        }
    }
    let left = json::leaves(&config, |value| value == "auto");
    if !left.is_empty() {
        notes.push(format!(
            "still \"auto\", for transformers to fill: {}",
            left.join(", ")
        ));
    }
    if !template.env.is_empty() {
        let names: Vec<&str> = template.env.iter().map(|(name, _)| name.as_str()).collect();
        notes.push(format!(
            "the template also sets {}, which a plain config cannot do",
            names.join(", ")
        ));
    }
    Ok(config)
}
