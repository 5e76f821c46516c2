//! The settings of a training as its command spells them. Every front end has names of its own for them.

use serde_json::Value;

use super::optimizer::Optimizer;
use super::settings::{Algorithm, Attention, Dtype, Evaluation, TrainingArgs, Tuner};
use crate::base::source::{Source, Sourced};
use crate::command::argv::{Args, Field, Nargs, OptionList, hf_bool};
use crate::command::front_end::TrainingDefaults;
use crate::command::job::Job;
use crate::config::auto::FillContext;
use crate::host::Host;
use crate::ranks::topology::{RankFlags, Topology};

// The names that front ends have for one argument.
const LENGTHS: &[&str] =
    &["max_length", "cutoff_len", "max_seq_length", "max_seq_len", "sequence_len", "model_max_length", "block_size"];
const PARALLEL: &[&str] = &["sequence_parallel_size", "sequence_parallel_degree", "context_parallel_size"];
const TUNERS: &[&str] = &["tuner_type", "train_type", "sft_type", "finetuning_type", "adapter"];
const RANKS: &[&str] = &["lora_rank", "lora_r"];
const TARGETS: &[&str] = &["target_modules", "lora_target", "lora_target_modules"];
const BITS: &[&str] = &["quant_bits", "quantization_bit"];
const DTYPES: &[&str] = &["torch_dtype", "dtype"];
const OPTIMIZERS: &[&str] = &["optim", "optimizer"];
const ATTENTION: &[&str] = &["attn_impl", "attn_implementation", "flash_attn"];
const EVAL_STRATEGIES: &[&str] = &["eval_strategy", "evaluation_strategy"];
const EVAL_BATCHES: &[&str] = &["per_device_eval_batch_size", "eval_batch_size"];
const NEW_TOKENS: &[&str] = &["max_new_tokens", "generation_max_length"];
const LIGER: &[&str] = &["use_liger_kernel", "enable_liger_kernel", "liger_fused_linear_cross_entropy"];

const OTHERS: &[&str] = &["per_device_train_batch_size", "gradient_accumulation_steps", "lora_dropout"];
const SWITCHES: &[&str] =
    &["gradient_checkpointing", "disable_gradient_checkpointing", "load_in_4bit", "load_in_8bit", "use_peft"];
const EVAL_SWITCHES: &[&str] = &["do_eval", "predict_with_generate"];

fn fields(model: &'static str, eval_sets: &'static str) -> Vec<Field> {
    let sets: Vec<&str> = eval_sets.split_whitespace().chain([model]).collect();
    let evaluation = [EVAL_STRATEGIES, EVAL_BATCHES, NEW_TOKENS, &sets].concat();
    let values =
        [LENGTHS, PARALLEL, TUNERS, RANKS, TARGETS, BITS, DTYPES, OPTIMIZERS, ATTENTION, OTHERS, &evaluation].concat();
    let values = values.into_iter().map(|name| (name, Nargs::One));
    values.chain([LIGER, SWITCHES, EVAL_SWITCHES].concat().into_iter().map(|name| (name, Nargs::Optional))).collect()
}

/// The settings that were given, completed by those of the training command.
pub(super) fn with_command(given: TrainingArgs, job: &Job, host: &Host) -> TrainingArgs {
    if job.trainer.is_passthrough() {
        return given;
    }
    let model = job.trainer.model.argument;
    let fields = fields(model, job.trainer.model.training.eval_sets);
    let args = Args::read(job.args.words().to_vec(), &fields, (job.trainer.arguments.options)(&job.target));
    let reader = ArgumentReader(&args);
    let (dtype, loaded) = reader.precision(job, host);
    let attention = || {
        // Only these names mean an attention that stores all scores.
        let is_eager = |name: String| ["eager", "disabled"].contains(&name.as_str());
        Some(reader.text(ATTENTION)?.map(|name| if is_eager(name) { Attention::Eager } else { Attention::Flash }))
    };
    let optimizer = || Some(reader.text(OPTIMIZERS)?.map(|name| Optimizer::named(&name)));
    let dropout = || Some(args.float("lora_dropout").ok()??.map(|value| value > 0.0));
    TrainingArgs {
        model: given.model.or_else(|| args.text(model)),
        params: given.params,
        micro_batch: given.micro_batch.or_else(|| reader.count(&["per_device_train_batch_size"])),
        grad_accum: given.grad_accum.or_else(|| reader.count(&["gradient_accumulation_steps"])),
        seq_len: given.seq_len.or_else(|| reader.count(LENGTHS)),
        sequence_parallel: given.sequence_parallel.or_else(|| reader.count(PARALLEL)),
        tuner: given.tuner.or_else(|| reader.tuner()),
        lora_rank: given.lora_rank.or_else(|| reader.count(RANKS)),
        lora_targets: given.lora_targets.or_else(|| reader.targets()),
        dtype: given.dtype.or(dtype),
        loaded: given.loaded.or(loaded),
        optimizer: given.optimizer.or_else(optimizer).or_else(|| default_optimizer(job)),
        checkpointing: given.checkpointing.or_else(|| reader.checkpointing()),
        attention: given.attention.or_else(attention),
        fused_loss: given.fused_loss.or_else(|| reader.switch(LIGER)),
        dropout: given.dropout.or_else(dropout),
        algorithm: given.algorithm.or_else(|| algorithm(job)),
        evaluation: given.evaluation.or_else(|| reader.evaluation(job)),
    }
}

/// If no optimizer is named, transformers takes torch's fused AdamW from these versions on, and before them the one by
/// foreach. Unknown versions are taken to be new.
fn default_optimizer(job: &Job) -> Option<Sourced<Optimizer>> {
    const FUSED_SINCE: [(&str, [u32; 3]); 2] = [("transformers", [4, 54, 0]), ("torch", [2, 8, 0])];
    let python = job.python.as_ref()?;
    let is_old = |(name, since)| python.version(name).is_some_and(|version| version.is_before(since));
    FUSED_SINCE.into_iter().any(is_old).then(|| Sourced::new(Optimizer::named("adamw_torch"), Source::Default))
}

fn algorithm(job: &Job) -> Option<&'static Algorithm> {
    const NAMES: [&str; 3] = ["rlhf_type", "stage", "rl"];
    let args = Args::read(job.args.words().to_vec(), &NAMES.map(|name| (name, Nargs::One)), OptionList::Open);
    let stages = NAMES.map(|name| args.text(name).map(|stage| stage.value));
    let target = job.target.name().to_string();
    let stem = target.trim_end_matches(".py").rsplit(['/', '.']).next().unwrap_or_default();
    Algorithm::find(|name| stages.iter().any(|stage| stage.as_deref() == Some(name)) || stem == name)
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

    fn tuner(&self) -> Option<Sourced<Tuner>> {
        let bits = self.count(BITS).map(|given| given.value);
        let loaded = |name, bits| self.switch(&[name]).filter(|given| given.value).map(|_| bits);
        let bits = bits.or_else(|| loaded("load_in_4bit", 4)).or_else(|| loaded("load_in_8bit", 8));
        let lora = bits.map_or(Tuner::Lora, Tuner::Quantised);
        if let Some(name) = self.text(TUNERS) {
            let tuner = match name.value.as_str() {
                "full" | "freeze" | "none" => Tuner::Full,
                "qlora" => Tuner::Quantised(bits.unwrap_or(4)),
                _ => lora,
            };
            return Some(Sourced::new(tuner, name.from));
        }
        self.switch(&["use_peft"]).filter(|given| given.value).map(|given| given.map(|_| lora))
    }

    /// Where the evaluation set has an argument of its own, an evaluation follows from it; elsewhere it has to be asked for.
    fn evaluation(&self, job: &Job) -> Option<Evaluation> {
        let TrainingDefaults { eval_sets, eval_batch, .. } = job.trainer.model.training;
        let strategy = self.text(EVAL_STRATEGIES).map(|strategy| strategy.value != "no");
        let is_on = |name| self.switch(&[name]).is_some_and(|given| given.value);
        let is_given = |name: &str| self.0.text(name).is_some_and(|set| set.value.parse() != Ok(0.0));
        let is_evaluated = if eval_sets.is_empty() {
            strategy == Some(true) || is_on("do_eval")
        } else {
            strategy != Some(false) && eval_sets.split_whitespace().any(is_given)
        };
        let generates = is_on("predict_with_generate");
        is_evaluated.then(|| Evaluation {
            batch: self.count(EVAL_BATCHES).map_or(0, |given| given.value),
            // transformers' own trainer computes a loss besides.
            has_loss: !generates || job.trainer.launch.consoles.is_empty(),
            // No front end has a larger default than LLaMA-Factory.
            new_tokens: generates.then(|| self.count(NEW_TOKENS).map_or(1024, |given| given.value)),
            spelling: if eval_batch.is_some() { "--per_device_eval_batch_size " } else { "eval_batch_size: " },
        })
    }

    /// The names come as several words, or as one with commas.
    fn targets(&self) -> Option<Sourced<String>> {
        let first = self.text(TARGETS)?;
        let words = self.0.words().iter().filter_map(|word| word.to_str());
        let option = first.from.to_string();
        let values = words.skip_while(|word| *word != option).skip(1).take_while(|word| !word.starts_with("--"));
        let all: Vec<&str> = values.collect();
        Some(if all.len() > 1 { Sourced::new(all.join(","), first.from) } else { first })
    }

    /// The weights are trained in what `bf16.enabled` and `fp16.enabled` are filled with. Without half precision DeepSpeed
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
        let named = || self.text(DTYPES).and_then(|given| Some(Sourced::new(Dtype::named(&given.value)?, given.from)));
        let transformers = job.python.as_ref().and_then(|python| python.version("transformers"));
        let loaded: fn(Option<Dtype>) -> Dtype = if job.trainer.model.training.half {
            |own| if own.is_none_or(|own| own == Dtype::Bf16) { Dtype::Bf16 } else { Dtype::Fp16 }
        } else if transformers.is_some_and(|version| version.is_before([5, 0, 0])) {
            |_| Dtype::Fp32
        } else {
            |own| own.unwrap_or(Dtype::Fp32)
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
