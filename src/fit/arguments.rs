//! The settings of a training as its command spells them. Every front end has names of its own for them.

use serde_json::Value;

use super::algorithm::{self, Algorithm};
use super::optimizer::Optimizer;
use super::settings::{Attention, Dtype, TrainingArgs, Tuner};
use crate::base::source::{Source, Sourced};
use crate::command::argv::{Args, Field, Nargs, OptionList, hf_bool};
use crate::command::job::Job;
use crate::config::auto::FillContext;
use crate::host::Host;
use crate::ranks::topology::{RankFlags, Topology};

const SEQ_LEN_NAMES: &[&str] =
    &["max_length", "cutoff_len", "max_seq_length", "max_seq_len", "sequence_len", "model_max_length", "block_size"];
const SEQUENCE_PARALLEL_NAMES: &[&str] =
    &["sequence_parallel_size", "sequence_parallel_degree", "context_parallel_size"];
const TUNER_NAMES: &[&str] = &["tuner_type", "train_type", "sft_type", "finetuning_type", "adapter"];
const RANK_NAMES: &[&str] = &["lora_rank", "lora_r"];
const TARGET_NAMES: &[&str] = &["target_modules", "lora_target", "lora_target_modules"];
const BITS_NAMES: &[&str] = &["quant_bits", "quantization_bit"];
const DTYPE_NAMES: &[&str] = &["torch_dtype", "dtype"];
const OPTIMIZER_NAMES: &[&str] = &["optim", "optimizer"];
const ATTENTION_NAMES: &[&str] = &["attn_impl", "attn_implementation", "flash_attn"];
const LIGER_NAMES: &[&str] = &["use_liger_kernel", "enable_liger_kernel", "liger_fused_linear_cross_entropy"];

/// All arguments that are read here.
fn fields(model: &'static str) -> Vec<Field> {
    let values = [
        SEQ_LEN_NAMES,
        SEQUENCE_PARALLEL_NAMES,
        TUNER_NAMES,
        RANK_NAMES,
        TARGET_NAMES,
        BITS_NAMES,
        DTYPE_NAMES,
        OPTIMIZER_NAMES,
        ATTENTION_NAMES,
        &["per_device_train_batch_size", "gradient_accumulation_steps", "lora_dropout"],
    ];
    let switches = [
        LIGER_NAMES,
        &["gradient_checkpointing", "disable_gradient_checkpointing", "load_in_4bit", "load_in_8bit", "use_peft"],
    ];
    let values = values.into_iter().flatten().chain([&model]).map(|name| (*name, Nargs::One));
    values.chain(switches.into_iter().flatten().map(|name| (*name, Nargs::Optional))).collect()
}

/// The settings that a training command gives.
pub(super) fn of_command(job: &Job, host: &Host) -> TrainingArgs {
    if job.trainer.is_passthrough() {
        return TrainingArgs::default();
    }
    let model = job.trainer.model.argument;
    let args = Args::read(job.args.words().to_vec(), &fields(model), (job.trainer.arguments.options)(&job.target));
    let reader = ArgumentReader(&args);
    let (dtype, loaded) = reader.precision(job, host);
    TrainingArgs {
        model: args.text(model),
        params: None,
        micro_batch: reader.count(&["per_device_train_batch_size"]),
        grad_accum: reader.count(&["gradient_accumulation_steps"]),
        seq_len: reader.count(SEQ_LEN_NAMES),
        sequence_parallel: reader.count(SEQUENCE_PARALLEL_NAMES),
        tuner: reader.tuner(),
        lora_rank: reader.count(RANK_NAMES),
        lora_targets: reader.targets(),
        dtype,
        loaded,
        optimizer: reader.optimizer().or_else(|| default_optimizer(job)),
        checkpointing: reader.checkpointing(),
        attention: reader.text(ATTENTION_NAMES).map(|given| given.map(|name| attention(&name))),
        fused_loss: reader.switch(LIGER_NAMES),
        dropout: args.float("lora_dropout").ok().flatten().map(|given| given.map(|value| value > 0.0)),
        algorithm: algorithm(job),
    }
}

/// What transformers takes where no optimizer is named: torch's fused AdamW from these versions on, before them the one by
/// foreach. Unknown versions are taken to be new.
fn default_optimizer(job: &Job) -> Option<Sourced<Optimizer>> {
    const FUSED_SINCE: &[(&str, [u32; 3])] = &[("transformers", [4, 54, 0]), ("torch", [2, 8, 0])];
    let python = job.python.as_ref()?;
    let is_older =
        |(name, since): &(&str, [u32; 3])| python.version(name).is_some_and(|version| version.is_before(*since));
    let is_old = FUSED_SINCE.iter().any(is_older);
    is_old.then(|| Sourced::new(Optimizer::named("adamw_torch"), Source::Default))
}

/// The algorithm of preference tuning that a command runs.
fn algorithm(job: &Job) -> Option<&'static Algorithm> {
    let args = Args::read(
        job.args.words().to_vec(),
        &[("rlhf_type", Nargs::One), ("stage", Nargs::One), ("rl", Nargs::One)],
        OptionList::Open,
    );
    let stages: Vec<String> =
        ["rlhf_type", "stage", "rl"].iter().filter_map(|name| args.text(name)).map(|stage| stage.value).collect();
    let target = job.target.name().to_string();
    let stem = target.trim_end_matches(".py").rsplit(['/', '.']).next().unwrap_or_default();
    algorithm::find(|name| stages.iter().any(|stage| stage == name) || stem == name)
}

/// Only these names mean an attention that stores all scores.
fn attention(name: &str) -> Attention {
    if ["eager", "disabled"].contains(&name) { Attention::Eager } else { Attention::Flash }
}

/// Looks arguments up by several names. A value that cannot be read is ignored: refusing it is the trainer's business.
struct ArgumentReader<'a>(&'a Args);

impl ArgumentReader<'_> {
    fn text(&self, names: &[&str]) -> Option<Sourced<String>> {
        names.iter().find_map(|name| self.0.text(name))
    }

    fn count(&self, names: &[&str]) -> Option<Sourced<u64>> {
        let found = names.iter().find_map(|name| self.0.int(name).ok().flatten())?;
        let value = u64::try_from(found.value).ok().filter(|value| *value > 0)?;
        Some(Sourced::new(value, found.from))
    }

    fn switch(&self, names: &[&str]) -> Option<Sourced<bool>> {
        names.iter().find_map(|name| self.0.bool(name, true).ok().flatten())
    }

    fn optimizer(&self) -> Option<Sourced<Optimizer>> {
        self.text(OPTIMIZER_NAMES).map(|given| given.map(|name| Optimizer::named(&name)))
    }

    fn tuner(&self) -> Option<Sourced<Tuner>> {
        let bits = self.count(BITS_NAMES).map(|given| given.value);
        let loaded = |name, bits| self.switch(&[name]).filter(|given| given.value).map(|_| bits);
        let bits = bits.or_else(|| loaded("load_in_4bit", 4)).or_else(|| loaded("load_in_8bit", 8));
        let lora = bits.map_or(Tuner::Lora, Tuner::Quantised);
        if let Some(name) = self.text(TUNER_NAMES) {
            let tuner = match name.value.as_str() {
                "full" | "freeze" | "none" => Tuner::Full,
                "qlora" => Tuner::Quantised(bits.unwrap_or(4)),
                _ => lora,
            };
            return Some(Sourced::new(tuner, name.from));
        }
        self.switch(&["use_peft"]).filter(|given| given.value).map(|given| given.map(|_| lora))
    }

    /// The names come as several words, or as one with commas.
    fn targets(&self) -> Option<Sourced<String>> {
        let first = self.text(TARGET_NAMES)?;
        let words = self.0.words().iter().filter_map(|word| word.to_str());
        let option = first.from.to_string();
        let values = words.skip_while(|word| *word != option).skip(1).take_while(|word| !word.starts_with("--"));
        let all: Vec<&str> = values.collect();
        let value = if all.len() > 1 { all.join(",") } else { first.value.clone() };
        Some(Sourced::new(value, first.from))
    }

    /// What the weights are trained in, as `bf16.enabled` and `fp16.enabled` are filled. Without half precision DeepSpeed
    /// leaves them as they were loaded: transformers goes by the model's config from 5.0 on.
    #[expect(clippy::type_complexity, reason = "it is used once")]
    fn precision(&self, job: &Job, host: &Host) -> (Option<Sourced<Dtype>>, Option<fn(Option<Dtype>) -> Dtype>) {
        let topology = Topology::of_existing_launcher(&RankFlags::default(), RankFlags::default(), host);
        let context = FillContext::new(job, &topology, &Value::Null, host);
        let [bf16, fp16] = ["bf16.enabled", "fp16.enabled"].map(|key| context.is_on(key));
        let is_known = bf16.is_some() || job.trainer.model.training.half;
        let on =
            |half: Option<Sourced<bool>>, dtype| half.filter(|given| given.value).map(|given| given.map(|_| dtype));
        let half = on(bf16, Dtype::Bf16).or_else(|| on(fp16, Dtype::Fp16));
        let named =
            || self.text(DTYPE_NAMES).and_then(|given| Some(Sourced::new(Dtype::named(&given.value)?, given.from)));
        let transformers = job.python.as_ref().and_then(|python| python.version("transformers"));
        let loaded: fn(Option<Dtype>) -> Dtype = match transformers.is_some_and(|version| version.is_before([5, 0, 0]))
        {
            _ if job.trainer.model.training.half => {
                |own| if own.is_none_or(|own| own == Dtype::Bf16) { Dtype::Bf16 } else { Dtype::Fp16 }
            }
            true => |_| Dtype::Fp32,
            false => |own| own.unwrap_or(Dtype::Fp32),
        };
        (half.or_else(named), is_known.then_some(loaded))
    }

    fn checkpointing(&self) -> Option<Sourced<bool>> {
        let off = self.switch(&["disable_gradient_checkpointing"]).map(|given| given.map(|off| !off));
        // axolotl also takes values such as `offload`, which mean yes.
        let on = self.text(&["gradient_checkpointing"]).map(|given| given.map(|text| hf_bool(&text).unwrap_or(true)));
        off.or(on).or_else(|| self.switch(&["gradient_checkpointing"]))
    }
}
